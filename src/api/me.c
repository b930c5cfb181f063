/* SPDX-License-Identifier: Apache-2.0 */
/* GET /me: the credential and what it has access to. */
#include "call.h"

static void add_text(neo_buf *out, const char *name, const char *value)
{
    neo_buf_printf(out, "%c\"%s\":", out->len ? ',' : '{', name);
    neo_buf_json(out, value);
}

static neo_problem *describe_principal(neo_call *call, neo_result *result)
{
    const neo_credential *principal = call->principal;
    neo_buf out;
    neo_buf_init(&out, call->pool, 512);
    add_text(&out, "type", principal->is_token ? "personal_access_token" : "api_key");
    add_text(&out, "principal_id", principal->id);
    add_text(&out, "tenant_id", principal->tenant);
    add_text(&out, "organization_id", call->actor.organization);
    if (principal->is_token) {
        add_text(&out, "user_id", principal->user);
        add_text(&out, "email", principal->email);
        neo_buf_puts(&out, ",\"allowed_organization_ids\":[");
        for (int i = 0; i < principal->organization_count; i++) {
            neo_buf_puts(&out, i ? "," : "");
            neo_buf_json(&out, principal->organizations[i]);
        }
        neo_buf_putc(&out, ']');
    } else {
        add_text(&out, "role", principal->role);
        neo_buf_puts(&out, ",\"scopes\":");
        neo_scopes_json(&out, principal->scopes);
    }
    if (principal->expires_at) {
        char expires[NEO_MS_TEXT_SIZE];
        neo_ms_format(expires, principal->expires_at);
        add_text(&out, "expires_at", expires);
    }
    neo_buf_putc(&out, '}');
    *result = (neo_result){.status = 200, .body = neo_buf_text(&out)};
    return NULL;
}

const neo_operation neo_me_operations[] = {
    {.method = "GET",
     .path = "me",
     .run = describe_principal,
     .access = NEO_ACCESS_ANY,
     .status = 200,
     .media_type = "application/json",
     .tag = "Principal",
     .verb = "getPrincipal",
     .summary = "Describe the credential",
     .doc = "Returns the credential's scopes and organizations. A personal access token for several "
            "organizations does not need X-Organization-ID here; the default is the first of "
            "`allowed_organization_ids`.",
     .answer = "The principal."},
    {0},
};
