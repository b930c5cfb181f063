/* The field language: a resource is a constant table of fields and a table of filters, and everything else is drawn from them:
 * validation and its error codes, the SQL statements, filters, scopes, event names and payloads, the OpenAPI document. */
#ifndef NEO_MODEL_RESOURCE_H
#define NEO_MODEL_RESOURCE_H

#include "core/json.h"
#include "core/problem.h"
#include "model/scope.h"

typedef enum neo_type {
    NEO_STRING, /* min to max code points, no control characters */
    NEO_ENUM,   /* one of values */
    NEO_TIMESTAMP,
    NEO_OBJECT,    /* the members in `fields` */
    NEO_BOOLEAN,   /* preset "true" or "false" */
    NEO_ENUM_LIST, /* one or more of values, none twice */
    NEO_TYPES
} neo_type;

enum neo_field_flags {
    NEO_REQUIRED = 1, /* a create or replace without it is refused */
    NEO_SERVER = 2,   /* set by the service; in a body it is passed over, so that what was read can be sent back */
    NEO_IN_EVENT = 4, /* part of the payload of webhook events */
    NEO_UNIQUE = 8,   /* within the organization; a unique index enforces it */
    NEO_ALWAYS = 16,  /* present in every response, also where a body need not have it */
    NEO_SECRET = 32,  /* made by the service and shown once, in the response to creation */
};

typedef struct neo_field neo_field;

/* A rule that a table can't say. Returns NULL, or what is wrong with a value that has the field's type ("must be …"). */
typedef const char *(*neo_rule)(const neo_json *value, apr_pool_t *pool);

struct neo_field {
    const char *name; /* in JSON and as a column */
    neo_type type;
    unsigned int flags;
    int min, max;              /* code points of a string; min 0 means 1, since an empty string is no value */
    const char *const *values; /* of an enum, ended by NULL */
    const char *preset;        /* the value where a body has none */
    const neo_field *fields;   /* of an object, ended by a field without a name */
    neo_rule rule;
    const char *format;  /* JSON Schema's format, where there is one */
    const char *doc;     /* one or more sentences for the reference */
    const char *example; /* a realistic value, as JSON */
};

typedef enum neo_filter_kind {
    NEO_FILTER_EQUAL,    /* one of several values, separated by commas */
    NEO_FILTER_FROM,     /* >= */
    NEO_FILTER_TO,       /* <= */
    NEO_FILTER_CONTAINS, /* a part of the text, without regard to case and accents */
} neo_filter_kind;

typedef enum neo_filter_value {
    NEO_VALUE_TEXT,
    NEO_VALUE_ENUM,       /* one of `values` */
    NEO_VALUE_MOMENT,     /* an RFC 3339 date-time */
    NEO_VALUE_CREATED_AT, /* likewise, and compared with the ids, which carry it */
} neo_filter_value;

typedef struct neo_filter {
    const char *name;
    neo_filter_kind kind;
    neo_filter_value value;
    const char *left;          /* the SQL expression that an index holds */
    const char *right;         /* how the value enters the comparison: SQL with %s for the parameter; NULL for the plain one */
    const char *const *values; /* of NEO_VALUE_ENUM */
    const char *doc;
    const char *example; /* a realistic value, as JSON; NULL: that of the field of this name */
} neo_filter;

typedef struct neo_resource {
    const char *name;       /* "broker": in codes and event names */
    const char *table;      /* the table's name; NULL where it is `name` */
    const char *collection; /* "brokers": in paths */
    const char *prefix;     /* "brk_" */
    const char *title;      /* "Broker": the schema's name */
    const char *tag_doc;    /* what the resource is, for the reference */
    neo_area area;
    int has_events;            /* subscribers are told of its changes */
    const neo_field *fields;   /* in the order of the responses, ended by a field without a name */
    const neo_filter *filters; /* its own, ended by a filter without a name; NULL where there is none */
} neo_resource;

/* Every resource, ended by NULL. */
extern const neo_resource *const neo_resources[];

/* The filters that every list has. */
extern const neo_filter neo_common_filters[];

extern const neo_resource neo_broker, neo_webhook;
/* The body of POST /webhooks/{id}/recover. */
extern const neo_resource neo_recovery;

/* NULL where there is none. */
const neo_resource *neo_resource_of_collection(const char *collection);
const neo_field *neo_field_named(const neo_field *fields, const char *name);
const neo_filter *neo_filter_named(const neo_resource *resource, const char *name);

#endif
