/* SPDX-License-Identifier: Apache-2.0 */
/* A request in progress: its state, and the steps and actions of the pipeline. Private to this layer. */
#ifndef NEO_API_CALL_H
#define NEO_API_CALL_H

#include <stdatomic.h>

#include "api/routing.h"
#include "api/service.h"
#include "schema/business_rules.h"
#include "sql/table.h"

#define NEO_CALL_MAX_ATTEMPTS 100 /* optimistic retry: each failure means that another writer committed */

/* The result of an action, from which service.c makes the response. */
typedef struct neo_result {
    int status;             /* 0: nothing yet */
    neo_text body;          /* a NULL pointer: the response has none */
    neo_text gzip;          /* the body compressed; a NULL pointer: there is none */
    neo_stream *stream;     /* instead of a body; otherwise NULL */
    const char *media_type; /* NULL: the operation's */
    const char *etag;       /* NULL: computed from the body, if the operation's responses have one */
    const char *secret;     /* added to the body at its field, since only this response shows it; NULL if there is none */
    int is_replayed;        /* it is the stored response of the first request with the idempotency key */
} neo_result;

/* What a signed access token says. */
typedef struct neo_access_token {
    char credential[NEO_ID_SIZE];
    char secret_id[12]; /* identifies the secret that it was requested with */
    neo_ms expires_at;
    neo_scopes scopes;
} neo_access_token;

typedef struct neo_call {
    const neo_site *site;
    const neo_request *request;
    neo_response *response;
    apr_pool_t *pool;
    neo_pg *pg;                      /* the connection that it has acquired; NULL if there is none */
    const neo_credential *principal; /* NULL without a valid credential */
    neo_access_token token;          /* that the credential was sent as; its `credential` is "" if it was in X-API-Key */
    neo_scopes scopes;               /* the principal's, restricted to the token's if there is one */
    neo_write_in_progress *write;    /* see neo_call_enter_write; NULL if there is none */
    neo_match match;
    neo_allowance allowance;    /* what the last count of requests returned */
    neo_actor actor;            /* once the organization is known */
    apr_table_t *query;         /* decoded parameters; an entry for each value of one that takes several */
    neo_problem *query_problem; /* with filters: errors of the query's syntax, to which the list adds those of values */
    const neo_idempotency *idempotency;
    neo_text raw;            /* the body as it was sent */
    neo_json *body;          /* parsed */
    const char *external_id; /* the path's, decoded: the resource must have it; NULL if the path has an id */
    int rows;                /* resources in the response of a list, for the usage */
    neo_result result;
} neo_call;

/* ---------------------------------------------------------------- call.c */

void neo_call_begin(neo_call *call, const neo_site *site, const neo_request *request, neo_response *response);

/* See neo_actor. */
const char *neo_call_origin(const neo_call *call);

#define NEO_CALL_RETRY_SECONDS 5 /* Retry-After while the database is unavailable */

/* A problem with Retry-After. */
neo_problem *neo_call_try_later(neo_call *call, neo_code code, int seconds, const char *detail);

const char *neo_call_header(const neo_call *call, const char *name);
/* Sets a header of the response, also of one with a problem. */
void neo_call_set_header(neo_call *call, const char *name, const char *value);
/* Limits log messages that senders can cause to one a minute in each process. Each cause has a `last`, which is initially 0. */
int neo_call_may_log(atomic_llong *last);

/* A connection is held only while statements run, never while waiting for a client or another service. Confirms the credential
 * (see neo_call_confirm), because time may have passed since it was identified, while the request waited for its body, an
 * event or a connection. */
neo_problem *neo_call_acquire(neo_call *call, neo_pg **pg);
/* The same with a connection to a replica for statements that only read; NULL: none can execute them now. `is_long`: it is held
 * while the client reads. If a statement fails, it must be executed on the primary. */
neo_problem *neo_call_acquire_read(neo_call *call, int is_long, neo_pg **pg);
/* The same as neo_call_acquire for an operation on the resource in the path. A malformed id is a 404. */
neo_problem *neo_call_acquire_for_id(neo_call *call, neo_pg **pg);
/* Enters a neo_write_in_progress, unless it is entered, and confirms the credential. neo_call_acquire and neo_call_release do
 * this for a connection; a request whose row another one may write does it itself. */
neo_problem *neo_call_enter_write(neo_call *call);
void neo_call_leave_write(neo_call *call);
void neo_call_release(neo_call *call, neo_pg *pg);
/* Without confirming the credential, to look it up. A write that was entered is not left. */
neo_problem *neo_call_acquire_unconfirmed(neo_call *call, neo_pg **pg);
void neo_call_release_unconfirmed(neo_call *call, neo_pg *pg);

/* Adds to what the credential has used: the request itself, or with `requests` 0 a part of its response. */
void neo_call_count_usage(const neo_call *call, const neo_usage_counts *counts);

/* Calls the host's notify_dispatcher if the row's second column, the number of new deliveries, is not 0. */
void neo_call_notify_dispatcher(neo_call *call, const neo_rows *rows);

/* A limit of the plan is reached; `limit` is its name in `neoapictl plan list`. */
neo_problem *neo_call_limit_reached(neo_call *call, neo_code code, const char *limit, int value);

/* The problem of a failed statement. Not for NEO_PG_OK; `rows` may be NULL if the statement only reads. */
neo_problem *neo_call_failed(neo_call *call, neo_pg_status status, const neo_rows *rows);
/* Sets problem->existing_id if the problem is that of a unique violation in `failed`: the other resource with the value that
 * `body`, to be written as `id`, has as well. The connection must not be in a failed transaction. */
void neo_call_find_duplicate(neo_call *call, neo_pg *pg, const neo_rows *failed, const char *id, const neo_json *body,
                             neo_problem *problem);
/* The problem of a statement that failed, or found no row (404); otherwise NULL. */
neo_problem *neo_call_check_found(neo_call *call, neo_pg_status status, const neo_rows *rows);
/* The same. Without a problem sets *result to the operation's status, with the first column as the body. */
neo_problem *neo_call_return_row(neo_call *call, neo_pg_status status, const neo_rows *rows, neo_result *result);
/* 404 for the resource or subresource; `external_id` is what it was looked up by, or NULL if by its id. */
neo_problem *neo_call_not_found(neo_call *call, const char *external_id);

/* The response of a handler outside the API: plain text, which reveals nothing to other senders. */
typedef struct neo_plain_reply {
    int status;
    const char *text;
} neo_plain_reply;

/* A reply with Retry-After. */
neo_plain_reply neo_call_later_reply(neo_call *call, int status, int seconds, const char *text);
/* The reply after a failed statement: 500, or 503 if it can succeed later. Not for NEO_PG_OK. */
neo_plain_reply neo_call_failed_reply(neo_call *call, neo_pg_status status);
/* Makes it the response, which is not cached. */
void neo_call_set_reply(neo_call *call, int route, neo_plain_reply reply);

/* The id in a representation, which always is its first member. */
const char *neo_call_representation_id(neo_text representation, apr_pool_t *pool);

/* ---------------------------------------------------------------- rate_limit.c */

/* Counts requests of the credential, or of the address if there is none, and sets the headers about the limit. */
void neo_call_count(neo_call *call, int requests);
/* The same, and the problem if the limit is exceeded. */
neo_problem *neo_call_limit_rate(neo_call *call, int requests);
/* Whether the address may send a WhatsApp callback of this cost that is not signed. */
neo_allowance neo_call_check_unsigned(const neo_call *call, int cost);
/* Counts such a callback. */
void neo_call_count_unsigned(const neo_call *call, int cost);
/* Whether the address may post to the portal (its id): not after too many posts without the portal's secret. */
neo_allowance neo_call_check_portal(const neo_call *call, const char *portal);
/* Counts such a post. */
void neo_call_count_portal(const neo_call *call, const char *portal);
/* The reply to a request that is neither GET nor HEAD, or exceeds the limit of its address; otherwise status 200. Counts it. */
neo_plain_reply neo_call_admit_read(neo_call *call);
/* The reply to a request that exceeds a limit of its address. */
neo_plain_reply neo_call_limited_reply(neo_call *call, const neo_allowance *allowance);
/* The seconds until requests that were refused pass if no others are sent; at least 1. */
int neo_allowance_wait(const neo_allowance *allowance);
/* Counts the further requests of a batch. Returns NULL if they are within the limit. */
neo_problem *neo_call_count_more(neo_call *call, int requests);

/* Counts a request for a further part of a response, but leaves one in `reserved` requests of the limit to others. Returns
 * false if that is not possible now. */
int neo_call_count_part(const neo_call *call, int reserved);

/* Look-ups of credentials from the address. Returns NULL if another one may be made; one that failed is counted. */
neo_problem *neo_call_check_lookups(neo_call *call);
void neo_call_count_failed_lookup(neo_call *call);

/* ---------------------------------------------------------------- identify.c */

/* Identifies the credential again, unless it is still cached: it may have been revoked, or have lost the organization or the
 * scope. Returns NULL if it may continue. Sets call->principal to the credential as it is now. */
neo_problem *neo_call_confirm(neo_call *call);

/* Sets *found to the credential with the secret, which is not revoked, has not expired and is used from one of its networks; or
 * returns why not. */
neo_problem *neo_call_verify_secret(neo_call *call, const char *secret, const neo_credential **found);

/* For a stream, before each part: whether the credential was revoked, or lost its rights, since the request began. Then *why
 * says so. An outage is no reason. *principal_pool is NULL at first, and belongs to the stream. */
int neo_call_has_lost_access(neo_call *call, apr_pool_t **principal_pool, const char **why);

/* ---------------------------------------------------------------- access_token.c, oauth.c */

/* A token for the credential, whose verified secret is `secret`; valid for some seconds. */
const char *neo_access_token_make(const neo_site *site, const neo_credential *credential, const char *secret, neo_scopes scopes,
                                  int seconds, apr_pool_t *pool);
/* Sets *token if the text is a token that was signed for this site. Whether it has expired is not checked. */
NEO_MUSTCHECK int neo_access_token_read(const neo_site *site, const char *text, apr_pool_t *pool, neo_access_token *token);
/* Whether the secret that the token was requested with is still one of the credential's. */
NEO_MUSTCHECK int neo_access_token_has_secret(const neo_access_token *token, const neo_credential *credential,
                                              apr_pool_t *pool);
/* The base URL without its trailing slash: `iss` of tokens. */
const char *neo_issuer(const neo_site *site, apr_pool_t *pool);

/* ---------------------------------------------------------------- mask.c */

/* Masks what the credential sees masked of the operation's JSON. Returns false if the text is not JSON: then it must not be
 * sent. */
NEO_MUSTCHECK int neo_call_mask(const neo_call *call, neo_text *body, apr_pool_t *pool);
/* 403 if the query has a filter of masked data. */
neo_problem *neo_call_check_filters(neo_call *call);
/* For a credential with a masked scope: 400 if the body has masks, or would make a subscription that is not masked; 403 for an
 * atomic batch. */
neo_problem *neo_call_check_masked_body(neo_call *call);

/* ---------------------------------------------------------------- export.c */

/* Returns NULL if the client can distinguish an aborted stream from a complete one. */
neo_problem *neo_call_check_streaming(neo_call *call);

/* ---------------------------------------------------------------- conditions.c */

const char *neo_etag(neo_text body, apr_pool_t *pool);
/* The tag of a representation as the credential gets it. */
const char *neo_call_etag(const neo_call *call, neo_text body);
/* Whether If-None-Match was sent and has the tag. */
int neo_call_knows(const neo_call *call, const char *etag);
/* The same if the operation accepts it. */
int neo_call_is_not_modified(const neo_call *call, const char *etag);
/* NULL without If-Match, or if it has the tag of `current`. Without a resource, `current` is a NULL pointer. */
neo_problem *neo_call_check_if_match(neo_call *call, neo_text current);
/* The same for `wanted`, the value of such a header; NULL if there is none. */
neo_problem *neo_call_check_tag(neo_call *call, const char *wanted, neo_text current);

/* ---------------------------------------------------------------- query.c */

/* Decodes one side of name=value; NULL if it is not percent-encoded UTF-8 without control characters. */
const char *neo_call_decode(const char *text, apr_pool_t *pool);
/* Whether the parameter is true. Adds the error of another value than true and false to the problem. */
int neo_call_read_boolean(const neo_call *call, const char *name, neo_problem **problem);
/* All values of a parameter that takes several, ended by NULL: from commas, from repetitions, or both. NULL if there are none.
 */
const char *const *neo_call_values(const neo_call *call, const char *name, int *count);

/* ---------------------------------------------------------------- projection.c */

/* The names in the parameter `fields`, ended by NULL; NULL without it. Adds their errors to the problem. */
const char *const *neo_call_read_fields(const neo_call *call, neo_problem **problem);
/* Adds the object with only these members. `representation` is a JSON object without spaces between its tokens. */
void neo_project(neo_text representation, const char *const *fields, neo_buf *out);
/* The representation with only these members; the same one if `fields` is NULL. */
neo_text neo_call_projected(const neo_call *call, neo_text representation, const char *const *fields);

/* ---------------------------------------------------------------- cursor.c */

/* The place of an item in a list. */
typedef struct neo_place {
    char id[NEO_ID_SIZE];
    long long position; /* the value of the order's column, in microseconds since 1970; 0 if it has none */
} neo_place;

/* Makes the cursors of a page's first item and of its last. */
void neo_cursor_seal(const neo_call *call, const char *filters, const neo_place places[2], const char *cursors[2]);
neo_problem *neo_cursor_open(const neo_call *call, const char *filters, const char *cursor, const char *prefix,
                             neo_place *place);

/* ---------------------------------------------------------------- idempotency.c */

/* Replaces *body, as it was stored with the key, if it is not a response yet. */
typedef neo_problem *(*neo_completer)(neo_call *call, neo_pg *pg, neo_text *body);

/* An operation that is executed once per idempotency key. */
typedef struct neo_idempotent {
    /* Executes it, and stores the key in the same transaction. No row: the key exists, or there is nothing to write.
     * NEO_PG_RETRY: nothing was written, call it again. */
    neo_pg_status (*write)(neo_call *call, neo_pg *pg, void *baton, neo_rows *rows);
    void *baton;
    neo_completer complete; /* NULL: what is stored is always a response */
} neo_idempotent;

/* Executes `write` until it returns rows, or sets *result to the stored response: then result->is_replayed. */
neo_problem *neo_call_write_idempotent(neo_call *call, neo_pg *pg, const neo_idempotent *operation, neo_rows *rows,
                                       neo_result *result);
/* Counts what the request has stored with its idempotency key. */
void neo_call_count_stored(const neo_call *call);
/* The bytes that the organization has stored on this host in a day; -1 without a limit, because they are not counted then. */
long long neo_call_stored_bytes(const neo_call *call);

/* Sets *result to the stored response. *is_free: the key does not exist any more. */
neo_problem *neo_call_replay(neo_call *call, neo_pg *pg, neo_completer complete, neo_result *result, int *is_free);

/* ---------------------------------------------------------------- resource.c */

/* Returns NULL if the resource exists. */
neo_problem *neo_call_find(neo_call *call);
/* Adds a reference to a resource that does not exist. */
void neo_call_add_missing(neo_call *call, neo_problem **problem, const char *path);
/* The resource cannot be deleted, because resources of these kinds ("property,contract") refer to it. */
neo_problem *neo_call_in_use(neo_call *call, const char *users);

/* ---------------------------------------------------------------- create_group.c */

/* Creates the row in a statement of its own, and sets *result, or returns a problem. */
typedef neo_problem *(*neo_creator)(neo_call *call, neo_pg *pg, neo_new *row, neo_result *result);

/* The same, if possible in a statement together with the rows of concurrent requests. */
neo_problem *neo_call_create_shared(neo_call *call, neo_creator create, neo_new *row, neo_result *result);

/* ---------------------------------------------------------------- relations.c */

/* A copy of a body in which each reference by external id has the id that `all` (an array of neo_external_id) has for it. Adds
 * what `all` does not have, with the id of no resource. */
neo_json *neo_call_replace_references(neo_call *call, neo_json *body, apr_array_header_t *all);

/* Sets the ids of those in `all` that exist. */
NEO_MUSTCHECK neo_pg_status neo_call_find_references(neo_call *call, neo_pg *pg, apr_array_header_t *all, neo_rows *rows);

/* Replaces *body by a copy that has ids only, if it has references by external id. Without `pg`, acquires a connection for
 * them. */
NEO_MUSTCHECK neo_problem *neo_call_resolve_references(neo_call *call, neo_pg *pg, neo_json **body);

/* ---------------------------------------------------------------- sealed.c */

/* Whether the body has NEO_SEALED_VALUE for a value that is stored, so that it depends on the row. */
int neo_call_keeps_sealed(const neo_call *call);

/* Adds an error for each NEO_SEALED_VALUE of the valid body `clean` (NULL if it is not valid) that the resource `before` (NULL:
 * a new one) has no value for. */
neo_problem *neo_call_check_sealed(const neo_call *call, const neo_json *before, const neo_json *clean, neo_problem *problem);

/* The body with the values of NEO_SEALED fields encrypted for the row `id`; the body itself if it has none. */
neo_json *neo_call_seal(const neo_call *call, const char *id, neo_json *body);

/* ---------------------------------------------------------------- external_id.c */

/* 404 if the path has an external id, which the resource `current` does not have any more. */
neo_problem *neo_call_check_external_id(neo_call *call, neo_text current);

/* Reads what the rules need, adds the values that the new body leaves to a related resource, and checks the rules.
 * Sets *refusal to NULL or the problem; `rows` are those of a failed statement. */
NEO_MUSTCHECK neo_pg_status neo_call_check_rules(neo_call *call, neo_pg *pg, neo_rule_input *input, neo_problem **refusal,
                                                 neo_rows *rows);

/* Checks the change of status and the rules of a creation or an update, and sets what they add to the row: its
 * timestamp_field and target. Otherwise as above. */
NEO_MUSTCHECK neo_pg_status neo_call_check_change(neo_call *call, neo_pg *pg, neo_rule_input *input, neo_change *row,
                                                  neo_problem **refusal, neo_rows *rows);

/* ---------------------------------------------------------------- page.c */

/* Replaces the body of the response by the operation's page if the client prefers HTML to JSON. */
void neo_call_show_page(neo_call *call);

/* ---------------------------------------------------------------- deprecation.c */

/* Sets Deprecation, Sunset and Link if the request uses a deprecated operation or field. */
void neo_call_show_deprecation(neo_call *call);

/* ---------------------------------------------------------------- list.c */

/* Reads the filters of the query and adds their errors to those of the query. */
neo_problem *neo_call_read_conditions(neo_call *call, neo_selection *selection);

/* ---------------------------------------------------------------- export.c */

#define NEO_EXPORT_RETRY_SECONDS 30 /* Retry-After if there are too many exports */

/* Begins a snapshot for an export in the connection, which neo_call_end_snapshot must end, also after a failure. */
NEO_MUSTCHECK neo_pg_status neo_call_begin_snapshot(neo_call *call, neo_pg *pg, neo_snapshot *snapshot);
/* Ends the snapshot, releases the connection and sets *pg to NULL. Does nothing if it is NULL already. */
void neo_call_end_snapshot(neo_call *call, neo_pg **pg);

/* ---------------------------------------------------------------- audit.c */

/* Adds an entry of an export to the audit log. Nothing is exported without it. */
neo_problem *neo_call_audit_export(neo_call *call);

/* ---------------------------------------------------------------- history.c */

/* Sets *is_import if the query has import=true. A problem if the value is invalid or the role may not import. */
neo_problem *neo_call_read_import(const neo_call *call, int *is_import);
/* Validates the body as history: sets *clean, and the times of `row`. */
neo_problem *neo_call_check_history(neo_call *call, neo_json **clean, neo_new *row);

/* ---------------------------------------------------------------- steps of the pipeline */

/* Returns NULL to continue with the next step. */
typedef neo_problem *(*neo_step)(neo_call *call);

neo_problem *neo_call_identify(neo_call *call);            /* identify.c */
neo_problem *neo_call_choose_organization(neo_call *call); /* identify.c */
neo_problem *neo_call_check_scope(neo_call *call);         /* identify.c */
neo_problem *neo_call_limit_concurrency(neo_call *call);
neo_problem *neo_call_read_query(neo_call *call);           /* query.c */
neo_problem *neo_call_read_if_match(neo_call *call);        /* conditions.c */
neo_problem *neo_call_read_body(neo_call *call);            /* body.c */
neo_problem *neo_call_read_idempotency_key(neo_call *call); /* body.c */
neo_problem *neo_call_limit_stored(neo_call *call);         /* idempotency.c */
neo_problem *neo_call_check_subscription(neo_call *call);   /* mask.c: 403 for one that a masked credential must not change */

/* ---------------------------------------------------------------- operations: the last step */

/* The operations of a file, terminated by a row without a method. */
extern const neo_operation neo_me_operations[], neo_oauth_operations[], neo_docs_operations[], neo_collection_operations[],
    neo_webhook_operations[], neo_whatsapp_operations[], neo_conversation_operations[], neo_event_operations[],
    neo_lead_operations[], neo_portal_operations[], neo_whatsapp_account_operations[], neo_media_operations[],
    neo_audit_operations[], neo_usage_operations[], neo_subject_operations[];

/* The functions of the operations of collections: resource.c, external_id.c, list.c, export.c and batch.c. */
typedef neo_problem *neo_run(neo_call *call, neo_result *result);
neo_run neo_call_list, neo_call_export, neo_call_batch, neo_call_create, neo_call_read, neo_call_patch, neo_call_replace,
    neo_call_delete, neo_call_read_external, neo_call_upsert, neo_call_merge, neo_call_delete_external;

#endif
