/* SPDX-License-Identifier: Apache-2.0 */
/* GET /subjects, POST /subjects/export and erase: the data of a person (Lei 13.709, art. 18). */
#include "sql/subject.h"

#include <apr_strings.h>

#include "call.h"
#include "core/clock.h"
#include "resources/subject_page.h"
#include "schema/validate.h"
#include "sql/audit.h"

#define MAX_ERASE_MS 1000 /* of a request; the job "erase" continues */

/* ---------------------------------------------------------------- finding */

/* The person that the query names, as a body. Values are the query's, so that their errors name its parameters. */
static neo_json *person_in_query(neo_call *call)
{
    neo_json *person = neo_json_make_object(call->pool);
    for (const neo_filter *f = neo_subject_filters; f->name; f++)
        neo_json_set_string(person, f->name, apr_table_get(call->query, f->name), call->pool);
    return person;
}

typedef neo_pg_status reader(neo_pg *pg, const char *organization, const neo_json *person, apr_pool_t *pool, neo_rows *rows);

/* {"parameters": ["email"]}: which values the request gave, without them. */
static const char *audit_details(const neo_json *person, apr_pool_t *pool)
{
    neo_json *details = neo_json_make_object(pool), *names = neo_json_make_array(pool);
    for (const neo_filter *f = neo_subject_filters; f->name; f++)
        if (neo_json_get(person, f->name))
            neo_json_append_string(names, f->name, pool);
    neo_json_set(details, "parameters", names);
    return neo_json_text(details, pool).ptr;
}

/* Returns nothing if it cannot be added to the audit log. */
static neo_problem *read_with(neo_call *call, reader *read, const char *action, const neo_json *person, neo_result *result)
{
    neo_pg *pg;
    neo_rows rows, added;
    neo_problem *problem = neo_call_acquire(call, &pg);
    if (problem)
        return problem;
    neo_pg_status status = read(pg, call->actor.organization, person, call->pool, &rows);
    if (status == NEO_PG_OK)
        status = neo_audit_add(pg, &call->actor, action, NULL, NULL, audit_details(person, call->pool), call->pool, &added);
    neo_call_release(call, pg);
    return neo_call_return_row(call, status, &rows, result);
}

static neo_problem *find_subject(neo_call *call, neo_result *result)
{
    neo_json *person;
    neo_problem *problem = call->query_problem;
    if (!problem)
        problem = neo_validate(&neo_subject, person_in_query(call), call->pool, &person);
    return problem ? problem : read_with(call, neo_subject_find, "subject.found", person, result);
}

static neo_problem *export_subject(neo_call *call, neo_result *result)
{
    neo_json *person;
    neo_problem *problem = neo_validate(&neo_subject, call->body, call->pool, &person);
    return problem ? problem : read_with(call, neo_subject_export, "subject.exported", person, result);
}

/* ---------------------------------------------------------------- erasing */

/* Each step commits. So if the request ends in between, what was erased stays erased. */
static neo_problem *erase(neo_call *call, neo_pg *pg, const neo_json *person, neo_rows *rows)
{
    const char *id;
    const neo_ms end = neo_steady_ms() + MAX_ERASE_MS;
    neo_pg_status status = neo_erasure_begin(pg, &call->actor, person, call->pool, &id);
    for (int has_more = 1; status == NEO_PG_OK && has_more && neo_steady_ms() < end;)
        status = neo_erasure_step(pg, call->actor.organization, id, call->pool, &has_more);
    if (status == NEO_PG_OK)
        status = neo_erasure_read(pg, call->actor.organization, id, call->pool, rows);
    return status == NEO_PG_OK ? NULL : neo_call_failed(call, status, NULL);
}

static neo_problem *erase_subject(neo_call *call, neo_result *result)
{
    neo_json *person;
    neo_pg *pg;
    neo_rows rows;
    neo_problem *problem = neo_validate(&neo_subject, call->body, call->pool, &person);
    if (problem)
        return problem;
    if (neo_json_is_true(neo_json_get(person, "dry_run")))
        return read_with(call, neo_subject_preview, "subject.erasure_previewed", person, result);
    if ((problem = neo_call_acquire(call, &pg)))
        return problem;
    problem = erase(call, pg, person, &rows);
    neo_call_release(call, pg);
    if (problem)
        return problem;
    call->request->host->notify_dispatcher(call->request->context);
    *result = (neo_result){.status = 200, .body = neo_rows_text(&rows, 0, 0)};
    return NULL;
}

#define ABOUT_A_PERSON                                                                                                         \
    .status = 200, .resource = &neo_subject, .media_type = "application/json", .tag = "Subjects",                              \
    .problems = NEO_PROBLEM_BIT(NEO_VALIDATION_FIELD_REQUIRED) | NEO_PROBLEM_BIT(NEO_VALIDATION_FIELD_INVALID)

const neo_operation neo_subject_operations[] = {
    {.method = "GET",
     .path = "subjects",
     .run = find_subject,
     .access = NEO_ACCESS_READ,
     .accepts = NEO_ACCEPTS_FILTERS,
     ABOUT_A_PERSON,
     .filters = neo_subject_filters,
     .schema = "Subject",
     .verb = "findSubject",
     .summary = "Find the data of a person",
     .doc =
         "Every record of the organization about the person, with the field that matches and how: `exact`, `normalized` "
         "(another case of an e-mail address, a number with or without the ninth digit) or `linked` (another record refers to "
         "it). Nothing is guessed from names. Of a record that is `deleted`, only the event log still has data. Also what an "
         "erasure has kept because the law requires it. At least one parameter is required; each is searched for on its own.",
     .answer = "What the organization stores about the person."},
    {.method = "POST",
     .path = "subjects/export",
     .run = export_subject,
     .access = NEO_ACCESS_READ,
     .accepts = NEO_ACCEPTS_BODY,
     .body = &neo_subject,
     ABOUT_A_PERSON,
     .page = &neo_subject_page,
     .schema = "SubjectExport",
     .verb = "exportSubject",
     .summary = "Export the data of a person",
     .doc = "The answer to the person (Lei 13.709, art. 19): every record in full, where it comes from, which subscriptions "
            "got it, and until when it is kept. With `Accept: text/html` it is a page in Portuguese, to be sent to the person.",
     .answer = "All data of the person."},
    {.method = "POST",
     .path = "subjects/erase",
     .run = erase_subject,
     .access = NEO_ACCESS_WRITE,
     .accepts = NEO_ACCEPTS_BODY,
     .body = &neo_subject,
     ABOUT_A_PERSON,
     .schema = "Erasure",
     .verb = "eraseSubject",
     .summary = "Erase the data of a person",
     .doc =
         "Leads, conversations, messages and documents are deleted. So is a party to which no other record refers; otherwise "
         "it stays without personal data. Events, stored responses and rejected leads lose the personal data, too. What the "
         "law obliges to keep is kept apart, and only `GET /subjects` shows it. Followers get `party.erased` and "
         "`lead.erased`.\n\n"
         "A large erasure continues in the background: it is `running`. Repeat the request to see its state; this also "
         "erases what was written since.",
     .answer = "The erasure, or with `dry_run` what it would do."},
    {0},
};
