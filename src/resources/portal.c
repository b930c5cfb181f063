/* SPDX-License-Identifier: Apache-2.0 */
/* Reads leads of portals, from a table of each format (see resources/portal.h). */
#include "resources/portal.h"

#include <apr_strings.h>
#include <string.h>

#include "core/clock.h"
#include "core/encode.h"

typedef enum { TO_FIELD, TO_METADATA, TO_TIME, TO_ID, TO_LISTING } destination;

/* The value of a member. The first row of a destination that has a value sets it. */
typedef struct {
    const char *member, *second; /* with `second`, their values are joined, and both must have one */
    destination to;
    const char *name;
    int is_required;
} mapping;

/* https://developers.grupozap.com/webhooks/integration_leads.html */
static const mapping grupo_olx[] = {
    {"originLeadId", NULL, TO_ID, "id", 1},
    {"clientListingId", NULL, TO_LISTING, "listing", 1},
    {"timestamp", NULL, TO_TIME, "received_at", 0},
    {"name", NULL, TO_FIELD, "name", 0},
    {"email", NULL, TO_FIELD, "email", 0},
    {"ddd", "phone", TO_FIELD, "phone", 0},
    {"phoneNumber", NULL, TO_FIELD, "phone", 0},
    {"phone", NULL, TO_FIELD, "phone", 0},
    {"message", NULL, TO_FIELD, "message", 0},
    {"leadOrigin", NULL, TO_METADATA, "lead_origin", 0},
    {"originListingId", NULL, TO_METADATA, "origin_listing_id", 0},
    {"temperature", NULL, TO_METADATA, "temperature", 0},
    {"transactionType", NULL, TO_METADATA, "transaction_type", 0},
    {"transaction_type", NULL, TO_METADATA, "transaction_type", 0},
    {0},
};

/* https://github.com/plazatechnologies/lead-documentation; it has no id of the lead. */
static const mapping plaza[] = {
    {"clientListingId", NULL, TO_LISTING, "listing", 0},
    {"name", NULL, TO_FIELD, "name", 0},
    {"email", NULL, TO_FIELD, "email", 0},
    {"ddd", "phone", TO_FIELD, "phone", 0},
    {"phone", NULL, TO_FIELD, "phone", 0},
    {"message", NULL, TO_FIELD, "message", 0},
    {"leadSummary", NULL, TO_FIELD, "message", 0},
    {"origin", NULL, TO_METADATA, "lead_origin", 0},
    {"transactionType", NULL, TO_METADATA, "transaction_type", 0},
    {0},
};

static const mapping *const formats[] = {grupo_olx, plaza};
const char *const neo_portal_formats[] = {"grupo_olx", "plaza", NULL};

/* NULL if there is none. Portals send some ids as numbers. */
static const char *member_text(const neo_json *whole, const char *member, apr_pool_t *pool)
{
    const neo_json *value = neo_json_get(whole, member);
    neo_json_kind kind = value ? neo_json_get_kind(value) : NEO_JSON_NULL;
    const char *text = kind == NEO_JSON_INTEGER  ? apr_psprintf(pool, "%" APR_INT64_T_FMT, (apr_int64_t)neo_json_integer(value))
                       : kind == NEO_JSON_STRING ? neo_json_string(value)
                                                 : "";
    return text[strspn(text, " \t\r\n")] ? text : NULL;
}

static const char *mapped_text(const neo_json *whole, const mapping *m, apr_pool_t *pool)
{
    const char *first = member_text(whole, m->member, pool), *second = m->second ? member_text(whole, m->second, pool) : "";
    return first && second ? apr_pstrcat(pool, first, second, NULL) : NULL;
}

/* NULL if it cannot be used: without it, the lead's time is that of its creation. A time without a zone is Brasília's. */
static const char *usable_time(const char *text, apr_pool_t *pool)
{
    char formatted[NEO_MS_TEXT_SIZE];
    neo_ms ms;
    if (!neo_ms_parse(text, &ms) && !neo_ms_parse(apr_pstrcat(pool, text, "-03:00", NULL), &ms))
        return NULL;
    if (ms > neo_now_ms())
        return NULL;
    neo_ms_format(formatted, ms);
    return apr_pstrdup(pool, formatted);
}

static void set_text(neo_json *object, const char *name, const char *text, apr_pool_t *pool)
{
    if (!neo_json_get(object, name))
        neo_json_set_string(object, name, text, pool);
}

/* Identifies a lead without an id, so that a repeated post is recognized. */
static const char *fingerprint(neo_text raw, apr_pool_t *pool)
{
    char *text = apr_palloc(pool, NEO_FINGERPRINT_SIZE);
    neo_fingerprint(raw.ptr, raw.len, text);
    return text;
}

const char *neo_portal_read(const char *portal, neo_text raw, apr_pool_t *pool, neo_portal_lead *lead)
{
    const char *error = NULL, *id = NULL;
    const neo_json *whole = neo_json_parse(raw, pool, &error);
    neo_json *metadata = neo_json_make_object(pool), *origin = neo_json_make_object(pool);
    int format = 0;
    *lead = (neo_portal_lead){.body = neo_json_make_object(pool)};
    if (!whole || neo_json_get_kind(whole) != NEO_JSON_OBJECT)
        return error ? error : "the body is not a JSON object";
    while (neo_portal_formats[format] && strcmp(neo_portal_formats[format], portal) != 0)
        format++;
    if (!neo_portal_formats[format])
        return "this version does not know the portal's format";
    for (const mapping *m = formats[format]; m->member; m++) {
        const char *text = mapped_text(whole, m, pool);
        if (!text && m->is_required)
            return apr_pstrcat(pool, m->member, " is missing", NULL);
        switch (m->to) {
        case TO_FIELD: set_text(lead->body, m->name, text, pool); break;
        case TO_METADATA: set_text(metadata, m->name, text, pool); break;
        case TO_TIME: set_text(lead->body, m->name, text ? usable_time(text, pool) : NULL, pool); break;
        case TO_ID: id = id ? id : text; break;
        case TO_LISTING: lead->listing = lead->listing ? lead->listing : text; break;
        }
    }
    set_text(lead->body, "source", "portal", pool);
    set_text(origin, "portal", portal, pool);
    set_text(origin, "lead_id", id ? id : fingerprint(raw, pool), pool);
    neo_json_set(lead->body, "origin", origin);
    if (neo_json_size(metadata))
        neo_json_set(lead->body, "metadata", metadata);
    return NULL;
}
