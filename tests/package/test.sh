#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests the Debian package in temporary systems: test.sh DIR [STEP...]
# DIR is that of build.sh, NEOAPI_RELEASE (this machine's) the release that the package was built for. The steps, by default all:
#   clean_build   a build from the source on a clean system with the build dependencies, without a network and without warnings
#   clang         the same with clang, and with nocheck
#   lintian       reports no problems
#   walk          the commands of the README, from the package to a request and a webhook
#   way           the commands for Debian on the page "Running the service", up to an event
#   site          neoapictl site create: each kind of certificate; failures change nothing
#   setup         neoapictl setup with questions on a terminal, up to a request; Ctrl-C
#   autopkgtest   debian/tests, like Debian
#   upgrade       of a serving host: from the previous version, with a migration; then removal and purge
#   pgbouncer     behind Debian's PgBouncer
#   administration  the commands of doc/administration.md for standbys and the encryption key
#   service       with the systemd drop-in conf/systemd/neoapi.conf
#   repository    an apt repository: installation, unattended upgrades, tampering
#   piuparts      install, upgrade, remove, purge: no files are left
# The output of a step is in DIR/STEP.log. The base systems in DIR/machines are created once, for which apt needs a network.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
root=$(realpath "$here/../..")
# shellcheck source=tests/package/release.sh
. "$here/release.sh"
dir=$(realpath "$1")
shift
deb=$(echo "$dir"/libapache2-mod-neoapi_*.deb)
source=$dir/source
[ -f "$deb" ] || { echo 'test: there is no package; make package makes it' >&2; exit 1; }
mkdir -p "$dir/machines"

# The package's dependencies and the packages in the README, which machines install without a network.
at_hand='apache2 postgresql libaprutil1-dbd-pgsql libyaml-0-2 openssl pgbouncer'
# The dependencies of lintian and autopkgtest.
tools=autopkgtest,lintian

# machine PACKAGES SCRIPT [FILE...]: runs machine.sh with these additional packages.
machine() {
    NEOAPI_RELEASE=$release NEOAPI_INSTALLED=python3${1:+,$1} NEOAPI_AT_HAND=$at_hand bash "$here/machine.sh" "$dir/machines" "${@:2}"
}

# Builds the previous version: this one with another number and every file changed that can be (programs have an additional line at the
# end).
make_older() {
    rm -rf "$dir/older"
    mkdir "$dir/older"
    dpkg-deb -R "$deb" "$dir/older/tree"
    sed -i 's/^\(Version: .*\)/\1~older/' "$dir/older/tree/DEBIAN/control"
    find "$dir/older/tree" -path '*/DEBIAN' -prune -o -type f ! -name '*.gz' -print | while read -r file; do
        echo '# of the older package' >>"$file"
    done
    (cd "$dir/older/tree" && find . -path ./DEBIAN -prune -o -type f -printf '%P\n' | sort | xargs md5sum >DEBIAN/md5sums)
    dpkg-deb -b --root-owner-group "$dir/older/tree" "$dir/older/" >/dev/null
    rm -rf "$dir/older/tree"
    (cd "$dir/older" && dpkg-scanpackages -m . 2>/dev/null >Packages)
}

# rebuild INTO [COMPILER]: fails if there is a warning, or if the package has other files than the one to test.
rebuild() {
    rm -rf "$1"
    mkdir "$1"
    bash "$here/clean-build.sh" "$release" "$dir" "$@" 2>&1 | tee "$1/log"
    if grep -n 'warning:' "$1/log"; then echo 'There are warnings.'; return 1; fi
    dpkg-deb -c "$deb" | awk '{print $6}' >"$1/contents"
    dpkg-deb -c "$1"/libapache2-mod-neoapi_*.deb | awk '{print $6}' | diff "$1/contents" -
}

clean_build() {
    rebuild "$dir/rebuilt"
    grep -q 'CC .*tests/unit/' "$dir/rebuilt/log"
}

clang() {
    rebuild "$dir/by-clang" clang
    grep '^ CC="clang"' "$dir"/by-clang/*.buildinfo
    if grep 'tests/unit/' "$dir/by-clang/log"; then echo 'The unit tests were built in spite of nocheck.'; return 1; fi
}

lintian() {
    machine "$tools" "$here/lintian.sh" "$dir"/*.changes "$dir"/*.buildinfo "$dir"/*.deb
}

walk() {
    machine '' "$root/debian/tests/walk" "$root/README.md" "$root/debian/tests/receive.py" "$deb"
}

way() {
    machine '' "$here/way.py" "$root/src/docs/ways.html" "$deb"
}

site() {
    machine '' "$here/site.sh" "$deb"
}

setup() {
    machine '' "$here/setup.py" "$deb"
}

autopkgtest() {
    machine "$tools" "$here/autopkgtest.sh" "$source" "$deb"
}

upgrade() {
    make_older
    machine '' "$here/upgrade.sh" "$root/README.md" "$root/debian/tests" "$dir"/older/*.deb "$deb"
}

pgbouncer() {
    machine '' "$here/pgbouncer.sh" "$root/README.md" "$root/debian/tests" "$root/conf" "$deb"
}

administration() {
    machine python3-requests "$here/administration.sh" "$root/README.md" "$root/debian/tests" "$root/doc/administration.md" "$root/src/docs/sync.py" "$deb"
}

service() {
    machine '' "$here/service.sh" "$root/README.md" "$root/debian/tests" "$deb"
}

# with_version VERSION FOLDER: writes the package with another version.
with_version() {
    mkdir -p "$2"
    dpkg-deb -R "$deb" "$2/tree"
    sed -i "s/^Version: .*/Version: $1/" "$2/tree/DEBIAN/control"
    dpkg-deb -Znone -b --root-owner-group "$2/tree" "$2" >/dev/null
    rm -rf "$2/tree"
}

repository() {
    local work=$dir/repository version other series next
    rm -rf "$work"
    mkdir -p "$work/gnupg" "$work/3"
    chmod 700 "$work/gnupg"
    export GNUPGHOME=$work/gnupg
    for key in genuine foreign; do gpg --batch --quiet --passphrase '' --quick-generate-key "$key" ed25519 sign never; done
    gpg --with-colons --fingerprint genuine | awk -F: '$1 == "fpr" {print $10; exit}' >"$work/fingerprint"

    # The same version for the other release of Debian, and the first one of the next series.
    version=$(dpkg-deb -f "$deb" Version)
    case $release in bookworm) other=trixie ;; *) other=bookworm ;; esac
    series=$(printf %s "$version" | cut -d . -f 1-2)
    next=${series%.*}.$((${series#*.} + 1)).0-1$suffix
    # shellcheck disable=SC2016 # the inner shell fills in the variables
    for name in bookworm trixie; do
        NEOAPI_RELEASE=$name sh -c '. "$1/release.sh"; echo "$2$suffix"' - "$here" "${version%~deb*}"
    done >"$work/sorted"
    dpkg --compare-versions "$(head -n 1 "$work/sorted")" lt "$(tail -n 1 "$work/sorted")"

    printf '%s\n' "$version~1" "$version~2" "$version" >"$work/versions"
    echo "$series" >"$work/series"
    echo "$next" >"$work/next"
    with_version "$version~1" "$work/1"
    with_version "$version~2" "$work/2"
    with_version "$next" "$work/3"
    cp "$dir"/*.deb "$work/3"
    with_version "$(grep -vxF "$version" "$work/sorted")" "$work/other"
    with_version 9.0.0-1 "$work/9"
    for state in 1 2 3; do
        sh "$here/repository.sh" "$work/apt" genuine "$release=$work/$state" "$other=$work/other"
        cp -r "$work/apt/public" "$work/state.$state"
    done
    sh "$here/repository.sh" "$work/foreign-apt" foreign "$release=$work/9"
    cp -r "$work/foreign-apt/public" "$work/foreign"

    # Another build of a published version, and a key that gpg does not have.
    with_version "$version" "$work/rebuilt"
    if sh "$here/repository.sh" "$work/apt" genuine "$release=$work/rebuilt"; then echo 'A published version was replaced.'; return 1; fi
    if sh "$here/repository.sh" "$work/apt" unknown "$release=$work/3"; then echo 'An unknown key was accepted.'; return 1; fi
    diff -r "$work/apt/public" "$work/state.3"

    # The key of a later release is published with the one that signs.
    sh "$here/repository.sh" "$work/apt" genuine,foreign "$release=$work/3"
    [ "$(gpg --show-keys --with-colons "$work/apt/public/mod-neoapi.asc" | grep -c ^pub)" -eq 2 ]
    gpgconf --kill all

    machine unattended-upgrades,gnupg "$here/apt.sh" "$root/doc/administration.md" \
        "$work"/{state.1,state.2,state.3,foreign,versions,series,next,fingerprint}
}

piuparts() {
    local base
    make_older
    # A separate base system with the previous version in its sources, from which piuparts upgrades.
    base=$dir/machines/piuparts-$release-$(printf %s "$dir" | cksum | cut -d ' ' -f 1).tar.gz
    [ -s "$base" ] || { mmdebstrap --quiet --variant=apt --customize-hook="echo 'deb [trusted=yes] file:$dir/older ./' \
        >\"\$1/etc/apt/sources.list.d/older.list\"" "$release" "$base.new.tar.gz" && mv "$base.new.tar.gz" "$base"; }
    # Left by trixie's passwd and debconf, not by this package.
    command piuparts --distribution "$release" --basetgz "$base" --keep-sources-list --bindmount "$dir/older" --install-recommends \
        --ignore /etc/.pwd.lock --ignore /var/cache/debconf/tmp.ci/ "$deb"
    grep -q 'PASS: Installation, upgrade and purging' "$dir/piuparts.log" || { echo 'piuparts had nothing to upgrade'; return 1; }
}

failed=0
if [ $# -eq 0 ]; then set -- clean_build clang lintian walk way site setup autopkgtest upgrade pgbouncer administration service repository piuparts; fi
for step; do
    begun=$SECONDS
    # Not in the condition of an "if": bash would ignore -e in all of the step.
    set +e
    (set -e; "$step") >"$dir/$step.log" 2>&1
    status=$?
    set -e
    if [ "$status" -eq 0 ]; then verdict=passed; else verdict=FAILED failed=$((failed + 1)); fi
    printf '%-14s %s, %d s (%s)\n' "$step" "$verdict" $((SECONDS - begun)) "$dir/$step.log"
    [ "$verdict" = passed ] || tail -n 25 "$dir/$step.log"
done
[ "$failed" -eq 0 ]
