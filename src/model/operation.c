/* SPDX-License-Identifier: Apache-2.0 */
/* The table of operations (see model/operation.h). */
#include "model/operation.h"

#include <string.h>

#include "model/event.h"
#include "model/fields.h"
#include "model/references.h"

#define JSON "application/json"
#define BIT  NEO_PROBLEM_BIT

#define BY_EXTERNAL_ID "{collection}/by-external-id/{external_id}"
#define ACCEPTS_LIST   (NEO_ACCEPTS_PAGE | NEO_ACCEPTS_FILTERS | NEO_ACCEPTS_COUNT)

#define CHECKED_BODY (BIT(NEO_VALIDATION_FIELD_REQUIRED) | BIT(NEO_VALIDATION_FIELD_INVALID) | BIT(NEO_CONFLICT_DUPLICATE))
#define PAGE_PROBLEMS                                                                                                          \
    (BIT(NEO_VALIDATION_LIMIT_OUT_OF_RANGE) | BIT(NEO_VALIDATION_CURSOR_INVALID) | BIT(NEO_VALIDATION_CURSOR_EXPIRED) |        \
     BIT(NEO_INTERNAL_QUERY_TIMEOUT))

static const char *const delivery_statuses[] = {"pending", "success", "failed", NULL};

/* Indexes of the queue and of the attempts have them in the order of their ids. */
#define ENDED(outcome)                                                                                                         \
    "select a.delivery_id as source_id from neoapi.webhook_attempt a"                                                          \
    " where a.organization_id = $1 and a.subscription_id = $2 and a.outcome = '" outcome "'"
static const char *const delivery_sources[] = {
    "select q.id as source_id from neoapi.webhook_queue q where q.organization_id = $1 and q.subscription_id = $2",
    ENDED("success"), ENDED("failed")};

static const neo_filter delivery_filters[] = {
    NEO_FILTER_IDS(NEO_SAMPLE_DELIVERY),
    {.name = "status",
     .value = NEO_VALUE_ENUM,
     .values = delivery_statuses,
     .kind = NEO_FILTER_SOURCES,
     .sources = delivery_sources,
     .doc = "Status.",
     .example = "\"failed\""},
    {.name = "event_type",
     .left = "t.event_type",
     .value = NEO_VALUE_ENUM,
     .values = neo_event_type_values,
     .expand = neo_event_type_expand,
     .doc = "Event type, or all types of a resource: `broker.*`.",
     .example = "\"broker.created\""},
    {.name = "event_id", .left = "t.event_id", .doc = "Event.", .example = "\"evt_000000000001f4a70000003a91\""},
    {.name = "resource_id",
     .left = "t.event_id",
     .kind = NEO_FILTER_SELECTED,
     .selection = "select e.id from neoapi.event e where e.organization_id = $1 and e.resource_id",
     .doc = "The resource that the event is about.",
     .example = "\"brk_01kga4vrzrd2v6x8t1q5m9k7b4\""},
    NEO_FILTER_CREATED_GTE,
    NEO_FILTER_CREATED_LTE,
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
                       .summary = "Describe the credential",
                       .doc = "Returns the credential's scopes and organizations. A personal access token for several "
                              "organizations does not need X-Organization-ID here; the default is the first of "
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
                            .summary = "Get the OpenAPI document",
                            .doc = "The API in OpenAPI 3.1. No credential needed.",
                            .answer = "The OpenAPI document."},
    [NEO_ACTION_ERRORS] = {.method = "GET",
                           .path = "docs/errors",
                           .access = NEO_ACCESS_PUBLIC,
                           .accepts = NEO_ACCEPTS_IF_NONE_MATCH,
                           .status = 200,
                           .response_headers = NEO_RESPONSE_ETAG,
                           .media_type = "text/html; charset=utf-8",
                           .tag = "Documentation",
                           .verb = "getErrors",
                           .summary = "Get the page of error codes",
                           .doc = "The page that `documentation_url` of an error refers to. No credential needed.",
                           .answer = "The page."},
    [NEO_ACTION_LIST] = {.method = "GET",
                         .path = "{collection}",
                         .access = NEO_ACCESS_READ,
                         .accepts = ACCEPTS_LIST | NEO_ACCEPTS_SORT | NEO_ACCEPTS_FIELDS,
                         .status = 200,
                         .response_headers = NEO_RESPONSE_LINK | NEO_RESPONSE_TOTAL,
                         .media_type = JSON,
                         .problems = PAGE_PROBLEMS,
                         .verb = "list",
                         .summary = "List {collection}",
                         .doc = "Newest first, unless `sort` is set. Filters combine with AND, the values of a filter with OR.",
                         .answer = "A page of {collection}."},
    [NEO_ACTION_EXPORT] = {.method = "GET",
                           .path = "{collection}/export",
                           .access = NEO_ACCESS_READ,
                           .accepts = NEO_ACCEPTS_FILTERS,
                           .status = 200,
                           .response_headers = NEO_RESPONSE_POSITION,
                           .media_type = "application/x-ndjson",
                           .problems = BIT(NEO_RATE_LIMIT_EXPORTS) | BIT(NEO_INTERNAL_QUERY_TIMEOUT),
                           .schema = "Export",
                           .verb = "export",
                           .summary = "Export {collection}",
                           .doc =
                               "All {collection} that match the filters, in the order of the list, as they are at one moment.",
                           .answer = "A line of JSON for each of the {collection}."},
    [NEO_ACTION_CREATE] = {.method = "POST",
                           .path = "{collection}",
                           .access = NEO_ACCESS_WRITE,
                           .accepts = NEO_ACCEPTS_BODY | NEO_ACCEPTS_IDEMPOTENCY_KEY | NEO_ACCEPTS_IMPORT,
                           .status = 201,
                           .response_headers = NEO_RESPONSE_ETAG | NEO_RESPONSE_LOCATION,
                           .media_type = JSON,
                           .problems = CHECKED_BODY,
                           .verb = "create",
                           .summary = "Create a {resource}",
                           .doc = "With an Idempotency-Key the request can be retried safely for 24 hours.",
                           .answer = "The new {resource}."},
    [NEO_ACTION_BATCH] = {.method = "POST",
                          .path = "{collection}/batch",
                          .access = NEO_ACCESS_WRITE,
                          .accepts = NEO_ACCEPTS_BODY | NEO_ACCEPTS_BATCH | NEO_ACCEPTS_IDEMPOTENCY_KEY,
                          .status = 200,
                          .media_type = JSON,
                          .problems = CHECKED_BODY | BIT(NEO_VALIDATION_BATCH_TOO_LARGE) | BIT(NEO_NOT_FOUND_RESOURCE),
                          .verb = "batch",
                          .summary = "Create, update, upsert and delete several {collection}",
                          .doc =
                              "Up to 100 operations, in order, with the results and events of single requests. See Batches in "
                              "the introduction.",
                          .answer = "The results of the operations, in order."},
    [NEO_ACTION_READ] = {.method = "GET",
                         .path = "{collection}/{id}",
                         .access = NEO_ACCESS_READ,
                         .accepts = NEO_ACCEPTS_IF_NONE_MATCH | NEO_ACCEPTS_FIELDS,
                         .status = 200,
                         .response_headers = NEO_RESPONSE_ETAG,
                         .media_type = JSON,
                         .verb = "get",
                         .summary = "Get a {resource}",
                         .doc = "With If-None-Match, returns 304 if it has not changed.",
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
                          .summary = "Update a {resource}",
                          .doc = "A JSON merge patch (RFC 7396): sets the fields that are sent; null clears an optional field; "
                                 "other fields are unchanged.",
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
                            .doc =
                                "Sets all writable fields, with the same validation as a create. Fields that are not sent are "
                                "cleared.",
                            .answer = "The {resource} as it is now."},
    [NEO_ACTION_DELETE] = {.method = "DELETE",
                           .path = "{collection}/{id}",
                           .access = NEO_ACCESS_WRITE,
                           .accepts = NEO_ACCEPTS_IF_MATCH,
                           .status = 204,
                           .verb = "delete",
                           .summary = "Delete a {resource}",
                           .doc = "Fails if another resource refers to it.",
                           .answer = "The {resource} is deleted."},
    [NEO_ACTION_READ_EXTERNAL] = {.method = "GET",
                                  .path = BY_EXTERNAL_ID,
                                  .access = NEO_ACCESS_READ,
                                  .accepts = NEO_ACCEPTS_IF_NONE_MATCH | NEO_ACCEPTS_FIELDS,
                                  .status = 200,
                                  .response_headers = NEO_RESPONSE_ETAG,
                                  .media_type = JSON,
                                  .problems = BIT(NEO_NOT_FOUND_RESOURCE),
                                  .verb = "getByExternalId",
                                  .summary = "Get a {resource} by its external id",
                                  .doc = "As by its id. Percent-encode the external id.",
                                  .answer = "The {resource}."},
    [NEO_ACTION_UPSERT] = {.method = "PUT",
                           .path = BY_EXTERNAL_ID,
                           .access = NEO_ACCESS_WRITE,
                           .accepts = NEO_ACCEPTS_BODY | NEO_ACCEPTS_IF_MATCH,
                           .status = 201,
                           .status_existing = 200,
                           .response_headers = NEO_RESPONSE_ETAG | NEO_RESPONSE_LOCATION,
                           .media_type = JSON,
                           .problems = CHECKED_BODY,
                           .verb = "upsert",
                           .summary = "Replace the {resource} with an external id, or create it",
                           .doc = "The body may leave `external_id` out. With If-Match, nothing is created.",
                           .answer = "The new {resource}.",
                           .answer_existing = "The {resource} as it is now."},
    [NEO_ACTION_DELETE_EXTERNAL] = {.method = "DELETE",
                                    .path = BY_EXTERNAL_ID,
                                    .access = NEO_ACCESS_WRITE,
                                    .accepts = NEO_ACCEPTS_IF_MATCH,
                                    .status = 204,
                                    .problems = BIT(NEO_NOT_FOUND_RESOURCE),
                                    .verb = "deleteByExternalId",
                                    .summary = "Delete a {resource} by its external id",
                                    .doc = "As by its id.",
                                    .answer = "The {resource} is deleted."},
    [NEO_ACTION_ROTATE_SECRET] =
        {.method = "POST",
         .path = "webhooks/{id}/rotate-secret",
         .access = NEO_ACCESS_WRITE,
         .status = 200,
         .media_type = JSON,
         .schema = "WebhookWithSecret",
         .verb = "rotateWebhookSecret",
         .summary = "Rotate the secret of a subscription",
         .doc = "The new secret is returned only in this response. For 24 hours `webhook-signature` has a "
                "signature with the old secret as well, so that no delivery is refused in the meantime. "
                "`X-Webhook-Signature` uses the new secret at once.",
         .answer = "The subscription with its new secret."},
    [NEO_ACTION_TEST_WEBHOOK] =
        {.method = "POST",
         .path = "webhooks/{id}/test",
         .access = NEO_ACCESS_WRITE,
         .accepts = NEO_ACCEPTS_IDEMPOTENCY_KEY,
         .status = 201,
         .media_type = JSON,
         .schema = "Delivery",
         .verb = "testWebhook",
         .summary = "Send a test delivery",
         .doc = "Creates a delivery of the event `webhook.test`, also if the subscription is for other events.",
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
                            .summary = "Send events again that have not arrived",
                            .doc =
                                "Events of which no delivery has succeeded get a new delivery. Events that have arrived or "
                                "are being sent are skipped, so a repeated request sends nothing. A request examines at most "
                                "10,000 events and sends at most 1,000. If the response has a `position`, repeat the request "
                                "with it to continue. Imported history is not sent.",
                            .answer = "The number of events that are sent again."},
    [NEO_ACTION_LIST_DELIVERIES] = {.method = "GET",
                                    .path = "webhooks/{id}/deliveries",
                                    .access = NEO_ACCESS_READ,
                                    .accepts = ACCEPTS_LIST | NEO_ACCEPTS_SORT_BY_ID,
                                    .status = 200,
                                    .response_headers = NEO_RESPONSE_LINK | NEO_RESPONSE_TOTAL,
                                    .filters = delivery_filters,
                                    .prefix = "whd_",
                                    .media_type = JSON,
                                    .problems = PAGE_PROBLEMS,
                                    .schema = "DeliveryList",
                                    .verb = "listDeliveries",
                                    .summary = "List a subscription's deliveries",
                                    .doc = "Newest first, for as long as deliveries are stored.",
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
                                  .summary = "Get a delivery",
                                  .doc = "With its payload and attempts.",
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
                                   .summary = "Retry a delivery",
                                   .doc = "Creates a new delivery with the same payload.",
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
         .summary = "Start a conversation with a lead",
         .doc =
             "Sends a template message to the lead's contact. The message is `accepted` when WhatsApp has accepted it; later "
             "updates of its status tell whether it was delivered.\n\nIf WhatsApp refuses the message permanently, it is "
             "returned with the status `failed` and the reason. If it is unknown whether WhatsApp accepted it, it stays "
             "`pending`. Neither is sent again, nor is a request with the same Idempotency-Key. So always send an "
             "Idempotency-Key, and repeat the request if the response was lost.",
         .answer = "The conversation is new.",
         .answer_existing = "The conversation existed already."},
    [NEO_ACTION_LIST_CONVERSATIONS] = {.method = "GET",
                                       .path = "whatsapp/conversations",
                                       .access = NEO_ACCESS_READ,
                                       .accepts = ACCEPTS_LIST | NEO_ACCEPTS_SORT_BY_ID | NEO_ACCEPTS_FIELDS,
                                       .status = 200,
                                       .response_headers = NEO_RESPONSE_LINK | NEO_RESPONSE_TOTAL,
                                       .filters = neo_conversation_filters,
                                       .of = &neo_conversation,
                                       .media_type = JSON,
                                       .problems = PAGE_PROBLEMS,
                                       .schema = "ConversationList",
                                       .tag = "WhatsApp",
                                       .verb = "listConversations",
                                       .summary = "List conversations",
                                       .doc = "Newest first.",
                                       .answer = "A page of conversations."},
    [NEO_ACTION_READ_CONVERSATION] = {.method = "GET",
                                      .path = "whatsapp/conversations/{id}",
                                      .access = NEO_ACCESS_READ,
                                      .accepts = NEO_ACCEPTS_IF_NONE_MATCH | NEO_ACCEPTS_FIELDS,
                                      .status = 200,
                                      .response_headers = NEO_RESPONSE_ETAG,
                                      .of = &neo_conversation,
                                      .media_type = JSON,
                                      .schema = "Conversation",
                                      .tag = "WhatsApp",
                                      .verb = "getConversation",
                                      .summary = "Get a conversation",
                                      .doc = "404 if it was merged into another one of the same contact.",
                                      .answer = "The conversation."},
    [NEO_ACTION_PATCH_CONVERSATION] = {.method = "PATCH",
                                       .path = "whatsapp/conversations/{id}",
                                       .access = NEO_ACCESS_WRITE,
                                       .accepts = NEO_ACCEPTS_BODY | NEO_ACCEPTS_MERGE_PATCH | NEO_ACCEPTS_IF_MATCH,
                                       .status = 200,
                                       .response_headers = NEO_RESPONSE_ETAG,
                                       .of = &neo_conversation,
                                       .body = &neo_conversation_changes,
                                       .media_type = JSON,
                                       .problems = BIT(NEO_VALIDATION_FIELD_REQUIRED) | BIT(NEO_VALIDATION_FIELD_INVALID) |
                                                   BIT(NEO_CONFLICT_OPTED_OUT),
                                       .schema = "Conversation",
                                       .tag = "WhatsApp",
                                       .verb = "updateConversation",
                                       .summary = "Update a conversation",
                                       .doc = "A JSON merge patch: sets the triage, what was read, or an opt-out.",
                                       .answer = "The conversation as it is now."},
    [NEO_ACTION_LIST_MESSAGES] = {.method = "GET",
                                  .path = "whatsapp/conversations/{id}/messages",
                                  .access = NEO_ACCESS_READ,
                                  .accepts = ACCEPTS_LIST | NEO_ACCEPTS_SORT_BY_ID,
                                  .status = 200,
                                  .response_headers = NEO_RESPONSE_LINK | NEO_RESPONSE_TOTAL,
                                  .filters = neo_message_filters,
                                  .prefix = "wam_",
                                  .of = &neo_conversation,
                                  .media_type = JSON,
                                  .problems = PAGE_PROBLEMS,
                                  .schema = "MessageList",
                                  .tag = "WhatsApp",
                                  .verb = "listMessages",
                                  .summary = "List a conversation's messages",
                                  .doc = "Last stored first.",
                                  .answer = "A page of messages."},
    [NEO_ACTION_LIST_EVENTS] =
        {.method = "GET",
         .path = "events",
         .access = NEO_ACCESS_EVENTS,
         .accepts = NEO_ACCEPTS_PAGE | NEO_ACCEPTS_FILTERS | NEO_ACCEPTS_FOLLOW,
         .status = 200,
         .response_headers = NEO_RESPONSE_LINK | NEO_RESPONSE_POSITION,
         .filters = neo_event_filters,
         .of = &neo_event_log,
         .media_type = JSON,
         .problems = PAGE_PROBLEMS | BIT(NEO_VALIDATION_POSITION_EXPIRED),
         .schema = "EventList",
         .tag = "Events",
         .verb = "listEvents",
         .summary = "List or follow events",
         .doc =
             "The changes of the resources that the credential's scopes can read. Newest first, or with `order=asc` from a "
             "position: every event once, in the same order for every reader, without gaps. Continue from X-Events-Position, "
             "also after a page with few events or none. Per resource, the greatest `updated_at` in the payloads is the "
             "newest.",
         .answer = "A page of events."},
    [NEO_ACTION_READ_EVENT] = {.method = "GET",
                               .path = "events/{id}",
                               .access = NEO_ACCESS_EVENTS,
                               .status = 200,
                               .of = &neo_event_log,
                               .media_type = JSON,
                               .schema = "Event",
                               .tag = "Events",
                               .verb = "getEvent",
                               .summary = "Get an event",
                               .doc = "For as long as events are stored.",
                               .answer = "The event."},
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

unsigned int neo_operation_accepts(const neo_operation *operation, const neo_resource *resource)
{
    return operation->accepts & ~(resource && resource->transitions ? 0u : (unsigned int)NEO_ACCEPTS_IMPORT);
}

int neo_operation_is_by_external_id(const neo_operation *operation)
{
    return strcmp(operation->path, BY_EXTERNAL_ID) == 0;
}

int neo_operation_is_of(const neo_operation *operation, const neo_resource *resource)
{
    int is_export = operation == &neo_operations[NEO_ACTION_EXPORT];
    if (neo_operation_is_by_external_id(operation))
        return neo_has_external_id(resource);
    return (!(operation->accepts & NEO_ACCEPTS_BATCH) || resource->has_batch) && (!is_export || resource->has_events);
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
