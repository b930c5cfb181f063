/* SPDX-License-Identifier: Apache-2.0 */
/* Creates request ids (see httpd/request_id.h). */
#include "httpd/request_id.h"

#include "core/id.h"

#define ID_NOTE "neoapi-request-id"

const char *neo_request_id(request_rec *r)
{
    const char *existing_id = apr_table_get(r->notes, ID_NOTE);
    if (existing_id)
        return existing_id;
    char *id = apr_palloc(r->pool, NEO_ID_SIZE);
    neo_id_issue(id, "req_");
    apr_table_setn(r->notes, ID_NOTE, id);
    apr_table_setn(r->subprocess_env, "NEOAPI_REQUEST_ID", id);
    r->log_id = id;
    return id;
}
