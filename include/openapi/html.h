/* SPDX-License-Identifier: Apache-2.0 */
/* Text in the generated parts of pages. */
#ifndef NEO_OPENAPI_HTML_H
#define NEO_OPENAPI_HTML_H

#include "core/buf.h"

/* Escapes text for HTML; `words` in backticks become code. */
void neo_html_add_text(neo_buf *out, const char *text);

#endif
