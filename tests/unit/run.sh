#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs test programs, all of them whatever happens, and sums up: run.sh PROGRAM…
# A program that passes is silent; of one that fails, what it said is shown. cmocka speaks TAP here, so that the tests that a
# crash kept from running count as failed, too.
set -u

said=$(mktemp "${TMPDIR:-/tmp}/neoapi-unit.XXXXXX") || exit 1
trap 'rm -f "$said"' EXIT
trap 'exit 130' INT TERM HUP

passed=0 failed=0
for program; do
    CMOCKA_MESSAGE_OUTPUT=TAP timeout 120 "$program" >"$said" 2>&1
    status=$?
    planned=$(sed -n 's/^1\.\.\([0-9]*\)$/\1/p' "$said" | head -n 1)
    good=$(grep -c '^ok ' "$said")
    bad=$((${planned:-0} - good))
    # A leak, or a death after the last test, is one more failure.
    [ "$bad" -gt 0 ] || [ "$status" -eq 0 ] || bad=1
    if [ "$bad" -gt 0 ]; then
        echo "unit: $(basename "$program") failed (exit status $status):"
        grep -v '^ok ' "$said"
    fi
    passed=$((passed + good))
    failed=$((failed + bad))
done
echo "unit: $passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
