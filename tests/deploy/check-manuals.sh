#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compares the manuals with the code: check-manuals.sh BUILD
# They explain every directive and message of the module and every command and option of the programs, and no others. man reports no
# warnings. The versions are equal.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=/dev/null
. "$here/common.sh"
[ $# -eq 1 ] || die "usage: check-manuals.sh BUILD"
build=$(absolute "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

page() {
    MANWIDTH=2000 man --warnings -E UTF-8 -l -P cat "$build/man/$1" 2>"$work/warnings" | sed 's/.\x08//g' >"$work/$1"
    [ ! -s "$work/warnings" ] || { cat "$work/warnings" >&2; die "man complains of $1"; }
}

# same WHAT FILE: the names in $work/code and in $work/manual are equal. The manual's are described in FILE.
same() {
    sort -u -o "$work/code" "$work/code"
    sort -u -o "$work/manual" "$work/manual"
    [ -s "$work/code" ] || die "the code has no $1"
    diff "$work/code" "$work/manual" >"$work/different" ||
        { cat "$work/different" >&2; die "the manual's $1 (>) are not the code's (<): describe them in $2"; }
    printf '%d %s\n' "$(wc -l <"$work/code")" "$1"
}

page mod_neoapi.7
sh "$here/directives.sh" "$build/mod_neoapi.so" >"$work/code"
sed -n 's/^   \(NeoAPI[A-Za-z]*\) .*/\1/p' "$work/mod_neoapi.7" >"$work/manual"
same directives conf/neoapi.conf
grep -aoE 'NEO0[0-9]{3}' "$build/mod_neoapi.so" >"$work/code"
sed -n 's/^ *\(NEO0[0-9]*\)$/\1/p' "$work/mod_neoapi.7" >"$work/manual"
same messages include/core/messages.h

# Each heading of the manual is a command as in --help, followed by its options.
page neoapictl.1
"$build/neoapictl" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z -]*[a-z]\)\(  .*\)*$/\1/p' >"$work/commands"
while read -r command; do
    # shellcheck disable=SC2086 # a command may be two words
    "$build/neoapictl" $command --help | sed -n "1s/^Usage: neoapictl \(\[[^]]*\] \)*//p"
done <"$work/commands" >"$work/code"
sed -n '/^COMMANDS/,/^OPTIONS/s/^   \([a-z]\)/\1/p' "$work/neoapictl.1" >"$work/manual"
same commands src/ctl
while read -r command; do
    # shellcheck disable=SC2086
    "$build/neoapictl" $command --help | sed -n '2,$s/^  \(--[a-z-]*\).*/\1/p'
done <"$work/commands" >"$work/code"
sed -n 's/^       \(--[a-z-]*\).*/\1/p' "$work/neoapictl.1" >"$work/manual"
same options src/ctl

page neoapi-listen.1
sed -n 's/^    parser.add_argument("\(--[a-z-]*\)".*/\1/p' "$here/../../src/docs/neoapi-listen.py" >"$work/code"
sed -n 's/^       \(--[a-z-]*\).*/\1/p' "$work/neoapi-listen.1" >"$work/manual"
same "options of neoapi-listen" doc/neoapi-listen.1.in

version=$("$build/neoapictl" --version | sed 's/.* //')
[ "$(sed -n '1s/.*(\([^-]*\)-.*).*/\1/p' "$here/../../debian/changelog")" = "$version" ] || die "debian/changelog is not for version $version"
