# The directives' part of mod_neoapi(7), in troff, from the comments of conf/neoapi.conf:
#
#     # NeoAPIName ARGUMENTS           the heading: nothing but a directive and what it takes
#     # Sentences.                     what it does; lines that are set in by more stand as they are
#     #NeoAPIName 5                    commented out: the default. Else an example
#
# A directive may stand inside <Location>; its comment says where it belongs.

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
    if (sub(/^here: /, ""))
        $0 = toupper(substr($0, 1, 1)) substr($0, 2)
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
    print ".br\n" (directive ~ /URL|AllowAddress|CABundle/ ? "For example: " : "Default: ") "\\fB" troff($0) "\\fR"
    directive = ""
}

directive && $1 == directive {
    sub(/^ */, "")
    print ".br\nFor example: \\fB" troff($0) "\\fR"
    directive = ""
}
