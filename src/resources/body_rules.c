/* SPDX-License-Identifier: Apache-2.0 */
/* Rules between the fields of a body: sums, and fields that others require (see schema/rules.h). */
#include <apr_strings.h>
#include <string.h>

#include "resources/fields.h"
#include "schema/rules.h"

typedef struct {
    const neo_resource *resource;
    const neo_json *body;
    neo_problem **problem;
    apr_pool_t *pool;
} checked_body;

/* Whether the field, or something in it, already has an error: a second one would not help. */
static int has_error(const checked_body *b, const char *path)
{
    size_t len = strlen(path);
    for (int i = 0; *b->problem && (*b->problem)->items && i < (*b->problem)->items->nelts; i++) {
        const char *field = APR_ARRAY_IDX((*b->problem)->items, i, neo_problem_item).field;
        if (strncmp(field, path, len) == 0 && (field[len] == '\0' || strchr(".[", field[len])))
            return 1;
    }
    return 0;
}

static void add_error(const checked_body *b, neo_code code, const char *path, const char *message)
{
    if (!has_error(b, path))
        neo_problem_field(b->problem, b->pool, code, b->resource->name, path, "%s", message);
}

static int is(const neo_json *object, const char *name, const char *text)
{
    const char *value = neo_json_string_at(object, name);
    return value && strcmp(value, text) == 0;
}

static void require(const checked_body *b, const char *name, const char *message)
{
    if (!neo_json_get(b->body, name))
        add_error(b, NEO_VALIDATION_FIELD_REQUIRED, name, message);
}

/* The sum of a member over all elements. It cannot overflow: elements are few, and members below 2^53. */
static long long sum_of(const neo_json *list, const char *member)
{
    long long sum = 0;
    for (apr_size_t i = 0; i < neo_json_size(list); i++) {
        const neo_json *part = neo_json_get(neo_json_at(list, i), member);
        sum += part ? neo_json_integer(part) : 0;
    }
    return sum;
}

static void check_sum(const checked_body *b, const neo_json *list, const char *member, const char *path, long long wanted)
{
    long long sum = list ? sum_of(list, member) : wanted;
    if (sum != wanted)
        add_error(b, NEO_VALIDATION_FIELD_INVALID, path,
                  apr_psprintf(b->pool, "must have %s values that sum to %ld, not %ld", member, (long)wanted, (long)sum));
}

void neo_property_rule(const neo_resource *resource, const neo_json *clean, neo_problem **problem, apr_pool_t *pool)
{
    const checked_body b = {resource, clean, problem, pool};
    int is_both = is(clean, "transaction_type", "sale_rent");
    if (is_both || is(clean, "transaction_type", "sale"))
        require(&b, "sale_price", "is required when transaction_type is sale or sale_rent");
    if (is_both || is(clean, "transaction_type", "rent"))
        require(&b, "rent_price", "is required when transaction_type is rent or sale_rent");
    check_sum(&b, neo_json_get(clean, "owners"), "share_bps", "owners", NEO_WHOLE_BPS);
}

void neo_party_rule(const neo_resource *resource, const neo_json *clean, neo_problem **problem, apr_pool_t *pool)
{
    const checked_body b = {resource, clean, problem, pool};
    const char *number = neo_json_string_at(clean, "document_number");
    if (number && is(clean, "kind", "person") && !neo_is_cpf(number))
        add_error(&b, NEO_VALIDATION_FIELD_INVALID, "document_number", "must be a CPF when kind is person");
    if (number && is(clean, "kind", "company") && !neo_is_cnpj(number))
        add_error(&b, NEO_VALIDATION_FIELD_INVALID, "document_number", "must be a CNPJ when kind is company");
}

void neo_proposal_rule(const neo_resource *resource, const neo_json *clean, neo_problem **problem, apr_pool_t *pool)
{
    const checked_body b = {resource, clean, problem, pool};
    const neo_json *amount = neo_json_get(clean, "amount");
    if (amount)
        check_sum(&b, neo_json_get(clean, "payment_terms"), "amount", "payment_terms", neo_json_integer(amount));
}

/* A deposit is at most three rents (Lei 8.245/1991, art. 38, § 2º). */
static void check_deposit(const checked_body *b, const neo_json *guarantee)
{
    const neo_json *amount = neo_json_get(b->body, "amount"), *deposit = guarantee ? neo_json_get(guarantee, "amount") : NULL;
    if (amount && deposit && is(guarantee, "kind", "deposit") && is(b->body, "kind", "rental") &&
        neo_json_integer(deposit) > 3 * neo_json_integer(amount))
        add_error(b, NEO_VALIDATION_FIELD_INVALID, "guarantee.amount",
                  "must be at most three times amount when kind is deposit");
}

void neo_contract_rule(const neo_resource *resource, const neo_json *clean, neo_problem **problem, apr_pool_t *pool)
{
    const checked_body b = {resource, clean, problem, pool};
    const neo_json *commission = neo_json_get(clean, "commission");
    if (!neo_json_get(clean, "proposal_id")) {
        require(&b, "parties", "is required unless proposal_id is set");
        require(&b, "amount", "is required unless proposal_id is set");
    }
    const char *start = neo_json_string_at(clean, "start_date"), *end = neo_json_string_at(clean, "end_date");
    if (is(clean, "kind", "rental") || is(clean, "kind", "exclusive_listing")) {
        const char *message = apr_psprintf(pool, "is required when kind is %s", neo_json_string_at(clean, "kind"));
        require(&b, "start_date", message);
        require(&b, "end_date", message);
    }
    if (start && end && strcmp(end, start) < 0)
        add_error(&b, NEO_VALIDATION_FIELD_INVALID, "end_date", "must not be before start_date");
    check_deposit(&b, neo_json_get(clean, "guarantee"));
    if (commission)
        check_sum(&b, neo_json_get(commission, "splits"), "bps", "commission.splits", NEO_WHOLE_BPS);
}
