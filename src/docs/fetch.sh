#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fetches Swagger UI for the reference page from npm into DIR/swagger-ui, unless it is there: fetch.sh DIR
# On failure it prints the reason in one line. NEOAPI_FETCH=no prevents fetching, for builds without network.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
fetched=$(cd "$1" && pwd)/swagger-ui

if cmp -s "$here/package-lock.json" "$fetched/package-lock.json"; then exit 0; fi
[ "${NEOAPI_FETCH:-yes}" != no ] || { echo "Swagger UI has not been fetched (make fetch)"; exit 1; }
rm -rf "$fetched"
command -v npm >/dev/null || { echo "npm is not installed"; exit 1; }
fresh=$fetched.$$
trap 'rm -rf "$fresh"' EXIT
trap 'exit 130' INT TERM HUP
mkdir -p "$fresh/whole"
cd "$fresh"

# The lock file has checksums. Install scripts of packages are not run.
cp "$here/package.json" "$here/package-lock.json" "$here/.npmrc" .
npm ci --ignore-scripts --no-progress --loglevel=error --fetch-retries=1 --fetch-timeout=30000 >log 2>&1 </dev/null ||
    { echo "npm could not fetch Swagger UI ($(sed -n '/./{p;q;}' log))"; exit 1; }

# Without references to source maps, which are not served.
from=node_modules/swagger-ui-dist
for file in swagger-ui.css swagger-ui-bundle.js; do
    sed '/^\/[*/]# sourceMappingURL=/d' "$from/$file" >"whole/$file"
done
{
    printf 'Swagger UI is distributed under the Apache License 2.0.\n\n'
    cat "$from/NOTICE"
    printf '\n\nIt includes:\n\n'
    cat "$from/swagger-ui-bundle.js.LICENSE.txt"
} >whole/swagger-ui.txt

# Moved at the end, so that an interrupted run leaves nothing that looks complete.
cp package-lock.json whole/
mv whole "$fetched"
