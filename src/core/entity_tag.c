/* SPDX-License-Identifier: Apache-2.0 */
/* Parses lists of entity tags (see core/entity_tag.h). */
#include "core/entity_tag.h"

#include <string.h>

int neo_entity_tag_read(const char **list, neo_entity_tag *tag)
{
    const char *c = *list + strspn(*list, " \t,");
    tag->is_weak = strncmp(c, "W/", 2) == 0;
    c += tag->is_weak ? 2 : 0;
    if (*c != '"')
        return 0;
    tag->opaque = ++c;
    while ((unsigned char)*c > ' ' && *c != '"' && *c != 0x7F)
        c++;
    tag->len = (apr_size_t)(c - tag->opaque);
    if (*c != '"')
        return 0;
    c++;
    *list = c + strspn(c, " \t");
    return **list == '\0' || **list == ',';
}

int neo_entity_tags_are_valid(const char *list)
{
    neo_entity_tag tag;
    if (strcmp(list, "*") == 0)
        return 1;
    do {
        if (!neo_entity_tag_read(&list, &tag))
            return 0;
        list += strspn(list, " \t,");
    } while (*list);
    return 1;
}
