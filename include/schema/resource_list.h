/* SPDX-License-Identifier: Apache-2.0 */
/* The list of resources. It declares each resource's table, scopes and events. */
#ifndef NEO_SCHEMA_RESOURCE_LIST_H
#define NEO_SCHEMA_RESOURCE_LIST_H

/* Resources with events, in the order of the OpenAPI document: X(name, AREA, "collection"). */
#define NEO_RESOURCES_WITH_EVENTS(X)                                                                                           \
    X(broker, BROKERS, "brokers")                                                                                              \
    X(property, PROPERTIES, "properties")                                                                                      \
    X(party, PARTIES, "parties")                                                                                               \
    X(proposal, PROPOSALS, "proposals")                                                                                        \
    X(contract, CONTRACTS, "contracts")                                                                                        \
    X(document, DOCUMENTS, "documents")

/* All resources. */
#define NEO_RESOURCE_LIST(X) NEO_RESOURCES_WITH_EVENTS(X) X(webhook, WEBHOOKS, "webhooks")

#endif
