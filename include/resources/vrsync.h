/* SPDX-License-Identifier: Apache-2.0 */
/* Writes properties as VRSync, the XML in which portals of Grupo OLX read listings (see doc/listings.md). */
#ifndef NEO_RESOURCES_VRSYNC_H
#define NEO_RESOURCES_VRSYNC_H

#include "core/json.h"

/* Whom the readers of an advertisement contact. */
typedef struct neo_vrsync_contact {
    const char *name, *email, *phone;
} neo_vrsync_contact;

/* Adds what precedes and follows the listings. `published_at`: "2026-02-02T10:31:55". */
void neo_vrsync_begin(neo_buf *out, const neo_vrsync_contact *contact, const char *published_at);
void neo_vrsync_end(neo_buf *out);

/* Adds the listing of a property, its representation; nothing if a portal would refuse it. */
void neo_vrsync_add(neo_buf *out, neo_text property, const neo_vrsync_contact *contact, apr_pool_t *pool);

/* Adds a line of JSON with the reasons for which a portal would refuse the property; nothing if there are none. */
void neo_vrsync_add_problems(neo_buf *out, neo_text property, apr_pool_t *pool);

#endif
