/* SPDX-License-Identifier: Apache-2.0 */
/* Log messages reach the sink, cut if they are too long. */
#include "unit.h"

#include <unistd.h>

#include "core/log.h"

static struct {
    const neo_message_row *row;
    void *log_context;
    char message[4096];
    int count;
} got;

static void keep(const neo_message_row *row, void *log_context, const char *message)
{
    got.row = row;
    got.log_context = log_context;
    snprintf(got.message, sizeof got.message, "%s", message);
    got.count++;
}

static int start_listening(void **state)
{
    (void)state;
    memset(&got, 0, sizeof got);
    neo_log_to(keep);
    return 0;
}

static int stop_listening(void **state)
{
    (void)state;
    neo_log_to(NULL);
    return 0;
}

static void a_message_reaches_the_sink_with_what_it_is_about(void **state)
{
    int request;
    (void)state;
    neo_log(NEO_LOG_NOT_USED, &request, "%s took %d ms", "it", 12);
    assert_int_equal(got.count, 1);
    assert_string_equal(got.row->id, "NEO0116");
    assert_int_equal(got.row->level, NEO_LEVEL_NOTICE);
    assert_ptr_equal(got.log_context, &request);
    assert_string_equal(got.message, "it took 12 ms");
}

static void a_message_that_is_too_long_is_cut(void **state)
{
    (void)state;
    neo_log(NEO_LOG_STATEMENT_FAILED, NULL, "%0100000d", 7);
    assert_int_equal(strspn(got.message, "0"), strlen(got.message));
    assert_in_range(strlen(got.message), 1000, 4000);
}

/* What is written to standard error while a message of each level is logged. */
static void read_standard_error(char *out, size_t room)
{
    FILE *file = tmpfile();
    int kept = dup(STDERR_FILENO);
    assert_non_null(file);
    assert_true(kept >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
    neo_log(NEO_LOG_SCHEMA_OLD, NULL, "one %d", 1);
    neo_log(NEO_LOG_NOT_USED, NULL, "two");
    neo_log(NEO_LOG_NOT_RELEASED, NULL, "three");
    fflush(stderr);
    dup2(kept, STDERR_FILENO);
    close(kept);
    rewind(file);
    out[fread(out, 1, room - 1, file)] = '\0';
    fclose(file);
}

static void without_a_sink_what_matters_goes_to_standard_error(void **state)
{
    char written[400];
    (void)state;
    neo_log_to(NULL);
    read_standard_error(written, sizeof written);
    assert_string_equal(written, "error: NEO0204: one 1: update it with: neoapictl migrate\n"
                                 "warning: NEO0304: three: no action needed; they are sent when their leases expire\n");
    assert_int_equal(got.count, 0);
}

/* Ids are documented and must not change. */
static void every_message_has_an_identifier_of_its_own_and_says_what_to_do(void **state)
{
    (void)state;
    for (int i = 0; i < NEO_MESSAGES; i++) {
        const neo_message_row *row = neo_message_row_of((neo_message)i);
        assert_int_equal(strlen(row->id), 7);
        assert_int_equal(strncmp(row->id, "NEO", 3), 0);
        assert_int_equal(strspn(row->id + 3, "0123456789"), 4);
        assert_true(i == 0 || strcmp(neo_message_row_of((neo_message)(i - 1))->id, row->id) < 0);
        assert_true(strlen(row->fix) > 10);
        assert_int_equal(row->meaning[strlen(row->meaning) - 1], '.');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_message_reaches_the_sink_with_what_it_is_about, start_listening, stop_listening),
        cmocka_unit_test_setup_teardown(a_message_that_is_too_long_is_cut, start_listening, stop_listening),
        cmocka_unit_test_setup_teardown(without_a_sink_what_matters_goes_to_standard_error, start_listening, stop_listening),
        cmocka_unit_test(every_message_has_an_identifier_of_its_own_and_says_what_to_do),
    };
    return run_test_group("log", tests);
}
