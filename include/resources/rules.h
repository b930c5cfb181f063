/* SPDX-License-Identifier: Apache-2.0 */
/* The rules that the tables of resources point to: between the fields of a body (neo_body_rule), and between resources (see
 * schema/business_rules.h). */
#ifndef NEO_RESOURCES_RULES_H
#define NEO_RESOURCES_RULES_H

#include "schema/business_rules.h"

void neo_property_rule(const neo_resource *resource, const neo_json *clean, neo_problem **problem, apr_pool_t *pool);
void neo_party_rule(const neo_resource *resource, const neo_json *clean, neo_problem **problem, apr_pool_t *pool);
void neo_proposal_rule(const neo_resource *resource, const neo_json *clean, neo_problem **problem, apr_pool_t *pool);
void neo_contract_rule(const neo_resource *resource, const neo_json *clean, neo_problem **problem, apr_pool_t *pool);
/* A message to send: which fields each type has. */
void neo_message_rule(const neo_resource *resource, const neo_json *clean, neo_problem **problem, apr_pool_t *pool);

/* What the rules between properties, proposals and contracts read. The resource that is written does not count. */
extern const neo_read neo_deal_reads[];
typedef enum neo_deal_read {
    NEO_READ_PROPERTY,
    NEO_READ_PROPOSAL,
    NEO_READ_CONTRACT,       /* id and kind of an active sale or rental of the property */
    NEO_READ_OTHER_CONTRACT, /* id of a contract that refers to the proposal */
    NEO_READ_RESERVATION,    /* id and kind of an accepted proposal that reserves the property, if possible another one than the
                                proposal; and contract_id, a contract of it that has not ended, or null: there is none yet */
} neo_deal_read;

/* Proposals and contracts that no longer change. */
const char *neo_check_locked_fields(const neo_rule_input *input, apr_pool_t *pool);

/* Proposals and contracts: that no other accepted proposal reserves the property. */
const char *neo_check_not_reserved(const neo_rule_input *input, apr_pool_t *pool);

/* Proposals. */
const char *neo_check_transaction_type(const neo_rule_input *input, apr_pool_t *pool);
const char *neo_check_not_accepted(const neo_rule_input *input, apr_pool_t *pool);
const char *neo_check_valid_until(const neo_rule_input *input, apr_pool_t *pool);
/* The active contract that determines the status of the property (see neo_effect). */
const char *neo_explain_status(const neo_rule_input *input, apr_pool_t *pool);

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

#endif
