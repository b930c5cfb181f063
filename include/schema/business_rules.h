/* SPDX-License-Identifier: Apache-2.0 */
/* Rules between resources: which changes of status are allowed, what they require of related resources and what they do to
 * them. The rules are tables of the resources (neo_transition, neo_precondition, neo_effect); single writes, batches and
 * imports check them here, and the page "Business rules" is generated from them. */
#ifndef NEO_SCHEMA_BUSINESS_RULES_H
#define NEO_SCHEMA_BUSINESS_RULES_H

#include "schema/resource.h"

/* A write, and what the rules need to know of related resources. sql/rule_input.h reads these. */
struct neo_rule_input {
    const neo_resource *resource;
    const char *id;                      /* "" for a creation */
    const neo_json *before;              /* NULL for a creation */
    neo_json *after;                     /* NULL for a deletion */
    int is_history;                      /* it is imported with a status that it reached elsewhere */
    const char *today;                   /* the date in São Paulo */
    const neo_json *property, *proposal; /* that it refers to; NULL: none */
    const char *property_version;        /* see neo_change; NULL: there is no property */
    /* An active sale or rental of the property, other than this one; NULL: none. */
    const char *contract_id, *contract_kind;
    int has_other_contract; /* than this one refers to the proposal */
    /* An accepted proposal that reserves the property, if possible another one than `proposal`; NULL: none. It reserves it
     * until all contracts that refer to it have ended. The resource that is written does not count. */
    const char *reserving_id, *reserving_kind;
    const char *reserving_contract_id; /* a contract of that proposal that has not ended; NULL: there is none yet */
};

/* The id of the property that the rules are about, the resource itself or the one that it refers to; NULL: none. */
const char *neo_rule_property_id(const neo_rule_input *input);

/* The id of the proposal, the resource itself or the one that it refers to; NULL: none. */
const char *neo_rule_proposal_id(const neo_rule_input *input);

/* Whether a rule that applies to the write depends on related resources or the date. If not, neo_rules_check only needs
 * `resource`, `id`, `before` and `after`. */
int neo_rules_need_input(const neo_rule_input *input);

/* Returns the 409 of the first rule that the write violates, or NULL. Transitions are checked by schema/transition.h. */
NEO_MUSTCHECK neo_problem *neo_rules_check(const neo_rule_input *input, apr_pool_t *pool);

/* The effect of the write, NULL if there is none. Its resource is the property. */
const neo_effect *neo_rules_effect(const neo_rule_input *input);

/* ---------------------------------------------------------------- the checks of the tables */

/* Proposals and contracts that no longer change. */
const char *neo_check_locked_fields(const neo_rule_input *input, apr_pool_t *pool);

/* Proposals and contracts: that no other accepted proposal reserves the property. */
const char *neo_check_not_reserved(const neo_rule_input *input, apr_pool_t *pool);

/* Proposals. */
const char *neo_check_transaction_type(const neo_rule_input *input, apr_pool_t *pool);
const char *neo_check_not_accepted(const neo_rule_input *input, apr_pool_t *pool);
const char *neo_check_valid_until(const neo_rule_input *input, apr_pool_t *pool);

/* Contracts. */
const char *neo_check_proposal_is_accepted(const neo_rule_input *input, apr_pool_t *pool);
const char *neo_check_proposal_matches(const neo_rule_input *input, apr_pool_t *pool);
const char *neo_check_no_active_contract(const neo_rule_input *input, apr_pool_t *pool);
const char *neo_check_parties(const neo_rule_input *input, apr_pool_t *pool);
const char *neo_check_signatures(const neo_rule_input *input, apr_pool_t *pool);
const char *neo_check_reason(const neo_rule_input *input, apr_pool_t *pool);
const char *neo_check_is_draft(const neo_rule_input *input, apr_pool_t *pool);
const char *neo_check_not_last(const neo_rule_input *input, apr_pool_t *pool);
int neo_applies_to_last_contract(const neo_rule_input *input);
/* Takes the amount and the parties over from the accepted proposal. */
void neo_fill_contract(const neo_rule_input *input, apr_pool_t *pool);

/* Properties. */
const char *neo_check_active_contract(const neo_rule_input *input, apr_pool_t *pool);
const char *neo_check_reservation(const neo_rule_input *input, apr_pool_t *pool);

/* The roles that a contract of this kind requires before it is signed, ended by NULL: "seller", "buyer". */
const char *const *neo_contract_roles(const char *kind);

#endif
