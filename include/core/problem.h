/* The error value: what went wrong, as the caller may know it. NULL everywhere means that nothing did.
 * Every code the API can answer with is a row of one table (core/problem.c); the error page, the OpenAPI document and the
 * responses are all drawn from it. */
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
    NEO_FORBIDDEN_PERMISSIONS,
    NEO_FORBIDDEN_ORGANIZATION,
    NEO_FORBIDDEN_BY_SERVER,
    NEO_NOT_FOUND_RESOURCE,
    NEO_NOT_FOUND_ROUTE,
    NEO_CONFLICT_DUPLICATE,
    NEO_CONFLICT_IN_USE,
    NEO_CONFLICT_INVALID_TRANSITION,
    NEO_CONFLICT_IDEMPOTENCY_KEY_REUSED,
    NEO_CONFLICT_OPTED_OUT,
    NEO_CONFLICT_PRECONDITION_FAILED,
    NEO_RATE_LIMIT_EXCEEDED,
    NEO_INTERNAL_UNEXPECTED,
    NEO_INTERNAL_UNAVAILABLE,
    NEO_INTERNAL_PROVIDER_UNAVAILABLE,
    NEO_CODES
} neo_code;

/* One row of the catalogue. `code` may hold {resource} and {field}, filled in where the problem is made. */
typedef struct neo_code_info {
    const char *code;
    int status;
    const char *type;
    const char *meaning; /* for people: when it is answered */
    const char *fix;     /* for people: what to do */
} neo_code_info;

const neo_code_info *neo_code_row(neo_code code);
/* The title that goes with a type ("Validation Failed"). */
const char *neo_type_title(const char *type);

typedef struct neo_problem_item {
    const char *field; /* a path: "bank_account.pix_key", "parties[2].role"; a parameter's or header's name */
    const char *message;
    const char *code;
} neo_problem_item;

typedef struct neo_problem {
    neo_code kind;
    int status;                /* of the response; the row's, unless a host had to say something more special */
    const char *code;          /* the row's code, filled in */
    const char *detail;        /* one or more sentences for the caller; nothing of the inside */
    apr_array_header_t *items; /* of neo_problem_item, the first hundred; NULL unless the status is 400 */
    int retry_after;           /* 429, 503: seconds; 0 elsewhere */
} neo_problem;

/* A problem that names no field. */
neo_problem *neo_problem_make(apr_pool_t *pool, neo_code kind, const char *fmt, ...) NEO_PRINTF(3, 4);

/* 404 not_found.<resource> and the other codes that hold {resource}. */
neo_problem *neo_problem_for_resource(apr_pool_t *pool, neo_code kind, const char *resource, const char *fmt, ...)
    NEO_PRINTF(4, 5);

/* Adds one wrong field to a 400: makes the problem where *problem is NULL. With several, the problem's code becomes
 * validation.failed. `resource` fills {resource}; {field} is `field` with indexes left out and dots as underscores. */
void neo_problem_field(neo_problem **problem, apr_pool_t *pool, neo_code kind, const char *resource, const char *field,
                       const char *fmt, ...) NEO_PRINTF(6, 7);

/* The problem of a part of a request as one of the whole: its fields get `path` and a dot before them; where it names none, its
 * detail gets `subresource` and a colon. */
neo_problem *neo_problem_within(apr_pool_t *pool, const neo_problem *problem, const char *part, const char *path);

/* The one problem for everything that is our own fault. */
neo_problem *neo_problem_internal(apr_pool_t *pool);

int neo_problem_status(const neo_problem *problem);

/* What a response adds to the problem itself. */
typedef struct neo_problem_frame {
    const char *instance;   /* the request's path, or NULL */
    const char *request_id; /* req_… */
    const char *docs_url;   /* without a slash at the end */
} neo_problem_frame;

/* The problem details object (RFC 9457, section 3) with the members of the API's contract. */
neo_text neo_problem_json(const neo_problem *problem, const neo_problem_frame *frame, apr_pool_t *pool);

#endif
