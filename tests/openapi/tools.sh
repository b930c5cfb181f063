#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Functions of check.sh and story.sh. Sourced, with their directory in $here.
tools=${NEOAPI_OPENAPI_TOOLS:-$here/../../build/openapi-tools}
export REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true SCARF_ANALYTICS=false

# Their Node comes first: Debian 12's is too old for some of them.
install_tools() {
    sh "$here/../deploy/npm.sh" "$here" "$tools"
    tools=$(cd "$tools" && pwd)
    PATH=$(echo "$tools"/node_modules/node-linux-*/bin):$PATH
}

# Generates api.ts, the types of a document, in a folder.
make_types() {
    "$tools/node_modules/.bin/openapi-typescript" "$1" --output "$2/api.ts" >"$2/types.log" 2>&1 || { cat "$2/types.log"; return 1; }
}
