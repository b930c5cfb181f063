/* SPDX-License-Identifier: Apache-2.0 */
/* The error page explains every code at the anchor of its documentation_url. */
#include "unit.h"

#include <apr_hash.h>
#include <apr_strings.h>

#include "api/routing.h"
#include "openapi/reference.h"
#include "resources/list.h"
#include "schema/batch.h"
#include "schema/resource.h"

static const char *page_of(apr_pool_t *pool)
{
    const neo_reference *reference = neo_reference_make(neo_operations(), "https://api.example.com/public/v1/", "", pool);
    return neo_docs_content(neo_docs_at("docs/errors"), reference, NULL, pool).ptr;
}

static int has_anchor(const char *page, const char *code, apr_pool_t *pool)
{
    return strstr(page, apr_pstrcat(pool, " id=\"", code, "\"", NULL)) != NULL;
}

static void assert_anchor(const char *page, neo_code code, const char *resource, const char *field, apr_pool_t *pool)
{
    neo_problem *problem = NULL;
    neo_problem_field(&problem, pool, code, resource, field, "%s", "is wrong");
    if (!has_anchor(page, problem->code, pool))
        fail_msg("%s has no anchor", problem->code);
}

TEST(every_code_of_the_catalogue_has_its_anchor)
{
    const char *page = page_of(*state);
    for (neo_code code = 0; code < NEO_CODES; code++) {
        const char *pattern = neo_code_row(code)->code;
        for (const neo_resource *const *r = neo_resources; *r && !strstr(pattern, "{field}"); r++)
            assert_anchor(page, code, (*r)->name, "", *state);
    }
}

static void assert_field_anchors(const char *page, const neo_resource *resource, const neo_field *fields, const char *outer,
                                 apr_pool_t *pool)
{
    for (const neo_field *f = fields; f->name; f++) {
        const char *path = apr_pstrcat(pool, outer, f->name, NULL);
        if (f->flags & NEO_SERVER)
            continue;
        assert_anchor(page, NEO_VALIDATION_FIELD_INVALID, resource->name, path, pool);
        if (f->flags & (NEO_REQUIRED | NEO_CONDITIONAL))
            assert_anchor(page, NEO_VALIDATION_FIELD_REQUIRED, resource->name, path, pool);
        if (f->type == NEO_REFERENCE || f->type == NEO_REFERENCE_LIST)
            assert_anchor(page, NEO_VALIDATION_FIELD_NOT_FOUND, resource->name, path, pool);
        if (f->fields)
            assert_field_anchors(page, resource, f->fields, apr_pstrcat(pool, path, ".", NULL), pool);
    }
}

TEST(every_field_has_its_anchors)
{
    const char *page = page_of(*state);
    for (const neo_resource *const *r = neo_resources; *r; r++)
        assert_field_anchors(page, *r, (*r)->fields, "", *state);
    assert_true(has_anchor(page, "validation.broker.name_required", *state));
    assert_true(has_anchor(page, "validation.broker.bank_account_pix_key_invalid", *state));
    assert_true(has_anchor(page, "not_found.broker", *state));
    assert_true(has_anchor(page, "validation.property.sale_price_required", *state));
    assert_true(has_anchor(page, "validation.property.owners_party_id_not_found", *state));
    assert_true(has_anchor(page, "validation.contract.commission_splits_bps_invalid", *state));
    assert_true(has_anchor(page, "validation.document.related_id_not_found", *state));
}

static void assert_item_anchors(const char *page, const neo_problem *problem, apr_pool_t *pool)
{
    for (int n = 0; problem && n < problem->items->nelts; n++)
        if (!has_anchor(page, APR_ARRAY_IDX(problem->items, n, neo_problem_item).code, pool))
            fail_msg("%s has no anchor", APR_ARRAY_IDX(problem->items, n, neo_problem_item).code);
}

TEST(every_error_of_a_batch_has_its_anchor)
{
    static const char *const bodies[] = {
        "{}",
        "{\"atomic\":1,\"operations\":{}}",
        "{\"operations\":[{},1,null,{\"method\":\"x\"},{\"method\":1}]}",
        "{\"operations\":[{\"method\":\"create\",\"id\":\"x\"},{\"method\":\"update\",\"id\":1,\"data\":1},"
        "{\"method\":\"delete\",\"data\":{}}]}",
    };
    const char *page = page_of(*state), *error;
    neo_batch batch;
    for (int i = 0; i < COUNT(bodies); i++) {
        neo_json *body = neo_json_parse(text_of(bodies[i]), *state, &error);
        assert_item_anchors(page, neo_batch_read(&neo_party, body, *state, &batch), *state);
        for (int n = 0; n < batch.count; n++)
            assert_item_anchors(page, batch.operations[n].problem, *state);
    }
    assert_false(has_anchor(page, "validation.webhook.operations_required", *state)); /* webhooks have no batches */
}

TEST(impossible_codes_are_not_shown)
{
    const char *page = page_of(*state);
    assert_false(has_anchor(page, "validation.broker.tenant_id_invalid", *state));
    assert_false(has_anchor(page, "validation.broker.phone_required", *state));
    assert_false(has_anchor(page, "validation.broker.phone_not_found", *state));
    assert_false(has_anchor(page, "validation.contract.signed_at_invalid", *state));
    assert_true(has_anchor(page, "validation.contract.parties_signed_at_invalid", *state));
}

TEST(a_field_has_its_limits_as_sent_or_as_stored)
{
    const char *page = page_of(*state);
    assert_non_null(strstr(page, "CEP of 8 digits. A dash is accepted and removed. A string; 1 to 8 characters are stored."));
    assert_non_null(strstr(page, "Municipality. A string of 1 to 100 characters."));
    assert_null(strstr(page, "to 0 characters")); /* if_match has no limit */
}

/* The value of the next attribute of that name; NULL if there is none. */
static const char *next_value(const char **at, const char *opening, apr_pool_t *pool)
{
    const char *start = strstr(*at, opening);
    if (!start)
        return NULL;
    start += strlen(opening);
    *at = start + strcspn(start, "\"");
    return apr_pstrmemdup(pool, start, (apr_size_t)(*at - start));
}

TEST(anchors_are_unique_and_every_link_leads_to_one)
{
    const char *page = page_of(*state), *at = page, *value;
    apr_hash_t *anchors = apr_hash_make(*state);
    while ((value = next_value(&at, " id=\"", *state))) {
        assert_null(apr_hash_get(anchors, value, APR_HASH_KEY_STRING));
        apr_hash_set(anchors, value, APR_HASH_KEY_STRING, "");
    }
    for (at = page; (value = next_value(&at, " href=\"#", *state));)
        assert_non_null(apr_hash_get(anchors, value, APR_HASH_KEY_STRING));
}

TEST(each_explanation_has_status_meaning_and_remedy)
{
    assert_non_null(strstr(page_of(*state),
                           "<article id=\"validation.limit_out_of_range\">\n"
                           "<h3><a href=\"#validation.limit_out_of_range\"><code>validation.limit_out_of_range</code></a>"
                           " <span class=\"status\">400</span></h3>\n"
                           "<p><code>limit</code> is not an integer from 1 to 100.</p>\n"
                           "<p>Send an integer from 1 to 100. The default is 25.</p>\n"
                           "</article>\n"));
}
