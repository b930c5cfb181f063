#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Generates a client from an OpenAPI document, compiles story.ts with it and runs it: story.sh FILE FOLDER
# NEOAPI_URL, NEOAPI_KEY and NODE_EXTRA_CA_CERTS are the server, the credential and the authority. FOLDER exists; files are written to
# it.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/openapi/tools.sh
. "$here/tools.sh"

[ $# -eq 2 ] || { echo "usage: story.sh FILE FOLDER" >&2; exit 2; }
install_tools
place=$(cd "$2" && pwd)
make_types "$1" "$place"
cp "$here/story.ts" "$here/node.d.ts" "$place/"
cp "$here/story.json" "$place/tsconfig.json"
echo '{"type": "module"}' >"$place/package.json"
ln -sfn "$tools/node_modules" "$place/node_modules"
"$tools/node_modules/.bin/tsc" --project "$place"
node "$place/story.js"
