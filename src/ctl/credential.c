/* Credentials made and revoked (see ctl/credential.h). */
#include "ctl/credential.h"

#include <string.h>

#include "ctl/output.h"
#include "ctl/session.h"
#include "store/hearing.h"

static void show(const neo_ctl *ctl, const char *id, const char *secret)
{
    neo_json *made = neo_json_make_object(ctl->pool);
    neo_json_set(made, "id", neo_json_make_string(id, ctl->pool));
    neo_json_set(made, "secret", neo_json_make_string(secret, ctl->pool));
    neo_ctl_print(ctl, made);
    neo_ctl_say(ctl, "The secret is shown this once and kept nowhere. A client sends it in the header X-API-Key.");
}

static const char *exec(const neo_ctl *ctl, neo_pg *pg, const char *sql)
{
    neo_rows rows;
    return neo_pg_exec(pg, sql, 0, NULL, ctl->pool, &rows) == NEO_PG_OK ? NULL : rows.message;
}

neo_ctl_exit neo_ctl_create_credential(neo_ctl *ctl, neo_ctl_maker make)
{
    const char *wrong;
    char id[NEO_ID_SIZE], secret[NEO_SECRET_SIZE];
    neo_pg *pg = neo_ctl_open(ctl, &wrong);
    if (pg)
        wrong = exec(ctl, pg, "begin");
    if (!wrong)
        wrong = make(ctl, pg, id, secret);
    if (!wrong) {
        show(ctl, id, secret);
        wrong = neo_ctl_flush(ctl);
        if (!wrong && (wrong = exec(ctl, pg, "commit")))
            return neo_ctl_fail(ctl, "%s was shown and may not exist: %s", id, wrong);
    }
    return wrong ? neo_ctl_fail(ctl, "%s", wrong) : NEO_CTL_OK; /* what is not committed ends with the connection */
}

const char *neo_ctl_revoke(const neo_ctl *ctl, neo_pg *pg, char id[NEO_ID_SIZE])
{
    memcpy(id, neo_ctl_value(ctl, "id"), NEO_ID_SIZE);
    const char *wrong = neo_admin_revoke(pg, id, ctl->pool);
    if (!wrong && !neo_hearing_await(pg, ctl->pool))
        neo_ctl_say(ctl, "It is revoked, but not every server has confirmed it yet; the last will know in %d seconds.",
                    NEO_HEARING_LATEST);
    return wrong;
}
