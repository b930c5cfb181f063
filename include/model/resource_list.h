/* The list of the resources. A resource that is added here has its declaration, its scopes, its place among all resources and
 * its events; the rest is its table. */
#ifndef NEO_MODEL_RESOURCE_LIST_H
#define NEO_MODEL_RESOURCE_LIST_H

/* Resources with events, in the order in which the description has them: X(name, AREA, "collection"). */
#define NEO_RESOURCES_WITH_EVENTS(X)                                                                                           \
    X(broker, BROKERS, "brokers")                                                                                              \
    X(property, PROPERTIES, "properties")                                                                                      \
    X(party, PARTIES, "parties")                                                                                               \
    X(proposal, PROPOSALS, "proposals")                                                                                        \
    X(contract, CONTRACTS, "contracts")                                                                                        \
    X(document, DOCUMENTS, "documents")

/* All resources. Nobody is told of changes to subscriptions. */
#define NEO_RESOURCE_LIST(X) NEO_RESOURCES_WITH_EVENTS(X) X(webhook, WEBHOOKS, "webhooks")

#endif
