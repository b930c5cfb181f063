/* SPDX-License-Identifier: Apache-2.0 */
/* Text in pages (see openapi/html.h). */
#include "openapi/html.h"

void neo_html_add_text(neo_buf *out, const char *text)
{
    int in_code = 0;
    for (; *text; text++) {
        switch (*text) {
        case '&': neo_buf_puts(out, "&amp;"); break;
        case '<': neo_buf_puts(out, "&lt;"); break;
        case '>': neo_buf_puts(out, "&gt;"); break;
        case '"': neo_buf_puts(out, "&quot;"); break;
        case '`':
            in_code = !in_code;
            neo_buf_puts(out, in_code ? "<code>" : "</code>");
            break;
        default: neo_buf_putc(out, *text);
        }
    }
}
