/* SPDX-License-Identifier: Apache-2.0 */
/* Message templates of WhatsApp, as GET /whatsapp/templates lists them, and the filters of the list. src/whatsapp/account.c
 * makes their representation. */
#include "whatsapp_fields.h"

#define SAMPLE_TEMPLATE "wat_01kgf2s8d4m7q1t5w9z3c6f0h4"
#define SAMPLE_ACCOUNT  "\"102290129340398\""

static const neo_field parameters[] = {
    TEXT("field", NEO_NOT_PERSONAL, 0,
         .doc =
             "Field of the request that has the value: `template_parameters`, `template_named_parameters`, "
             "`template_header_parameter`, `template_button_parameters` or `media_url`. Absent if a template with it cannot be "
             "sent.",
         .example = "\"template_parameters\""),
    TEXT("component", NEO_NOT_PERSONAL, NEO_ALWAYS, .doc = "`header`, `body` or `button`. New ones can be added.",
         .example = "\"body\""),
    TEXT("type", NEO_NOT_PERSONAL, NEO_ALWAYS, .doc = "`text`, `image`, `video`, `document` or `url`. New ones can be added.",
         .example = "\"text\""),
    TEXT("name", NEO_NOT_PERSONAL, 0, .doc = "Number or name of a text.", .example = "\"1\""),
    {.name = "index", .type = NEO_INTEGER, .personal = NEO_NOT_PERSONAL, .max = 100, .doc = "Position of a button, from 0."},
    TEXT("text", NEO_NOT_PERSONAL, 0, .doc = "Label of a button."),
    {0},
};

static const neo_field template_fields[] = {
    IDENTIFIER("id", "wat_", NEO_SERVER | NEO_ALWAYS, .doc = "Id of the template.", .example = NEO_TEXT(SAMPLE_TEMPLATE)),
    TEXT("account_id", NEO_NOT_PERSONAL, NEO_ALWAYS,
         .doc = "Id of the WhatsApp Business Account, as of `GET /whatsapp/numbers`.", .example = SAMPLE_ACCOUNT),
    TEXT("name", NEO_NOT_PERSONAL, NEO_ALWAYS, .doc = "Name.", .example = "\"visit_invitation\""),
    TEXT("language", NEO_NOT_PERSONAL, NEO_ALWAYS, .doc = "Language.", .example = "\"pt_BR\""),
    TEXT("category", NEO_NOT_PERSONAL, NEO_ALWAYS, .doc = "Category: `marketing`, `utility` or `authentication`.",
         .example = "\"marketing\""),
    TEXT("status", NEO_NOT_PERSONAL, NEO_ALWAYS,
         .doc =
             "Status at WhatsApp: `approved`, `pending`, `rejected`, `paused`, `disabled` and others. Only an approved one can "
             "be sent.",
         .example = "\"approved\""),
    MOMENT("reported_at", NEO_ALWAYS, .doc = "Time at which WhatsApp reported it.", .example = NEO_TEXT(SAMPLE_CREATED)),
    TEXT("body", NEO_NOT_PERSONAL, 0, .doc = "Text of the body, with its placeholders.",
         .example = "\"Olá, {{1}}! Visite {{2}}.\""),
    {.name = "parameters",
     .type = NEO_LIST,
     .personal = NEO_NOT_PERSONAL,
     .fields = parameters,
     .max_items = 100,
     .doc = "What a message with the template must have; absent: nothing. A named one can be in the header and in the body."},
    {0},
};

const neo_resource neo_whatsapp_template = {.name = "whatsapp_template",
                                            .collection = "whatsapp/templates",
                                            .prefix = "wat_",
                                            .title = "Template",
                                            .area = NEO_AREA_WHATSAPP,
                                            .fields = template_fields};

const neo_filter neo_template_filters[] = {
    NEO_FILTER_IDS(SAMPLE_TEMPLATE),
    {.name = "name", .left = "t.name", .doc = "Name.", .example = "\"visit_invitation\""},
    {.name = "language", .left = "t.language", .doc = "Language.", .example = "\"pt_BR\""},
    {.name = "category", .left = "t.category", .doc = "Category.", .example = "\"marketing\""},
    {.name = "status", .left = "t.status", .doc = "Status at WhatsApp.", .example = "\"approved\""},
    {.name = "account_id", .left = "t.waba_id", .doc = "WhatsApp Business Account.", .example = SAMPLE_ACCOUNT},
    {0},
};
