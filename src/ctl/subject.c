/* SPDX-License-Identifier: Apache-2.0 */
/* neoapictl subject: finds, exports and erases the data of a person. */
#include "sql/subject.h"

#include <apr_strings.h>

#include "ctl/noun.h"
#include "ctl/output.h"
#include "ctl/session.h"
#include "resources/list.h"
#include "resources/subject_page.h"
#include "schema/validate.h"

/* The person that the options name, validated like a request's. */
static const char *read_person(const neo_ctl *ctl, neo_json **person)
{
    static const char *const options[][2] = {
        {"document-number", "document_number"}, {"email", "email"}, {"phone", "phone"}, {NULL, NULL}};
    neo_json *given = neo_json_make_object(ctl->pool);
    for (int i = 0; options[i][0]; i++) {
        neo_json_set_string(given, options[i][1], neo_ctl_value(ctl, options[i][0]), ctl->pool);
    }
    const neo_problem *problem = neo_validate(&neo_subject, given, ctl->pool, person);
    return problem ? problem->detail : NULL;
}

/* Opens *pg, unless the organization does not exist or the person is invalid. */
static const char *open_for_person(const neo_ctl *ctl, neo_json **person, neo_pg **pg, const char **tenant)
{
    neo_rows rows;
    const char *organization = neo_ctl_value(ctl, "organization"), *error = read_person(ctl, person);
    if (error || !(*pg = neo_ctl_open(ctl, &error)))
        return error;
    error = neo_pg_query(*pg, "select tenant_id from neoapi.organization where id = $1", 1, &organization, ctl->pool, &rows);
    if (error || !rows.count)
        return error ? error : neo_noun_organization.missing;
    *tenant = neo_rows_value(&rows, 0, 0);
    return NULL;
}

static const char *parse_row(const neo_ctl *ctl, const neo_rows *rows, neo_json **value)
{
    const char *error;
    *value = neo_json_parse(neo_rows_text(rows, 0, 0), ctl->pool, &error);
    return *value ? NULL : error;
}

typedef neo_pg_status reader(neo_pg *pg, const char *organization, const neo_json *person, apr_pool_t *pool, neo_rows *rows);

static const char *read_with(const neo_ctl *ctl, reader *read, neo_json **value)
{
    neo_pg *pg;
    neo_rows rows;
    neo_json *person;
    const char *tenant, *error = open_for_person(ctl, &person, &pg, &tenant);
    if (!error && read(pg, neo_ctl_value(ctl, "organization"), person, ctl->pool, &rows) != NEO_PG_OK)
        error = rows.message;
    return error ? error : parse_row(ctl, &rows, value);
}

static neo_ctl_exit find_person(neo_ctl *ctl)
{
    neo_json *value = NULL;
    const char *error = read_with(ctl, neo_subject_find, &value);
    return neo_ctl_finish(ctl, error, value);
}

/* ---------------------------------------------------------------- export */

static neo_ctl_exit export_person(neo_ctl *ctl)
{
    neo_json *value = NULL;
    const char *error = read_with(ctl, neo_subject_export, &value);
    if (error)
        return neo_ctl_fail(ctl, "%s", error);
    neo_text out = neo_json_text(value, ctl->pool);
    if (neo_ctl_value(ctl, "html"))
        out = neo_subject_page.make(out, ctl->pool);
    fwrite(out.ptr, 1, out.len, stdout);
    putchar('\n');
    return (error = neo_ctl_flush(ctl)) ? neo_ctl_fail(ctl, "%s", error) : NEO_CTL_OK;
}

/* ---------------------------------------------------------------- erase */

static const char *erase_all(const neo_ctl *ctl, neo_json **value)
{
    neo_pg *pg;
    neo_rows rows = {0};
    neo_json *person;
    const char *id, *tenant, *organization = neo_ctl_value(ctl, "organization"),
                             *error = open_for_person(ctl, &person, &pg, &tenant);
    if (error)
        return error;
    const neo_actor actor = {tenant, organization, "neoapictl", "neoapictl", NULL, NULL, NULL};
    neo_pg_status status = neo_erasure_begin(pg, &actor, person, ctl->pool, &id);
    apr_pool_t *pool;
    apr_pool_create(&pool, ctl->pool);
    for (int has_more = 1; status == NEO_PG_OK && has_more; apr_pool_clear(pool))
        status = neo_erasure_step(pg, organization, id, pool, &has_more);
    if (status == NEO_PG_OK)
        status = neo_erasure_read(pg, organization, id, ctl->pool, &rows);
    return status == NEO_PG_OK ? parse_row(ctl, &rows, value) : "the erasure stopped; run the same command again to resume";
}

static neo_ctl_exit erase_person(neo_ctl *ctl)
{
    neo_json *value = NULL;
    const char *error = neo_ctl_value(ctl, "dry-run") ? read_with(ctl, neo_subject_preview, &value) : erase_all(ctl, &value);
    return neo_ctl_finish(ctl, error, value);
}

/* clang-format off */
#define PERSON                                                                                                                 \
    {"organization", NEO_KIND_ORGANIZATION_ID, NEO_PARAMETER_REQUIRED, NULL, "the organization"},                              \
    {"document-number", NEO_KIND_NAME, 0, NULL, "CPF or CNPJ of the person"},                                                  \
    {"email", NEO_KIND_EMAIL, 0, NULL, "e-mail address of the person"},                                                        \
    {"phone", NEO_KIND_NAME, 0, NULL, "telephone number of the person"}
/* clang-format on */

static const neo_parameter find_options[] = {PERSON, {0}};
static const neo_parameter export_options[] = {
    PERSON, {"html", NEO_KIND_FLAG, 0, NULL, "print a page in Portuguese, to be sent to the person, instead of JSON"}, {0}};
static const neo_parameter erase_options[] = {
    PERSON, {"dry-run", NEO_KIND_FLAG, 0, NULL, "show what would be erased and erase nothing"}, {0}};

const neo_ctl_command neo_ctl_subject[] = {
    {"subject", "find", "Find the data of a person.", NULL, NULL, find_options, find_person, NULL, 0},
    {"subject", "export", "Export the data of a person.",
     "This is the answer that the person is entitled to (Lei 13.709, art. 19).", NULL, export_options, export_person, NULL, 0},
    {"subject", "erase", "Erase the data of a person.",
     "What the law obliges to keep is kept apart; see doc/privacy.md. This cannot be undone. "
     "If it is interrupted, the server's job \"erase\" continues it, and so does the same command.",
     NULL, erase_options, erase_person, NULL, 0},
    {0},
};
