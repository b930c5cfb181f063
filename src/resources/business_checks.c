/* SPDX-License-Identifier: Apache-2.0 */
/* The named checks of the rules between resources (see schema/business_rules.h). A related resource that does not exist
 * violates no rule: the statement that writes reports the missing reference. */
#include <apr_strings.h>
#include <string.h>

#include "resources/list.h"
#include "schema/business_rules.h"

static int is(const neo_json *object, const char *name, const char *text)
{
    const char *value = neo_json_string_at(object, name);
    return value && strcmp(value, text) == 0;
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

/* ---------------------------------------------------------------- reservations */

/* What ends the reservation of the property. */
static const char *release(const neo_rule_input *input, apr_pool_t *pool)
{
    if (input->reserving_contract_id)
        return apr_psprintf(pool, "cancel the contract %s of that proposal, or terminate it if it is active",
                            input->reserving_contract_id);
    return input->is_history ? "import the contract of that proposal, with its final status"
                             : "create a contract with that proposal_id and cancel it";
}

/* Whether the contract is a sale or rental, not about the service of the agency. */
static int is_deal(const neo_json *contract)
{
    return neo_contract_roles(neo_json_string_at(contract, "kind"))[1] != NULL;
}

/* History can end before it is imported. */
static int has_ended(const neo_rule_input *input)
{
    return input->is_history && input->resource == &neo_contract && !is(input->after, "status", "draft") &&
           !is(input->after, "status", "pending_signature") && !is(input->after, "status", "active");
}

const char *neo_check_not_reserved(const neo_rule_input *input, apr_pool_t *pool)
{
    int is_contract = input->resource == &neo_contract;
    const char *proposal = neo_json_string_at(input->after, "proposal_id");
    if ((is_contract && !is_deal(input->after)) || !input->property || !input->reserving_id || (proposal && !input->proposal) ||
        is(input->after, "proposal_id", input->reserving_id) || has_ended(input))
        return NULL;
    return apr_psprintf(
        pool,
        "This %s is not possible: the property %s is %s, and the accepted proposal %s reserves it. Choose another "
        "property, or end that deal first: %s.%s",
        is_contract ? "contract" : "acceptance", neo_rule_property_id(input), neo_json_string_at(input->property, "status"),
        input->reserving_id, release(input, pool), is_contract ? " If it is the same deal, send the proposal_id." : "");
}

/* ---------------------------------------------------------------- proposals */

const char *neo_check_transaction_type(const neo_rule_input *input, apr_pool_t *pool)
{
    const char *type = neo_json_string_at(input->property, "transaction_type"),
               *kind = neo_json_string_at(input->after, "kind");
    const char *needed = strcmp(kind, "purchase") == 0 ? "sale" : "rent";
    if (!type || strcmp(type, needed) == 0 || strcmp(type, "sale_rent") == 0)
        return NULL;
    return apr_psprintf(pool,
                        "A %s proposal needs a property with the transaction_type %s or sale_rent; that of %s is %s. "
                        "Change the kind of the proposal or the transaction_type of the property.",
                        kind, needed, neo_rule_property_id(input), type);
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

/* One that a contract refers to cannot be deleted either; conflict.in_use names the contract. */
const char *neo_check_not_accepted(const neo_rule_input *input, apr_pool_t *pool)
{
    if (!is(input->before, "status", "accepted") || input->has_other_contract)
        return NULL;
    return apr_psprintf(
        pool,
        "The proposal %s is accepted and reserves its property. If the deal failed, create a contract with that proposal_id "
        "and cancel it; that frees the property %s, and the proposal is kept as the record of the deal.",
        input->id, neo_rule_property_id(input));
}

/* ---------------------------------------------------------------- contracts */

const char *neo_check_proposal_is_accepted(const neo_rule_input *input, apr_pool_t *pool)
{
    if (!input->proposal || is(input->proposal, "status", "accepted"))
        return NULL;
    return apr_psprintf(pool, "The proposal %s is %s. A contract can only refer to an accepted proposal; accept it first.",
                        neo_json_string_at(input->after, "proposal_id"), neo_json_string_at(input->proposal, "status"));
}

const char *neo_check_proposal_matches(const neo_rule_input *input, apr_pool_t *pool)
{
    const char *id = neo_json_string_at(input->after, "proposal_id"), *kind = neo_json_string_at(input->proposal, "kind"),
               *property = neo_json_string_at(input->proposal, "property_id");
    if (!input->proposal || !input->property)
        return NULL;
    if (strcmp(property, neo_json_string_at(input->after, "property_id")) != 0)
        return apr_psprintf(pool, "The proposal %s is for the property %s, not %s. Use the same property_id.", id, property,
                            neo_json_string_at(input->after, "property_id"));
    const char *wanted = strcmp(kind, "purchase") == 0 ? "sale" : "rental";
    if (is(input->after, "kind", wanted))
        return NULL;
    return apr_psprintf(pool, "The proposal %s is a %s proposal; its contract must be of kind %s, not %s.", id, kind, wanted,
                        neo_json_string_at(input->after, "kind"));
}

const char *neo_check_no_active_contract(const neo_rule_input *input, apr_pool_t *pool)
{
    if (!input->contract_id || !is_deal(input->after))
        return NULL;
    return apr_psprintf(pool,
                        "The contract cannot be active: the property %s is %s, and its %s contract %s is active. Complete or "
                        "terminate that contract first, or choose another property.",
                        neo_rule_property_id(input), neo_json_string_at(input->property, "status"), input->contract_kind,
                        input->contract_id);
}

const char *const *neo_contract_roles(const char *kind)
{
    static const char *const sale[] = {"seller", "buyer", NULL}, *const rental[] = {"landlord", "tenant", NULL},
                             *const owner[] = {"owner", NULL};
    return strcmp(kind, "sale") == 0 ? sale : strcmp(kind, "rental") == 0 ? rental : owner;
}

/* The owner's side of an exclusive listing or of the management can also be named as seller or landlord. */
static int has_role(const neo_json *parties, const char *role)
{
    for (apr_size_t i = 0; parties && i < neo_json_size(parties); i++) {
        const neo_json *party = neo_json_at(parties, i);
        if (is(party, "role", role) ||
            (strcmp(role, "owner") == 0 && (is(party, "role", "seller") || is(party, "role", "landlord"))))
            return 1;
    }
    return 0;
}

const char *neo_check_parties(const neo_rule_input *input, apr_pool_t *pool)
{
    const char *kind = neo_json_string_at(input->after, "kind");
    for (const char *const *role = neo_contract_roles(kind); *role; role++)
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

/* Otherwise the property would stay under_contract although nothing reserves it. A proposal without contracts does. */
const char *neo_check_not_last(const neo_rule_input *input, apr_pool_t *pool)
{
    if (!input->has_other_contract || input->reserving_id || !is(input->property, "status", "under_contract"))
        return NULL;
    return apr_psprintf(
        pool,
        "The contract %s is the last one of the proposal %s that has not ended. Set its status to cancelled, with a "
        "termination_reason; that frees the property %s.",
        input->id, neo_rule_proposal_id(input), neo_rule_property_id(input));
}

int neo_applies_to_last_contract(const neo_rule_input *input)
{
    return neo_json_get(input->after, "proposal_id") && !input->reserving_id;
}

static neo_json *party_with(const neo_json *id, const char *role, apr_pool_t *pool)
{
    neo_json *party = neo_json_make_object(pool);
    neo_json_set(party, "party_id", neo_json_make_string(neo_json_string(id), pool));
    neo_json_set(party, "role", neo_json_make_string(role, pool));
    return party;
}

static void add_parties(neo_json *parties, const neo_json *ids, const char *role, apr_pool_t *pool)
{
    for (apr_size_t i = 0; ids && i < neo_json_size(ids); i++)
        neo_json_append(parties, party_with(neo_json_at(ids, i), role, pool));
}

void neo_fill_contract(const neo_rule_input *input, apr_pool_t *pool)
{
    const neo_json *amount = input->proposal ? neo_json_get(input->proposal, "amount") : NULL;
    const char *const *roles = neo_contract_roles(neo_json_string_at(input->after, "kind"));
    if (!input->proposal)
        return;
    if (!neo_json_get(input->after, "amount"))
        neo_json_set(input->after, "amount", neo_json_make_integer(neo_json_integer(amount), pool));
    if (neo_json_get(input->after, "parties") || !roles[1])
        return;
    neo_json *parties = neo_json_make_array(pool);
    add_parties(parties, neo_json_get(input->proposal, "recipient_ids"), roles[0], pool);
    add_parties(parties, neo_json_get(input->proposal, "proponent_ids"), roles[1], pool);
    neo_json_set(input->after, "parties", parties);
}

/* ---------------------------------------------------------------- properties */

const char *neo_check_active_contract(const neo_rule_input *input, apr_pool_t *pool)
{
    const char *wanted = !input->contract_id || !input->before       ? NULL
                         : strcmp(input->contract_kind, "sale") == 0 ? "sold"
                                                                     : "rented";
    if (!wanted || is(input->after, "status", wanted))
        return NULL;
    return apr_psprintf(pool,
                        "the property cannot become %s: the %s contract %s is active, which keeps it %s. To "
                        "change only other fields, leave the status as it is; a PATCH need not send it. To change the status, "
                        "complete or terminate the contract first.",
                        neo_json_string_at(input->after, "status"), input->contract_kind, input->contract_id, wanted);
}

const char *neo_check_reservation(const neo_rule_input *input, apr_pool_t *pool)
{
    if (!input->reserving_id || !input->before || is(input->after, "status", "under_contract"))
        return NULL;
    const char *done = strcmp(input->reserving_kind, "purchase") == 0 ? "sold" : "rented";
    if (is(input->after, "status", done))
        return NULL;
    return apr_psprintf(
        pool,
        "the property cannot become %s, because the accepted proposal %s reserves it: it can be under_contract or "
        "%s. To change only other fields, leave the status as it is; a PATCH need not send it. To free the "
        "property, %s.",
        neo_json_string_at(input->after, "status"), input->reserving_id, done, release(input, pool));
}
