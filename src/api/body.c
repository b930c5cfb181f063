/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the body and the Idempotency-Key. */
#include <apr_strings.h>
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "call.h"
#include "core/json.h"

/* An input filter of the host that decodes bodies has removed the header. */
static neo_problem *check_coding(neo_call *call)
{
    const char *coding = neo_call_header(call, "Content-Encoding");
    if (!coding || !*coding || strcasecmp(coding, "identity") == 0)
        return NULL;
    neo_call_set_header(call, "Accept-Encoding", "identity");
    return neo_problem_make(call->pool, NEO_VALIDATION_UNSUPPORTED_MEDIA_TYPE,
                            "Unsupported Content-Encoding. Send the body without compression.");
}

static neo_problem *check_media_type(neo_call *call)
{
    const char *header = neo_call_header(call, "Content-Type");
    const char *type = header ? apr_pstrmemdup(call->pool, header, strcspn(header, "; \t")) : "";
    int may_patch = call->match.operation->accepts & NEO_ACCEPTS_MERGE_PATCH;
    if (strcasecmp(type, "application/json") == 0 || (may_patch && strcasecmp(type, "application/merge-patch+json") == 0))
        return NULL;
    return neo_problem_make(call->pool, NEO_VALIDATION_UNSUPPORTED_MEDIA_TYPE, "Unsupported Content-Type. Allowed: %s.",
                            may_patch ? "application/json, application/merge-patch+json" : "application/json");
}

neo_problem *neo_call_read_body(neo_call *call)
{
    const neo_request *request = call->request;
    const char *error;
    if (!(call->match.operation->accepts & NEO_ACCEPTS_BODY))
        return NULL;
    neo_problem *problem = request->host->body(request->context, call->site->max_body, &call->raw);
    if (problem)
        return problem;
    if (call->raw.len == 0) {
        neo_problem_field(&problem, call->pool, NEO_VALIDATION_BODY_REQUIRED, "", "body", "is required: send a JSON object");
        return problem;
    }
    problem = check_media_type(call);
    problem = problem ? problem : check_coding(call);
    if (problem)
        return problem;
    if (neo_json_is_costly(call->raw))
        return neo_problem_make(call->pool, NEO_VALIDATION_BODY_TOO_LARGE,
                                "The body has too many JSON values: more than %d, of which objects and arrays count as 6 each.",
                                NEO_JSON_MAX_COST);
    call->body = neo_json_parse(call->raw, call->pool, &error);
    if (!call->body)
        neo_problem_field(&problem, call->pool, NEO_VALIDATION_MALFORMED_JSON, "", "body", "is not well-formed JSON: %s",
                          error);
    return problem ? problem : neo_call_check_masked_body(call);
}

/* A UUID of version 4 (RFC 9562, section 5.4), bare or quoted, in lower case; NULL if it is none. */
static const char *parse_uuid(const char *text, apr_pool_t *pool)
{
    static const char form[] = "xxxxxxxx-xxxx-4xxx-vxxx-xxxxxxxxxxxx";
    size_t len = strlen(text);
    if (len == sizeof form + 1 && text[0] == '"' && text[len - 1] == '"') {
        text++;
        len -= 2;
    }
    if (len != sizeof form - 1)
        return NULL;
    char *uuid = apr_pstrmemdup(pool, text, len);
    for (size_t i = 0; i < len; i++) {
        uuid[i] = (char)tolower((unsigned char)uuid[i]);
        if (form[i] == 'x' ? !isxdigit((unsigned char)uuid[i]) : form[i] == 'v' ? !strchr("89ab", uuid[i]) : uuid[i] != form[i])
            return NULL;
    }
    return uuid;
}

neo_problem *neo_call_read_idempotency_key(neo_call *call)
{
    const char *header = neo_call_header(call, "Idempotency-Key");
    neo_problem *problem = NULL;
    int is_accepted = call->match.operation->accepts & NEO_ACCEPTS_IDEMPOTENCY_KEY;
    if (!header || (!is_accepted && !neo_operation_refuses_key(call->match.operation)))
        return NULL;
    neo_idempotency *idempotency = apr_pcalloc(call->pool, sizeof *idempotency);
    idempotency->key = is_accepted ? parse_uuid(header, call->pool) : NULL;
    if (!idempotency->key) {
        neo_problem_field(&problem, call->pool, NEO_VALIDATION_IDEMPOTENCY_KEY_INVALID, "", "Idempotency-Key", "%s",
                          is_accepted ? "must be a UUID of version 4"
                                      : "must be left out: responses of this operation are not stored");
        return problem;
    }
    const char *query = call->request->query ? call->request->query : "";
    neo_text pieces[] = {{call->request->method, strlen(call->request->method)},
                         {call->request->path, strlen(call->request->path)},
                         {query, strlen(query)},
                         call->raw};
    unsigned char hash[NEO_SHA256_SIZE];
    neo_sha256_pieces(pieces, 4, hash);
    neo_hex(hash, sizeof hash, idempotency->hash);
    call->idempotency = idempotency;
    return NULL;
}
