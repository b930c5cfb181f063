/* SPDX-License-Identifier: Apache-2.0 */
/* Attachments of contacts: their address at the provider, media type and file name. */
#ifndef NEO_WHATSAPP_MEDIA_H
#define NEO_WHATSAPP_MEDIA_H

#include "whatsapp/provider.h"

/* The path of an attachment at the provider: "<media_id>?phone_number_id=…". NULL if the id is not one of the provider. */
const char *neo_media_path(const char *media_id, const char *phone_number_id, apr_pool_t *pool);

/* The URL of the attachment in the provider's response, whose status is 200; NULL if it has none. */
const char *neo_media_url(neo_text body, apr_pool_t *pool);

/* The declared type without parameters ("audio/ogg; codecs=opus") if it is one of WhatsApp and the content begins like one of
 * it, otherwise "application/octet-stream": a browser must not show what a contact disguises. `declared` may be NULL. */
const char *neo_media_type(const char *declared, neo_text first, apr_pool_t *pool);

/* The value of Content-Disposition: "attachment" and a name that is safe for a file. Without `filename` (NULL) the name is
 * `id` with the extension of the type. */
const char *neo_media_disposition(const char *filename, const char *id, const char *type, apr_pool_t *pool);

#endif
