/* neoapictl import: reads an organization's data, checks it as a whole, and writes it. */
#include "import.h"

#include <apr_strings.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/json.h"
#include "ctl/output.h"
#include "ctl/session.h"
#include "ctl/transfer.h"

static volatile sig_atomic_t is_interrupted;

static void interrupt(int number)
{
    (void)number;
    is_interrupted = 1;
}

/* The portion that is being written is written to its end. */
static void stop_on_signals(void)
{
    struct sigaction action = {.sa_handler = interrupt, .sa_flags = SA_RESTART};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* ---------------------------------------------------------------- complaints */

static int compare(const void *a, const void *b)
{
    const neo_complaint *x = a, *y = b;
    return x->number < y->number ? -1 : x->number > y->number;
}

static const char *sentence_of(const neo_complaint *c, apr_pool_t *pool)
{
    const char *where = c->number ? apr_psprintf(pool, "line %" APR_INT64_T_FMT ": ", (apr_int64_t)c->number) : "";
    return apr_pstrcat(pool, where, c->field ? c->field : "", c->field ? " " : "", c->message, NULL);
}

static void add_complaint(const neo_ctl *ctl, neo_json *list, const neo_complaint *c)
{
    neo_json *row = neo_json_make_object(ctl->pool);
    if (c->number)
        neo_json_set(row, "line", neo_json_make_integer(c->number, ctl->pool));
    if (c->field)
        neo_json_set(row, "field", neo_json_make_string(c->field, ctl->pool));
    neo_json_set(row, "message", neo_json_make_string(c->message, ctl->pool));
    neo_json_append(list, row);
}

static neo_ctl_exit refuse(neo_import *import)
{
    const neo_ctl *ctl = import->ctl;
    apr_array_header_t *all = import->complaints;
    neo_json *report = neo_json_make_object(ctl->pool), *list = neo_json_make_array(ctl->pool);
    qsort(all->elts, (size_t)all->nelts, sizeof(neo_complaint), compare);
    for (int i = 0; i < all->nelts; i++) {
        const neo_complaint *c = &APR_ARRAY_IDX(all, i, neo_complaint);
        add_complaint(ctl, list, c);
        if (!ctl->json)
            fprintf(stderr, "%s\n", neo_ctl_one_line(sentence_of(c, ctl->pool), ctl->pool));
    }
    neo_json_set(report, "errors", list);
    if (ctl->json)
        neo_ctl_print(ctl, report);
    if (import->complained > all->nelts)
        return neo_ctl_fail(ctl, "nothing was imported: more than %d things are wrong; these were found first", all->nelts);
    return neo_ctl_fail(ctl, "nothing was imported: %d thing%s wrong", all->nelts, all->nelts == 1 ? " is" : "s are");
}

/* ---------------------------------------------------------------- writing */

static neo_ctl_exit report(const neo_import *import, const neo_intake_portion *sum, int was_written)
{
    const neo_ctl *ctl = import->ctl;
    long long rows = import->rows - import->passed_over;
    neo_json *done = neo_json_make_object(ctl->pool);
    neo_json_set(done, "rows", neo_json_make_integer(rows, ctl->pool));
    if (was_written) {
        neo_json_set(done, "created", neo_json_make_integer(sum->created, ctl->pool));
        neo_json_set(done, "changed", neo_json_make_integer(sum->updated, ctl->pool));
        neo_json_set(done, "unchanged", neo_json_make_integer(rows - sum->created - sum->updated, ctl->pool));
    }
    neo_json_set(done, "webhooks_passed_over", neo_json_make_integer(import->passed_over, ctl->pool));
    neo_ctl_print(ctl, done);
    if (!was_written)
        neo_ctl_say(ctl, "Nothing is wrong, and nothing was written.");
    if (import->passed_over)
        neo_ctl_say(ctl, "Webhook subscriptions are made anew by who receives them: their secrets are not in the file.");
    return NEO_CTL_OK;
}

/* Writes everything that was collected. Where it stops, it says how far it got. */
static neo_ctl_exit write_all(neo_import *import)
{
    neo_intake_portion sum = {0}, portion = {0};
    const char *wrong = NULL;
    apr_pool_t *pool;
    long long rows = import->rows - import->passed_over;
    apr_pool_create(&pool, import->ctl->pool);
    neo_ctl_progress_begin(&import->progress, import->ctl, "writing");
    while (!wrong && !portion.is_over && !is_interrupted) {
        apr_pool_clear(pool);
        wrong = neo_intake_write(import->intake, pool, &portion);
        sum.rows += portion.rows;
        sum.created += portion.created;
        sum.updated += portion.updated;
        neo_ctl_progress_show(&import->progress, sum.rows, sum.rows, rows);
    }
    neo_ctl_progress_end(&import->progress);
    if (!wrong && portion.is_over)
        return report(import, &sum, 1);
    return neo_ctl_fail(import->ctl,
                        "stopped with %" APR_INT64_T_FMT " of %" APR_INT64_T_FMT
                        " rows written: %s. The same command goes on from there.",
                        (apr_int64_t)sum.rows, (apr_int64_t)rows, wrong ? wrong : "interrupted");
}

/* ---------------------------------------------------------------- the command */

static const char *open_file(neo_import *import, const char *path)
{
    struct stat info;
    import->in = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    if (!import->in)
        return apr_psprintf(import->ctl->pool, "%s cannot be read: %s", path, strerror(errno));
    if (fstat(fileno(import->in), &info) == 0 && S_ISREG(info.st_mode))
        import->size = info.st_size;
    return NULL;
}

static const char *collect(neo_import *import, neo_pg *pg)
{
    const char *wrong = neo_intake_begin(pg, import->organization, neo_ctl_value(import->ctl, "tell-webhooks") != NULL,
                                         import->ctl->pool, &import->intake, &import->tenant);
    neo_ctl_progress_begin(&import->progress, import->ctl, "checking");
    if (!wrong)
        wrong = neo_import_read(import);
    if (!wrong)
        wrong = neo_intake_examine(import->intake, neo_import_complain, import, import->ctl->pool);
    neo_ctl_progress_end(&import->progress);
    return wrong;
}

static neo_ctl_exit run(neo_ctl *ctl)
{
    neo_import import = {.ctl = ctl,
                         .organization = neo_ctl_value(ctl, "organization"),
                         .complaints = apr_array_make(ctl->pool, 16, sizeof(neo_complaint))};
    const char *wrong = open_file(&import, neo_ctl_value(ctl, "file"));
    neo_pg *pg = wrong ? NULL : neo_ctl_open(ctl, &wrong);
    if (pg)
        wrong = collect(&import, pg);
    if (wrong)
        return neo_ctl_fail(ctl, "nothing was imported: %s", wrong);
    if (import.complained)
        return refuse(&import);
    if (neo_ctl_value(ctl, "check"))
        return report(&import, NULL, 0);
    if ((wrong = neo_intake_accept(import.intake, ctl->pool)))
        return neo_ctl_fail(ctl, "nothing was imported: %s", wrong);
    stop_on_signals();
    return write_all(&import);
}

static const neo_ctl_parameter arguments[] = {
    {"file", NEO_CTL_FILE, 0, NULL, "what is imported, as `export` writes it; - is standard input"},
    {0},
};

static const neo_ctl_parameter options[] = {
    {"organization", NEO_CTL_ORGANIZATION_ID, NEO_CTL_REQUIRED, NULL, "the organization that gets the rows"},
    {"check", NEO_CTL_FLAG, 0, NULL, "look at everything, and write nothing"},
    {"tell-webhooks", NEO_CTL_FLAG, 0, NULL,
     "tell webhooks of each row that is created or changed, as of a request; otherwise nobody is told"},
    {0},
};

const neo_ctl_command neo_ctl_import[] = {
    {"import", NULL, "Read rows into an organization: an export, or data from elsewhere.",
     "Each line is an object with one member, named after what its value is, {\"broker\": {...}}, in any order. All of them "
     "are "
     "checked before the first one is written, by the rules of the API; only where a status comes from is not asked. What is "
     "wrong "
     "is told with the numbers of the lines, and then nothing is imported. Rows are written in portions; an import that was "
     "interrupted is gone on with by the same command.\n"
     "A row with an id that the organization has, or else with its external_id, replaces that row, and is left alone where "
     "nothing "
     "differs. Ids of elsewhere may be any texts: they become ids of the API, always the same ones, wherever they are referred "
     "to. "
     "Rows that say that they are another organization's get new ids. Moments and names that the service sets are kept where a "
     "row "
     "has them. Subscriptions to webhooks are passed over.\n"
     "A lead is what `lead import` takes it for. An opt-out has contact_phone or contact_bsuid, opted_out_at, and "
     "phone_number_id, "
     "as Meta calls the number that it was said to; without that, and until the organization has that number, it counts for "
     "all "
     "its numbers. Whoever has resumed since in a conversation that is there is not stopped by it.",
     arguments, options, run, NULL, 0},
    {0},
};
