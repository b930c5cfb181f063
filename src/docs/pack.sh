#!/bin/sh
# Writes the documentation as a C table (see model/docs.h): pack.sh VERSION FETCHED OUT
# Pages are put into their frame. What they are made of gets a name that changes with its content, so that browsers may keep it
# for good. Swagger UI, which draws the reference, comes from npm, into FETCHED; where it cannot be had, another page says so.
set -eu
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
version=$1 fetched=$2/swagger-ui out=$3
work=$(mktemp -d "${TMPDIR:-/tmp}/neoapi-docs.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP

reference=reference
why=$(sh "$here/fetch.sh" "$2") || {
    echo "docs: $why: the reference page is left out and links to openapi.yaml; the next make tries again" >&2
    reference=no-reference
}

# ---------------------------------------------------------------- what pages are made of

media_type() {
    case $1 in
        *.css) echo 'text/css; charset=utf-8' ;;
        *.js) echo 'text/javascript; charset=utf-8' ;;
        *.svg) echo 'image/svg+xml' ;;
        *.txt) echo 'text/plain; charset=utf-8' ;;
        *) echo 'text/html; charset=utf-8' ;;
    esac
}

bytes() {
    printf '    .bytes = (const unsigned char[]){'
    od -An -v -tx1 "$1" | sed 's/ \(..\)/0x\1,/g'
    printf '},\n    .len = %d},\n' "$(wc -c <"$1")"
}

# asset FILE: its new name goes into the pages, its content into the table, compressed where that saves half and more.
asset() {
    name=$(basename "$1")
    new=${name%.*}.$(sha256sum "$1" | cut -c1-8).${name##*.}
    printf 's|{{%s}}|%s|g\n' "$name" "$new" >>"$work/names"
    printf '{.path = "docs/%s",\n    .media_type = "%s",\n    .is_lasting = 1,\n' "$new" "$(media_type "$name")"
    if [ "$(wc -c <"$1")" -gt 20000 ]; then
        gzip -9n <"$1" >"$work/packed"
        printf '    .coding = "gzip",\n'
        bytes "$work/packed"
    else
        bytes "$1"
    fi
}

# ---------------------------------------------------------------- pages

# said WORD FILE: what the page's line <!-- WORD: … --> says.
said() {
    sed -n "s/^<!-- $1: \(.*\) -->\$/\1/p" "$2"
}

# page FILE PATH NAME: the frame with the page's content in it; NAME is what the frame calls it.
page() {
    sed '/^<!-- [a-z]*: .* -->$/d' "$1" >"$work/content"
    {
        cat "$work/names"
        printf 's|{{%s}}|%s|g\n' title "$(said title "$1")" about "$(said about "$1")" version "$version" \
            swagger-ui "$swagger_ui" "here:$3" ' aria-current="page"' 'here:[a-z]*' ''
    } >"$work/words"
    sed -e "/^{{content}}\$/{r $work/content" -e 'd}' "$here/frame.html" | sed -f "$work/words" >"$work/page"
    printf '{.path = "%s",\n    .media_type = "%s",\n    .has_script = %d,\n' "$2" "$(media_type html)" \
        "$(grep -c '<script' "$work/page" | sed 's/[1-9].*/1/')"
    bytes "$work/page"
}

swagger_ui=$(sed -n 's/.*"swagger-ui-dist": "\([^"]*\)".*/\1/p' "$here/package.json")
{
    echo '#include "model/docs.h"'
    echo 'const neo_doc neo_docs[] = {'
    for file in style.css icon.svg; do asset "$here/$file"; done
    if [ "$reference" = reference ]; then
        for file in reference.css reference.js; do asset "$here/$file"; done
        for file in swagger-ui.css swagger-ui-bundle.js swagger-ui.txt; do asset "$fetched/$file"; done
    fi
    page "$here/start.html" docs/ start
    page "$here/$reference.html" docs/reference reference
    page "$here/webhooks.html" docs/webhooks webhooks
    page "$here/errors.html" docs/errors errors
    # relative addresses need the slash
    echo '{.path = "docs", .moved_to = "docs/"},'
    echo '};'
    echo 'const int neo_docs_count = (int)(sizeof neo_docs / sizeof *neo_docs);'
} >"$work/documents.c"
cmp -s "$work/documents.c" "$out" || cp "$work/documents.c" "$out"
