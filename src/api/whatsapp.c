/* SPDX-License-Identifier: Apache-2.0 */
/* Sends messages over WhatsApp: the one that starts a conversation, and further ones. Marks the contact's messages as read.
 *
 * The message is committed before it is sent, no connection is held while it is sent, and the outcome is recorded in a second
 * transaction, so that no failure in between sends a message twice. */
#include "whatsapp/store.h"

#include <apr_strings.h>
#include <string.h>

#include "call.h"
#include "core/id.h"
#include "core/log.h"
#include "provider.h"
#include "schema/validate.h"
#include "whatsapp/template.h"

#define MESSAGE_PREFIX "wam_"

/* ---------------------------------------------------------------- committing the message */

static neo_pg_status begin_message(neo_call *call, neo_pg *pg, void *baton, neo_rows *rows)
{
    neo_conversation_start *start = baton;
    neo_id_issue(start->conversation, "wac_");
    neo_id_issue(start->message, MESSAGE_PREFIX);
    return neo_whatsapp_begin(pg, &call->actor, call->idempotency, start, call->pool, rows);
}

/* Returns NULL if the message was committed. */
static neo_problem *refuse_start(neo_call *call, const neo_rows *begun, const neo_conversation_start *start)
{
    const char *refusal = neo_rows_value(begun, 0, NEO_CONVERSATION_REFUSAL);
    neo_problem *problem = NULL;
    if (!refusal)
        return NULL;
    if (strcmp(refusal, "no_conversation") == 0)
        return neo_call_not_found(call, NULL);
    if (strcmp(refusal, "no_lead") == 0)
        return neo_problem_for_resource(call->pool, NEO_NOT_FOUND_RESOURCE, "lead",
                                        "The organization has no lead with this id.");
    if (strcmp(refusal, "opted_out") == 0)
        return neo_problem_make(call->pool, NEO_CONFLICT_OPTED_OUT, "The contact has opted out of messages.");
    if (strcmp(refusal, "window_closed") == 0) {
        problem = neo_problem_make(call->pool, NEO_CONFLICT_WINDOW_CLOSED,
                                   "The contact has not written within 24 hours. Send a template.");
        problem->window_expires_at = neo_rows_value(begun, 0, NEO_CONVERSATION_WINDOW_EXPIRES_AT);
        return problem;
    }
    if (strcmp(refusal, "no_message") == 0)
        neo_problem_field(&problem, call->pool, NEO_VALIDATION_FIELD_NOT_FOUND, neo_message_input.name, "reply_to_id",
                          "refers to no message of the conversation that WhatsApp has accepted");
    else if (strcmp(refusal, "no_phone") == 0 && start->target)
        neo_problem_field(&problem, call->pool, NEO_VALIDATION_FIELD_INVALID, neo_message_input.name, "type",
                          "cannot be sent: WhatsApp has given the contact's phone number to another contact");
    else if (strcmp(refusal, "no_phone") == 0)
        neo_problem_field(&problem, call->pool, NEO_VALIDATION_FIELD_INVALID, "whatsapp", "lead_id",
                          "has a phone number that WhatsApp has given to another contact; correct the lead's phone");
    else if (strcmp(refusal, "no_address") == 0)
        neo_problem_field(&problem, call->pool, NEO_VALIDATION_FIELD_INVALID, "whatsapp", "lead_id",
                          "has neither a phone nor a whatsapp_user_id");
    else if (strcmp(refusal, "several_numbers") == 0)
        neo_problem_field(&problem, call->pool, NEO_VALIDATION_FIELD_REQUIRED, "whatsapp", "number_id",
                          "is required: the organization has several numbers");
    else
        neo_problem_field(&problem, call->pool, NEO_VALIDATION_FIELD_NOT_FOUND, "whatsapp", "number_id",
                          start->number ? "refers to a resource that does not exist in the organization"
                                        : "cannot be chosen: the organization has no WhatsApp number");
    return problem;
}

/* ---------------------------------------------------------------- sending it */

static void post(neo_call *call, const neo_sender_number *from, neo_text body, neo_reply *reply)
{
    const neo_request *request = call->request;
    neo_provider_response answer = {.outcome = NEO_PROVIDER_NOT_SENT, .body = {"", 0}};
    if (from->token)
        request->host->call_provider(request->context, apr_pstrcat(call->pool, from->phone_number_id, "/messages", NULL),
                                     from->token, body, &answer);
    answer.token = from->token;
    neo_reply_read(&answer, call->pool, reply);
    if (!reply->title && answer.outcome != NEO_PROVIDER_RESPONDED)
        reply->details = answer.error;
}

static void post_message(neo_call *call, const neo_rows *begun, const neo_conversation_start *start,
                         const neo_sender_number *from, neo_reply *reply)
{
    neo_outgoing message = {
        .id = start->message,
        .wa_id = neo_rows_value(begun, 0, NEO_CONVERSATION_WA_ID),
        .bsuid = neo_rows_value(begun, 0, NEO_CONVERSATION_BSUID),
        .reply_to = neo_rows_value(begun, 0, NEO_CONVERSATION_REPLY_TO),
        .content = start->content,
        .definition = start->definition,
    };
    post(call, from, neo_outgoing_json(&message, call->pool), reply);
}

/* What Meta answered: "190: Invalid OAuth access token; Session has expired; fbtrace_id A1b2". If it was no answer of Meta's,
 * what happened. */
static const char *describe_reply(const neo_reply *reply, apr_pool_t *pool)
{
    if (!reply->title)
        return reply->details ? reply->details : "no usable response";
    return apr_pstrcat(pool, apr_itoa(pool, reply->code), ": ", reply->title, reply->details ? "; " : "",
                       reply->details ? reply->details : "", reply->trace ? "; fbtrace_id " : "",
                       reply->trace ? reply->trace : "", NULL);
}

/* Meta accepts no messages of the number at the moment, but will without a change here. */
static int is_busy(const neo_reply *reply)
{
    return reply->verdict == NEO_VERDICT_LATER && (reply->title || reply->http_status == 429);
}

/* The log must not contain data of the contact. */
static void log_reply(const neo_call *call, const char *number, const char *message, const neo_reply *reply)
{
    void *log_context = call->request->log_context;
    const char *answer = describe_reply(reply, call->pool);
    switch (reply->verdict) {
    case NEO_VERDICT_FORBIDDEN: /* an administrator must act before any message can be sent */
        if (reply->title)
            neo_log(NEO_LOG_ACCESS_TOKEN, log_context, "Meta rejected %s, its access token or its account (%s)", number,
                    answer);
        else
            neo_log(NEO_LOG_NO_PROVIDER, log_context,
                    "the server at NeoAPIWhatsAppURL is not Meta's (%s); nothing was sent for %s", answer, number);
        break;
    case NEO_VERDICT_LATER:
        if (is_busy(reply))
            neo_log(NEO_LOG_PROVIDER_BUSY, log_context, "Meta accepts no messages of %s at the moment (%s)", number, answer);
        else if (reply->details) /* without details, post_message has logged why it was not sent */
            neo_log(NEO_LOG_PROVIDER_UNREACHABLE, log_context, "cannot send messages of %s to Meta (%s)", number, answer);
        break;
    case NEO_VERDICT_UNKNOWN:
        neo_log(NEO_LOG_SEND_UNCONFIRMED, log_context, "delivery of message %s unconfirmed; not retried (%s)", message, answer);
        break;
    case NEO_VERDICT_FAILED:
    case NEO_VERDICT_TEMPLATE:
        neo_log(NEO_LOG_MESSAGE_REFUSED, log_context, "Meta rejected message %s (%s)", message, answer);
        break;
    default: break;
    }
}

/* ---------------------------------------------------------------- recording the outcome */

static const char *const outcomes[] = {
    [NEO_VERDICT_ACCEPTED] = "accepted",   [NEO_VERDICT_UNKNOWN] = "unknown",  [NEO_VERDICT_LATER] = "unsent",
    [NEO_VERDICT_FORBIDDEN] = "unsent",    [NEO_VERDICT_TEMPLATE] = "refused", [NEO_VERDICT_FAILED] = "failed",
    [NEO_VERDICT_OPTED_OUT] = "opted_out",
};

/* Returns NULL if the message is the response: it was sent, may have been sent, or failed permanently. Otherwise nothing was
 * sent; the problem's detail does not have the cause, because it can reveal the administrator's configuration. `start` is only
 * needed for NEO_VERDICT_TEMPLATE, which names the rejected field. */
static neo_problem *reply_problem(neo_call *call, const neo_conversation_start *start, const neo_reply *reply)
{
    neo_problem *problem = NULL;
    const char *text = reply->details ? reply->details : reply->title;
    int is_token_readable = reply->title || reply->details; /* see reply_title */
    switch (reply->verdict) {
    case NEO_VERDICT_LATER:
    case NEO_VERDICT_FORBIDDEN:
        return neo_call_try_later(call, NEO_INTERNAL_PROVIDER_UNAVAILABLE, NEO_PROVIDER_RETRY_SECONDS,
                                  reply->verdict == NEO_VERDICT_FORBIDDEN || !is_token_readable
                                      ? "Nothing was sent: the organization's number cannot send until an administrator has "
                                        "corrected its configuration."
                                      : "WhatsApp is unavailable; nothing was sent. Try again later.");
    case NEO_VERDICT_TEMPLATE:
        if (neo_json_get(start->content, "template_name"))
            neo_problem_field(&problem, call->pool, NEO_VALIDATION_TEMPLATE_REJECTED, "whatsapp",
                              reply->is_about_parameters ? "template_parameters" : "template_name",
                              "was rejected by WhatsApp (%d): %s", reply->code, text);
        else
            neo_problem_field(&problem, call->pool, NEO_VALIDATION_FIELD_INVALID, neo_message_input.name,
                              neo_json_get(start->content, "media_url") ? "media_url"
                              : neo_json_get(start->content, "emoji")   ? "emoji"
                                                                        : "text",
                              "was rejected by WhatsApp (%d): %s", reply->code, text);
        return problem;
    case NEO_VERDICT_OPTED_OUT:
        return neo_problem_make(call->pool, NEO_CONFLICT_OPTED_OUT, "The contact has opted out of messages at WhatsApp.");
    default: return NULL;
    }
}

/* What Meta answered, or why it did not. */
static const char *reply_title(const neo_call *call, const neo_reply *reply)
{
    if (reply->title)
        return reply->title;
    if (!reply->details)
        return "The access token cannot be decrypted.";
    const char *cause = reply->verdict == NEO_VERDICT_FORBIDDEN ? "The server at NeoAPIWhatsAppURL is not Meta's: "
                        : reply->http_status == 429             ? "Meta accepts no messages at the moment: "
                                                                : "Meta is not reachable: ";
    return apr_pstrcat(call->pool, cause, reply->details, NULL);
}

/* Records the outcome. If that fails, a message may have been sent, also if the statement certainly changed nothing. */
static neo_problem *end_message(neo_call *call, const neo_conversation_start *start, const neo_reply *reply, const char *body,
                                neo_rows *rows)
{
    const char *message = start->message;
    neo_conversation_result result = {
        .outcome = is_busy(reply) ? "busy" : outcomes[reply->verdict],
        .provider_id = reply->id,
        .wa_id = reply->wa_id,
        .bsuid = reply->bsuid,
        .is_held = reply->is_held,
        .code = reply->title ? reply->code : -1,
        .title = reply_title(call, reply),
        .body = body,
        .is_start = !start->target,
    };
    neo_pg *pg = call->request->host->acquire(call->request->context);
    if (!pg)
        return neo_call_failed(call, NEO_PG_UNAVAILABLE, NULL);
    neo_pg_status status = neo_whatsapp_end(pg, &call->actor, call->idempotency, message, &result, call->pool, rows);
    if (status == NEO_PG_UNIQUE_VIOLATION) /* a callback recorded the contact meanwhile */
        status = neo_whatsapp_end(pg, &call->actor, call->idempotency, message, &result, call->pool, rows);
    neo_call_release(call, pg);
    if (status == NEO_PG_OK)
        return NULL;
    return neo_call_failed(call, status == NEO_PG_FAILED ? status : NEO_PG_UNAVAILABLE, NULL);
}

static neo_problem *send_message(neo_call *call, const neo_rows *begun, const neo_conversation_start *start, neo_result *result)
{
    neo_reply reply;
    neo_rows ended = {0};
    neo_sender_number from = neo_call_open_number(call, begun, 0, NEO_CONVERSATION_NUMBER);
    post_message(call, begun, start, &from, &reply);
    log_reply(call, from.id, start->message, &reply);
    const char *text = start->definition ? neo_json_string_at(start->definition, "body") : NULL;
    if (text) /* that the contact reads */
        text = neo_template_fill(text, start->content, call->pool);
    neo_problem *problem = end_message(call, start, &reply, text, &ended);
    if (!problem)
        problem = reply_problem(call, start, &reply);
    if (!problem)
        *result = (neo_result){
            .status = start->target || neo_rows_is_true(begun, 0, NEO_CONVERSATION_CREATED) ? 201 : 200,
            .body = neo_rows_text(&ended, 0, 0),
        };
    return problem;
}

/* ---------------------------------------------------------------- the actions */

/* Until the outcome is recorded, the message's id is stored with the idempotency key in the place of a response. */
static neo_problem *complete_pending(neo_call *call, neo_pg *pg, neo_text *body)
{
    neo_rows rows;
    const char *message = apr_pstrmemdup(call->pool, body->ptr, body->len);
    if (!neo_id_is(message, MESSAGE_PREFIX))
        return NULL;
    neo_pg_status status = neo_whatsapp_answer(pg, &call->actor, message, !call->match.id, call->pool, &rows);
    if (status != NEO_PG_OK)
        return neo_call_failed(call, status, NULL);
    if (rows.count == 0 || !neo_rows_value(&rows, 0, 0))
        return neo_problem_internal(call->pool);
    *body = neo_rows_text(&rows, 0, 0);
    return NULL;
}

/* Into the conversation in the path, or else to the lead in the body. */
static neo_problem *send_to_contact(neo_call *call, neo_result *result)
{
    neo_json *clean;
    neo_pg *pg;
    neo_rows rows;
    const char *target = call->match.id;
    neo_problem *problem = neo_validate(target ? &neo_message_input : &neo_conversation_input, call->body, call->pool, &clean);
    if (problem)
        return problem;
    neo_conversation_start start = {
        .actor_type = call->principal->is_token ? "user" : "api_key",
        .target = target,
        .lead = neo_json_string_at(clean, "lead_id"),
        .number = neo_json_string_at(clean, "number_id"),
        .content = clean,
    };
    neo_idempotent operation = {.write = begin_message, .baton = &start, .complete = complete_pending};
    neo_problem *refusal = neo_call_check_template(call, &start);
    if ((refusal && !call->idempotency) ||
        (problem = target ? neo_call_acquire_for_id(call, &pg) : neo_call_acquire(call, &pg)))
        return refusal ? refusal : problem;
    if (refusal) { /* the key may have the response to the same request when the template was another one */
        int is_free;
        problem = neo_call_replay(call, pg, complete_pending, result, &is_free);
        neo_call_release(call, pg);
        return problem || !is_free ? problem : refusal;
    }
    problem = neo_call_write_idempotent(call, pg, &operation, &rows, result);
    neo_call_release(call, pg);
    if (problem || result->is_replayed)
        return problem;
    problem = refuse_start(call, &rows, &start);
    return problem ? problem : send_message(call, &rows, &start, result);
}

/* Marking a message again changes nothing, so the client may repeat the request whenever the outcome is unknown. A message that
 * Meta refuses to mark, because it is too old, is marked here. */
static neo_problem *mark_at_provider(neo_call *call, const neo_rows *last)
{
    neo_reply reply;
    const char *provider_id = neo_rows_value(last, 0, NEO_RECEIVED_PROVIDER_ID);
    if (!provider_id)
        return NULL;
    neo_sender_number from = neo_call_open_number(call, last, 0, NEO_RECEIVED_NUMBER);
    post(call, &from, neo_read_receipt_json(provider_id, call->pool), &reply);
    if (reply.is_success)
        return NULL;
    if (reply.verdict == NEO_VERDICT_UNKNOWN)
        reply.verdict = NEO_VERDICT_LATER;
    if (reply.verdict != NEO_VERDICT_LATER && reply.verdict != NEO_VERDICT_FORBIDDEN)
        return NULL;
    log_reply(call, from.id, neo_rows_value(last, 0, NEO_RECEIVED_MESSAGE), &reply);
    return reply_problem(call, NULL, &reply);
}

static neo_problem *mark_read(neo_call *call, neo_result *result)
{
    neo_pg *pg;
    neo_rows last, rows;
    neo_json *clean;
    neo_problem *problem = neo_validate(&neo_read_input, call->body, call->pool, &clean);
    if (problem || (problem = neo_call_acquire_for_id(call, &pg)))
        return problem;
    neo_pg_status status =
        neo_whatsapp_last_received(pg, &call->actor, call->match.id, neo_json_string_at(clean, "up_to_id"), call->pool, &last);
    neo_call_release(call, pg);
    if ((problem = neo_call_check_found(call, status, &last)))
        return problem;
    if (!neo_rows_is_true(&last, 0, NEO_RECEIVED_IS_KNOWN))
        neo_problem_field(&problem, call->pool, NEO_VALIDATION_FIELD_NOT_FOUND, neo_read_input.name, "up_to_id",
                          "refers to no message of the conversation");
    if (problem || (problem = mark_at_provider(call, &last)) || (problem = neo_call_acquire(call, &pg)))
        return problem;
    status = neo_whatsapp_mark_read(pg, &call->actor, call->match.id, &last, call->pool, &rows);
    neo_call_release(call, pg);
    return neo_call_return_row(call, status, &rows, result);
}

const neo_operation neo_whatsapp_operations[] = {
    {.method = "POST",
     .path = "whatsapp/conversations",
     .run = send_to_contact,
     .access = NEO_ACCESS_WRITE,
     .accepts = NEO_ACCEPTS_BODY | NEO_ACCEPTS_IDEMPOTENCY_KEY,
     .status = 201,
     .status_existing = 200,
     .subresource = "lead",
     .resource = &neo_conversation_input,
     .schema = "StartedConversation",
     .media_type = "application/json",
     .problems = NEO_PROBLEM_BIT(NEO_VALIDATION_FIELD_REQUIRED) | NEO_PROBLEM_BIT(NEO_VALIDATION_FIELD_INVALID) |
                 NEO_PROBLEM_BIT(NEO_VALIDATION_TEMPLATE_REJECTED) | NEO_PROBLEM_BIT(NEO_NOT_FOUND_RESOURCE) |
                 NEO_PROBLEM_BIT(NEO_CONFLICT_OPTED_OUT) | NEO_PROBLEM_BIT(NEO_INTERNAL_PROVIDER_UNAVAILABLE),
     .tag = "WhatsApp",
     .verb = "startConversation",
     .summary = "Start a conversation with a lead",
     .doc = "Sends a template message to the lead's contact. The message is `accepted` when WhatsApp has accepted it; later "
            "updates of its status tell whether it was delivered.\n\nIf WhatsApp refuses the message permanently, it is "
            "returned with the status `failed` and the reason. If it is unknown whether WhatsApp accepted it, it stays "
            "`pending`. Neither is sent again, nor is a request with the same Idempotency-Key. So always send an "
            "Idempotency-Key, and repeat the request if the response was lost.",
     .answer = "The conversation is new.",
     .answer_existing = "The conversation existed already."},
    {.method = "POST",
     .path = "whatsapp/conversations/{id}/messages",
     .run = send_to_contact,
     .access = NEO_ACCESS_WRITE,
     .accepts = NEO_ACCEPTS_BODY | NEO_ACCEPTS_IDEMPOTENCY_KEY,
     .status = 201,
     .resource = &neo_conversation,
     .body = &neo_message_input,
     .schema = "Message",
     .media_type = "application/json",
     .problems = NEO_PROBLEM_BIT(NEO_VALIDATION_FIELD_REQUIRED) | NEO_PROBLEM_BIT(NEO_VALIDATION_FIELD_INVALID) |
                 NEO_PROBLEM_BIT(NEO_VALIDATION_FIELD_NOT_FOUND) | NEO_PROBLEM_BIT(NEO_VALIDATION_TEMPLATE_REJECTED) |
                 NEO_PROBLEM_BIT(NEO_CONFLICT_OPTED_OUT) | NEO_PROBLEM_BIT(NEO_CONFLICT_WINDOW_CLOSED) |
                 NEO_PROBLEM_BIT(NEO_INTERNAL_PROVIDER_UNAVAILABLE),
     .tag = "WhatsApp",
     .verb = "sendMessage",
     .summary = "Send a message into a conversation",
     .doc = "Sends a message, once. Its status is `accepted`, `failed` or `pending`, as that of the message that starts a "
            "conversation. Always send an Idempotency-Key.\n\nA template can be sent at any time. The other types need an open "
            "window: within 24 hours after the contact's last message, see `window_expires_at` of the conversation.",
     .answer = "The message."},
    {.method = "POST",
     .path = "whatsapp/conversations/{id}/read",
     .run = mark_read,
     .access = NEO_ACCESS_WRITE,
     .accepts = NEO_ACCEPTS_BODY,
     .status = 200,
     .response_headers = NEO_RESPONSE_ETAG,
     .resource = &neo_conversation,
     .media_type = "application/json",
     .body = &neo_read_input,
     .problems = NEO_PROBLEM_BIT(NEO_VALIDATION_FIELD_REQUIRED) | NEO_PROBLEM_BIT(NEO_VALIDATION_FIELD_INVALID) |
                 NEO_PROBLEM_BIT(NEO_VALIDATION_FIELD_NOT_FOUND) | NEO_PROBLEM_BIT(NEO_INTERNAL_PROVIDER_UNAVAILABLE),
     .schema = "Conversation",
     .tag = "WhatsApp",
     .verb = "markConversationRead",
     .summary = "Mark a conversation as read",
     .doc =
         "Marks the contact's messages up to `up_to_id` as read, also at WhatsApp, where the contact sees it. If WhatsApp is "
         "unavailable, nothing is marked; repeat the request.",
     .answer = "The conversation as it is now."},
    {0},
};
