/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the template of a message before it is sent (see provider.h). */
#include "whatsapp/template.h"

#include <apr_strings.h>
#include <string.h>

#include "core/encode.h"
#include "core/log.h"
#include "core/secret.h"
#include "provider.h"
#include "whatsapp/account.h"

#define MIN_AGE_S         60   /* a template that was asked for is not asked for again within this time */
#define MIN_UNKNOWN_AGE_S 3600 /* the same if the provider did not return it */

/* A template that is stored; without a definition it is not known. */
typedef struct {
    const char *token; /* the number's; NULL if it cannot be decrypted, which sending reports */
    const char *account, *name, *language;
    const neo_json *definition;
    int is_current;
    long long asked; /* seconds since the provider was asked; -1: never */
} stored_template;

static neo_problem *find_template(neo_call *call, const neo_conversation_start *start, neo_rows *rows)
{
    neo_pg *pg;
    neo_problem *problem = neo_call_acquire(call, &pg);
    if (problem)
        return problem;
    neo_pg_status status = neo_whatsapp_find_template(pg, &call->actor, start, call->pool, rows);
    neo_call_release(call, pg);
    return status == NEO_PG_OK ? NULL : neo_call_failed(call, status, NULL);
}

static stored_template read_row(const neo_call *call, const neo_rows *rows, const neo_conversation_start *start)
{
    const char *error, *asked = neo_rows_value(rows, 0, NEO_TEMPLATE_ASKED);
    stored_template t = {
        .account = neo_rows_value(rows, 0, NEO_TEMPLATE_ACCOUNT),
        .name = neo_json_string_at(start->content, "template_name"),
        .language = neo_json_string_at(start->content, "template_language"),
        .is_current = neo_rows_is_true(rows, 0, NEO_TEMPLATE_IS_CURRENT),
        .asked = -1,
    };
    t.token = neo_secret_open(&call->site->keys, neo_rows_value(rows, 0, NEO_TEMPLATE_NUMBER),
                              neo_rows_value(rows, 0, NEO_TEMPLATE_ACCESS_TOKEN), call->pool);
    if (neo_rows_value(rows, 0, NEO_TEMPLATE_DEFINITION))
        t.definition = neo_json_parse(neo_rows_text(rows, 0, NEO_TEMPLATE_DEFINITION), call->pool, &error);
    if (asked && !neo_integer_parse(asked, &t.asked))
        t.asked = -1;
    return t;
}

/* If this fails, the provider is asked again. */
static void store_templates(neo_call *call, const stored_template *t, const neo_json *rows)
{
    neo_pg *pg = call->request->host->acquire(call->request->context);
    if (!pg)
        return;
    neo_pg_status status = neo_whatsapp_store_templates(pg, &call->actor, t->account, rows, call->pool);
    (void)status;
    neo_call_release(call, pg);
}

/* Asks the provider for the template in all its languages. Returns false if it did not answer: then the stored one stays. */
static int ask_provider(neo_call *call, stored_template *t)
{
    const char *error = "", *after;
    neo_provider_response answer;
    neo_call_read_provider(call, neo_template_path(t->account, t->name, call->pool), t->token, &answer);
    neo_json *rows = neo_templates_read(&answer, call->pool, &after, &error);
    if (rows) {
        t->definition = neo_template_find(rows, t->name, t->language);
        if (neo_json_size(rows))
            store_templates(call, t, rows);
        return 1;
    }
    neo_log(NEO_LOG_NO_TEMPLATE, call->request->log_context, "Meta does not return template %s (%s) of account %s (%s)",
            t->name, t->language, t->account, error);
    neo_json *row = neo_json_make_object(call->pool);
    rows = neo_json_make_array(call->pool);
    neo_json_set_string(row, "name", t->name, call->pool);
    neo_json_set_string(row, "language", t->language, call->pool);
    neo_json_append(rows, row);
    store_templates(call, t, rows);
    return 0;
}

static neo_problem *check_parameters(neo_call *call, const stored_template *t, const neo_json *content)
{
    neo_problem *problem = NULL;
    if (t->definition)
        neo_template_check(t->definition, content, &problem, call->pool);
    return problem;
}

static int is_due(const stored_template *t, const neo_problem *problem)
{
    if (!t->definition)
        return t->asked < 0 || t->asked >= MIN_UNKNOWN_AGE_S;
    return (!t->is_current || problem) && (t->asked < 0 || t->asked >= MIN_AGE_S);
}

static neo_problem *refuse_unknown(neo_call *call, const stored_template *t)
{
    neo_problem *problem = NULL;
    neo_problem_field(&problem, call->pool, NEO_VALIDATION_TEMPLATE_REJECTED, "whatsapp", "template_name",
                      "does not exist in the language %s at WhatsApp", t->language);
    return problem;
}

/* Without a definition, only the parameters of a body can be sent. */
static neo_problem *check_unknown(neo_call *call, const neo_json *content)
{
    return neo_template_is_plain(content)
               ? NULL
               : neo_call_try_later(call, NEO_INTERNAL_PROVIDER_UNAVAILABLE, NEO_PROVIDER_RETRY_SECONDS,
                                    "WhatsApp does not return the template, so its parameters cannot be checked; nothing was "
                                    "sent. Try again later.");
}

neo_problem *neo_call_check_template(neo_call *call, neo_conversation_start *start)
{
    neo_rows rows;
    const char *type = neo_json_string_at(start->content, "type");
    neo_problem *problem = NULL;
    if (type && strcmp(type, "template") != 0)
        return NULL;
    if ((problem = find_template(call, start, &rows)) || !rows.count)
        return problem;
    stored_template t = read_row(call, &rows, start);
    problem = check_parameters(call, &t, start->content);
    if (t.token && is_due(&t, problem)) {
        int is_answered = ask_provider(call, &t);
        problem = check_parameters(call, &t, start->content);
        if (is_answered && !t.definition)
            return refuse_unknown(call, &t);
    }
    start->definition = t.definition;
    return t.definition ? problem : check_unknown(call, start->content);
}
