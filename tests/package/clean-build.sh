#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds the package from DIR/source on a clean system of a Debian release, with its build dependencies and without a network:
# clean-build.sh RELEASE DIR [INTO [COMPILER]]   Writes the package and its other files to INTO (DIR). Requires root.
# COMPILER is a package and a command (clang); with it, the build profile nocheck leaves out the unit tests. Another architecture than this
# machine's (NEOAPI_ARCHITECTURE) is emulated with qemu-user-static, which binfmt_misc runs; so slowly that the unit tests exceed their limits
# of time, and are left out as well.
set -euo pipefail
release=$1 dir=$(realpath "$2") into=$(realpath "${3:-$2}") compiler=${4:-}
# shellcheck source=tests/package/release.sh
NEOAPI_RELEASE=$release . "$(dirname "$(realpath "$0")")/release.sh"
[ "$(id -u)" -eq 0 ] || { echo 'clean-build: only root can make a system of another release' >&2; exit 1; }
mkdir -p "$dir/machines"

all=$(sed -n '/^Build-Depends:/,/^[A-Z].*:/{s/^Build-Depends://;/^[A-Z]/d;p}' "$dir/source/debian/control" | tr -d '\n ' |
    sed 's/debhelper-compat([^)]*)/debhelper/g; s/([^)]*)//g')
needs=${all//<!nocheck>/} settings=()
if [ "$compiler" ] || [ "$architecture" != "$own_architecture" ]; then
    needs=$(printf '%s,%s' "$all" "$compiler" | tr , '\n' | grep -v '<!nocheck>' | paste -sd ,)
    settings=(DEB_BUILD_OPTIONS=nocheck DEB_BUILD_PROFILES=nocheck)
fi
# dwz does not support clang's DWARF 5.
[ -z "$compiler" ] || settings+=("CC=$compiler" DEB_CFLAGS_APPEND=-gdwarf-4)
base=$dir/machines/builder-$release-$architecture-$(printf '%s' "$needs" | md5sum | cut -c1-8).tar
[ -s "$base" ] || { mmdebstrap --quiet --variant=buildd --architectures="$architecture" --include="$needs" "$release" "$base.new.tar" && mv "$base.new.tar" "$base"; }

work=$(mktemp -d "$dir/machines/builder.XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT
trap 'exit 130' INT TERM HUP
tar -C "$work" -x --exclude=./dev -f "$base"
mkdir -p "$work/dev" "$work/build"
cp -r "$dir/source" "$work/build/"
# shellcheck disable=SC2016 # the inner shell fills in the arguments
unshare --mount --net --pid --fork --kill-child sh -c '
    mount --make-rprivate / && mount --bind /dev "$1/dev" && mount -t proc proc "$1/proc"
    root=$1 && shift
    exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 "$@" \
        sh -c "cd /build/source && dpkg-buildpackage -us -uc -b"' - "$work" "${settings[@]}"
find "$work/build" -maxdepth 1 -type f -exec cp -t "$into" {} +
bash "$(dirname "$(realpath "$0")")/components.sh" "$work" "$dir" "$into"
