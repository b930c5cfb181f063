/* Where messages go: whoever runs the library says how to write them (httpd's error log, neoapictl's standard error). */
#ifndef NEO_CORE_LOG_H
#define NEO_CORE_LOG_H

#include "core/buf.h"

typedef enum neo_log_level {
    NEO_LOG_ERROR, /* somebody has to do something; the message says what */
    NEO_LOG_WARN,
    NEO_LOG_INFO,
    NEO_LOG_DEBUG,
    NEO_LOG_LEVELS
} neo_log_level;

/* `about` is what the sink was given for the message at hand: a request_rec or server_rec inside httpd, NULL elsewhere. */
typedef void (*neo_log_sink)(neo_log_level level, void *about, const char *message);

void neo_log_to(neo_log_sink sink);
void neo_log(neo_log_level level, void *about, const char *fmt, ...) NEO_PRINTF(3, 4);

#endif
