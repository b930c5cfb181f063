/* SPDX-License-Identifier: Apache-2.0 */
/* Authenticates the request: from X-API-Key to a credential. Checks its scope, and both again before each use of the database.
 */
#include <string.h>
#include <strings.h>

#include "call.h"
#include "core/log.h"
#include "core/secret.h"
#include "resources/mask.h"

#define ORGANIZATION "X-Organization-ID"

static neo_problem *invalid(neo_call *call)
{
    return neo_problem_make(call->pool, NEO_UNAUTHORIZED_INVALID_CREDENTIAL, "X-API-Key is not a valid credential.");
}

/* Reads the credential from the database into the cache, unless credentials changed meanwhile. Sets *found to NULL if no
 * credential has the id. Waiting for a second connection could deadlock. */
static neo_problem *read_credential(neo_call *call, const char *id, neo_credential **found)
{
    neo_pg *pg = call->pg, *own = NULL;
    neo_credential_cache *cache = call->site->credential_cache;
    unsigned int generation = neo_credential_cache_generation(cache);
    neo_problem *problem = pg ? NULL : neo_call_acquire_unconfirmed(call, &own);
    if (problem)
        return problem;
    neo_pg_status status = neo_credential_read(pg ? pg : own, id, call->pool, found);
    if (own)
        neo_call_release_unconfirmed(call, own);
    if (status != NEO_PG_OK) /* a read that failed has changed nothing */
        return neo_call_failed(call, status == NEO_PG_UNAVAILABLE ? NEO_PG_RETRY : status, NULL);
    if (*found)
        neo_credential_cache_put(cache, generation, *found);
    else
        neo_credential_cache_put_unknown(cache, generation, id);
    return NULL;
}

static int has_hash(const unsigned char hash[NEO_SHA256_SIZE], const unsigned char expected[NEO_SHA256_SIZE])
{
    return neo_equal_constant_time(hash, expected, NEO_SHA256_SIZE);
}

/* After a rotation both secrets are valid for a time; only the new one is cached, because it does not expire. */
static int accept_secret(neo_call *call, const neo_credential *credential, const char *secret)
{
    unsigned char hash[NEO_SHA256_SIZE];
    neo_secret_hash(secret, hash);
    if (!has_hash(hash, credential->hash))
        return credential->previous_until > neo_now_ms() && has_hash(hash, credential->previous_hash);
    neo_credential_cache_set_verified(call->site->credential_cache, credential, secret);
    return 1;
}

/* For a credential that is not cached. A client can send ids that do not exist, so the reads of an address are limited. A
 * credential that was valid earlier in the request is not counted. */
static neo_problem *look_up(neo_call *call, const char *id, const char *secret, const neo_credential **credential)
{
    neo_credential *found = NULL;
    if (neo_credential_cache_is_unknown(call->site->credential_cache, id))
        return invalid(call);
    neo_problem *problem = call->principal ? NULL : neo_call_check_lookups(call);
    if (!problem)
        problem = read_credential(call, id, &found);
    if (problem)
        return problem;
    *credential = found;
    if (found && accept_secret(call, found, secret))
        return NULL;
    neo_call_count_failed_lookup(call);
    return invalid(call);
}

/* For a secret that is not cached as verified. */
static neo_problem *verify_secret(neo_call *call, const char *secret, const neo_credential **credential)
{
    char id[NEO_ID_SIZE];
    if (!neo_secret_id(secret, id) || !neo_secret_check(secret))
        return invalid(call);
    *credential = neo_credential_cache_get(call->site->credential_cache, id, call->pool);
    if (!*credential)
        return look_up(call, id, secret, credential);
    return accept_secret(call, *credential, secret) ? NULL : invalid(call);
}

static neo_problem *refuse_network(neo_call *call, const neo_credential *credential)
{
    static atomic_llong logged;
    const char *address = call->request->address;
    if (neo_call_may_log(&logged))
        neo_log(NEO_LOG_NETWORK, call->request->log_context, "%s was sent from %s, which is not in its allowed networks",
                credential->id, address);
    return neo_problem_make(call->pool, NEO_FORBIDDEN_NETWORK, "The credential must not be used from the address %s.", address);
}

/* Whether a credential whose secret was verified may be used now and from here. The network comes first, so that whoever has a
 * lost secret learns nothing else elsewhere. */
static neo_problem *check_validity(neo_call *call, const neo_credential *credential)
{
    char expired[NEO_MS_TEXT_SIZE];
    if (credential->network_count &&
        !neo_networks_admit(credential->networks, credential->network_count, call->request->address))
        return refuse_network(call, credential);
    if (credential->is_revoked)
        return neo_problem_make(call->pool, NEO_UNAUTHORIZED_REVOKED_CREDENTIAL, "This credential was revoked.");
    if (!credential->expires_at || neo_now_ms() < credential->expires_at)
        return NULL;
    neo_ms_format(expired, credential->expires_at);
    return neo_problem_make(call->pool, NEO_UNAUTHORIZED_EXPIRED_CREDENTIAL, "This credential expired at %s.", expired);
}

neo_problem *neo_call_verify_secret(neo_call *call, const char *secret, const neo_credential **found)
{
    *found = neo_credential_cache_get_verified(call->site->credential_cache, secret, call->pool);
    neo_problem *problem = *found ? NULL : verify_secret(call, secret, found);
    return problem ? problem : check_validity(call, *found);
}

/* ---------------------------------------------------------------- access tokens */

static neo_problem *invalid_token(neo_call *call)
{
    return neo_problem_make(call->pool, NEO_UNAUTHORIZED_INVALID_CREDENTIAL,
                            "The bearer token is not an access token of this service.");
}

static neo_problem *expired_token(neo_call *call)
{
    char expired[NEO_MS_TEXT_SIZE];
    neo_ms_format(expired, call->token.expires_at);
    return neo_problem_make(call->pool, NEO_UNAUTHORIZED_EXPIRED_CREDENTIAL,
                            "The access token expired at %s. Request another one.", expired);
}

/* The signature needs no query. The key is read like one that is sent, so that a revocation ends its tokens at once. */
static neo_problem *verify_token(neo_call *call, const char *text, const neo_credential **found)
{
    neo_credential *read = NULL;
    neo_access_token *token = &call->token;
    if (!call->site->keys.count) /* the token may be valid */
        return neo_call_try_later(call, NEO_INTERNAL_UNAVAILABLE, NEO_CALL_RETRY_SECONDS,
                                  neo_code_row(NEO_INTERNAL_UNAVAILABLE)->meaning);
    if (!neo_access_token_read(call->site, text, call->pool, token))
        return invalid_token(call);
    *found = neo_credential_cache_get(call->site->credential_cache, token->credential, call->pool);
    neo_problem *problem = *found ? NULL : read_credential(call, token->credential, &read);
    if (problem)
        return problem;
    if (!*found && !(*found = read))
        return invalid_token(call);
    if ((problem = check_validity(call, *found)))
        return problem;
    if (!neo_access_token_has_secret(token, *found, call->pool))
        return neo_problem_make(call->pool, NEO_UNAUTHORIZED_REVOKED_CREDENTIAL,
                                "The secret that the access token was requested with was replaced.");
    return neo_now_ms() < token->expires_at ? NULL : expired_token(call);
}

/* The token of "Bearer <token>" (RFC 6750); NULL if the header is absent or of another scheme. */
static const char *find_bearer_token(const neo_call *call)
{
    const char *header = neo_call_header(call, "Authorization");
    return header && strncasecmp(header, "Bearer ", 7) == 0 ? header + 7 + strspn(header + 7, " ") : NULL;
}

/* Sets call->principal to the credential in the request, or returns the problem of a request without a valid one. */
static neo_problem *authenticate(neo_call *call)
{
    const neo_credential *found = NULL;
    const char *secret = neo_call_header(call, "X-API-Key"), *token = secret && *secret ? NULL : find_bearer_token(call);
    if (!token && !(secret && *secret))
        return neo_problem_make(call->pool, NEO_UNAUTHORIZED_AUTH_REQUIRED,
                                "Send an API key or a personal access token in the header X-API-Key.");
    neo_problem *problem = token ? verify_token(call, token, &found) : neo_call_verify_secret(call, secret, &found);
    if (problem)
        return problem;
    call->principal = found;
    call->scopes = token ? neo_scopes_restrict(found->scopes, call->token.scopes) : found->scopes;
    call->request->host->on_authenticated(call->request->context, found);
    return NULL;
}

/* A request without a valid credential is counted against the rate limit of its address before it is refused. If the database
 * is unavailable, no credential can be verified, and the request is not counted. */
neo_problem *neo_call_identify(neo_call *call)
{
    neo_problem *refusal = authenticate(call);
    neo_problem *problem = neo_call_limit_rate(call, refusal && neo_problem_status(refusal) >= 500 ? 0 : 1);
    return problem || call->match.is_public ? problem : refusal;
}

static const char *find_accessible(const neo_credential *principal, const char *organization)
{
    for (int i = 0; i < principal->organization_count; i++)
        if (strcmp(principal->organizations[i], organization) == 0)
            return principal->organizations[i];
    return NULL;
}

/* A credential's only organization, or the one in X-Organization-ID. */
neo_problem *neo_call_choose_organization(neo_call *call)
{
    const neo_credential *principal = call->principal;
    neo_problem *problem = NULL;
    if (!principal || call->match.operation->access == NEO_ACCESS_PUBLIC)
        return NULL;
    const char *asked = neo_call_header(call, ORGANIZATION);
    const char *organization = asked                           ? find_accessible(principal, asked)
                               : principal->organization_count ? principal->organizations[0]
                                                               : NULL;
    if (!asked && principal->organization_count > 1 && call->match.operation->access != NEO_ACCESS_ANY) {
        neo_problem_field(&problem, call->pool, NEO_VALIDATION_ORGANIZATION_REQUIRED, "", ORGANIZATION,
                          "is required: the token has access to several organizations, which GET /me lists");
        return problem;
    }
    if (!organization)
        return neo_problem_make(call->pool, NEO_FORBIDDEN_ORGANIZATION,
                                asked ? "The credential has no access to the organization in " ORGANIZATION "."
                                      : "The credential has no access to any organization.");
    call->actor = (neo_actor){
        principal->tenant, organization,          principal->id,         principal->is_token ? principal->user : principal->id,
        call->request->id, neo_call_origin(call), call->request->address};
    return NULL;
}

/* What is not JSON cannot be masked (attachments), nor what has no masked scope although it has sensitive fields. */
static neo_problem *check_masked(neo_call *call)
{
    const neo_match *match = &call->match;
    const char *media_type = match->operation->media_type;
    int is_json = !media_type || strstr(media_type, "json");
    int is_of_admin = match->resource && NEO_SCOPES_ADMIN & NEO_SCOPE_READ(match->resource->area);
    if (!(call->scopes & NEO_SCOPES_MASKED) || (is_json && !(is_of_admin && neo_resource_is_sensitive(match->resource))))
        return NULL;
    return neo_problem_make(call->pool, NEO_FORBIDDEN_PERMISSIONS,
                            "The response cannot be masked. It needs a credential without masked scopes.");
}

neo_problem *neo_call_check_scope(neo_call *call)
{
    const neo_operation *operation = call->match.operation;
    if (operation->access < NEO_ACCESS_READ)
        return NULL;
    neo_area area = call->match.resource->area;
    int is_any = operation->access == NEO_ACCESS_EVENTS;
    neo_scopes needed = is_any                                 ? NEO_SCOPES_READ
                        : operation->access == NEO_ACCESS_READ ? NEO_SCOPE_READ(area)
                                                               : NEO_SCOPE_WRITE(area);
    if (call->scopes & needed)
        return check_masked(call);
    if (is_any)
        return neo_problem_make(call->pool, NEO_FORBIDDEN_PERMISSIONS, "The credential has no scope to read.");
    return neo_problem_make(call->pool, NEO_FORBIDDEN_PERMISSIONS, "The credential lacks the scope %s.",
                            neo_scope_text(needed, call->pool));
}

/* Whether the credential is as it was when it was identified, and an access token has not expired. */
static int is_unchanged(const neo_call *call)
{
    neo_credential_cache *cache = call->site->credential_cache;
    if (*call->token.credential)
        return neo_now_ms() < call->token.expires_at && neo_credential_cache_has(cache, call->principal);
    return neo_credential_cache_has_verified(cache, neo_call_header(call, "X-API-Key"), call->principal);
}

/* A token may have got other organizations, of which the first would be chosen. */
neo_problem *neo_call_confirm(neo_call *call)
{
    neo_credential_cache *cache = call->site->credential_cache;
    const char *organization = call->actor.organization;
    if (call->write)
        neo_credential_cache_refresh_write(cache, call->write);
    if (is_unchanged(call))
        return check_validity(call, call->principal);
    neo_problem *problem = authenticate(call);
    if (!problem)
        problem = neo_call_choose_organization(call);
    if (!problem && strcmp(call->actor.organization, organization) != 0)
        problem = neo_problem_make(call->pool, NEO_FORBIDDEN_ORGANIZATION,
                                   "The credential has lost its access to the organization during the request.");
    return problem ? problem : neo_call_check_scope(call);
}

/* A credential that replaces the last one has a pool of its own, because the number of parts is not limited. */
int neo_call_has_lost_access(neo_call *call, apr_pool_t **principal_pool, const char **why)
{
    const neo_credential *before = call->principal;
    apr_pool_t *pool, *unused;
    apr_pool_create(&pool, call->request->pool);
    call->pool = pool;
    neo_problem *problem = neo_call_confirm(call);
    int has_lost_rights = problem && neo_problem_status(problem) < 500;
    unused = call->principal == before ? pool : *principal_pool;
    if (call->principal != before)
        *principal_pool = pool;
    if (unused)
        apr_pool_destroy(unused);
    call->pool = call->request->pool;
    if (has_lost_rights)
        *why = "the credential was revoked, or lost its rights";
    return has_lost_rights;
}

/* ---------------------------------------------------------------- the database */

neo_problem *neo_call_enter_write(neo_call *call)
{
    if (!call->write) {
        call->write = apr_palloc(call->pool, sizeof *call->write);
        neo_credential_cache_enter_write(call->site->credential_cache, call->write);
    }
    neo_problem *problem = neo_call_confirm(call);
    if (problem)
        neo_call_leave_write(call);
    return problem;
}

neo_problem *neo_call_acquire(neo_call *call, neo_pg **pg)
{
    neo_problem *problem = neo_call_acquire_unconfirmed(call, pg);
    if (problem)
        return problem;
    problem = call->match.operation->access == NEO_ACCESS_WRITE ? neo_call_enter_write(call) : neo_call_confirm(call);
    if (problem)
        neo_call_release(call, *pg);
    return problem;
}

/* A credential must not be read from a replica, so call->pg is not set: a revocation could be missed. The event log and what
 * belongs to another resource are read from the primary: only that knows where the log ends, and commits of claims of
 * deliveries become visible before they are flushed. */
neo_problem *neo_call_acquire_read(neo_call *call, int is_long, neo_pg **pg)
{
    const neo_request *request = call->request;
    const neo_operation *operation = call->match.operation;
    int is_possible = operation->access == NEO_ACCESS_READ && !operation->prefix;
    *pg = is_possible ? request->host->acquire_read(request->context, is_long) : NULL;
    neo_problem *problem = *pg ? neo_call_confirm(call) : NULL;
    if (problem)
        neo_call_release(call, *pg);
    return problem;
}

neo_problem *neo_call_acquire_for_id(neo_call *call, neo_pg **pg)
{
    const neo_match *match = &call->match;
    if (!neo_id_is(match->id, match->resource->prefix) ||
        (match->subresource_id && !neo_id_is(match->subresource_id, match->operation->prefix)))
        return neo_call_not_found(call, call->external_id);
    return neo_call_acquire(call, pg);
}
