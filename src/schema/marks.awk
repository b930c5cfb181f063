# SPDX-License-Identifier: Apache-2.0
# Refuses rows of tables of fields without `.personal`. C cannot: a member that a row does not name is 0. Reads preprocessed C, so that
# rows that macros make are seen, too.
#
# A row begins at a brace in a table, and has the braces within it (of a compound literal).
{ text = text $0 "\n" }

function check_table(name, body,    i, c, depth, start, row, quoted) {
    for (i = 1; i <= length(body); i++) {
        c = substr(body, i, 1)
        if (quoted) {
            if (c == "\\") i++
            else if (c == "\"") quoted = 0
        } else if (c == "\"")
            quoted = 1
        else if (c == "{" && ++depth == 1)
            start = i
        else if (c == "}" && --depth < 0)
            return
        else if (c == "}" && depth == 0) {
            row = substr(body, start, i - start + 1)
            if (row ~ /\.name *=/ && row !~ /\.personal *=/) {
                match(row, /\.name *= *"[^"]*"/)
                printf "%s: the field %s has no .personal\n", name, substr(row, RSTART + 8, RLENGTH - 8) >"/dev/stderr"
                failed = 1
            }
        }
    }
}

END {
    while (match(text, /neo_field [a-z_]+\[\] *= *\{/)) {
        name = substr(text, RSTART + 10, RLENGTH - 10)
        sub(/\[.*/, "", name)
        text = substr(text, RSTART + RLENGTH)
        check_table(name, text)
    }
    exit failed
}
