/* SPDX-License-Identifier: Apache-2.0 */
/* OAuth 2.0 for machines: the token endpoint for client credentials (RFC 6749, section 4.4), and the metadata of the server
 * (RFC 8414). A client is an API key: its id and its secret. */
#include <apr_escape.h>
#include <apr_strings.h>
#include <string.h>
#include <strings.h>

#include "call.h"
#include "core/encode.h"
#include "core/json.h"
#include "core/secret.h"

#define TOKEN_SECONDS 900
#define MAX_FORM      8192 /* bytes */
#define FORM_TYPE     "application/x-www-form-urlencoded"
#define METADATA_PATH "/.well-known/oauth-authorization-server"

/* An error of RFC 6749, section 5.2. */
typedef struct {
    int status;
    const char *name, *description;
    const char *code; /* a code of the API's catalogue, for error_uri; NULL if there is none */
} oauth_error;

typedef struct {
    const char *id, *secret;
} client;

static const oauth_error none;

static oauth_error invalid_request(const char *description)
{
    return (oauth_error){400, "invalid_request", description, NULL};
}

static oauth_error invalid_client(const char *description)
{
    return (oauth_error){401, "invalid_client", description, "unauthorized.invalid_credential"};
}

/* ---------------------------------------------------------------- the form */

/* Parameters without a value count as absent, and unknown ones are ignored (section 3.2). */
static oauth_error read_form(neo_call *call, neo_text body, apr_table_t *form)
{
    char *rest = apr_pstrmemdup(call->pool, body.ptr, body.len), *pair;
    if (strlen(rest) != body.len)
        return invalid_request("The body has a NUL character.");
    while ((pair = strsep(&rest, "&"))) {
        char *text = pair + strcspn(pair, "=");
        if (*text)
            *text++ = '\0';
        const char *name = neo_call_decode(pair, call->pool), *value = neo_call_decode(text, call->pool);
        if (!name || !value)
            return invalid_request("The body must be percent-encoded UTF-8 without control characters.");
        if (apr_table_get(form, name))
            return invalid_request(apr_psprintf(call->pool, "A parameter is repeated."));
        if (*value)
            apr_table_setn(form, name, value);
    }
    return none;
}

static oauth_error read_body(neo_call *call, apr_table_t *form, neo_problem **problem)
{
    neo_text body;
    const char *header = neo_call_header(call, "Content-Type");
    *problem = call->request->host->body(call->request->context, MAX_FORM, &body);
    if (*problem)
        return none;
    if (!header || strcasecmp(apr_pstrmemdup(call->pool, header, strcspn(header, "; \t")), FORM_TYPE) != 0)
        return invalid_request("The Content-Type must be " FORM_TYPE ".");
    return read_form(call, body, form);
}

/* ---------------------------------------------------------------- the client */

/* "Basic <base64 of id:secret>", both of which are form-encoded (section 2.3.1). */
static int read_basic(const neo_call *call, const char *header, client *c)
{
    unsigned char bytes[1024];
    int len = neo_base64_decode(header, strlen(header), bytes, sizeof bytes - 1);
    if (len < 0)
        return 0;
    bytes[len] = '\0';
    char *id = apr_pstrdup(call->pool, (const char *)bytes), *secret = strchr(id, ':');
    if (!secret)
        return 0;
    *secret++ = '\0';
    *c = (client){neo_call_decode(id, call->pool), neo_call_decode(secret, call->pool)};
    return c->id && c->secret;
}

static oauth_error read_client(const neo_call *call, const apr_table_t *form, client *c)
{
    const char *header = neo_call_header(call, "Authorization"), *id = apr_table_get(form, "client_id");
    *c = (client){id, apr_table_get(form, "client_secret")};
    if (!header || strncasecmp(header, "Basic ", 6) != 0)
        return c->id && c->secret ? none : invalid_client("Send client_id and client_secret in the body, or HTTP Basic.");
    if (c->secret)
        return invalid_request("The client sends its secret twice: in the body and with HTTP Basic.");
    if (!read_basic(call, header + 6 + strspn(header + 6, " "), c))
        return invalid_client("The header Authorization is malformed.");
    return id && strcmp(id, c->id) != 0 ? invalid_request("client_id differs from that of HTTP Basic.") : none;
}

/* Verifies the client and counts the request against its limit. A problem that is not about it is that of the response. */
static oauth_error authenticate(neo_call *call, const client *c, neo_problem **problem)
{
    const neo_credential *found = NULL;
    const oauth_error unknown = invalid_client("client_id and client_secret are not those of an API key.");
    if (strlen(c->id) != NEO_ID_LEN || strncmp(c->id, c->secret, NEO_ID_LEN) != 0)
        return unknown;
    neo_problem *refusal = neo_call_verify_secret(call, c->secret, &found);
    int status = refusal ? neo_problem_status(refusal) : 0;
    if (refusal && refusal->kind == NEO_UNAUTHORIZED_INVALID_CREDENTIAL) /* its detail is about X-API-Key */
        return unknown;
    if (status == 401 || status == 403)
        return (oauth_error){401, "invalid_client", refusal->detail, refusal->code};
    *problem = refusal;
    if (refusal)
        return none;
    call->principal = found;
    call->request->host->on_authenticated(call->request->context, found);
    *problem = neo_call_limit_rate(call, 1);
    if (!*problem && found->is_token)
        return (oauth_error){400, "unauthorized_client", "A personal access token is sent in X-API-Key.", NULL};
    return none;
}

/* ---------------------------------------------------------------- the response */

static void respond_error(neo_call *call, const oauth_error *error, neo_result *result)
{
    neo_json *body = neo_json_make_object(call->pool);
    neo_json_set_string(body, "error", error->name, call->pool);
    neo_json_set_string(body, "error_description", error->description, call->pool);
    if (error->code)
        neo_json_set_string(body, "error_uri", apr_pstrcat(call->pool, call->site->docs_url, "/errors#", error->code, NULL),
                            call->pool);
    if (error->status == 401)
        neo_call_set_header(call, "WWW-Authenticate", "Basic realm=\"API key\", charset=\"UTF-8\"");
    *result = (neo_result){.status = error->status, .body = neo_json_text(body, call->pool)};
}

/* The scopes that the client asks for, or all that it has. */
static oauth_error choose_scopes(const neo_call *call, const apr_table_t *form, neo_scopes *scopes)
{
    const char *wanted = apr_table_get(form, "scope");
    *scopes = call->principal->scopes;
    if (!wanted)
        return none;
    if (!neo_scopes_parse(wanted, call->pool, scopes) || *scopes & ~call->principal->scopes & ~NEO_SCOPES_MASKED)
        return (oauth_error){400, "invalid_scope", "The key does not have all these scopes. GET /me lists those that it has.",
                             NULL};
    *scopes = neo_scopes_restrict(call->principal->scopes, *scopes);
    return none;
}

static void issue(const neo_call *call, const char *secret, neo_scopes scopes, neo_result *result)
{
    const neo_credential *key = call->principal;
    neo_json *body = neo_json_make_object(call->pool);
    long long left = key->expires_at ? (key->expires_at - neo_now_ms()) / 1000 : TOKEN_SECONDS;
    int seconds = left < TOKEN_SECONDS ? (int)left : TOKEN_SECONDS;
    const char *token = neo_access_token_make(call->site, key, secret, scopes, seconds, call->pool);
    neo_json_set_string(body, "access_token", token, call->pool);
    neo_json_set_string(body, "token_type", "Bearer", call->pool);
    neo_json_set_integer(body, "expires_in", seconds, call->pool);
    neo_json_set_string(body, "scope", neo_scopes_text(scopes, call->pool), call->pool);
    *result = (neo_result){.status = 200, .body = neo_json_text(body, call->pool)};
}

static neo_problem *request_token(neo_call *call, neo_result *result)
{
    client c;
    neo_scopes scopes = 0;
    neo_problem *problem = NULL;
    apr_table_t *form = apr_table_make(call->pool, 4);
    if (!call->site->keys.count)
        return neo_call_try_later(call, NEO_INTERNAL_UNAVAILABLE, NEO_CALL_RETRY_SECONDS,
                                  neo_code_row(NEO_INTERNAL_UNAVAILABLE)->meaning);
    neo_call_set_header(call, "Pragma", "no-cache"); /* section 5.1 requires it */
    oauth_error error = read_body(call, form, &problem);
    const char *grant = apr_table_get(form, "grant_type");
    if (!problem && !error.status && !grant)
        error = invalid_request("grant_type is missing.");
    if (!problem && !error.status && strcmp(grant, "client_credentials") != 0)
        error = (oauth_error){400, "unsupported_grant_type", "grant_type must be client_credentials.", NULL};
    if (!problem && !error.status)
        error = read_client(call, form, &c);
    if (!problem && !error.status)
        error = authenticate(call, &c, &problem);
    if (!problem && !error.status)
        error = choose_scopes(call, form, &scopes);
    if (!problem && error.status)
        respond_error(call, &error, result);
    else if (!problem)
        issue(call, c.secret, scopes, result);
    return problem;
}

const neo_operation neo_oauth_operations[] = {
    {.method = "POST",
     .path = "oauth/token",
     .run = request_token,
     .access = NEO_ACCESS_PUBLIC,
     .status = 200,
     .media_type = "application/json",
     .tag = "Principal",
     .verb = "requestToken",
     .summary = "Request an access token",
     .doc =
         "OAuth 2.0 with client credentials (RFC 6749, section 4.4): `client_id` is the id of an API key, `client_secret` its "
         "secret, in the body or with HTTP Basic. The token is valid for 15 minutes, and no longer than the key. It is sent as "
         "`Authorization: Bearer` instead of `X-API-Key`.",
     .answer = "The token."},
    {0},
};

/* ---------------------------------------------------------------- metadata */

/* RFC 8414, section 3.1: the path of the issuer follows the well-known one. */
static const char *metadata_path(const neo_site *site, apr_pool_t *pool)
{
    const char *issuer = neo_issuer(site, pool), *authority = strstr(issuer, "://");
    return apr_pstrcat(pool, METADATA_PATH, authority ? authority + 3 + strcspn(authority + 3, "/") : "", NULL);
}

static void add_list(neo_json *object, const char *name, const char *const *words, apr_pool_t *pool)
{
    neo_json *list = neo_json_make_array(pool);
    for (; *words; words++)
        neo_json_append_string(list, *words, pool);
    neo_json_set(object, name, list);
}

static neo_text make_metadata(const neo_site *site, apr_pool_t *pool)
{
    static const char *const methods[] = {"client_secret_basic", "client_secret_post", NULL};
    static const char *const grants[] = {"client_credentials", NULL}, *const responses[] = {NULL};
    neo_json *metadata = neo_json_make_object(pool);
    neo_json_set_string(metadata, "issuer", neo_issuer(site, pool), pool);
    neo_json_set_string(metadata, "token_endpoint", apr_pstrcat(pool, site->base_url, "oauth/token", NULL), pool);
    add_list(metadata, "token_endpoint_auth_methods_supported", methods, pool);
    add_list(metadata, "grant_types_supported", grants, pool);
    add_list(metadata, "response_types_supported", responses, pool);
    add_list(metadata, "scopes_supported", neo_scope_names(pool), pool);
    neo_json_set_string(metadata, "service_documentation", site->docs_url, pool);
    return neo_json_text(metadata, pool);
}

static neo_plain_reply answer_metadata(neo_call *call)
{
    neo_plain_reply refusal = neo_call_admit_read(call);
    if (refusal.status != 200)
        return refusal;
    if (strcmp(call->request->path, metadata_path(call->site, call->pool)) != 0)
        return (neo_plain_reply){404, "not found\n"};
    return (neo_plain_reply){200, make_metadata(call->site, call->pool).ptr};
}

void neo_service_answer_oauth_metadata(const neo_site *site, const neo_request *request, neo_response *response)
{
    neo_call call;
    neo_call_begin(&call, site, request, response);
    neo_plain_reply reply = answer_metadata(&call);
    neo_call_set_reply(&call, neo_oauth_route_number(), reply);
    if (reply.status == 200)
        response->media_type = "application/json";
}
