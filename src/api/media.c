/* SPDX-License-Identifier: Apache-2.0 */
/* GET /whatsapp/conversations/{id}/messages/{message_id}/media: reads a contact's attachment from Meta while it is sent to the
 * client. */
#include "whatsapp/media.h"

#include <apr_strings.h>
#include <string.h>

#include "call.h"
#include "core/log.h"
#include "provider.h"
#include "whatsapp/store.h"

#define BUSY_SECONDS 5    /* Retry-After while too many attachments are read */
#define PART_MS      1000 /* after so long without a part, it is checked whether the response must end */
#define PARAMETER    100  /* Meta's error code for a parameter, such as an id that it does not have, or not for the token */

/* Who can end a failure, for the client. */
#define META   NULL
#define NUMBER "the organization's number"
#define SERVER "the server"

/* ---------------------------------------------------------------- problems */

static neo_problem *no_media(neo_call *call, const char *detail)
{
    return neo_problem_for_resource(call->pool, NEO_NOT_FOUND_RESOURCE, "media", "%s", detail);
}

/* If Meta does not find a newer attachment, the cause can be the token or the number. */
static int can_be_expired(const neo_rows *message)
{
    return !neo_rows_is_true(message, 0, NEO_MEDIA_IS_KEPT);
}

static neo_problem *expired(neo_call *call)
{
    return no_media(call, "WhatsApp does not have the attachment any more: it keeps a contact's attachment for seven days.");
}

/* `needs`: the configuration that an administrator must correct, or META. The log must not contain the attachment's URL. */
static neo_problem *unavailable(neo_call *call, const neo_rows *message, const char *needs, const char *why)
{
    static atomic_llong last;
    if (neo_call_may_log(&last))
        neo_log(NEO_LOG_NO_MEDIA, call->request->log_context, "cannot read an attachment of %s from Meta (%s)",
                neo_rows_value(message, 0, NEO_MEDIA_NUMBER), why);
    return neo_call_try_later(call, NEO_INTERNAL_PROVIDER_UNAVAILABLE, NEO_PROVIDER_RETRY_SECONDS,
                              needs ? apr_psprintf(call->pool,
                                                   "The attachment cannot be read until an administrator has corrected the "
                                                   "configuration of %s.",
                                                   needs)
                                    : "WhatsApp is unavailable. Try again later.");
}

/* ---------------------------------------------------------------- the start */

/* A request above the limit must not call Meta. */
static neo_problem *enter(neo_call *call, neo_download **download)
{
    *download = neo_download_enter(call->actor.organization, call->site->downloads, call->pool);
    return *download ? NULL
                     : neo_call_try_later(call, NEO_INTERNAL_UNAVAILABLE, BUSY_SECONDS,
                                          "The server reads as many attachments as it allows. Try again later.");
}

/* Sets *url. */
static neo_problem *read_url(neo_call *call, const neo_rows *message, const char *path, const char *token, const char **url)
{
    neo_provider_response answer;
    neo_reply reply;
    neo_call_read_provider(call, path, token, &answer);
    answer.token = token; /* neo_reply_read removes it from texts */
    if (answer.outcome != NEO_PROVIDER_RESPONDED)
        return unavailable(call, message, token ? META : NUMBER, answer.error);
    *url = answer.http_status == 200 ? neo_media_url(answer.body, call->pool) : NULL;
    if (*url)
        return NULL;
    neo_reply_read(&answer, call->pool, &reply);
    if (reply.title && reply.code == PARAMETER && can_be_expired(message))
        return expired(call);
    return unavailable(call, message, reply.verdict == NEO_VERDICT_FORBIDDEN ? NUMBER : META,
                       reply.title     ? reply.title
                       : reply.details ? reply.details
                                       : "no usable response");
}

static neo_problem *start(neo_call *call, const neo_rows *message, const char *token, const char *url, neo_download *download,
                          neo_download_head *head)
{
    const neo_request *request = call->request;
    if (request->host->start_download(request->context, download, url, token, head))
        return NULL;
    if ((head->http_status == 404 || head->http_status == 410) && can_be_expired(message))
        return expired(call);
    if (head->error && strcmp(head->error, "response_too_large") == 0)
        return no_media(call, "The attachment is larger than 100 MB.");
    int is_refused_here = head->error && strstr(head->error, "address"),
        is_forbidden = head->http_status == 401 || head->http_status == 403;
    return unavailable(call, message,
                       is_refused_here ? SERVER
                       : is_forbidden  ? NUMBER
                                       : META,
                       head->error ? head->error : apr_psprintf(call->pool, "HTTP status %d", head->http_status));
}

/* ---------------------------------------------------------------- the stream */

typedef struct {
    neo_stream stream;
    neo_call call; /* a copy, because the request's ends before the stream */
    apr_pool_t *principal_pool;
    neo_download *download;
    neo_text first;
} attachment;

static neo_stream_status next(neo_stream *stream, neo_text *part, const char **why)
{
    static const neo_stream_status statuses[] = {[NEO_DOWNLOAD_PART] = NEO_STREAM_PART,
                                                 [NEO_DOWNLOAD_WAIT] = NEO_STREAM_WAIT,
                                                 [NEO_DOWNLOAD_END] = NEO_STREAM_END,
                                                 [NEO_DOWNLOAD_FAILED] = NEO_STREAM_FAILED};
    attachment *a = stream->baton;
    if (neo_call_has_lost_access(&a->call, &a->principal_pool, why))
        return NEO_STREAM_FAILED;
    if (!a->first.len)
        return statuses[neo_download_next(a->download, PART_MS, part, why)];
    *part = a->first;
    a->first.len = 0;
    return NEO_STREAM_PART;
}

static void close_stream(neo_stream *stream)
{
    neo_download_close(((attachment *)stream->baton)->download);
}

static neo_problem *read_media(neo_call *call, neo_result *result)
{
    neo_pg *pg;
    neo_rows message;
    neo_download_head head;
    const char *url = NULL;
    neo_problem *problem = neo_call_check_streaming(call);
    if (!problem && !call->site->downloads)
        problem = neo_call_try_later(call, NEO_INTERNAL_UNAVAILABLE, NEO_PROVIDER_RETRY_SECONDS,
                                     "The server's configuration disables attachments.");
    if (problem || (problem = neo_call_acquire_for_id(call, &pg)))
        return problem;
    neo_pg_status status =
        neo_whatsapp_media(pg, &call->actor, call->match.id, call->match.subresource_id, call->pool, &message);
    neo_call_release(call, pg);
    if ((problem = neo_call_check_found(call, status, &message)))
        return problem;
    const char *path = neo_media_path(neo_rows_value(&message, 0, NEO_MEDIA_ID),
                                      neo_rows_value(&message, 0, NEO_MEDIA_PHONE_NUMBER_ID), call->pool);
    if (!path)
        return no_media(call, "The message has no attachment from the contact.");
    const char *token = neo_call_open_number(call, &message, 0, NEO_MEDIA_NUMBER).token;
    attachment *a = apr_pcalloc(call->pool, sizeof *a);
    if ((problem = enter(call, &a->download)))
        return problem;
    if ((problem = read_url(call, &message, path, token, &url)) ||
        (problem = start(call, &message, token, url, a->download, &head))) {
        neo_download_close(a->download);
        return problem;
    }
    a->stream = (neo_stream){.next = next, .close = close_stream, .baton = a};
    a->call = *call;
    a->first = head.first;
    const char *type = neo_media_type(neo_rows_value(&message, 0, NEO_MEDIA_TYPE), head.first, call->pool);
    neo_call_set_header(
        call, "Content-Disposition",
        neo_media_disposition(neo_rows_value(&message, 0, NEO_MEDIA_FILENAME), call->match.subresource_id, type, call->pool));
    *result = (neo_result){.status = 200, .stream = &a->stream, .media_type = type};
    return NULL;
}

const neo_operation neo_media_operations[] = {
    {.method = "GET",
     .path = "whatsapp/conversations/{id}/messages/{message_id}/media",
     .run = read_media,
     .access = NEO_ACCESS_READ,
     .status = 200,
     .prefix = "wam_",
     .subresource = "media",
     .resource = &neo_conversation,
     .media_type = "*/*",
     .problems = NEO_PROBLEM_BIT(NEO_NOT_FOUND_RESOURCE) | NEO_PROBLEM_BIT(NEO_INTERNAL_PROVIDER_UNAVAILABLE),
     .schema = "Media",
     .tag = "WhatsApp",
     .verb = "getMedia",
     .summary = "Download a contact's attachment",
     .doc =
         "Reads it from WhatsApp, which keeps it for seven days; it is not stored here. Then, and for a message without an "
         "attachment from the contact, the response is 404 `not_found.media`. The `Content-Type` is `media_mime_type` without "
         "parameters if the content matches it, otherwise `application/octet-stream`. `Content-Disposition` has a file name. "
         "It needs HTTP/1.1; a response that ends early closes the connection.",
     .answer = "The attachment."},
    {0},
};
