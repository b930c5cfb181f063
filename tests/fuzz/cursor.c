/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes changes of a valid cursor: the first byte of an input selects the list, the second the position, the third the number
 * of removed characters; the rest is inserted. Only the unchanged cursor is accepted, and only for its list. */
#include <apr_escape.h>

#define NEO_NO_MAIN
#include "../unit/fake_pg.h"
#include "site.h"

#define ROW "{\"id\":\"brk_01jd3x0000000000000000000z\"}"

/* Two lists of the cursor, then others. The response to a valid request is 503. */
static const char *const lists[] = {"brokers?limit=1", "brokers?limit=7", "brokers?limit=1&visibility=public",
                                    "parties?limit=1", "events?limit=1"};
#define OWN_LISTS 2

static void answer(fake_pg *fake, const char *sql, const char *const *values, fake_reply *reply)
{
    static const char *const rows[] = {ROW, "f", ROW, "f"};
    (void)fake;
    (void)sql;
    (void)values;
    *reply = (fake_reply){.columns = 2, .rows = 2, .values = rows};
}

/* The cursor of the first page. */
static const char *valid_cursor(void)
{
    static const char *cursor;
    apr_pool_t *pool;
    if (cursor)
        return cursor;
    fuzz_site *all = fuzz_site_get();
    apr_pool_create(&pool, all->pool);
    fake_host *host = fuzz_host(all, pool);
    host->pg = fake_connect(fake_start(answer, NULL, pool), pool);
    EXPECT(ask(all->site, host, "GET", lists[0], pool) == 200);
    cursor = apr_pstrdup(all->pool, neo_json_string_at(neo_json_get(body_of(host, pool), "page_info"), "end_cursor"));
    apr_pool_destroy(pool);
    return cursor;
}

static const char *changed(const uint8_t *data, size_t size, apr_pool_t *pool)
{
    const char *cursor = valid_cursor();
    size_t len = strlen(cursor), at = data[1] % (len + 1), removed = data[2] < len - at ? data[2] : len - at;
    return apr_pstrcat(pool, apr_pstrmemdup(pool, cursor, at), apr_pstrmemdup(pool, (const char *)data + 3, size - 3),
                       cursor + at + removed, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    apr_pool_t *pool = input_pool();
    if (size < 3)
        return 0;
    fuzz_site *all = fuzz_site_get();
    fake_host *host = fuzz_host(all, pool);
    size_t list = data[0] % (sizeof lists / sizeof *lists);
    const char *cursor = changed(data, size, pool);
    int is_genuine = list < OWN_LISTS && strcmp(cursor, valid_cursor()) == 0;
    const char *query = apr_pstrcat(pool, lists[list], "&cursor=", apr_pescape_urlencoded(pool, cursor), NULL);
    EXPECT(ask(all->site, host, "GET", query, pool) == (is_genuine ? 503 : 400));
    EXPECT(is_genuine || strstr(fuzz_member(host, "errors", pool), "\"field\":\"cursor\""));
    apr_pool_clear(pool);
    return 0;
}
