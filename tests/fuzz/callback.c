/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the reader of WhatsApp's callbacks and checks its results against include/whatsapp/callback.h. */
#include "whatsapp/callback.h"
#include "core/json.h"

#include "expect.h"

static void check_item(const neo_callback_item *item)
{
    static const char *const statuses[] = {"sent", "delivered", "read", "failed", NULL};
    static const char *const preferences[] = {"stop", "resume", NULL};
    const char *const texts[] = {item->id,        item->message,     item->bsuid,      item->name,
                                 item->type,      item->body,        item->mime_type,  item->filename,
                                 item->refers_to, item->error_title, item->preference, item->new_bsuid};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check_text(texts[i]);
    check_digits(item->phone_number_id);
    check_digits(item->wa_id);
    check_digits(item->new_wa_id);
    EXPECT(item->kind == NEO_ITEM_ACCOUNT ? item->account && item->report : item->phone_number_id != NULL);
    check_digits(item->account);
    check_text(item->template_name);
    check_text(item->template_language);
    EXPECT(!item->status || is_one_of(item->status, statuses));
    EXPECT(!item->preference || is_one_of(item->preference, preferences));
    EXPECT(item->at >= 0);
    switch (item->kind) {
    case NEO_ITEM_MESSAGE: EXPECT(item->id && item->type && (item->wa_id || item->bsuid)); break;
    case NEO_ITEM_STATUS: EXPECT(item->id && item->status); break;
    case NEO_ITEM_PREFERENCE: EXPECT(item->preference && (item->wa_id || item->bsuid)); break;
    case NEO_ITEM_NUMBER_CHANGED: EXPECT((item->wa_id || item->bsuid) && (item->new_wa_id || item->new_bsuid)); break;
    case NEO_ITEM_ACCOUNT: break;
    default: expectation_failed("the kind is one of neo_callback_item_kind", __FILE__, __LINE__);
    }
}

/* The JSON for the database is an array with an object for each item. */
static void check_items_json(const apr_array_header_t *items, apr_pool_t *pool)
{
    const char *error = NULL;
    const neo_json *list = neo_json_parse(neo_callback_items_json(items, 0, items->nelts, pool), pool, &error);
    EXPECT(list && neo_json_get_kind(list) == NEO_JSON_ARRAY && neo_json_size(list) == (apr_size_t)items->nelts);
    for (int i = 0; i < items->nelts; i++) {
        const neo_callback_item *item = &APR_ARRAY_IDX(items, i, neo_callback_item);
        const neo_json *body = neo_json_get(neo_json_at(list, (apr_size_t)i), "body");
        EXPECT(item->body ? body && strcmp(neo_json_string(body), item->body) == 0 : !body);
    }
}

static void check_callback(neo_text raw, apr_pool_t *pool)
{
    const char *error = NULL;
    int dropped = -1;
    const apr_array_header_t *items = neo_callback_read(raw, NULL, pool, &error, &dropped);
    EXPECT(items ? dropped >= 0 : error && *error);
    for (int i = 0; items && i < items->nelts; i++)
        check_item(&APR_ARRAY_IDX(items, i, neo_callback_item));
    if (items)
        check_items_json(items, pool);
}

/* The ids that are looked up before the signature is verified are few, and digits. */
static void check_candidates(neo_text raw, apr_pool_t *pool)
{
    int count = 0;
    for (const char *const *id = neo_callback_candidates(raw, pool); *id; id++, count++)
        check_digits(*id);
    EXPECT(count < 100);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    apr_pool_t *pool = input_pool();
    neo_text raw = {(const char *)data, size};
    check_candidates(raw, pool);
    check_callback(raw, pool);
    apr_pool_clear(pool);
    return 0;
}
