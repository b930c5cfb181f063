/* SPDX-License-Identifier: Apache-2.0 */
/* The shapes of a resource: which it has, their fields and examples (see openapi/openapi.h). */
#include <apr_strings.h>

#include "openapi/openapi.h"

const char *const neo_shape_suffixes[] = {[NEO_SHAPE_ANSWER] = "",
                                          [NEO_SHAPE_INPUT] = "Input",
                                          [NEO_SHAPE_PATCH] = "Patch",
                                          [NEO_SHAPE_CREATED] = "WithSecret",
                                          [NEO_SHAPE_EVENT] = "EventPayload"};
_Static_assert(sizeof neo_shape_suffixes / sizeof *neo_shape_suffixes == NEO_SHAPES, "every shape has its suffix");

const char *neo_openapi_schema_name(const neo_resource *resource, neo_shape shape, apr_pool_t *pool)
{
    return apr_pstrcat(pool, resource->title, neo_shape_suffixes[shape], NULL);
}

int neo_openapi_has_schema(const neo_resource *resource, neo_shape shape)
{
    if (shape == NEO_SHAPE_EVENT)
        return resource->has_events;
    return shape != NEO_SHAPE_CREATED || neo_secret_field(resource);
}

int neo_openapi_has_field(const neo_field *field, neo_shape shape)
{
    if (shape == NEO_SHAPE_EVENT)
        return field->flags & NEO_IN_EVENT;
    if (field->flags & NEO_EXPORT_ONLY)
        return 0;
    return shape != NEO_SHAPE_ANSWER || !(field->flags & NEO_SECRET);
}

/* ---------------------------------------------------------------- examples */

static neo_json *make_sample(const neo_field *fields, unsigned int without, apr_pool_t *pool)
{
    neo_json *sample = neo_json_make_object(pool);
    for (const neo_field *f = fields; f->name; f++) {
        if (f->flags & without)
            continue;
        if (f->example)
            neo_json_set(sample, f->name, neo_openapi_json(pool, "%s", f->example));
        if (f->example || !f->fields)
            continue;
        neo_json *parts = make_sample(f->fields, without, pool), *list = neo_json_make_array(pool);
        neo_json_append(list, parts);
        neo_json_set(sample, f->name, f->type == NEO_OBJECT ? parts : list);
    }
    return sample;
}

/* The resource's own, or one that sets the first field that can be cleared and clears the last one, if
 * that is another; if none can be cleared, one that sets the last that can be written. */
static neo_json *sample_patch(const neo_resource *resource, apr_pool_t *pool)
{
    neo_json *patch = neo_json_make_object(pool);
    const neo_field *first = NULL, *last = NULL, *written = NULL;
    if (resource->patch_example)
        return neo_openapi_json(pool, "%s", resource->patch_example);
    for (const neo_field *f = resource->fields; f->name; f++) {
        if (!(f->flags & NEO_SERVER))
            written = f;
        if (f->flags & (NEO_SERVER | NEO_REQUIRED) || f->default_value)
            continue;
        if (!last && f->example)
            neo_json_set(patch, (first = f)->name, neo_openapi_json(pool, "%s", f->example));
        last = f;
    }
    if (last && last != first)
        neo_json_set(patch, last->name, neo_openapi_json(pool, "null"));
    else if (!first && written)
        neo_json_set(patch, written->name, neo_openapi_json(pool, "%s", written->example));
    return patch;
}

neo_json *neo_openapi_sample(const neo_resource *resource, neo_shape shape, apr_pool_t *pool)
{
    if (shape == NEO_SHAPE_PATCH)
        return sample_patch(resource, pool);
    neo_json *sample =
        make_sample(resource->fields, shape == NEO_SHAPE_INPUT ? NEO_SERVER | NEO_NOT_IN_EXAMPLE : NEO_NOT_IN_EXAMPLE, pool);
    for (const neo_field *f = resource->fields; f->name; f++)
        if (!neo_openapi_has_field(f, shape))
            neo_json_remove(sample, f->name);
    return sample;
}
