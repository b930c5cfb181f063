#!/bin/sh
# Installs the packages that a folder's lock file pins: npm.sh FOLDER INTO. Done once; after that no network is needed.
set -eu

[ $# -eq 2 ] || { echo "usage: npm.sh FOLDER INTO" >&2; exit 2; }
from=$1 into=$2
if cmp -s "$from/package-lock.json" "$into/package-lock.json"; then exit 0; fi

# Installed beside and then moved, so that an interrupted installation is not taken for a whole one.
fresh=$into.$$
trap 'rm -rf "$fresh"' EXIT
trap 'exit 130' INT TERM HUP
mkdir -p "$fresh"
cp "$from/package.json" "$from/package-lock.json" "$from/.npmrc" "$fresh/"
echo "npm ci (once, into $into)"
(cd "$fresh" && npm ci --ignore-scripts --no-progress --loglevel=error)
rm -rf "$into"
mv "$fresh" "$into"
trap - EXIT
