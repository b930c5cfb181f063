/* SPDX-License-Identifier: Apache-2.0 */
/* Connections and statements without a database. (The rest is tested end to end.) */
#include "unit.h"

#include <apr_strings.h>

#include "pg/pg.h"

TEST(a_failed_connection_has_a_reason)
{
    static const char *const infos[] = {"host=/nonexistent dbname=none", "no such option=1",
                                        "service=no_such_service_of_neoapi"};
    for (int i = 0; i < COUNT(infos); i++) {
        const char *error = NULL;
        assert_null(neo_pg_connect(infos[i], *state, &error));
        assert_true(error && *error);
    }
}

TEST(every_statement_has_its_own_slot_and_a_copy_of_its_sql)
{
    char sql[] = "select $1";
    neo_statement *first = neo_statement_make(*state, sql, 1, 0);
    sql[0] = 'X';
    neo_statement *second = neo_statement_make(*state, sql, 2, 1);
    assert_string_equal(first->sql, "select $1");
    assert_int_equal(first->params, 1);
    assert_false(first->writes);
    assert_int_equal(second->params, 2);
    assert_true(second->writes);
    assert_int_not_equal(first->slot, second->slot);
}

TEST(a_statements_name_is_that_of_its_sql_alone)
{
    neo_statement *one = neo_statement_make(*state, "select $1", 1, 0);
    neo_statement *same = neo_statement_make(*state, "select $1", 1, 0);
    neo_statement *other = neo_statement_make(*state, "select $2", 1, 0);
    assert_string_equal(one->name, same->name);
    assert_string_not_equal(one->name, other->name);
    assert_int_equal(strspn(one->name + strlen("neoapi_"), "0123456789abcdef"), 16);
}

TEST(statements_made_on_demand_are_reused_and_limited)
{
    const neo_statement *first = neo_statement_of("select 0", 0), *again = neo_statement_of("select 0", 0);
    int made = 1;
    assert_non_null(first);
    assert_ptr_equal(first, again);
    assert_false(first->writes);
    for (; made < 100; made++) {
        const neo_statement *other = neo_statement_of(apr_psprintf(*state, "select %d", made), 0);
        if (!other)
            break;
        assert_int_not_equal(other->slot, first->slot);
    }
    assert_int_equal(made, 32);
    assert_ptr_equal(neo_statement_of("select 0", 0), first);
    assert_ptr_equal(neo_statement_of("select 31", 0), neo_statement_of("select 31", 0));
    assert_null(neo_statement_of("select 32", 0));
}
