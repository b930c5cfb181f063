/* SPDX-License-Identifier: Apache-2.0 */
/* Leads: reading CSV, and validation. */
#include "unit.h"

#include "core/csv.h"
#include "resources/lead.h"

/* ---------------------------------------------------------------- tables */

/* All records, one per line, with their line numbers and fields separated by bars. */
static const char *table_of(const char *text, apr_pool_t *pool)
{
    neo_csv csv;
    neo_csv_record record;
    neo_buf out;
    neo_buf_init(&out, pool, 256);
    neo_csv_begin(&csv, text_of(text));
    while (neo_csv_next(&csv, pool, &record)) {
        neo_buf_printf(&out, "%d:", record.line);
        for (int i = 0; i < record.count; i++)
            neo_buf_printf(&out, "%s%s", i ? "|" : "", record.fields[i]);
        neo_buf_puts(&out, record.error ? "!;" : ";");
    }
    return out.ptr;
}

TEST(csv_is_parsed_as_in_rfc_4180)
{
    static const char *const cases[][2] = {
        {"a,b\nc,d\n", "1:a|b;2:c|d;"},
        {"a,b\r\nc,d", "1:a|b;2:c|d;"},
        {"a\rb\r", "1:a;2:b;"},
        {"\xEF\xBB\xBF"
         "a,b\n",
         "1:a|b;"},
        {"a;b\n1,5;2\n", "1:a|b;2:1,5|2;"},
        {"\"a,\"\"b\"\"\",c\n", "1:a,\"b\"|c;"},
        {"\"two\nlines\",x\ny,z\n", "1:two\nlines|x;3:y|z;"},
        {" a , b \n", "1:a|b;"},
        {"\n\n a\n\n", "3:a;"},
        {",\n", "1:|;"},
        {"", ""},
        {"a\n\"b\"c,d\ne\n", "1:a;2:!;3:e;"},
        {"a\n\"b\nc", "1:a;2:!;"},
        {"a\n\xFF\nb\n", "1:a;2:!;3:b;"},
    };
    for (int i = 0; i < COUNT(cases); i++)
        assert_string_equal(table_of(cases[i][0], *state), cases[i][1]);
}

TEST(nul_is_refused)
{
    static const char text[] = "a\nb\0c\nd\n";
    neo_csv csv;
    neo_csv_record record;
    neo_csv_begin(&csv, (neo_text){text, sizeof text - 1});
    assert_true(neo_csv_next(&csv, *state, &record) && !record.error);
    assert_true(neo_csv_next(&csv, *state, &record) && record.error);
    assert_true(neo_csv_next(&csv, *state, &record) && !record.error);
}

/* ---------------------------------------------------------------- telephone numbers */

TEST(phones_are_normalized_to_digits)
{
    static const char *const cases[][2] = {
        {"+55 (11) 98765-4321", "5511987654321"}, {"11 98765-4321", "5511987654321"},   {"5511987654321", "5511987654321"},
        {"0055 11 98765 4321", "5511987654321"},  {"1140001234", "551140001234"},       {"551140001234", "551140001234"},
        {"+55 11 4000.1234", "551140001234"},     {"+1 (415) 555-2671", "14155552671"}, {"+351 912 345 678", "351912345678"},
        {"(55) 99123-4567", "5555991234567"},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        const char *values[NEO_LEAD_COLUMNS] = {"Ana", cases[i][0]}, *error[NEO_LEAD_COLUMNS];
        assert_int_equal(neo_lead_check(values, error, *state), 0);
        assert_string_equal(values[NEO_LEAD_PHONE], cases[i][1]);
    }
}

TEST(an_invalid_phone_is_reported)
{
    static const char *const none[] = {"",
                                       "+",
                                       "none",
                                       "98765-4321",
                                       "+55 11 98765",
                                       "01187654321",
                                       "11887654321",
                                       "+0123456789",
                                       "+1234567890123456",
                                       "11 0876-4321",
                                       "11987654321x",
                                       "+55+1198765432"};
    for (int i = 0; i < COUNT(none); i++) {
        const char *values[NEO_LEAD_COLUMNS] = {"Ana", none[i]}, *error[NEO_LEAD_COLUMNS];
        if (neo_lead_check(values, error, *state) != 1 || !error[NEO_LEAD_PHONE])
            fail_msg("%s is taken", none[i]);
    }
}

/* test_whatsapp_identity.py compares neoapi.whatsapp_phone_key with the same file. */
TEST(phone_keys_are_those_of_the_database)
{
    char line[100], phone[30], key[30];
    int count = 0;
    FILE *file = fopen("tests/whatsapp/phone_keys.txt", "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        if (line[0] != '#' && sscanf(line, "%29s %29s", phone, key) == 2) {
            assert_string_equal(neo_phone_key(phone, *state), key);
            count++;
        }
    fclose(file);
    assert_true(count > 30);
}

/* ---------------------------------------------------------------- leads */

TEST(every_wrong_value_is_reported)
{
    const char *values[NEO_LEAD_COLUMNS] = {" ", "x", "nobody", "brk_1"}, *error[NEO_LEAD_COLUMNS];
    assert_int_equal(neo_lead_check(values, error, *state), 4);
    for (int c = 0; c < NEO_LEAD_COLUMNS; c++)
        assert_non_null(error[c]);
}

TEST(a_lead_is_normalized)
{
    const char *values[NEO_LEAD_COLUMNS] = {" Ana\n Paula ", "11 98765-4321", "", NULL}, *error[NEO_LEAD_COLUMNS];
    assert_int_equal(neo_lead_check(values, error, *state), 0);
    assert_string_equal(values[NEO_LEAD_NAME], "Ana Paula");
    assert_string_equal(values[NEO_LEAD_PHONE], "5511987654321");
    assert_null(values[NEO_LEAD_EMAIL]);
    assert_null(values[NEO_LEAD_PARTY]);
}

TEST(columns_have_several_names)
{
    assert_int_equal(neo_lead_column_named("Name"), NEO_LEAD_NAME);
    assert_int_equal(neo_lead_column_named("E-Mail"), NEO_LEAD_EMAIL);
    assert_int_equal(neo_lead_column_named("party"), NEO_LEAD_PARTY);
    assert_int_equal(neo_lead_column_named("colour"), -1);
}
