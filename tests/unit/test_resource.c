/* SPDX-License-Identifier: Apache-2.0 */
/* Consistency of the tables of resources, from which other modules derive SQL, events and documentation. */
#include "unit.h"

#include <ctype.h>

#include "core/id.h"
#include "resources/fields.h"
#include "schema/validate.h"

typedef void (*field_check)(const neo_field *field, apr_pool_t *pool);

static void each_field(const neo_field *fields, field_check check, apr_pool_t *pool)
{
    for (const neo_field *f = fields; f->name; f++) {
        check(f, pool);
        if (f->fields)
            each_field(f->fields, check, pool);
    }
}

static void each_field_of_each_resource(field_check check, apr_pool_t *pool)
{
    for (const neo_resource *const *r = neo_resources; *r; r++)
        each_field((*r)->fields, check, pool);
}

/* Names are columns, JSON members and parts of codes at once. */
static void assert_name(const char *name)
{
    assert_true(islower((unsigned char)*name));
    assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_"), strlen(name));
}

static void check_limits(const neo_field *f)
{
    int is_list = f->type == NEO_LIST || f->type == NEO_TEXT_LIST || f->type == NEO_REFERENCE_LIST;
    assert_int_equal(f->max_items > 0, is_list || f->type == NEO_MAP);
    assert_int_equal(f->max_key_length > 0, f->type == NEO_MAP);
    assert_int_equal(f->fields != NULL, f->type == NEO_OBJECT || f->type == NEO_LIST);
    assert_int_equal(f->values != NULL, f->type == NEO_ENUM || f->type == NEO_ENUM_LIST);
    if ((f->type == NEO_STRING || f->type == NEO_TEXT_LIST || f->type == NEO_MAP) && !(f->flags & NEO_SERVER))
        assert_true(f->max >= 1 && f->min <= f->max);
    if (f->type == NEO_INTEGER || f->type == NEO_DECIMAL)
        assert_true(f->min < f->max && f->max <= NEO_MAX_CENTS);
    if (f->refers)
        assert_true(f->type == NEO_REFERENCE || f->type == NEO_REFERENCE_LIST);
    if (f->normalize || f->pattern)
        assert_true(f->type == NEO_STRING && f->rule && f->pattern);
}

static void check_shape(const neo_field *f, apr_pool_t *pool)
{
    (void)pool;
    assert_name(f->name);
    assert_int_not_equal(f->personal, NEO_UNMARKED);
    check_limits(f);
    if (f->flags & NEO_SERVER)
        assert_false(f->flags & (NEO_REQUIRED | NEO_CONDITIONAL));
    if (f->default_value)
        assert_true(f->flags & NEO_ALWAYS);
    if (f->flags & NEO_SECRET) { /* no request sets it, and only the response to its creation has it */
        assert_true(f->flags & NEO_SERVER);
        assert_false(f->flags & (NEO_ALWAYS | NEO_IN_EVENT));
    }
    if (f->type == NEO_BOOLEAN && f->default_value)
        assert_true(strcmp(f->default_value, "true") == 0 || strcmp(f->default_value, "false") == 0);
}

TEST(every_field_has_what_its_type_needs)
{
    each_field_of_each_resource(check_shape, *state);
}

static int is_value(const neo_field *f, const char *text)
{
    for (const char *const *v = f->values; *v; v++)
        if (strcmp(*v, text) == 0)
            return 1;
    return 0;
}

static void check_example(const neo_field *f, apr_pool_t *pool)
{
    const char *error;
    assert_true(f->doc && f->doc[strlen(f->doc) - 1] == '.');
    if (f->fields && !f->example)
        return;
    neo_json *example = neo_json_parse(text_of(f->example), pool, &error);
    assert_non_null(example);
    neo_field as_sent = *f;
    as_sent.max = f->type == NEO_STRING && !f->max ? 100 : f->max; /* service fields have no maximum */
    if ((error = neo_check(&as_sent, example, neo_json_make_object(pool), pool)))
        fail_msg("%s %s", f->name, error);
    if (f->default_value && f->type == NEO_ENUM)
        assert_true(is_value(f, f->default_value));
}

TEST(every_field_has_a_description_and_a_valid_example)
{
    each_field_of_each_resource(check_example, *state);
}

static void check_found_by_name(const neo_field *fields)
{
    for (const neo_field *f = fields; f->name; f++) {
        assert_ptr_equal(neo_field_named(fields, f->name), f);
        if (f->fields)
            check_found_by_name(f->fields);
    }
    assert_null(neo_field_named(fields, "no_such_field"));
    assert_null(neo_field_named(fields, ""));
}

TEST(resources_and_fields_are_found_by_name)
{
    for (const neo_resource *const *r = neo_resources; *r; r++) {
        assert_name((*r)->name);
        assert_name((*r)->collection);
        assert_int_equal(strlen((*r)->prefix), NEO_PREFIX_LEN);
        assert_int_equal((*r)->prefix[NEO_PREFIX_LEN - 1], '_');
        assert_ptr_equal(neo_find_collection((*r)->collection), *r);
        check_found_by_name((*r)->fields);
        for (const neo_resource *const *other = neo_resources; other < r; other++)
            assert_true(strcmp((*r)->prefix, (*other)->prefix) != 0 && strcmp((*r)->name, (*other)->name) != 0);
    }
    assert_null(neo_find_collection("broker"));
    assert_null(neo_find_collection(""));
}

static void assert_set_by_the_service(const neo_resource *resource, const char *name)
{
    const neo_field *field = neo_field_named(resource->fields, name);
    assert_non_null(field);
    assert_int_equal(field->flags & (NEO_SERVER | NEO_ALWAYS), NEO_SERVER | NEO_ALWAYS);
}

/* Subscriptions do not have the fields of tenancy and actors. */
TEST(every_resource_has_the_service_fields)
{
    static const char *const names[] = {"id", "created_at", "updated_at"};
    static const char *const whose[] = {"tenant_id", "organization_id", "created_by", "updated_by"};
    for (const neo_resource *const *r = neo_resources; *r; r++) {
        for (int i = 0; i < COUNT(names); i++)
            assert_set_by_the_service(*r, names[i]);
        for (int i = 0; *r != &neo_webhook && i < COUNT(whose); i++)
            assert_set_by_the_service(*r, whose[i]);
    }
}

TEST(a_webhook_has_the_fields_of_the_specification_in_its_order_then_others)
{
    static const char *const names[] = {"id",
                                        "url",
                                        "events",
                                        "secret",
                                        "is_active",
                                        "created_at",
                                        "updated_at",
                                        "health",
                                        "last_success_at",
                                        "failing_since",
                                        "disabled_at",
                                        "disabled_reason",
                                        "limited_until",
                                        "include",
                                        "payload",
                                        "fields",
                                        "ordering",
                                        "batch",
                                        "max_per_second",
                                        "max_in_flight",
                                        "paused_until",
                                        "filters",
                                        "is_masked",
                                        "description",
                                        "metadata",
                                        "headers",
                                        "asymmetric_signature",
                                        "public_key",
                                        "previous_public_key",
                                        "previous_public_key_until"};
    for (int i = 0; i < COUNT(names); i++)
        assert_string_equal(neo_webhook.fields[i].name, names[i]);
    assert_null(neo_webhook.fields[COUNT(names)].name);
}

/* Every event can be subscribed to. */
TEST(every_event_of_a_resource_can_be_subscribed_to)
{
    static const char *const happened[] = {"created", "updated", "deleted"};
    const neo_field *events = neo_field_named(neo_webhook.fields, "events");
    assert_true(is_value(events, "*"));
    assert_false(neo_webhook.has_events);
    for (const neo_resource *const *r = neo_resources; *r; r++)
        for (int i = 0; (*r)->has_events && i < COUNT(happened); i++) {
            char event[64];
            snprintf(event, sizeof event, "%s.%s", (*r)->name, happened[i]);
            assert_true(is_value(events, event));
        }
}

TEST(a_broker_has_the_fields_of_the_specification_in_its_order)
{
    static const char *const names[] = {"id",         "name",       "creci",           "document_number",
                                        "email",      "phone",      "bank_account",    "external_id",
                                        "metadata",   "tenant_id",  "organization_id", "visibility",
                                        "created_at", "updated_at", "created_by",      "updated_by"};
    static const char *const account[] = {"bank_code", "bank_name", "agency", "account_number", "account_type", "pix_key"};
    const neo_field *f = neo_broker.fields, *m = neo_field_named(f, "bank_account")->fields;
    for (int i = 0; i < COUNT(names); i++)
        assert_string_equal(f[i].name, names[i]);
    assert_null(f[COUNT(names)].name);
    for (int i = 0; i < COUNT(account); i++)
        assert_string_equal(m[i].name, account[i]);
    assert_null(m[COUNT(account)].name);
}

TEST(the_event_of_a_broker_has_ten_fields_and_no_bank_data)
{
    static const char *const names[] = {"id",       "name",      "creci",           "email",      "external_id",
                                        "metadata", "tenant_id", "organization_id", "created_at", "updated_at"};
    int n = 0;
    for (const neo_field *f = neo_broker.fields; f->name; f++)
        if (f->flags & NEO_IN_EVENT) {
            assert_true(n < COUNT(names));
            assert_string_equal(f->name, names[n++]);
        }
    assert_int_equal(n, COUNT(names));
}

/* The field that a path names: "owners.party_id" */
static const neo_field *field_at(const neo_resource *resource, const char *path)
{
    const neo_field *fields = resource->fields, *found = NULL;
    while (fields && *path) {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(path, "."), path);
        found = neo_field_named(fields, name);
        path += strlen(name) + (path[strlen(name)] == '.');
        fields = found ? found->fields : NULL;
    }
    return *path ? NULL : found;
}

static void check_filter(const neo_resource *resource, const neo_filter *filter)
{
    assert_name(filter->name);
    assert_ptr_equal(neo_filter_named(resource, filter->name), filter);
    assert_non_null(filter->left);
    assert_int_equal(filter->values != NULL, filter->value == NEO_VALUE_ENUM);
    assert_true(filter->doc && filter->doc[strlen(filter->doc) - 1] == '.');
    assert_true(filter->example || neo_field_named(resource->fields, filter->name));
    if (filter->kind == NEO_FILTER_REFERS) {
        const neo_field *field = field_at(resource, filter->left);
        assert_true(field && (field->type == NEO_REFERENCE || field->type == NEO_REFERENCE_LIST));
    }
    if (filter->right) {
        const char *place = strstr(filter->right, "%s");
        assert_non_null(place);
        assert_null(strchr(place + 1, '%'));
    }
}

TEST(every_filter_is_found_by_name_and_has_one_value)
{
    for (const neo_resource *const *r = neo_resources; *r; r++) {
        for (const neo_filter *f = (*r)->filters; f && f->name; f++)
            check_filter(*r, f);
        for (const neo_filter *f = neo_common_filters; f->name; f++)
            check_filter(*r, f);
        assert_null(neo_filter_named(*r, "limit"));
        assert_null(neo_filter_named(*r, ""));
    }
}

/* A filter with the name of an enumeration accepts all its values. */
TEST(a_filter_of_an_enumeration_has_the_values_of_its_field)
{
    for (const neo_resource *const *r = neo_resources; *r; r++)
        for (const neo_filter *f = (*r)->filters; f && f->name; f++) {
            const neo_field *field = neo_field_named((*r)->fields, f->name);
            if (field && field->type == NEO_ENUM)
                assert_ptr_equal(f->values, field->values);
        }
}

/* The resources whose fields the specification does not determine. */
static const neo_resource *const five[] = {&neo_property, &neo_party, &neo_proposal, &neo_contract, &neo_document};

TEST(external_ids_and_metadata_are_writable)
{
    for (int i = 0; i < COUNT(five); i++) {
        const neo_field *id = neo_field_named(five[i]->fields, "external_id"),
                        *data = neo_field_named(five[i]->fields, "metadata");
        assert_true(id && id->max == 100 && id->flags & NEO_UNIQUE && !(id->flags & NEO_SERVER));
        assert_true(data && data->type == NEO_MAP && data->max_items == 50 && data->max_key_length == 40 && data->max == 500);
        assert_non_null(neo_filter_named(five[i], "external_id"));
    }
    assert_true(neo_field_named(neo_broker.fields, "external_id")->flags & NEO_UNIQUE);
    assert_int_equal(neo_field_named(neo_broker.fields, "metadata")->type, NEO_MAP);
    assert_non_null(neo_filter_named(&neo_broker, "external_id"));
}

TEST(payloads_have_no_bank_data_identity_cards_and_birthdays)
{
    for (int i = 0; i < COUNT(five); i++)
        for (const neo_field *f = five[i]->fields; f->name; f++) {
            int is_private =
                strcmp(f->name, "bank_account") == 0 || strcmp(f->name, "rg") == 0 || strcmp(f->name, "birth_date") == 0;
            assert_int_equal(!(f->flags & NEO_IN_EVENT), is_private);
        }
}

TEST(every_list_has_its_filters)
{
    static const struct {
        const neo_resource *resource;
        const char *filters;
    } cases[] = {
        {&neo_broker, "creci document_number email external_id visibility q"},
        {&neo_property, "code status transaction_type property_type state city neighborhood broker_id owner_id sale_price_gte "
                        "sale_price_lte rent_price_gte rent_price_lte bedrooms_gte q external_id"},
        {&neo_party, "kind role document_number email phone q external_id"},
        {&neo_proposal, "kind status property_id proponent_id broker_id valid_until_lte external_id"},
        {&neo_contract, "kind status property_id party_id broker_id number end_date_lte external_id"},
        {&neo_document, "kind status related_id expires_lte external_id"},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        neo_buf names;
        neo_buf_init(&names, *state, 200);
        for (const neo_filter *f = cases[i].resource->filters; f->name; f++)
            neo_buf_printf(&names, "%s%s", names.len ? " " : "", f->name);
        assert_string_equal(names.ptr, cases[i].filters);
    }
}

static const char *event_path(const neo_resource *resource, const char *filter)
{
    return neo_filter_event_path(resource, neo_filter_named(resource, filter));
}

TEST(filters_whose_values_are_in_payloads_have_a_path)
{
    assert_string_equal(event_path(&neo_property, "status"), "status");
    assert_string_equal(event_path(&neo_property, "ids"), "id");
    assert_string_equal(event_path(&neo_property, "city"), "address.city");
    assert_string_equal(event_path(&neo_property, "owner_id"), "owners.party_id");
    assert_string_equal(event_path(&neo_party, "role"), "roles");
    assert_string_equal(event_path(&neo_contract, "broker_id"), "commission.splits.broker_id");
    assert_null(event_path(&neo_property, "sale_price_gte"));
    assert_null(event_path(&neo_property, "q"));
    assert_null(event_path(&neo_property, "created_gte"));
    assert_null(event_path(&neo_party, "document_number"));
    assert_null(event_path(&neo_broker, "creci"));
}

TEST(a_filter_compares_the_field_that_its_name_begins_with)
{
    (void)state;
    assert_string_equal(neo_filter_field(&neo_property, "sale_price_gte")->name, "sale_price");
    assert_null(neo_filter_field(&neo_property, "city"));
    assert_string_equal(neo_filter_field(&neo_broker, "creci")->name, "creci");
    assert_null(neo_filter_field(&neo_broker, "creci_"));
}
