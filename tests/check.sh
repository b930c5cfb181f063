#!/bin/sh
# Everything that must hold before a change is merged, step by step, whatever fails. Its last line sums up.
#
# What only computes runs beside the end-to-end tests, which wait much of their time; it yields to them, and what it says is shown
# when they have ended. Nothing runs beside the tests that measure times.
set -u
cd "$(dirname "$0")/.." || exit 1
unset MAKEFLAGS MAKELEVEL MFLAGS # each step is a make of its own
jobs=-j$(nproc)

# The number before a word ("12 passed"), of the last line that has it.
number() {
    sed -n "s/.*\b\([0-9][0-9]*\) $1.*/\1/p" "$said" | tail -n 1 | grep . || echo 0
}

# A step says how many tests passed and failed; one that says nothing is a test itself. Both numbers go to a file, for the sum.
step() {
    name=$1 said=$(mktemp "$place/step.XXXXXX")
    shift
    begun=$(date +%s)
    printf '\n== %s\n' "$name"
    { "$@" 2>&1; echo $? >"$said.status"; } | tee "$said"
    status=$(cat "$said.status")
    good=$(number passed) bad=$(($(number failed) + $(number error)))
    [ "$good$bad" != 00 ] || good=$((status == 0))
    [ "$status" -eq 0 ] || [ "$bad" -gt 0 ] || bad=1
    echo "$good $bad" >>"$place/sum"
    printf '== %s: %d passed, %d failed, %d s\n' "$name" "$good" "$bad" $(($(date +%s) - begun))
}

beside() {
    step 'format and structure' make -s house
    step 'unit tests' make -s "$jobs" unit
    step 'build with sanitizers' make -s "$jobs" SAN=1 all
    step 'unit tests with sanitizers' make -s "$jobs" SAN=1 unit
}

if [ "${1:-}" = beside ]; then
    place=$2
    beside
    exit 0
fi

started=$(date +%s)
place=$(mktemp -d "${TMPDIR:-/tmp}/neoapi-check.XXXXXX") || exit 1
other=
trap 'rm -rf "$place"' EXIT
trap '[ -z "$other" ] || kill -- "-$other" 2>/dev/null; exit 130' INT TERM HUP

step 'build, warnings as errors' make -s "$jobs" all
setsid nice sh tests/check.sh beside "$place" >"$place/beside" 2>&1 &
other=$!
step 'shipped configuration' sh tests/deploy/check-conf.sh build/mod_neoapi.so
step 'manuals' make -s check-manuals
step 'OpenAPI document' make -s openapi-check
step 'what reads the input of strangers' make -s "$jobs" fuzz-check
step 'end-to-end tests' make -s e2e-together
wait "$other" || echo '0 1' >>"$place/sum" # it did not come to its end
other=
cat "$place/beside"
step 'end-to-end tests with sanitizers' make -s SAN=1 e2e-together
step 'end-to-end tests that measure times' make -s e2e-alone
step 'end-to-end tests that measure times, with sanitizers' make -s SAN=1 e2e-alone

passed=$(awk '{ sum += $1 } END { print sum + 0 }' "$place/sum")
failed=$(awk '{ sum += $2 } END { print sum + 0 }' "$place/sum")
printf '\ncheck: %d passed, %d failed, in %d s\n' "$passed" "$failed" $(($(date +%s) - started))
[ "$failed" -eq 0 ]
