/* SPDX-License-Identifier: Apache-2.0 */
/* Deliveries as the API lists, shows and makes them (see webhooks/delivery.h). */
#include "webhooks/delivery.h"

#include <apr_strings.h>

#include "resources/list.h"
#include "sql/event.h"
#include "webhooks/delivery.sql.h"

neo_pg_status neo_delivery_list(neo_pg *pg, const neo_actor *actor, const char *subscription, const char *answer,
                                const neo_selection *selection, apr_pool_t *pool, neo_rows *rows)
{
    neo_listed listed = {.answer = answer ? answer : "neoapi.webhook_delivery_record(t)::text",
                         .from = "neoapi.webhook_delivery t where t.organization_id = $1 and t.subscription_id = $2",
                         .prefix = "whd_"};
    const char *values[] = {actor->organization, subscription};
    return neo_page_run(pg, &listed, values, 2, selection, pool, rows);
}

neo_pg_status neo_delivery_read(neo_pg *pg, const neo_actor *actor, const char *subscription, const char *id, apr_pool_t *pool,
                                neo_rows *rows)
{
    return neo_pg_run(pg, NEO_BIND(read, .organization = actor->organization, .subscription = subscription, .id = id), pool,
                      rows);
}

neo_pg_status neo_delivery_make(neo_pg *pg, const neo_actor *actor, const neo_idempotency *idempotency,
                                const char *subscription, const char *original, apr_pool_t *pool, neo_rows *rows)
{
    char now[NEO_MS_TEXT_SIZE], id_block[NEO_ID_BLOCK_SIZE];
    neo_ms_format(now, neo_now_ms());
    neo_id_issue_block(id_block, "whd_");
    return neo_pg_run(pg,
                      NEO_BIND(make, NEO_IDEMPOTENCY_VALUES(actor, idempotency), .actor = actor->name, .request = actor->origin,
                               .subscription = subscription, .delivery = original, .now = now, .id_block = id_block),
                      pool, rows);
}

/* What a subscription to "*" includes, as an array. */
static const char *wildcard_types(apr_pool_t *pool)
{
    neo_buf types;
    neo_buf_init(&types, pool, 512);
    for (const neo_event_type *t = neo_event_types; t->name; t++)
        if (neo_event_is_in_wildcard(t))
            neo_array_add(&types, t->name);
    neo_array_add(&types, "*");
    return neo_array_end(&types);
}

/* The paths of each resource's filters in its payloads, as a JSON object. */
static const char *filter_paths(apr_pool_t *pool)
{
    neo_buf paths;
    neo_buf_init(&paths, pool, 512);
    for (const neo_resource *const *r = neo_resources; *r; r++)
        if ((*r)->has_events) {
            neo_buf_printf(&paths, "%s\"%s\":", paths.len ? "," : "{", (*r)->name);
            neo_event_add_paths(&paths, *r);
        }
    neo_buf_putc(&paths, '}');
    return paths.ptr;
}

neo_pg_status neo_delivery_recover(neo_pg *pg, const neo_actor *actor, const neo_idempotency *idempotency,
                                   const char *subscription, const neo_json *body, apr_pool_t *pool, neo_rows *rows)
{
    char now[NEO_MS_TEXT_SIZE], id_block[NEO_ID_BLOCK_SIZE];
    neo_ms_format(now, neo_now_ms());
    neo_id_issue_block(id_block, "whd_");
    return neo_pg_run(pg,
                      NEO_BIND(recover, NEO_IDEMPOTENCY_VALUES(actor, idempotency), .subscription = subscription,
                               .body = neo_json_text(body, pool).ptr, .any_type = wildcard_types(pool),
                               .paths = filter_paths(pool), .now = now, .id_block = id_block),
                      pool, rows);
}

neo_pg_status neo_delivery_rotate(neo_pg *pg, const neo_actor *actor, const char *subscription, const char *secret,
                                  apr_pool_t *pool, neo_rows *rows)
{
    char now[NEO_MS_TEXT_SIZE];
    neo_ms_format(now, neo_now_ms());
    return neo_pg_run(pg,
                      NEO_BIND(rotate, .organization = actor->organization, .subscription = subscription, .secret = secret,
                               .now = now, .actor = actor->name, .credential = actor->credential, .request = actor->request,
                               .address = actor->address),
                      pool, rows);
}

neo_pg_status neo_delivery_rotate_key(neo_pg *pg, const neo_actor *actor, const neo_idempotency *idempotency,
                                      const char *subscription, const neo_key_pair *keys, int overlap_hours, apr_pool_t *pool,
                                      neo_rows *rows)
{
    char now[NEO_MS_TEXT_SIZE];
    neo_ms_format(now, neo_now_ms());
    return neo_pg_run(pg,
                      NEO_BIND(rotate_key, NEO_IDEMPOTENCY_VALUES(actor, idempotency), .actor = actor->name,
                               .subscription = subscription, .private_key = keys->private_key, .public_key = keys->public_key,
                               .hours = apr_itoa(pool, overlap_hours), .now = now, .request = actor->request,
                               .address = actor->address),
                      pool, rows);
}

neo_pg_status neo_delivery_public_keys(neo_pg *pg, const char *organization, apr_pool_t *pool, neo_rows *rows)
{
    return neo_pg_run(pg, NEO_BIND(public_keys, .organization = organization), pool, rows);
}
