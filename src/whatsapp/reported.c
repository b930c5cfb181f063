/* SPDX-License-Identifier: Apache-2.0 */
/* Reads lists that the provider returns (see whatsapp/reported.h). */
#include "whatsapp/reported.h"

#include <apr_lib.h>
#include <apr_strings.h>
#include <string.h>

#include "whatsapp/callback.h"

#define MAX_NAME 200
#define MAX_ID   20

neo_json *neo_provider_list(const neo_provider_response *response, apr_pool_t *pool, const char **error)
{
    neo_json *answer = NULL;
    if (response->outcome != NEO_PROVIDER_RESPONDED)
        *error = response->error;
    else if (response->http_status != 200)
        *error = apr_psprintf(pool, "HTTP status %d", response->http_status);
    else
        answer = neo_json_parse(response->body, pool, error);
    const neo_json *list = answer ? neo_json_get(answer, "data") : NULL;
    if (answer && (!list || neo_json_get_kind(list) != NEO_JSON_ARRAY)) {
        *error = "no list in the response";
        return NULL;
    }
    return answer;
}

const char *neo_provider_word(const neo_json *object, const char *name, apr_size_t max, apr_pool_t *pool)
{
    const char *text = neo_json_string_at(object, name);
    if (!text || !*text || strlen(text) > max)
        return NULL;
    char *word = apr_pstrdup(pool, text);
    for (char *c = word; *c; c++)
        *c = apr_isalnum(*c) ? (char)apr_tolower(*c) : '_';
    return word;
}

/* The limit is that of the number, or since the end of 2025 that of the business, which its numbers share. */
const char *neo_numbers_path(const char *account, int is_reduced, apr_pool_t *pool)
{
    return apr_pstrcat(pool, account, "/phone_numbers?fields=id,verified_name,quality_rating",
                       is_reduced ? "" : ",messaging_limit_tier,whatsapp_business_manager_messaging_limit", "&limit=100", NULL);
}

static neo_json *make_number(const neo_json *reported, apr_pool_t *pool)
{
    const char *id = neo_json_string_at(reported, "id");
    const char *name = neo_clip(neo_json_string_at(reported, "verified_name"), MAX_NAME, "", pool);
    const char *limit = neo_provider_word(reported, "whatsapp_business_manager_messaging_limit", MAX_ID, pool);
    if (!id || strlen(id) > MAX_ID || id[strspn(id, "0123456789")])
        return NULL;
    neo_json *row = neo_json_make_object(pool);
    neo_json_set_string(row, "phone_number_id", id, pool);
    neo_json_set_string(row, "verified_name", name, pool);
    neo_json_set_string(row, "quality_rating", neo_provider_word(reported, "quality_rating", MAX_ID, pool), pool);
    if (!limit)
        limit = neo_provider_word(reported, "messaging_limit_tier", MAX_ID, pool);
    neo_json_set_string(row, "messaging_limit", limit, pool);
    return row;
}

neo_json *neo_numbers_read(const neo_provider_response *response, apr_pool_t *pool, const char **error)
{
    const neo_json *answer = neo_provider_list(response, pool, error), *list = answer ? neo_json_get(answer, "data") : NULL;
    neo_json *rows = neo_json_make_array(pool);
    for (apr_size_t i = 0; list && i < neo_json_size(list); i++) {
        neo_json *row = make_number(neo_json_at(list, i), pool);
        if (row)
            neo_json_append(rows, row);
    }
    return list ? rows : NULL;
}
