/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the number of a callback before its signature is verified, and items as JSON (see whatsapp/callback.h). */
#include <apr_strings.h>
#include <ctype.h>
#include <string.h>

#include "whatsapp/callback.h"

#define CANDIDATES 16 /* at most, of phone_number_id and of other ids */

/* ---------------------------------------------------------------- candidates */

/* Adds the distinct digit strings that follow `key`, without parsing. */
static void find_digits(neo_text raw, const char *key, apr_pool_t *pool, apr_array_header_t *found)
{
    const char *end = raw.ptr + raw.len, *c = raw.ptr;
    int before = found->nelts;
    while (found->nelts - before < CANDIDATES && (c = memmem(c, (size_t)(end - c), key, strlen(key)))) {
        c += strlen(key);
        while (c < end && strchr(" \t\r\n:", *c) && *c)
            c++;
        const char *digits = c < end && *c == '"' ? c + 1 : end;
        for (c = digits; c < end && isdigit((unsigned char)*c);)
            c++;
        if (c - digits < 5 || c - digits > 20 || c == end || *c != '"')
            continue;
        const char *id = apr_pstrmemdup(pool, digits, (apr_size_t)(c - digits));
        int i = 0;
        while (i < found->nelts && strcmp(APR_ARRAY_IDX(found, i, const char *), id) != 0)
            i++;
        if (i == found->nelts)
            APR_ARRAY_PUSH(found, const char *) = id;
    }
}

const char *const *neo_callback_candidates(neo_text raw, apr_pool_t *pool)
{
    apr_array_header_t *found = apr_array_make(pool, 8, sizeof(const char *));
    find_digits(raw, "\"phone_number_id\"", pool, found);
    find_digits(raw, "\"id\"", pool, found);
    APR_ARRAY_PUSH(found, const char *) = NULL;
    return (const char *const *)(void *)found->elts;
}

/* ---------------------------------------------------------------- items as JSON */

static void put_item(neo_buf *out, const neo_callback_item *item, int number)
{
    static const char *const kinds[] = {"message", "status", "preference", "number_changed"};
    _Static_assert(sizeof kinds / sizeof *kinds == NEO_ITEM_KINDS, "every kind has its name");
    const struct {
        const char *name, *value;
    } texts[] = {{"phone_number_id", item->phone_number_id},
                 {"id", item->id},
                 {"message", item->message},
                 {"wa_id", item->wa_id},
                 {"bsuid", item->bsuid},
                 {"name", item->name},
                 {"type", item->type},
                 {"body", item->body},
                 {"mime_type", item->mime_type},
                 {"filename", item->filename},
                 {"media_id", item->media_id},
                 {"refers_to", item->refers_to},
                 {"reply_to", item->reply_to},
                 {"status", item->status},
                 {"error_title", item->error_title},
                 {"preference", item->preference},
                 {"new_wa_id", item->new_wa_id},
                 {"new_bsuid", item->new_bsuid}};
    neo_buf_printf(out, "{\"n\":%d,\"kind\":\"%s\",\"has_media\":%s,\"is_group\":%s", number, kinds[item->kind],
                   item->has_media ? "true" : "false", item->is_group ? "true" : "false");
    for (apr_size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].value) {
            neo_buf_printf(out, ",\"%s\":", texts[i].name);
            neo_buf_json(out, texts[i].value);
        }
    if (item->has_error)
        neo_buf_printf(out, ",\"error_code\":%d", item->error_code);
    if (item->at)
        neo_buf_printf(out, ",\"at\":%lld", item->at);
    neo_buf_putc(out, '}');
}

neo_text neo_callback_items_json(const apr_array_header_t *items, int first, int count, apr_pool_t *pool)
{
    neo_buf out;
    int end = count < items->nelts - first ? first + count : items->nelts;
    neo_buf_init(&out, pool, 512 + (apr_size_t)(end - first) * 400);
    neo_buf_putc(&out, '[');
    for (int i = first; i < end; i++) {
        if (i > first)
            neo_buf_putc(&out, ',');
        put_item(&out, &APR_ARRAY_IDX(items, i, neo_callback_item), i);
    }
    neo_buf_putc(&out, ']');
    return neo_buf_text(&out);
}
