/* SPDX-License-Identifier: Apache-2.0 */
/* Downloads with libcurl (see webhooks/download.h). */
#include "webhooks/download.h"

#include <apr_strings.h>
#include <pthread.h>
#include <string.h>

#include "core/clock.h"
#include "core/id.h"
#include "transfer.h"

#define BUFFER_BYTES      (2 * CURL_MAX_WRITE_SIZE) /* libcurl passes at most CURL_MAX_WRITE_SIZE at a time */
#define MAX_WAIT_MS       120000 /* for the provider, in all; the time that the client takes does not count */
#define ORIGIN_SIZE       300
#define MEDIA_ORIGIN      "https://lookaside.fbsbx.com:443" /* serves the attachments of Meta's Cloud API */
#define ORGANIZATION_PART 2                                 /* an organization can have half of the downloads */

struct neo_download {
    neo_download *next; /* in `all` */
    apr_pool_t *pool;
    char owner[NEO_ID_SIZE];
    neo_transfer_guard guard;
    CURLM *multi;
    CURL *curl;
    struct curl_slist *headers;
    neo_received_head head;
    int is_paused, is_done;
    CURLcode code;          /* once it is done */
    int timeout;            /* milliseconds */
    long long idle, waited; /* milliseconds: since the last bytes, and in all */
    long long received;     /* bytes */
    size_t len;             /* the used part of `data` */
    char data[BUFFER_BYTES];
};

/* ---------------------------------------------------------------- where the token may go */

/* Writes "https://host:443". Returns false for a URL with a user, or without a scheme. */
static int read_origin(const char *text, char out[ORIGIN_SIZE])
{
    CURLU *url = curl_url();
    char *scheme = NULL, *host = NULL, *port = NULL, *user = NULL;
    int is_read = url && curl_url_set(url, CURLUPART_URL, text, 0) == CURLUE_OK &&
                  curl_url_get(url, CURLUPART_USER, &user, 0) == CURLUE_NO_USER &&
                  curl_url_get(url, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
                  curl_url_get(url, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
                  curl_url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK &&
                  apr_snprintf(out, ORIGIN_SIZE, "%s://%s:%s", scheme, host, port) < ORIGIN_SIZE - 1;
    curl_free(scheme);
    curl_free(host);
    curl_free(port);
    curl_free(user);
    curl_url_cleanup(url);
    return is_read;
}

int neo_download_is_trusted(const char *url, const char *provider_url)
{
    char origin[ORIGIN_SIZE], provider[ORIGIN_SIZE];
    return read_origin(url, origin) && read_origin(provider_url, provider) &&
           (strcasecmp(origin, provider) == 0 || strcasecmp(origin, MEDIA_ORIGIN) == 0);
}

/* ---------------------------------------------------------------- how many there are */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static neo_download *all;

static int enter(neo_download *d, int max)
{
    int count = 0, same = 0, share = max > ORGANIZATION_PART ? max / ORGANIZATION_PART : 1;
    pthread_mutex_lock(&mutex);
    for (const neo_download *one = all; one; one = one->next) {
        count++;
        same += strcmp(one->owner, d->owner) == 0;
    }
    int is_entered = count < max && same < share;
    if (is_entered) {
        d->next = all;
        all = d;
    }
    pthread_mutex_unlock(&mutex);
    return is_entered;
}

static void leave(neo_download *d)
{
    pthread_mutex_lock(&mutex);
    for (neo_download **at = &all; *at; at = &(*at)->next)
        if (*at == d) {
            *at = d->next;
            break;
        }
    pthread_mutex_unlock(&mutex);
}

/* ---------------------------------------------------------------- the transfer */

/* The body of an error is not read. */
static size_t on_data(char *data, size_t size, size_t count, void *to)
{
    neo_download *d = to;
    size_t len = size * count;
    if (d->head.status != 200 || d->received + (long long)len > NEO_DOWNLOAD_MAX_BYTES)
        return 0;
    if (d->len + len > sizeof d->data) {
        d->is_paused = 1;
        return CURL_WRITEFUNC_PAUSE;
    }
    memcpy(d->data + d->len, data, len);
    d->len += len;
    d->received += (long long)len;
    return len;
}

static void set_options(neo_download *d, const neo_download_request *request)
{
    CURL *curl = d->curl;
    neo_transfer_set_options(curl, 1, request->timeout, "mod-neoapi/" NEO_VERSION, &d->head);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, 0L);
    curl_easy_setopt(curl, CURLOPT_QUICK_EXIT, 1L);
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(curl, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)NEO_DOWNLOAD_MAX_BYTES);
    neo_transfer_set_guard(curl, &d->guard);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_data);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, d);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, d->headers);
    curl_easy_setopt(curl, CURLOPT_URL, request->url);
}

/* Waits until there are `min` bytes, or no more will come. */
static void collect(neo_download *d, int milliseconds, size_t min)
{
    long long start = neo_steady_ms(), left = milliseconds;
    if (d->is_paused) {
        d->is_paused = 0;
        curl_easy_pause(d->curl, CURLPAUSE_CONT);
    }
    for (int running, others; !d->is_done; left = milliseconds - (neo_steady_ms() - start)) {
        curl_multi_perform(d->multi, &running);
        for (CURLMsg *message; (message = curl_multi_info_read(d->multi, &others));)
            if (message->msg == CURLMSG_DONE) {
                d->is_done = 1;
                d->code = message->data.result;
            }
        if (d->len >= min || d->is_paused || d->is_done || left <= 0)
            break;
        curl_multi_poll(d->multi, NULL, 0, (int)left, NULL);
    }
    long long spent = neo_steady_ms() - start;
    d->waited += spent;
    d->idle = d->len ? 0 : d->idle + spent;
}

static const char *describe_failure(const neo_download *d)
{
    return d->is_done ? neo_transfer_error(d->curl, d->code, &d->guard) : "timeout";
}

neo_download_status neo_download_next(neo_download *d, int milliseconds, neo_text *part, const char **why)
{
    d->len = 0;
    collect(d, milliseconds, 1);
    *part = (neo_text){d->data, d->len};
    if (d->len)
        return NEO_DOWNLOAD_PART;
    if (d->is_done && d->code == CURLE_OK)
        return NEO_DOWNLOAD_END;
    if (!d->is_done && d->idle < d->timeout && d->waited < MAX_WAIT_MS)
        return NEO_DOWNLOAD_WAIT;
    *why = describe_failure(d);
    return NEO_DOWNLOAD_FAILED;
}

/* ---------------------------------------------------------------- the start and the end */

static apr_status_t clean_up(void *data)
{
    neo_download *d = data;
    leave(d);
    if (d->multi && d->curl)
        curl_multi_remove_handle(d->multi, d->curl);
    curl_easy_cleanup(d->curl);
    curl_multi_cleanup(d->multi);
    curl_slist_free_all(d->headers);
    return APR_SUCCESS;
}

void neo_download_close(neo_download *d)
{
    apr_pool_cleanup_run(d->pool, d, clean_up);
}

static int send_request(neo_download *d, const neo_download_request *request)
{
    d->multi = curl_multi_init();
    d->curl = curl_easy_init();
    d->headers = curl_slist_append(NULL, apr_pstrcat(d->pool, "Authorization: Bearer ", request->token, NULL));
    if (!d->multi || !d->curl || !d->headers)
        return 0;
    set_options(d, request);
    return curl_multi_add_handle(d->multi, d->curl) == CURLM_OK;
}

/* Waits for the first part. Returns false, and sets head->error, if there is no complete response with status 200. */
static int await_response(neo_download *d, neo_download_head *head)
{
    collect(d, d->timeout, NEO_DOWNLOAD_FIRST_BYTES);
    int is_complete = d->is_done ? d->code == CURLE_OK : d->len > 0;
    head->http_status = d->head.status;
    head->first = (neo_text){d->data, d->len};
    if (head->http_status && head->http_status != 200)
        return 0;
    head->error = is_complete && head->http_status ? NULL : describe_failure(d);
    return !head->error;
}

neo_download *neo_download_enter(const char *owner, int max, apr_pool_t *pool)
{
    neo_download *d = apr_pcalloc(pool, sizeof *d);
    d->pool = pool;
    apr_cpystrn(d->owner, owner, sizeof d->owner);
    if (!enter(d, max))
        return NULL;
    apr_pool_cleanup_register(pool, d, clean_up, apr_pool_cleanup_null);
    return d;
}

int neo_download_start(neo_download *d, const neo_download_request *request, neo_download_head *head)
{
    *head = (neo_download_head){.first = {"", 0}};
    d->guard = (neo_transfer_guard){.guard = request->guard};
    d->timeout = 1000 * request->timeout;
    if (!neo_download_is_trusted(request->url, request->provider_url))
        head->error = "address_not_trusted";
    else if (!send_request(d, request))
        head->error = "no_memory";
    else
        return await_response(d, head);
    return 0;
}
