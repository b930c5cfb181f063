/* Operations: which methods the API's paths have, what each takes and answers. Routing, Allow, scopes and the OpenAPI document
 * are drawn from this one table. */
#ifndef NEO_MODEL_OPERATION_H
#define NEO_MODEL_OPERATION_H

#include "model/resource.h"

typedef enum neo_action {
    NEO_ACTION_ME,
    NEO_ACTION_OPENAPI,
    NEO_ACTION_ERRORS,
    NEO_ACTION_LIST,
    NEO_ACTION_CREATE,
    NEO_ACTION_BATCH,
    NEO_ACTION_READ,
    NEO_ACTION_PATCH,
    NEO_ACTION_REPLACE,
    NEO_ACTION_DELETE,
    NEO_ACTION_ROTATE_SECRET,
    NEO_ACTION_TEST_WEBHOOK,
    NEO_ACTION_RECOVER,
    NEO_ACTION_LIST_DELIVERIES,
    NEO_ACTION_READ_DELIVERY,
    NEO_ACTION_RETRY_DELIVERY,
    NEO_ACTION_START_CONVERSATION,
    NEO_ACTIONS
} neo_action;

typedef enum neo_access {
    NEO_ACCESS_PUBLIC, /* no credential needed */
    NEO_ACCESS_ANY,    /* any valid credential */
    NEO_ACCESS_READ,   /* the scope to read the resource */
    NEO_ACCESS_WRITE,
} neo_access;

enum neo_accepts {
    NEO_ACCEPTS_PAGE = 1,        /* limit, cursor and the resource's filters in the query; other operations take no query */
    NEO_ACCEPTS_BODY = 2,        /* a JSON body, without which it is refused */
    NEO_ACCEPTS_MERGE_PATCH = 4, /* the body is a merge patch and may say so in its media type */
    NEO_ACCEPTS_IDEMPOTENCY_KEY = 8,
    NEO_ACCEPTS_IF_MATCH = 16,
    NEO_ACCEPTS_IF_NONE_MATCH = 32,
    NEO_ACCEPTS_BATCH = 64, /* the body has several operations; only of resources that have_batch */
};

/* Headers of a success. */
enum neo_response_headers {
    NEO_RESPONSE_ETAG = 1,
    NEO_RESPONSE_LOCATION = 2,
    NEO_RESPONSE_LINK = 4, /* where there is a next page */
};

#define NEO_PROBLEM_BIT(code) (1ULL << (code))
_Static_assert(NEO_CODES <= 64, "a set of codes fits a mask");

typedef struct neo_operation {
    const char *method;
    const char *path; /* below the base; {collection} stands for each resource's, {id} and {delivery_id} for one id */
    neo_access access;
    unsigned int accepts;
    int status;          /* of success */
    int status_existing; /* of success, where what is made is there already; 0: there is no such case */
    unsigned int response_headers;
    const neo_filter *filters; /* of a list that is not a resource's own; NULL elsewhere */
    const char *prefix;        /* of the ids in such a list, or of what belongs to the resource */
    const char *subresource;   /* what belongs to the resource and has its id in the path ("delivery"), or in the body */
    const neo_resource *of;    /* whose it is, where the path begins with no collection; NULL: nobody's, or the collection's */
    const neo_resource *body;  /* what the body is, where it is not the resource */
    const char *schema;        /* of success in the OpenAPI document, where it is not the resource's own */
    const char *media_type;    /* of success; NULL where there is no body */
    unsigned long long problems; /* NEO_PROBLEM_BIT of each code it can answer, beside neo_operation_problems' common ones */
    const char *tag;             /* under which the reference has it; NULL: the resource's */
    const char *verb;    /* of the OpenAPI operationId: "create" gives createBroker; whole of a path without {collection} */
    const char *summary; /* {resource} and {collection} are filled in, as "broker" and "brokers" */
    const char *doc;     /* likewise */
    const char *answer;  /* likewise: what a success answers */
    const char *answer_existing; /* what it answers with status_known */
} neo_operation;

/* One row an action, in the order of the enumeration. */
extern const neo_operation neo_operations[NEO_ACTIONS];

/* Reading the documentation (see model/docs.h), which the OpenAPI document does not describe. */
extern const neo_operation neo_operation_docs;

/* Every code that an operation can answer: its own, and those that follow from what it takes, from its access, and from the
 * resource (NULL where the path is no resource's): whether it has references and transitions, and whether others refer to it.
 */
unsigned long long neo_operation_problems(const neo_operation *operation, const neo_resource *resource);

/* Whether a resource has the operation, if it is one of {collection}: not each has batches. */
int neo_operation_is_of(const neo_operation *operation, const neo_resource *resource);

/* The filter of that name that a list has, NULL where it has none. */
const neo_filter *neo_operation_filter(const neo_operation *operation, const neo_resource *resource, const char *name);

/* What a path and a method lead to. */
typedef struct neo_match {
    const neo_operation *operation; /* NULL: the path has not that method, or it is OPTIONS */
    const neo_resource *resource;   /* NULL where the path is no resource's */
    const char *id;                 /* as it stands in the path, also where it is no id at all; NULL where the path has none */
    const char *subresource_id;     /* likewise: the id of something that belongs to the resource */
    const char *allow;              /* the methods that the path has, "GET, HEAD, OPTIONS, POST"; NULL with an operation */
    int is_public;                  /* no operation of the path needs a credential */
} neo_match;

/* Finds the path below the base, "brokers/brk_…". HEAD finds what GET does. False where the API has no such path. */
NEO_MUSTCHECK int neo_operation_match(const char *path, const char *method, apr_pool_t *pool, neo_match *match);

#endif
