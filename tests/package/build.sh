#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the Debian package from a copy of the source: build.sh DIR
# NEOAPI_RELEASE=trixie, NEOAPI_ARCHITECTURE=arm64: on a clean system of these, if they are not this machine's. The copy is DIR/source;
# the package and its other files are written to DIR. So are the list of its components (mod-neoapi.spdx.json and
# mod-neoapi.cyclonedx.json) and what it was built from (provenance.json). The changelog says "unstable" for every release, because all are
# built from one source, which is not uploaded.
set -eu
here=$(dirname "$(realpath "$0")")
root=$(realpath "$here/../..")
# shellcheck source=tests/package/release.sh
. "$here/release.sh"
[ $# -eq 1 ] || { echo 'usage: build.sh DIR' >&2; exit 2; }
mkdir -p "$1"
dir=$(realpath "$1")

rm -rf "$dir/source" "$dir"/*.deb "$dir"/*.changes "$dir"/*.buildinfo
mkdir "$dir/source"
tar -C "$root" -c --exclude=./.git --exclude=./build --exclude=__pycache__ --exclude=.pytest_cache . | tar -C "$dir/source" -x
sed -i "1s/)/$suffix)/" "$dir/source/debian/changelog"
chown -R "$(id -u):$(id -g)" "$dir/source"

# Without the caller's and make's variables, such as BUILD and CFLAGS.
build() {
    if [ "$release $architecture" = "$own_release $own_architecture" ]; then
        cd "$dir/source"
        env -i PATH="$PATH" HOME="$HOME" LANG=C.UTF-8 dpkg-buildpackage -us -uc -b
        bash "$here/components.sh" / "$dir" "$dir"
    else
        bash "$here/clean-build.sh" "$release" "$dir"
    fi
}

build >"$dir/build.log" 2>&1 || { tail -n 40 "$dir/build.log" >&2; exit 1; }
/usr/bin/python3 -B "$root/tests/image/provenance.py" "$root" "make package RELEASE=$release ARCHITECTURE=$architecture" "$release" "$dir"/libapache2-mod-neoapi_*.deb \
    "$dir"/*.buildinfo >"$dir/provenance.json"
ls "$dir"/libapache2-mod-neoapi_*.deb
