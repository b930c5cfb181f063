#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs the package from an apt repository with the commands of doc/administration.md, in a machine of machine.sh; upgrades it twice
# with unattended-upgrades; checks that apt refuses repositories that were tampered with. state.1 to state.3 are the repository with one
# version after the other, foreign is a repository with a higher version and another key.
set -euo pipefail
say() { printf '\n== %s\n' "$*"; }
fail() { printf 'apt: %s\n' "$*"; exit 1; }
export DEBIAN_FRONTEND=noninteractive
echo 'APT::Get::Assume-Yes "true";' >/etc/apt/apt.conf.d/90trial
systemctl stop apt-daily.timer apt-daily-upgrade.timer

mkdir served
python3 -m http.server --directory "$PWD/served" 8000 >requests 2>&1 &
trap 'kill %1' EXIT
for _ in $(seq 100); do if curl -s -o /dev/null http://localhost:8000/; then break; fi; sleep 0.1; done

# serve FOLDER: apt asks for what is newer than what it has, so each state is an hour newer than the one before.
hour=0
serve() {
    rm -rf served
    cp -r "$1" served
    touch_all
}
touch_all() {
    hour=$((hour + 1))
    find served -exec touch -d "2026-01-01 00:00:00 UTC + $hour hours" {} +
}
indexes() { find served/dists/*/main/binary-* -type f; }
installed() { dpkg-query -W -f '${Version}' libapache2-mod-neoapi 2>/dev/null; }
is_installed() { [ "$(installed)" = "$1" ] || { cat log; fail "version $(installed) is installed, not $1"; }; }
upgrade() {
    apt-get update >log 2>&1 || true
    unattended-upgrade -v >>log 2>&1 || true
}

# block NUMBER: runs a block of commands of the section, with the repository's address and series replaced.
awk '/^## /{ours = /^## Installation from an apt repository/} !ours {next}
    /^    /{if (!inside) n++; inside = 1; sub(/^    /, ""); print >"block." n; next} {inside = 0}' administration.md
[ "$(find . -maxdepth 1 -name 'block.*' | wc -l)" = 4 ] || fail 'the section has other blocks of commands'
block() {
    sed "s|https://apt\.example\.com|http://localhost:8000|g; s/0\.1\.\*/$(cat series).*/" "block.$1" >commands
    say "block $1"
    cat commands
    bash -euc "$(cat commands)" >log 2>&1 || { cat log; fail 'that failed'; }
}
mapfile -t versions <versions

say 'a repository that is signed with another key is refused at the first installation'
serve foreign
cp state.1/mod-neoapi.asc served/
block 1
if (block 2) >refusal 2>&1; then fail 'it was accepted'; fi
grep -E 'NO_PUBKEY|Missing key|not signed' refusal || { cat refusal; fail 'apt does not say why'; }
[ -z "$(installed)" ] || fail 'the package was installed'

serve state.1
block 1
grep -q "$(cat fingerprint)" <(tr -d ' ' <log) || { cat log; fail 'the fingerprint is not shown'; }
block 2
is_installed "${versions[0]}"
block 3
block 4

say 'an unattended upgrade'
serve state.2
upgrade
is_installed "${versions[1]}"

refused() { # DESCRIPTION PATTERN: served/ was tampered with
    touch_all
    upgrade
    is_installed "${versions[1]}"
    apt-get -q install libapache2-mod-neoapi >>log 2>&1 || true
    is_installed "${versions[1]}"
    grep -E "$2" log || { cat log; fail "apt does not say why it refuses $1"; }
}
say 'refused: a changed package'
serve state.3
for deb in served/pool/main/*/*/*"_${versions[2]}_"*.deb; do printf x | dd of="$deb" bs=1 seek=2000 conv=notrunc status=none; done
refused 'a changed package' 'Hash Sum mismatch|unexpected size'
say 'refused: a changed index'
serve state.3
indexes | while read -r file; do echo changed >>"$file"; done
rm -rf /var/lib/apt/lists/localhost*
refused 'a changed index' 'Hash Sum mismatch|unexpected size'
say 'refused: another key'
serve foreign
refused 'another key' 'NO_PUBKEY|Missing key|not signed'
say 'refused: no signature'
serve state.3
rm served/dists/*/InRelease served/dists/*/Release.gpg
refused 'no signature' 'not signed'

say 'the next unattended upgrade, and none to the next series'
serve state.3
upgrade
is_installed "${versions[2]}"
apt-cache policy libapache2-mod-neoapi | tee policy
grep -qF "$(cat next)" policy || fail 'the repository does not offer the next series'
a2query -q -m neoapi || fail 'the module is not enabled'
