#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes the manual page mod_neoapi(7): manual.sh VERSION
# Directives come from conf/neoapi.conf, messages from include/core/messages.h, the rest from mod_neoapi.7.in.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/neoapi-manual.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP

awk -f "$here/directives.awk" "$here/../conf/neoapi.conf" >"$work/directives"
awk -f "$here/messages.awk" "$here/../include/core/messages.h" >"$work/messages"
sed -e "s/@VERSION@/$1/" -e "/^@DIRECTIVES@\$/{r $work/directives" -e 'd}' \
    -e "/^@MESSAGES@\$/{r $work/messages" -e 'd}' "$here/mod_neoapi.7.in"
