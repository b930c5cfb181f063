/* SPDX-License-Identifier: Apache-2.0 */
/* The list of resources. It declares each resource's table, scopes and events. */
#ifndef NEO_RESOURCES_LIST_H
#define NEO_RESOURCES_LIST_H

#include "schema/resource.h"

/* Resources with events, in the order of the OpenAPI document: X(name, AREA, "collection"). */
#define NEO_RESOURCES_WITH_EVENTS(X)                                                                                           \
    X(broker, BROKERS, "brokers")                                                                                              \
    X(property, PROPERTIES, "properties")                                                                                      \
    X(party, PARTIES, "parties")                                                                                               \
    X(proposal, PROPOSALS, "proposals")                                                                                        \
    X(contract, CONTRACTS, "contracts")                                                                                        \
    X(document, DOCUMENTS, "documents")                                                                                        \
    X(lead, LEADS, "leads")

/* All resources. */
#define NEO_RESOURCE_LIST(X) NEO_RESOURCES_WITH_EVENTS(X) X(webhook, WEBHOOKS, "webhooks")

/* The areas of scopes. */
#define NEO_AREA_OF(name, AREA, collection) NEO_AREA_##AREA,
typedef enum neo_area {
    NEO_RESOURCE_LIST(NEO_AREA_OF) NEO_AREA_WHATSAPP,
    NEO_AREA_AUDIT,
    NEO_AREA_USAGE,
    NEO_AREA_PRIVACY,
    NEO_AREAS
} neo_area;

/* neo_broker and so on. */
#define NEO_DECLARATION(name, AREA, collection) extern const neo_resource neo_##name;
NEO_RESOURCE_LIST(NEO_DECLARATION)

/* Imported and exported by neoapictl, but not part of the API. neo_whatsapp_conversation has the fields of neo_conversation. */
extern const neo_resource neo_whatsapp_opt_out, neo_whatsapp_conversation, neo_whatsapp_message;

/* The body of POST /webhooks/{id}/recover, and the values of its `statuses`, ended by NULL. */
extern const neo_resource neo_recovery;
/* The body of POST /webhooks/{id}/rotate-key. */
extern const neo_resource neo_key_rotation;
/* Whether it is a subscription whose deliveries are signed with a key of its own. `body` is its valid one. */
int neo_webhook_needs_keys(const neo_resource *resource, const neo_json *body);
extern const char *const neo_recovery_statuses[];

/* The body and the response of POST /whatsapp/conversations; a conversation as it is read; the bodies of its PATCH and of POST
 * …/{id}/messages. */
extern const neo_resource neo_conversation_input, neo_whatsapp_started, neo_conversation, neo_conversation_changes;
extern const neo_resource neo_message_input;
extern const neo_resource neo_read_input;

/* An element of GET /whatsapp/templates, and the filters of this list. */
extern const neo_resource neo_whatsapp_template;
extern const neo_filter neo_template_filters[];

/* The body of POST /leads/{id}/merge. */
extern const neo_resource neo_lead_merge;

/* The event log, whose schema is in src/openapi/document.json, and the filters of its list. Filters by type have the values of
 * neo_event_type_values, ended by NULL: "broker.*", "broker.created", … */
extern const neo_resource neo_event_log;
extern const neo_filter neo_event_filters[];
extern const char *const neo_event_type_values[];

/* The person that a request is about, and the parameters that name it; the payload of party.erased and lead.erased. */
extern const neo_resource neo_subject, neo_erased;
extern const neo_filter neo_subject_filters[];

/* The bodies of deliveries of webhook.test and credential.expiring. */
extern const neo_resource neo_webhook_test, neo_expiring_credential;

#define NEO_FIRST_VERSION "0.1.0"

/* A type of event. */
typedef struct neo_event_type {
    const char *name; /* "broker.created" */
    neo_area area;    /* the area of the scope that reading it needs */
    /* Whose fields the payload has: those with NEO_IN_EVENT if it has events, otherwise those of its responses. */
    const neo_resource *payload;
    const char *summary; /* "A broker was created" */
    const char *sample;  /* a merge patch, as JSON, of the payload's example; NULL if that of the table is right */
    const char *since;   /* the version that has added it; NULL: NEO_FIRST_VERSION */
} neo_event_type;

/* All types, ended by one without a name. */
extern const neo_event_type neo_event_types[];

/* Whether a subscription to "*" includes the type. */
int neo_event_is_in_wildcard(const neo_event_type *type);

/* Expands "broker.*" to the types that begin with "broker.", ended by NULL. Returns NULL if there are none, or for other
 * values. */
const char *const *neo_event_type_expand(const char *value, apr_pool_t *pool);

/* The audit log, whose schema is in src/openapi/document.json, and the filters of its list. */
extern const neo_resource neo_audit_log;
extern const neo_filter neo_audit_filters[];

/* The usage of credentials. */
extern const neo_resource neo_usage_report;

/* The filters of the lists of deliveries, of conversations and of their messages. */
extern const neo_filter neo_delivery_filters[], neo_conversation_filters[], neo_message_filters[];

#endif
