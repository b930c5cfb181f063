/* This httpd's figures: the memory that they are in, and what is counted there of requests and connections. */
#ifndef NEO_HTTPD_COUNTERS_H
#define NEO_HTTPD_COUNTERS_H

#include <httpd.h>

#include "core/board.h"
#include "core/figures.h"
#include "core/receivers.h"
#include "httpd/request.h"
#include "store/backlog.h"

#define NEO_DATABASES 16 /* of one host, whose answers are remembered */

typedef enum neo_answer_state {
    NEO_ANSWER_UNKNOWN, /* not asked yet, or too long ago */
    NEO_ANSWER_GOOD,
    NEO_ANSWER_AWAY,
    NEO_ANSWER_SLOW,
    NEO_ANSWER_BUSY, /* no connection was free */
    NEO_ANSWER_OLD,  /* the schema is */
    NEO_ANSWER_MISSING,
    NEO_ANSWERS
} neo_answer_state;

/* What a database answered to the administrator's pages. */
typedef struct neo_answer {
    neo_answer_state state;
    long long taken; /* when, in microseconds; 0: never */
    neo_backlog backlog;
} neo_answer;

/* A question, and its last answer. */
typedef struct neo_inquiry {
    neo_board_turn turn;
    long long asking;  /* since when somebody waits for the database; 0: nobody does */
    neo_answer answer; /* a board */
} neo_inquiry;

typedef struct neo_inquiries {
    neo_inquiry queue, schema;
} neo_inquiries;

typedef struct neo_counters {
    neo_figures *figures;
    neo_receivers *receivers;
    neo_inquiries *inquiries; /* of NEO_DATABASES (see httpd/inquiry.h) */
    neo_process *process;     /* this process's */
} neo_counters;

/* In the parent, after the statements are made. False, and logged, where there is no memory. */
int neo_counters_open(server_rec *main_server);

/* In a child process, before anything is counted. */
void neo_counters_enter(apr_pool_t *pchild);

/* NULL where no virtual host has the API. */
const neo_counters *neo_counters_here(void);

/* A request was answered: counts it, and tells the access log how long the database took (NEOAPI_DB_TIME). */
void neo_counters_request(const neo_exchange *exchange, const neo_response *response);

#endif
