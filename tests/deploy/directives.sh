#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prints the module's directives, as httpd lists them: directives.sh MODULE
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=/dev/null
. "$here/common.sh"
[ $# -eq 1 ] || die "usage: directives.sh MODULE"
conf=$(mktemp)
trap 'rm -f "$conf"' EXIT
printf 'ServerName localhost\nErrorLog /dev/stderr\nLoadModule mpm_event_module "%s/mod_mpm_event.so"\nLoadModule neoapi_module "%s"\n' "$(apxs -q LIBEXECDIR)" "$(absolute "$1")" \
    >"$conf"
"$(command -v apache2 || echo /usr/sbin/apache2)" -f "$conf" -L | sed -n 's/^\(NeoAPI[A-Za-z]*\) (mod_neoapi\.c)$/\1/p' | sort -u
