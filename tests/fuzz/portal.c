/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the reader of portals' leads in every format. A lead that it reads can be validated. */
#include "resources/portal.h"
#include "resources/list.h"
#include "schema/validate.h"

#include "expect.h"

static void check_lead(const char *portal, neo_text raw, apr_pool_t *pool)
{
    neo_portal_lead lead;
    neo_json *clean = NULL;
    const char *reason = neo_portal_read(portal, raw, pool, &lead);
    EXPECT(!reason || *reason);
    if (reason)
        return;
    const neo_json *origin = neo_json_get(lead.body, "origin");
    EXPECT(strcmp(neo_json_string_at(lead.body, "source"), "portal") == 0);
    EXPECT(strcmp(neo_json_string_at(origin, "portal"), portal) == 0 && *neo_json_string_at(origin, "lead_id"));
    EXPECT(!lead.listing || *lead.listing);
    const neo_problem *problem = neo_validate(&neo_lead, lead.body, pool, &clean);
    EXPECT(problem || neo_json_string_at(clean, "name"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    apr_pool_t *pool = input_pool();
    neo_text raw = {(const char *)data, size};
    for (const char *const *portal = neo_portal_formats; *portal; portal++)
        check_lead(*portal, raw, pool);
    apr_pool_clear(pool);
    return 0;
}
