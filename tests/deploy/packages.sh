#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that are missing from the groups named: packages.sh build run check
# Starts no service and creates no database cluster: tests start private servers (instance.sh).
set -eu

# group, package, and a command that replaces it if installed by other means
list='
build gcc
build make
build pkgconf
build apache2-dev
build libapr1-dev
build libaprutil1-dev
build libpq-dev
build libjansson-dev
build libyaml-dev
build zlib1g-dev
build libssl-dev
build libcurl4-openssl-dev
build graphviz dot
run   apache2-bin
run   libaprutil1-dbd-pgsql
run   postgresql
run   curl
run   openssl
run   ca-certificates
run   python3
cluster patroni
cluster python3-etcd
cluster etcd-server etcd
cluster haproxy     haproxy
cluster pgbouncer   pgbouncer
cluster iproute2    ip
unit  libcmocka-dev
check git
check python3-pytest
check python3-pytest-xdist
check python3-requests
check python3-psycopg2
check python3-jsonschema
check python3-yaml
check python3-h2
check python3-cryptography
check python3-jwt
check python3-hypothesis
check-all apache2
check-all clang-format
check-all clang-tidy
check-all python3-pyflakes
check-all universal-ctags
check-all shellcheck
check-all man-db
check-all nodejs  node
check-all npm     npm
check-all chromium
check-all chromium-driver
check-all python3-selenium
check-all php-cli php
check-all prometheus promtool
check-all clang
check-all libclang-rt-dev
bench wrk
bench python3
bench nginx   nginx
bench python3-psycopg2
bench nodejs  node
bench npm     npm
bench golang-go go
bench golang-github-jackc-pgx-v4-dev
package debhelper
package libcmocka-dev
package build-essential
package fakeroot
package piuparts
package mmdebstrap
package nodejs  node
package npm     npm
foreign qemu-user-static
foreign binfmt-support
foreign arch-test
image mmdebstrap
image umoci
image skopeo
image crun
image podman
image iproute2    ip
image diffoscope-minimal diffoscope
image faketime
image locales
image python3
repository git
repository aptly
repository gnupg
'

say() {
    printf 'packages: %s\n' "$*" >&2
}

# Prints the packages of the groups that are not installed.
missing() {
    for group; do
        printf '%s\n' "$list" | while read -r in_group package command; do
            [ "$in_group" = "$group" ] || continue
            if [ -n "$command" ] && command -v "$command" >/dev/null; then continue; fi
            echo "$package"
        done
    done | sort -u | while read -r package; do
        case " $installed " in
            *" $package "*) ;;
            *) echo "$package" ;;
        esac
    done
}

# Debian's packages start their services, enable them, and create a database cluster. While apt runs, policy-rc.d prevents
# starting, and a setting of postgresql-common prevents the cluster; afterwards new services are disabled.
policy=/usr/sbin/policy-rc.d
cluster_dir=/etc/postgresql-common/createcluster.d
cluster_conf=$cluster_dir/neoapi.conf
wrote_policy=

quiet_services() {
    trap loud_services EXIT
    trap 'exit 130' INT TERM HUP
    if [ ! -e "$policy" ]; then
        wrote_policy=yes
        printf '#!/bin/sh\n# For the time of one installation by packages.sh.\nexit 101\n' >"$policy"
        chmod 755 "$policy"
    fi
    mkdir -p "$cluster_dir"
    echo 'create_main_cluster = false' >"$cluster_conf"
}

loud_services() {
    [ -z "$wrote_policy" ] || rm -f "$policy"
    rm -f "$cluster_conf"
    rmdir "$cluster_dir" 2>/dev/null || true
}

installed_packages() {
    dpkg-query -W -f '${db:Status-Status} ${Package}\n' | sed -n 's/^installed //p' | sort
}

# Disables the servers that were not in the given list of packages.
disable_servers() {
    command -v systemctl >/dev/null || return 0
    for package in $(installed_packages | grep -vxF "$1" | grep -E '^(apache2|etcd|haproxy|nginx|patroni|pgbouncer|postgresql|prometheus)'); do
        dpkg -L "$package" | sed -n 's|.*/systemd/system/\([^/@]*\.\(service\|timer\|socket\)\)$|\1|p'
    done | while read -r unit; do systemctl --quiet disable "$unit" 2>/dev/null || true; done
}

usage='usage: packages.sh GROUP…, of build, run, cluster, unit, check, check-all, bench, package, foreign, image, repository'
[ $# -gt 0 ] || { say "$usage"; exit 2; }
for group; do
    printf '%s\n' "$list" | grep -q "^$group " || { say "$usage"; exit 2; }
done

installed=$(installed_packages | tr '\n' ' ')
wanted=$(missing "$@" | tr '\n' ' ')
[ -n "$wanted" ] || exit 0

if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        say "missing: $wanted"
        say "There is no sudo here: ask an administrator to run 'sh tests/deploy/packages.sh $*', or apt-get install with these packages."
        exit 1
    fi
    say "sudo apt-get install $wanted"
    exec sudo sh "$(cd "$(dirname "$0")" && pwd)/$(basename "$0")" "$@"
fi

say "apt-get install $wanted"
export DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1
exec 9>/run/lock/neoapi-packages
flock 9 # concurrent runs must not remove each other's policy
before=$(installed_packages)
quiet_services
apt-get -q update || say "apt-get update failed; going on with the package lists as they are"
# shellcheck disable=SC2086 # a list of names
apt-get -q -y --no-install-recommends -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 install $wanted
disable_servers "$before"
