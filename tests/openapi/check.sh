#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks OpenAPI documents: check.sh FILE… Any warning fails.
# Spectral and Redocly lint each one, examples included. openapi-typescript, orval 7 and 8 and @hey-api/openapi-ts generate code,
# which is compiled with client.ts and generated.ts.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/openapi/tools.sh
. "$here/tools.sh"

[ $# -gt 0 ] || { echo "usage: check.sh FILE…" >&2; exit 2; }

generate() {
    "$@" >generate.log 2>&1 || { cat generate.log; exit 1; }
}

check_clients() {
    rm -rf clients
    mkdir clients
    cp "$here/client.ts" "$here/generated.ts" "$here/tsconfig.json" clients/
    make_types "$1" clients
    generate node node_modules/orval7/dist/bin/orval.js --input "$1" --output clients/orval7.ts --client fetch
    generate node node_modules/orval8/dist/bin/orval.mjs --input "$1" --output clients/orval8.ts --client fetch
    generate node_modules/.bin/openapi-ts --input "$1" --output clients/hey --no-log-file
    node_modules/.bin/tsc --project clients
}

install_tools
for file; do
    file=$(cd "$(dirname "$file")" && pwd)/$(basename "$file")
    cd "$tools"
    node_modules/.bin/spectral lint --quiet --fail-severity=hint --ruleset "$here/.spectral.yaml" "$file"
    node_modules/.bin/redocly lint --config "$here/redocly.yaml" "$file" >redocly.log 2>&1 || { cat redocly.log; exit 1; }
    check_clients "$file"
    echo "openapi: $(basename "$file") is valid for Spectral and Redocly; the clients of four generators compile"
done
