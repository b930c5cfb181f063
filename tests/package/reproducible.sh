#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds the package and the image twice, and compares them byte by byte: reproducible.sh DIR
# The second build has another directory, user, host name, home, umask, time zone, locale, date (a year later) and number of processes.
# If they differ, diffoscope shows how, if it is installed. Requires root, and faketime. DIR is that of build.sh; its image uses the packages
# of Debian in NEOAPI_DEBS.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
root=$(realpath "$here/../..")
[ $# -eq 1 ] || { echo 'usage: reproducible.sh DIR' >&2; exit 2; }
[ "$(id -u)" -eq 0 ] || { echo 'reproducible: only root can build as two users' >&2; exit 1; }
mkdir -p "$1"
dir=$(realpath "$1")
# dpkg-buildflags cannot map a path with blanks.
one=$dir/one two=$dir/two/in-another-directory
rm -rf "$one" "$dir/two"
mkdir -p "$one" "$two" "$dir/locales"
localedef -i tr_TR -f UTF-8 "$dir/locales/tr_TR.UTF-8"

# The source as build.sh of this folder has it; the second copy is of the first, so that an edit meanwhile does not matter.
mkdir "$one/source"
tar -C "$root" -c --exclude=./.git --exclude=./build --exclude=__pycache__ --exclude=.pytest_cache . | tar -C "$one/source" -x
cp -r "$one/source" "$two/"

# The unit tests do not change what is built.
settings='nocheck noautodbgsym'

build_one() {
    cd "$one/source"
    umask 022
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 TZ=UTC DEB_BUILD_OPTIONS="$settings parallel=2" DEB_BUILD_PROFILES=nocheck \
        dpkg-buildpackage -us -uc -b
}

build_two() {
    chown -R nobody: "$dir/two"
    cd "$two/source"
    umask 002
    # shellcheck disable=SC2016 # the inner shell fills in the arguments
    unshare --uts sh -c 'hostname elsewhere && exec "$@"' - \
        setpriv --reuid=nobody --regid=nogroup --clear-groups env -i PATH=/usr/local/bin:/usr/bin:/bin:/usr/games HOME="$two" \
        LOCPATH="$dir/locales" LC_ALL=tr_TR.UTF-8 LANGUAGE=tr TZ=Pacific/Kiritimati DEB_BUILD_OPTIONS="$settings parallel=1" DEB_BUILD_PROFILES=nocheck \
        faketime -f +400d dpkg-buildpackage -us -uc -b
}

same() {
    cmp -s "$1" "$2" && { printf 'the same bytes: %s  %s\n' "$(sha256sum <"$1" | cut -c1-64)" "$(basename "$1")"; return; }
    echo "different: $(basename "$1")"
    if command -v diffoscope >/dev/null; then diffoscope "$1" "$2" | head -n 200 || true; fi
    return 1
}

build_one >"$dir/one.log" 2>&1 || { tail -n 30 "$dir/one.log"; exit 1; }
build_two >"$dir/two.log" 2>&1 || { tail -n 30 "$dir/two.log"; exit 1; }
deb=$(basename "$one"/*.deb)
same "$one/$deb" "$two/$deb"
[ -n "${NEOAPI_DEBS:-}" ] || exit 0

image=$root/tests/image/build.sh
bash "$image" "$one" "$one/image" >/dev/null
(umask 077 && LC_ALL=tr_TR.UTF-8 LOCPATH=$dir/locales TZ=Pacific/Kiritimati bash "$image" "$two" "$two/image" >/dev/null)
for file in base.tar module.tar oci/index.json mod-neoapi.tar mod-neoapi.spdx.json mod-neoapi.cyclonedx.json; do
    same "$one/image/$file" "$two/image/$file"
done
