/* SPDX-License-Identifier: Apache-2.0 */
/* Sends with libcurl's multi interface and epoll (see webhooks/sender.h). */
#include "webhooks/sender.h"

#include <apr_strings.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/crypto.h"
#include "core/log.h"
#include "transfer.h"

#define MAX_BODY_BYTES              16384 /* in a receiver's response */
#define MAX_PROVIDER_RESPONSE_BYTES 1048576
#define MAX_EVENTS                  64    /* from one epoll_wait */
#define MAX_RETRY_AFTER_S           86400 /* a date in the past is negative */
#define NEVER                       (-1)

typedef struct transfer {
    struct transfer *next; /* while it is idle or delayed */
    neo_ms start_at;       /* neo_steady_ms; while it is delayed */
    neo_sender *sender;
    CURL *curl;
    struct curl_slist *headers;
    char *body;
    void *baton;
    neo_ms started;
    neo_transfer_guard guard;
    neo_received received;
} transfer;

struct neo_sender {
    neo_sender_settings settings;
    neo_sender_done done;
    CURLM *multi;
    transfer *idle, *delayed; /* delayed: the next one first */
    int epoll;                /* libcurl's sockets and `wake` */
    int wake;                 /* an eventfd */
    long long next_timeout;   /* neo_steady_ms of libcurl's next timeout, or NEVER */
    int has_progress;         /* in neo_sender_work: an attempt has ended, or neo_sender_wake was called */
};

void neo_sender_prepare(void)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        neo_log(NEO_LOG_NO_CURL, NULL,
                "libcurl cannot be initialized, so this process sends no webhooks and no WhatsApp messages");
}

/* ---------------------------------------------------------------- one transfer */

/* Keeps the excerpt, and aborts the transfer of a body that is too long. */
static size_t on_body(char *data, size_t size, size_t count, void *to)
{
    neo_received *received = to;
    neo_received_body(received, data, size * count);
    return received->body_bytes > MAX_BODY_BYTES ? 0 : size * count;
}

/* Connections of HTTP/1 only, because those of HTTP/2 have several responses at a time. The version is 0 before a response. */
static int on_progress(void *to, curl_off_t total, curl_off_t now, curl_off_t upload_total, curl_off_t upload_now)
{
    transfer *t = to;
    long version = 0;
    (void)total, (void)now, (void)upload_total, (void)upload_now;
    curl_easy_getinfo(t->curl, CURLINFO_HTTP_VERSION, &version);
    return (version == CURL_HTTP_VERSION_1_0 || version == CURL_HTTP_VERSION_1_1) && neo_received_too_much(&t->received);
}

/* Until 8.14, libcurl processes endless empty DATA frames of HTTP/2 within one call, which stops the thread and all its
 * deliveries. */
static void set_options(transfer *t)
{
    const neo_sender_settings *s = &t->sender->settings;
    CURL *curl = t->curl;
    int has_safe_http2 = curl_version_info(CURLVERSION_NOW)->version_num >= 0x080E00;
    neo_transfer_set_options(curl, s->allows_http, s->timeout, "neoapi-webhooks/" NEO_VERSION, &t->received.head);
    curl_easy_setopt(curl, CURLOPT_PRIVATE, t);
    curl_easy_setopt(curl, CURLOPT_QUICK_EXIT, 1L); /* otherwise a timeout waits for a name server that does not respond */
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, has_safe_http2 ? (long)CURL_HTTP_VERSION_2TLS : (long)CURL_HTTP_VERSION_1_1);
    neo_transfer_set_guard(curl, &t->guard);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &t->received);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, t);
    curl_easy_setopt(curl, CURLOPT_POST, 1L);
    if (s->ca_bundle)
        curl_easy_setopt(curl, CURLOPT_CAINFO, s->ca_bundle);
}

static transfer *new_transfer(neo_sender *sender)
{
    transfer *t = sender->idle;
    if (t) {
        sender->idle = t->next;
        return t;
    }
    t = calloc(1, sizeof *t);
    if (!t || !(t->curl = curl_easy_init())) {
        free(t);
        return NULL;
    }
    t->sender = sender;
    set_options(t);
    return t;
}

static void recycle(transfer *t)
{
    curl_slist_free_all(t->headers);
    free(t->body);
    t->headers = NULL;
    t->body = NULL;
    t->next = t->sender->idle;
    t->sender->idle = t;
}

/* Omits "Expect: 100-continue", which would cost a round trip. */
static int set_request(transfer *t, const char *url, const char *const *headers, int count, neo_text body)
{
    struct curl_slist *list = curl_slist_append(NULL, "Expect:");
    for (int i = 0; list && i < count; i++) {
        struct curl_slist *longer = curl_slist_append(list, headers[i]);
        if (!longer)
            curl_slist_free_all(list);
        list = longer;
    }
    t->headers = list;
    t->body = malloc(body.len + 1);
    if (!list || !t->body)
        return 0;
    memcpy(t->body, body.ptr, body.len);
    curl_easy_setopt(t->curl, CURLOPT_HTTPHEADER, list);
    curl_easy_setopt(t->curl, CURLOPT_POSTFIELDS, t->body);
    curl_easy_setopt(t->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.len);
    return curl_easy_setopt(t->curl, CURLOPT_URL, url) == CURLE_OK;
}

static int start_transfer(neo_sender *sender, transfer *t)
{
    t->started = neo_now_ms();
    return curl_multi_add_handle(sender->multi, t->curl) == CURLM_OK;
}

static void delay_transfer(neo_sender *sender, transfer *t, int delay)
{
    transfer **link = &sender->delayed;
    t->start_at = neo_steady_ms() + delay;
    while (*link && (*link)->start_at <= t->start_at)
        link = &(*link)->next;
    t->next = *link;
    *link = t;
}

static void start_delayed(neo_sender *sender)
{
    while (sender->delayed && sender->delayed->start_at <= neo_steady_ms()) {
        transfer *t = sender->delayed;
        sender->delayed = t->next;
        if (!sender->settings.may_start(t->baton))
            recycle(t);
        else if (!start_transfer(sender, t)) {
            sender->done(t->baton, &(neo_send_result){.error = "not_sent", .started = t->started});
            recycle(t);
        }
    }
}

int neo_sender_post(neo_sender *sender, const char *url, const char *const *headers, int count, neo_text body, int delay,
                    void *baton)
{
    transfer *t = new_transfer(sender);
    if (!t)
        return 0;
    t->baton = baton;
    t->guard = (neo_transfer_guard){.guard = sender->settings.guard};
    t->received = (neo_received){.socket = CURL_SOCKET_BAD};
    int is_set = set_request(t, url, headers, count, body);
    if (is_set && delay > 0)
        delay_transfer(sender, t, delay);
    if (is_set && (delay > 0 || start_transfer(sender, t)))
        return 1;
    recycle(t);
    return 0;
}

/* ---------------------------------------------------------------- results */

int neo_send_is_success(const neo_send_result *result)
{
    return !result->error && result->http_status >= 200 && result->http_status <= 299;
}

static void finish_transfer(neo_sender *sender, CURL *curl, CURLcode code)
{
    transfer *t;
    curl_off_t retry_after = 0, duration = 0;
    unsigned char random;
    neo_random(&random, sizeof random);
    curl_easy_getinfo(curl, CURLINFO_PRIVATE, (char **)&t);
    curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &retry_after);
    curl_easy_getinfo(curl, CURLINFO_TOTAL_TIME_T, &duration);
    int is_complete = code == CURLE_OK || (code == CURLE_WRITE_ERROR && t->received.body_bytes > MAX_BODY_BYTES);
    int has_response = is_complete && t->received.head.status;
    neo_send_result result = {
        .http_status = has_response ? t->received.head.status : 0,
        .error = has_response ? NULL : neo_transfer_error(curl, code, &t->guard),
        .excerpt = has_response ? neo_received_excerpt(&t->received) : NULL,
        .started = t->started,
        .duration = (int)((duration + 500) / 1000),
        .retry_after = (int)(retry_after < 0                   ? 0
                             : retry_after > MAX_RETRY_AFTER_S ? MAX_RETRY_AFTER_S
                                                               : retry_after),
        .jitter = random,
    };
    curl_multi_remove_handle(sender->multi, curl);
    sender->done(t->baton, &result);
    recycle(t);
}

/* ---------------------------------------------------------------- events */

/* libcurl reports its sockets and timeouts, and is called for ready sockets only: polling hundreds of them each time would cost
 * more than serving them. */

static int on_socket(CURL *curl, curl_socket_t socket, int what, void *data, void *is_known)
{
    neo_sender *sender = data;
    struct epoll_event event = {.data.fd = socket};
    transfer *t = NULL; /* stays NULL if libcurl closes an idle connection */
    curl_easy_getinfo(curl, CURLINFO_PRIVATE, (char **)&t);
    if (t && (what != CURL_POLL_REMOVE || t->received.socket == socket))
        t->received.socket = what == CURL_POLL_REMOVE ? CURL_SOCKET_BAD : socket;
    if (what == CURL_POLL_REMOVE)
        return epoll_ctl(sender->epoll, EPOLL_CTL_DEL, socket, NULL) != 0 && errno != ENOENT && errno != EBADF;
    event.events = (what & CURL_POLL_IN ? EPOLLIN : 0u) | (what & CURL_POLL_OUT ? EPOLLOUT : 0u);
    curl_multi_assign(sender->multi, socket, sender); /* sets is_known for the next call */
    if (epoll_ctl(sender->epoll, is_known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, socket, &event) == 0)
        return 0;
    return epoll_ctl(sender->epoll, is_known ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, socket, &event);
}

static int on_timer(CURLM *multi, long milliseconds, void *data)
{
    (void)multi;
    ((neo_sender *)data)->next_timeout = milliseconds < 0 ? NEVER : neo_steady_ms() + milliseconds;
    return 0;
}

static void drive_socket(neo_sender *sender, const struct epoll_event *event)
{
    uint64_t wakes;
    int running, flags = (event->events & EPOLLIN ? CURL_CSELECT_IN : 0) | (event->events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                         (event->events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
    if (event->data.fd == sender->wake)
        sender->has_progress |= read(sender->wake, &wakes, sizeof wakes) > 0;
    else
        curl_multi_socket_action(sender->multi, event->data.fd, flags, &running);
}

/* Processes what is ready, without waiting. */
static void process_ready(neo_sender *sender)
{
    struct epoll_event events[MAX_EVENTS];
    int count = epoll_wait(sender->epoll, events, MAX_EVENTS, 0), running, left;
    for (int i = 0; i < count; i++)
        drive_socket(sender, &events[i]);
    if (sender->next_timeout != NEVER && neo_steady_ms() >= sender->next_timeout) {
        sender->next_timeout = NEVER;
        curl_multi_socket_action(sender->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    }
    for (CURLMsg *message; (message = curl_multi_info_read(sender->multi, &left));)
        if (message->msg == CURLMSG_DONE) {
            finish_transfer(sender, message->easy_handle, message->data.result);
            sender->has_progress = 1;
        }
}

static int shorten(int milliseconds, neo_ms until)
{
    neo_ms left = until - neo_steady_ms();
    return left >= milliseconds ? milliseconds : left > 0 ? (int)left : 0;
}

static void wait_for_events(neo_sender *sender, int milliseconds, int socket)
{
    struct pollfd wanted[] = {{sender->epoll, POLLIN, 0}, {socket, POLLIN, 0}}; /* poll ignores -1 */
    if (sender->next_timeout != NEVER)
        milliseconds = shorten(milliseconds, sender->next_timeout);
    if (sender->delayed)
        milliseconds = shorten(milliseconds, sender->delayed->start_at);
    poll(wanted, 2, milliseconds);
}

/* Returns at once after progress, because that changes what the caller waits for. */
void neo_sender_work(neo_sender *sender, int milliseconds, int socket)
{
    sender->has_progress = 0;
    start_delayed(sender);
    process_ready(sender);
    if (sender->has_progress || milliseconds == 0)
        return;
    wait_for_events(sender, milliseconds, socket);
    start_delayed(sender);
    process_ready(sender);
}

void neo_sender_wake(neo_sender *sender)
{
    uint64_t one = 1;
    (void)!write(sender->wake, &one, sizeof one);
}

/* ---------------------------------------------------------------- one request to the provider */

typedef struct {
    neo_buf body;
    neo_received_head head;
} response_reader;

static size_t read_response(char *data, size_t size, size_t count, void *to)
{
    response_reader *reader = to;
    size_t len = size * count;
    if (reader->body.len + len > MAX_PROVIDER_RESPONSE_BYTES)
        return 0;
    neo_buf_add(&reader->body, data, len);
    return len;
}

static struct curl_slist *make_headers(const neo_provider_request *request, apr_pool_t *pool)
{
    const char *credential = request->key ? apr_pstrcat(pool, "X-API-Key: ", request->key, NULL)
                                          : apr_pstrcat(pool, "Authorization: Bearer ", request->token, NULL);
    const char *const lines[] = {"Content-Type: application/json", "Accept: application/json", "Expect:", credential};
    struct curl_slist *list = NULL;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct curl_slist *longer = curl_slist_append(list, lines[i]);
        if (!longer)
            abort();
        list = longer;
    }
    return list;
}

static void set_request_once(CURL *curl, const neo_provider_request *request, struct curl_slist *headers,
                             struct curl_slist *addresses, response_reader *reader)
{
    neo_transfer_set_options(curl, 1, request->timeout, "mod-neoapi/" NEO_VERSION, &reader->head);
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(curl, CURLOPT_FRESH_CONNECT, 1L);
    curl_easy_setopt(curl, CURLOPT_FORBID_REUSE, 1L);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, read_response);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, reader);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    if (request->body.ptr) {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->body.ptr);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.len);
    }
    curl_easy_setopt(curl, CURLOPT_URL, request->url);
    curl_easy_setopt(curl, CURLOPT_CONNECT_TO, addresses);
    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, addresses ? 0L : 1L);
    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, addresses ? 0L : 2L);
}

/* The outcome is "not sent" only if no byte of the request was sent. */
void neo_sender_request_once(const neo_provider_request *request, apr_pool_t *pool, neo_provider_response *response)
{
    response_reader reader = {.head = {0}};
    long sent = 0;
    neo_buf_init(&reader.body, pool, 2048);
    *response = (neo_provider_response){.outcome = NEO_PROVIDER_NOT_SENT, .error = "no_memory", .body = {"", 0}};
    CURL *curl = curl_easy_init();
    if (!curl)
        return;
    struct curl_slist *headers = make_headers(request, pool);
    struct curl_slist *addresses = request->address ? curl_slist_append(NULL, request->address) : NULL;
    set_request_once(curl, request, headers, addresses, &reader);
    CURLcode code = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_REQUEST_SIZE, &sent);
    int has_response = code == CURLE_OK && reader.head.status;
    response->outcome = has_response ? NEO_PROVIDER_RESPONDED : sent > 0 ? NEO_PROVIDER_NO_RESPONSE : NEO_PROVIDER_NOT_SENT;
    response->error = has_response ? NULL : neo_transfer_error(curl, code, NULL);
    response->http_status = has_response ? reader.head.status : 0;
    response->body = neo_buf_text(&reader.body);
    curl_slist_free_all(headers);
    curl_slist_free_all(addresses);
    curl_easy_cleanup(curl);
}

/* ---------------------------------------------------------------- creation */

static apr_status_t destroy_sender(void *data)
{
    neo_sender *sender = data;
    while (sender->delayed) {
        transfer *t = sender->delayed;
        sender->delayed = t->next;
        recycle(t);
    }
    while (sender->idle) {
        transfer *t = sender->idle;
        sender->idle = t->next;
        curl_easy_cleanup(t->curl);
        free(t);
    }
    curl_multi_cleanup(sender->multi);
    curl_global_cleanup();
    close(sender->wake);
    close(sender->epoll);
    return APR_SUCCESS;
}

neo_sender *neo_sender_make(const neo_sender_settings *settings, neo_sender_done done, apr_pool_t *pool)
{
    neo_sender *sender = apr_pcalloc(pool, sizeof *sender);
    sender->settings = *settings;
    sender->done = done;
    sender->next_timeout = NEVER;
    sender->epoll = epoll_create1(EPOLL_CLOEXEC);
    sender->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = sender->wake};
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK || !(sender->multi = curl_multi_init()) ||
        epoll_ctl(sender->epoll, EPOLL_CTL_ADD, sender->wake, &event) != 0) {
        neo_log(NEO_LOG_NO_CURL, NULL, "libcurl cannot be initialized, so this process delivers no webhooks");
        return NULL;
    }
    curl_multi_setopt(sender->multi, CURLMOPT_MAXCONNECTS, (long)settings->max);
    curl_multi_setopt(sender->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(sender->multi, CURLMOPT_SOCKETDATA, sender);
    curl_multi_setopt(sender->multi, CURLMOPT_TIMERFUNCTION, on_timer);
    curl_multi_setopt(sender->multi, CURLMOPT_TIMERDATA, sender);
    apr_pool_cleanup_register(pool, sender, destroy_sender, apr_pool_cleanup_null);
    return sender;
}
