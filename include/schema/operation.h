/* SPDX-License-Identifier: Apache-2.0 */
/* An operation: method, path, the function that runs it, what it accepts and returns. Routing, Allow, scopes and the OpenAPI
 * document are derived from the tables of operations, which are in the files of the service layer that run them. */
#ifndef NEO_SCHEMA_OPERATION_H
#define NEO_SCHEMA_OPERATION_H

#include "schema/resource.h"

struct neo_call;
struct neo_result;

typedef enum neo_access {
    NEO_ACCESS_PUBLIC, /* no credential needed */
    NEO_ACCESS_ANY,    /* any valid credential */
    NEO_ACCESS_READ,   /* the scope to read the resource */
    NEO_ACCESS_WRITE,
    NEO_ACCESS_EVENTS, /* a scope to read any resource; the operation restricts itself to those */
} neo_access;

enum neo_accepts {
    NEO_ACCEPTS_PAGE = 1,        /* limit and cursor in the query */
    NEO_ACCEPTS_BODY = 2,        /* a JSON body, which is required */
    NEO_ACCEPTS_MERGE_PATCH = 4, /* the body is a merge patch; application/merge-patch+json is accepted */
    NEO_ACCEPTS_IDEMPOTENCY_KEY = 8,
    NEO_ACCEPTS_IF_MATCH = 16,
    NEO_ACCEPTS_IF_NONE_MATCH = 32,
    NEO_ACCEPTS_BATCH = 64,        /* the body is a batch; only for resources with has_batch */
    NEO_ACCEPTS_IMPORT = 128,      /* import=true in the query: the body is history; only for resources with transitions */
    NEO_ACCEPTS_FILTERS = 256,     /* filters in the query */
    NEO_ACCEPTS_FOLLOW = 512,      /* order, after and wait in the query */
    NEO_ACCEPTS_SORT = 1024,       /* sort in the query, one of neo_orders */
    NEO_ACCEPTS_SORT_BY_ID = 2048, /* only an order without a column */
    NEO_ACCEPTS_COUNT = 4096,      /* count in the query */
    NEO_ACCEPTS_FIELDS = 8192,     /* fields in the query; only for responses with the resource */
    NEO_ACCEPTS_ORGANIZATION_ID = 16384, /* organization_id in the query, of a public operation */
};

/* Headers of a response, beside X-Request-ID. Every response has those of the rate limit; only 429 lists them, because each
 * list takes 130 bytes in the OpenAPI document. */
enum neo_response_headers {
    NEO_RESPONSE_ETAG = 1,
    NEO_RESPONSE_LOCATION = 2,
    NEO_RESPONSE_LINK = 4,         /* if there is a next page */
    NEO_RESPONSE_POSITION = 8,     /* X-Events-Position */
    NEO_RESPONSE_TOTAL = 16,       /* with count=true */
    NEO_RESPONSE_RETRY_AFTER = 32, /* if it must not wait */
    NEO_RESPONSE_REPLAYED = 64,    /* Idempotent-Replayed: the request was a repetition */
    NEO_RESPONSE_CHALLENGE = 128,
    NEO_RESPONSE_RATE_LIMIT = 256,
    NEO_RESPONSE_DEPRECATED = 512, /* Deprecation, Sunset and Link */
};

#define NEO_PROBLEM_BIT(code) (1ULL << (code))
_Static_assert(NEO_CODES <= 64, "a set of codes fits in 64 bits");

/* The resources that have an operation of {collection}. */
typedef enum neo_only {
    NEO_ALL_RESOURCES,
    NEO_ONLY_WITH_EVENTS,
    NEO_ONLY_WITH_BATCH,
    NEO_ONLY_WITH_EXTERNAL_ID,
} neo_only;

/* A page for people instead of JSON. `make` returns a NULL pointer if the body is not JSON. `style` is the page's only style;
 * it has no scripts. */
typedef struct neo_html_page {
    neo_text (*make)(neo_text body, apr_pool_t *pool);
    const char *style;
} neo_html_page;

typedef struct neo_operation {
    const char *method;
    const char *path; /* below the base URL; {collection} is each resource's, the other names are of ids */
    /* Sets the result, or returns a problem. */
    neo_problem *(*run)(struct neo_call *call, struct neo_result *result);
    neo_only only;
    int is_create; /* it writes a new resource, and never changes another one */
    neo_access access;
    unsigned int accepts;
    int status;          /* the status of success */
    int status_existing; /* that of success if the resource existed already; 0: not possible */
    unsigned int response_headers;
    const neo_filter *filters;    /* the filters of a list of something other than the resource; otherwise NULL */
    const char *prefix;           /* the prefix of the ids in such a list, or of the subresource */
    const char *subresource;      /* "delivery": what {delivery_id} in the path, or an id in the body, refers to */
    const neo_resource *resource; /* the resource, if the path's first segment is not a collection; otherwise NULL */
    const neo_resource *body;     /* the fields of the body, if not the resource's; otherwise NULL */
    const char *schema;           /* the schema of success in the OpenAPI document; NULL: the resource's */
    const char *media_type;       /* the media type of success; NULL if there is no body */
    const neo_html_page *page;    /* what a request with Accept: text/html gets; NULL: JSON, too */
    unsigned long long problems;  /* NEO_PROBLEM_BIT of its own error codes; neo_operation_problems adds the common ones */
    const char *tag;              /* in the OpenAPI document; NULL: the resource's */
    const char *verb; /* the verb in the operationId: "create" gives createBroker; without {collection} the whole operationId.
                       * NULL: the OpenAPI document does not have the operation */
    const char *summary;               /* with {resource} and {collection}, which are replaced by "broker" and "brokers" */
    const char *doc;                   /* has the same replacements, as have the two answers */
    const char *answer;                /* describes the successful response */
    const char *answer_existing;       /* describes the response with status_existing */
    const neo_deprecation *deprecated; /* NULL if it is not */
} neo_operation;

/* The parameters and problems that pages of a list have in common. */
#define NEO_ACCEPTS_LIST (NEO_ACCEPTS_PAGE | NEO_ACCEPTS_FILTERS | NEO_ACCEPTS_COUNT)
#define NEO_PAGE_PROBLEMS                                                                                                      \
    (NEO_PROBLEM_BIT(NEO_VALIDATION_LIMIT_OUT_OF_RANGE) | NEO_PROBLEM_BIT(NEO_VALIDATION_CURSOR_INVALID) |                     \
     NEO_PROBLEM_BIT(NEO_VALIDATION_CURSOR_EXPIRED) | NEO_PROBLEM_BIT(NEO_INTERNAL_QUERY_TIMEOUT))

/* All error codes of an operation: its own, and those that follow from what it accepts, its access, and the resource's
 * references and transitions. `resource` is NULL if the path has none. */
unsigned long long neo_operation_problems(const neo_operation *operation, const neo_resource *resource);

/* What the operation accepts (enum neo_accepts) for the resource, which may be NULL. */
unsigned int neo_operation_accepts(const neo_operation *operation, const neo_resource *resource);

/* Whether an Idempotency-Key is an error, because the operation can create but stores no response. */
int neo_operation_refuses_key(const neo_operation *operation);

/* Whether the path has the external_id of the resource instead of its id. */
int neo_operation_is_by_external_id(const neo_operation *operation);

/* Whether a resource has an operation of {collection}: not every resource has batches or an external_id, and only those with
 * events have exports. */
int neo_operation_applies_to(const neo_operation *operation, const neo_resource *resource);

/* The filter of a list operation; NULL if there is none of that name. */
const neo_filter *neo_operation_filter(const neo_operation *operation, const neo_resource *resource, const char *name);

#endif
