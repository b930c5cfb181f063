/* Asking the databases for administrators' pages (see httpd/inquiry.h). */
#include "httpd/inquiry.h"

#include <apr_strings.h>
#include <http_config.h>
#include <http_main.h>
#include <string.h>

#include "httpd/config.h"
#include "httpd/log.h"
#include "store/migrate.h"

#define SECOND   1000000LL     /* microseconds */
#define FRESH    SECOND        /* an answer is good for so long */
#define STALE    (10 * SECOND) /* and of use for so long where there is none newer */
#define PATIENCE (3 * SECOND)  /* then one who asks is not waited for any more */
#define NAP      20000         /* between looks whether he has his answer */
#define DEAD     (20 * SECOND) /* then one who asks has died over it, since no question takes so long */

/* A database, and the number it has on this host. */
typedef struct {
    neo_database *database;
    int number;
} place;

/* The distinct databases of this host, at most so many, in the order of their virtual hosts. With `only`, that one alone. */
static int find_places(const neo_database *only, place *found, int most)
{
    int count = 0, number = 0;
    const neo_database *last = NULL;
    for (const server_rec *s = ap_server_conf; s && count < most; s = s->next) {
        const neo_server_config *config = neo_server_config_of(s);
        if (!config->database || config->database == last)
            continue;
        last = config->database;
        int is_known = 0;
        for (int i = 0; i < count; i++)
            is_known |= found[i].database == config->database;
        if (!is_known && (!only || only == config->database))
            found[count++] = (place){config->database, number};
        number++;
    }
    return count;
}

static int places_of(request_rec *r, place *found, int most)
{
    return find_places(neo_server_config_of(r->server)->database, found, most);
}

/* ---------------------------------------------------------------- one asks for all */

/* True for the one who may ask: nobody else does, or whoever did has died. */
static int may_ask(neo_inquiry *inquiry, long long now)
{
    long long asking = __atomic_load_n(&inquiry->asking, __ATOMIC_ACQUIRE);
    if (asking && now - asking < DEAD)
        return 0;
    return __atomic_compare_exchange_n(&inquiry->asking, &asking, now, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static void keep(neo_inquiry *inquiry, const neo_answer *answer)
{
    neo_board_write(&inquiry->turn, &inquiry->answer, answer, sizeof *answer);
    __atomic_store_n(&inquiry->asking, 0, __ATOMIC_RELEASE);
}

/* What was answered last. */
static void look_up(const neo_inquiry *inquiry, neo_answer *answer)
{
    if (!neo_board_read(&inquiry->turn, &inquiry->answer, answer, sizeof *answer))
        memset(answer, 0, sizeof *answer);
}

/* Asks, unless this process has no connection left: who waits for one may wait long. */
static void ask(request_rec *r, const place *where, void (*question)(neo_pg *pg, apr_pool_t *pool, neo_answer *answer),
                neo_answer *answer)
{
    const neo_process *process = neo_counters_here()->process;
    neo_about about = {.r = r, .server = r->server};
    neo_loan loan = {0};
    memset(answer, 0, sizeof *answer);
    answer->state = NEO_ANSWER_BUSY;
    if (process->lent < process->connections) {
        neo_pg *pg = neo_database_borrow(where->database, &loan, &about, r->pool);
        answer->state = NEO_ANSWER_AWAY;
        if (pg) {
            question(pg, r->pool, answer);
            neo_database_give_back(where->database, pg);
        }
    }
    answer->taken = apr_time_now();
}

/* For one who may not ask: the last answer, if it is not too old; else what the one who asks gets, within his time. */
static void take_others(const neo_inquiry *inquiry, neo_answer *answer)
{
    for (;; apr_sleep(NAP)) {
        long long asking = __atomic_load_n(&inquiry->asking, __ATOMIC_ACQUIRE), now = apr_time_now();
        look_up(inquiry, answer);
        int is_of_use = answer->taken && now - answer->taken <= STALE;
        if (asking && now - asking > PATIENCE)
            answer->state = NEO_ANSWER_SLOW;
        else if (!is_of_use && asking)
            continue;
        else if (!is_of_use)
            answer->state = NEO_ANSWER_UNKNOWN;
        return;
    }
}

/* The answer to a question: the last one, if that is fresh; a new one, if nobody asks; else the last one for a while. */
static void inquire(request_rec *r, const place *where, neo_inquiry *inquiry,
                    void (*question)(neo_pg *pg, apr_pool_t *pool, neo_answer *answer), neo_answer *answer)
{
    long long now = apr_time_now();
    look_up(inquiry, answer);
    if (answer->taken && now - answer->taken < FRESH && now >= answer->taken)
        return;
    if (!may_ask(inquiry, now)) {
        take_others(inquiry, answer);
        return;
    }
    neo_answer last = *answer;
    ask(r, where, question, answer);
    int is_last_of_use = last.state == NEO_ANSWER_GOOD && now - last.taken < STALE;
    keep(inquiry, answer->state == NEO_ANSWER_BUSY && is_last_of_use ? &last : answer);
    if (answer->state == NEO_ANSWER_BUSY && is_last_of_use)
        *answer = last;
}

/* For a page: what is wrong, and nothing of the inside. */
static const char *trouble_of(neo_answer_state state)
{
    static const char *const words[NEO_ANSWERS] = {
        [NEO_ANSWER_UNKNOWN] = "the database is being asked for the first time; ask again",
        [NEO_ANSWER_GOOD] = NULL,
        [NEO_ANSWER_AWAY] = "the database cannot be reached or does not answer; the error log says more",
        [NEO_ANSWER_SLOW] = "the database has not answered for seconds",
        [NEO_ANSWER_BUSY] = "every connection to the database is in use",
        [NEO_ANSWER_OLD] = "the database's schema is older than this module: run neoapictl migrate",
        [NEO_ANSWER_MISSING] = "the database has no schema: run neoapictl setup",
    };
    return words[state];
}

/* ---------------------------------------------------------------- the questions */

static void ask_queue(neo_pg *pg, apr_pool_t *pool, neo_answer *answer)
{
    neo_pg_status status = neo_backlog_read(pg, pool, &answer->backlog);
    answer->state = status == NEO_PG_OK ? NEO_ANSWER_GOOD : status == NEO_PG_SCHEMA ? NEO_ANSWER_OLD : NEO_ANSWER_AWAY;
}

void neo_inquiry_queue(request_rec *r, neo_report *report)
{
    neo_answer answer;
    place where;
    if (!places_of(r, &where, 1)) {
        report->backlog_trouble = "this process has no database yet";
        return;
    }
    inquire(r, &where, &neo_counters_here()->inquiries[where.number % NEO_DATABASES].queue, ask_queue, &answer);
    report->backlog = answer.backlog;
    report->backlog_taken = answer.taken;
    report->backlog_trouble = trouble_of(answer.state);
}

static void ask_schema(neo_pg *pg, apr_pool_t *pool, neo_answer *answer)
{
    int version;
    if (neo_schema_version(pg, pool, &version) != NEO_PG_OK)
        return;
    answer->state = version == 0 ? NEO_ANSWER_MISSING : version < neo_schema_needed() ? NEO_ANSWER_OLD : NEO_ANSWER_GOOD;
}

const char *neo_inquiry_readiness(request_rec *r)
{
    place found[NEO_DATABASES];
    int count = places_of(r, found, NEO_DATABASES);
    const char *trouble = count ? NULL : "this process has no database yet";
    for (int i = 0; i < count && !trouble; i++) {
        neo_answer answer;
        inquire(r, &found[i], &neo_counters_here()->inquiries[found[i].number % NEO_DATABASES].schema, ask_schema, &answer);
        trouble = trouble_of(answer.state);
    }
    return trouble;
}
