#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes the documentation pages and their assets as a C table (see openapi/docs.h): pack.sh VERSION DIAGRAM OUT
# The name of an asset has a hash of its content, so browsers can cache it for good. Graphviz draws what the program DIAGRAM prints.
set -eu
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
version=$1 diagram=$2 out=$3
work=$(mktemp -d "${TMPDIR:-/tmp}/neoapi-docs.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP

# ---------------------------------------------------------------- assets

media_type() {
    case $1 in
        *.css) echo 'text/css; charset=utf-8' ;;
        *.js) echo 'text/javascript; charset=utf-8' ;;
        *.svg) echo 'image/svg+xml' ;;
        *.py) echo 'text/x-python; charset=utf-8' ;;
        *) echo 'text/html; charset=utf-8' ;;
    esac
}

bytes() {
    printf '    .bytes = (const unsigned char[]){'
    od -An -v -tx1 "$1" | sed 's/ \(..\)/0x\1,/g'
    printf '},\n    .len = %d},\n' "$(wc -c <"$1")"
}

# asset FILE: adds the file to the table, and its hashed name to the words that pages use.
asset() {
    name=$(basename "$1")
    new=${name%.*}.$(sha256sum "$1" | cut -c1-8).${name##*.}
    printf 's|{{%s}}|%s|g\n' "$name" "$new" >>"$work/names"
    printf '{.path = "docs/%s",\n    .media_type = "%s",\n    .is_immutable = 1,\n' "$new" "$(media_type "$name")"
    bytes "$1"
}

# ---------------------------------------------------------------- pages

# meta WORD FILE: the text of the page's line <!-- WORD: … -->.
meta() {
    sed -n "s/^<!-- $1: \(.*\) -->\$/\1/p" "$2"
}

# contents FILE: the page's list of contents, made from its headings.
contents() {
    sed -n -e 's|^<h2 id="\([^"]*\)">\(.*\)</h2>$|<li><a href="#\1">\2</a></li>|p' \
        -e 's|^<h3 id="\([^"]*\)">\(.*\)</h3>$|<li class="sub"><a href="#\1">\2</a></li>|p' "$1" >"$work/headings"
    insert headings "$work/headings" "$here/contents.html"
}

# insert WORD FILE INTO: prints INTO with FILE in place of its line {{WORD}}.
insert() {
    sed -e "/^{{$1}}\$/{r $2" -e 'd}' "$3"
}

# program FILE LANGUAGE LABEL: a program as a sample, without the line of its licence.
program() {
    printf '<pre data-label="%s"><code class="language-%s" id="%s">' "$3" "$2" "$(basename "$1")"
    sed -e 1d -e 's/&/\&amp;/g' -e 's/</\&lt;/g' -e 's/>/\&gt;/g' -e '$s|$|</code></pre>|' "$1"
}

# draw RESOURCE LABEL: the resource's statuses as SVG in the colours of the page. Only edges keep their titles.
draw() {
    "$diagram" "$1" >"$work/$1.dot"
    dot -Tsvg -o "$work/$1.svg" "$work/$1.dot"
    sed -n '/^<svg/,$p' "$work/$1.svg" | sed \
        -e "s|^<svg width=\"\([0-9]*\)pt\".*|<svg class=\"diagram\" role=\"img\" aria-label=\"$2\" width=\"\1\"|" \
        -e 's|^ \(viewBox="[^"]*"\).*|\1>|' -e '/^<!--/d' -e '/^<polygon [^>]*stroke="transparent"/d' \
        -e '/^<title>/{/&gt;/!d' -e 's|&#45;&gt;| → |' -e '}' \
        -e 's|<g id="[^"]*"|<g|' -e 's|"black"|"currentColor"|g' -e 's|<text \(.*\) font-family="[^"]*"|<text fill="currentColor" \1|'
}

# page FILE PATH NAME: the page in its frame, with the link of that NAME marked as the current page.
page() {
    contents "$1" >"$work/contents"
    sed '/^<!-- [a-z]*: .* -->$/d' "$1" >"$work/text"
    insert contents "$work/contents" "$work/text" >"$work/content"
    {
        cat "$work/names"
        printf 's|{{%s}}|%s|g\n' title "$(meta title "$1")" about "$(meta about "$1")" version "$version" \
            "here:$3" ' aria-current="page"' 'here:[a-z]*' ''
    } >"$work/words"
    insert content "$work/content" "$here/frame.html" | sed -f "$work/words" >"$work/page"
    printf '{.path = "%s",\n    .media_type = "%s",\n' "$2" "$(media_type html)"
    bytes "$work/page"
}

# download FILE: a file that people save, with the base URL filled in.
download() {
    printf '{.path = "docs/%s",\n    .media_type = "%s",\n' "$(basename "$1")" "$(media_type "$1")"
    bytes "$1"
}

program "$here/sync.py" python Python >"$work/sync.py"
program "$here/sync.ts" ts TypeScript >"$work/sync.ts"
insert sync.py "$work/sync.py" "$here/sync.html" >"$work/sync.new"
insert sync.ts "$work/sync.ts" "$work/sync.new" >"$work/sync.html"
# In a block, so that its names are not those of the other scripts.
{
    printf "// SPDX-License-Identifier: Apache-2.0\n'use strict';\n{\n"
    for part in parts webhooks form events start; do sed -e '/^.use strict.;$/d' "$here/console-$part.js"; done
    echo '}'
} >"$work/console.js"
draw proposal 'Statuses of a proposal and their transitions' >"$work/proposal"
draw contract 'Statuses of a contract and their transitions' >"$work/contract"
draw lead 'Statuses of a lead and their transitions' >"$work/lead"
draw property 'Statuses of a property that proposals and contracts change' >"$work/property"
insert diagram_of_proposals "$work/proposal" "$here/rules.html" >"$work/rules.1"
insert diagram_of_contracts "$work/contract" "$work/rules.1" >"$work/rules.2"
insert diagram_of_leads "$work/lead" "$work/rules.2" >"$work/rules.3"
insert diagram_of_properties "$work/property" "$work/rules.3" >"$work/rules.html"
{
    echo '#include "openapi/docs.h"'
    echo 'const neo_doc neo_docs[] = {'
    for file in style.css icon.svg samples.js search.js reference.js console.css; do asset "$here/$file"; done
    asset "$work/console.js"
    page "$here/start.html" docs/ start
    page "$here/ways.html" docs/ways ways
    page "$here/reference.html" docs/reference reference
    page "$here/webhooks.html" docs/webhooks webhooks
    page "$here/events.html" docs/events events
    page "$work/sync.html" docs/sync sync
    page "$here/leads.html" docs/leads leads
    page "$work/rules.html" docs/rules rules
    page "$here/privacy.html" docs/privacy privacy
    page "$here/errors.html" docs/errors errors
    page "$here/console.html" docs/console console
    download "$here/neoapi-listen.py"
    # relative links need the slash
    echo '{.path = "docs", .moved_to = "docs/"},'
    echo '};'
    echo 'const int neo_docs_count = (int)(sizeof neo_docs / sizeof *neo_docs);'
    echo 'const neo_doc neo_docs_operation[1] = {'
    page "$here/operation.html" '' reference
    echo '};'
} >"$work/documents.c"
cmp -s "$work/documents.c" "$out" || cp "$work/documents.c" "$out"
