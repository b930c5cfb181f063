#!/bin/sh
# Builds the Debian package in a copy of the source: build.sh DIR FETCHED
# DIR/source is the copy, with what was fetched where debian/rules looks for it; beside it are the package and what belongs to it.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
[ $# -eq 2 ] || { echo 'usage: build.sh DIR FETCHED' >&2; exit 2; }
mkdir -p "$1"
dir=$(cd "$1" && pwd)

rm -rf "$dir/source" "$dir"/*.deb "$dir"/*.changes "$dir"/*.buildinfo
mkdir "$dir/source"
tar -C "$root" -c --exclude=./.git --exclude=./build --exclude=__pycache__ --exclude=.pytest_cache . | tar -C "$dir/source" -x
if [ -d "$2/swagger-ui" ]; then
    mkdir -p "$dir/source/build/fetched"
    cp -r "$2/swagger-ui" "$dir/source/build/fetched/"
fi
chown -R "$(id -u):$(id -g)" "$dir/source"

cd "$dir/source"
dpkg-buildpackage -us -uc -b >"$dir/build.log" 2>&1 || { tail -n 40 "$dir/build.log" >&2; exit 1; }
grep '^docs: ' "$dir/build.log" >&2 || true
ls "$dir"/libapache2-mod-neoapi_*.deb
