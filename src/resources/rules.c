/* SPDX-License-Identifier: Apache-2.0 */
/* The rules that the tables of resources point to: between the fields of a body, and between resources (see resources/rules.h).
 * A related resource that does not exist violates no rule: the statement that writes reports the missing reference. */
#include "resources/rules.h"

#include <apr_strings.h>
#include <string.h>

#include "resources/fields.h"
#include "resources/rules.sql.h"
#include "schema/rules.h"
#include "schema/validate.h"

static int member_equals(const neo_json *object, const char *name, const char *text)
{
    const char *value = neo_json_string_at(object, name);
    return value && strcmp(value, text) == 0;
}

/* ---------------------------------------------------------------- bodies */

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

static void add_rule_error(const checked_body *b, neo_code code, const char *path, const char *message)
{
    if (!has_error(b, path))
        neo_problem_field(b->problem, b->pool, code, b->resource->name, path, "%s", message);
}

static void require(const checked_body *b, const char *name, const char *message)
{
    if (!neo_json_get(b->body, name))
        add_rule_error(b, NEO_VALIDATION_FIELD_REQUIRED, name, message);
}

static void check_sum(const checked_body *b, const neo_json *list, const char *member, const char *path, long long wanted)
{
    long long sum = list ? 0 : wanted; /* it cannot overflow: elements are few, and members below 2^53 */
    for (apr_size_t i = 0; list && i < neo_json_size(list); i++) {
        const neo_json *part = neo_json_get(neo_json_at(list, i), member);
        sum += part ? neo_json_integer(part) : 0;
    }
    if (sum != wanted)
        add_rule_error(b, NEO_VALIDATION_FIELD_INVALID, path,
                       apr_psprintf(b->pool, "must have %s values that sum to %ld, not %ld", member, (long)wanted, (long)sum));
}

void neo_property_rule(const neo_resource *resource, const neo_json *clean, neo_problem **problem, apr_pool_t *pool)
{
    const checked_body b = {resource, clean, problem, pool};
    int is_both = member_equals(clean, "transaction_type", "sale_rent");
    if (is_both || member_equals(clean, "transaction_type", "sale"))
        require(&b, "sale_price", "is required when transaction_type is sale or sale_rent");
    if (is_both || member_equals(clean, "transaction_type", "rent"))
        require(&b, "rent_price", "is required when transaction_type is rent or sale_rent");
    check_sum(&b, neo_json_get(clean, "owners"), "share_bps", "owners", NEO_WHOLE_BPS);
}

void neo_party_rule(const neo_resource *resource, const neo_json *clean, neo_problem **problem, apr_pool_t *pool)
{
    const checked_body b = {resource, clean, problem, pool};
    const char *number = neo_json_string_at(clean, "document_number");
    if (number && member_equals(clean, "kind", "person") && !neo_is_cpf(number))
        add_rule_error(&b, NEO_VALIDATION_FIELD_INVALID, "document_number", "must be a CPF when kind is person");
    if (number && member_equals(clean, "kind", "company") && !neo_is_cnpj(number))
        add_rule_error(&b, NEO_VALIDATION_FIELD_INVALID, "document_number", "must be a CNPJ when kind is company");
}

void neo_proposal_rule(const neo_resource *resource, const neo_json *clean, neo_problem **problem, apr_pool_t *pool)
{
    const checked_body b = {resource, clean, problem, pool};
    const neo_json *amount = neo_json_get(clean, "amount");
    if (amount)
        check_sum(&b, neo_json_get(clean, "payment_terms"), "amount", "payment_terms", neo_json_integer(amount));
}

void neo_message_rule(const neo_resource *resource, const neo_json *clean, neo_problem **problem, apr_pool_t *pool)
{
    /* template_language has a default, so all types have it */
    static const struct {
        const char *field, *types[4];
        int is_required, is_only;
    } contents[] = {
        {"text", {"text"}, 1, 1},
        {"template_name", {"template"}, 1, 1},
        {"template_parameters", {"template"}, 0, 1},
        {"template_named_parameters", {"template"}, 0, 1},
        {"template_header_parameter", {"template"}, 0, 1},
        {"template_button_parameters", {"template"}, 0, 1},
        {"media_url", {"image", "document"}, 1, 0},
        {"media_url", {"image", "document", "template"}, 0, 1},
        {"caption", {"image", "document"}, 0, 1},
        {"media_filename", {"document", "template"}, 0, 1},
        {"emoji", {"reaction"}, 1, 1},
        {"reply_to_id", {"reaction"}, 1, 0},
    };
    const checked_body b = {resource, clean, problem, pool};
    const char *type = neo_json_string_at(clean, "type");
    for (apr_size_t i = 0; type && i < sizeof contents / sizeof *contents; i++) {
        int has_type = neo_has_name(contents[i].types, type);
        if (has_type && contents[i].is_required)
            require(&b, contents[i].field, apr_psprintf(pool, "is required when type is %s", type));
        if (!has_type && contents[i].is_only && neo_json_get(clean, contents[i].field))
            add_rule_error(&b, NEO_VALIDATION_FIELD_INVALID, contents[i].field,
                           apr_psprintf(pool, "is not allowed when type is %s", type));
    }
}

/* A deposit is at most three rents (Lei 8.245/1991, art. 38, § 2º). */
static void check_deposit(const checked_body *b, const neo_json *guarantee)
{
    const neo_json *amount = neo_json_get(b->body, "amount"), *deposit = guarantee ? neo_json_get(guarantee, "amount") : NULL;
    if (amount && deposit && member_equals(guarantee, "kind", "deposit") && member_equals(b->body, "kind", "rental") &&
        neo_json_integer(deposit) > 3 * neo_json_integer(amount))
        add_rule_error(b, NEO_VALIDATION_FIELD_INVALID, "guarantee.amount",
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
    if (member_equals(clean, "kind", "rental") || member_equals(clean, "kind", "exclusive_listing")) {
        const char *message = apr_psprintf(pool, "is required when kind is %s", neo_json_string_at(clean, "kind"));
        require(&b, "start_date", message);
        require(&b, "end_date", message);
    }
    if (start && end && strcmp(end, start) < 0)
        add_rule_error(&b, NEO_VALIDATION_FIELD_INVALID, "end_date", "must not be before start_date");
    check_deposit(&b, neo_json_get(clean, "guarantee"));
    if (commission)
        check_sum(&b, neo_json_get(commission, "splits"), "bps", "commission.splits", NEO_WHOLE_BPS);
}

/* ---------------------------------------------------------------- fields that no longer change */

static int is_equal(const neo_json *before, const neo_json *after, const char *name, apr_pool_t *pool)
{
    const neo_json *had = neo_json_get(before, name), *has = neo_json_get(after, name);
    return had && has ? strcmp(neo_json_text(had, pool).ptr, neo_json_text(has, pool).ptr) == 0 : had == has;
}

static int is_open(const neo_rule_input *input, const neo_field *field, apr_pool_t *pool)
{
    static const char *const open[] = {"status", "notes", "metadata", "external_id", NULL};
    for (const char *const *o = open; *o; o++)
        if (strcmp(*o, field->name) == 0)
            return 1;
    return field->flags & NEO_SERVER ||
           (strcmp(field->name, "termination_reason") == 0 && !is_equal(input->before, input->after, "status", pool));
}

const char *neo_check_locked_fields(const neo_rule_input *input, apr_pool_t *pool)
{
    for (const neo_field *f = input->resource->fields; f->name; f++)
        if (!is_open(input, f, pool) && !is_equal(input->before, input->after, f->name, pool))
            return apr_psprintf(pool, "%s cannot change, because the %s is %s. Only notes, metadata and external_id can.",
                                f->name, input->resource->name, neo_json_string_at(input->before, "status"));
    return NULL;
}

/* ---------------------------------------------------------------- what is read */

const neo_read neo_deal_reads[] = {
    [NEO_READ_PROPERTY] = {.resource = &neo_property},  [NEO_READ_PROPOSAL] = {.resource = &neo_proposal},
    [NEO_READ_CONTRACT] = {.sql = active_contract_sql}, [NEO_READ_OTHER_CONTRACT] = {.sql = other_contract_sql},
    [NEO_READ_RESERVATION] = {.sql = reservation_sql},  {0},
};

/* ---------------------------------------------------------------- reservations */

/* What ends the reservation of the property. */
static const char *describe_release(const neo_rule_input *input, apr_pool_t *pool)
{
    const char *contract = neo_json_string_at(input->read[NEO_READ_RESERVATION], "contract_id");
    if (contract)
        return apr_psprintf(pool, "cancel the contract %s of that proposal, or terminate it if it is active", contract);
    return input->is_history ? "import the contract of that proposal, with its final status"
                             : "create a contract with that proposal_id and cancel it";
}

/* The roles that a contract of this kind requires before it is signed, ended by NULL. */
static const char *const *contract_roles(const char *kind)
{
    static const char *const sale[] = {"seller", "buyer", NULL}, *const rental[] = {"landlord", "tenant", NULL},
                             *const owner[] = {"owner", NULL};
    return strcmp(kind, "sale") == 0 ? sale : strcmp(kind, "rental") == 0 ? rental : owner;
}

/* Whether the contract is a sale or rental, not about the service of the agency. */
static int is_deal(const neo_json *contract)
{
    return contract_roles(neo_json_string_at(contract, "kind"))[1] != NULL;
}

/* History can end before it is imported. */
static int has_contract_ended(const neo_rule_input *input)
{
    return input->is_history && input->resource == &neo_contract && !member_equals(input->after, "status", "draft") &&
           !member_equals(input->after, "status", "pending_signature") && !member_equals(input->after, "status", "active");
}

const char *neo_check_not_reserved(const neo_rule_input *input, apr_pool_t *pool)
{
    int is_contract = input->resource == &neo_contract;
    const char *proposal = neo_json_string_at(input->after, "proposal_id"),
               *reserving = neo_json_string_at(input->read[NEO_READ_RESERVATION], "id");
    if ((is_contract && !is_deal(input->after)) || !input->read[NEO_READ_PROPERTY] || !reserving ||
        (proposal && !input->read[NEO_READ_PROPOSAL]) || member_equals(input->after, "proposal_id", reserving) ||
        has_contract_ended(input))
        return NULL;
    return apr_psprintf(
        pool,
        "This %s is not possible: the property %s is %s, and the accepted proposal %s reserves it. Choose another "
        "property, or end that deal first: %s.%s",
        is_contract ? "contract" : "acceptance", neo_rule_related_id(input, &neo_property),
        neo_json_string_at(input->read[NEO_READ_PROPERTY], "status"), reserving, describe_release(input, pool),
        is_contract ? " If it is the same deal, send the proposal_id." : "");
}

/* ---------------------------------------------------------------- proposals */

const char *neo_check_transaction_type(const neo_rule_input *input, apr_pool_t *pool)
{
    const char *type = neo_json_string_at(input->read[NEO_READ_PROPERTY], "transaction_type"),
               *kind = neo_json_string_at(input->after, "kind");
    const char *needed = strcmp(kind, "purchase") == 0 ? "sale" : "rent";
    if (!type || strcmp(type, needed) == 0 || strcmp(type, "sale_rent") == 0)
        return NULL;
    return apr_psprintf(pool,
                        "A %s proposal needs a property with the transaction_type %s or sale_rent; that of %s is %s. "
                        "Change the kind of the proposal or the transaction_type of the property.",
                        kind, needed, neo_rule_related_id(input, &neo_property), type);
}

const char *neo_check_valid_until(const neo_rule_input *input, apr_pool_t *pool)
{
    const char *until = neo_json_string_at(input->after, "valid_until");
    if (strcmp(input->today, until) <= 0)
        return NULL;
    return apr_psprintf(pool,
                        "The proposal was valid until %s and today is %s in São Paulo. Make a new proposal, or extend "
                        "valid_until before it expires.",
                        until, input->today);
}

const char *neo_explain_status(const neo_rule_input *input, apr_pool_t *pool)
{
    const neo_json *active = input->read[NEO_READ_CONTRACT];
    return active ? apr_psprintf(pool, " by the active %s contract %s", neo_json_string_at(active, "kind"),
                                 neo_json_string_at(active, "id"))
                  : "";
}

/* Does not refuse a proposal that a contract refers to: the deletion fails with conflict.in_use, which names the contract. */
const char *neo_check_not_accepted(const neo_rule_input *input, apr_pool_t *pool)
{
    if (!member_equals(input->before, "status", "accepted") || input->read[NEO_READ_OTHER_CONTRACT])
        return NULL;
    return apr_psprintf(
        pool,
        "The proposal %s is accepted and reserves its property. If the deal failed, create a contract with that proposal_id "
        "and cancel it; that frees the property %s, and the proposal is kept as the record of the deal.",
        input->id, neo_rule_related_id(input, &neo_property));
}

/* ---------------------------------------------------------------- contracts */

const char *neo_check_proposal_is_accepted(const neo_rule_input *input, apr_pool_t *pool)
{
    if (!input->read[NEO_READ_PROPOSAL] || member_equals(input->read[NEO_READ_PROPOSAL], "status", "accepted"))
        return NULL;
    return apr_psprintf(pool, "The proposal %s is %s. A contract can only refer to an accepted proposal; accept it first.",
                        neo_json_string_at(input->after, "proposal_id"),
                        neo_json_string_at(input->read[NEO_READ_PROPOSAL], "status"));
}

const char *neo_check_proposal_matches(const neo_rule_input *input, apr_pool_t *pool)
{
    const neo_json *proposal = input->read[NEO_READ_PROPOSAL];
    const char *id = neo_json_string_at(input->after, "proposal_id"), *kind = neo_json_string_at(proposal, "kind"),
               *property = neo_json_string_at(proposal, "property_id");
    if (!proposal || !input->read[NEO_READ_PROPERTY])
        return NULL;
    if (strcmp(property, neo_json_string_at(input->after, "property_id")) != 0)
        return apr_psprintf(pool, "The proposal %s is for the property %s, not %s. Use the same property_id.", id, property,
                            neo_json_string_at(input->after, "property_id"));
    const char *wanted = strcmp(kind, "purchase") == 0 ? "sale" : "rental";
    if (member_equals(input->after, "kind", wanted))
        return NULL;
    return apr_psprintf(pool, "The proposal %s is a %s proposal; its contract must be of kind %s, not %s.", id, kind, wanted,
                        neo_json_string_at(input->after, "kind"));
}

const char *neo_check_no_active_contract(const neo_rule_input *input, apr_pool_t *pool)
{
    const neo_json *active = input->read[NEO_READ_CONTRACT];
    if (!active || !is_deal(input->after))
        return NULL;
    return apr_psprintf(pool,
                        "The contract cannot be active: the property %s is %s, and its %s contract %s is active. Complete or "
                        "terminate that contract first, or choose another property.",
                        neo_rule_related_id(input, &neo_property), neo_json_string_at(input->read[NEO_READ_PROPERTY], "status"),
                        neo_json_string_at(active, "kind"), neo_json_string_at(active, "id"));
}

/* The owner's side of an exclusive listing or of the management can also be named as seller or landlord. */
static int has_role(const neo_json *parties, const char *role)
{
    for (apr_size_t i = 0; parties && i < neo_json_size(parties); i++) {
        const neo_json *party = neo_json_at(parties, i);
        if (member_equals(party, "role", role) || (strcmp(role, "owner") == 0 && (member_equals(party, "role", "seller") ||
                                                                                  member_equals(party, "role", "landlord"))))
            return 1;
    }
    return 0;
}

const char *neo_check_parties(const neo_rule_input *input, apr_pool_t *pool)
{
    const char *kind = neo_json_string_at(input->after, "kind");
    for (const char *const *role = contract_roles(kind); *role; role++)
        if (!has_role(neo_json_get(input->after, "parties"), *role))
            return apr_psprintf(pool,
                                "The contract cannot be %s: a contract of kind %s needs a party with the role %s. Add it to "
                                "parties.",
                                neo_json_string_at(input->after, "status"), kind, *role);
    return NULL;
}

const char *neo_check_signatures(const neo_rule_input *input, apr_pool_t *pool)
{
    const neo_json *parties = neo_json_get(input->after, "parties");
    for (apr_size_t i = 0; parties && i < neo_json_size(parties); i++) {
        const neo_json *party = neo_json_at(parties, i);
        if (!neo_json_get(party, "signed_at"))
            return apr_psprintf(pool,
                                "The contract cannot be %s: the party %s (%s) has not signed. Set parties[%d].signed_at "
                                "while the contract is pending_signature.",
                                neo_json_string_at(input->after, "status"), neo_json_string_at(party, "party_id"),
                                neo_json_string_at(party, "role"), (int)i);
    }
    return NULL;
}

const char *neo_check_reason(const neo_rule_input *input, apr_pool_t *pool)
{
    return neo_json_get(input->after, "termination_reason")
               ? NULL
               : apr_psprintf(pool, "A contract that becomes %s needs a reason. Send termination_reason with the status.",
                              neo_json_string_at(input->after, "status"));
}

const char *neo_check_is_draft(const neo_rule_input *input, apr_pool_t *pool)
{
    const char *status = neo_json_string_at(input->before, "status");
    if (strcmp(status, "draft") == 0)
        return NULL;
    const char *instead = strcmp(status, "pending_signature") == 0 ? "Set its status to cancelled, with a termination_reason."
                          : strcmp(status, "active") == 0          ? "Set its status to terminated, with a termination_reason."
                                                                   : "It is kept as the record of the deal.";
    return apr_psprintf(pool, "The contract %s is %s; only drafts can be deleted. %s", input->id, status, instead);
}

/* Otherwise the property would stay under_contract although nothing reserves it. The only contract of a proposal can be
 * deleted: an accepted proposal without contracts reserves its property. */
const char *neo_check_not_last(const neo_rule_input *input, apr_pool_t *pool)
{
    if (!input->read[NEO_READ_OTHER_CONTRACT] || input->read[NEO_READ_RESERVATION] ||
        !member_equals(input->read[NEO_READ_PROPERTY], "status", "under_contract"))
        return NULL;
    return apr_psprintf(
        pool,
        "The contract %s is the last one of the proposal %s that has not ended. Set its status to cancelled, with a "
        "termination_reason; that frees the property %s.",
        input->id, neo_rule_related_id(input, &neo_proposal), neo_rule_related_id(input, &neo_property));
}

int neo_applies_to_last_contract(const neo_rule_input *input)
{
    return neo_json_get(input->after, "proposal_id") && !input->read[NEO_READ_RESERVATION];
}

static void add_parties(neo_json *parties, const neo_json *ids, const char *role, apr_pool_t *pool)
{
    for (apr_size_t i = 0; ids && i < neo_json_size(ids); i++) {
        neo_json *party = neo_json_make_object(pool);
        neo_json_set_string(party, "party_id", neo_json_string(neo_json_at(ids, i)), pool);
        neo_json_set_string(party, "role", role, pool);
        neo_json_append(parties, party);
    }
}

void neo_fill_contract(const neo_rule_input *input, apr_pool_t *pool)
{
    const neo_json *proposal = input->read[NEO_READ_PROPOSAL];
    const char *const *roles = contract_roles(neo_json_string_at(input->after, "kind"));
    if (!proposal)
        return;
    if (!neo_json_get(input->after, "amount"))
        neo_json_set_integer(input->after, "amount", neo_json_integer(neo_json_get(proposal, "amount")), pool);
    if (neo_json_get(input->after, "parties") || !roles[1])
        return;
    neo_json *parties = neo_json_make_array(pool);
    add_parties(parties, neo_json_get(proposal, "recipient_ids"), roles[0], pool);
    add_parties(parties, neo_json_get(proposal, "proponent_ids"), roles[1], pool);
    neo_json_set(input->after, "parties", parties);
}

/* ---------------------------------------------------------------- properties */

const char *neo_check_active_contract(const neo_rule_input *input, apr_pool_t *pool)
{
    const neo_json *active = input->read[NEO_READ_CONTRACT];
    const char *wanted = !active || !input->before ? NULL : member_equals(active, "kind", "sale") ? "sold" : "rented";
    if (!wanted || member_equals(input->after, "status", wanted))
        return NULL;
    return apr_psprintf(pool,
                        "the property cannot become %s: the %s contract %s is active, which keeps it %s. To "
                        "change only other fields, leave the status as it is; a PATCH need not send it. To change the status, "
                        "complete or terminate the contract first.",
                        neo_json_string_at(input->after, "status"), neo_json_string_at(active, "kind"),
                        neo_json_string_at(active, "id"), wanted);
}

const char *neo_check_reservation(const neo_rule_input *input, apr_pool_t *pool)
{
    const neo_json *reserving = input->read[NEO_READ_RESERVATION];
    if (!reserving || !input->before || member_equals(input->after, "status", "under_contract"))
        return NULL;
    const char *done = member_equals(reserving, "kind", "purchase") ? "sold" : "rented";
    if (member_equals(input->after, "status", done))
        return NULL;
    return apr_psprintf(
        pool,
        "the property cannot become %s, because the accepted proposal %s reserves it: it can be under_contract or "
        "%s. To change only other fields, leave the status as it is; a PATCH need not send it. To free the "
        "property, %s.",
        neo_json_string_at(input->after, "status"), neo_json_string_at(reserving, "id"), done, describe_release(input, pool));
}
