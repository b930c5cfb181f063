/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and lists WhatsApp conversations and their messages, and changes what clients decide about them: triage, assignment,
 * what was read, opt-outs. */
#include <string.h>

#include "list.h"
#include "schema/validate.h"
#include "whatsapp/store.h"

static neo_problem *read_conversation(neo_call *call, neo_result *result)
{
    neo_pg *pg;
    neo_rows rows;
    neo_problem *problem = NULL;
    const char *const *fields = neo_call_read_fields(call, &problem);
    if (problem || (problem = neo_call_acquire_for_id(call, &pg)))
        return problem;
    neo_pg_status status = neo_whatsapp_read(pg, &call->actor, call->match.id, call->pool, &rows);
    neo_call_release(call, pg);
    problem = neo_call_check_found(call, status, &rows);
    if (!problem)
        *result = (neo_result){.status = 200,
                               .body = neo_call_projected(call, neo_rows_text(&rows, 0, NEO_READ_CONVERSATION), fields)};
    return problem;
}

/* Checks the patch against the conversation as it was read. */
static neo_problem *check_patch(neo_call *call, neo_text current, neo_json **clean)
{
    const char *error;
    neo_json *before = neo_json_parse(current, call->pool, &error);
    neo_problem *problem = before ? neo_call_check_if_match(call, current) : neo_problem_internal(call->pool);
    return problem ? problem : neo_validate_patch(&neo_conversation_changes, before, call->body, call->pool, clean);
}

static neo_problem *refuse_change(neo_call *call, const char *refusal)
{
    neo_problem *problem = NULL;
    if (strcmp(refusal, "opted_out") == 0)
        return neo_problem_make(
            call->pool, NEO_CONFLICT_OPTED_OUT,
            "The contact has opted out itself. Only the contact can opt in again, by sending RESUME or VOLTAR.");
    if (strcmp(refusal, "no_broker") == 0)
        neo_call_add_missing(call, &problem, "broker_id");
    else
        neo_problem_field(&problem, call->pool, NEO_VALIDATION_FIELD_INVALID, neo_conversation.name, "opted_out_at",
                          "must not be before the contact opted in again");
    return problem;
}

/* Sets no status if the conversation has changed since it was read. */
static neo_problem *patch_version(neo_call *call, neo_pg *pg, neo_result *result)
{
    neo_rows rows;
    neo_json *clean;
    neo_pg_status status = neo_whatsapp_read(pg, &call->actor, call->match.id, call->pool, &rows);
    neo_problem *problem = neo_call_check_found(call, status, &rows);
    if (!problem)
        problem = check_patch(call, neo_rows_text(&rows, 0, NEO_READ_CONVERSATION), &clean);
    if (problem)
        return problem;
    status = neo_whatsapp_change(pg, &call->actor, call->match.id, neo_rows_value(&rows, 0, NEO_READ_VERSION), clean,
                                 call->pool, &rows);
    if (status != NEO_PG_OK)
        return neo_call_failed(call, status, &rows);
    const char *refusal = neo_rows_value(&rows, 0, NEO_CHANGED_REFUSAL);
    if (neo_rows_value(&rows, 0, NEO_CHANGED_CONVERSATION))
        *result = (neo_result){.status = 200, .body = neo_rows_text(&rows, 0, NEO_CHANGED_CONVERSATION)};
    neo_call_notify_dispatcher(call, &rows);
    return refusal ? refuse_change(call, refusal) : NULL;
}

static neo_problem *patch_conversation(neo_call *call, neo_result *result)
{
    neo_pg *pg;
    neo_problem *problem = neo_call_acquire_for_id(call, &pg);
    if (problem)
        return problem;
    problem = neo_call_resolve_references(call, pg, &call->body);
    for (int attempt = 0; attempt < NEO_CALL_MAX_ATTEMPTS && !problem && !result->status; attempt++)
        problem = patch_version(call, pg, result);
    neo_call_release(call, pg);
    return problem || result->status ? problem : neo_call_failed(call, NEO_PG_RETRY, NULL);
}

/* ---------------------------------------------------------------- lists */

static neo_pg_status fetch_conversations(neo_call *call, neo_pg *pg, const neo_selection *selection, neo_rows *rows)
{
    return neo_whatsapp_list(pg, &call->actor, selection, call->pool, rows);
}

static neo_problem *list_conversations(neo_call *call, neo_result *result)
{
    return neo_list_with(call, fetch_conversations, result);
}

static neo_pg_status fetch_messages(neo_call *call, neo_pg *pg, const neo_selection *selection, neo_rows *rows)
{
    return neo_whatsapp_list_messages(pg, &call->actor, call->match.id, selection, call->pool, rows);
}

static neo_problem *list_messages(neo_call *call, neo_result *result)
{
    neo_result conversation;
    neo_problem *problem = read_conversation(call, &conversation);
    return problem ? problem : neo_list_with(call, fetch_messages, result);
}

/* ---------------------------------------------------------------- operations */

const neo_operation neo_conversation_operations[] = {
    {.method = "GET",
     .path = "whatsapp/conversations",
     .run = list_conversations,
     .access = NEO_ACCESS_READ,
     .accepts = NEO_ACCEPTS_LIST | NEO_ACCEPTS_SORT_BY_ID | NEO_ACCEPTS_FIELDS,
     .status = 200,
     .response_headers = NEO_RESPONSE_LINK | NEO_RESPONSE_TOTAL,
     .filters = neo_conversation_filters,
     .resource = &neo_conversation,
     .media_type = "application/json",
     .problems = NEO_PAGE_PROBLEMS,
     .schema = "ConversationList",
     .tag = "WhatsApp",
     .verb = "listConversations",
     .summary = "List conversations",
     .doc = "Newest first.",
     .answer = "A page of conversations."},
    {.method = "GET",
     .path = "whatsapp/conversations/{id}",
     .run = read_conversation,
     .access = NEO_ACCESS_READ,
     .accepts = NEO_ACCEPTS_IF_NONE_MATCH | NEO_ACCEPTS_FIELDS,
     .status = 200,
     .response_headers = NEO_RESPONSE_ETAG,
     .resource = &neo_conversation,
     .media_type = "application/json",
     .schema = "Conversation",
     .tag = "WhatsApp",
     .verb = "getConversation",
     .summary = "Get a conversation",
     .doc = "404 if it was merged into another one of the same contact.",
     .answer = "The conversation."},
    {.method = "PATCH",
     .path = "whatsapp/conversations/{id}",
     .run = patch_conversation,
     .access = NEO_ACCESS_WRITE,
     .accepts = NEO_ACCEPTS_BODY | NEO_ACCEPTS_MERGE_PATCH | NEO_ACCEPTS_IF_MATCH,
     .status = 200,
     .response_headers = NEO_RESPONSE_ETAG,
     .resource = &neo_conversation,
     .body = &neo_conversation_changes,
     .media_type = "application/json",
     .problems = NEO_PROBLEM_BIT(NEO_VALIDATION_FIELD_REQUIRED) | NEO_PROBLEM_BIT(NEO_VALIDATION_FIELD_INVALID) |
                 NEO_PROBLEM_BIT(NEO_VALIDATION_FIELD_NOT_FOUND) | NEO_PROBLEM_BIT(NEO_CONFLICT_OPTED_OUT),
     .schema = "Conversation",
     .tag = "WhatsApp",
     .verb = "updateConversation",
     .summary = "Update a conversation",
     .doc = "A JSON merge patch: sets the triage, the broker that it is assigned to, what was read, or an opt-out.",
     .answer = "The conversation as it is now."},
    {.method = "GET",
     .path = "whatsapp/conversations/{id}/messages",
     .run = list_messages,
     .access = NEO_ACCESS_READ,
     .accepts = NEO_ACCEPTS_LIST | NEO_ACCEPTS_SORT_BY_ID,
     .status = 200,
     .response_headers = NEO_RESPONSE_LINK | NEO_RESPONSE_TOTAL,
     .filters = neo_message_filters,
     .prefix = "wam_",
     .resource = &neo_conversation,
     .media_type = "application/json",
     .problems = NEO_PAGE_PROBLEMS,
     .schema = "MessageList",
     .tag = "WhatsApp",
     .verb = "listMessages",
     .summary = "List a conversation's messages",
     .doc = "Last stored first.",
     .answer = "A page of messages."},
    {0},
};
