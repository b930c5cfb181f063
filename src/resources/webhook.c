/* SPDX-License-Identifier: Apache-2.0 */
/* Webhook subscriptions. src/webhooks/ sends the events. */
#include <apr_lib.h>
#include <apr_strings.h>
#include <string.h>

#include "resources/fields.h"
#include "resources/scope.h"
#include "schema/rules.h"
#include "webhook_filters.h"

#define EVENTS(name, AREA, collection)   #name ".created", #name ".updated", #name ".deleted",
#define PATTERNS(name, AREA, collection) #name ".*",
/* Not included in "*", which clients chose when there were no others. */
#define NEO_WHATSAPP_EVENTS                                                                                                    \
    "whatsapp.message.received", "whatsapp.message.sent", "whatsapp.message.updated", "whatsapp.contact.opted_out",            \
        "whatsapp.contact.opted_in"
#define NEO_WEBHOOK_EVENTS    "webhook.failing", "webhook.disabled", "webhook.recovered"
#define NEO_CREDENTIAL_EVENTS "credential.expiring"
#define NEO_ERASED_EVENTS     "party.erased", "lead.erased"
#define ALL_EVENTS                                                                                                             \
    NEO_RESOURCES_WITH_EVENTS(EVENTS) NEO_ERASED_EVENTS, NEO_WHATSAPP_EVENTS, NEO_WEBHOOK_EVENTS, NEO_CREDENTIAL_EVENTS
static const char *const events[] = {
    ALL_EVENTS, NEO_RESOURCES_WITH_EVENTS(PATTERNS) "whatsapp.*", "webhook.*", "credential.*", "*", NULL};

static const char *const includes[] = {"changed", "previous", NULL};

static const neo_field batch[] = {
    {.name = "max_items",
     .type = NEO_INTEGER,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_REQUIRED,
     .min = 1,
     .max = 100,
     .doc = "Deliveries in a request.",
     .example = "50"},
    {.name = "max_wait_ms",
     .type = NEO_INTEGER,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_REQUIRED,
     .min = 0,
     .max = 10000,
     .doc = "Milliseconds that a delivery waits for others, unless the request is full.",
     .example = "300"},
    {0},
};

static const char *const payloads[] = {"full", "thin", NULL};

static const char *const orderings[] = {"none", "resource", NULL};

static const char *const asymmetric_signatures[] = {"ed25519", NULL};

/* ---------------------------------------------------------------- headers of deliveries */

/* Headers of the connection, the body and the signature, of tracing, and what HTTP itself forbids or the service sets. A name
 * that ends in '-' is a prefix. */
static const char *const refused_headers[] = {
    "connection",  "keep-alive", "proxy-",     "te",     "trailer",         "transfer-encoding",   "upgrade",
    "host",        "content-",   "expect",     "http2-", "accept-encoding", "x-webhook-signature", "webhook-",
    "traceparent", "tracestate", "user-agent", NULL};

/* Without case, and with '_' as '-': CGI, WSGI and PHP show both as the same variable. */
static const char *fold_header(const char *name, apr_pool_t *pool)
{
    char *folded = apr_pstrdup(pool, name);
    for (char *c = folded; *c; c++)
        *c = (char)(*c == '_' ? '-' : apr_tolower(*c));
    return folded;
}

static int is_refused_header(const char *folded)
{
    for (const char *const *refused = refused_headers; *refused; refused++) {
        size_t len = strlen(*refused);
        if (strncmp(folded, *refused, len) == 0 && ((*refused)[len - 1] == '-' || !folded[len]))
            return 1;
    }
    return 0;
}

static int is_repeated(neo_json *headers, const char *name, apr_pool_t *pool)
{
    for (void *m = neo_json_first(headers); m; m = neo_json_next(headers, m))
        if (strcmp(neo_json_member_key(m), name) == 0)
            return 0;
        else if (strcmp(fold_header(neo_json_member_key(m), pool), fold_header(name, pool)) == 0)
            return 1;
    return 0;
}

static const char *check_header(neo_json *headers, const char *name, const char *value, apr_pool_t *pool)
{
    if (name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~")])
        return "must have the name of a header: letters, digits and dashes";
    if (is_refused_header(fold_header(name, pool)))
        return "is a header that subscriptions cannot set";
    if (is_repeated(headers, name, pool))
        return "repeats a header";
    for (const char *c = value; *c; c++)
        if (*c < ' ' || *c > '~')
            return "must have only visible ASCII characters and spaces";
    return !*value || *value == ' ' || value[strlen(value) - 1] == ' ' ? "must not be empty, nor begin or end with a space"
                                                                       : NULL;
}

static void webhook_rule(const neo_resource *resource, const neo_json *clean, neo_problem **problem, apr_pool_t *pool)
{
    neo_json *headers = neo_json_get(clean, "headers");
    for (void *m = headers ? neo_json_first(headers) : NULL; m; m = neo_json_next(headers, m)) {
        const char *name = neo_json_member_key(m);
        const char *message = check_header(headers, name, neo_json_string(neo_json_member_value(m)), pool);
        if (message)
            neo_problem_member(problem, pool, NEO_VALIDATION_FIELD_INVALID, resource->name, "headers", name, message);
    }
    neo_webhook_check_filters(resource, clean, problem, pool);
    neo_webhook_check_payload(resource, clean, problem, pool);
}

/* ---------------------------------------------------------------- fields */

static const char *const healths[] = {"healthy", "failing", "disabled", NULL};
static const char *const disabled_reasons[] = {"owner", "gone", "failing", NULL};

static const neo_field fields[] = {
    NEO_FIELD_ID("subscription", "whs_01kga4vrzrd2v6x8t1q5m9k7b4", 0),
    {.name = "url",
     .type = NEO_STRING,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_REQUIRED | NEO_ALWAYS | NEO_HTTPS,
     .max = 2000,
     .rule = neo_rule_webhook_url,
     .format = "uri",
     .doc = "URL to which deliveries are sent by POST: absolute, with https.",
     .example = "\"https://crm.example.com/hooks/brokers\""},
    {.name = "events",
     .type = NEO_ENUM_LIST,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_REQUIRED | NEO_ALWAYS,
     .values = events,
     .doc =
         "Events to deliver. `broker.*` means all of brokers; `*` means all but those of leads, erasures, WhatsApp, webhooks "
         "and credentials.",
     .example = "[\"broker.created\", \"broker.updated\"]"},
    {.name = "secret",
     .type = NEO_STRING,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_SERVER | NEO_SECRET,
     .doc = "Secret with which deliveries are signed. Returned only when it is created or rotated.",
     .example = "\"whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDazNyFqTuA3E=\""},
    {.name = "is_active",
     .type = NEO_BOOLEAN,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_ALWAYS,
     .default_value = "true",
     .doc = "Whether events are delivered. Pending deliveries are sent when it becomes active again.",
     .example = "true"},
    NEO_FIELDS_OF_TIMES("subscription", "2026-01-31T13:46:14.904Z", "2026-01-31T13:46:14.904Z", 0),
    {.name = "health",
     .type = NEO_ENUM,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_SERVER | NEO_ALWAYS,
     .values = healths,
     .doc = "`failing` if the last attempt failed, `disabled` if it is inactive.",
     .example = "\"healthy\""},
    {.name = "last_success_at",
     .type = NEO_TIMESTAMP,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_SERVER,
     .doc = "When an attempt succeeded last; updated at most once a minute.",
     .example = "\"2026-02-03T09:12:41.204Z\""},
    {.name = "failing_since",
     .type = NEO_TIMESTAMP,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_SERVER | NEO_NOT_IN_EXAMPLE,
     .doc = "The first failed attempt after the last success.",
     .example = "\"2026-02-03T09:12:41.204Z\""},
    {.name = "disabled_at",
     .type = NEO_TIMESTAMP,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_SERVER | NEO_NOT_IN_EXAMPLE,
     .doc = "When it became inactive.",
     .example = "\"2026-02-03T09:12:41.204Z\""},
    {.name = "disabled_reason",
     .type = NEO_ENUM,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_SERVER | NEO_NOT_IN_EXAMPLE,
     .values = disabled_reasons,
     .doc = "Why it became inactive: by a request (`owner`), a response 410 "
            "(`gone`), or because all attempts failed for five days (`failing`).",
     .example = "\"failing\""},
    {.name = "limited_until",
     .type = NEO_TIMESTAMP,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_SERVER | NEO_NOT_IN_EXAMPLE,
     .doc =
         "The hourly limit of deliveries to the receiver was reached; the next pending one is sent at this time. Not present "
         "after the next success.",
     .example = "\"2026-02-03T09:12:41.204Z\""},
    {.name = "include",
     .type = NEO_ENUM_LIST,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_NOT_IN_EXAMPLE,
     .values = includes,
     .doc = "What else deliveries of updates have: the names of the changed fields, their former values, as in the event log.",
     .example = "[\"changed\", \"previous\"]"},
    {.name = "payload",
     .type = NEO_ENUM,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_NOT_IN_EXAMPLE,
     .values = payloads,
     .doc =
         "`thin`: deliveries have `resource_id` and the `url` of the resource in place of the payload. `full` (default): the "
         "resource.",
     .example = "\"thin\""},
    {.name = "fields",
     .type = NEO_TEXT_LIST,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_NOT_IN_EXAMPLE,
     .max = 100,
     .max_items = 200,
     .doc = "Fields of full payloads, and of `previous`; all by default. `id`, `organization_id` and `updated_at` are always "
            "there.",
     .example = "[\"name\", \"status\"]"},
    {.name = "ordering",
     .type = NEO_ENUM,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_NOT_IN_EXAMPLE,
     .values = orderings,
     .doc = "`resource`: an event is sent when the earlier ones of its resource have been received or have failed for good. "
            "`none` (default): at once.",
     .example = "\"resource\""},
    {.name = "batch",
     .type = NEO_OBJECT,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_NOT_IN_EXAMPLE,
     .fields = batch,
     .doc = "Several deliveries in one request: its body is `{\"deliveries\": [...]}` of the usual bodies, each with its "
            "`event_id`. A 2xx confirms all. By default each delivery has its own request.",
     .example = "{\"max_items\": 50, \"max_wait_ms\": 300}"},
    {.name = "max_per_second",
     .type = NEO_INTEGER,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_NOT_IN_EXAMPLE,
     .min = 1,
     .max = 1000,
     .doc = "Requests that are sent in a second, at equal intervals. Unlimited by default.",
     .example = "20"},
    {.name = "max_in_flight",
     .type = NEO_INTEGER,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_NOT_IN_EXAMPLE,
     .min = 1,
     .max = 512,
     .doc = "Requests that wait for a response at the same time. By default only the servers' own limits apply.",
     .example = "4"},
    {.name = "paused_until",
     .type = NEO_TIMESTAMP,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_SERVER | NEO_NOT_IN_EXAMPLE,
     .doc = "The receiver asked to wait (`Retry-After`); nothing is sent until this time. Not present after a later success.",
     .example = "\"2026-02-03T09:12:41.204Z\""},
    {.name = "filters",
     .type = NEO_OBJECT,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_NOT_IN_EXAMPLE,
     .fields = neo_webhook_filter_fields,
     .doc = "Only events of resources that match all filters of their kind, before the change or after it. A filter matches "
            "one of its values. Kinds without filters are not restricted.",
     .example = "{\"property\": {\"status\": [\"active\"], \"changed\": [\"sale_price\", \"status\"]}}"},
    {.name = "is_masked",
     .type = NEO_BOOLEAN,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_NOT_IN_EXAMPLE,
     .doc =
         "Whether personal data are masked in deliveries, as for a credential with a masked scope. Always `true` of what such "
         "a credential creates or changes.",
     .example = "true"},
    {.name = "description",
     .type = NEO_STRING,
     .personal = NEO_NOT_PERSONAL,
     .max = 500,
     .doc = "What the subscription is for.",
     .example = "\"Brokers for the website\""},
    {.name = "metadata",
     .type = NEO_MAP,
     .personal = NEO_NOT_PERSONAL,
     .max_key_length = 40,
     .max = 500,
     .max_items = 50,
     .doc = "Your own key-value pairs, returned as sent; any strings, also empty ones.",
     .example = "{\"team\": \"website\"}"},
    {.name = "headers",
     .type = NEO_MAP,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_SEALED | NEO_NOT_IN_EXAMPLE,
     .max_key_length = 100,
     .max = 2000,
     .max_items = 5,
     .doc = "Further headers of deliveries, such as the token of a gateway. Values are encrypted and never returned: responses "
            "have `" NEO_SEALED_VALUE "` instead, which keeps a value when it is sent back. Headers of the connection, of the "
            "content and of signatures are refused, also with `_` instead of `-`.",
     .example = "{\"X-Gateway-Token\": \"4c9f8b2e\"}"},
    {.name = "asymmetric_signature",
     .type = NEO_ENUM,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_NOT_IN_EXAMPLE,
     .values = asymmetric_signatures,
     .doc = "Whether `webhook-signature` also has a signature that is verified with `public_key`, so that receivers need no "
            "secret.",
     .example = "\"ed25519\""},
    {.name = "public_key",
     .type = NEO_STRING,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_SERVER | NEO_NOT_IN_EXAMPLE,
     .doc = "Key of `asymmetric_signature`: `whpk_` and 32 bytes in base64. Made when this is first set; the same until it is "
            "rotated.",
     .example = "\"whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\""},
    {.name = "previous_public_key",
     .type = NEO_STRING,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_SERVER | NEO_NOT_IN_EXAMPLE,
     .doc = "The key before the last rotation.",
     .example = "\"whpk_PUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=\""},
    {.name = "previous_public_key_until",
     .type = NEO_TIMESTAMP,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_SERVER | NEO_NOT_IN_EXAMPLE,
     .doc = "Until then, deliveries also have a signature of the previous key.",
     .example = "\"2026-02-04T09:12:41.204Z\""},
    {0},
};

int neo_webhook_needs_keys(const neo_resource *resource, const neo_json *body)
{
    return resource == &neo_webhook && neo_json_get(body, "asymmetric_signature");
}

#define MAX_OVERLAP_HOURS 168

static const neo_field rotation_fields[] = {
    {.name = "overlap_hours",
     .type = NEO_INTEGER,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_REQUIRED,
     .max = MAX_OVERLAP_HOURS,
     .doc = "Hours for which deliveries have signatures of both keys; 0: the former key is no longer used.",
     .example = "24"},
    {0},
};

const neo_resource neo_key_rotation = {.name = "webhook",
                                       .collection = "webhooks",
                                       .prefix = "whs_",
                                       .title = "KeyRotation",
                                       .area = NEO_AREA_WEBHOOKS,
                                       .fields = rotation_fields};

const neo_resource neo_webhook = {
    .name = "webhook",
    .table = "webhook_subscription",
    .collection = "webhooks",
    .prefix = "whs_",
    .title = "Webhook",
    .tag_doc = "Subscriptions to events, and their deliveries.",
    .area = NEO_AREA_WEBHOOKS,
    .is_audited = 1,
    .fields = fields,
    .patch_example = "{\"url\": \"https://crm.example.com/hooks/new\", \"events\": [\"broker.*\"], \"is_active\": true}",
    .rule = webhook_rule,
};

const char *const neo_recovery_statuses[] = {"failed", "pending", "missed", NULL};

static const char *rule_position(const neo_json *value, apr_pool_t *pool)
{
    const char *text = neo_json_string(value);
    (void)pool;
    return strncmp(text, "evt_", 4) == 0 && strlen(text) == 30 && strspn(text + 4, "0123456789abcdef") == 26
               ? NULL
               : "must be a position from an earlier response";
}

static const neo_field recovery_fields[] = {
    {.name = "since",
     .type = NEO_TIMESTAMP,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_REQUIRED,
     .doc = "Only events at this time or later.",
     .example = "\"2026-02-03T00:00:00.000Z\""},
    {.name = "until",
     .type = NEO_TIMESTAMP,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_NOT_IN_EXAMPLE,
     .doc = "Only events at this time or earlier. Not before `since`.",
     .example = "\"2026-02-04T00:00:00.000Z\""},
    {.name = "event_types",
     .type = NEO_ENUM_LIST,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_NOT_IN_EXAMPLE,
     .values = neo_event_type_values,
     .doc = "Only events of these types.",
     .example = "[\"broker.created\"]"},
    {.name = "statuses",
     .type = NEO_ENUM_LIST,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_NOT_IN_EXAMPLE,
     .values = neo_recovery_statuses,
     .doc =
         "`failed`: every delivery of the event has failed. `pending`: its delivery waits for the next attempt, which follows "
         "at once. `missed`: it has no delivery, because the subscription was inactive. All by default.",
     .example = "[\"failed\", \"missed\"]"},
    {.name = "position",
     .type = NEO_STRING,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_NOT_IN_EXAMPLE,
     .max = 30,
     .rule = rule_position,
     .pattern = "^evt_[0-9a-f]{26}$",
     .doc = "Continues after this position, which an earlier response has returned.",
     .example = "\"evt_000000000001f4a70000003a91\""},
    {0},
};

/* Timestamps have been normalized, so that they compare as texts. */
static void recovery_rule(const neo_resource *resource, const neo_json *clean, neo_problem **problem, apr_pool_t *pool)
{
    const char *since = neo_json_string_at(clean, "since"), *until = neo_json_string_at(clean, "until");
    if (since && until && strcmp(until, since) < 0)
        neo_problem_field(problem, pool, NEO_VALIDATION_FIELD_INVALID, resource->name, "until", "must not be before since");
}

const neo_resource neo_recovery = {.name = "webhook",
                                   .collection = "webhooks",
                                   .prefix = "whs_",
                                   .title = "Recovery",
                                   .area = NEO_AREA_WEBHOOKS,
                                   .fields = recovery_fields,
                                   .rule = recovery_rule};

/* ---------------------------------------------------------------- deliveries */

static const char *const delivery_statuses[] = {"pending", "success", "failed", NULL};

/* Indexes of the queue and of the attempts have them in the order of their ids. */
#define ENDED(outcome)                                                                                                         \
    "select a.delivery_id as source_id from neoapi.webhook_attempt a"                                                          \
    " where a.organization_id = $1 and a.subscription_id = $2 and a.outcome = '" outcome "'"
static const char *const delivery_sources[] = {
    "select q.id as source_id from neoapi.webhook_queue q where q.organization_id = $1 and q.subscription_id = $2",
    ENDED("success"), ENDED("failed")};

const neo_filter neo_delivery_filters[] = {
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
    {.name = "event_id",
     .value = NEO_VALUE_REFERENCE,
     .left = "t.event_id",
     .doc = "Event.",
     .example = "\"evt_000000000001f4a70000003a91\""},
    {.name = "resource_id",
     .left = "t.event_id",
     .kind = NEO_FILTER_SELECTED,
     .value = NEO_VALUE_REFERENCE,
     .selection = "select e.id from neoapi.event e where e.organization_id = $1 and e.resource_id %s",
     .doc = "The resource that the event is about.",
     .example = "\"brk_01kga4vrzrd2v6x8t1q5m9k7b4\""},
    NEO_FILTER_CREATED_GTE,
    NEO_FILTER_CREATED_LTE,
    {0},
};
