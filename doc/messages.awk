# SPDX-License-Identifier: Apache-2.0
# Prints the section MESSAGES of mod_neoapi(7) in troff, from the table in include/core/messages.h.
function troff(text) {
    gsub(/\\"/, "\"", text)
    gsub(/-/, "\\-", text)
    return text
}

# A row may span several lines; it ends with the last bracket.
/^ *X\(/ { row = "" }
/^ *X\(/, /\) *\\?$/ {
    line = $0
    sub(/ *\\$/, "", line)
    sub(/^ */, " ", line)
    row = row line
    if (line ~ /\)$/) {
        gsub(/" +"/, "", row) # C concatenates adjacent strings
        count = 0
        while (match(row, /"([^"\\]|\\.)*"/)) {
            words[++count] = substr(row, RSTART + 1, RLENGTH - 2)
            row = substr(row, RSTART + RLENGTH)
        }
        print ".TP\n.B " words[1] "\n" troff(words[2]) "\n.br\nWhat to do: " troff(words[3])
        row = ""
    }
}
