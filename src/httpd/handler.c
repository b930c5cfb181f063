/* SPDX-License-Identifier: Apache-2.0 */
/* The table of handlers (see httpd/handler.h). */
#include "httpd/handler.h"

#include <http_core.h>
#include <string.h>

static const neo_handler handlers[] = {
    {"neoapi-whatsapp", neo_service_answer_callback, 0}, /* callbacks of WhatsApp's provider */
    {"neoapi-leads", neo_service_answer_lead, 0},        /* portals post leads */
    {"neoapi-listings", neo_service_answer_listings, 1}, /* portals read listings */
    {"neoapi-oauth-metadata", neo_service_answer_oauth_metadata, 0},
};

const neo_handler *neo_handler_find(const char *name)
{
    for (size_t i = 0; name && i < sizeof handlers / sizeof *handlers; i++)
        if (strcmp(handlers[i].name, name) == 0)
            return &handlers[i];
    return NULL;
}

/* The core keeps the name in SetHandler as an expression. */
const neo_handler *neo_handler_find_by_location(request_rec *r)
{
    const char *error = NULL;
    const core_dir_config *core = ap_get_core_module_config(r->per_dir_config);
    const char *name = core->expr_handler ? ap_expr_str_exec(r, core->expr_handler, &error) : core->handler;
    return error ? NULL : neo_handler_find(name);
}
