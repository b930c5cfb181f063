#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs lint checks over a folder: check.sh FOLDER CHECK...
# One line a check; what is wrong is above the line of its check.
set -u

here=$(cd "$(dirname "$0")" && pwd)
root=$1
shift
failed=0
for check; do
    if output=$(/usr/bin/python3 -B "$here/$check.py" "$root" 2>&1); then
        echo "lint: $check: ok ($output)"
    else
        printf '%s\n' "$output"
        echo "lint: $check: failed"
        failed=1
    fi
done
exit "$failed"
