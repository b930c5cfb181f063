/* SPDX-License-Identifier: Apache-2.0 */
/* Writes XML, and removes HTML from text (see core/xml.h). */
#include "core/xml.h"

#include <apr_lib.h>
#include <apr_strings.h>
#include <string.h>

/* The length of an HTML tag or comment at `text`; 1 for a "<" that looks like one but is none, because another "<" precedes its
 * end or its name is no word; 0 for other text. */
static apr_size_t tag_length(const char *text)
{
    if (*text != '<' || !(strchr("/!?", text[1]) || ((text[1] | 0x20) >= 'a' && (text[1] | 0x20) <= 'z')))
        return 0;
    const char *end = text + 1 + strcspn(text + 1, "<>"), *name = text + 1;
    while (apr_isalnum(*name))
        name++;
    return *end == '>' && strchr(" \t\r\n/!?>", *name) ? (apr_size_t)(end - text) + 1 : 1;
}

/* Removes tags in place, until none is left: what remains may form another one. */
static void remove_markup(char *text)
{
    for (int found = 1; found;) {
        char *to = text;
        found = 0;
        for (const char *from = text; *from;) {
            apr_size_t length = from[0] == '<' && from[1] ? tag_length(from) : 0;
            found |= length > 0;
            from += length;
            if (!length)
                *to++ = *from++;
        }
        *to = '\0';
    }
}

const char *neo_xml_plain(const char *text, int has_lines, apr_pool_t *pool)
{
    char *copy = apr_pstrdup(pool, text), *to = copy;
    remove_markup(copy);
    for (const char *from = copy; *from; from++) {
        char c = *from == '\n' && has_lines ? '\n' : (unsigned char)*from <= ' ' || *from == 0x7F ? ' ' : *from;
        if (c == '\n' && to > copy && to[-1] == ' ')
            to--;
        if (c != ' ' || (to > copy && to[-1] != ' ' && to[-1] != '\n'))
            *to++ = c;
    }
    while (to > copy && (to[-1] == ' ' || to[-1] == '\n'))
        to--;
    *to = '\0';
    return copy + strspn(copy, "\n");
}

/* XML 1.0 does not allow other control characters, U+FFFE and U+FFFF, even as references. */
void neo_xml_add(neo_buf *out, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '&': neo_buf_puts(out, "&amp;"); break;
        case '<': neo_buf_puts(out, "&lt;"); break;
        case '>': neo_buf_puts(out, "&gt;"); break;
        case '"': neo_buf_puts(out, "&quot;"); break;
        case '\n': neo_buf_puts(out, "&lt;br&gt;"); break;
        default:
            if (strncmp(text, "\xEF\xBF\xBE", 3) == 0 || strncmp(text, "\xEF\xBF\xBF", 3) == 0)
                text += 2;
            else if ((unsigned char)*text >= ' ')
                neo_buf_putc(out, *text);
        }
}

void neo_xml_element(neo_buf *out, const char *name, const char *attributes, const char *text)
{
    neo_buf_printf(out, "<%s%s>", name, attributes ? attributes : "");
    neo_xml_add(out, text);
    neo_buf_printf(out, "</%s>", name);
}
