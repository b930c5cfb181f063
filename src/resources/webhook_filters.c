/* SPDX-License-Identifier: Apache-2.0 */
/* The filters of subscriptions (see webhook_filters.h). */
#include "webhook_filters.h"

#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "core/id.h"
#include "resources/fields.h"
#include "resources/mask.h"
#include "whatsapp_fields.h"

#define MAX_COMBINATIONS 200
#define MAX_VALUES       50
#define MAX_LENGTH       100
#define WHATSAPP         "whatsapp"

#define COUNTED(name, AREA, collection) +1
enum { KINDS = 1 NEO_RESOURCES_WITH_EVENTS(COUNTED), MAX_MEMBERS = 16, MAX_NAMES = 64, EXAMPLE_SIZE = 80 };

/* Made of the resources' tables when the program or the module is loaded, and constant since then. */
neo_field neo_webhook_filter_fields[KINDS + 1];
static neo_field members[KINDS][MAX_MEMBERS + 1];
static const char *names[KINDS][MAX_NAMES + 1];
static char examples[KINDS][MAX_MEMBERS][EXAMPLE_SIZE];

/* ---------------------------------------------------------------- fields */

/* Payloads of messages. Other events of WhatsApp match none of these. */
static const neo_filter whatsapp_filters[] = {
    {.name = "conversation_id", .value = NEO_VALUE_REFERENCE, .doc = "Conversation.", .example = NEO_TEXT(SAMPLE_CONVERSATION)},
    {.name = "direction", .value = NEO_VALUE_ENUM, .values = neo_message_directions, .doc = "`inbound` or `outbound`."},
    {.name = "status", .value = NEO_VALUE_ENUM, .values = neo_message_statuses, .doc = "Status."},
    {0},
};

/* Called for the list first. */
static const char *rule_id(const neo_json *value, apr_pool_t *pool)
{
    const char *text = neo_json_string(value), *end = text ? strchr(text, '_') : NULL;
    (void)pool;
    return !text || (end && end - text == NEO_PREFIX_LEN - 1 && neo_id_is(text, text)) ? NULL : "must be an id";
}

/* `fields` are those of the resource; NULL if the filter has its example. */
static void add_member(int kind, const neo_filter *filter, const neo_field *fields)
{
    int number = 0;
    while (members[kind][number].name)
        number++;
    if (number == MAX_MEMBERS)
        abort();
    neo_field *member = &members[kind][number];
    const char *example = filter->example || !fields ? filter->example : neo_field_named(fields, filter->name)->example;
    if (filter->value == NEO_VALUE_ENUM)
        apr_snprintf(examples[kind][number], EXAMPLE_SIZE, "[\"%s\"]", filter->values[0]);
    else
        apr_snprintf(examples[kind][number], EXAMPLE_SIZE, "[%s]", example);
    *member = filter->value == NEO_VALUE_ENUM
                  ? (neo_field){.type = NEO_ENUM_LIST, .values = filter->values}
                  : (neo_field){.type = NEO_TEXT_LIST,
                                .max = MAX_LENGTH,
                                .max_items = MAX_VALUES,
                                .rule = filter->value == NEO_VALUE_ID || filter->value == NEO_VALUE_REFERENCE ? rule_id : NULL};
    member->name = filter->name;
    member->personal = NEO_NOT_PERSONAL;
    member->doc = filter->doc;
    member->example = examples[kind][number];
}

/* Filters of sensitive fields are left out: a delivery of a masked subscription would confirm that the value matches. */
static void add_filters(int kind, const neo_resource *resource, const neo_filter *filters)
{
    for (const neo_filter *f = filters; f && f->name; f++)
        if (neo_filter_event_path(resource, f) && !neo_filter_is_sensitive(f, resource))
            add_member(kind, f, resource->fields);
}

/* What never changes, or with every change, is left out. */
static int can_change(const neo_field *field)
{
    static const char *const others[] = {"id",         "tenant_id",  "organization_id", "created_at",
                                         "created_by", "updated_at", "updated_by",      NULL};
    for (const char *const *other = others; *other; other++)
        if (strcmp(field->name, *other) == 0)
            return 0;
    return 1;
}

static void add_changed(int kind, const neo_resource *resource)
{
    int count = 0;
    for (const neo_field *f = resource->fields; f->name; f++)
        if (can_change(f) && count < MAX_NAMES)
            names[kind][count++] = f->name;
    add_member(kind,
               &(neo_filter){.name = "changed",
                             .value = NEO_VALUE_ENUM,
                             .values = names[kind],
                             .doc = "Only updates that change one of these fields. Creations and deletions are not "
                                    "affected."},
               NULL);
}

static void add_kind(int kind, const char *name, const char *doc)
{
    neo_webhook_filter_fields[kind] =
        (neo_field){.name = name, .type = NEO_OBJECT, .personal = NEO_NOT_PERSONAL, .fields = members[kind], .doc = doc};
}

__attribute__((constructor)) static void make_fields(void)
{
    int kind = 0;
    for (const neo_resource *const *r = neo_resources; *r; r++) {
        if (!(*r)->has_events)
            continue;
        add_kind(kind, (*r)->name, "Filters of these events.");
        add_filters(kind, *r, neo_common_filters);
        add_filters(kind, *r, (*r)->filters);
        add_changed(kind++, *r);
    }
    add_kind(kind, WHATSAPP, "Filters of WhatsApp messages.");
    for (const neo_filter *f = whatsapp_filters; f->name; f++)
        add_member(kind, f, NULL);
}

/* ---------------------------------------------------------------- the rule */

static int is_listed(const neo_json *events, const char *kind)
{
    const neo_resource *resource = neo_resource_named(kind);
    size_t len = strlen(kind);
    for (apr_size_t i = 0; i < neo_json_size(events); i++) {
        const char *event = neo_json_string(neo_json_at(events, i));
        if (strncmp(event, kind, len) == 0 && event[len] == '.')
            return 1;
        if (strcmp(event, "*") == 0 && resource && !resource->is_excluded_from_wildcard)
            return 1;
    }
    return 0;
}

/* How many keys the filters of a kind make (see neoapi.webhook_filter_keys): one more for changes, without any. */
static long long count_combinations(neo_json *filters)
{
    long long count = 1;
    for (void *m = neo_json_first(filters); m && count <= MAX_COMBINATIONS; m = neo_json_next(filters, m))
        count *= (long long)neo_json_size(neo_json_member_value(m)) + (strcmp(neo_json_member_key(m), "changed") == 0);
    return count;
}

void neo_webhook_check_filters(const neo_resource *resource, const neo_json *clean, neo_problem **problem, apr_pool_t *pool)
{
    neo_json *filters = neo_json_get(clean, "filters"), *events = neo_json_get(clean, "events");
    for (void *m = filters ? neo_json_first(filters) : NULL; m; m = neo_json_next(filters, m)) {
        const char *kind = neo_json_member_key(m), *path = apr_pstrcat(pool, "filters.", kind, NULL);
        if (events && !is_listed(events, kind))
            neo_problem_field(problem, pool, NEO_VALIDATION_FIELD_INVALID, resource->name, path,
                              "has no effect, because `events` lists no event of this kind");
        if (count_combinations(neo_json_member_value(m)) > MAX_COMBINATIONS)
            neo_problem_field(problem, pool, NEO_VALIDATION_FIELD_INVALID, resource->name, path,
                              "has more than %d combinations of values", MAX_COMBINATIONS);
    }
}

/* ---------------------------------------------------------------- payloads */

/* Whether a subscription that lists `event` gets events of the type. */
static int includes_type(const char *event, const neo_event_type *type)
{
    size_t len = strlen(event);
    if (strcmp(event, "*") == 0)
        return neo_event_is_in_wildcard(type);
    return strcmp(event, type->name) == 0 || (event[len - 1] == '*' && strncmp(event, type->name, len - 1) == 0);
}

static int has_field(const neo_event_type *type, const char *name)
{
    const neo_field *field = neo_field_named(type->payload->fields, name);
    return field &&
           (type->payload->has_events ? field->flags & NEO_IN_EVENT : !(field->flags & (NEO_SECRET | NEO_EXPORT_ONLY)));
}

static int is_in_a_payload(const neo_json *events, const char *name)
{
    for (const neo_event_type *t = neo_event_types; t->name; t++)
        for (apr_size_t i = 0; i < neo_json_size(events); i++)
            if (includes_type(neo_json_string(neo_json_at(events, i)), t) && has_field(t, name))
                return 1;
    return 0;
}

void neo_webhook_check_payload(const neo_resource *resource, const neo_json *clean, neo_problem **problem, apr_pool_t *pool)
{
    static const char *const full_only[] = {"fields", "include"};
    neo_json *fields = neo_json_get(clean, "fields"), *events = neo_json_get(clean, "events");
    const char *payload = neo_json_string_at(clean, "payload");
    for (apr_size_t i = 0; payload && strcmp(payload, "thin") == 0 && i < sizeof full_only / sizeof *full_only; i++)
        if (neo_json_get(clean, full_only[i]))
            neo_problem_field(problem, pool, NEO_VALIDATION_FIELD_INVALID, resource->name, full_only[i],
                              "has no effect, because `payload` is thin");
    for (apr_size_t i = 0; fields && events && i < neo_json_size(fields); i++)
        if (!is_in_a_payload(events, neo_json_string(neo_json_at(fields, i))))
            neo_problem_field(problem, pool, NEO_VALIDATION_FIELD_INVALID, resource->name,
                              apr_psprintf(pool, "fields[%d]", (int)i), "must be a field of a payload of one of the events");
}
