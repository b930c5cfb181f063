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
    NEO_DATE,      /* 2026-01-31 */
    NEO_INTEGER,   /* min to max */
    NEO_DECIMAL,   /* min to max, with a fraction; 15 significant digits are kept */
    NEO_TEXT_LIST, /* strings of min to max code points; at most `max_items` */
    NEO_LIST,      /* objects with the members in `fields`; at most `max_items` */
    NEO_MAP, /* an object of strings with keys of the caller's choice: at most `max_items`, keys of 1 to `max_key_length` code
                points, values of 0 to max, any characters */
    NEO_REFERENCE, /* the id of another resource of the organization: of kind `refers`, or of the kind that the member `type`
                      beside it names */
    NEO_REFERENCE_LIST, /* ids of kind `refers`, none twice; at most `max_items` */
    NEO_TYPES
} neo_type;

enum neo_field_flags {
    NEO_REQUIRED = 1,         /* a create or replace without it is refused */
    NEO_SERVER = 2,           /* set by the service; in a body it is passed over, so that what was read can be sent back */
    NEO_IN_EVENT = 4,         /* part of the payload of webhook events */
    NEO_UNIQUE = 8,           /* within the organization; a unique index enforces it */
    NEO_ALWAYS = 16,          /* present in every response, also where a body need not have it */
    NEO_SECRET = 32,          /* made by the service and shown once, in the response to creation */
    NEO_MULTILINE = 64,       /* a text that may have line breaks and tabs */
    NEO_CONDITIONAL = 128,    /* the resource's rule requires it of some bodies */
    NEO_NOT_IN_EXAMPLE = 256, /* not part of the example of a whole resource, where it would not go with the other examples */
};

typedef struct neo_field neo_field;
typedef struct neo_resource neo_resource;

/* The form in which a text is kept ("01310-100" as "01310100"): applied before it is checked, so rules see that form. A text
 * that has no such form is returned as it is. */
typedef const char *(*neo_normalizer)(const char *text, apr_pool_t *pool);

/* A rule that a table can't say. Returns NULL, or what is wrong with a value that has the field's type ("must be …"). */
typedef const char *(*neo_rule)(const neo_json *value, apr_pool_t *pool);

struct neo_field {
    const char *name; /* in JSON and as a column */
    neo_type type;
    unsigned int flags;
    long long min, max; /* code points of a string, where min 0 means 1, since an empty string is no value; or a number's */
    int max_items;      /* of a list: elements */
    int max_key_length; /* of a map: code points of a key */
    const neo_resource *refers; /* of a reference */
    const char *const *values;  /* of an enum, ended by NULL */
    const char *default_value;  /* the value where a body has none */
    const neo_field *fields;    /* of an object, ended by a field without a name */
    neo_normalizer normalize;   /* NULL where a text is kept as it was sent */
    neo_rule rule;
    const char *pattern; /* of a string: what can be sent, a regular expression in the words that ECMA-262 and POSIX share; the
                            rule may ask for more (check digits) */
    const char *format;  /* JSON Schema's format, where there is one */
    const char *doc;     /* one or more sentences for the reference */
    const char *example; /* a realistic value, as JSON */
};

typedef enum neo_filter_kind {
    NEO_FILTER_EQUAL,    /* one of several values, separated by commas */
    NEO_FILTER_FROM,     /* >= */
    NEO_FILTER_TO,       /* <= */
    NEO_FILTER_CONTAINS, /* a part of the text, without regard to case and accents */
    NEO_FILTER_OVERLAPS, /* an array that has one of several values, separated by commas */
    NEO_FILTER_REFERS,   /* the field `left` ("owners.party_id") refers to one of several resources, separated by commas */
} neo_filter_kind;

typedef enum neo_filter_value {
    NEO_VALUE_TEXT,
    NEO_VALUE_ENUM,       /* one of `values` */
    NEO_VALUE_TIMESTAMP,  /* an RFC 3339 date-time */
    NEO_VALUE_CREATED_AT, /* likewise, and compared with the ids, which carry it */
    NEO_VALUE_DATE,
    NEO_VALUE_INTEGER,
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

/* A status may change along these rows only; anything else is conflict.invalid_transition. A resource is created in the state
 * that `default_value` says, or in one that a row leads to from there. */
typedef struct neo_transition {
    const char *from, *to;
    const char *timestamp_field; /* the server's field that is set to the time of the change; NULL for none */
} neo_transition;

/* What reaching a state does to another resource, in the same transaction and with the other's own event. Who is in the state
 * and comes to name another, or gets the kind, reaches it as well. */
typedef struct neo_effect {
    const char *state;   /* the status that is reached */
    const char *kind;    /* only where the field `kind` has this value; NULL: always */
    const char *through; /* the reference that names the other */
    const char *becomes; /* the other's status from then on */
} neo_effect;

/* What fields cannot say alone ("sale_price is required for sale"). Adds what is wrong with a checked body by
 * neo_problem_field. */
typedef void (*neo_body_rule)(const neo_resource *resource, const neo_json *clean, neo_problem **problem, apr_pool_t *pool);

struct neo_resource {
    const char *name;       /* "broker": in codes and event names */
    const char *table;      /* the table's name; NULL where it is `name` */
    const char *collection; /* "brokers": in paths */
    const char *prefix;     /* "brk_" */
    const char *title;      /* "Broker": the schema's name */
    const char *tag_doc;    /* what the resource is, for the reference */
    neo_area area;
    int has_events;                    /* subscribers are told of its changes */
    const neo_field *fields;           /* in the order of the responses, ended by a field without a name */
    const neo_filter *filters;         /* its own, ended by a filter without a name; NULL where there is none */
    neo_body_rule rule;                /* NULL for none */
    const neo_transition *transitions; /* of the field `status`, ended by a row without `from`; NULL: any to any */
    const neo_effect *effects;         /* ended by a row without `state`; NULL for none */
    int has_batch;                     /* POST …/batch */
    int has_foreign_keys;              /* its references are columns' constraints, and no rows of neoapi.reference */
};

/* Every resource, ended by NULL. */
extern const neo_resource *const neo_resources[];

/* The filters that every list has. */
extern const neo_filter neo_common_filters[];

/* neo_broker and so on. */
#define NEO_DECLARATION(name, AREA, collection) extern const neo_resource neo_##name;
NEO_RESOURCE_LIST(NEO_DECLARATION)

/* What administrators bring in and take along, and the API has not. */
extern const neo_resource neo_lead, neo_whatsapp_opt_out;

/* The body of POST /webhooks/{id}/recover. */
extern const neo_resource neo_recovery;

/* The body of POST /whatsapp/conversations, and what it is answered. */
extern const neo_resource neo_whatsapp, neo_whatsapp_started;

/* NULL where there is none. */
const neo_resource *neo_resource_of_collection(const char *collection);
const neo_resource *neo_resource_named(const char *name);
const neo_field *neo_field_named(const neo_field *fields, const char *name);
const neo_filter *neo_filter_named(const neo_resource *resource, const char *name);

/* The field of a unique index, which is named <table>_<field>_key, or <table>_<status>_<field>_key if only rows with that
 * status are in it; then *status is set, else NULL. NULL for an index with another name. */
const neo_field *neo_field_of_unique_index(const neo_resource *resource, const char *index, const char **status);

/* Whether the filter accepts several values, separated by commas. */
int neo_filter_accepts_several(const neo_filter *filter);

#endif
