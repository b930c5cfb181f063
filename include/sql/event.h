/* SPDX-License-Identifier: Apache-2.0 */
/* Generates the parts of a writing statement that record the change: its event, and a delivery of it for each matching
 * subscription. Every write uses them: of one row, of a batch, of an import, and effects on other rows. */
#ifndef NEO_SQL_EVENT_H
#define NEO_SQL_EVENT_H

#include "core/buf.h"
#include "schema/resource.h"

/* SQL of a row's next updated_at, evaluated under the row's lock: it increases with every change, even if a clock steps back.
 * `now` and `row` are string literals. */
#define NEO_NEXT_UPDATED_AT(now, row) "greatest(" now ", " row ".updated_at + interval '1 millisecond')"

typedef struct neo_event {
    const neo_resource *resource;
    const char *happened; /* "created", "updated" or "deleted" */
    const char *from;     /* the CTE with the rows r that were written; of a deletion, as they were before */
    const char *before;   /* the CTE with the rows of `from` as they were before an update; otherwise NULL */
    const char *number;   /* added to the CTEs' names if the statement has several events; "" if it has one */
    const char *order;    /* SQL by which several rows r are ordered; NULL if there is one */
    const char *id_block; /* SQL of the block of the deliveries' ids, different for each row r */
    const char *now;      /* SQL of the time of the change */
    const char *payload;  /* SQL of the payload; NULL if it is made of the row r */
    int is_silent;        /* nothing is delivered, not even by a recovery */
} neo_event;

/* Adds the CTEs event<number>, queued_deliveries<number> and queued<number>, each with a comma before it. They use the
 * parameters {organization}, {actor} and {request}. */
void neo_event_add(neo_buf *sql, const neo_event *event);

/* Adds, as a JSON object, where payloads have the values of the filters that have other names there. */
void neo_event_add_paths(neo_buf *json, const neo_resource *resource);

/* Whether a new value of the field is a change of the row. It is not if every change sets the field. */
int neo_event_is_change(const neo_field *field);

#endif
