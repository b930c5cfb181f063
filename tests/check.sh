#!/bin/sh
# Everything that must hold before a change is merged, step by step, whatever fails. Its last line sums up.
set -u
cd "$(dirname "$0")/.." || exit 1

started=$(date +%s) passed=0 failed=0
said=$(mktemp "${TMPDIR:-/tmp}/neoapi-check.XXXXXX") || exit 1
trap 'rm -f "$said"' EXIT
trap 'exit 130' INT TERM HUP
unset MAKEFLAGS MAKELEVEL MFLAGS # each step is a make of its own

# The number before a word ("12 passed"), of the last line that has it.
number() {
    sed -n "s/.*\b\([0-9][0-9]*\) $1.*/\1/p" "$said" | tail -n 1 | grep . || echo 0
}

# A step says how many tests passed and failed; one that says nothing is a test itself.
step() {
    name=$1
    shift
    begun=$(date +%s)
    printf '\n== %s\n' "$name"
    { "$@" 2>&1; echo $? >"$said.status"; } | tee "$said"
    status=$(cat "$said.status")
    rm -f "$said.status"
    good=$(number passed) bad=$(($(number failed) + $(number error)))
    [ "$good$bad" != 00 ] || good=$((status == 0))
    [ "$status" -eq 0 ] || [ "$bad" -gt 0 ] || bad=1
    passed=$((passed + good)) failed=$((failed + bad))
    printf '== %s: %d passed, %d failed, %d s\n' "$name" "$good" "$bad" $(($(date +%s) - begun))
}

jobs=-j$(nproc)
step 'build, warnings as errors' make -s "$jobs" all
step 'format and structure' make -s house
step 'unit tests' make -s "$jobs" unit
step 'shipped configuration' sh tests/deploy/check-conf.sh build/mod_neoapi.so
step 'OpenAPI document' make -s openapi-check
step 'what reads the input of strangers' make -s "$jobs" fuzz-check
step 'end-to-end tests' make -s e2e-together
step 'end-to-end tests that measure times' make -s e2e-alone
step 'build with sanitizers' make -s "$jobs" SAN=1 all
step 'unit tests with sanitizers' make -s "$jobs" SAN=1 unit
step 'end-to-end tests with sanitizers' make -s SAN=1 e2e-together
step 'end-to-end tests that measure times, with sanitizers' make -s SAN=1 e2e-alone

printf '\ncheck: %d passed, %d failed, in %d s\n' "$passed" "$failed" $(($(date +%s) - started))
[ "$failed" -eq 0 ]
