/* SPDX-License-Identifier: Apache-2.0 */
/* A minimal handler as a reference: a connection of mod_dbd, one prepared statement, the bytes of the response.
 *
 *   GET  /bare/TENANT/ORGANIZATION/brokers/ID         one broker
 *   GET  /bare/TENANT/ORGANIZATION/brokers[?after=ID] the 25 newest, or those that follow
 *   POST /bare/TENANT/ORGANIZATION/brokers[?alone]    creates a broker, and a delivery unless "alone"
 *   POST /bare/TENANT/ORGANIZATION/brokers?many       creates an array of them, and a delivery for each
 *   GET  /bare/TENANT/ORGANIZATION/properties/ID      one property
 *   GET  /bare/TENANT/ORGANIZATION/properties?city=CITY&status=STATUS  the 25 newest with these values
 *
 * It is reasonably fast: statements are prepared once per connection, rows contain the finished JSON, a response is
 * one bucket of known length. It has no credentials, limits, request ids, validation, cursors, idempotency or error messages.
 */
#include <httpd.h>

#include <apr_atomic.h>
#include <apr_dbd.h>
#include <apr_strings.h>
#include <http_config.h>
#include <http_log.h>
#include <http_protocol.h>
#include <http_request.h>
#include <libpq-fe.h>
#include <mod_dbd.h>
#include <string.h>
#include <util_script.h>

APLOG_USE_MODULE(bare);

#define ID_LEN   30
#define PAGE     25
#define MAX_BODY 131072
#define MAX_ID   "brk_~" /* greater than every id */

typedef struct {
    const char *name, *sql;
    int params;
} statement;

/* A query parameter of a list. */
typedef struct {
    const char *name, *default_value;
} parameter;

typedef struct {
    const char *path;
    statement get, list;
    parameter parameters[2]; /* of the list, after the organization */
} collection;

#define FROM(table) "select representation from neoapi." table " where organization_id = $1"

/* One row more than a page, which shows whether there is a next page. */
#define NEWEST " order by id desc limit 26"

static const collection collections[] = {
    {
        "/brokers",
        {"bare_broker", FROM("broker") " and id = $2", 2},
        {"bare_brokers", FROM("broker") " and id < $2" NEWEST, 2},
        {{"after", MAX_ID}},
    },
    {
        "/properties",
        {"bare_property", FROM("property") " and id = $2", 2},
        {"bare_properties", FROM("property") " and neoapi.folded(address->>'city') = neoapi.folded($2) and status = $3" NEWEST,
         3},
        {{"city", ""}, {"status", ""}},
    },
};

#define INSERT(id, from)                                                                                                       \
    "insert into neoapi.broker (organization_id, tenant_id, id, name, creci, document_number, email, phone, bank_account,"     \
    " visibility, created_at, updated_at, created_by, updated_by)"                                                             \
    " select $1, $2, " id ", name, creci, document_number, email, phone, bank_account, coalesce(visibility, 'restricted'),"    \
    " now(), now(), 'bare', 'bare' from " from " returning "
#define ONE(returning) INSERT("$3", "json_populate_record(null::neoapi.broker, $4::json)") returning
/* Two digits of the id are the position in the array. */
#define MANY(returning)                                                                                                        \
    INSERT("left($3, 14) || substr($3, 17) || lpad((ordinality - 1)::text, 2, '0')",                                           \
           "json_populate_recordset(null::neoapi.broker, $4::json) with ordinality")                                           \
    returning

/* The event, and its deliveries to matching subscriptions. */
#define DELIVERIES                                                                                                             \
    "event as (insert into neoapi.event (organization_id, type, resource_id, created_at, actor, payload)"                      \
    " select r.organization_id, 'broker.created', r.id, r.created_at, 'bare',"                                                 \
    " '{' || concat_ws(',', '\"id\":' || to_json(r.id), '\"name\":' || to_json(r.name), '\"creci\":' || to_json(r.creci),"     \
    " '\"email\":' || to_json(r.email), '\"tenant_id\":' || to_json(r.tenant_id),"                                             \
    " '\"organization_id\":' || to_json(r.organization_id), '\"created_at\":\"' || neoapi.format_timestamp(r.created_at) || "  \
    "'\"',"                                                                                                                    \
    " '\"updated_at\":\"' || neoapi.format_timestamp(r.updated_at) || '\"') || '}'"                                            \
    " from r returning organization_id, id, type, resource_id, created_at),"                                                   \
    "queued_deliveries as (insert into neoapi.webhook_delivery"                                                                \
    " (organization_id, id, subscription_id, event_id, event_type, event_at, created_at)"                                      \
    " select e.organization_id, 'whd_' || right(e.resource_id, 26), s.id, e.id, e.type, e.created_at, e.created_at"            \
    " from event e join neoapi.webhook_subscription s on s.organization_id = e.organization_id and s.is_active"                \
    " and s.events && array['broker.created', '*'] returning organization_id, id, subscription_id),"                           \
    " queued as (insert into neoapi.webhook_queue (id, organization_id, subscription_id, due_at)"                              \
    " select id, organization_id, subscription_id, now() from queued_deliveries) "

static const statement create = {"bare_create", "with r as (" ONE("*") "), " DELIVERIES "select representation from r", 4};
static const statement create_many = {
    "bare_create_many", "with r as (" MANY("*") "), " DELIVERIES "select '[' || string_agg(representation, ',') || ']' from r",
    4};

static const statement insert = {"bare_insert", ONE("representation"), 4};

typedef APR_OPTIONAL_FN_TYPE(ap_dbd_acquire) acquire_fn;
static acquire_fn *acquire;

typedef struct {
    const char *tenant, *organization, *id; /* id NULL: the collection */
    const collection *of;
} request_target;

static int is_in(const collection *of, const char *path)
{
    apr_size_t len = strlen(of->path), rest = strlen(path);
    return strncmp(path, of->path, len) == 0 && (rest == len || (path[len] == '/' && rest == len + 1 + ID_LEN));
}

/* All ids have the same length, so the parts of the path have fixed positions. */
static int read_path(request_rec *r, request_target *target)
{
    static const char base[] = "/bare/";
    const char *tenant = r->uri + sizeof base - 1, *organization = tenant + ID_LEN + 1, *rest = organization + ID_LEN;
    if (strlen(r->uri) <= (apr_size_t)(rest - r->uri))
        return 0;
    target->of = collections;
    while (!is_in(target->of, rest))
        if (++target->of == collections + sizeof collections / sizeof *collections)
            return 0;
    target->tenant = apr_pstrmemdup(r->pool, tenant, ID_LEN);
    target->organization = apr_pstrmemdup(r->pool, organization, ID_LEN);
    target->id = strchr(rest + 1, '/');
    if (target->id)
        target->id++;
    return 1;
}

/* Executes a statement, and prepares it first if the connection is new. Returns NULL, and logs, if it fails. */
static PGresult *run(request_rec *r, const statement *what, const char *const *values)
{
    ap_dbd_t *dbd = acquire(r);
    PGconn *conn = dbd ? apr_dbd_native_handle(dbd->driver, dbd->handle) : NULL;
    if (!conn)
        return NULL;
    PGresult *result = PQexecPrepared(conn, what->name, what->params, values, NULL, NULL, 0);
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    if (state && strcmp(state, "26000") == 0) { /* no such prepared statement */
        PQclear(result);
        PQclear(PQprepare(conn, what->name, what->sql, what->params, NULL));
        result = PQexecPrepared(conn, what->name, what->params, values, NULL, NULL, 0);
    }
    if (PQresultStatus(result) == PGRES_TUPLES_OK)
        return result;
    ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r, "the bare handler's statement failed: %s", PQerrorMessage(conn));
    PQclear(result);
    return NULL;
}

static int answer(request_rec *r, int status, const char *body, apr_size_t len)
{
    apr_bucket_brigade *bb = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    r->status = status;
    ap_set_content_type(r, "application/json");
    ap_set_content_length(r, (apr_off_t)len);
    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_pool_create(body, len, r->pool, bb->bucket_alloc));
    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(bb->bucket_alloc));
    return ap_pass_brigade(r->output_filters, bb) == APR_SUCCESS ? OK : HTTP_INTERNAL_SERVER_ERROR;
}

/* Sends the only row, and clears the result. */
static int answer_row(request_rec *r, int status, PGresult *result)
{
    if (!result)
        return HTTP_INTERNAL_SERVER_ERROR;
    if (PQntuples(result) == 0) {
        PQclear(result);
        return HTTP_NOT_FOUND;
    }
    apr_size_t len = (apr_size_t)PQgetlength(result, 0, 0);
    const char *body = apr_pmemdup(r->pool, PQgetvalue(result, 0, 0), len);
    PQclear(result);
    return answer(r, status, body, len);
}

/* Sends the rows as a JSON array, and clears the result. */
static int answer_rows(request_rec *r, PGresult *result)
{
    if (!result)
        return HTTP_INTERNAL_SERVER_ERROR;
    int count = PQntuples(result) < PAGE ? PQntuples(result) : PAGE;
    apr_size_t len = 2;
    for (int i = 0; i < count; i++)
        len += (apr_size_t)PQgetlength(result, i, 0) + (i > 0);
    char *body = apr_palloc(r->pool, len), *end = body;
    *end++ = '[';
    for (int i = 0; i < count; i++) {
        apr_size_t size = (apr_size_t)PQgetlength(result, i, 0);
        if (i > 0)
            *end++ = ',';
        memcpy(end, PQgetvalue(result, i, 0), size);
        end += size;
    }
    *end = ']';
    PQclear(result);
    return answer(r, HTTP_OK, body, len);
}

static int answer_list(request_rec *r, const request_target *target)
{
    const char *values[3] = {target->organization};
    apr_table_t *given = NULL;
    if (r->args)
        ap_args_to_table(r, &given);
    for (int i = 1; i < target->of->list.params; i++) {
        const parameter *wanted = &target->of->parameters[i - 1];
        const char *value = given ? apr_table_get(given, wanted->name) : NULL;
        values[i] = value ? value : wanted->default_value;
    }
    return answer_rows(r, run(r, &target->of->list, values));
}

/* Returns NULL if the body cannot be read, is too long or has no Content-Length. */
static char *read_body(request_rec *r)
{
    apr_bucket_brigade *bb = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    const char *length = apr_table_get(r->headers_in, "Content-Length");
    apr_size_t len = 0, size, max = length ? (apr_size_t)apr_atoi64(length) : 0;
    if (max == 0 || max > MAX_BODY)
        return NULL;
    char *body = apr_palloc(r->pool, max + 2);
    int ended = 0;
    while (!ended && len <= max) {
        size = max + 1 - len; /* one more, to read the end of the body as well */
        if (ap_get_brigade(r->input_filters, bb, AP_MODE_READBYTES, APR_BLOCK_READ, (apr_off_t)size) != APR_SUCCESS ||
            apr_brigade_flatten(bb, body + len, &size) != APR_SUCCESS)
            return NULL;
        len += size;
        ended = !APR_BRIGADE_EMPTY(bb) && APR_BUCKET_IS_EOS(APR_BRIGADE_LAST(bb));
        apr_brigade_cleanup(bb);
    }
    body[len] = '\0';
    return ended ? body : NULL;
}

static void put_digits(char *out, int digits, apr_uint64_t number)
{
    while (digits-- > 0) {
        out[digits] = "0123456789abcdefghjkmnpqrstvwxyz"[number & 31];
        number >>= 5;
    }
}

/* An id from the time, the process and a counter. */
static void make_id(request_rec *r, char id[ID_LEN + 1])
{
    static apr_uint32_t made;
    memcpy(id, "brk_", 4);
    put_digits(id + 4, 10, (apr_uint64_t)apr_time_as_msec(apr_time_now()));
    put_digits(id + 14, 9, (apr_uint64_t)getpid() << 20 ^ (apr_uint64_t)(apr_uintptr_t)r->server);
    put_digits(id + 23, 7, apr_atomic_inc32(&made));
    id[ID_LEN] = '\0';
}

/* Keeps the core from mapping the paths to files. */
static int map_to_storage(request_rec *r)
{
    return strncmp(r->uri, "/bare/", 6) == 0 ? OK : DECLINED;
}

static int handle(request_rec *r)
{
    request_target target;
    char id[ID_LEN + 1];
    if (!r->handler || strcmp(r->handler, "bare") != 0)
        return DECLINED;
    if (!read_path(r, &target))
        return HTTP_NOT_FOUND;
    if (r->method_number == M_POST && !target.id && target.of == collections) {
        char *body = read_body(r);
        const statement *how = !r->args ? &create : strcmp(r->args, "many") == 0 ? &create_many : &insert;
        make_id(r, id);
        return body ? answer_row(r, HTTP_CREATED, run(r, how, (const char *[]){target.organization, target.tenant, id, body}))
                    : HTTP_BAD_REQUEST;
    }
    if (r->method_number != M_GET)
        return HTTP_METHOD_NOT_ALLOWED;
    if (target.id)
        return answer_row(r, HTTP_OK, run(r, &target.of->get, (const char *[]){target.organization, target.id}));
    return answer_list(r, &target);
}

static void find_dbd(void)
{
    acquire = APR_RETRIEVE_OPTIONAL_FN(ap_dbd_acquire);
}

static void register_hooks(apr_pool_t *pool)
{
    (void)pool;
    ap_hook_optional_fn_retrieve(find_dbd, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_map_to_storage(map_to_storage, NULL, NULL, APR_HOOK_FIRST);
    ap_hook_handler(handle, NULL, NULL, APR_HOOK_MIDDLE);
}

__attribute__((visibility("default"))) module AP_MODULE_DECLARE_DATA bare_module = {
    STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, register_hooks, AP_MODULE_FLAG_NONE,
};
