/* SPDX-License-Identifier: Apache-2.0 */
/* Entity tags and conditional requests (RFC 9110, sections 8.8.3 and 13.1). */
#include <apr_strings.h>
#include <string.h>

#include "call.h"
#include "core/encode.h"
#include "core/entity_tag.h"

/* The fingerprint is not cryptographic: SHA-256 took a third of the module's time of a read. It depends on the body only, so it
 * is the same on every host. */
const char *neo_etag(neo_text body, apr_pool_t *pool)
{
    char fingerprint[NEO_FINGERPRINT_SIZE];
    neo_fingerprint(body.ptr, body.len, fingerprint);
    return apr_pstrcat(pool, "\"", fingerprint, "\"", NULL);
}

/* Of what is sent: a tag of what is masked would let guesses be compared with it. Text that cannot be masked is not sent. */
const char *neo_call_etag(const neo_call *call, neo_text body)
{
    return neo_call_mask(call, &body, call->pool) ? neo_etag(body, call->pool) : "\"\"";
}

/* mod_deflate and mod_brotli add a suffix to the tag of what they compress or expand. */
static size_t length_without_coding(const char *opaque, size_t len)
{
    static const char *const suffixes[] = {"-gzip", "-gunzip", "-br"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        size_t suffix = strlen(suffixes[i]);
        if (len > suffix && strncmp(opaque + len - suffix, suffixes[i], suffix) == 0)
            return len - suffix;
    }
    return len;
}

/* Whether a list of entity tags, or "*", has `etag`. If-Match compares strongly, so a weak tag never matches. */
static int has_tag(const char *list, const char *etag, int is_weak_comparison)
{
    size_t wanted = strlen(etag) - 2;
    if (strcmp(list, "*") == 0)
        return 1;
    for (neo_entity_tag tag; neo_entity_tag_read(&list, &tag);) {
        size_t len = length_without_coding(tag.opaque, tag.len);
        if (len == wanted && strncmp(tag.opaque, etag + 1, len) == 0 && (is_weak_comparison || !tag.is_weak))
            return 1;
    }
    return 0;
}

int neo_call_knows(const neo_call *call, const char *etag)
{
    const char *known = neo_call_header(call, "If-None-Match");
    return known && has_tag(known, etag, 1);
}

int neo_call_is_not_modified(const neo_call *call, const char *etag)
{
    return call->match.operation->accepts & NEO_ACCEPTS_IF_NONE_MATCH && neo_call_knows(call, etag);
}

/* A client that retries a 412 with the resource's current ETag would never succeed if it sends that malformed. */
neo_problem *neo_call_read_if_match(neo_call *call)
{
    const char *header = call->match.operation->accepts & NEO_ACCEPTS_IF_MATCH ? neo_call_header(call, "If-Match") : NULL;
    neo_problem *problem = NULL;
    if (header && !neo_entity_tags_are_valid(header))
        neo_problem_field(&problem, call->pool, NEO_VALIDATION_PARAMETER_INVALID, "", "If-Match", NEO_ENTITY_TAGS_FORM);
    return problem;
}

neo_problem *neo_call_check_tag(neo_call *call, const char *wanted, neo_text current)
{
    if (!wanted || (current.ptr && has_tag(wanted, neo_call_etag(call, current), 0)))
        return NULL;
    return neo_problem_make(call->pool, NEO_CONFLICT_PRECONDITION_FAILED, "If-Match does not match: the %s %s.",
                            call->match.resource->name, current.ptr ? "has changed" : "does not exist");
}

neo_problem *neo_call_check_if_match(neo_call *call, neo_text current)
{
    return neo_call_check_tag(call, neo_call_header(call, "If-Match"), current);
}
