/* SPDX-License-Identifier: Apache-2.0 */
/* Log messages (see core/log.h). */
#include "core/log.h"

#include <stdarg.h>
#include <stdio.h>

#define ROW(name, id, level, meaning, fix) {id, NEO_LEVEL_##level, meaning, fix},
const neo_message_row neo_messages[NEO_MESSAGES] = {NEO_MESSAGE_LIST(ROW)};

static void log_to_stderr(const neo_message_row *row, void *context, const char *text)
{
    static const char *const names[NEO_LEVELS] = {"error", "error", "warning", "notice"};
    (void)context;
    if (row->level <= NEO_LEVEL_WARNING)
        fprintf(stderr, "%s: %s: %s: %s\n", names[row->level], row->id, text, row->fix);
}

static neo_log_sink current = log_to_stderr;

void neo_log_to(neo_log_sink sink)
{
    current = sink ? sink : log_to_stderr;
}

void neo_log(neo_message message, void *context, const char *fmt, ...)
{
    char text[2048];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    current(&neo_messages[message], context, text);
}
