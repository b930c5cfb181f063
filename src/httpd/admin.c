/* SPDX-License-Identifier: Apache-2.0 */
/* Serves the administrators' pages (see httpd/admin.h). */
#include "httpd/admin.h"

#include <apr_strings.h>
#include <http_config.h>
#include <http_core.h>
#include <http_main.h>
#include <http_protocol.h>
#include <http_request.h>
#include <mod_status.h>
#include <string.h>

#include "core/encode.h"
#include "httpd/config.h"
#include "httpd/db_probe.h"
#include "httpd/shared_memory.h"

#define MAX_REFRESH 3600 /* seconds */
#define REFRESH     10   /* seconds, for "refresh" without a number, as in mod_status */

/* ---------------------------------------------------------------- responses */

static int send_text(request_rec *r, int status, const char *media_type, neo_text text)
{
    apr_table_setn(r->headers_out, "Cache-Control", "no-store");
    apr_table_setn(r->headers_out, "X-Content-Type-Options", "nosniff");
    r->status = status;
    ap_set_content_type(r, media_type);
    ap_set_content_length(r, (apr_off_t)text.len);
    ap_rwrite(text.ptr, (int)text.len, r);
    return OK;
}

static int send_line(request_rec *r, int status, const char *line)
{
    const char *text = apr_pstrcat(r->pool, line, "\n", NULL);
    return send_text(r, status, "text/plain; charset=utf-8", (neo_text){text, strlen(text)});
}

static const char not_used[] = "no virtual host has a location with NeoAPI On";

/* A report without the backlog, which needs the database. */
static neo_report *make_report(request_rec *r)
{
    const neo_shared_metrics *shared = neo_shared_metrics_get();
    neo_report *report = apr_pcalloc(r->pool, sizeof *report);
    report->now = apr_time_now();
    report->host = r->server->server_hostname; /* not the request's Host, which anybody can choose */
    report->host_name = neo_config_host_name(r->server, r->pool);
    neo_report_read(report, shared->metrics, shared->receivers, r->pool);
    return report;
}

/* ---------------------------------------------------------------- status */

/* Returns NULL or an error message. Unknown parameters are ignored, as in mod_status. */
static const char *read_parameters(request_rec *r, int *is_text, int *refresh)
{
    char *last, *query = apr_pstrdup(r->pool, r->args ? r->args : "");
    for (char *word = apr_strtok(query, "&", &last); word; word = apr_strtok(NULL, "&", &last)) {
        long long seconds;
        if (strcmp(word, "auto") == 0)
            *is_text = 1;
        else if (strcmp(word, "refresh") == 0)
            *refresh = REFRESH;
        else if (strncmp(word, "refresh=", 8) == 0) {
            if (!neo_integer_parse(word + 8, &seconds) || seconds < 1 || seconds > MAX_REFRESH)
                return apr_psprintf(r->pool, "refresh must be a number of seconds from 1 to %d", MAX_REFRESH);
            *refresh = (int)seconds;
        }
    }
    return NULL;
}

static int handle_status(request_rec *r)
{
    int is_text = 0, refresh = 0;
    const char *error = read_parameters(r, &is_text, &refresh);
    neo_buf out;
    if (error)
        return send_line(r, HTTP_BAD_REQUEST, error);
    if (!neo_shared_metrics_get())
        return send_line(r, HTTP_SERVICE_UNAVAILABLE, not_used);
    neo_report *report = make_report(r);
    neo_db_probe_report(r, report);
    neo_buf_init(&out, r->pool, 65536);
    if (refresh)
        apr_table_setn(r->headers_out, "Refresh", apr_itoa(r->pool, refresh));
    if (is_text) {
        neo_report_text(report, &out);
        return send_text(r, HTTP_OK, "text/plain; charset=utf-8", neo_buf_text(&out));
    }
    apr_table_setn(r->headers_out, "Content-Security-Policy", neo_report_policy(r->pool));
    apr_table_setn(r->headers_out, "Referrer-Policy", "no-referrer");
    neo_report_page(report, refresh, &out);
    return send_text(r, HTTP_OK, "text/html; charset=utf-8", neo_buf_text(&out));
}

/* ---------------------------------------------------------------- metrics */

static int handle_metrics(request_rec *r)
{
    neo_buf out;
    if (!neo_shared_metrics_get())
        return send_line(r, HTTP_SERVICE_UNAVAILABLE, not_used);
    neo_report *report = make_report(r);
    neo_db_probe_report(r, report);
    neo_buf_init(&out, r->pool, 65536);
    neo_report_metrics(report, &out);
    return send_text(r, HTTP_OK, "text/plain; version=0.0.4; charset=utf-8", neo_buf_text(&out));
}

/* ---------------------------------------------------------------- health */

/* Whether the key file of the virtual host cannot be used; without the API in it, that of any virtual host. */
static int lacks_keys(const request_rec *r)
{
    const neo_site *own = neo_get_server_config(r->server)->site;
    for (const server_rec *s = ap_server_conf; s && !own; s = s->next) {
        const neo_site *site = neo_get_server_config(s)->site;
        if (site && !site->keys.count)
            return 1;
    }
    return own && !own->keys.count;
}

static int is_drained(void)
{
    for (const server_rec *s = ap_server_conf; s; s = s->next) {
        const neo_listener *listener = neo_get_server_config(s)->listener;
        if (listener && neo_listener_is_drained(listener))
            return 1;
    }
    return 0;
}

static int handle_health(request_rec *r)
{
    int is_live = r->args && strcmp(r->args, "live") == 0, is_write = r->args && strcmp(r->args, "write") == 0;
    if (r->args && *r->args && !is_live && !is_write && strcmp(r->args, "ready") != 0)
        return send_line(r, HTTP_BAD_REQUEST,
                         "use ?live (httpd responds), ?ready (httpd can serve requests) or ?write (it can serve writes)");
    if (is_live)
        return send_line(r, HTTP_OK, "alive");
    const char *error = !neo_shared_metrics_get() ? not_used
                        : lacks_keys(r)           ? "the key file cannot be used; see the error log"
                        : is_drained()            ? "the host is drained: run neoapictl undrain"
                                                  : neo_db_probe_readiness(r, is_write);
    return error ? send_line(r, HTTP_SERVICE_UNAVAILABLE, apr_pstrcat(r->pool, "not ready: ", error, NULL))
                 : send_line(r, HTTP_OK, "ready");
}

/* ---------------------------------------------------------------- hooks */

int neo_admin_handle(request_rec *r)
{
    static const struct {
        const char *name;
        int (*handle)(request_rec *r);
    } handlers[] = {{"neoapi-status", handle_status}, {"neoapi-metrics", handle_metrics}, {"neoapi-health", handle_health}};
    for (apr_size_t i = 0; r->handler && i < sizeof handlers / sizeof *handlers; i++)
        if (strcmp(r->handler, handlers[i].name) == 0) {
            if (r->method_number == M_GET)
                return handlers[i].handle(r);
            ap_allow_standard_methods(r, REPLACE_ALLOW, M_GET, -1);
            return HTTP_METHOD_NOT_ALLOWED;
        }
    return DECLINED;
}

static int add_section(request_rec *r, int flags)
{
    neo_buf out;
    if (!neo_shared_metrics_get())
        return DECLINED;
    neo_buf_init(&out, r->pool, 4096);
    neo_report_section(make_report(r), (flags & AP_STATUS_SHORT) != 0, &out);
    ap_rwrite(out.ptr, (int)out.len, r);
    return OK;
}

void neo_admin_register(apr_pool_t *pool)
{
    (void)pool;
    APR_OPTIONAL_HOOK(ap, status_hook, add_section, NULL, NULL, APR_HOOK_MIDDLE);
}
