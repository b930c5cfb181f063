/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of the API as values; NULL means success. Every error code is a row of one table (core/problem.c), which responses,
 * the OpenAPI document and the page of errors use. */
#ifndef NEO_CORE_PROBLEM_H
#define NEO_CORE_PROBLEM_H

#include <apr_pools.h>
#include <apr_tables.h>

#include "core/buf.h"

typedef enum neo_code {
    NEO_VALIDATION_FAILED,
    NEO_VALIDATION_FIELD_REQUIRED,
    NEO_VALIDATION_FIELD_INVALID,
    NEO_VALIDATION_FIELD_NOT_FOUND,
    NEO_VALIDATION_REQUIRED,
    NEO_VALIDATION_UNKNOWN_FIELD,
    NEO_VALIDATION_MALFORMED_JSON,
    NEO_VALIDATION_MALFORMED_REQUEST,
    NEO_VALIDATION_BODY_REQUIRED,
    NEO_VALIDATION_LIMIT_OUT_OF_RANGE,
    NEO_VALIDATION_CURSOR_INVALID,
    NEO_VALIDATION_CURSOR_EXPIRED,
    NEO_VALIDATION_POSITION_EXPIRED,
    NEO_VALIDATION_UNKNOWN_PARAMETER,
    NEO_VALIDATION_PARAMETER_INVALID,
    NEO_VALIDATION_ORGANIZATION_REQUIRED,
    NEO_VALIDATION_IDEMPOTENCY_KEY_INVALID,
    NEO_VALIDATION_BATCH_TOO_LARGE,
    NEO_VALIDATION_TEMPLATE_REJECTED,
    NEO_VALIDATION_METHOD_NOT_ALLOWED,
    NEO_VALIDATION_REQUEST_TIMEOUT,
    NEO_VALIDATION_BODY_TOO_LARGE,
    NEO_VALIDATION_UNSUPPORTED_MEDIA_TYPE,
    NEO_UNAUTHORIZED_AUTH_REQUIRED,
    NEO_UNAUTHORIZED_INVALID_CREDENTIAL,
    NEO_UNAUTHORIZED_REVOKED_CREDENTIAL,
    NEO_UNAUTHORIZED_EXPIRED_CREDENTIAL,
    NEO_FORBIDDEN_PERMISSIONS,
    NEO_FORBIDDEN_ORGANIZATION,
    NEO_FORBIDDEN_NETWORK,
    NEO_FORBIDDEN_BY_SERVER,
    NEO_NOT_FOUND_RESOURCE,
    NEO_NOT_FOUND_ROUTE,
    NEO_CONFLICT_DUPLICATE,
    NEO_CONFLICT_IN_USE,
    NEO_CONFLICT_INVALID_TRANSITION,
    NEO_CONFLICT_TRANSACTION_TYPE,
    NEO_CONFLICT_PROPERTY_UNAVAILABLE,
    NEO_CONFLICT_PROPOSAL_EXPIRED,
    NEO_CONFLICT_PROPOSAL_NOT_ACCEPTED,
    NEO_CONFLICT_PROPOSAL_MISMATCH,
    NEO_CONFLICT_PARTIES_MISSING,
    NEO_CONFLICT_SIGNATURES_MISSING,
    NEO_CONFLICT_REASON_REQUIRED,
    NEO_CONFLICT_FIELD_LOCKED,
    NEO_CONFLICT_NOT_DELETABLE,
    NEO_CONFLICT_CONTRACT_ACTIVE,
    NEO_CONFLICT_PROPERTY_RESERVED,
    NEO_CONFLICT_IDEMPOTENCY_KEY_REUSED,
    NEO_CONFLICT_OPTED_OUT,
    NEO_CONFLICT_WINDOW_CLOSED,
    NEO_CONFLICT_LIMIT_REACHED,
    NEO_CONFLICT_PRECONDITION_FAILED,
    NEO_RATE_LIMIT_EXCEEDED,
    NEO_RATE_LIMIT_EXPORTS,
    NEO_RATE_LIMIT_CONCURRENT_REQUESTS,
    NEO_INTERNAL_UNEXPECTED,
    NEO_INTERNAL_UNAVAILABLE,
    NEO_INTERNAL_QUERY_TIMEOUT,
    NEO_INTERNAL_STATEMENT_TIMEOUT,
    NEO_INTERNAL_PROVIDER_UNAVAILABLE,
    NEO_CODES
} neo_code;

/* One row of the catalogue. `code` can have {resource} and {field}, filled in when the problem is made. */
typedef struct neo_code_info {
    const char *code;
    int status;
    const char *type;
    const char *meaning; /* for people: what happened */
    const char *fix;     /* for people: what to do */
} neo_code_info;

const neo_code_info *neo_code_row(neo_code code);
/* The title of a type: "Validation Failed". */
const char *neo_type_title(const char *type);

/* The title of a problem: that of its status if it has one, otherwise that of its type. */
const char *neo_problem_title(const char *type, int status);

typedef struct neo_problem_item {
    const char *field; /* a path: "bank_account.pix_key", "parties[2].role"; a parameter's or header's name */
    const char *message;
    const char *code;
} neo_problem_item;

typedef struct neo_problem {
    neo_code kind;
    int status;                    /* the response's; that of the row, unless the host replaced it */
    const char *code;              /* the row's code, with {resource} and {field} filled in */
    const char *detail;            /* sentences for the caller, without internals */
    apr_array_header_t *items;     /* at most 100 neo_problem_item; NULL unless the status is 400 */
    int retry_after;               /* 429, 503: seconds; 0 elsewhere */
    const char *field;             /* the path of the field that a 409 is about; otherwise NULL */
    const char *existing_id;       /* the resource that has the value of conflict.duplicate; NULL if not known */
    const char *window_expires_at; /* the member of conflict.window_closed; NULL if the contact has never written */
    const char *limit;    /* the limit of the plan that is reached: its name in `neoapictl plan list`; NULL elsewhere */
    int limit_value;      /* the value of `limit` */
    const char *failures; /* a JSON array of the results of the operations of an atomic batch that failed; otherwise NULL */
} neo_problem;

/* A problem without fields. */
neo_problem *neo_problem_make(apr_pool_t *pool, neo_code kind, const char *fmt, ...) NEO_PRINTF(3, 4);

/* A problem whose code has {resource}, such as 404 not_found.<resource>. */
neo_problem *neo_problem_for_resource(apr_pool_t *pool, neo_code kind, const char *resource, const char *fmt, ...)
    NEO_PRINTF(4, 5);

/* Adds a wrong field to a 400, which is made if *problem is NULL. With several fields the problem's code becomes
 * validation.failed. `resource` replaces {resource}; `field`, without indexes and with underscores for dots, {field}. */
void neo_problem_field(neo_problem **problem, apr_pool_t *pool, neo_code kind, const char *resource, const char *field,
                       const char *fmt, ...) NEO_PRINTF(6, 7);

/* The same for a member of a field whose names are the caller's: the item's field is "metadata.n", its code that of `field`. */
void neo_problem_member(neo_problem **problem, apr_pool_t *pool, neo_code kind, const char *resource, const char *field,
                        const char *member, const char *message);

/* The problem of a part of a request, such as an operation of a batch, as one of the request: `path` and a dot are put before
 * its fields; if it has none, `part` and a colon before its detail. */
neo_problem *neo_problem_within(apr_pool_t *pool, const neo_problem *problem, const char *part, const char *path);

/* The problem for every internal error. */
neo_problem *neo_problem_internal(apr_pool_t *pool);

int neo_problem_status(const neo_problem *problem);

/* The members of the response that do not depend on the problem. */
typedef struct neo_problem_frame {
    const char *instance;   /* the request's path, or NULL */
    const char *request_id; /* req_… */
    const char *docs_url;   /* without a trailing slash */
} neo_problem_frame;

/* The problem details object (RFC 9457, section 3) with the API's extension members. */
neo_text neo_problem_json(const neo_problem *problem, const neo_problem_frame *frame, apr_pool_t *pool);

#endif
