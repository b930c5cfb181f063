#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the packages that a folder's lock file pins: npm.sh FOLDER INTO. Done once; after that no network is needed.
set -eu

[ $# -eq 2 ] || { echo "usage: npm.sh FOLDER INTO" >&2; exit 2; }
from=$1 into=$2
is_there() {
    cmp -s "$from/package-lock.json" "$into/package-lock.json"
}
if is_there; then exit 0; fi

# A lock: the second of two concurrent calls uses the result of the first.
mkdir -p "$(dirname "$into")"
exec 9>"$into.lock"
flock 9
if is_there; then exit 0; fi

# Installed into a temporary directory and moved, so that an interrupted installation is not used.
fresh=$into.$$
trap 'rm -rf "$fresh"' EXIT
trap 'exit 130' INT TERM HUP
mkdir -p "$fresh"
cp "$from/package.json" "$from/package-lock.json" "$from/.npmrc" "$fresh/"
echo "npm ci (once, into $into)"
(cd "$fresh" && npm ci --ignore-scripts --no-progress --loglevel=error 9>&-)
rm -rf "$into"
mv "$fresh" "$into"
trap - EXIT
