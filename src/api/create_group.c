/* SPDX-License-Identifier: Apache-2.0 */
/* Creates of concurrent requests in one statement (see api/create_queue.h). Each request keeps its own outcome: if the
 * group did not create its row, it is executed alone, as if there were no groups. */
#include <stdlib.h>

#include "api/create_queue.h"
#include "call.h"
#include "sql/batch.h"

#define MAX_BODY 16384 /* bytes; larger ones would delay the others of their group, and take its leader's memory */

/* What a leader needs of a member. */
typedef struct {
    neo_call *call;
    const neo_new *row;
} request;

/* Only creates that are a single statement, without reading other rows before it. History has columns of its own, and webhooks
 * have secrets and a limit that takes a lock (has_batch). */
static int may_share(const neo_call *call, const neo_new *row)
{
    neo_rule_input input = {.resource = call->match.resource, .id = "", .after = row->body};
    return call->site->groups_writes && call->site->create_queues && call->match.resource->has_batch && !row->times &&
           call->raw.len <= MAX_BODY && !neo_rules_need_input(&input) && !neo_rules_check(&input, call->pool);
}

/* The parameters of the statement, with ids in the order of the group. */
static neo_bound_sql make_group(neo_call *call, const neo_group *group)
{
    neo_batch_row rows[NEO_GROUP_MAX] = {0};
    for (int i = 0; i < group->count; i++) {
        const request *member = group->members[i]->baton;
        rows[i] = (neo_batch_row){.number = i,
                                  .body = member->row->body,
                                  .timestamp_field = member->row->timestamp_field,
                                  .actor = &member->call->actor,
                                  .idempotency = member->call->idempotency};
        rows[i].now = neo_id_issue(rows[i].id, call->match.resource->prefix);
    }
    return neo_batch_group_make(call->match.resource, rows, group->count, call->pool);
}

static void write_group(neo_call *call, neo_pg *pg, neo_create_queue *queue, neo_group *group)
{
    neo_rows written;
    neo_bound_sql made = make_group(call, group);
    for (int i = 1; i < group->count; i++) /* a member can leave before the statement ends */
        neo_credential_cache_join_writes(call->site->credential_cache, call->write,
                                         ((const request *)group->members[i]->baton)->call->write);
    neo_create_queue_sent(queue, group);
    neo_pg_status status = neo_batch_create_group(pg, &made, call->pool, &written);
    for (int i = 0; i < group->count && status != NEO_PG_OK && !written.is_undone; i++)
        group->outcomes[i] = NEO_GROUP_UNKNOWN;
    for (int r = 0; r < written.count; r++) {
        int i = atoi(neo_rows_value(&written, r, NEO_WRITTEN_NUMBER));
        group->outcomes[i] = NEO_GROUP_CREATED;
        group->answers[i] = neo_rows_text(&written, r, NEO_WRITTEN_ANSWER);
    }
    if (written.count)
        neo_call_notify_dispatcher(call, &written);
}

static neo_problem *create_alone(neo_call *call, neo_creator create, neo_new *row, neo_result *result)
{
    neo_pg *pg;
    neo_problem *problem = neo_call_acquire(call, &pg);
    if (problem)
        return problem;
    problem = create(call, pg, row, result);
    neo_call_release(call, pg);
    return problem;
}

/* Sends the group. A leader without members creates its row alone, while others collect. */
static neo_problem *lead(neo_call *call, neo_create_queue *queue, neo_group_member *self, neo_creator create, neo_new *row,
                         neo_result *result)
{
    neo_pg *pg;
    neo_group group = {0};
    neo_problem *problem = neo_call_acquire(call, &pg);
    if (!problem) {
        neo_create_queue_take(queue, self, &group);
        if (group.count == 1)
            problem = create(call, pg, row, result);
        else
            write_group(call, pg, queue, &group);
        neo_call_release(call, pg);
    }
    self->state = group.count > 1 ? group.outcomes[0] : NEO_GROUP_LEADING;
    self->answer = group.answers[0];
    neo_create_queue_end(queue, self, &group);
    return problem;
}

static neo_problem *create_in_group(neo_call *call, neo_creator create, neo_new *row, neo_result *result)
{
    request own = {call, row};
    neo_group_member self = {.baton = &own, .pool = call->pool, .credential = call->actor.credential};
    neo_create_queue *queue = neo_create_queue_find(call->site->create_queues, call->match.resource);
    neo_problem *problem = NULL;
    self.key = call->idempotency ? call->idempotency->key : NULL;
    if (neo_create_queue_join(queue, &self) == NEO_GROUP_LEADING)
        problem = lead(call, queue, &self, create, row, result);
    if (self.state == NEO_GROUP_UNKNOWN)
        return neo_call_failed(call, NEO_PG_UNAVAILABLE, NULL);
    if (self.state == NEO_GROUP_CREATED)
        *result = (neo_result){.status = 201, .body = self.answer};
    return self.state == NEO_GROUP_ALONE ? create_alone(call, create, row, result) : problem;
}

neo_problem *neo_call_create_shared(neo_call *call, neo_creator create, neo_new *row, neo_result *result)
{
    if (!may_share(call, row))
        return create_alone(call, create, row, result);
    neo_problem *problem = neo_call_enter_write(call);
    if (!problem)
        problem = create_in_group(call, create, row, result);
    neo_call_leave_write(call);
    return problem;
}
