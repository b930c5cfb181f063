#!/bin/sh
# Checks OpenAPI documents: check.sh FILE… Any warning fails.
# Spectral and Redocly lint each one, examples included; openapi-typescript makes types of it, and client.ts is compiled with them.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/openapi/tools.sh
. "$here/tools.sh"

[ $# -gt 0 ] || { echo "usage: check.sh FILE…" >&2; exit 2; }

# Compiles client.ts with the types of a document, as somebody who uses the API would.
check_types() {
    mkdir -p "$tools/types"
    cp "$here/client.ts" "$here/tsconfig.json" "$tools/types/"
    make_types "$1" "$tools/types"
    "$tools/node_modules/.bin/tsc" --project "$tools/types"
}

install_tools
for file; do
    file=$(cd "$(dirname "$file")" && pwd)/$(basename "$file")
    cd "$tools"
    node_modules/.bin/spectral lint --quiet --fail-severity=hint --ruleset "$here/.spectral.yaml" "$file"
    node_modules/.bin/redocly lint --config "$here/redocly.yaml" "$file" >redocly.log 2>&1 || { cat redocly.log; exit 1; }
    check_types "$file"
    echo "openapi: $(basename "$file") is valid for Spectral, Redocly and openapi-typescript"
done
