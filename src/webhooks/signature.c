/* SPDX-License-Identifier: Apache-2.0 */
/* Decrypts secrets, and builds bodies and signatures (see webhooks/signature.h). */
#include "webhooks/signature.h"

#include <apr_strings.h>
#include <string.h>

#include "core/encode.h"
#include "core/id.h"
#include "core/json.h"
#include "core/secret.h"
#include "resources/mask.h"

static const char *open_secret(const neo_keys *keys, const neo_due_delivery *due, const char *sealed, apr_pool_t *pool)
{
    return sealed ? neo_secret_open(keys, due->subscription, sealed, pool) : NULL;
}

static void open_headers(neo_webhook_secrets *secrets, const neo_keys *keys, const neo_due_delivery *due, apr_pool_t *pool)
{
    const char *error;
    neo_json *sealed = neo_json_parse((neo_text){due->headers, strlen(due->headers)}, pool, &error);
    for (void *m = neo_json_first(sealed); m && secrets->header_count < NEO_OWN_HEADERS; m = neo_json_next(sealed, m)) {
        const char *value = open_secret(keys, due, neo_json_string(neo_json_member_value(m)), pool);
        if (!value)
            secrets->secret = NULL;
        else
            secrets->headers[secrets->header_count++] = apr_pstrcat(pool, neo_json_member_key(m), ": ", value, NULL);
    }
}

static neo_signer *open_signer(const neo_keys *keys, const neo_due_delivery *due, const char *sealed, apr_pool_t *pool)
{
    return sealed ? neo_key_pair_signer(keys, due->subscription, sealed, pool) : NULL;
}

void neo_webhook_open_secrets(neo_webhook_secrets *secrets, const neo_keys *keys, const neo_due_delivery *due, apr_pool_t *pool)
{
    if (secrets->subscription && strcmp(secrets->subscription, due->subscription) == 0)
        return;
    apr_pool_clear(pool);
    *secrets = (neo_webhook_secrets){.subscription = apr_pstrdup(pool, due->subscription),
                                     .secret = open_secret(keys, due, due->secret, pool),
                                     .previous = open_secret(keys, due, due->previous_secret, pool),
                                     .signer = open_signer(keys, due, due->private_key, pool),
                                     .previous_signer = open_signer(keys, due, due->previous_key, pool)};
    if (due->private_key && !secrets->signer)
        secrets->secret = NULL;
    if (due->headers)
        open_headers(secrets, keys, due, pool);
}

/* Returns NULL if the API has no path for resources with such an id. */
static const char *find_collection(const char *id)
{
    for (const neo_resource *const *r = neo_resources; *r; r++)
        if (strncmp(id, (*r)->prefix, NEO_PREFIX_LEN) == 0)
            return (*r)->collection;
    return strncmp(id, neo_conversation.prefix, NEO_PREFIX_LEN) == 0 ? neo_conversation.collection : NULL;
}

static void add_thin(neo_buf *out, const char *id, const char *base_url)
{
    const char *collection = find_collection(id);
    neo_buf_printf(out, ",\"resource_id\":\"%s\"", id);
    if (collection)
        neo_buf_printf(out, ",\"url\":\"%s%s/%s\"", base_url, collection, id);
    neo_buf_putc(out, '}');
}

/* `more` are members that only batches have. */
static neo_text event_body(const neo_due_delivery *due, const char *more, const char *base_url, apr_pool_t *pool)
{
    neo_buf out;
    neo_buf_init(&out, pool, due->payload.len + strlen(due->changes) + strlen(more) + 160);
    neo_buf_printf(&out, "{\"id\":\"%s\",\"event_type\":\"%s\",\"created_at\":\"%s\"", due->id, due->event, due->created_at);
    neo_buf_puts(&out, more);
    if (due->thin_resource) {
        add_thin(&out, due->thin_resource, base_url);
        return neo_buf_text(&out);
    }
    neo_buf_puts(&out, due->changes);
    neo_buf_puts(&out, ",\"payload\":");
    neo_buf_add(&out, due->payload.ptr, due->payload.len);
    neo_buf_putc(&out, '}');
    neo_text body = neo_buf_text(&out);
    return !due->is_masked || neo_mask_text(&body, NULL, NEO_SCOPES_MASKED, pool) ? body : (neo_text){"{}", 2};
}

neo_text neo_webhook_body(const neo_due_delivery *due, int count, const char *base_url, apr_pool_t *pool)
{
    neo_buf out;
    if (!due->batch_items)
        return event_body(due, "", base_url, pool);
    neo_buf_init(&out, pool, (due->payload.len + 256) * (apr_size_t)count);
    neo_buf_puts(&out, "{\"deliveries\":[");
    for (int i = 0; i < count; i++) {
        neo_text body = event_body(&due[i], apr_pstrcat(pool, ",\"event_id\":\"", due[i].event_id, "\"", NULL), base_url, pool);
        neo_buf_puts(&out, i ? "," : "");
        neo_buf_add(&out, body.ptr, body.len);
    }
    neo_buf_puts(&out, "]}");
    return neo_buf_text(&out);
}

const char *neo_webhook_id(const neo_due_delivery *due, int count, apr_pool_t *pool)
{
    unsigned char mac[NEO_SHA256_SIZE];
    char hex[2 * NEO_SHA256_SIZE + 1];
    if (!due->batch_items)
        return due->event_id;
    neo_text *ids = apr_palloc(pool, (apr_size_t)count * sizeof *ids);
    for (int i = 0; i < count; i++)
        ids[i] = (neo_text){due[i].event_id, strlen(due[i].event_id)};
    neo_hmac_sha256("batch", 5, ids, count, mac);
    neo_hex(mac, sizeof mac, hex);
    return apr_psprintf(pool, "bat_%.26s", hex);
}

/* A signature of Standard Webhooks: over id, timestamp and body, with the decoded secret as key. */
static const char *standard_signature(const char *signed_head, neo_text body, const char *secret, apr_pool_t *pool)
{
    unsigned char key[64], mac[NEO_SHA256_SIZE];
    const char *text = secret + strlen(NEO_WEBHOOK_SECRET_PREFIX);
    int len = neo_base64_decode(text, strlen(text), key, sizeof key);
    neo_text pieces[] = {{signed_head, strlen(signed_head)}, body};
    neo_hmac_sha256(key, len > 0 ? (apr_size_t)len : 0, pieces, 2, mac);
    return apr_pstrcat(pool, "v1,", neo_base64(mac, sizeof mac, pool), NULL);
}

/* The same with a key: over the same bytes. */
static const char *asymmetric_signature(const char *signed_head, neo_text body, neo_signer *signer, apr_pool_t *pool)
{
    unsigned char signature[NEO_ED25519_SIGNATURE_SIZE];
    neo_buf message;
    neo_buf_init(&message, pool, strlen(signed_head) + body.len + 1);
    neo_buf_puts(&message, signed_head);
    neo_buf_add(&message, body.ptr, body.len);
    neo_signer_sign(signer, neo_buf_text(&message), signature);
    return apr_pstrcat(pool, " v1a,", neo_base64(signature, sizeof signature, pool), NULL);
}

void neo_webhook_sign(const char *id, neo_text body, const neo_webhook_secrets *secrets, neo_ms now, apr_pool_t *pool,
                      const char *headers[NEO_WEBHOOK_HEADERS])
{
    unsigned char mac[NEO_SHA256_SIZE];
    char hex[2 * NEO_SHA256_SIZE + 1];
    const char *time = apr_ltoa(pool, (long)(now / 1000));
    const char *head = apr_pstrcat(pool, id, ".", time, ".", NULL);
    neo_hmac_sha256(secrets->secret, strlen(secrets->secret), &body, 1, mac);
    neo_hex(mac, sizeof mac, hex);
    headers[0] = "Content-Type: application/json";
    headers[1] = apr_pstrcat(pool, "X-Webhook-Signature: sha256=", hex, NULL);
    headers[2] = apr_pstrcat(pool, "webhook-id: ", id, NULL);
    headers[3] = apr_pstrcat(pool, "webhook-timestamp: ", time, NULL);
    headers[4] = apr_pstrcat(
        pool, "webhook-signature: ", standard_signature(head, body, secrets->secret, pool), secrets->previous ? " " : "",
        secrets->previous ? standard_signature(head, body, secrets->previous, pool) : "",
        secrets->signer ? asymmetric_signature(head, body, secrets->signer, pool) : "",
        secrets->previous_signer ? asymmetric_signature(head, body, secrets->previous_signer, pool) : "", NULL);
}
