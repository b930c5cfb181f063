/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the readers of responses of WhatsApp's provider and checks their results against include/whatsapp/provider.h. The
 * first two bytes of an input are the HTTP status. */
#include "whatsapp/provider.h"

#include <string.h>

#include "expect.h"

#define TOKEN "EAA0123456789_abcdef" /* some inputs contain it */

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
    const char *error = NULL, *text = neo_template_read(response, "visit", "pt_BR", pool, &error);
    EXPECT(text || error);
    if (text)
        EXPECT(response->http_status == 200 && *text && *neo_template_fill(text, NULL, pool));
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
    apr_pool_clear(pool);
    return 0;
}
