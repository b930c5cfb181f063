/* SPDX-License-Identifier: Apache-2.0 */
/* Text in XML documents. Texts must be valid UTF-8. */
#ifndef NEO_CORE_XML_H
#define NEO_CORE_XML_H

#include "core/buf.h"

/* A copy without HTML tags, control characters and repeated spaces; of line breaks without `has_lines`, too. */
const char *neo_xml_plain(const char *text, int has_lines, apr_pool_t *pool);

/* Adds text, or the value of an attribute in double quotes. Characters that XML does not allow are left out; a line break
 * becomes the text <br>, because readers of XML may join lines. */
void neo_xml_add(neo_buf *out, const char *text);

/* Adds an element with text. `attributes` are complete and begin with a space, or NULL. */
void neo_xml_element(neo_buf *out, const char *name, const char *attributes, const char *text);

#endif
