#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes files as C constants:
#   embed.sh migrations FILE...  the table of sql/migrate.h
#   embed.sh statements FILE     NAME_sql for each statement after a line "-- name: NAME"; comments and the last ; are left out
#   embed.sh text NAME FILE      one constant
set -eu
kind=$1
shift

quoted() {
    sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/.*/"&\\n"/' "$@"
}

migrations() {
    echo '#include "sql/migrate.h"'
    echo 'const neo_migration neo_migrations[] = {'
    for file; do
        name=$(basename "$file" .sql)
        number=$(expr "$name" : '0*\([1-9][0-9]*\)_')
        printf '{%s, "%s",\n' "$number" "$name"
        quoted "$file"
        echo '},'
    done
    echo '};'
    echo 'const int neo_migration_count = (int)(sizeof neo_migrations / sizeof *neo_migrations);'
}

statements() {
    sed -e '/^-- name: /!{/^ *--/d;/^ *$/d;}' "$1" | quoted | awk '
        function finish() { sub(/;\\n"$/, "\"", line); if (line != "") print line ";" }
        /^"-- name: / { finish(); sub(/\\n"$/, "", $3); line = "static const char " $3 "_sql[] ="; next }
        { print line; line = $0 }
        END { finish() }'
}

text() {
    printf 'extern const char %s[];\nconst char %s[] =\n' "$1" "$1"
    quoted "$2"
    echo ';'
}

"$kind" "$@"
