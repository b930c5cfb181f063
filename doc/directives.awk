# SPDX-License-Identifier: Apache-2.0
# Prints the section DIRECTIVES of mod_neoapi(7) in troff, from the comments of conf/neoapi.conf:
#
#     # NeoAPIName ARGUMENTS           the heading: only the directive and its arguments
#     # Sentences.                     the description; lines with more indentation are printed verbatim
#     #NeoAPIName 5                    commented out: the default. Otherwise an example
#
# A directive may be inside <Location>.

function troff(text) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    sub(/^[.']/, "\\\\\\&&", text)
    return text
}

function finish() {
    if (is_verbatim)
        print ".fi"
    is_verbatim = 0
}

/^ *# NeoAPI[A-Za-z]* *(On\|Off|[A-Z]+[.a-z]*)$/ {
    sub(/^ *# /, "")
    directive = $1
    is_text = 1
    print ".SS \"" troff($0) "\""
    next
}

is_text && /^ *#( |$)/ {
    sub(/^ *# ?/, "")
    sub(/^Edit: /, "")
    if (/^  / && !is_verbatim) {
        print ".nf"
        is_verbatim = 1
    } else if (!/^  /) {
        finish()
    }
    print troff($0)
    next
}

is_text { is_text = 0; finish() }

directive && $1 == "#" directive {
    sub(/^ *#[A-Za-z]* /, "")
    print ".br\n" (directive ~ /URL|AllowAddress|CABundle|StopTexts/ ? "For example: " : "Default: ") "\\fB" troff($0) "\\fR"
    directive = ""
}

directive && $1 == directive {
    sub(/^ */, "")
    print ".br\nFor example: \\fB" troff($0) "\\fR"
    directive = ""
}
