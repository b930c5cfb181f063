/* Feeds libFuzzer's inputs to what reads the answers of WhatsApp's provider: nothing crashes, and what is read is as
 * include/model/provider.h promises. An input's first two bytes are the HTTP status. */
#include "model/provider.h"

#include <string.h>

#include "promises.h"

#define TOKEN "EAA0123456789_abcdef" /* some of the inputs cite it */

/* What may be sent again, or be called sent, is decided by what was understood and by nothing else. */
static void check_verdict(const neo_reply *reply, int status)
{
    PROMISED(reply->verdict <= NEO_VERDICT_FAILED);
    PROMISED((reply->verdict == NEO_VERDICT_ACCEPTED) == (reply->id != NULL));
    if (reply->verdict == NEO_VERDICT_ACCEPTED)
        PROMISED(status >= 200 && status < 300 && !reply->title);
    if (status >= 200 && status < 300)
        PROMISED(reply->verdict == NEO_VERDICT_ACCEPTED || reply->verdict == NEO_VERDICT_UNKNOWN);
    if (reply->is_about_parameters)
        PROMISED(reply->verdict == NEO_VERDICT_TEMPLATE);
    if (reply->verdict == NEO_VERDICT_TEMPLATE || reply->verdict == NEO_VERDICT_OPTED_OUT)
        PROMISED(reply->title && status >= 400);
}

static void check_reply(const neo_provider_response *answer, apr_pool_t *pool)
{
    neo_reply reply;
    neo_reply_read(answer, pool, &reply);
    const char *const texts[] = {reply.id, reply.bsuid, reply.title, reply.details, reply.trace};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check_text(texts[i]);
    for (size_t i = 2; i < sizeof texts / sizeof *texts; i++) /* the ids are of answers that are no errors */
        PROMISED(!texts[i] || !strstr(texts[i], TOKEN));
    check_digits(reply.wa_id);
    check_verdict(&reply, answer->http_status);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    apr_pool_t *pool = the_pool();
    if (size < 2)
        return 0;
    neo_provider_response answer = {
        .outcome = NEO_PROVIDER_RESPONDED,
        .http_status = (data[0] << 8 | data[1]) % 1000,
        .body = {(const char *)data + 2, size - 2},
        .token = TOKEN,
    };
    check_reply(&answer, pool);
    apr_pool_clear(pool);
    return 0;
}
