/* SPDX-License-Identifier: Apache-2.0 */
/* Log messages. The program sets the sink: httpd's error log, or neoapictl's standard error. */
#ifndef NEO_CORE_LOG_H
#define NEO_CORE_LOG_H

#include "core/buf.h"
#include "core/messages.h"

typedef enum neo_level {
    NEO_LEVEL_FATAL,   /* httpd does not start */
    NEO_LEVEL_ERROR,   /* the administrator must act */
    NEO_LEVEL_WARNING, /* the administrator may have to act */
    NEO_LEVEL_NOTICE,
    NEO_LEVELS
} neo_level;

#define NEO_MESSAGE_NAME(name, id, level, meaning, fix) NEO_LOG_##name,
typedef enum neo_message { NEO_MESSAGE_LIST(NEO_MESSAGE_NAME) NEO_MESSAGES } neo_message;

typedef struct neo_message_row {
    const char *id; /* "NEO0201" */
    neo_level level;
    const char *meaning; /* when it is logged */
    const char *fix;     /* what to do */
} neo_message_row;

extern const neo_message_row neo_messages[NEO_MESSAGES];

/* `context` is that of neo_log: a neo_log_context in httpd, NULL elsewhere. */
typedef void (*neo_log_sink)(const neo_message_row *row, void *context, const char *text);

void neo_log_to(neo_log_sink sink);

/* Logs a message with the details of this case ("database unavailable (SQLSTATE 57P01): ..."). The sink prepends the id and
 * appends the fix. */
void neo_log(neo_message message, void *context, const char *fmt, ...) NEO_PRINTF(3, 4);

#endif
