/* SPDX-License-Identifier: Apache-2.0 */
/* Content negotiation: an operation with a page returns it to clients that prefer HTML to JSON (RFC 9110, section 12.5.1). */
#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "core/crypto.h"

/* The weight of a media type in Accept: that of the most specific range which matches. */
static double find_weight(const char *accept, const char *type, const char *any_subtype, apr_pool_t *pool)
{
    const char *const ranges[] = {type, any_subtype, "*/*"};
    double weights[] = {-1, -1, -1};
    char *rest;
    for (char *item = apr_strtok(apr_pstrdup(pool, accept), ",", &rest); item; item = apr_strtok(NULL, ",", &rest)) {
        const char *q = strstr(item, "q=");
        item += strspn(item, " \t");
        item[strcspn(item, "; \t")] = '\0';
        for (int i = 0; i < 3; i++)
            if (strcasecmp(item, ranges[i]) == 0)
                weights[i] = q ? strtod(q + 2, NULL) : 1;
    }
    for (int i = 0; i < 3; i++)
        if (weights[i] >= 0)
            return weights[i];
    return 0;
}

void neo_call_show_page(neo_call *call)
{
    const neo_html_page *page = call->match.operation->page;
    const char *accept = neo_call_header(call, "Accept");
    neo_call_set_header(call, "Vary", "Accept");
    if (!accept || find_weight(accept, "text/html", "text/*", call->pool) <=
                       find_weight(accept, "application/json", "application/*", call->pool))
        return;
    const neo_text made = page->make(call->response->body, call->pool);
    if (!made.ptr)
        return;
    call->response->body = made;
    call->response->media_type = "text/html; charset=utf-8";
    neo_call_set_header(call, "Content-Security-Policy", neo_style_policy(page->style, call->pool));
    neo_call_set_header(call, "Referrer-Policy", "no-referrer");
}
