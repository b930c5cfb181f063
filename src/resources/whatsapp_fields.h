/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the tables of conversations and messages. The texts are the contacts' and the provider's own, so they are not
 * checked. */
#ifndef NEO_RESOURCES_WHATSAPP_FIELDS_H
#define NEO_RESOURCES_WHATSAPP_FIELDS_H

#include "resources/fields.h"

#define SAMPLE_NUMBER       "wan_01kgexr5p6d8g2j6m0q4s7v9x1"
#define SAMPLE_CONVERSATION "wac_01kghd2t9ae0h4k8n1r5t7w3y6"
#define SAMPLE_MESSAGE      "wam_01kghd2t9bf1j5m9p2s6v8x4z7"
#define SAMPLE_CREATED      "2026-02-03T09:20:14.986Z"

#define MAX_ID     255
#define MAX_SOURCE 2000
#define MAX_TEXT   200000 /* characters */
#define MAX_WORD   40
#define MAX_INT    2147483647

/* clang-format off */
#define ID_PATTERN(prefix)                "^" prefix "[0-7][0-9a-hjkmnp-tv-z]{25}$"
#define TEXT(the_name, mark, more, ...)   {.name = the_name, .type = NEO_STRING, .personal = (mark), .flags = NEO_VERBATIM | (more), __VA_ARGS__}
#define MOMENT(the_name, more, ...)       {.name = the_name, .type = NEO_TIMESTAMP, .personal = NEO_NOT_PERSONAL, .flags = (more), __VA_ARGS__}
#define ONE_OF(the_name, more, ...)       {.name = the_name, .type = NEO_ENUM, .personal = NEO_NOT_PERSONAL, .flags = (more), __VA_ARGS__}
#define YES_OR_NO(the_name, more, ...)    {.name = the_name, .type = NEO_BOOLEAN, .personal = NEO_NOT_PERSONAL, .flags = (more), __VA_ARGS__}
#define REFERENCE(the_name, more, ...)    {.name = the_name, .type = NEO_REFERENCE, .personal = NEO_NOT_PERSONAL, .flags = (more), __VA_ARGS__}
#define IDENTIFIER(the_name, prefix, more, ...)                                                                                \
    {.name = the_name, .type = NEO_STRING, .personal = NEO_NOT_PERSONAL, .flags = (more), .pattern = ID_PATTERN(prefix), __VA_ARGS__}
/* clang-format on */

/* The fields that conversations and messages share, and those of a message that a conversation repeats. */
extern const neo_field neo_identity_fields[], neo_message_fields[];
extern const char *const neo_message_directions[], *const neo_message_statuses[];

#endif
