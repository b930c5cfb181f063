/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of a plan. Each row is a column of neoapi.plan (sql/0001_foundation.sql). Options, help, completion and manual of
 * `neoapictl plan`, the columns of its list, and the members of neo_credential are derived from it. */
#ifndef NEO_RESOURCES_PLAN_LIMITS_H
#define NEO_RESOURCES_PLAN_LIMITS_H

/* Column; option; kind of its value: NEO_KIND_<kind>, of which LIMIT accepts "unlimited", which is null in the database and 0
 * in neo_credential; default, NULL if the option is required; summary; summary in `plan change --help`, NULL for the same. */
/* clang-format off */
#define NEO_PLAN_LIMITS(X)                                                                                                     \
    X(requests, "requests", COUNT, NULL, "requests per window and credential", NULL)                                           \
    X(window_seconds, "window", SECONDS, NULL, "length of the window", NULL)                                                   \
    X(subscriptions, "subscriptions", LIMIT, "50", "webhook subscriptions per organization",                                   \
      "webhook subscriptions per organization; more that exist are kept")                                                      \
    X(concurrent_requests, "concurrent-requests", LIMIT, "50", "requests in progress per organization and host", NULL)         \
    X(idempotency_bytes, "idempotency-bytes", LIMIT, "1000000000",                                                             \
      "stored responses per organization, host and day, in bytes", NULL)                                                       \
    X(deliveries_per_hour, "deliveries-per-hour", LIMIT, "100000",                                                             \
      "webhook deliveries per organization, receiver and host in an hour; others wait", NULL)
/* clang-format on */

#endif
