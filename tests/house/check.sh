#!/bin/sh
# Runs the house checks over the project, or over the folder named: check.sh [FOLDER]
# One line a check; what is wrong stands above the line of its check.
set -u

here=$(cd "$(dirname "$0")" && pwd)
root=${1:-$here/../..}

failed=0
for check in format floors sizes texts; do
    if said=$(/usr/bin/python3 -B "$here/$check.py" "$root" 2>&1); then
        echo "house: $check: ok ($said)"
    else
        printf '%s\n' "$said"
        echo "house: $check: failed"
        failed=1
    fi
done
exit "$failed"
