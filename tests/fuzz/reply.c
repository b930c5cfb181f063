/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the readers of responses of WhatsApp's provider and checks their results against include/whatsapp/provider.h. The
 * first two bytes of an input are the HTTP status. */
#include "core/encode.h"
#include "whatsapp/media.h"
#include "whatsapp/provider.h"
#include "whatsapp/reported.h"
#include "whatsapp/template.h"

#include <string.h>

#include "expect.h"

#define PARAMETERS "{\"template_parameters\":[\"a\",\"b\"],\"template_named_parameters\":{\"a\":\"b\"}}"
#define TOKEN      "EAA0123456789_abcdef" /* some inputs contain it */

/* The verdict, which decides whether a message is retried, must agree with the status and the fields that were read. */
static void check_verdict(const neo_reply *reply, int status)
{
    EXPECT(reply->verdict <= NEO_VERDICT_FAILED);
    EXPECT((reply->verdict == NEO_VERDICT_ACCEPTED) == (reply->id != NULL));
    if (reply->verdict == NEO_VERDICT_ACCEPTED)
        EXPECT(status >= 200 && status < 300 && !reply->title);
    if (status >= 200 && status < 300)
        EXPECT(reply->verdict == NEO_VERDICT_ACCEPTED || reply->verdict == NEO_VERDICT_UNKNOWN);
    if (reply->is_about_parameters)
        EXPECT(reply->verdict == NEO_VERDICT_TEMPLATE);
    if (reply->verdict == NEO_VERDICT_TEMPLATE || reply->verdict == NEO_VERDICT_OPTED_OUT)
        EXPECT(reply->title && status >= 400);
}

static void check_reply(const neo_provider_response *response, apr_pool_t *pool)
{
    neo_reply reply;
    neo_reply_read(response, pool, &reply);
    const char *const texts[] = {reply.id, reply.bsuid, reply.title, reply.details, reply.trace};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check_text(texts[i]);
    for (size_t i = 2; i < sizeof texts / sizeof *texts;
         i++) /* ids are only read from successes, which do not repeat the token */
        EXPECT(!texts[i] || !strstr(texts[i], TOKEN));
    check_digits(reply.wa_id);
    check_verdict(&reply, response->http_status);
}

/* The same bytes as a list of templates. */
static void check_template(const neo_provider_response *response, apr_pool_t *pool)
{
    const char *error = NULL, *after;
    const neo_json *content = neo_json_parse((neo_text){PARAMETERS, strlen(PARAMETERS)}, pool, &error),
                   *rows = neo_templates_read(response, pool, &after, &error);
    EXPECT(rows ? response->http_status == 200 : error != NULL);
    for (apr_size_t i = 0; rows && i < neo_json_size(rows); i++) {
        const neo_json *row = neo_json_at(rows, i), *definition = neo_json_get(row, "definition");
        const char *body = neo_json_string_at(definition, "body");
        neo_problem *problem = NULL;
        EXPECT(neo_template_find(rows, neo_json_string_at(row, "name"), neo_json_string_at(row, "language")));
        neo_template_check(definition, content, &problem, pool);
        neo_template_components(definition, content, pool);
        EXPECT(!body || *neo_template_fill(body, content, pool));
    }
    EXPECT(!rows == !neo_numbers_read(response, pool, &error));
}

/* The same bytes as an answer about an attachment, as its declared type, and as its file name. */
static void check_media(neo_text body, apr_pool_t *pool)
{
    const char *text = apr_pstrmemdup(pool, body.ptr, body.len), *url = neo_media_url(body, pool);
    const char *type = neo_media_type(text, body, pool), *name = neo_media_disposition(text, "id", type, pool);
    EXPECT(!url || (*url && neo_utf8_is_valid(url, strlen(url))));
    EXPECT(neo_media_type(type, body, pool) == type || strcmp(type, "application/octet-stream") == 0);
    EXPECT(strncmp(name, "attachment; filename=\"", 22) == 0 && strlen(name) < 2048);
    for (const char *c = name; *c; c++)
        EXPECT(*c >= ' ' && *c <= '~' && *c != '/' && *c != '\\');
    EXPECT(strchr(strchr(name, '"') + 1, '"') == strstr(name, "\"; filename*=UTF-8''"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    apr_pool_t *pool = input_pool();
    if (size < 2)
        return 0;
    neo_provider_response response = {
        .outcome = NEO_PROVIDER_RESPONDED,
        .http_status = (data[0] << 8 | data[1]) % 1000,
        .body = {(const char *)data + 2, size - 2},
        .token = TOKEN,
    };
    check_reply(&response, pool);
    check_template(&response, pool);
    check_media(response.body, pool);
    apr_pool_clear(pool);
    return 0;
}
