/* SPDX-License-Identifier: Apache-2.0 */
/* Events in the OpenAPI document, and the parameters that follow the event log (see model/openapi_parts.h). */
#include "model/event.h"
#include "model/openapi_parts.h"
#include "model/openapi_schema.h"

/* clang-format off */
static const struct {
    const char *kind, *name, *json;
} components[] = {
    {"schemas", "Event", NEO_JSON({
        "type": "object",
        "description": "A change of a resource.",
        "required": ["id", "type", "created_at", "resource_id", "actor_id", "payload"],
        "properties": {
            "id": {"type": "string", "description": "Id of the event, and a position for `after`."},
            "type": {"type": "string", "description": "What happened, such as `broker.updated`."},
            "created_at": {"type": "string", "format": "date-time", "description": "Time of the change."},
            "resource_id": {"type": "string", "description": "The changed resource."},
            "actor_id": {"type": "string", "description": "The API key or user that made the change."},
            "request_id": {"type": "string", "description": "The request. Absent if the change has another origin."},
            "changed": {
                "type": "array",
                "description": "Of an update: the changed fields, including those that the payload lacks.",
                "items": {"type": "string"}
            },
            "previous": {"type": "object", "description": "Of an update: the former values of the payload's changed fields; null: none."},
            "payload": {"type": "object", "description": "The payload, as in webhooks."}
        }
    })},
    {"parameters", "Order", NEO_JSON({
        "name": "order",
        "in": "query",
        "description": "`asc` follows the log from `after`.",
        "schema": {"type": "string", "enum": ["desc", "asc"], "default": "desc"},
        "example": "asc"
    })},
    {"parameters", "After", NEO_JSON({
        "name": "after",
        "in": "query",
        "description": "With `order=asc`: X-Events-Position of the last page or of an export, or the id of an event. Empty: the oldest; `now`: an empty page with the current position.",
        "schema": {"type": "string"},
        "example": ""
    })},
    {"parameters", "Wait", NEO_JSON({
        "name": "wait",
        "in": "query",
        "description": "With `order=asc`: seconds for which an empty page waits for events. If too many requests wait, the response is immediate.",
        "schema": {"type": "integer", "minimum": 0, "maximum": 30, "default": 0},
        "example": 20
    })},
};

static const char sample[] = NEO_JSON({
    "id": "%s",
    "type": "broker.updated",
    "created_at": "2026-02-03T09:12:40.118Z",
    "resource_id": "%s",
    "actor_id": "nbr_01jwr1zbts0h4k8n3p7r1t5w9x",
    "request_id": "req_01kga4ssqb0d4f7h2k5n9q1s6v",
    "changed": ["name"],
    "previous": {"name": "Ana"}
});
/* clang-format on */

void neo_openapi_event_components(const neo_openapi_builder *builder)
{
    apr_pool_t *pool = builder->pool;
    for (apr_size_t i = 0; i < sizeof components / sizeof *components; i++)
        neo_openapi_add(builder, components[i].kind, components[i].name, neo_openapi_json(pool, "%s", components[i].json));
    neo_json *event = neo_openapi_json(pool, sample, NEO_SAMPLE_EVENT, neo_openapi_fill(builder, "{sample_id}", &neo_broker));
    neo_json_set(event, "payload", neo_openapi_sample(&neo_broker, NEO_SHAPE_EVENT, pool));
    neo_openapi_example(builder, "Event", event);
    neo_openapi_list(builder, "Event", "events");
}
