/* SPDX-License-Identifier: Apache-2.0 */
/* Rules between resources: which changes of status are allowed, what they require of related resources and what they do to
 * them. The rules are tables of the resources (neo_transition, neo_precondition, neo_effect); single writes, batches and
 * imports check them here, and the page "Business rules" is generated from them. */
#ifndef NEO_SCHEMA_BUSINESS_RULES_H
#define NEO_SCHEMA_BUSINESS_RULES_H

#include "schema/resource.h"

/* A write, and what the rules need to know of related resources. sql/table.h reads these. */
struct neo_rule_input {
    const neo_resource *resource;
    const char *id;           /* "" for a creation */
    const neo_json *before;   /* NULL for a creation */
    neo_json *after;          /* NULL for a deletion */
    int is_history;           /* it is imported with a status that it reached elsewhere */
    const char *today;        /* the date in São Paulo */
    const char *read_version; /* the version of the row that an effect changes (see neo_target); NULL if there is none */
    const neo_json *read[NEO_MAX_READS]; /* in the order of the resource's `reads`; NULL if there is none */
};

/* The row that an effect changes, or on which the rules of imported history depend. If it does not have the version, nothing is
 * written. */
typedef struct neo_target {
    const char *id; /* NULL if there is none */
    const char *version;
    const char *status; /* its new one; NULL if it keeps its status, but gets another version */
} neo_target;

/* The id of the resource of that kind that the rules are about: the one that is written, or the one that it refers to; NULL
 * if there is none. */
const char *neo_rule_related_id(const neo_rule_input *input, const neo_resource *kind);

/* Whether a rule that applies to the write depends on related resources or the date. If not, neo_rules_check only needs
 * `resource`, `id`, `before` and `after`. */
int neo_rules_need_input(const neo_rule_input *input);

/* Returns the 409 of the first rule that the write violates, or NULL. Transitions are checked by neo_transition_check. */
NEO_MUSTCHECK neo_problem *neo_rules_check(const neo_rule_input *input, apr_pool_t *pool);

/* What the write changes in another row. */
neo_target neo_rules_target(const neo_rule_input *input);

/* ---------------------------------------------------------------- transitions of the status */

/* Checks a change of status, or with `from` NULL the status of a create. Returns NULL, and sets *timestamp_field to the field
 * that gets the time of the change (NULL if there is none); or a 409 that names the allowed statuses. */
NEO_MUSTCHECK neo_problem *neo_transition_check(const neo_resource *resource, const char *from, const char *to,
                                                apr_pool_t *pool, const char **timestamp_field);

/* Whether transitions set the field. */
int neo_transition_sets(const neo_resource *resource, const neo_field *field);

/* Whether a resource with the status can have passed a transition that sets the field. */
int neo_transition_has_set(const neo_resource *resource, const neo_field *field, const char *status);

#endif
