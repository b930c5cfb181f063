/* The table of operations, and the way from a path to one (see model/operation.h). */
#include "model/operation.h"

#include <apr_strings.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "model/docs.h"
#include "model/references.h"

#define JSON "application/json"
#define BIT  NEO_PROBLEM_BIT

#define CHECKED_BODY (BIT(NEO_VALIDATION_FIELD_REQUIRED) | BIT(NEO_VALIDATION_FIELD_INVALID) | BIT(NEO_CONFLICT_DUPLICATE))

static const char *const delivery_statuses[] = {"pending", "success", "failed", NULL};

static const neo_filter delivery_filters[] = {
    {.name = "status",
     .value = NEO_VALUE_ENUM,
     .values = delivery_statuses,
     .left = "(neoapi.webhook_delivery_record(t)->>'status')",
     .doc = "Status.",
     .example = "\"failed\""},
    {.name = "event_type", .left = "t.event_type", .doc = "Of this event.", .example = "\"broker.created\""},
    {0},
};

const neo_operation neo_operations[NEO_ACTIONS] = {
    [NEO_ACTION_ME] = {.method = "GET",
                       .path = "me",
                       .access = NEO_ACCESS_ANY,
                       .status = 200,
                       .media_type = JSON,
                       .tag = "Principal",
                       .verb = "getPrincipal",
                       .summary = "Who the credential is",
                       .doc = "Tells what the credential may do and where. A personal access token that reaches several "
                              "organizations is answered also without X-Organization-ID, for the first of "
                              "`allowed_organization_ids`.",
                       .answer = "The principal."},
    [NEO_ACTION_OPENAPI] = {.method = "GET",
                            .path = "openapi.yaml",
                            .access = NEO_ACCESS_PUBLIC,
                            .accepts = NEO_ACCEPTS_IF_NONE_MATCH,
                            .status = 200,
                            .response_headers = NEO_RESPONSE_ETAG,
                            .media_type = "application/yaml",
                            .tag = "Documentation",
                            .verb = "getDescription",
                            .summary = "This description",
                            .doc = "The API's description in the format of OpenAPI 3.1. Needs no credential.",
                            .answer = "The description."},
    [NEO_ACTION_ERRORS] = {.method = "GET",
                           .path = "docs/errors",
                           .access = NEO_ACCESS_PUBLIC,
                           .accepts = NEO_ACCEPTS_IF_NONE_MATCH,
                           .status = 200,
                           .response_headers = NEO_RESPONSE_ETAG,
                           .media_type = "text/html; charset=utf-8",
                           .tag = "Documentation",
                           .verb = "getErrors",
                           .summary = "What every error code means",
                           .doc = "A page for people, to which `documentation_url` of an error leads. Needs no credential.",
                           .answer = "The page."},
    [NEO_ACTION_LIST] = {.method = "GET",
                         .path = "{collection}",
                         .access = NEO_ACCESS_READ,
                         .accepts = NEO_ACCEPTS_PAGE,
                         .status = 200,
                         .response_headers = NEO_RESPONSE_LINK,
                         .media_type = JSON,
                         .problems = BIT(NEO_VALIDATION_LIMIT_OUT_OF_RANGE) | BIT(NEO_VALIDATION_CURSOR_INVALID) |
                                     BIT(NEO_VALIDATION_CURSOR_EXPIRED),
                         .verb = "list",
                         .summary = "List {collection}",
                         .doc = "Newest first. Filters combine with AND; a comma between values means OR. Follow "
                                "`page_info.end_cursor`, or the Link header, until `has_next_page` is false.",
                         .answer = "A page of {collection}."},
    [NEO_ACTION_CREATE] = {.method = "POST",
                           .path = "{collection}",
                           .access = NEO_ACCESS_WRITE,
                           .accepts = NEO_ACCEPTS_BODY | NEO_ACCEPTS_IDEMPOTENCY_KEY,
                           .status = 201,
                           .response_headers = NEO_RESPONSE_ETAG | NEO_RESPONSE_LOCATION,
                           .media_type = JSON,
                           .problems = CHECKED_BODY,
                           .verb = "create",
                           .summary = "Create a {resource}",
                           .doc = "With an Idempotency-Key the request can be repeated safely for 24 hours: it is done once, "
                                  "and every repetition gets the first one's answer.",
                           .answer = "The new {resource}."},
    [NEO_ACTION_BATCH] = {.method = "POST",
                          .path = "{collection}/batch",
                          .access = NEO_ACCESS_WRITE,
                          .accepts = NEO_ACCEPTS_BODY | NEO_ACCEPTS_BATCH | NEO_ACCEPTS_IDEMPOTENCY_KEY,
                          .status = 200,
                          .media_type = JSON,
                          .problems = CHECKED_BODY | BIT(NEO_VALIDATION_BATCH_TOO_LARGE) | BIT(NEO_NOT_FOUND_RESOURCE),
                          .verb = "batch",
                          .summary = "Create, change and delete several {collection}",
                          .doc =
                              "Up to 100 operations, done in their order. Each gives what the single request would: an update "
                              "is a JSON merge patch, and each change has its own event. Without `atomic` every operation "
                              "succeeds or fails by itself, and the answer tells which did. With `atomic` all are done or "
                              "none: the first one that fails is the answer, with its own status and with the operation in "
                              "front of its fields (`operations[3].data.name`).\n\nA batch counts as one request for each "
                              "operation. One that does not fit in what is left of the window is refused with 429 and "
                              "counts as one. An Idempotency-Key stands for the whole.",
                          .answer = "What became of each operation, in their order."},
    [NEO_ACTION_READ] = {.method = "GET",
                         .path = "{collection}/{id}",
                         .access = NEO_ACCESS_READ,
                         .accepts = NEO_ACCEPTS_IF_NONE_MATCH,
                         .status = 200,
                         .response_headers = NEO_RESPONSE_ETAG,
                         .media_type = JSON,
                         .verb = "get",
                         .summary = "Read a {resource}",
                         .doc = "With If-None-Match, 304 where it has not changed.",
                         .answer = "The {resource}."},
    [NEO_ACTION_PATCH] = {.method = "PATCH",
                          .path = "{collection}/{id}",
                          .access = NEO_ACCESS_WRITE,
                          .accepts = NEO_ACCEPTS_BODY | NEO_ACCEPTS_MERGE_PATCH | NEO_ACCEPTS_IF_MATCH,
                          .status = 200,
                          .response_headers = NEO_RESPONSE_ETAG,
                          .media_type = JSON,
                          .problems = CHECKED_BODY,
                          .verb = "update",
                          .summary = "Change fields of a {resource}",
                          .doc = "A JSON merge patch (RFC 7396): fields that are sent are set, null clears an optional one, "
                                 "all others stay.",
                          .answer = "The {resource} as it is now."},
    [NEO_ACTION_REPLACE] = {.method = "PUT",
                            .path = "{collection}/{id}",
                            .access = NEO_ACCESS_WRITE,
                            .accepts = NEO_ACCEPTS_BODY | NEO_ACCEPTS_IF_MATCH,
                            .status = 200,
                            .response_headers = NEO_RESPONSE_ETAG,
                            .media_type = JSON,
                            .problems = CHECKED_BODY,
                            .verb = "replace",
                            .summary = "Replace a {resource}",
                            .doc = "Sets every field that can be written, by the rules of creation; what is left out is "
                                   "cleared.",
                            .answer = "The {resource} as it is now."},
    [NEO_ACTION_DELETE] = {.method = "DELETE",
                           .path = "{collection}/{id}",
                           .access = NEO_ACCESS_WRITE,
                           .accepts = NEO_ACCEPTS_IF_MATCH,
                           .status = 204,
                           .verb = "delete",
                           .summary = "Delete a {resource}",
                           .doc = "Refused while another resource refers to it.",
                           .answer = "The {resource} is deleted."},
    [NEO_ACTION_ROTATE_SECRET] = {.method = "POST",
                                  .path = "webhooks/{id}/rotate-secret",
                                  .access = NEO_ACCESS_WRITE,
                                  .status = 200,
                                  .media_type = JSON,
                                  .schema = "WebhookWithSecret",
                                  .verb = "rotateWebhookSecret",
                                  .summary = "Give a subscription a new secret",
                                  .doc =
                                      "The new secret is shown in this response alone. For 24 hours `webhook-signature` has a "
                                      "signature with the old one as well, so that a receiver can change without a gap; "
                                      "`X-Webhook-Signature` is made with the new one at once.",
                                  .answer = "The subscription with its new secret."},
    [NEO_ACTION_TEST_WEBHOOK] = {.method = "POST",
                                 .path = "webhooks/{id}/test",
                                 .access = NEO_ACCESS_WRITE,
                                 .accepts = NEO_ACCEPTS_IDEMPOTENCY_KEY,
                                 .status = 201,
                                 .media_type = JSON,
                                 .schema = "Delivery",
                                 .verb = "testWebhook",
                                 .summary = "Send a test delivery",
                                 .doc = "Makes a delivery of the event `webhook.test`, whatever the subscription's events are.",
                                 .answer = "The delivery."},
    [NEO_ACTION_RECOVER] = {.method = "POST",
                            .path = "webhooks/{id}/recover",
                            .access = NEO_ACCESS_WRITE,
                            .accepts = NEO_ACCEPTS_BODY | NEO_ACCEPTS_IDEMPOTENCY_KEY,
                            .status = 200,
                            .media_type = JSON,
                            .problems = BIT(NEO_VALIDATION_FIELD_REQUIRED) | BIT(NEO_VALIDATION_FIELD_INVALID),
                            .body = &neo_recovery,
                            .schema = "Recovered",
                            .verb = "recoverDeliveries",
                            .summary = "Send again what has failed",
                            .doc = "Makes a new delivery for each one that has failed since the moment in `since`.",
                            .answer = "How many deliveries there are to be."},
    [NEO_ACTION_LIST_DELIVERIES] = {.method = "GET",
                                    .path = "webhooks/{id}/deliveries",
                                    .access = NEO_ACCESS_READ,
                                    .accepts = NEO_ACCEPTS_PAGE,
                                    .status = 200,
                                    .response_headers = NEO_RESPONSE_LINK,
                                    .filters = delivery_filters,
                                    .prefix = "whd_",
                                    .media_type = JSON,
                                    .problems = BIT(NEO_VALIDATION_LIMIT_OUT_OF_RANGE) | BIT(NEO_VALIDATION_CURSOR_INVALID) |
                                                BIT(NEO_VALIDATION_CURSOR_EXPIRED),
                                    .schema = "DeliveryList",
                                    .verb = "listDeliveries",
                                    .summary = "List a subscription's deliveries",
                                    .doc = "Newest first, as long as history is kept.",
                                    .answer = "A page of deliveries."},
    [NEO_ACTION_READ_DELIVERY] = {.method = "GET",
                                  .path = "webhooks/{id}/deliveries/{delivery_id}",
                                  .access = NEO_ACCESS_READ,
                                  .status = 200,
                                  .prefix = "whd_",
                                  .media_type = JSON,
                                  .subresource = "delivery",
                                  .schema = "DeliveryDetail",
                                  .verb = "getDelivery",
                                  .summary = "Read a delivery",
                                  .doc = "With its payload and all its attempts.",
                                  .answer = "The delivery."},
    [NEO_ACTION_RETRY_DELIVERY] = {.method = "POST",
                                   .path = "webhooks/{id}/deliveries/{delivery_id}/retry",
                                   .access = NEO_ACCESS_WRITE,
                                   .accepts = NEO_ACCEPTS_IDEMPOTENCY_KEY,
                                   .status = 201,
                                   .prefix = "whd_",
                                   .media_type = JSON,
                                   .subresource = "delivery",
                                   .schema = "Delivery",
                                   .verb = "retryDelivery",
                                   .summary = "Send a delivery again",
                                   .doc = "Makes a new delivery with the same payload.",
                                   .answer = "The new delivery."},
    [NEO_ACTION_START_CONVERSATION] =
        {.method = "POST",
         .path = "whatsapp/conversations",
         .access = NEO_ACCESS_WRITE,
         .accepts = NEO_ACCEPTS_BODY | NEO_ACCEPTS_IDEMPOTENCY_KEY,
         .status = 201,
         .status_existing = 200,
         .subresource = "lead",
         .of = &neo_whatsapp,
         .schema = "StartedConversation",
         .media_type = JSON,
         .problems = BIT(NEO_VALIDATION_FIELD_REQUIRED) | BIT(NEO_VALIDATION_FIELD_INVALID) |
                     BIT(NEO_VALIDATION_TEMPLATE_REJECTED) | BIT(NEO_NOT_FOUND_RESOURCE) | BIT(NEO_CONFLICT_OPTED_OUT) |
                     BIT(NEO_INTERNAL_PROVIDER_UNAVAILABLE),
         .tag = "WhatsApp",
         .verb = "startConversation",
         .summary = "Begin a conversation with a lead",
         .doc =
             "Sends a message made of a template to the lead's contact. The message is `accepted` when WhatsApp has taken it; "
             "whether it arrived is found out later.\n\nOne that WhatsApp refuses for good is answered with the status "
             "`failed` and the reason. Where it is not known whether WhatsApp took it, the message stays `pending`. Neither "
             "is sent again, nor is anything that was sent with the same Idempotency-Key: send one always, and the request "
             "can be repeated whatever happened to the answer.",
         .answer = "The conversation is new.",
         .answer_existing = "The conversation was there already."},
};

const neo_operation neo_operation_docs = {
    .method = "GET",
    .path = "docs",
    .access = NEO_ACCESS_PUBLIC,
    .accepts = NEO_ACCEPTS_IF_NONE_MATCH,
    .status = 200,
    .response_headers = NEO_RESPONSE_ETAG,
    .media_type = "text/html; charset=utf-8",
};

/* What an operation takes can also be wrong. */
static const struct {
    unsigned int accepts;
    unsigned long long problems;
} consequences[] = {
    {NEO_ACCEPTS_BODY, BIT(NEO_VALIDATION_UNKNOWN_FIELD) | BIT(NEO_VALIDATION_MALFORMED_JSON) |
                           BIT(NEO_VALIDATION_BODY_REQUIRED) | BIT(NEO_VALIDATION_BODY_TOO_LARGE) |
                           BIT(NEO_VALIDATION_UNSUPPORTED_MEDIA_TYPE)},
    {NEO_ACCEPTS_IDEMPOTENCY_KEY, BIT(NEO_VALIDATION_IDEMPOTENCY_KEY_INVALID) | BIT(NEO_CONFLICT_IDEMPOTENCY_KEY_REUSED)},
    {NEO_ACCEPTS_IF_MATCH, BIT(NEO_CONFLICT_PRECONDITION_FAILED)},
};

/* What comes of the other resources and of the state machine. Where the body is not the resource it has neither. */
static unsigned long long problems_of_resource(const neo_operation *operation, const neo_resource *resource)
{
    int is_written = operation->accepts & NEO_ACCEPTS_BODY && !operation->body;
    unsigned long long all = 0;
    if (is_written && neo_has_references(resource))
        all |= BIT(NEO_VALIDATION_FIELD_NOT_FOUND);
    if (is_written && resource->transitions)
        all |= BIT(NEO_CONFLICT_INVALID_TRANSITION);
    int deletes = operation == &neo_operations[NEO_ACTION_DELETE] || operation->accepts & NEO_ACCEPTS_BATCH;
    if (deletes && neo_is_referred_to(resource))
        all |= BIT(NEO_CONFLICT_IN_USE);
    return all;
}

unsigned long long neo_operation_problems(const neo_operation *operation, const neo_resource *resource)
{
    unsigned long long all = operation->problems | BIT(NEO_VALIDATION_FAILED) | BIT(NEO_VALIDATION_UNKNOWN_PARAMETER) |
                             BIT(NEO_VALIDATION_PARAMETER_INVALID) | BIT(NEO_VALIDATION_MALFORMED_REQUEST) |
                             BIT(NEO_VALIDATION_REQUEST_TIMEOUT) | BIT(NEO_RATE_LIMIT_EXCEEDED) | BIT(NEO_INTERNAL_UNEXPECTED) |
                             BIT(NEO_FORBIDDEN_BY_SERVER) | BIT(NEO_INTERNAL_UNAVAILABLE);
    for (apr_size_t i = 0; i < sizeof consequences / sizeof *consequences; i++)
        if (operation->accepts & consequences[i].accepts)
            all |= consequences[i].problems;
    if (operation->access >= NEO_ACCESS_ANY)
        all |= BIT(NEO_UNAUTHORIZED_AUTH_REQUIRED) | BIT(NEO_UNAUTHORIZED_INVALID_CREDENTIAL) |
               BIT(NEO_UNAUTHORIZED_REVOKED_CREDENTIAL) | BIT(NEO_FORBIDDEN_ORGANIZATION);
    if (operation->access >= NEO_ACCESS_READ)
        all |= BIT(NEO_FORBIDDEN_PERMISSIONS) | BIT(NEO_VALIDATION_ORGANIZATION_REQUIRED);
    if (strstr(operation->path, "{id}"))
        all |= BIT(NEO_NOT_FOUND_RESOURCE);
    return resource ? all | problems_of_resource(operation, resource) : all;
}

int neo_operation_is_of(const neo_operation *operation, const neo_resource *resource)
{
    return !(operation->accepts & NEO_ACCEPTS_BATCH) || resource->has_batch;
}

const neo_filter *neo_operation_filter(const neo_operation *operation, const neo_resource *resource, const char *name)
{
    if (!operation->filters)
        return neo_filter_named(resource, name);
    for (const neo_filter *f = operation->filters; f->name; f++)
        if (strcmp(f->name, name) == 0)
            return f;
    return NULL;
}

/* What stands in an id's place and is none. */
static int is_word(const char *segment, const neo_resource *resource)
{
    return resource->has_batch && strcmp(segment, "batch") == 0;
}

#define MAX_SEGMENTS 8 /* more than any path has */

/* A path, taken apart once for all that it is compared with. */
typedef struct {
    const char *segments[MAX_SEGMENTS];
    int count;                    /* 0: no operation has such a path */
    const neo_resource *resource; /* whose collection the first one is; NULL: nobody's */
} parts;

static parts take_apart(const char *path, apr_pool_t *pool)
{
    parts of = {.count = 0};
    for (char *at = apr_pstrdup(pool, path), *next; at; at = next) {
        if ((next = strchr(at, '/')))
            *next++ = '\0';
        if (*at == '\0' || of.count == MAX_SEGMENTS)
            return (parts){.count = 0};
        of.segments[of.count++] = at;
    }
    of.resource = neo_resource_of_collection(of.segments[0]);
    return of;
}

/* What an operation's path wants of a segment. */
typedef struct {
    enum { LITERAL, COLLECTION, ID, SUBRESOURCE } kind;
    char word[16];
} wanted;

typedef struct {
    wanted segments[MAX_SEGMENTS];
    int count;
} template;

static template templates[NEO_ACTIONS];
static pthread_once_t templates_are_read = PTHREAD_ONCE_INIT;

static wanted read_segment(const char *text, size_t len)
{
    wanted segment = {.kind = LITERAL};
    if (*text == '{')
        segment.kind = strncmp(text, "{collection}", len) == 0 ? COLLECTION
                       : strncmp(text, "{id}", len) == 0       ? ID
                                                               : SUBRESOURCE;
    else if (len < sizeof segment.word)
        memcpy(segment.word, text, len);
    else
        abort();
    return segment;
}

static void read_templates(void)
{
    for (int a = 0; a < NEO_ACTIONS; a++) {
        template *of = &templates[a];
        for (const char *at = neo_operations[a].path; *at; at += *at == '/') {
            size_t len = strcspn(at, "/");
            of->segments[of->count++] = read_segment(at, len);
            at += len;
        }
    }
}

/* Takes a segment for what is wanted; 0: it is something else. */
static int take(const wanted *segment, const char *text, neo_match *match)
{
    switch (segment->kind) {
    case LITERAL: return strcmp(text, segment->word) == 0;
    case COLLECTION: return match->resource != NULL;
    case ID: match->id = text; return !is_word(text, match->resource);
    default: match->subresource_id = text; return 1;
    }
}

static int fits(const template *of, const parts *path, neo_match *match)
{
    if (of->count != path->count)
        return 0;
    *match = (neo_match){.resource = path->resource};
    for (int n = 0; n < path->count; n++)
        if (!take(&of->segments[n], path->segments[n], match))
            return 0;
    return 1;
}

static int is_method(const neo_operation *operation, const char *method)
{
    return strcmp(operation->method, method) == 0 || (strcmp(operation->method, "GET") == 0 && strcmp(method, "HEAD") == 0);
}

/* The methods of a path, in alphabetical order as people look for them. */
static const char *allow_of(const unsigned char *has, apr_pool_t *pool)
{
    static const char *const methods[] = {"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"};
    neo_buf out;
    neo_buf_init(&out, pool, 64);
    for (apr_size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
        int offered = strcmp(methods[m], "OPTIONS") == 0;
        for (int a = 0; a < NEO_ACTIONS; a++)
            offered |= has[a] && is_method(&neo_operations[a], methods[m]);
        if (offered)
            neo_buf_printf(&out, "%s%s", out.len ? ", " : "", methods[m]);
    }
    return out.ptr;
}

int neo_operation_match(const char *path, const char *method, apr_pool_t *pool, neo_match *match)
{
    unsigned char has[NEO_ACTIONS] = {0};
    int found = 0;
    pthread_once(&templates_are_read, read_templates);
    const parts of = take_apart(path, pool);
    *match = (neo_match){.is_public = 1};
    for (int a = 0; a < NEO_ACTIONS; a++) {
        neo_match trial;
        if (!fits(&templates[a], &of, &trial) || (trial.resource && !neo_operation_is_of(&neo_operations[a], trial.resource)))
            continue;
        found = has[a] = 1;
        match->resource = neo_operations[a].of ? neo_operations[a].of : trial.resource;
        match->id = trial.id;
        match->subresource_id = trial.subresource_id;
        match->is_public &= neo_operations[a].access == NEO_ACCESS_PUBLIC;
        if (is_method(&neo_operations[a], method)) {
            match->operation = &neo_operations[a];
        }
    }
    if (!found && neo_docs_at(path)) {
        found = has[NEO_ACTION_ERRORS] = 1; /* which has the methods of every document */
        match->operation = is_method(&neo_operation_docs, method) ? &neo_operation_docs : NULL;
    }
    if (found && !match->operation)
        match->allow = allow_of(has, pool);
    return found;
}
