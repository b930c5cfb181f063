/* SPDX-License-Identifier: Apache-2.0 */
/* Connections and statements without a database. (The rest is tested end to end.) */
#include "unit.h"

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

TEST(a_statement_has_a_copy_of_its_sql)
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
