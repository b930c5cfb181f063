#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes files as C constants:
#   embed.sh migrations FILE...  the table of sql/migrate.h
#   embed.sh statements FILE     NAME_sql for each statement, without comments and the last ;
#     after a line "-- name: NAME"   its text
#     after "-- read: NAME", "-- write: NAME"   a prepared statement that only reads, or may write, and its parameters {organization}
#                                    as a struct NAME_values, for NEO_BIND of pg/pg.h
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

# The fingerprint of a statement is a hash of its text: 62 bits, from two polynomials.
statements() {
    LC_ALL=C awk '
        function numbered(line,    name) {
            while (match(line, /\{[a-z_]+\}/)) {
                name = substr(line, RSTART + 1, RLENGTH - 2)
                if (!(name in number)) {
                    number[name] = ++count
                    members = members (count > 1 ? ", *" : " const char *") name
                }
                line = substr(line, 1, RSTART - 1) "$" number[name] substr(line, RSTART + RLENGTH)
            }
            return line
        }
        function fingerprint(    i, a, b) {
            for (i = 1; i <= length(text); i++) {
                a = (a * 131071 + code[substr(text, i, 1)]) % 2147483647
                b = (b * 524287 + code[substr(text, i, 1)]) % 2147483629
            }
            return sprintf("%08x%08x", a, b)
        }
        function finish(    quoted) {
            sub(/;\n$/, "", text)
            quoted = text
            gsub(/[\\"]/, "\\\\&", quoted)
            gsub(/\n/, "\\n\"\n\"", quoted)
            if (kind == "name:")
                printf "static const char %s_sql[] =\n\"%s\";\n", name, quoted
            else if (kind) {
                printf "typedef struct {%s%s } %s_values;\n", members, count ? ";" : "", name
                printf "static const neo_statement %s_sql = NEO_PREPARED(%d, %d, %s,\n\"%s\");\n", name, count, kind == "write:",
                    fingerprint(), quoted
            }
            text = members = ""
            count = 0
            split("", number)
        }
        BEGIN { for (i = 1; i < 256; i++) code[sprintf("%c", i)] = i; print "#include \"pg/pg.h\"" }
        /^-- (name|read|write): / { finish(); kind = $2; name = $3; next }
        /^ *--/ || /^ *$/ { next }
        { text = text (kind == "name:" ? $0 : numbered($0)) "\n" }
        END { finish() }' "$1"
}

text() {
    printf 'extern const char %s[];\nconst char %s[] =\n' "$1" "$1"
    quoted "$2"
    echo ';'
}

"$kind" "$@"
