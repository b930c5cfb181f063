/* SPDX-License-Identifier: Apache-2.0 */
/* The embedded migrations. (That they can be applied is tested end to end.) */
#include "unit.h"

#include <stdlib.h>

#include "sql/migrate.h"

TEST(migrations_are_numbered_from_one_without_a_gap)
{
    assert_true(neo_migration_count >= 1);
    for (int i = 0; i < neo_migration_count; i++)
        assert_int_equal(neo_migrations[i].number, i + 1);
    assert_int_equal(neo_schema_needed(), neo_migration_count);
}

TEST(a_migrations_name_begins_with_its_number)
{
    for (int i = 0; i < neo_migration_count; i++) {
        const char *name = neo_migrations[i].name;
        assert_int_equal(atoi(name), neo_migrations[i].number);
        assert_int_equal(strspn(name, "0123456789"), 4);
        assert_int_equal(name[4], '_');
        assert_int_equal(strspn(name + 5, "abcdefghijklmnopqrstuvwxyz0123456789_"), strlen(name + 5));
    }
}

/* neo_migrate begins the transaction, which also records the migration. */
TEST(a_migration_has_no_transaction_of_its_own)
{
    static const char *const words[] = {"\nbegin;", "\ncommit;", "\nrollback", "\\i ", "\n\\"};
    for (int i = 0; i < neo_migration_count; i++) {
        const char *sql = neo_migrations[i].sql;
        assert_true(strlen(sql) > 100);
        assert_int_equal(sql[strlen(sql) - 1], '\n');
        for (int w = 0; w < COUNT(words); w++)
            assert_null(strstr(sql, words[w]));
    }
}
