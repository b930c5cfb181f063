/* SPDX-License-Identifier: Apache-2.0 */
/* Feeds of listings: the active properties of an organization as VRSync for a portal, in one snapshot, read while they are
 * sent.
 *
 * The token is the last segment of the path. Errors are plain text, as portals show them to people at most. */
#include <apr_strings.h>
#include <string.h>

#include "api/listings.sql.h"
#include "api/routing.h"
#include "call.h"
#include "core/encode.h"
#include "core/secret.h"
#include "resources/vrsync.h"

#define FORMAT       "2" /* to be increased if the same properties give another document */
#define LISTING_SIZE 4096

typedef struct {
    neo_stream stream;
    neo_call call; /* a copy, because the request's ends before the stream */
    char id[NEO_ID_SIZE], hash[2 * NEO_SHA256_SIZE + 1];
    unsigned int generation; /* the credential cache's, when the token was read last */
    neo_vrsync_contact contact;
    const char *published_at;
    neo_pg *pg; /* NULL once all rows are read */
    apr_pool_t *part_pool;
    int has_begun;
} feed;

static const neo_plain_reply OK = {200, NULL}, NOT_FOUND = {404, "not found\n"};

/* ---------------------------------------------------------------- the token */

enum { TENANT, ORGANIZATION, CONTACT_NAME, CONTACT_EMAIL, CONTACT_PHONE, CREATED_AT };

static neo_pg_status find_feed(feed *f, apr_pool_t *pool, neo_rows *rows)
{
    neo_call *call = &f->call;
    unsigned int generation = neo_credential_cache_generation(call->site->credential_cache);
    neo_pg *pg = call->request->host->acquire(call->request->context);
    if (!pg)
        return NEO_PG_UNAVAILABLE;
    neo_pg_status status = neo_pg_run(pg, NEO_BIND(find_feed, .id = f->id, .hash = f->hash), pool, rows);
    neo_call_release(call, pg);
    if (status == NEO_PG_OK)
        f->generation = generation;
    return status;
}

/* Whether the path has the form of a token: then its id and hash are set. ".xml" may follow. */
static int read_token(feed *f)
{
    unsigned char hash[NEO_SHA256_SIZE];
    const char *slash = strrchr(f->call.request->path, '/');
    char *token = apr_pstrdup(f->call.pool, slash ? slash + 1 : f->call.request->path);
    if (strlen(token) > NEO_SECRET_LEN && strcmp(token + NEO_SECRET_LEN, ".xml") == 0)
        token[NEO_SECRET_LEN] = '\0';
    if (!neo_secret_feed_id(token, f->id) || !neo_secret_check(token))
        return 0;
    neo_secret_hash(token, hash);
    neo_hex(hash, sizeof hash, f->hash);
    return 1;
}

static neo_plain_reply authenticate(feed *f)
{
    neo_rows rows;
    neo_call *call = &f->call;
    if (!read_token(f))
        return NOT_FOUND;
    const neo_problem *problem = neo_call_check_lookups(call);
    if (problem)
        return neo_call_later_reply(call, 429, problem->retry_after, "too many unknown tokens\n");
    neo_pg_status status = find_feed(f, call->pool, &rows);
    if (status != NEO_PG_OK)
        return neo_call_failed_reply(call, status);
    if (!rows.count) {
        neo_call_count_failed_lookup(call);
        return NOT_FOUND;
    }
    call->actor =
        (neo_actor){.tenant = neo_rows_value(&rows, 0, TENANT), .organization = neo_rows_value(&rows, 0, ORGANIZATION)};
    f->contact = (neo_vrsync_contact){neo_rows_value(&rows, 0, CONTACT_NAME), neo_rows_value(&rows, 0, CONTACT_EMAIL),
                                      neo_rows_value(&rows, 0, CONTACT_PHONE)};
    f->published_at = neo_rows_value(&rows, 0, CREATED_AT);
    call->response->principal = f->id;
    return OK;
}

/* Whether the token was revoked since the feed began. Every change of credentials or feeds changes the generation. An outage
 * does not end the feed. */
static int is_revoked(feed *f)
{
    neo_rows rows;
    return neo_credential_cache_generation(f->call.site->credential_cache) != f->generation &&
           find_feed(f, f->part_pool, &rows) == NEO_PG_OK && !rows.count;
}

/* ---------------------------------------------------------------- the stream */

/* Adds the listings of the next rows; after the last ones the end of the document, and releases the connection. */
static neo_pg_status read_part(feed *f, neo_buf *out)
{
    neo_rows rows;
    neo_pg_status status = neo_snapshot_fetch(f->pg, f->part_pool, &rows);
    if (status != NEO_PG_OK)
        return status;
    apr_pool_t *row_pool;
    apr_pool_create(&row_pool, f->part_pool);
    for (int i = 0; i < rows.count; i++) {
        neo_vrsync_add(out, neo_rows_text(&rows, i, 0), &f->contact, row_pool);
        apr_pool_clear(row_pool);
    }
    if (rows.count < NEO_SNAPSHOT_ROWS) {
        neo_vrsync_end(out);
        neo_call_end_snapshot(&f->call, &f->pg);
    }
    return NEO_PG_OK;
}

static neo_stream_status next(neo_stream *stream, neo_text *part, const char **why)
{
    feed *f = (feed *)stream->baton;
    neo_buf out = {.len = 0};
    while (!out.len && f->pg) { /* a part is empty if portals would refuse all its properties */
        apr_pool_clear(f->part_pool);
        neo_buf_init(&out, f->part_pool, LISTING_SIZE * NEO_SNAPSHOT_ROWS);
        if (!f->has_begun)
            neo_vrsync_begin(&out, &f->contact, f->published_at);
        f->has_begun = 1;
        *why = is_revoked(f) ? "the token was revoked" : read_part(f, &out) != NEO_PG_OK ? "the database failed" : NULL;
        if (*why)
            return NEO_STREAM_FAILED;
    }
    *part = neo_buf_text(&out);
    return part->len ? NEO_STREAM_PART : NEO_STREAM_END;
}

static void close_stream(neo_stream *stream)
{
    feed *f = (feed *)stream->baton;
    neo_call_end_snapshot(&f->call, &f->pg);
    apr_pool_destroy(f->part_pool);
}

/* ---------------------------------------------------------------- the start */

enum { IS_FREE, STATE, CHANGED_AT };

/* Begins the snapshot, in which it reads what the entity tag is made of. */
static neo_plain_reply begin_snapshot(feed *f, const char **etag)
{
    neo_call *call = &f->call;
    const neo_request *request = call->request;
    int is_full = 0;
    neo_snapshot snapshot;
    neo_rows rows;
    const char *values[] = {f->id, call->actor.organization};
    f->pg = request->host->acquire_long(request->context, &is_full);
    if (!f->pg)
        return neo_call_later_reply(call, 503, is_full ? NEO_EXPORT_RETRY_SECONDS : NEO_CALL_RETRY_SECONDS,
                                    is_full ? "too many exports in progress\n" : "unavailable\n");
    neo_pg_status status = neo_call_begin_snapshot(call, f->pg, &snapshot);
    if (status == NEO_PG_OK)
        status = neo_pg_run(f->pg, NEO_QUERY(read_state_sql, 2), values, call->pool, &rows);
    if (status != NEO_PG_OK)
        return neo_call_failed_reply(call, status);
    if (!snapshot.is_within_organization || !snapshot.is_within_tenant || !neo_rows_is_true(&rows, 0, IS_FREE))
        return neo_call_later_reply(call, 429, NEO_EXPORT_RETRY_SECONDS,
                                    "the feed is being read, or too many exports are in progress\n");
    if (neo_rows_value(&rows, 0, CHANGED_AT))
        f->published_at = neo_rows_value(&rows, 0, CHANGED_AT);
    const char *all = apr_pstrcat(call->pool, FORMAT, f->contact.name, "\n", f->contact.email, "\n", f->contact.phone, "\n",
                                  f->published_at, "\n", neo_rows_value(&rows, 0, STATE), NULL);
    *etag = neo_etag((neo_text){all, strlen(all)}, call->pool);
    return OK;
}

static neo_pg_status open_rows(feed *f)
{
    static const char *const active[] = {"active"};
    neo_rows rows;
    const neo_filter *filter = neo_property.filters;
    while (strcmp(filter->name, "status") != 0)
        filter++;
    const neo_condition condition = {filter, active, 1};
    const neo_selection selection = {.conditions = &condition, .count = 1, .order = neo_orders};
    return neo_table_open_snapshot(f->pg, &neo_property, &f->call.actor, &selection, f->call.pool, &rows);
}

static neo_plain_reply start(feed *f)
{
    const char *etag = NULL;
    neo_plain_reply answer = begin_snapshot(f, &etag);
    if (answer.status != 200)
        return answer;
    neo_call_set_header(&f->call, "ETag", etag);
    if (neo_call_knows(&f->call, etag))
        return (neo_plain_reply){304, NULL};
    neo_pg_status status = open_rows(f);
    return status == NEO_PG_OK ? OK : neo_call_failed_reply(&f->call, status);
}

/* Every request counts against the address. */
static neo_plain_reply answer_feed(feed *f)
{
    neo_call *call = &f->call;
    neo_plain_reply answer = neo_call_admit_read(call);
    if (answer.status == 200)
        answer = authenticate(f);
    if (answer.status != 200)
        return answer;
    if (!call->request->can_stream) /* see neo_call_export */
        return (neo_plain_reply){505, "HTTP/1.1 or later is needed\n"};
    return start(f);
}

void neo_service_answer_listings(const neo_site *site, const neo_request *request, neo_response *response)
{
    feed *f = apr_pcalloc(request->pool, sizeof *f);
    f->stream = (neo_stream){.next = next, .close = close_stream, .baton = f};
    apr_pool_create(&f->part_pool, request->pool);
    neo_call_begin(&f->call, site, request, response);
    neo_plain_reply answer = answer_feed(f);
    int is_success = answer.status == 200;
    neo_call_set_header(&f->call, "Cache-Control", is_success || answer.status == 304 ? "private, no-cache" : "no-store");
    response->route = neo_listings_route_number();
    response->status = answer.status;
    response->media_type = is_success ? "application/xml; charset=utf-8" : "text/plain; charset=utf-8";
    if (answer.status == 304)
        response->media_type = NULL;
    if (is_success) {
        response->stream = &f->stream;
        return;
    }
    close_stream(&f->stream);
    response->body = (neo_text){answer.text ? answer.text : "", answer.text ? strlen(answer.text) : 0};
}
