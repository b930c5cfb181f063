/* SPDX-License-Identifier: Apache-2.0 */
/* Webhook subscriptions: rotation of the secret, deliveries, test deliveries, retries and recovery. */
#include "core/id.h"
#include "core/json.h"
#include "core/secret.h"
#include "list.h"
#include "resources/mask.h"
#include "schema/validate.h"
#include "webhooks/delivery.h"

static neo_problem *rotate_secret(neo_call *call, neo_result *result)
{
    neo_pg *pg;
    neo_rows rows;
    const char *secret = neo_webhook_secret_make(call->pool);
    neo_problem *problem = neo_call_acquire_for_id(call, &pg);
    if (problem)
        return problem;
    const char *sealed = neo_secret_seal(&call->site->keys, call->match.id, secret, call->pool);
    neo_pg_status status = neo_delivery_rotate(pg, &call->actor, call->match.id, sealed, call->pool, &rows);
    neo_call_release(call, pg);
    problem = neo_call_return_row(call, status, &rows, result);
    if (!problem)
        result->secret = secret;
    return problem;
}

/* Of one organization, because a receiver that trusted the keys of all would accept deliveries that another organization
 * caused. Does not say whether there is such an organization. */
static neo_problem *get_public_keys(neo_call *call, neo_result *result)
{
    neo_pg *pg;
    neo_rows rows;
    neo_problem *problem = NULL;
    const char *organization = apr_table_get(call->query, "organization_id");
    if (!organization || !neo_id_is(organization, "org_")) {
        neo_problem_field(&problem, call->pool, NEO_VALIDATION_PARAMETER_INVALID, "", "organization_id",
                          "must be the id of an organization");
        return problem;
    }
    if ((problem = neo_call_acquire_unconfirmed(call, &pg)))
        return problem;
    neo_pg_status status = neo_delivery_public_keys(pg, organization, call->pool, &rows);
    neo_call_release_unconfirmed(call, pg);
    if (status != NEO_PG_OK)
        return neo_call_failed(call, status, &rows);
    neo_call_set_header(call, "Cache-Control", "public, max-age=300");
    *result = (neo_result){.status = 200, .body = neo_rows_text(&rows, 0, 0)};
    return NULL;
}

static neo_pg_status fetch_deliveries(neo_call *call, neo_pg *pg, const neo_selection *selection, neo_rows *rows)
{
    return neo_delivery_list(pg, &call->actor, call->match.id, NULL, selection, call->pool, rows);
}

static neo_problem *list_deliveries(neo_call *call, neo_result *result)
{
    neo_problem *problem = neo_call_find(call);
    return problem ? problem : neo_list_with(call, fetch_deliveries, result);
}

/* Masks the payload of a delivery as the courier does. Returns false if it cannot. */
static int mask_payload(neo_text *delivery, apr_pool_t *pool)
{
    const char *error;
    neo_json *parsed = neo_json_parse(*delivery, pool, &error), *payload = neo_json_get(parsed, "payload");
    if (payload) {
        neo_text masked = neo_json_text(payload, pool);
        if (!neo_mask_text(&masked, NULL, NEO_SCOPES_MASKED, pool))
            return 0;
        neo_json_set(parsed, "payload", neo_json_parse(masked, pool, &error));
        *delivery = neo_json_text(parsed, pool);
    }
    return parsed != NULL;
}

static neo_problem *read_delivery(neo_call *call, neo_result *result)
{
    neo_pg *pg;
    neo_rows rows;
    neo_problem *problem = neo_call_acquire_for_id(call, &pg);
    if (problem)
        return problem;
    neo_pg_status status = neo_delivery_read(pg, &call->actor, call->match.id, call->match.subresource_id, call->pool, &rows);
    neo_call_release(call, pg);
    problem = neo_call_return_row(call, status, &rows, result);
    if (!problem && neo_rows_is_true(&rows, 0, 1) && !mask_payload(&result->body, call->pool))
        problem = neo_problem_internal(call->pool);
    return problem;
}

/* ---------------------------------------------------------------- new deliveries */

/* Repeats the delivery in the path, or without one sends a test. */
static neo_pg_status make_delivery(neo_call *call, neo_pg *pg, void *baton, neo_rows *rows)
{
    (void)baton;
    return neo_delivery_make(pg, &call->actor, call->idempotency, call->match.id, call->match.subresource_id, call->pool, rows);
}

static neo_pg_status recover(neo_call *call, neo_pg *pg, void *body, neo_rows *rows)
{
    return neo_delivery_recover(pg, &call->actor, call->idempotency, call->match.id, body, call->pool, rows);
}

static neo_pg_status renew_key(neo_call *call, neo_pg *pg, void *body, neo_rows *rows)
{
    const neo_key_pair keys = neo_key_pair_make(&call->site->keys, call->match.id, call->pool);
    return neo_delivery_rotate_key(pg, &call->actor, call->idempotency, call->match.id, &keys,
                                   (int)neo_json_integer(neo_json_get(body, "overlap_hours")), call->pool, rows);
}

static neo_problem *deliver(neo_call *call, const neo_idempotent *operation, neo_result *result)
{
    neo_pg *pg;
    neo_rows rows;
    neo_problem *problem = neo_call_acquire_for_id(call, &pg);
    if (problem)
        return problem;
    problem = neo_call_write_idempotent(call, pg, operation, &rows, result);
    neo_call_release(call, pg);
    if (!problem && !result->is_replayed)
        *result = (neo_result){.status = call->match.operation->status, .body = neo_rows_text(&rows, 0, 0)};
    return problem;
}

static neo_problem *test_or_retry(neo_call *call, neo_result *result)
{
    return deliver(call, &(neo_idempotent){.write = make_delivery}, result);
}

static neo_problem *recover_deliveries(neo_call *call, neo_result *result)
{
    neo_json *clean;
    neo_problem *problem = neo_validate(&neo_recovery, call->body, call->pool, &clean);
    if (!problem)
        problem = neo_call_find(call);
    return problem ? problem : deliver(call, &(neo_idempotent){.write = recover, .baton = clean}, result);
}

/* Repeated without an idempotency key, it would end the overlap with the key that receivers have. */
static neo_problem *rotate_key(neo_call *call, neo_result *result)
{
    neo_json *clean;
    neo_problem *problem = neo_validate(&neo_key_rotation, call->body, call->pool, &clean);
    return problem ? problem : deliver(call, &(neo_idempotent){.write = renew_key, .baton = clean}, result);
}

/* ---------------------------------------------------------------- operations */

const neo_operation neo_webhook_operations[] = {
    {.method = "POST",
     .path = "webhooks/{id}/rotate-secret",
     .run = rotate_secret,
     .access = NEO_ACCESS_WRITE,
     .status = 200,
     .media_type = "application/json",
     .schema = "WebhookWithSecret",
     .verb = "rotateWebhookSecret",
     .summary = "Rotate the secret of a subscription",
     .doc = "The new secret is returned only in this response. For 24 hours `webhook-signature` has a "
            "signature with the old secret as well, so that no delivery is refused in the meantime. "
            "`X-Webhook-Signature` uses the new secret at once.",
     .answer = "The subscription with its new secret."},
    {.method = "POST",
     .path = "webhooks/{id}/rotate-key",
     .run = rotate_key,
     .access = NEO_ACCESS_WRITE,
     .accepts = NEO_ACCEPTS_BODY | NEO_ACCEPTS_IDEMPOTENCY_KEY,
     .status = 200,
     .media_type = "application/json",
     .problems = NEO_PROBLEM_BIT(NEO_VALIDATION_FIELD_REQUIRED) | NEO_PROBLEM_BIT(NEO_VALIDATION_FIELD_INVALID),
     .body = &neo_key_rotation,
     .schema = "Webhook",
     .verb = "rotateWebhookKey",
     .summary = "Rotate the key of a subscription",
     .doc =
         "Replaces the keys of `asymmetric_signature`, or makes the first ones. During the overlap `webhook-signature` has a "
         "signature with the former key as well, and the public keys include both.",
     .answer = "The subscription with its new `public_key`."},
    {.method = "GET",
     .path = ".well-known/jwks.json",
     .run = get_public_keys,
     .access = NEO_ACCESS_PUBLIC,
     .accepts = NEO_ACCEPTS_ORGANIZATION_ID | NEO_ACCEPTS_IF_NONE_MATCH,
     .status = 200,
     .response_headers = NEO_RESPONSE_ETAG,
     .media_type = "application/jwk-set+json",
     .tag = "Webhooks",
     .verb = "getPublicKeys",
     .summary = "Get the keys of signatures",
     .doc =
         "The public keys of an organization's subscriptions with `asymmetric_signature`, as a JWK Set. Each subscription has "
         "its own. No credential needed; can be cached for five minutes. Unknown organizations have no keys.",
     .answer = "The keys."},
    {.method = "POST",
     .path = "webhooks/{id}/test",
     .run = test_or_retry,
     .access = NEO_ACCESS_WRITE,
     .accepts = NEO_ACCEPTS_IDEMPOTENCY_KEY,
     .status = 201,
     .media_type = "application/json",
     .schema = "Delivery",
     .verb = "testWebhook",
     .summary = "Send a test delivery",
     .doc =
         "Creates a delivery of the event `webhook.test`, also if the subscription is for other events. If the subscription is "
         "inactive, it waits until that is active again, and has no `next_attempt_at`.",
     .answer = "The delivery."},
    {.method = "POST",
     .path = "webhooks/{id}/recover",
     .run = recover_deliveries,
     .access = NEO_ACCESS_WRITE,
     .accepts = NEO_ACCEPTS_BODY | NEO_ACCEPTS_IDEMPOTENCY_KEY,
     .status = 200,
     .media_type = "application/json",
     .problems = NEO_PROBLEM_BIT(NEO_VALIDATION_FIELD_REQUIRED) | NEO_PROBLEM_BIT(NEO_VALIDATION_FIELD_INVALID),
     .body = &neo_recovery,
     .schema = "Recovered",
     .verb = "recoverDeliveries",
     .summary = "Send events again that have not arrived",
     .doc = "Events of which no delivery has succeeded get a new delivery. "
            "Events that have arrived or are being sent are skipped. "
            "A pending delivery is attempted at once, which is one of its five attempts. "
            "A request examines at most 10,000 events and sends at most 1,000. "
            "If the response has a `position`, repeat the request with it to continue. Imported history is not sent.",
     .answer = "The number of events that are sent again."},
    {.method = "GET",
     .path = "webhooks/{id}/deliveries",
     .run = list_deliveries,
     .access = NEO_ACCESS_READ,
     .accepts = NEO_ACCEPTS_LIST | NEO_ACCEPTS_SORT_BY_ID,
     .status = 200,
     .response_headers = NEO_RESPONSE_LINK | NEO_RESPONSE_TOTAL,
     .filters = neo_delivery_filters,
     .prefix = "whd_",
     .media_type = "application/json",
     .problems = NEO_PAGE_PROBLEMS,
     .schema = "DeliveryList",
     .verb = "listDeliveries",
     .summary = "List a subscription's deliveries",
     .doc = "Newest first, for as long as deliveries are stored.",
     .answer = "A page of deliveries."},
    {.method = "GET",
     .path = "webhooks/{id}/deliveries/{delivery_id}",
     .run = read_delivery,
     .access = NEO_ACCESS_READ,
     .status = 200,
     .prefix = "whd_",
     .media_type = "application/json",
     .subresource = "delivery",
     .schema = "DeliveryDetail",
     .verb = "getDelivery",
     .summary = "Get a delivery",
     .doc = "With its payload, masked if the subscription is, and attempts.",
     .answer = "The delivery."},
    {.method = "POST",
     .path = "webhooks/{id}/deliveries/{delivery_id}/retry",
     .run = test_or_retry,
     .access = NEO_ACCESS_WRITE,
     .accepts = NEO_ACCEPTS_IDEMPOTENCY_KEY,
     .status = 201,
     .prefix = "whd_",
     .media_type = "application/json",
     .subresource = "delivery",
     .schema = "Delivery",
     .verb = "retryDelivery",
     .summary = "Retry a delivery",
     .doc =
         "Creates a new delivery with the same payload. If the subscription is inactive, it waits until that is active again, "
         "and has no `next_attempt_at`.",
     .answer = "The new delivery."},
    {0},
};
