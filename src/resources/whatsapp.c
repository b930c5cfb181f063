/* SPDX-License-Identifier: Apache-2.0 */
/* WhatsApp conversations: the body and the response of the request that starts one, and conversations as they are read. */
#include <string.h>

#include "core/id.h"
#include "resources/fields.h"
#include "schema/rules.h"

#define SAMPLE_LEAD         "led_01kgexq2m4c7f1h5k9n3r6t8w0"
#define SAMPLE_NUMBER       "wan_01kgexr5p6d8g2j6m0q4s7v9x1"
#define SAMPLE_CONVERSATION "wac_01kghd2t9ae0h4k8n1r5t7w3y6"
#define SAMPLE_MESSAGE      "wam_01kghd2t9bf1j5m9p2s6v8x4z7"
#define SAMPLE_CREATED      "2026-02-03T09:20:14.986Z"
#define ID_PATTERN(prefix)  "^" prefix "[0-7][0-9a-hjkmnp-tv-z]{25}$"

static const char *lead_rule(const neo_json *value, apr_pool_t *pool)
{
    (void)pool;
    return neo_id_is(neo_json_string(value), "led_") ? NULL : "must be the id of a lead (led_…)";
}

static const char *template_name_rule(const neo_json *value, apr_pool_t *pool)
{
    const char *name = neo_json_string(value);
    (void)pool;
    return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(name)
               ? NULL
               : "must have only lowercase letters, digits and underscores";
}

/* "pt_BR", "en", "fil", "es_419" */
static const char *language_rule(const neo_json *value, apr_pool_t *pool)
{
    const char *code = neo_json_string(value);
    size_t language = strspn(code, "abcdefghijklmnopqrstuvwxyz"), region = 0;
    (void)pool;
    if (code[language] == '_')
        region = strspn(code + language + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");
    int is_whole = code[language + (region ? 1 + region : 0)] == '\0';
    return is_whole && language >= 2 && language <= 3 && (region == 0 || (region >= 2 && region <= 4))
               ? NULL
               : "must be a language code, such as pt_BR";
}

/* Only what references to a number need: numbers are not part of the API. */
static const neo_resource number = {.name = "number", .prefix = "wan_", .title = "Number"};

static const neo_field fields[] = {
    {.name = "lead_id",
     .type = NEO_STRING,
     .flags = NEO_REQUIRED,
     .max = 100,
     .rule = lead_rule,
     .pattern = ID_PATTERN("led_"),
     .doc = "The lead to send the message to.",
     .example = NEO_TEXT(SAMPLE_LEAD)},
    {.name = "template_name",
     .type = NEO_STRING,
     .flags = NEO_REQUIRED,
     .max = 512,
     .rule = template_name_rule,
     .pattern = "^[a-z0-9_]{1,512}$",
     .doc = "Name of a message template that WhatsApp has approved for the organization.",
     .example = "\"visit_invitation\""},
    {.name = "template_language",
     .type = NEO_STRING,
     .max = 8,
     .default_value = "pt_BR",
     .rule = language_rule,
     .pattern = "^[a-z]{2,3}(_[A-Z0-9]{2,4})?$",
     .doc = "Language of the template.",
     .example = "\"pt_BR\""},
    {.name = "template_parameters",
     .type = NEO_TEXT_LIST,
     .max = 1024,
     .max_items = 50,
     .doc = "Values of the parameters in the template's body, in order.",
     .example = "[\"Marina\", \"Rua Augusta 1508\"]"},
    {.name = "number_id",
     .type = NEO_REFERENCE,
     .refers = &number,
     .doc = "The number to send from. Required if the organization has several.",
     .example = NEO_TEXT(SAMPLE_NUMBER)},
    {0},
};

const neo_resource neo_whatsapp = {
    .name = "whatsapp",
    .collection = "whatsapp",
    .prefix = "wac_",
    .title = "Conversation",
    .tag_doc = "WhatsApp conversations with the contacts of leads.",
    .area = NEO_AREA_WHATSAPP,
    .fields = fields,
};

/* ---------------------------------------------------------------- response */

static const char *const directions[] = {"inbound", "outbound", NULL};
static const char *const sources[] = {"webhook", "api", NULL};
static const char *const statuses[] = {"received", "pending", "accepted", "sent", "delivered", "read", "failed", NULL};
static const char *const triages[] = {"pending", "assigned", "dismissed", NULL};
static const char *const actor_types[] = {"user", "api_key", "system", NULL};

/* clang-format off */
#define TEXT(the_name, more, the_doc, the_example)                                                                             \
    {                                                                                                                          \
        .name = the_name, .type = NEO_STRING, .flags = (more), .doc = the_doc, .example = NEO_TEXT(the_example)                \
    }
#define IDENTIFIER(the_name, the_prefix, more, the_doc, the_example)                                                           \
    {                                                                                                                          \
        .name = the_name, .type = NEO_STRING, .flags = (more), .pattern = ID_PATTERN(the_prefix), .doc = the_doc,              \
        .example = NEO_TEXT(the_example)                                                                                       \
    }
#define MOMENT(the_name, more, the_doc, the_example)                                                                           \
    {                                                                                                                          \
        .name = the_name, .type = NEO_TIMESTAMP, .flags = (more), .doc = the_doc, .example = NEO_TEXT(the_example)             \
    }
#define ONE_OF(the_name, the_values, the_doc, the_example)                                                                     \
    {                                                                                                                          \
        .name = the_name, .type = NEO_ENUM, .flags = NEO_ALWAYS, .values = the_values, .doc = the_doc,                         \
        .example = NEO_TEXT(the_example)                                                                                       \
    }
#define YES_OR_NO(the_name, the_doc, the_example)                                                                              \
    {                                                                                                                          \
        .name = the_name, .type = NEO_BOOLEAN, .flags = NEO_ALWAYS, .doc = the_doc, .example = the_example                     \
    }
/* clang-format on */

static const neo_field last_message[] = {
    IDENTIFIER("id", "wam_", NEO_ALWAYS, "Id of the message.", SAMPLE_MESSAGE),
    ONE_OF("direction", directions, "`inbound` from the contact, `outbound` to it.", "outbound"),
    TEXT("type", NEO_ALWAYS, "Type: `template`, `text`, `image` and others. New types can be added.", "template"),
    {.name = "body", .type = NEO_STRING, .doc = "Text."},
    ONE_OF("status", statuses, "Status.", "accepted"),
    MOMENT("occurred_at", NEO_ALWAYS, "Time of the message.", SAMPLE_CREATED),
    {0},
};

/* The columns are those of sql/0004_whatsapp.sql. */
static const neo_field conversation[] = {
    IDENTIFIER("id", "wac_", NEO_ALWAYS, "Id of the conversation.", SAMPLE_CONVERSATION),
    IDENTIFIER("number_id", "wan_", NEO_ALWAYS, "Id of the organization's number.", SAMPLE_NUMBER),
    TEXT("number_display_phone_number", NEO_ALWAYS, "The organization's number, formatted for display.", "+55 11 4000-1234"),
    IDENTIFIER("party_id", "pty_", 0, "The lead's party.", NEO_SAMPLE_BUYER),
    TEXT("contact_wa_id", 0, "The contact's number at WhatsApp: digits with country code.", "5511987654321"),
    TEXT("contact_bsuid", 0, "The contact's business-scoped user id.", "BR.13491208655302741918"),
    TEXT("contact_name", 0, "The name that the contact chose at WhatsApp, or else the lead's.", "Marina Duarte"),
    ONE_OF("triage", triages, "`assigned` if it has a lead, `pending` if the contact is unknown, unless a client set it.",
           "assigned"),
    IDENTIFIER("lead_id", "led_", 0, "The lead.", SAMPLE_LEAD),
    {.name = "last_inbound_at", .type = NEO_TIMESTAMP, .doc = "Time of the contact's last message."},
    MOMENT("last_message_at", 0, "Time of the last message.", SAMPLE_CREATED),
    {.name = "last_message",
     .type = NEO_OBJECT,
     .fields = last_message,
     .doc = "The last message. Absent if the contact has only sent a preference, such as an opt-out."},
    {.name = "unread_count",
     .type = NEO_INTEGER,
     .flags = NEO_ALWAYS,
     .max = 2147483647,
     .doc = "Number of the contact's unread messages.",
     .example = "0"},
    {.name = "last_read_at", .type = NEO_TIMESTAMP, .doc = "Time at which it was last read."},
    {.name = "opted_out_at", .type = NEO_TIMESTAMP, .doc = "Time of the contact's opt-out."},
    YES_OR_NO("window_open",
              "Whether the contact wrote within 24 hours, so that WhatsApp would deliver messages without a template, too.",
              "false"),
    {.name = "window_expires_at", .type = NEO_TIMESTAMP, .doc = "24 hours after `last_inbound_at`."},
    YES_OR_NO("held", "Whether WhatsApp is holding the last message to assess the template.", "false"),
    MOMENT("created_at", NEO_ALWAYS, "Time of creation.", SAMPLE_CREATED),
    MOMENT("updated_at", NEO_ALWAYS, "Time of the last change.", "2026-02-03T09:20:15.402Z"),
    {0},
};

static const neo_field message[] = {
    IDENTIFIER("id", "wam_", NEO_ALWAYS, "Id of the message.", SAMPLE_MESSAGE),
    IDENTIFIER("conversation_id", "wac_", NEO_ALWAYS, "The conversation.", SAMPLE_CONVERSATION),
    ONE_OF("direction", directions, "`inbound` from the contact, `outbound` to it.", "outbound"),
    ONE_OF("source", sources, "Origin: a webhook of WhatsApp, or this API.", "api"),
    TEXT("provider_message_id", 0, "Id of the message at WhatsApp. Absent until it is known.",
         "wamid.HBgNNTUxMTk4NzY1NDMyMRUCABEYEjlBM0"),
    TEXT("type", NEO_ALWAYS, "Type: `template`, `text`, `image` and others. New types can be added.", "template"),
    {.name = "is_group", .type = NEO_BOOLEAN, .doc = "`true` if it was sent to a group; otherwise absent."},
    {.name = "body", .type = NEO_STRING, .doc = "Text; of a template, its body with the parameters."},
    {.name = "edited_at", .type = NEO_TIMESTAMP, .doc = "Time of the contact's last edit; `body` is the new text."},
    {.name = "revoked_at", .type = NEO_TIMESTAMP, .doc = "Time at which the contact deleted it; it has no `body` since then."},
    TEXT("template_name", 0, "Name of the template.", "visit_invitation"),
    TEXT("template_language", 0, "Language of the template.", "pt_BR"),
    {.name = "media_mime_type", .type = NEO_STRING, .doc = "Media type of the attachment."},
    {.name = "media_filename", .type = NEO_STRING, .doc = "File name of the attachment."},
    YES_OR_NO("has_media", "Whether there is an attachment.", "false"),
    ONE_OF(
        "status", statuses,
        "`received` for messages of the contact. A sent message is `pending` until WhatsApp responds, then `accepted`, `sent`, "
        "`delivered` and `read`, always in this order, or `failed`. Without a response it stays `pending`, and is not sent "
        "again, until WhatsApp reports its status.",
        "accepted"),
    MOMENT("status_at", NEO_ALWAYS, "Time of the status.", "2026-02-03T09:20:15.398Z"),
    {.name = "error_code",
     .type = NEO_INTEGER,
     .min = -2147483647 - 1,
     .max = 2147483647,
     .doc = "WhatsApp's error code, if it failed."},
    {.name = "error_title", .type = NEO_STRING, .doc = "WhatsApp's error message, if it failed."},
    TEXT("actor_id", 0, "API key or user that sent it.", "nbr_01jwr1zbts0h4k8n3p7r1t5w9x"),
    {.name = "actor_type", .type = NEO_ENUM, .values = actor_types, .doc = "Kind of `actor_id`.", .example = "\"api_key\""},
    MOMENT("occurred_at", NEO_ALWAYS, "Time of the message. That of a contact's message has whole seconds.", SAMPLE_CREATED),
    {0},
};

static const neo_field started[] = {
    {.name = "conversation",
     .type = NEO_OBJECT,
     .flags = NEO_ALWAYS,
     .fields = conversation,
     .doc = "The conversation, with the message."},
    {.name = "message", .type = NEO_OBJECT, .flags = NEO_ALWAYS, .fields = message, .doc = "The message that was sent."},
    YES_OR_NO("created", "Whether the conversation is new.", "true"),
    {0},
};

const neo_resource neo_whatsapp_started = {.name = "whatsapp",
                                           .collection = "whatsapp",
                                           .prefix = "wac_",
                                           .title = "StartedConversation",
                                           .area = NEO_AREA_WHATSAPP,
                                           .fields = started};

const neo_resource neo_conversation = {.name = "conversation",
                                       .collection = "whatsapp/conversations",
                                       .prefix = "wac_",
                                       .title = "Conversation",
                                       .area = NEO_AREA_WHATSAPP,
                                       .fields = conversation};

static const neo_field changes[] = {
    {.name = "triage",
     .type = NEO_ENUM,
     .flags = NEO_REQUIRED,
     .values = triages,
     .doc = "Triage. One that was set here is not changed by the service any more.",
     .example = "\"dismissed\""},
    {.name = "last_read_at",
     .type = NEO_TIMESTAMP,
     .rule = neo_rule_past,
     .doc = "Time of the last message that was read; later ones of the contact are unread. Not in the future.",
     .example = NEO_TEXT(SAMPLE_CREATED)},
    {.name = "opted_out_at",
     .type = NEO_TIMESTAMP,
     .rule = neo_rule_past,
     .doc =
         "Time at which the contact opted out elsewhere, such as on the phone; `null` withdraws it. The contact's own opt-out "
         "cannot be withdrawn. If there is an earlier one, that counts. Not in the future.",
     .example = NEO_TEXT(SAMPLE_CREATED)},
    {0},
};

const neo_resource neo_conversation_changes = {.name = "conversation",
                                               .collection = "whatsapp/conversations",
                                               .prefix = "wac_",
                                               .title = "Conversation",
                                               .area = NEO_AREA_WHATSAPP,
                                               .fields = changes};

const neo_filter neo_conversation_filters[] = {
    NEO_FILTER_IDS(SAMPLE_CONVERSATION),
    {.name = "triage",
     .value = NEO_VALUE_ENUM,
     .values = triages,
     .left = "t.triage",
     .doc = "Triage.",
     .example = "\"pending\""},
    {.name = "lead_id", .left = "t.lead_id", .doc = "Lead.", .example = NEO_TEXT(SAMPLE_LEAD)},
    {0},
};

const neo_filter neo_message_filters[] = {NEO_FILTER_IDS(SAMPLE_MESSAGE), {0}};
