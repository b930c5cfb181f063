/* SPDX-License-Identifier: Apache-2.0 */
/* Log messages are passed to the sink, truncated if they are too long. */
#include "unit.h"

#include <unistd.h>

#include "core/log.h"

static struct {
    const neo_message_row *row;
    void *log_context;
    char message[4096];
    int count;
} logged;

static void record(const neo_message_row *row, void *log_context, const char *message)
{
    logged.row = row;
    logged.log_context = log_context;
    snprintf(logged.message, sizeof logged.message, "%s", message);
    logged.count++;
}

static void install_sink(void)
{
    memset(&logged, 0, sizeof logged);
    neo_log_to(record);
}

TEST(a_message_is_passed_with_its_context)
{
    install_sink();
    int request;
    neo_log(NEO_LOG_NOT_USED, &request, "%s took %d ms", "it", 12);
    assert_int_equal(logged.count, 1);
    assert_string_equal(logged.row->id, "NEO0116");
    assert_int_equal(logged.row->level, NEO_LEVEL_NOTICE);
    assert_ptr_equal(logged.log_context, &request);
    assert_string_equal(logged.message, "it took 12 ms");
}

TEST(a_message_that_is_too_long_is_truncated)
{
    install_sink();
    neo_log(NEO_LOG_STATEMENT_FAILED, NULL, "%0100000d", 7);
    assert_int_equal(strspn(logged.message, "0"), strlen(logged.message));
    assert_in_range(strlen(logged.message), 1000, 4000);
}

/* Logs a message of each level and returns the output on standard error. */
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

TEST(without_a_sink_warnings_and_errors_go_to_standard_error)
{
    install_sink();
    char written[400];
    neo_log_to(NULL);
    read_standard_error(written, sizeof written);
    assert_string_equal(written, "error: NEO0204: one 1: update it with: neoapictl migrate\n"
                                 "warning: NEO0304: three: no action needed; they are sent when their leases expire\n");
    assert_int_equal(logged.count, 0);
}

/* Ids are documented and must not change. */
TEST(every_message_has_a_unique_identifier_and_a_remedy)
{
    for (int i = 0; i < NEO_MESSAGES; i++) {
        const neo_message_row *row = &neo_messages[i];
        assert_int_equal(strlen(row->id), 7);
        assert_int_equal(strncmp(row->id, "NEO", 3), 0);
        assert_int_equal(strspn(row->id + 3, "0123456789"), 4);
        assert_true(i == 0 || strcmp(neo_messages[i - 1].id, row->id) < 0);
        assert_true(strlen(row->fix) > 10);
        assert_int_equal(row->meaning[strlen(row->meaning) - 1], '.');
    }
}
