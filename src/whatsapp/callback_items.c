/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the number of a callback before its signature is verified, and items as JSON (see whatsapp/callback.h). */
#include <apr_strings.h>
#include <ctype.h>
#include <stddef.h>
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

/* Members of an item, which have the names of columns. */
#define MEMBER(name)                                                                                                           \
    {                                                                                                                          \
#name, offsetof(neo_callback_item, name)                                                                               \
    }

typedef struct {
    const char *name;
    size_t offset;
} member;

static const member texts[] = {MEMBER(phone_number_id),
                               MEMBER(id),
                               MEMBER(message),
                               MEMBER(wa_id),
                               MEMBER(bsuid),
                               MEMBER(name),
                               MEMBER(type),
                               MEMBER(body),
                               MEMBER(mime_type),
                               MEMBER(filename),
                               MEMBER(media_id),
                               MEMBER(refers_to),
                               MEMBER(reply_to),
                               MEMBER(status),
                               MEMBER(error_title),
                               MEMBER(preference),
                               MEMBER(new_wa_id),
                               MEMBER(new_bsuid),
                               MEMBER(account),
                               MEMBER(report),
                               MEMBER(template_name),
                               MEMBER(template_language),
                               MEMBER(template_status)};
static const member flags[] = {MEMBER(has_media), MEMBER(is_group), MEMBER(is_outbound), MEMBER(is_history)};

static void put_item(neo_buf *out, const neo_callback_item *item, int number)
{
    static const char *const kinds[] = {"message", "status", "preference", "number_changed", "account"};
    _Static_assert(sizeof kinds / sizeof *kinds == NEO_ITEM_KINDS, "every kind has its name");
    neo_buf_printf(out, "{\"n\":%d,\"kind\":\"%s\"", number, kinds[item->kind]);
    for (apr_size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        int flag;
        memcpy(&flag, (const char *)item + flags[i].offset, sizeof flag);
        neo_buf_printf(out, ",\"%s\":%s", flags[i].name, flag ? "true" : "false");
    }
    for (apr_size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *text;
        memcpy(&text, (const char *)item + texts[i].offset, sizeof text);
        if (text) {
            neo_buf_printf(out, ",\"%s\":", texts[i].name);
            neo_buf_json(out, text);
        }
    }
    if (item->pricing)
        neo_buf_printf(out, ",\"pricing\":%s", item->pricing);
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
