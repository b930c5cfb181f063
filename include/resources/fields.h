/* SPDX-License-Identifier: Apache-2.0 */
/* Fields that several resources have. They are macros, since a constant table can include rows only as text. */
#ifndef NEO_RESOURCES_FIELDS_H
#define NEO_RESOURCES_FIELDS_H

#include "resources/list.h"

/* Ids in examples, so that the examples of all resources refer to each other. */
#define NEO_SAMPLE_BROKER   "brk_01kga4ssqb9w2q7r4y6z0a1b3c"
#define NEO_SAMPLE_OWNER    "pty_01kgexwgsa3k8m5v1c7x9d2f4h"
#define NEO_SAMPLE_SPOUSE   "pty_01kgexxb4f5t9w3z7b1d6g0j2n"
#define NEO_SAMPLE_BUYER    "pty_01kgey347e6n2p9t4w8z1b5g7j"
#define NEO_SAMPLE_PROPERTY "prp_01kgeyhckw0q4r7y2a6e8h3k5m"
#define NEO_SAMPLE_PROPOSAL "pps_01kgmp8prv5s9v3x1c7f2j4n6q"
#define NEO_SAMPLE_CONTRACT "ctr_01kh3m6mbp8t2w6z0d4g9k1m5r"
#define NEO_SAMPLE_DOCUMENT "doc_01kh3nrjhb1v5y8b3e7h0m2p4t"
#define NEO_SAMPLE_LEAD     "led_01kgexq2m4c7f1h5k9n3r6t8w0"
#define NEO_SAMPLE_DELIVERY "whd_01kghcczxp4h7n2s9w3c6f1k8r"

/* A string literal as a JSON string: NEO_TEXT("x") is "\"x\"". */
#define NEO_TEXT(text) "\"" text "\""

/* An amount in cents. JavaScript cannot represent integers above 2^53 - 1 exactly. */
#define NEO_MAX_CENTS 9007199254740991LL
#define NEO_MONEY     .type = NEO_INTEGER, .max = NEO_MAX_CENTS, .format = "int64"

/* 100 % in basis points. */
#define NEO_WHOLE_BPS 10000

/* clang-format off */
#define NEO_FIELD_ID(thing, sample, also)                                                                                      \
    {                                                                                                                          \
        .name = "id", .type = NEO_STRING, .personal = NEO_NOT_PERSONAL, .flags = NEO_SERVER | NEO_ALWAYS | (also), .doc = "Id of the " thing ".",            \
        .example = NEO_TEXT(sample)                                                                                            \
    }
/* clang-format on */

/* The caller's own data. */
/* clang-format off */
#define NEO_FIELDS_OF_CALLER(thing, mark)                                                                                      \
    {.name = "external_id",                                                                                                    \
     .type = NEO_STRING, .personal = (mark),                                                                                                       \
     .flags = NEO_UNIQUE | NEO_IN_EVENT,                                                                                       \
     .max = 100,                                                                                                               \
     .doc = "Id of the " thing " in your own system. Unique within the organization.",                                         \
     .example = NEO_TEXT("crm-48213")},                                                                                        \
    {                                                                                                                          \
        .name = "metadata", .type = NEO_MAP, .personal = (mark), .flags = NEO_IN_EVENT, .max_key_length = 40, .max = 500, .max_items = 50,         \
        .doc = "Your own key-value pairs, returned as sent; any strings, also empty ones.",                                    \
        .example = "{\"campaign\": \"verao-2026\"}"                                                                            \
    }
/* clang-format on */

/* clang-format off */
#define NEO_FIELDS_OF_TENANCY(thing)                                                                                           \
    {.name = "tenant_id",                                                                                                      \
     .type = NEO_STRING, .personal = NEO_NOT_PERSONAL,                                                                                                       \
     .flags = NEO_SERVER | NEO_ALWAYS | NEO_IN_EVENT,                                                                          \
     .doc = "The tenant of the organization.",                                                                                 \
     .example = NEO_TEXT("tnt_01jnzrjzts8f2h6k1m5p9r3t7v")},                                                                   \
    {                                                                                                                          \
        .name = "organization_id", .type = NEO_STRING, .personal = NEO_NOT_PERSONAL, .flags = NEO_SERVER | NEO_ALWAYS | NEO_IN_EVENT,                        \
        .doc = "The organization of the " thing ".", .example = NEO_TEXT("org_01jp2azpts9g3j7m2n6q0s4v8w")                     \
    }
/* clang-format on */

/* clang-format off */
#define NEO_FIELDS_OF_TIMES(thing, created, updated, also)                                                                     \
    {.name = "created_at",                                                                                                     \
     .type = NEO_TIMESTAMP, .personal = NEO_NOT_PERSONAL,                                                                                                    \
     .flags = NEO_SERVER | NEO_ALWAYS | (also),                                                                                \
     .doc = "Time of creation.",                                                                                               \
     .example = NEO_TEXT(created)},                                                                                            \
    {                                                                                                                          \
        .name = "updated_at", .type = NEO_TIMESTAMP, .personal = NEO_NOT_PERSONAL, .flags = NEO_SERVER | NEO_ALWAYS | (also),                                \
        .doc = "Time of the last change.", .example = NEO_TEXT(updated)                                                        \
    }
/* clang-format on */

/* clang-format off */
#define NEO_FIELDS_OF_ACTORS(thing, also)                                                                                      \
    {.name = "created_by",                                                                                                     \
     .type = NEO_STRING, .personal = NEO_NOT_PERSONAL,                                                                                                       \
     .flags = NEO_SERVER | NEO_ALWAYS | (also),                                                                                \
     .doc = "API key or user that created the " thing ".",                                                                     \
     .example = NEO_TEXT("nbr_01jwr1zbts0h4k8n3p7r1t5w9x")},                                                                   \
    {                                                                                                                          \
        .name = "updated_by", .type = NEO_STRING, .personal = NEO_NOT_PERSONAL, .flags = NEO_SERVER | NEO_ALWAYS | (also),                                   \
        .doc = "API key or user that last changed the " thing ".", .example = NEO_TEXT("usr_01jqrdasts1j5m9p4q8s2v6y0z")       \
    }
/* clang-format on */

/* What the service sets, besides the id. */
#define NEO_FIELDS_OF_SERVICE(thing, created, updated)                                                                         \
    NEO_FIELDS_OF_TENANCY(thing), NEO_FIELDS_OF_TIMES(thing, created, updated, NEO_IN_EVENT),                                  \
        NEO_FIELDS_OF_ACTORS(thing, NEO_IN_EVENT)

/* clang-format off */
#define NEO_FILTER_EXTERNAL_ID                                                                                                 \
    {                                                                                                                          \
        .name = "external_id", .left = "t.external_id", .doc = "Id in your own system."                                        \
    }
/* clang-format on */

/* Lists that do not have neo_common_filters use these. */
/* clang-format off */
#define NEO_FILTER_IDS(sample)                                                                                                 \
    {                                                                                                                          \
        .name = "ids", .value = NEO_VALUE_ID, .left = "t.id",                                                                  \
        .doc = "These ids. Those that do not exist are absent from the list, whose order is not that of the ids.",             \
        .example = NEO_TEXT(sample)                                                                                            \
    }
/* clang-format on */

/* Members of objects. neo_place_fields is an address with postal_code, city and state required. */
extern const neo_field neo_address_fields[], neo_place_fields[], neo_bank_account_fields[];

/* Brazilian states: "AC" … "TO". */
extern const char *const neo_states[];

/* Shared by proposals and contracts. */
extern const char *const neo_guarantee_kinds[], *const neo_adjustment_indices[];

#endif
