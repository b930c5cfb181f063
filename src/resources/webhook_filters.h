/* SPDX-License-Identifier: Apache-2.0 */
/* The filters of subscriptions: for each kind of events those of its list that compare a value which payloads have, and the
 * fields that updates change. neoapi.webhook_route (sql/0003_webhooks.sql) finds the subscriptions of a change. */
#ifndef NEO_RESOURCES_WEBHOOK_FILTERS_H
#define NEO_RESOURCES_WEBHOOK_FILTERS_H

#include "schema/resource.h"

/* The members of `filters`, ended by a field without a name. */
extern neo_field neo_webhook_filter_fields[];

/* Adds errors of a checked body's `filters`: of kinds that `events` does not list, and with too many values. */
void neo_webhook_check_filters(const neo_resource *resource, const neo_json *clean, neo_problem **problem, apr_pool_t *pool);

/* Adds errors of `fields` that no payload of `events` has, and of what thin payloads do not have. */
void neo_webhook_check_payload(const neo_resource *resource, const neo_json *clean, neo_problem **problem, apr_pool_t *pool);

#endif
