/* The page of errors: every code that can be answered is explained where its documentation_url leads. */
#include "unit.h"

#include <apr_hash.h>
#include <apr_strings.h>

#include "model/openapi.h"
#include "model/resource.h"

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

static void every_code_of_the_catalogue_has_its_anchor(void **state)
{
    const char *page = neo_errors_page(*state).ptr;
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
        if (f->flags & NEO_REQUIRED)
            assert_anchor(page, NEO_VALIDATION_FIELD_REQUIRED, resource->name, path, pool);
        if (f->type == NEO_OBJECT)
            assert_field_anchors(page, resource, f->fields, apr_pstrcat(pool, path, ".", NULL), pool);
    }
}

static void every_field_has_its_anchors(void **state)
{
    const char *page = neo_errors_page(*state).ptr;
    for (const neo_resource *const *r = neo_resources; *r; r++)
        assert_field_anchors(page, *r, (*r)->fields, "", *state);
    assert_true(has_anchor(page, "validation.broker.name_required", *state));
    assert_true(has_anchor(page, "validation.broker.bank_account_pix_key_invalid", *state));
    assert_true(has_anchor(page, "not_found.broker", *state));
}

static void codes_that_nothing_can_have_are_not_shown(void **state)
{
    const char *page = neo_errors_page(*state).ptr;
    assert_false(has_anchor(page, "validation.broker.tenant_id_invalid", *state));
    assert_false(has_anchor(page, "validation.broker.phone_required", *state));
    assert_false(has_anchor(page, "validation.broker.phone_not_found", *state));
}

/* The value of the next attribute of that name; NULL where there is none. */
static const char *next_value(const char **at, const char *opening, apr_pool_t *pool)
{
    const char *start = strstr(*at, opening);
    if (!start)
        return NULL;
    start += strlen(opening);
    *at = start + strcspn(start, "\"");
    return apr_pstrmemdup(pool, start, (apr_size_t)(*at - start));
}

static void anchors_are_unique_and_every_link_leads_to_one(void **state)
{
    const char *page = neo_errors_page(*state).ptr, *at = page, *value;
    apr_hash_t *anchors = apr_hash_make(*state);
    while ((value = next_value(&at, " id=\"", *state))) {
        assert_null(apr_hash_get(anchors, value, APR_HASH_KEY_STRING));
        apr_hash_set(anchors, value, APR_HASH_KEY_STRING, "");
    }
    for (at = page; (value = next_value(&at, " href=\"", *state));) {
        assert_int_equal(*value, '#');
        assert_non_null(apr_hash_get(anchors, value + 1, APR_HASH_KEY_STRING));
    }
}

static void the_page_needs_nothing_from_elsewhere(void **state)
{
    static const char *const outside[] = {"<script", "<link", "<img", " src=", "http:", "https:", "@import", "url("};
    neo_text page = neo_errors_page(*state);
    assert_int_equal(strlen(page.ptr), page.len);
    for (int i = 0; i < COUNT(outside); i++)
        assert_null(strstr(page.ptr, outside[i]));
}

static void each_explanation_says_the_status_the_meaning_and_what_to_do(void **state)
{
    assert_non_null(strstr(neo_errors_page(*state).ptr,
                           "<article id=\"validation.limit_out_of_range\">\n"
                           "<h3><a href=\"#validation.limit_out_of_range\"><code>validation.limit_out_of_range</code></a>"
                           " <span class=\"status\">400</span></h3>\n"
                           "<p><code>limit</code> is not an integer from 1 to 100.</p>\n"
                           "<p>Send 1 to 100, or leave it out for 25.</p>\n"
                           "</article>\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        pool_test(every_code_of_the_catalogue_has_its_anchor),
        pool_test(every_field_has_its_anchors),
        pool_test(codes_that_nothing_can_have_are_not_shown),
        pool_test(anchors_are_unique_and_every_link_leads_to_one),
        pool_test(the_page_needs_nothing_from_elsewhere),
        pool_test(each_explanation_says_the_status_the_meaning_and_what_to_do),
    };
    return run_room("errors page", tests);
}
