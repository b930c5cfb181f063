#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Adds packages to a signed apt repository: repository.sh DIR KEY[,KEY…] RELEASE=FOLDER…
# Each KEY is a key of gpg's (GNUPGHOME). The first one is secret and signs; a further one is that of a later release, before hosts need it.
# Each FOLDER has the packages for one Debian release, as build.sh writes them. Web servers serve DIR/public, which has all public keys in mod-neoapi.asc; the rest of DIR is aptly's database, which the next call needs. Earlier versions
# are kept. A published version is never replaced by another build of it, because its users' apt would refuse the repository.
set -eu
[ $# -ge 3 ] || { echo 'usage: repository.sh DIR KEY[,KEY…] RELEASE=FOLDER…' >&2; exit 2; }
fail() {
    echo "repository: $*" >&2
    exit 1
}
mkdir -p "$1"
dir=$(realpath "$1") keys=$(echo "$2" | tr , ' ')
key=${keys%% *}
shift 2

# Everything that can fail is checked before the repository is changed.
gpg --batch --list-secret-keys "$key" >/dev/null 2>&1 || fail "gpg has no secret key $key; set GNUPGHOME to the folder that has it"
for one in $keys; do gpg --batch --list-keys "$one" >/dev/null 2>&1 || fail "gpg has no key $one"; done
for pair; do
    ls "${pair#*=}"/libapache2-mod-neoapi_*.deb >/dev/null 2>&1 || fail "${pair#*=} has no package; make package makes it"
done

printf '{"rootDir": "%s", "gpgProvider": "gpg"}\n' "$dir" >"$dir/aptly.conf"
aptly() { command aptly -config="$dir/aptly.conf" "$@"; }

# add RELEASE FOLDER: adds the packages and signs the indexes. Called in a condition, in which -e has no effect.
add() {
    if ! aptly repo show "$1" >/dev/null 2>&1; then aptly repo create -distribution="$1" -component=main "$1" || return; fi
    aptly repo add "$1" "$2"/*.deb || { echo 'A published version cannot be replaced by another build of it: use a new version.'; return 1; }
    if aptly publish list -raw | grep -qxF ". $1"; then
        aptly publish update -gpg-key="$key" "$1"
    else
        aptly publish repo -gpg-key="$key" -acquire-by-hash -origin=mod_neoapi -label=mod_neoapi "$1"
    fi
}
for pair; do
    add "${pair%%=*}" "${pair#*=}" >"$dir/log" 2>&1 || { tail -n 20 "$dir/log" >&2; fail "no package was added for ${pair%%=*}"; }
done
# aptly's links have absolute paths, with which a copy of the folder would be incomplete.
find "$dir/public" -type l | while read -r link; do ln -sfr "$(readlink -f "$link")" "$link"; done
# shellcheck disable=SC2086 # a list of words
gpg --batch --armor --export $keys >"$dir/public/mod-neoapi.asc"
ls "$dir"/public/pool/main/*/*/*.deb
