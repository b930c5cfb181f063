/* Messages on their way into the error log (see httpd/log.h). */
#include "httpd/log.h"

#include <http_log.h>

#include "httpd/config.h"
#include "httpd/request.h"

APLOG_USE_MODULE(neoapi);

static server_rec *nobody;

/* NEO0202: req_… nbr_…: what happened: what to do */
static void write_message(const neo_message_row *row, void *data, const char *text)
{
    static const int levels[NEO_LEVELS] = {APLOG_EMERG, APLOG_ERR, APLOG_WARNING, APLOG_NOTICE};
    const neo_about *about = data;
    if (about && about->r)
        ap_log_rerror(APLOG_MARK, levels[row->level], 0, about->r, "%s: %s %s: %s: %s", row->id, neo_request_id(about->r),
                      about->principal ? about->principal : "-", text, row->mend);
    else
        ap_log_error(APLOG_MARK, levels[row->level], 0, about ? about->server : nobody, "%s: %s: %s", row->id, text, row->mend);
}

void neo_log_to_httpd(server_rec *main_server)
{
    nobody = main_server;
    neo_log_to(write_message);
}
