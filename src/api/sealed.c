/* SPDX-License-Identifier: Apache-2.0 */
/* Maps of secret values, such as the headers of a subscription (see NEO_SEALED). */
#include <string.h>

#include "call.h"
#include "core/json.h"
#include "core/secret.h"

static int is_kept(const neo_json *value)
{
    const char *text = neo_json_string(value);
    return text && strcmp(text, NEO_SEALED_VALUE) == 0;
}

/* The members of the field in a body; NULL if it is not sealed, or no object. */
static neo_json *sealed_map(const neo_field *field, const neo_json *body)
{
    neo_json *map = field->flags & NEO_SEALED && body ? neo_json_get(body, field->name) : NULL;
    return map && neo_json_get_kind(map) == NEO_JSON_OBJECT ? map : NULL;
}

int neo_call_keeps_sealed(const neo_call *call)
{
    int is_object = call->body && neo_json_get_kind(call->body) == NEO_JSON_OBJECT;
    for (const neo_field *f = call->match.resource->fields; is_object && f->name; f++) {
        neo_json *map = sealed_map(f, call->body);
        for (void *m = map ? neo_json_first(map) : NULL; m; m = neo_json_next(map, m))
            if (is_kept(neo_json_member_value(m)))
                return 1;
    }
    return 0;
}

neo_problem *neo_call_check_sealed(const neo_call *call, const neo_json *before, const neo_json *clean, neo_problem *problem)
{
    const neo_resource *resource = call->match.resource;
    for (const neo_field *f = resource->fields; f->name; f++) {
        neo_json *map = sealed_map(f, clean), *stored = map ? sealed_map(f, before) : NULL;
        for (void *m = map ? neo_json_first(map) : NULL; m; m = neo_json_next(map, m))
            if (is_kept(neo_json_member_value(m)) && !(stored && neo_json_get(stored, neo_json_member_key(m))))
                neo_problem_member(&problem, call->pool, NEO_VALIDATION_FIELD_INVALID, resource->name, f->name,
                                   neo_json_member_key(m), "has no stored value to keep: send its value");
    }
    return problem;
}

static neo_json *seal_map(const neo_call *call, const char *id, neo_json *map)
{
    neo_json *sealed = neo_json_make_object(call->pool);
    for (void *m = neo_json_first(map); m; m = neo_json_next(map, m)) {
        neo_json *value = neo_json_member_value(m);
        const char *text = neo_json_string(value);
        if (!is_kept(value))
            value = neo_json_make_string(neo_secret_seal(&call->site->keys, id, text, call->pool), call->pool);
        neo_json_set(sealed, neo_json_member_key(m), value);
    }
    return sealed;
}

neo_json *neo_call_seal(const neo_call *call, const char *id, neo_json *body)
{
    neo_json *copy = NULL;
    for (const neo_field *f = call->match.resource->fields; f->name; f++) {
        neo_json *map = sealed_map(f, body);
        if (map && !copy)
            copy = neo_json_merge_patch(body, neo_json_make_object(call->pool), call->pool);
        if (map)
            neo_json_set(copy, f->name, seal_map(call, id, map));
    }
    return copy ? copy : body;
}
