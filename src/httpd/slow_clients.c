/* SPDX-License-Identifier: Apache-2.0 */
/* Disconnects slow clients (see httpd/slow_clients.h). httpd's own limit, Timeout, starts anew with each byte that a client
 * takes, and a blocking write of an HTTP/2 stream cannot be given one. So a thread looks at all waits and shuts sockets down,
 * which ends any read or write. */
#include "httpd/slow_clients.h"

#include <ap_mpm.h>
#include <apr_hash.h>
#include <apr_portable.h>
#include <apr_ring.h>
#include <apr_siphash.h>
#include <apr_strings.h>
#include <arpa/inet.h>
#include <http_connection.h>
#include <http_core.h>
#include <http_protocol.h>
#include <linux/tcp.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <util_filter.h>

#include "core/crypto.h"
#include "core/thread.h"
#include "httpd/config.h"

#define FILTER        "NEOAPI_SLOW_CLIENTS"
#define FILTER_TYPE   (AP_FTYPE_CONNECTION + 7) /* between mod_ssl's and mod_reqtimeout's filters */
#define SLOW_MS       1000                      /* a client that was waited for longer is counted */
#define PIECE_BYTES   16384                     /* a client must read so many in PIECE_MS */
#define PIECE_MS      10000
#define TICK_MS       100
#define IDLE_TICKS    50 /* the thread sleeps after so many without waits */
#define MIN_EACH      8  /* every credential and address may have so many waits */
#define EACH_FRACTION 16 /* or the number of threads divided by this, if that is more */
#define LOG_PERIOD_MS 60000
#define NETWORK_BYTES 8 /* the network's part of an IPv6 address: one client has all addresses of a network */

typedef enum wait_kind { READ, WRITE, BODY } wait_kind;

/* The limits and waits of the current request, or of the latest one if the connection has several streams. */
typedef struct request_state {
    neo_ms piece_ms, end;
    neo_ms waited; /* milliseconds before the current wait */
    int is_other;  /* the virtual host does not have the API */
} request_state;

/* A connection, or a stream of HTTP/2. It is in the ring while a thread waits for it. */
typedef struct client {
    APR_RING_ENTRY(client) link;
    int socket;
    uint64_t credential, address; /* hashes; 0 if there is no credential */
    request_state request;
    int depth; /* the number of nested waits */
    neo_ms began, deadline;
    uint64_t acknowledged; /* bytes, when the deadline was set */
    wait_kind kind;
    int is_slow, is_refused;
} client;

APR_RING_HEAD(client_ring, client);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static struct client_ring waiting;
static apr_pool_t *tick_pool;    /* what the thread needs for one look at the waits */
static int is_asleep, is_ending; /* the thread */
static int max, max_each, is_async;
static int refused; /* clients, since the last message */
static neo_ms logged_at;
static unsigned char key[APR_SIPHASH_KSIZE];

static client *client_at(const conn_rec *c)
{
    return ap_get_module_config(c->conn_config, &neoapi_module);
}

/* ---------------------------------------------------------------- the thread */

/* The number of bytes that the client's system has received. Unlike the number that was written, it grows during a write. */
static uint64_t acknowledged_bytes(int socket)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof info;
    return getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 ? info.tcpi_bytes_acked : 0;
}

static neo_ms next_deadline(const client *each, neo_ms now)
{
    neo_ms deadline = now + each->request.piece_ms;
    return each->request.end && each->request.end < deadline ? each->request.end : deadline;
}

static int is_overdue(client *each, neo_ms now)
{
    if (each->kind != WRITE)
        return 0;
    uint64_t acknowledged = acknowledged_bytes(each->socket);
    if (acknowledged - each->acknowledged >= PIECE_BYTES) {
        each->acknowledged = acknowledged;
        each->deadline = next_deadline(each, now);
    }
    return now > each->deadline;
}

/* The number of slow waits of a credential or an address. */
static int *counter(apr_hash_t *counts, const uint64_t *caller)
{
    int *count = apr_hash_get(counts, caller, sizeof *caller);
    if (!count) {
        count = apr_pcalloc(tick_pool, sizeof *count);
        apr_hash_set(counts, caller, sizeof *caller, count);
    }
    return count;
}

static void refuse(client *each)
{
    each->is_slow = 0;
    each->is_refused = 1;
    refused++;
    if (each->kind != BODY)
        shutdown(each->socket, SHUT_RDWR);
}

/* The waits are in the order of their beginnings, so that the newest ones are refused. */
static void check_waits(neo_ms now)
{
    int total = 0;
    if (APR_RING_EMPTY(&waiting, client, link))
        return;
    apr_pool_clear(tick_pool);
    apr_hash_t *credentials = apr_hash_make(tick_pool), *addresses = apr_hash_make(tick_pool);
    for (client *each = APR_RING_FIRST(&waiting); each != APR_RING_SENTINEL(&waiting, client, link);
         each = APR_RING_NEXT(each, link)) {
        const request_state *request = &each->request;
        each->is_slow = !each->is_refused && !request->is_other && request->waited + now - each->began > SLOW_MS;
        if (!each->is_slow)
            continue;
        int *credential_waits = counter(credentials, &each->credential), *address_waits = counter(addresses, &each->address);
        if (is_overdue(each, now) || total >= max || (each->credential && *credential_waits >= max_each) ||
            *address_waits >= max_each)
            refuse(each);
        else {
            total++;
            ++*credential_waits;
            ++*address_waits;
        }
    }
}

static void watch(void *data)
{
    int idle_ticks = 0;
    (void)data;
    pthread_mutex_lock(&mutex);
    while (!is_ending) {
        neo_ms now = neo_steady_ms();
        idle_ticks = APR_RING_EMPTY(&waiting, client, link) ? idle_ticks + 1 : 0;
        check_waits(now);
        if (refused && now - logged_at >= LOG_PERIOD_MS) {
            neo_log(NEO_LOG_SLOW_CLIENTS, NULL, "%d slow clients disconnected or refused", refused);
            refused = 0;
            logged_at = now;
        }
        is_asleep = idle_ticks > IDLE_TICKS && !refused;
        if (is_asleep)
            pthread_cond_wait(&changed, &mutex);
        else
            (void)neo_cond_wait(&changed, &mutex, neo_steady_ms() + TICK_MS);
        is_asleep = 0;
    }
    pthread_mutex_unlock(&mutex);
}

static void stop_watch(void *data)
{
    (void)data;
    pthread_mutex_lock(&mutex);
    is_ending = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutex);
}

void neo_slow_clients_start(apr_pool_t *pchild)
{
    int threads = 0;
    ap_mpm_query(AP_MPMQ_IS_ASYNC, &is_async);
    ap_mpm_query(AP_MPMQ_MAX_THREADS, &threads);
    max = threads < 2 ? 1 : threads / 2;
    max_each = threads / EACH_FRACTION > MIN_EACH ? threads / EACH_FRACTION : MIN_EACH;
    neo_random(key, sizeof key);
    APR_RING_INIT(&waiting, client, link);
    logged_at = neo_steady_ms() - LOG_PERIOD_MS;
    neo_cond_init(&changed);
    apr_pool_create(&tick_pool, pchild);
    neo_thread_start(pchild, watch, stop_watch, NULL);
}

/* ---------------------------------------------------------------- waits */

/* While a body is waited for, TLS or httpd's errors can write; that belongs to the same wait. */
static void begin_wait(client *own, wait_kind kind)
{
    neo_ms now = neo_steady_ms();
    if (own->depth++)
        return;
    own->kind = kind;
    own->began = now;
    own->acknowledged = 0; /* most waits end before it is read */
    pthread_mutex_lock(&mutex);
    own->deadline = next_deadline(own, now);
    APR_RING_INSERT_TAIL(&waiting, own, client, link);
    if (is_asleep)
        pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutex);
}

static void end_wait(client *own)
{
    if (--own->depth)
        return;
    pthread_mutex_lock(&mutex);
    APR_RING_REMOVE(own, link);
    own->request.waited += neo_steady_ms() - own->began;
    pthread_mutex_unlock(&mutex);
}

void neo_slow_clients_begin_body(const conn_rec *c)
{
    begin_wait(client_at(c), BODY);
}

void neo_slow_clients_end_body(const conn_rec *c)
{
    end_wait(client_at(c));
    client_at(c)->is_refused = 0; /* the response is waited for as any other */
}

int neo_slow_clients_is_refused(const conn_rec *c)
{
    pthread_mutex_lock(&mutex);
    int is_refused = client_at(c)->is_refused;
    pthread_mutex_unlock(&mutex);
    return is_refused;
}

void neo_slow_clients_disconnect(const conn_rec *c)
{
    shutdown(client_at(c)->socket, SHUT_RDWR);
}

static apr_status_t on_read(ap_filter_t *filter, apr_bucket_brigade *brigade, ap_input_mode_t mode, apr_read_type_e how,
                            apr_off_t bytes)
{
    client *own = filter->ctx;
    if (how == APR_NONBLOCK_READ)
        return ap_get_brigade(filter->next, brigade, mode, how, bytes);
    begin_wait(own, READ);
    apr_status_t rv = ap_get_brigade(filter->next, brigade, mode, how, bytes);
    end_wait(own);
    return rv;
}

static apr_status_t on_write(ap_filter_t *filter, apr_bucket_brigade *brigade)
{
    client *own = filter->ctx;
    begin_wait(own, WRITE);
    apr_status_t rv = ap_pass_brigade(filter->next, brigade);
    end_wait(own);
    return rv;
}

/* ---------------------------------------------------------------- connections and requests */

static uint64_t hash(const void *data, apr_size_t len)
{
    return apr_siphash24(data, len, key);
}

/* The addresses of an IPv6 /64 network count as one. */
static uint64_t hash_address(const char *address)
{
    struct in6_addr network;
    return inet_pton(AF_INET6, address, &network) == 1 ? hash(&network, NETWORK_BYTES) : hash(address, strlen(address));
}

/* Without an asynchronous MPM a thread also waits for the next request of an idle connection, which KeepAliveTimeout limits. */
static int on_connection(conn_rec *c, void *socket)
{
    if (!max || c->outgoing)
        return DECLINED;
    client *own = apr_pcalloc(c->pool, sizeof *own);
    apr_os_sock_get(&own->socket, c->master ? ap_get_conn_socket(c->master) : socket);
    own->address = hash_address(c->client_ip);
    own->request.piece_ms = PIECE_MS;
    ap_set_module_config(c->conn_config, &neoapi_module, own);
    if (is_async && !c->master)
        ap_add_input_filter(FILTER, own, NULL, c);
    ap_add_output_filter(FILTER, own, NULL, c);
    return OK;
}

/* The thread of a connection with HTTP/2 waits for the clients of its streams, too. */
static void set_request_state(const conn_rec *c, request_state request)
{
    pthread_mutex_lock(&mutex);
    for (; c; c = c->master)
        client_at(c)->request = request;
    pthread_mutex_unlock(&mutex);
}

static int on_request(request_rec *r)
{
    client *own = client_at(r->connection);
    if (!own)
        return DECLINED;
    own->address = hash_address(r->useragent_ip);
    own->credential = 0;
    own->is_refused = 0;
    set_request_state(r->connection,
                      (request_state){.piece_ms = PIECE_MS, .is_other = !neo_get_server_config(r->server)->site});
    return DECLINED;
}

void neo_slow_clients_set_credential(const conn_rec *c, const char *credential)
{
    client_at(c)->credential = hash(credential, strlen(credential));
}

void neo_slow_clients_set_times(const conn_rec *c, neo_ms piece_ms, neo_ms end_at)
{
    set_request_state(c, (request_state){.piece_ms = piece_ms, .end = end_at});
}

void neo_slow_clients_register(void)
{
    ap_register_input_filter(FILTER, on_read, NULL, FILTER_TYPE);
    ap_register_output_filter(FILTER, on_write, NULL, FILTER_TYPE);
    ap_hook_pre_connection(on_connection, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_post_read_request(on_request, NULL, NULL, APR_HOOK_MIDDLE);
}
