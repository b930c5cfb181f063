/* SPDX-License-Identifier: Apache-2.0 */
/* neoapictl migrate: updates the schema. */
#include "sql/migrate.h"
#include "sql/representation.h"

#include "ctl/output.h"
#include "ctl/session.h"

typedef struct {
    const neo_ctl *ctl;
    neo_json *applied, *installed;
} progress;

static void report_migration(const neo_migration *migration, void *data)
{
    progress *p = data;
    neo_ctl_say(p->ctl, migration->number ? "applying %s" : "installing %s", migration->name);
    (void)neo_ctl_flush(p->ctl); /* before a migration that may take long */
    neo_json_append_string(migration->number ? p->applied : p->installed, migration->name, p->ctl->pool);
}

static void report_blocked(const char *who, void *data)
{
    const progress *p = data;
    neo_ctl_say(p->ctl, "waiting for tables that are in use, then retrying; blocked by: %s", who);
    (void)neo_ctl_flush(p->ctl);
}

const char *neo_ctl_apply_migrations(const neo_ctl *ctl, neo_pg *pg, const char *runtime, neo_json *report)
{
    int version = 0;
    progress p = {ctl, neo_json_make_array(ctl->pool), neo_json_make_array(ctl->pool)};
    const char *error = neo_migrate(pg, runtime, report_migration, report_blocked, &p, ctl->pool);
    if (!error && neo_schema_version(pg, ctl->pool, &version) != NEO_PG_OK)
        error = "the schema's version cannot be read";
    if (error)
        return error;
    neo_ctl_say(ctl, "the schema is at version %d%s", version,
                neo_json_size(p.applied) + neo_json_size(p.installed) ? "" : "; nothing to do");
    neo_json_set_integer(report, "version", version, ctl->pool);
    neo_json_set(report, "applied", p.applied);
    neo_json_set(report, "installed", p.installed);
    return neo_json_size(p.applied) + neo_json_size(p.installed) ? neo_ctl_record_as_owner(ctl, pg) : NULL;
}

static void add_pending(const neo_ctl *ctl, const char *action, const char *name, neo_json *names)
{
    neo_ctl_say(ctl, "would %s %s", action, name);
    neo_json_append_string(names, name, ctl->pool);
}

static const char *report_pending(const neo_ctl *ctl, neo_pg *pg, neo_json *report)
{
    int version;
    const neo_resource **outdated;
    neo_rows rows;
    neo_json *pending = neo_json_make_array(ctl->pool), *uninstalled = neo_json_make_array(ctl->pool);
    if (neo_schema_version(pg, ctl->pool, &version) != NEO_PG_OK)
        return "the schema's version cannot be read";
    const char *foreign = version ? neo_schema_foreign_migration(pg, ctl->pool) : NULL;
    if (foreign)
        return foreign;
    if (neo_representation_outdated(pg, ctl->pool, &outdated, &rows) != NEO_PG_OK)
        return rows.message;
    for (int i = 0; i < neo_migration_count; i++)
        if (neo_migrations[i].number > version)
            add_pending(ctl, "apply", neo_migrations[i].name, pending);
    for (; *outdated && version <= neo_schema_needed(); outdated++)
        add_pending(ctl, "install", neo_representation_script(*outdated, ctl->pool).name, uninstalled);
    if (!neo_json_size(pending) && !neo_json_size(uninstalled))
        neo_ctl_say(ctl, "the schema is at version %d; nothing to do", version);
    neo_json_set_integer(report, "version", version, ctl->pool);
    neo_json_set(report, "pending", pending);
    neo_json_set(report, "uninstalled", uninstalled);
    return NULL;
}

static const char *migrate(const neo_ctl *ctl, neo_pg *pg, neo_json *report)
{
    const char *runtime;
    if (neo_schema_runtime(pg, ctl->pool, &runtime) != NEO_PG_OK)
        return "the runtime role's name cannot be read; connect as a superuser or as a member of the role that owns the schema";
    if (!runtime)
        return "this database has no schema; create it with: neoapictl setup";
    if (neo_ctl_value(ctl, "dry-run"))
        return report_pending(ctl, pg, report);
    const char *error = neo_ctl_check_primary(ctl, pg);
    if (!error)
        error = neo_ctl_apply_migrations(ctl, pg, runtime, report);
    return error ? error : neo_ctl_exec(ctl, pg, "select neoapi.maintain_partitions(36500, 36500)"); /* drops none */
}

static neo_ctl_exit run_migrate(neo_ctl *ctl)
{
    const char *error;
    neo_json *report = neo_json_make_object(ctl->pool);
    neo_pg *pg = neo_ctl_connect(ctl, neo_ctl_conninfo(ctl), &error);
    if (pg)
        error = migrate(ctl, pg, report);
    if (error)
        return neo_ctl_fail(ctl, "%s", error);
    if (ctl->json)
        neo_ctl_print(ctl, report);
    return NEO_CTL_OK;
}

static const neo_parameter options[] = {
    {"dry-run", NEO_KIND_FLAG, 0, NULL, "show what would be applied and change nothing"},
    {0},
};

const neo_ctl_command neo_ctl_migrate[] = {
    {"migrate", NULL, "Update the schema.",
     "Connect as a superuser or as a member of the role that owns the schema. "
     "Each migration is a transaction; if it fails, it is rolled back. Running the command twice at the same time is safe. "
     "If a table is in use for long, the migration is retried for some minutes, so that other sessions do not wait behind it; "
     "the blocking sessions are printed. The command also installs the functions that this version generates, and creates the "
     "webhook partitions of the coming days.",
     NULL, options, run_migrate, NULL, 0},
    {0},
};
