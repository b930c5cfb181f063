#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs a script in a temporary Debian with systemd, without a network: machine.sh DIR SCRIPT [FILE...]
#
# Boots a fresh copy of a base system, runs SCRIPT as root in its home directory, where the FILEs are, prints the output, powers off, and
# exits with the status of SCRIPT. Base systems are created once, in DIR. Requires root; does not change this machine's systemd and
# network.
#   NEOAPI_RELEASE     the release (this machine's)
#   NEOAPI_INSTALLED   additional packages of the base system
#   NEOAPI_AT_HAND     packages that can be installed without a network, because apt has downloaded them
#   NEOAPI_LIMIT       time limit in seconds (600)
set -euo pipefail

[ $# -ge 2 ] || { echo 'usage: machine.sh DIR SCRIPT [FILE...]' >&2; exit 2; }
[ "$(id -u)" -eq 0 ] || { echo 'machine: only root can boot one' >&2; exit 1; }
# shellcheck source=tests/package/release.sh
. "$(dirname "$(realpath "$0")")/release.sh"
mkdir -p "$1"
dir=$(realpath "$1")
script=$2
shift 2
name=api.imobiliaria.example limit=${NEOAPI_LIMIT:-600} installed=${NEOAPI_INSTALLED:-} at_hand=${NEOAPI_AT_HAND:-}
always=systemd-sysv,dbus,mount,iproute2,procps,curl,ca-certificates
work=$(mktemp -d "$dir/run.XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT
trap 'exit 130' INT TERM HUP

# make TAR ARGUMENTS…: creates a base system with mmdebstrap, and moves it to TAR when it is complete.
make() {
    [ -s "$1" ] || { mmdebstrap --quiet "${@:2}" "$release" "$1.new.tar" && mv "$1.new.tar" "$1"; }
}

base=$dir/base-$release-$(printf '%s' "$installed/$at_hand" | md5sum | cut -c1-8).tar
# shellcheck disable=SC2016 # mmdebstrap fills in $1
make "$base" --variant=minbase --include="$always${installed:+,$installed}" --skip=cleanup/apt \
    --customize-hook='chroot "$1" apt-get -qq -y --download-only -o APT::Install-Recommends=true install '"$at_hand"
make "$dir/outer-$release.tar" --variant=apt --include=systemd-container,mount,procps

# The machine runs in an outer system, which has systemd-nspawn.
machine=$work/machine
mkdir "$machine"
tar -C "$work" -x --exclude=./dev -f "$dir/outer-$release.tar"
tar -C "$machine" -x --exclude=./dev -f "$base"
mkdir -p "$work/dev" "$machine/dev"
cp "$script" "$machine/root/script"
chmod 755 "$machine/root/script"
for file; do cp -r "$file" "$machine/root/"; done
echo "${name%%.*}" >"$machine/etc/hostname"
printf '127.0.0.1 localhost\n127.0.1.1 %s %s\n' "$name" "${name%%.*}" >"$machine/etc/hosts"
rm -f "$machine/usr/sbin/policy-rc.d"

cat >"$machine/etc/systemd/system/script.service" <<'END'
[Unit]
After=multi-user.target
[Service]
Environment=HOME=/root LANG=C.UTF-8
WorkingDirectory=/root
ExecStart=/bin/sh -c './script >said 2>&1; echo $? >status; systemctl poweroff'
END
mkdir -p "$machine/etc/systemd/system/multi-user.target.wants"
ln -s ../script.service "$machine/etc/systemd/system/multi-user.target.wants/script.service"

cat >"$work/boot.sh" <<END
set -e
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tmpfs run /run
mount -t tmpfs dev /dev
for one in null zero full random urandom tty; do touch /dev/\$one; mount --bind /outside/\$one /dev/\$one; done
mkdir /dev/pts /dev/shm
mount -t devpts -o newinstance,ptmxmode=0666 devpts /dev/pts
ln -s pts/ptmx /dev/ptmx
mount -t cgroup2 cgroup2 /sys/fs/cgroup
# Machines that run at the same time must not share a cgroup: it would have processes of both, and systemd would not know or end its own.
own=/sys/fs/cgroup\$(sed -n 's/^0:://p' /proc/self/cgroup)
mkdir "\$own/${work##*/}"
echo \$\$ >"\$own/${work##*/}/cgroup.procs"
tr -d - </proc/sys/kernel/random/uuid >/etc/machine-id
mount --bind /machine /machine
timeout $limit systemd-nspawn --quiet --register=no --keep-unit --private-network --console=pipe --boot --directory=/machine \
    </dev/null >/console 2>&1 || tail -n 20 /console
echo \$\$ >"\$own/cgroup.procs"
find "\$own/${work##*/}" -depth -type d -exec rmdir {} +
END
mkdir "$work/outside"
# shellcheck disable=SC2016 # the inner shell fills in $1
unshare --mount --pid --uts --ipc --fork --kill-child bash -c '
    mount --make-rprivate /
    mount --bind "$1" "$1"
    mount --bind /dev "$1/outside"
    cd "$1"
    exec chroot . /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin bash /boot.sh' - "$work" || true

cat "$machine/root/said" 2>/dev/null || { echo 'machine: it did not come up' >&2; tail -n 20 "$work/console" >&2; exit 1; }
status=$(cat "$machine/root/status" 2>/dev/null || echo 124)
[ "$status" != 124 ] || echo "machine: it did not end within $limit seconds" >&2
exit "$status"
