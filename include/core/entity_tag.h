/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of entity tags: the values of If-Match and If-None-Match (RFC 9110, sections 8.8.3 and 13.1). */
#ifndef NEO_CORE_ENTITY_TAG_H
#define NEO_CORE_ENTITY_TAG_H

#include <apr.h>

#include "core/buf.h"

typedef struct neo_entity_tag {
    const char *opaque; /* between the quotes; part of the list */
    apr_size_t len;
    int is_weak;
} neo_entity_tag;

/* Reads the next tag of a list, and moves the list to the comma after it or to its end. Returns false at the end of the list,
 * and if the list is malformed. */
NEO_MUSTCHECK int neo_entity_tag_read(const char **list, neo_entity_tag *tag);

/* Whether the text is "*" or a list of at least one tag. */
NEO_MUSTCHECK int neo_entity_tags_are_valid(const char *list);

/* The message for a text that is not. */
#define NEO_ENTITY_TAGS_FORM "must be * or ETags as they were received, with their quotes"

#endif
