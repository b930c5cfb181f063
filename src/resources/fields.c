/* SPDX-License-Identifier: Apache-2.0 */
/* Objects and enumerations that several resources have (see resources/fields.h). */
#include "resources/fields.h"
#include "schema/rules.h"

const char *const neo_states[] = {"AC", "AL", "AP", "AM", "BA", "CE", "DF", "ES", "GO", "MA", "MT", "MS", "MG", "PA",
                                  "PB", "PR", "PE", "PI", "RJ", "RN", "RS", "RO", "RR", "SC", "SP", "SE", "TO", NULL};

const char *const neo_guarantee_kinds[] = {"deposit", "guarantor", "surety_insurance", "fund_pledge", NULL};
const char *const neo_adjustment_indices[] = {"igpm", "ipca", "inpc", "none", NULL};

static const char *const account_types[] = {"checking", "savings", "salary", "payment", NULL};

const neo_field neo_bank_account_fields[] = {
    {.name = "bank_code",
     .type = NEO_STRING,
     .personal = NEO_SENSITIVE,
     .max = 10,
     .doc = "Bank code (COMPE or ISPB).",
     .example = "\"341\""},
    {.name = "bank_name",
     .type = NEO_STRING,
     .personal = NEO_SENSITIVE,
     .max = 100,
     .doc = "Name of the bank.",
     .example = "\"Itaú Unibanco\""},
    {.name = "agency",
     .type = NEO_STRING,
     .personal = NEO_SENSITIVE,
     .max = 20,
     .doc = "Branch number.",
     .example = "\"0423\""},
    {.name = "account_number",
     .type = NEO_STRING,
     .personal = NEO_SENSITIVE,
     .max = 30,
     .doc = "Account number with check digit.",
     .example = "\"18765-4\""},
    {.name = "account_type",
     .type = NEO_ENUM,
     .personal = NEO_SENSITIVE,
     .values = account_types,
     .doc = "Kind of account.",
     .example = "\"checking\""},
    {.name = "pix_key",
     .type = NEO_STRING,
     .personal = NEO_SENSITIVE,
     .max = 140,
     .doc = "Pix key for instant payments.",
     .example = "\"ana.ribeiro@example.com.br\""},
    {0},
};

/* `must`: the flags of postal_code, city and state. */
/* clang-format off */
#define ADDRESS(must)                                                                                                          \
    {.name = "postal_code",                                                                                                    \
     .type = NEO_STRING, .personal = NEO_NOT_PERSONAL,                                                                                                       \
     .flags = (must),                                                                                                          \
     .max = 8,                                                                                                                 \
     .normalize = neo_normalize_postal_code,                                                                                   \
     .rule = neo_rule_postal_code,                                                                                             \
     .pattern = NEO_PATTERN_POSTAL_CODE,                                                                                       \
     .doc = "CEP of 8 digits. A dash is accepted and removed.",                                                                \
     .example = "\"04101300\""},                                                                                               \
        {.name = "street", .type = NEO_STRING, .personal = NEO_NOT_PERSONAL, .max = 200, .doc = "Street with its type.", .example = "\"Rua Vergueiro\""},    \
        {.name = "number", .type = NEO_STRING, .personal = NEO_NOT_PERSONAL, .max = 20, .doc = "Number of the building.", .example = "\"2045\""},            \
        {.name = "complement",                                                                                                 \
         .type = NEO_STRING, .personal = NEO_NOT_PERSONAL,                                                                                                   \
         .max = 100,                                                                                                           \
         .doc = "Apartment, block or similar.",                                                                                \
         .example = "\"Apto 82\""},                                                                                            \
        {.name = "neighborhood",                                                                                               \
         .type = NEO_STRING, .personal = NEO_NOT_PERSONAL,                                                                                                   \
         .max = 100,                                                                                                           \
         .doc = "Neighbourhood (bairro).",                                                                                     \
         .example = "\"Vila Mariana\""},                                                                                       \
        {.name = "city", .type = NEO_STRING, .personal = NEO_NOT_PERSONAL, .flags = (must), .max = 100, .doc = "Municipality.", .example = "\"São Paulo\""}, \
        {.name = "state", .type = NEO_ENUM, .personal = NEO_NOT_PERSONAL, .flags = (must), .values = neo_states, .doc = "State (UF).", .example = "\"SP\""}, \
        {.name = "ibge_code",                                                                                                  \
         .type = NEO_STRING, .personal = NEO_NOT_PERSONAL,                                                                                                   \
         .max = 7,                                                                                                             \
         .rule = neo_rule_ibge_code,                                                                                           \
         .pattern = NEO_PATTERN_IBGE_CODE,                                                                                     \
         .doc = "IBGE code of the municipality, 7 digits.",                                                                    \
         .example = "\"3550308\""},                                                                                            \
        {.name = "latitude",                                                                                                   \
         .type = NEO_DECIMAL, .personal = NEO_NOT_PERSONAL,                                                                                                  \
         .min = -90,                                                                                                           \
         .max = 90,                                                                                                            \
         .doc = "Latitude in degrees (WGS 84).",                                                                               \
         .example = "-23.58934"},                                                                                              \
        {.name = "longitude",                                                                                                  \
         .type = NEO_DECIMAL, .personal = NEO_NOT_PERSONAL,                                                                                                  \
         .min = -180,                                                                                                          \
         .max = 180,                                                                                                           \
         .doc = "Longitude in degrees (WGS 84).",                                                                              \
         .example = "-46.63481"},                                                                                              \
    {                                                                                                                          \
        0                                                                                                                      \
    }
/* clang-format on */

const neo_field neo_address_fields[] = {ADDRESS(0)};
const neo_field neo_place_fields[] = {ADDRESS(NEO_REQUIRED)};

const neo_filter neo_common_filters[] = {
    NEO_FILTER_IDS(NEO_SAMPLE_BROKER),
    NEO_FILTER_CREATED_GTE,
    NEO_FILTER_CREATED_LTE,
    {.name = "updated_gte",
     .kind = NEO_FILTER_FROM,
     .value = NEO_VALUE_TIMESTAMP,
     .left = "t.updated_at",
     .right = "%s::timestamptz",
     .doc = "`updated_at` at this time or later.",
     .example = "\"2026-02-01T00:00:00Z\""},
    {.name = "updated_lte",
     .kind = NEO_FILTER_TO,
     .value = NEO_VALUE_TIMESTAMP,
     .left = "t.updated_at",
     .right = "%s::timestamptz",
     .doc = "`updated_at` at this time or earlier.",
     .example = "\"2026-02-28T23:59:59.999Z\""},
    {0},
};
