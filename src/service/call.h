/* One request on its way through the service. Private to this floor's room. */
#ifndef NEO_SERVICE_CALL_H
#define NEO_SERVICE_CALL_H

#include "model/operation.h"
#include "service/service.h"
#include "store/table.h"

typedef struct neo_call {
    const neo_site *site;
    const neo_request *request;
    neo_response *response;
    apr_pool_t *pool;
    const neo_credential *principal; /* NULL where there is no valid one: then `refusal` says why */
    neo_problem *refusal;
    neo_match match;
    neo_actor actor;          /* once the organization is known */
    apr_table_t *query;       /* decoded parameters, none twice */
    neo_problem *wrong_query; /* what the query's form has against it, so far */
    const neo_idempotency *idempotency;
    neo_text raw;   /* the body as it was sent */
    neo_json *body; /* parsed */
} neo_call;

/* A step of the way. NULL: go on. */
typedef neo_problem *(*neo_handler)(neo_call *call);

/* Begins a response. */
void neo_call_begin(neo_call *call, const neo_site *site, const neo_request *request, neo_response *response);

const char *neo_call_header(const neo_call *call, const char *name);

/* Connections are borrowed for as long as statements run, never while a client is waited for. */
neo_problem *neo_call_acquire(neo_call *call, neo_pg **pg);
void neo_call_release(neo_call *call, neo_pg *pg);
/* What a statement's failure means to the caller. Not for NEO_PG_OK. */
neo_problem *neo_call_failed(neo_call *call, neo_pg_status status, const neo_rows *rows);

/* Counts requests of the caller, or of the address where there is none, and tells in headers what is left. */
void neo_call_count(neo_call *call, int requests, neo_allowance *allowance);

/* Counts further requests of the caller. NULL if it has them left. */
neo_problem *neo_call_count_more(neo_call *call, int requests);

/* Steps in files of their own. */
neo_problem *neo_call_identify(neo_call *call);             /* identify.c: who calls */
neo_problem *neo_call_choose_organization(neo_call *call);  /* organization.c */
neo_problem *neo_call_read_query(neo_call *call);           /* query.c */
neo_problem *neo_call_read_idempotency_key(neo_call *call); /* body.c: Idempotency-Key */
neo_problem *neo_call_read_body(neo_call *call);            /* body.c */

/* Actions: they fill in the response. */
neo_problem *neo_call_me(neo_call *call);
neo_problem *neo_call_openapi(neo_call *call);
neo_problem *neo_call_docs(neo_call *call);
neo_problem *neo_call_list(neo_call *call);
neo_problem *neo_call_create(neo_call *call);
neo_problem *neo_call_batch(neo_call *call); /* batch.c */
neo_problem *neo_call_read(neo_call *call);
neo_problem *neo_call_patch(neo_call *call);
neo_problem *neo_call_replace(neo_call *call);
neo_problem *neo_call_delete(neo_call *call);
neo_problem *neo_call_rotate_secret(neo_call *call);
neo_problem *neo_call_test_webhook(neo_call *call);
neo_problem *neo_call_recover(neo_call *call);
neo_problem *neo_call_list_deliveries(neo_call *call);
neo_problem *neo_call_read_delivery(neo_call *call);
neo_problem *neo_call_retry_delivery(neo_call *call);
neo_problem *neo_call_start_conversation(neo_call *call); /* whatsapp.c */
/* NULL if the resource is there. */
neo_problem *neo_call_find(neo_call *call);
/* What a statement found in the way (see store/write.h): adds a reference to what there is not; the kinds that refer to one
 * that was to be deleted. */
void neo_call_add_missing(neo_call *call, neo_problem **problem, const char *path);
neo_problem *neo_call_in_use(neo_call *call, const char *kinds);
/* 404 for the resource, or for what belongs to it. */
neo_problem *neo_call_not_found(neo_call *call);

/* Sets status, media type and body. */
void neo_call_respond(neo_call *call, int status, neo_text body);
void neo_call_set_header(neo_call *call, const char *name, const char *value);

/* conditions.c: entity tags are made of what they stand for, so that they are the same on every host. */
const char *neo_etag(neo_text body, apr_pool_t *pool);
/* Responds with the body and its ETag, or with 304 where If-None-Match has it. */
void neo_call_respond_with_etag(neo_call *call, int status, neo_text body);
/* The same with a tag that is known already. */
void neo_call_respond_document(neo_call *call, const neo_static_document *page);
/* NULL where there is no If-Match or it has the tag of `current`. */
neo_problem *neo_call_check_if_match(neo_call *call, neo_text current);

/* list.c: the prefix of the ids in the list that is asked for. */
const char *neo_call_list_prefix(const neo_call *call);

/* idempotency.c: a write that is done once. Runs `write` until it has made something (*made: one row, which the caller answers
 * with), or there is an answer to be repeated, which is sent; or returns what is wrong. Without an Idempotency-Key no row is
 * nothing made. */
typedef neo_pg_status (*neo_idempotent_write)(neo_call *call, neo_pg *pg, void *what, neo_rows *rows);
neo_problem *neo_call_write_idempotent(neo_call *call, neo_pg *pg, neo_idempotent_write write, void *what, neo_rows *rows,
                                       int *made);
/* The key is there, or was: answers what the first request was answered, or says what is wrong. *is_free: it no longer is. */
neo_problem *neo_call_replay(neo_call *call, neo_pg *pg, int *is_free);
/* whatsapp.c: likewise, where the first request's message waits for its answer, or was left without one. */
neo_problem *neo_call_replay_pending(neo_call *call, neo_pg *pg, const neo_idempotency_answer *first);
/* Answers with what was made: its tag, where it is, and the secret that is shown this once (NULL for none). */
void neo_call_respond_created(neo_call *call, int status, neo_text answer, const char *secret);

/* Every answer begins with its id: here it is. */
const char *neo_call_id_of(neo_text answer, apr_pool_t *pool);

/* docs.c: makes the documents of a site. */
void neo_docs_prepare(neo_site *site, apr_pool_t *pool);

/* Tells the host that deliveries wait to be sent, where the row's second column says so. */
void neo_call_notify_dispatcher(neo_call *call, const neo_rows *rows);

/* cursor.c: places in a list, sealed: those of a page's first id and of its last. */
void neo_cursor_seal(const neo_call *call, const char *filters, const char *const ids[2], const char *cursors[2]);
neo_problem *neo_cursor_open(const neo_call *call, const char *filters, const char *cursor, char id[NEO_ID_SIZE]);

#endif
