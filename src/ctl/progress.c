/* SPDX-License-Identifier: Apache-2.0 */
/* Signals and the progress line of long commands (see ctl/output.h). */
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "ctl/output.h"

#define REFRESH_INTERVAL APR_TIME_C(100000) /* microseconds */
#define MIN_COLUMNS      76                 /* a narrower terminal shows no bar */

volatile sig_atomic_t neo_ctl_is_interrupted;

static void interrupt(int number)
{
    (void)number;
    neo_ctl_is_interrupted = 1;
}

void neo_ctl_catch_signals(void)
{
    struct sigaction action = {.sa_handler = interrupt, .sa_flags = SA_RESTART};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

void neo_ctl_progress_begin(neo_ctl_progress *progress, const neo_ctl *ctl, const char *what)
{
    *progress = (neo_ctl_progress){
        .what = what, .is_shown = !ctl->json && !ctl->quiet && neo_ctl_is_terminal(stderr), .begun = apr_time_now()};
}

/* "12,345" */
static void put_grouped(char *out, size_t capacity, long long number)
{
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%lld", number);
    for (int i = 0; i < len && capacity > 2; i++) {
        if (i && (len - i) % 3 == 0)
            *out++ = ',', capacity--;
        *out++ = digits[i], capacity--;
    }
    *out = '\0';
}

static void put_progress(const neo_ctl_progress *progress, long long rows, double part, double seconds)
{
    static const char bar[] = "########################";
    char count[32], rate[32];
    struct winsize size;
    int is_wide = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_col >= MIN_COLUMNS,
        width = sizeof bar - 1, full = (int)(part * width);
    put_grouped(count, sizeof count, rows);
    put_grouped(rate, sizeof rate, seconds > 0 ? (long long)((double)rows / seconds) : 0);
    fprintf(stderr, "\r%-9s", progress->what);
    if (part >= 0 && is_wide)
        fprintf(stderr, "  [%.*s%*s]", full, bar, width - full, "");
    if (part >= 0)
        fprintf(stderr, " %3d%%", (int)(part * 100));
    fprintf(stderr, "  %s rows  %s rows/s", count, rate);
    if (part > 0.01) {
        long left = (long)(seconds * (1 - part) / part + 0.5);
        fprintf(stderr, "  %ld:%02ld left", left / 60, left % 60);
    }
    fputs("\x1b[K", stderr);
    fflush(stderr);
}

void neo_ctl_progress_show(neo_ctl_progress *progress, long long rows, long long part, long long whole)
{
    apr_time_t now = apr_time_now();
    if (!progress->is_shown || now - progress->last < REFRESH_INTERVAL)
        return;
    progress->last = now;
    double done = whole > 0 ? (double)part / (double)whole : -1;
    put_progress(progress, rows, done > 1 ? 1 : done, (double)(now - progress->begun) / APR_USEC_PER_SEC);
}

void neo_ctl_progress_end(neo_ctl_progress *progress)
{
    if (progress->is_shown && progress->last) {
        fputs("\r\x1b[K", stderr);
        fflush(stderr);
    }
}
