/* SPDX-License-Identifier: Apache-2.0 */
/* Formats log messages for httpd, and creates request ids (see httpd/log.h). */
#include "httpd/log.h"

#include <http_log.h>

#include "core/id.h"
#include "core/trace.h"

#define ID_NOTE "neoapi-request-id"

APLOG_USE_MODULE(neoapi);

static server_rec *default_server;

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

const char *neo_request_trace(request_rec *r)
{
    const char *trace = neo_trace_read(apr_table_get(r->headers_in, "traceparent"), r->pool);
    if (trace)
        apr_table_setn(r->subprocess_env, "NEOAPI_TRACE_ID", neo_trace_id(trace, r->pool));
    return trace;
}

/* "NEO0202: req_… nbr_… trace 4bf92f…: what happened: what to do" */
static void write_message(const neo_message_row *row, void *data, const char *text)
{
    static const int levels[NEO_LEVELS] = {APLOG_EMERG, APLOG_ERR, APLOG_WARNING, APLOG_NOTICE};
    const neo_log_context *log_context = data;
    if (log_context && log_context->r)
        ap_log_rerror(APLOG_MARK, levels[row->level], 0, log_context->r, "%s: %s %s%s%s: %s: %s", row->id,
                      neo_request_id(log_context->r), log_context->principal ? log_context->principal : "-",
                      log_context->trace ? " trace " : "",
                      log_context->trace ? neo_trace_id(log_context->trace, log_context->r->pool) : "", text, row->fix);
    else
        ap_log_error(APLOG_MARK, levels[row->level], 0, log_context ? log_context->server : default_server, "%s: %s: %s",
                     row->id, text, row->fix);
}

void neo_log_to_httpd(server_rec *main_server)
{
    default_server = main_server;
    neo_log_to(write_message);
}
