/* SPDX-License-Identifier: Apache-2.0 */
/* Expiry by date: a run that takes too long begins no other row. */
#include "fake_pg.h"

#include "sql/expiry.h"
#include "sql/statements.h"
#include "sql/table.h"

#define ROW(id) "proposal", "org_1", "tnt_1", id, "1", "{\"id\":\"" id "\",\"status\":\"submitted\"}", "expired"

static void answer(fake_pg *fake, const char *sql, const char *const *values, fake_reply *reply)
{
    static const char *const due[] = {ROW("prp_1"), ROW("prp_2"), ROW("prp_3")};
    (void)fake;
    (void)values;
    if (strstr(sql, "due.xmin"))
        *reply = (fake_reply){.columns = 7, .rows = 3, .values = due};
}

TEST(no_row_is_begun_after_the_end_of_a_run)
{
    apr_pool_t *pool = *state;
    fake_pg *server = fake_start(answer, NULL, pool);
    neo_pg *pg = fake_connect(server, pool);
    int count;
    neo_sql_make_all(pool);
    neo_rule_input_make_statements(pool);
    neo_expiry_make_statements(pool);
    assert_int_equal(neo_expiry_run(pg, neo_steady_ms(), pool, &count), NEO_PG_OK);
    assert_int_equal(count, 3);
    assert_int_equal(server->executed, 1);
    assert_int_equal(neo_expiry_run(pg, neo_steady_ms() + 60000, pool, &count), NEO_PG_OK);
    assert_true(server->executed >= 2 + 3);
}
