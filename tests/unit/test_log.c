/* Messages reach the sink that was named, whole or cut, never beyond. */
#include "unit.h"

#include <unistd.h>

#include "core/log.h"

static struct {
    neo_log_level level;
    void *about;
    char message[4096];
    int count;
} got;

static void keep(neo_log_level level, void *about, const char *message)
{
    got.level = level;
    got.about = about;
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
    neo_log(NEO_LOG_INFO, &request, "%s took %d ms", "it", 12);
    assert_int_equal(got.count, 1);
    assert_int_equal(got.level, NEO_LOG_INFO);
    assert_ptr_equal(got.about, &request);
    assert_string_equal(got.message, "it took 12 ms");
}

static void a_message_that_is_too_long_is_cut(void **state)
{
    (void)state;
    neo_log(NEO_LOG_ERROR, NULL, "%0100000d", 7);
    assert_int_equal(strspn(got.message, "0"), strlen(got.message));
    assert_in_range(strlen(got.message), 1000, 4000);
}

/* What is written to standard error while the messages of every level are logged. */
static void read_standard_error(char *out, size_t room)
{
    FILE *file = tmpfile();
    int kept = dup(STDERR_FILENO);
    assert_non_null(file);
    assert_true(kept >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
    for (int level = 0; level < NEO_LOG_LEVELS; level++)
        neo_log((neo_log_level)level, NULL, "message %d", level);
    fflush(stderr);
    dup2(kept, STDERR_FILENO);
    close(kept);
    rewind(file);
    out[fread(out, 1, room - 1, file)] = '\0';
    fclose(file);
}

static void without_a_sink_what_matters_goes_to_standard_error(void **state)
{
    char written[200];
    (void)state;
    neo_log_to(NULL);
    read_standard_error(written, sizeof written);
    assert_string_equal(written, "error: message 0\nwarning: message 1\n");
    assert_int_equal(got.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_message_reaches_the_sink_with_what_it_is_about, start_listening, stop_listening),
        cmocka_unit_test_setup_teardown(a_message_that_is_too_long_is_cut, start_listening, stop_listening),
        cmocka_unit_test_setup_teardown(without_a_sink_what_matters_goes_to_standard_error, start_listening, stop_listening),
    };
    return run_room("log", tests);
}
