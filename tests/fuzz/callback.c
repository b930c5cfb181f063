/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the reader of WhatsApp's callbacks and checks that its results are as include/model/callback.h says. */
#include "model/callback.h"
#include "core/json.h"

#include "expect.h"

static void check_fact(const neo_fact *fact)
{
    static const char *const statuses[] = {"sent", "delivered", "read", "failed", NULL};
    static const char *const preferences[] = {"stop", "resume", NULL};
    const char *const texts[] = {fact->id,        fact->message,     fact->bsuid,      fact->name,
                                 fact->type,      fact->body,        fact->mime_type,  fact->filename,
                                 fact->refers_to, fact->error_title, fact->preference, fact->new_bsuid};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check_text(texts[i]);
    check_digits(fact->phone_number_id);
    check_digits(fact->wa_id);
    check_digits(fact->new_wa_id);
    EXPECT(fact->phone_number_id);
    EXPECT(!fact->status || is_one_of(fact->status, statuses));
    EXPECT(!fact->preference || is_one_of(fact->preference, preferences));
    EXPECT(fact->at >= 0);
    switch (fact->kind) {
    case NEO_FACT_MESSAGE: EXPECT(fact->id && fact->type && (fact->wa_id || fact->bsuid)); break;
    case NEO_FACT_STATUS: EXPECT(fact->id && fact->status); break;
    case NEO_FACT_PREFERENCE: EXPECT(fact->preference && (fact->wa_id || fact->bsuid)); break;
    case NEO_FACT_MOVED: EXPECT((fact->wa_id || fact->bsuid) && (fact->new_wa_id || fact->new_bsuid)); break;
    default: expectation_failed("the kind is one of neo_fact_kind", __FILE__, __LINE__);
    }
}

/* The JSON for the database is an array with an object for each fact. */
static void check_facts_json(const apr_array_header_t *facts, apr_pool_t *pool)
{
    const char *wrong = NULL;
    const neo_json *list = neo_json_parse(neo_facts_json(facts, 0, facts->nelts, pool), pool, &wrong);
    EXPECT(list && neo_json_kind_of(list) == NEO_JSON_ARRAY && neo_json_size(list) == (apr_size_t)facts->nelts);
    for (int i = 0; i < facts->nelts; i++) {
        const neo_fact *fact = &APR_ARRAY_IDX(facts, i, neo_fact);
        const neo_json *body = neo_json_get(neo_json_at(list, (apr_size_t)i), "body");
        EXPECT(fact->body ? body && strcmp(neo_json_string(body), fact->body) == 0 : !body);
    }
}

static void check_callback(neo_text raw, apr_pool_t *pool)
{
    const char *wrong = NULL;
    int dropped = -1;
    const apr_array_header_t *facts = neo_callback_read(raw, NULL, pool, &wrong, &dropped);
    EXPECT(facts ? dropped >= 0 : wrong && *wrong);
    for (int i = 0; facts && i < facts->nelts; i++)
        check_fact(&APR_ARRAY_IDX(facts, i, neo_fact));
    if (facts)
        check_facts_json(facts, pool);
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
