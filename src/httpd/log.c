/* Messages on their way into the error log (see httpd/log.h). */
#include "httpd/log.h"

#include <http_log.h>

#include "httpd/config.h"
#include "httpd/request.h"

APLOG_USE_MODULE(neoapi);

static server_rec *nobody;

static void write_message(neo_log_level level, void *data, const char *message)
{
    static const int levels[NEO_LOG_LEVELS] = {APLOG_ERR, APLOG_WARNING, APLOG_INFO, APLOG_DEBUG};
    const neo_about *about = data;
    if (about && about->r)
        ap_log_rerror(APLOG_MARK, levels[level], 0, about->r, "neoapi: %s: %s", neo_request_id(about->r), message);
    else
        ap_log_error(APLOG_MARK, levels[level], 0, about ? about->server : nobody, "neoapi: %s", message);
}

void neo_log_to_httpd(server_rec *main_server)
{
    nobody = main_server;
    neo_log_to(write_message);
}
