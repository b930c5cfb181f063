/* SPDX-License-Identifier: Apache-2.0 */
/* A fake PostgreSQL server: the part of protocol version 3 that our statements use. A test determines the responses: rows,
 * errors, or a closed connection. It runs in threads of the test and listens on a Unix socket. */
#ifndef NEO_TESTS_FAKE_PG_H
#define NEO_TESTS_FAKE_PG_H

#include "unit.h"

#include <apr_hash.h>
#include <apr_strings.h>
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "pg/pg.h"

#define FAKE_MAX 32 /* parameters, columns */

/* The response to a statement. `values` has `columns` texts for each row, NULL for null. */
typedef struct {
    const char *error; /* an SQLSTATE instead of rows, or after them with DIES_AFTER; class 57P ends the connection */
    const char *constraint;
    int columns, rows;
    const char *const *values;
    enum { FAKE_LIVES, FAKE_DIES_BEFORE, FAKE_DIES_AFTER } fate; /* the connection ends without a response, or after the rows */
} fake_reply;

typedef struct fake_pg fake_pg;

/* Called in the connection's thread for each statement that is executed. */
typedef void (*fake_answer)(fake_pg *fake, const char *sql, const char *const *values, fake_reply *reply);

struct fake_pg {
    fake_answer answer;
    void *data; /* for the test */
    int listening;
    char directory[40], path[64];
    pthread_t thread;
    atomic_int connections;              /* accepted so far */
    atomic_int prepared, executed, died; /* statements and ended connections so far */
    atomic_int has_prepared;             /* each statement is known already, as on a pooler's connection */
    atomic_int refuses;                  /* new connections are closed at once, */
    const char *refusal;                 /* or refused with this SQLSTATE */
    atomic_int latest;                   /* the latest connection's socket */
    atomic_int running;                  /* threads of connections */
};

#define FAKE_END_MS 5000 /* until the threads of closed connections must have ended */

/* One connection. */
typedef struct {
    fake_pg *fake;
    int socket;
    apr_pool_t *pool;
    apr_hash_t *statements; /* name: SQL */
    const char *sql;        /* of the bound statement */
    const char *values[FAKE_MAX];
    neo_buf out;
    int failed; /* until Sync */
    char state; /* 'I' outside a transaction, 'T' in one, 'E' in a failed one */
} fake_session;

/* The value of the parameter after a piece of a statement, "t.xmin = ", alone or as "(select $3)"; NULL if the statement has no
 * such piece. */
static inline const char *fake_value(const char *sql, const char *const *values, const char *piece)
{
    static const char select[] = "(select ";
    const char *at = strstr(sql, piece);
    if (!at)
        return NULL;
    at += strlen(piece);
    at += strncmp(at, select, sizeof select - 1) == 0 ? sizeof select - 1 : 0;
    return *at == '$' ? values[atoi(at + 1) - 1] : NULL;
}

/* The value of a field in a write of one row, whose CTE item has "$4::text as name"; NULL if the statement has no such piece.
 */
static inline const char *fake_field(const char *sql, const char *const *values, const char *name)
{
    char piece[60];
    snprintf(piece, sizeof piece, " as %s", name);
    for (const char *at = sql; (at = strstr(at, piece)); at++)
        if (strchr(",)", at[strlen(piece)])) {
            while (*at != '$')
                at--;
            return values[atoi(at + 1) - 1];
        }
    return NULL;
}

/* ---------------------------------------------------------------- messages */

static inline int fake_read(int from, void *into, size_t len)
{
    for (size_t done = 0; done < len;) {
        ssize_t got = read(from, (char *)into + done, len - done);
        if (got <= 0 && errno != EINTR)
            return 0;
        done += got > 0 ? (size_t)got : 0;
    }
    return 1;
}

static inline void fake_number(neo_buf *out, int bytes, int number)
{
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
        neo_buf_putc(out, (char)(number >> shift));
}

static inline int fake_int(const char **at, int bytes)
{
    unsigned number = 0;
    while (bytes--)
        number = number << 8 | (unsigned char)*(*at)++;
    return (int)number; /* a length of -1 means NULL */
}

/* Adds a message: its type, its length, its content. */
static inline void fake_send(fake_session *s, char type, const char *content, apr_size_t len)
{
    neo_buf_putc(&s->out, type);
    fake_number(&s->out, 4, (int)len + 4);
    neo_buf_add(&s->out, content, len);
}

static inline void fake_send_buf(fake_session *s, char type, const neo_buf *content)
{
    fake_send(s, type, content->ptr, content->len);
}

static inline int fake_flush(fake_session *s)
{
    ssize_t sent = send(s->socket, s->out.ptr, s->out.len, MSG_NOSIGNAL);
    int all = sent == (ssize_t)s->out.len;
    s->out.len = 0;
    return all;
}

static inline void fake_add_text(neo_buf *out, const char *text)
{
    neo_buf_add(out, text, strlen(text) + 1);
}

static inline void fake_send_error(fake_session *s, const char *state, const char *constraint)
{
    neo_buf out;
    neo_buf_init(&out, s->pool, 64);
    fake_add_text(&out, "SERROR");
    neo_buf_putc(&out, 'C');
    fake_add_text(&out, state);
    fake_add_text(&out, "Mas requested by the test");
    if (constraint) {
        neo_buf_putc(&out, 'n');
        fake_add_text(&out, constraint);
    }
    neo_buf_putc(&out, '\0');
    fake_send_buf(s, 'E', &out);
}

static inline void fake_send_rows(fake_session *s, const fake_reply *reply)
{
    neo_buf out;
    neo_buf_init(&out, s->pool, 256);
    fake_number(&out, 2, reply->columns);
    for (int c = 0; c < reply->columns; c++) {
        fake_add_text(&out, "c");
        fake_number(&out, 4, 0);
        fake_number(&out, 2, 0);
        fake_number(&out, 4, 25); /* text */
        fake_number(&out, 2, -1);
        fake_number(&out, 4, -1);
        fake_number(&out, 2, 0);
    }
    fake_send_buf(s, 'T', &out);
    for (int r = 0; r < reply->rows; r++) {
        out.len = 0;
        fake_number(&out, 2, reply->columns);
        for (int c = 0; c < reply->columns; c++) {
            const char *value = reply->values[r * reply->columns + c];
            fake_number(&out, 4, value ? (int)strlen(value) : -1);
            neo_buf_puts(&out, value ? value : "");
        }
        fake_send_buf(s, 'D', &out);
    }
    const char *tag = strcmp(s->sql, "commit") != 0 ? "SELECT 1" : s->state == 'E' ? "ROLLBACK" : "COMMIT";
    fake_send(s, 'C', tag, strlen(tag) + 1);
}

/* Changes the transaction state as the statement does. */
static inline void fake_transact(fake_session *s, int is_done)
{
    if (!is_done)
        s->state = s->state == 'I' ? 'I' : 'E';
    else if (strncmp(s->sql, "begin", 5) == 0 || strncmp(s->sql, "rollback to", 11) == 0)
        s->state = 'T';
    else if (strcmp(s->sql, "commit") == 0 || strcmp(s->sql, "rollback") == 0)
        s->state = 'I';
}

/* ---------------------------------------------------------------- connections */

/* Executes the bound statement. Returns false if the connection ends. SET statements are not passed to the test. */
static inline int fake_execute(fake_session *s)
{
    fake_reply reply = {.columns = 1};
    if (strncmp(s->sql, "select set_config(", 18) == 0) {
        fake_send_rows(s, &reply);
        return 1;
    }
    reply.columns = 0;
    s->fake->answer(s->fake, s->sql, s->values, &reply);
    atomic_fetch_add(&s->fake->executed, 1);
    if (reply.fate == FAKE_DIES_AFTER || (reply.fate == FAKE_LIVES && !reply.error))
        fake_send_rows(s, &reply);
    if (reply.error)
        fake_send_error(s, reply.error, reply.constraint);
    s->failed = reply.error != NULL;
    fake_transact(s, !reply.error);
    if (reply.fate == FAKE_LIVES && (!reply.error || strncmp(reply.error, "57P", 3) != 0))
        return 1;
    atomic_fetch_add(&s->fake->died, 1);
    fake_flush(s);
    return 0;
}

static inline void fake_bind(fake_session *s, const char *at)
{
    at += strlen(at) + 1; /* the portal */
    s->sql = apr_hash_get(s->statements, at, APR_HASH_KEY_STRING);
    at += strlen(at) + 1;
    for (int formats = fake_int(&at, 2); formats > 0; formats--)
        at += 2;
    int count = fake_int(&at, 2);
    for (int i = 0; i < count && i < FAKE_MAX; i++) {
        int len = fake_int(&at, 4);
        s->values[i] = len < 0 ? NULL : apr_pstrmemdup(s->pool, at, (apr_size_t)len);
        at += len > 0 ? len : 0;
    }
    if (s->sql)
        fake_send(s, '2', "", 0);
    else
        fake_send_error(s, "26000", NULL);
    s->failed = !s->sql;
}

/* Handles one message. Returns false if the connection ends. */
static inline int fake_handle_message(fake_session *s, char type, const char *content)
{
    if (type == 'X')
        return 0;
    if (type == 'S' || type == 'Q') {
        s->failed = 0;
        s->sql = content;
        if (type == 'Q' && !fake_execute(s))
            return 0;
        s->failed = 0;
        fake_send(s, 'Z', &s->state, 1);
        return fake_flush(s);
    }
    if (s->failed)
        return 1;
    if (type == 'P') {
        const char *sql = content + strlen(content) + 1;
        int is_known = *content && atomic_load(&s->fake->has_prepared);
        apr_hash_set(s->statements, apr_pstrdup(s->pool, content), APR_HASH_KEY_STRING, apr_pstrdup(s->pool, sql));
        atomic_fetch_add(&s->fake->prepared, 1);
        s->failed = is_known;
        if (!is_known)
            fake_send(s, '1', "", 0);
        else {
            fake_send_error(s, "42P05", NULL);
            fake_transact(s, 0);
        }
    } else if (type == 'B')
        fake_bind(s, content);
    return type == 'E' ? fake_execute(s) : 1;
}

/* The start-up message has no type. No password is required. */
static inline int fake_handshake(fake_session *s)
{
    char head[8];
    const char *at = head;
    if (!fake_read(s->socket, head, sizeof head) || atomic_load(&s->fake->refuses))
        return 0;
    int rest = fake_int(&at, 4) - (int)sizeof head;
    if (!fake_read(s->socket, apr_palloc(s->pool, (apr_size_t)rest + 1), (size_t)rest))
        return 0;
    if (s->fake->refusal) {
        fake_send_error(s, s->fake->refusal, NULL);
        fake_flush(s);
        return 0;
    }
    fake_send(s, 'R', "\0\0\0\0", 4);
    fake_send(s, 'S', "client_encoding\0UTF8", 21);
    fake_send(s, 'S', "server_version\00015.0", 20);
    fake_send(s, 'K', "\0\0\0\1\0\0\0\1", 8);
    s->state = 'I';
    fake_send(s, 'Z', &s->state, 1);
    return fake_flush(s);
}

static inline void *fake_serve(void *data)
{
    fake_session *s = data;
    char type, head[4];
    for (int goes_on = fake_handshake(s); goes_on && fake_read(s->socket, &type, 1) && fake_read(s->socket, head, 4);) {
        const char *at = head;
        apr_size_t len = (apr_size_t)fake_int(&at, 4) - 4;
        char *content = apr_pcalloc(s->pool, len + 1);
        goes_on = fake_read(s->socket, content, len) && fake_handle_message(s, type, content);
    }
    fake_pg *fake = s->fake;
    close(s->socket);
    apr_pool_destroy(s->pool);
    atomic_fetch_sub(&fake->running, 1);
    return NULL;
}

static inline void *fake_listen(void *data)
{
    fake_pg *fake = data;
    for (int client; (client = accept(fake->listening, NULL, NULL)) >= 0;) {
        apr_pool_t *pool;
        pthread_t thread;
        apr_pool_create_unmanaged_ex(&pool, NULL, NULL);
        fake_session *s = apr_pcalloc(pool, sizeof *s);
        *s = (fake_session){.fake = fake, .socket = client, .pool = pool, .statements = apr_hash_make(pool)};
        neo_buf_init(&s->out, pool, 1024);
        atomic_store(&fake->latest, client);
        atomic_fetch_add(&fake->connections, 1);
        atomic_fetch_add(&fake->running, 1);
        if (pthread_create(&thread, NULL, fake_serve, s) == 0)
            pthread_detach(thread);
    }
    return NULL;
}

static inline apr_status_t fake_stop(void *data)
{
    fake_pg *fake = data;
    shutdown(fake->listening, SHUT_RDWR);
    pthread_join(fake->thread, NULL);
    for (int waited = 0; atomic_load(&fake->running) && waited < FAKE_END_MS; waited++) /* they use their memory until then */
        usleep(1000);
    close(fake->listening);
    unlink(fake->path);
    rmdir(fake->directory);
    return APR_SUCCESS;
}

/* Closes the latest connection while it is idle, as a server does at shutdown. */
static inline void fake_disconnect(fake_pg *fake)
{
    shutdown(atomic_load(&fake->latest), SHUT_RDWR);
}

/* Starts a server, which stops when the pool is destroyed. */
static inline fake_pg *fake_start(fake_answer answer, void *data, apr_pool_t *pool)
{
    fake_pg *fake = apr_pcalloc(pool, sizeof *fake);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    fake->answer = answer;
    fake->data = data;
    strcpy(fake->directory, "/tmp/neoapi-fake.XXXXXX");
    assert_non_null(mkdtemp(fake->directory));
    snprintf(fake->path, sizeof fake->path, "%s/.s.PGSQL.5432", fake->directory);
    memcpy(address.sun_path, fake->path, sizeof fake->path);
    fake->listening = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fake->listening, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fake->listening, 8), 0);
    assert_int_equal(pthread_create(&fake->thread, NULL, fake_listen, fake), 0);
    apr_pool_cleanup_register(pool, fake, fake_stop, apr_pool_cleanup_null);
    return fake;
}

static inline neo_pg *fake_connect(fake_pg *fake, apr_pool_t *pool)
{
    const char *error = "";
    const char *dsn = apr_psprintf(pool, "host=%s port=5432 dbname=x user=x gssencmode=disable", fake->directory);
    neo_pg *pg = neo_pg_connect(dsn, pool, &error);
    if (!pg)
        fail_msg("no connection to the fake server: %s", error);
    return pg;
}

/* ---------------------------------------------------------------- a client */

/* A server, a connection to it and a statement with one parameter. */
typedef struct {
    fake_pg *server;
    neo_pg *pg;
    neo_statement *statement;
    neo_rows rows;
    apr_pool_t *pool;
} fake_client;

static const char *const fake_values[] = {"1"};

static inline fake_client *fake_client_start(fake_answer answer, void *data, const char *sql, int writes, apr_pool_t *pool)
{
    fake_client *c = apr_pcalloc(pool, sizeof *c);
    c->server = fake_start(answer, data, pool);
    c->pg = fake_connect(c->server, pool);
    c->statement = neo_statement_make(pool, sql, 1, writes);
    c->pool = pool;
    return c;
}

static inline neo_pg_status fake_client_run(fake_client *c)
{
    return neo_pg_run(c->pg, c->statement, fake_values, c->pool, &c->rows);
}

#endif
