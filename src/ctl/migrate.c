/* neoapictl migrate */
#include "store/migrate.h"

#include "ctl/migrate.h"
#include "ctl/output.h"
#include "ctl/session.h"
#include "store/webhook_admin.h"

/* Who is told of each migration. */
typedef struct {
    const neo_ctl *ctl;
    neo_json *applied;
} progress;

static void tell(const neo_migration *migration, void *data)
{
    progress *p = data;
    neo_ctl_say(p->ctl, "applying %s", migration->name);
    (void)neo_ctl_flush(p->ctl); /* a long migration is not to be waited for in silence */
    neo_json_append(p->applied, neo_json_make_string(migration->name, p->ctl->pool));
}

static void tell_blocked(const char *who, void *data)
{
    const progress *p = data;
    neo_ctl_say(p->ctl, "it waits for tables that are in use, and tries again; in the way: %s", who);
    (void)neo_ctl_flush(p->ctl);
}

const char *neo_ctl_apply_migrations(const neo_ctl *ctl, neo_pg *pg, const char *runtime, neo_json *report)
{
    int version = 0;
    progress p = {ctl, neo_json_make_array(ctl->pool)};
    const char *wrong = neo_migrate(pg, runtime, tell, tell_blocked, &p, ctl->pool);
    if (!wrong && neo_schema_version(pg, ctl->pool, &version) != NEO_PG_OK)
        wrong = "the schema's version cannot be read";
    if (wrong)
        return wrong;
    neo_ctl_say(ctl, "the schema is at version %d%s", version, neo_json_size(p.applied) ? "" : "; nothing was to be done");
    neo_json_set(report, "version", neo_json_make_integer(version, ctl->pool));
    neo_json_set(report, "applied", p.applied);
    return NULL;
}

static const char *tell_pending(const neo_ctl *ctl, neo_pg *pg, neo_json *report)
{
    int version;
    neo_json *pending = neo_json_make_array(ctl->pool);
    if (neo_schema_version(pg, ctl->pool, &version) != NEO_PG_OK)
        return "the schema's version cannot be read";
    const char *foreign = version ? neo_schema_foreign_migration(pg, ctl->pool) : NULL;
    if (foreign)
        return foreign;
    for (int i = 0; i < neo_migration_count; i++)
        if (neo_migrations[i].number > version) {
            neo_ctl_say(ctl, "would apply %s", neo_migrations[i].name);
            neo_json_append(pending, neo_json_make_string(neo_migrations[i].name, ctl->pool));
        }
    if (!neo_json_size(pending))
        neo_ctl_say(ctl, "the schema is at version %d; nothing is to be done", version);
    neo_json_set(report, "version", neo_json_make_integer(version, ctl->pool));
    neo_json_set(report, "pending", pending);
    return NULL;
}

static const char *migrate(const neo_ctl *ctl, neo_pg *pg, neo_json *report)
{
    const char *runtime;
    if (neo_schema_runtime(pg, ctl->pool, &runtime) != NEO_PG_OK)
        return "the runtime role's name cannot be read; connect as a superuser or as a member of the role that owns the schema";
    if (!runtime)
        return "this database has not been set up; do it with: neoapictl setup";
    if (neo_ctl_value(ctl, "dry-run"))
        return tell_pending(ctl, pg, report);
    const char *wrong = neo_ctl_apply_migrations(ctl, pg, runtime, report);
    return wrong ? wrong : neo_admin_make_partitions(pg, ctl->pool);
}

static neo_ctl_exit run(neo_ctl *ctl)
{
    const char *wrong;
    neo_json *report = neo_json_make_object(ctl->pool);
    neo_pg *pg = neo_ctl_connect(ctl, neo_ctl_conninfo(ctl), &wrong);
    if (pg)
        wrong = migrate(ctl, pg, report);
    if (wrong)
        return neo_ctl_fail(ctl, "%s", wrong);
    if (ctl->json)
        neo_ctl_print(ctl, report);
    return NEO_CTL_OK;
}

static const neo_ctl_parameter options[] = {
    {"dry-run", NEO_CTL_FLAG, 0, NULL, "say what would be applied, and change nothing"},
    {0},
};

const neo_ctl_command neo_ctl_migrate[] = {
    {"migrate", NULL, "Bring the schema up to date.",
     "Connect as a superuser or as a member of the role that owns the schema. Each migration has a transaction of its own; one "
     "that fails is rolled back whole. Two at once do no harm. One that waits for a table which somebody uses for long is put "
     "off, so that "
     "nobody waits behind it, and tried again for minutes; it says who is in the way. The coming days' partitions for webhooks "
     "are made, too.",
     NULL, options, run, NULL, 0},
    {0},
};
