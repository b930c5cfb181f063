/* SPDX-License-Identifier: Apache-2.0 */
/* neoapictl: administers the database of mod_neoapi. */
#include <apr_general.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/log.h"
#include "ctl/output.h"

/* The error of a statement is returned with its rows and printed once. */
static void drop_log(const neo_message_row *row, void *context, const char *text)
{
    (void)row, (void)context, (void)text;
}

static void prepare_process(void)
{
    /* If a standard stream is closed, the connection's socket would get its number and output would go to PostgreSQL. Opens
     * /dev/null in the wrong mode instead, so that every use fails. */
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
            abort();
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is reported as a write error */
    neo_log_to(drop_log);
    setenv("PGCONNECT_TIMEOUT", "10", 0); /* libpq has no default */
    setenv("PGAPPNAME", "neoapictl", 0);
}

static neo_ctl_exit run_command(neo_ctl *ctl, int argc, const char *const *argv)
{
    const char *error = neo_ctl_read(ctl, argc, argv);
    if (error)
        return neo_ctl_usage_error(ctl, "%s", error);
    if (neo_ctl_value(ctl, "help")) {
        neo_ctl_help(ctl);
        return NEO_CTL_OK;
    }
    if (neo_ctl_value(ctl, "version")) {
        puts("neoapictl " NEO_VERSION);
        return NEO_CTL_OK;
    }
    return ctl->command->run(ctl);
}

int main(int argc, const char *const *argv)
{
    neo_ctl ctl = {0};
    prepare_process();
    apr_initialize();
    apr_pool_create(&ctl.pool, NULL);
    neo_ctl_make_commands(ctl.pool);
    neo_ctl_exit status = run_command(&ctl, argc, argv);
    const char *unwritten = neo_ctl_flush(&ctl);
    if (unwritten && status == NEO_CTL_OK)
        status = neo_ctl_fail(&ctl, "%s", unwritten);
    apr_pool_destroy(ctl.pool);
    apr_terminate();
    return (int)status;
}
