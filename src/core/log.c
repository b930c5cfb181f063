/* Messages on their way to the sink (see core/log.h). */
#include "core/log.h"

#include <stdarg.h>
#include <stdio.h>

static void to_stderr(neo_log_level level, void *about, const char *message)
{
    static const char *const names[NEO_LOG_LEVELS] = {"error", "warning", "info", "debug"};
    (void)about;
    if (level <= NEO_LOG_WARN)
        fprintf(stderr, "%s: %s\n", names[level], message);
}

static neo_log_sink current = to_stderr;

void neo_log_to(neo_log_sink sink)
{
    current = sink ? sink : to_stderr;
}

void neo_log(neo_log_level level, void *about, const char *fmt, ...)
{
    char message[2048];
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    current(level, about, message);
}
