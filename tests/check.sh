#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the project's checks. Continues after failures; the last line is the summary.
#
#   check.sh        before a commit: build, unit tests, the end-to-end tests of the API
#   check.sh all    everything: the same, then sanitizers, coverage, slow and timing tests, browsers, linters, fuzz corpora
#   check.sh rest   `all` without the steps of `check.sh` and without coverage
#
# CPU-bound steps run in the background of the end-to-end tests; their output follows. No step runs during the tests that measure times.
set -u
cd "$(dirname "$0")/.." || exit 1
unset MAKEFLAGS MAKELEVEL MFLAGS # each step runs its own make
for name in $(env | sed -n 's/^\(NEOAPI_[A-Z_]*\|PYTEST_[A-Z_]*\|PYTHON[A-Z]*\|PG[A-Z]*\)=.*/\1/p'); do
    unset "$name" # the environment must not change the result
done
jobs=-j$(nproc)

# The number before a word ("12 passed") in the last line that has it.
number() {
    sed -n "s/.*\b\([0-9][0-9]*\) $1.*/\1/p" "$output" | tail -n 1 | grep . || echo 0
}

# Runs a step, shows how many tests passed and failed, and adds both numbers to the sum. A step without tests counts as one.
step() {
    name=$1 output=$(mktemp "$work/step.XXXXXX")
    shift
    begun=$(date +%s)
    printf '\n== %s\n' "$name"
    { "$@" 2>&1; echo $? >"$output.status"; } | tee "$output"
    status=$(cat "$output.status")
    good=$(number passed) bad=$(($(number failed) + $(number error)))
    [ "$good$bad" != 00 ] || good=$((status == 0))
    [ "$status" -eq 0 ] || [ "$bad" -gt 0 ] || bad=1
    echo "$good $bad" >>"$work/sum"
    printf '== %s: %d passed, %d failed, %d s\n' "$name" "$good" "$bad" $(($(date +%s) - begun))
}

# Steps that run during the end-to-end tests: `beside FUNCTION` starts them, `finish_beside` waits and prints their output.
beside() {
    setsid nice sh tests/check.sh "$1" "$work" >"$work/beside" 2>&1 &
    other=$!
}

finish_beside() {
    wait "$other" || echo '0 1' >>"$work/sum" # it did not finish
    other=
    cat "$work/beside"
}

computing() {
    step 'layers and texts' sh tests/lint/check.sh . layers texts
    step 'unit tests' make -s "$jobs" unit
    step "checker of a cluster's history" /usr/bin/python3 -B -m pytest -q -p no:cacheprovider tests/cluster/test_history.py
    step 'tools for releases' /usr/bin/python3 -B -m pytest -q -p no:cacheprovider tests/package
    step 'shipped configuration' sh tests/deploy/check-conf.sh build/mod_neoapi.so
}

computing_rest() {
    step 'format, sizes, and that each lint check can fail' make -s lint
    step 'clang-tidy' make -s tidy
    step "gcc's analyzer" make -s "$jobs" analyze
    step 'manuals' make -s check-manuals
    step 'OpenAPI document' make -s openapi-check
    step 'fuzz corpora' make -s "$jobs" SAN=1 fuzz-check
    step 'unit tests with sanitizers' make -s "$jobs" SAN=1 unit
}

check() {
    step 'build, warnings as errors' make -s "$jobs" all
    step 'generated SQL' make -s "$jobs" golden-check
    beside computing
    step 'end-to-end tests' make -s e2e-parallel MARKS='not alone and not unsanitized and not slow'
    finish_beside
}

rest() {
    step 'build with sanitizers' make -s "$jobs" SAN=1 all
    beside computing_rest
    step 'end-to-end tests with sanitizers' make -s SAN=1 e2e-parallel MARKS='not alone and not unsanitized'
    step 'end-to-end tests with browsers and tools' make -s e2e-parallel MARKS='unsanitized'
    for mpm in worker prefork; do
        step "end-to-end tests with the $mpm MPM" make -s e2e-parallel MPM=$mpm MARKS='smoke'
    done
    finish_beside
    step 'end-to-end tests that measure times' make -s e2e-alone
}

case ${1:-check} in
    computing | computing_rest) work=$2 && "$1" && exit ;;
esac

# The clusters of the tests with a million rows need most of it.
case ${1:-check} in check) needed=2 ;; *) needed=7 ;; esac
free=$(df -Pk . | awk 'NR == 2 { print int($4 / 1048576) }')
[ "$free" -ge "$needed" ] || { echo "check.sh: $PWD needs $needed GB of free disk space and has $free" >&2; exit 1; }

started=$(date +%s)
work=$(mktemp -d "${TMPDIR:-/tmp}/neoapi-check.XXXXXX") || exit 1
other=
trap 'rm -rf "$work"' EXIT
trap '[ -z "$other" ] || kill -- "-$other" 2>/dev/null; exit 130' INT TERM HUP

case ${1:-check} in
    check) check ;;
    rest) rest ;;
    all) check && rest && step 'coverage' make -s coverage ;;
    *) echo 'usage: check.sh [all|rest]' >&2 && exit 2 ;;
esac

passed=$(awk '{ sum += $1 } END { print sum + 0 }' "$work/sum")
failed=$(awk '{ sum += $2 } END { print sum + 0 }' "$work/sum")
printf '\ncheck: %d passed, %d failed, in %d s\n' "$passed" "$failed" $(($(date +%s) - started))
[ "$failed" -eq 0 ]
