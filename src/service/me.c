/* What the API says about the caller: /me. */
#include "call.h"

static void add_member(neo_buf *out, const char *name, const char *value)
{
    neo_buf_printf(out, "%c\"%s\":", out->len ? ',' : '{', name);
    neo_buf_json(out, value);
}

static void add_organizations(neo_buf *out, const neo_credential *who)
{
    neo_buf_puts(out, ",\"allowed_organization_ids\":[");
    for (int i = 0; i < who->organization_count; i++) {
        if (i)
            neo_buf_putc(out, ',');
        neo_buf_json(out, who->organizations[i]);
    }
    neo_buf_putc(out, ']');
}

neo_problem *neo_call_me(neo_call *call, neo_result *result)
{
    const neo_credential *who = call->principal;
    neo_buf out;
    neo_buf_init(&out, call->pool, 512);
    add_member(&out, "type", who->is_token ? "personal_access_token" : "api_key");
    add_member(&out, "principal_id", who->id);
    add_member(&out, "tenant_id", who->tenant);
    add_member(&out, "organization_id", call->actor.organization);
    if (who->is_token) {
        add_member(&out, "user_id", who->user);
        add_member(&out, "email", who->email);
        add_organizations(&out, who);
    } else {
        add_member(&out, "role", who->role);
        neo_buf_puts(&out, ",\"scopes\":");
        neo_scopes_json(&out, who->scopes);
    }
    neo_buf_putc(&out, '}');
    *result = (neo_result){.status = 200, .body = neo_buf_text(&out)};
    return NULL;
}
