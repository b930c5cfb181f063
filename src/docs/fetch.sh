#!/bin/sh
# Fetches Swagger UI, which draws the reference page, by npm into DIR/swagger-ui, unless it is there: fetch.sh DIR
# Where it cannot be had, one line says why. With NEOAPI_FETCH=no nothing is fetched that is not there, for builds without network.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
fetched=$(cd "$1" && pwd)/swagger-ui

if cmp -s "$here/package-lock.json" "$fetched/package-lock.json"; then exit 0; fi
[ "${NEOAPI_FETCH:-yes}" != no ] || { echo "Swagger UI was not fetched before (make fetch)"; exit 1; }
rm -rf "$fetched"
command -v npm >/dev/null || { echo "npm is not installed"; exit 1; }
fresh=$fetched.$$
trap 'rm -rf "$fresh"' EXIT
trap 'exit 130' INT TERM HUP
mkdir -p "$fresh/whole"
cd "$fresh"

# The lock has checksums. No package's script is run.
cp "$here/package.json" "$here/package-lock.json" "$here/.npmrc" .
npm ci --ignore-scripts --no-progress --loglevel=error --fetch-retries=1 --fetch-timeout=30000 >log 2>&1 </dev/null ||
    { echo "npm could not fetch Swagger UI ($(sed -n '/./{p;q;}' log))"; exit 1; }

# What only a debugger would ask for is left out.
from=node_modules/swagger-ui-dist
for file in swagger-ui.css swagger-ui-bundle.js; do
    sed '/^\/[*/]# sourceMappingURL=/d' "$from/$file" >"whole/$file"
done
{
    printf 'Swagger UI is distributed under the Apache License 2.0.\n\n'
    cat "$from/NOTICE"
    printf '\n\nIt has in it:\n\n'
    cat "$from/swagger-ui-bundle.js.LICENSE.txt"
} >whole/swagger-ui.txt

# Put into place at the end, so that what was interrupted is not taken for whole.
cp package-lock.json whole/
mv whole "$fetched"
