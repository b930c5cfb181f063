/* SPDX-License-Identifier: Apache-2.0 */
/* The formats in which portals post leads (see doc/portals.md). */
#ifndef NEO_RESOURCES_PORTAL_H
#define NEO_RESOURCES_PORTAL_H

#include "core/json.h"

#define NEO_PORTAL_PREFIX    "ptl_"
#define NEO_PORTAL_MAX_BYTES 65536 /* the limit for a lead */

/* The names of the formats, ended by NULL. */
extern const char *const neo_portal_formats[];

/* Texts that the lead does not have are NULL. */
typedef struct neo_portal_lead {
    neo_json *body;      /* a body of POST /leads, not validated, without references */
    const char *listing; /* the code of the property that the lead is about */
} neo_portal_lead;

/* Reads a lead. Returns NULL, or why it cannot be read. `portal` is one of neo_portal_formats, or of a later
 * version. */
const char *neo_portal_read(const char *portal, neo_text raw, apr_pool_t *pool, neo_portal_lead *lead);

#endif
