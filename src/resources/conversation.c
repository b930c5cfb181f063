/* SPDX-License-Identifier: Apache-2.0 */
/* WhatsApp conversations: the table of their fields, and the bodies of the requests that start, continue and change one. */
#include <string.h>

#include "core/id.h"
#include "resources/lead.h"
#include "resources/rules.h"
#include "schema/rules.h"
#include "whatsapp_fields.h"

#define MAX_IDENTITIES 100000

static const char *const triages[] = {"pending", "assigned", "dismissed", NULL};
static const char *const kinds[] = {"lead", "sent", "seen", "returned", "left", "joined", NULL};
static const char *const preferences[] = {"stop", "resume", NULL};

/* SQL of what other tables say about the conversation t. */
#define NUMBER(column)                                                                                                         \
    "select n." column " from neoapi.whatsapp_number n where n.organization_id = t.organization_id and n.id = t.number_id"
#define LEAD(column) "select l." column " from neoapi.lead l where l.organization_id = t.organization_id and l.id = t.lead_id"
#define MESSAGES(m)                                                                                                            \
    "neoapi.whatsapp_message " m " where " m ".organization_id = t.organization_id and " m ".conversation_id = t.id"
#define LAST(m) MESSAGES(m) " and " m ".refers_to is null order by " m ".occurred_at desc, " m ".id desc limit 1"

/* What was reported about a contact (see doc/whatsapp.md). */
const neo_field neo_identity_fields[] = {
    TEXT("source", NEO_SENSITIVE, NEO_REQUIRED, .max = MAX_SOURCE),
    ONE_OF("kind", NEO_REQUIRED, .values = kinds),
    MOMENT("at", NEO_REQUIRED, .doc = "Time of the report."),
    TEXT("wa_id", NEO_SENSITIVE, 0, .max = MAX_ID),
    TEXT("bsuid", NEO_IDENTIFYING, 0, .max = MAX_ID),
    TEXT("link", NEO_IDENTIFYING, 0, .max = MAX_SOURCE),
    TEXT("name", NEO_IDENTIFYING, 0, .max = MAX_TEXT),
    REFERENCE("lead_id", 0, .refers = &neo_lead),
    ONE_OF("preference", 0, .values = preferences),
    MOMENT("preference_at", 0, .doc = "Time of the preference."),
    {0},
};

static const neo_field last_message[] = {
    IDENTIFIER("id", "wam_", NEO_ALWAYS, .doc = "Id of the message.", .example = NEO_TEXT(SAMPLE_MESSAGE)),
    ONE_OF("direction", NEO_ALWAYS, .values = neo_message_directions, .doc = "`inbound` from the contact, `outbound` to it.",
           .example = "\"outbound\""),
    TEXT("type", NEO_NOT_PERSONAL, NEO_ALWAYS, .doc = "Type: `template`, `text`, `image` and others. New types can be added.",
         .example = "\"template\""),
    TEXT("body", NEO_IDENTIFYING, 0, .doc = "Text."),
    ONE_OF("status", NEO_ALWAYS, .values = neo_message_statuses, .doc = "Status.", .example = "\"accepted\""),
    MOMENT("occurred_at", NEO_ALWAYS, .doc = "Time of the message.", .example = NEO_TEXT(SAMPLE_CREATED)),
    {0},
};

/* `identities` are those that no message reports: the others are exported with their messages. */
static const neo_field conversation_fields[] = {
    IDENTIFIER("id", "wac_", NEO_SERVER | NEO_ALWAYS, .doc = "Id of the conversation.",
               .example = NEO_TEXT(SAMPLE_CONVERSATION)),
    IDENTIFIER("number_id", "wan_", NEO_API_ONLY | NEO_ALWAYS, .doc = "Id of the organization's number.",
               .example = NEO_TEXT(SAMPLE_NUMBER)),
    TEXT("number_display_phone_number", NEO_NOT_PERSONAL, NEO_API_ONLY | NEO_ALWAYS, .computed = NUMBER("display_phone_number"),
         .doc = "The organization's number, formatted for display.", .example = "\"+55 11 4000-1234\""),
    {.name = "phone_number_id",
     .type = NEO_STRING,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_EXPORT_ONLY | NEO_REQUIRED,
     .max = 20,
     .computed = NUMBER("phone_number_id")},
    IDENTIFIER("party_id", "pty_", NEO_API_ONLY, .computed = LEAD("party_id"), .doc = "The lead's party.",
               .example = NEO_TEXT(NEO_SAMPLE_BUYER)),
    TEXT("contact_wa_id", NEO_SENSITIVE, 0, .max = MAX_ID, .doc = "The contact's number at WhatsApp: digits with country code.",
         .example = "\"5511987654321\""),
    TEXT("contact_bsuid", NEO_IDENTIFYING, 0, .max = MAX_ID, .doc = "The contact's business-scoped user id.",
         .example = "\"BR.13491208655302741918\""),
    TEXT("contact_name", NEO_IDENTIFYING, 0, .max = MAX_TEXT,
         .doc = "The name that the contact chose at WhatsApp, or else the lead's.", .example = "\"Marina Duarte\""),
    ONE_OF("triage", NEO_REQUIRED, .values = triages,
           .doc = "`assigned` if it has a lead, `pending` if the contact is unknown, unless a client set it.",
           .example = "\"assigned\""),
    MOMENT("triage_at", NEO_EXPORT_ONLY, .doc = "Time at which a client set the triage."),
    REFERENCE("lead_id", 0, .refers = &neo_lead, .doc = "The lead.", .example = NEO_TEXT(NEO_SAMPLE_LEAD)),
    REFERENCE("broker_id", 0, .refers = &neo_broker, .doc = "The broker that it is assigned to.",
              .example = NEO_TEXT(NEO_SAMPLE_BROKER)),
    MOMENT("last_inbound_at", 0, .doc = "Time of the contact's last message."),
    MOMENT("last_message_at", NEO_API_ONLY, .computed = "select m.occurred_at from " LAST("m"),
           .doc = "Time of the last message.", .example = NEO_TEXT(SAMPLE_CREATED)),
    {.name = "last_message",
     .type = NEO_OBJECT,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_API_ONLY,
     .fields = last_message,
     .computed = LAST("last_message"),
     .doc = "The last message. Absent if the contact has only sent a preference, such as an opt-out."},
    {.name = "unread_count",
     .type = NEO_INTEGER,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_REQUIRED,
     .max = MAX_INT,
     .doc = "Number of the contact's unread messages.",
     .example = "0"},
    MOMENT("last_read_at", 0, .doc = "Time at which it was last read."),
    MOMENT("opted_out_at", 0, .doc = "Time of the contact's opt-out."),
    MOMENT("preference_at", NEO_EXPORT_ONLY, .doc = "Time of the contact's last stop or resume."),
    MOMENT("imported_stop_from", NEO_EXPORT_ONLY, .doc = "Time of the first stop of an imported opt-out."),
    MOMENT("imported_stop_last", NEO_EXPORT_ONLY, .doc = "Time of the last one."),
    MOMENT("recorded_stop_at", NEO_EXPORT_ONLY, .doc = "Time of an opt-out that a client has recorded."),
    YES_OR_NO("window_open", NEO_API_ONLY | NEO_ALWAYS,
              .computed = "coalesce(now() < t.last_inbound_at + interval '24 hours', false)",
              .doc = "Whether the contact wrote within 24 hours, so that WhatsApp would deliver messages without a template, "
                     "too.",
              .example = "false"),
    MOMENT("window_expires_at", NEO_API_ONLY, .computed = "t.last_inbound_at + interval '24 hours'",
           .doc = "24 hours after `last_inbound_at`."),
    YES_OR_NO("held", NEO_ALWAYS, .default_value = "false",
              .doc = "Whether WhatsApp is holding the last message to assess the template.", .example = "false"),
    YES_OR_NO("is_provisional", NEO_EXPORT_ONLY, .default_value = "false"),
    {.name = "identities",
     .type = NEO_LIST,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_EXPORT_ONLY,
     .fields = neo_identity_fields,
     .max_items = MAX_IDENTITIES,
     .computed = "neoapi.whatsapp_identity identities where identities.organization_id = t.organization_id"
                 " and identities.conversation_id = t.id and not (identities.source like 'message %' and exists (select from "
                 "neoapi.whatsapp_message m where m.organization_id = t.organization_id"
                 " and m.provider_message_id = substr(identities.source, 9) and m.identity_id = identities.id))"},
    TEXT("last_provider_message_id", NEO_SENSITIVE, NEO_EXPORT_ONLY, .max = MAX_ID,
         .computed = "select m.provider_message_id from " MESSAGES("m") " and m.provider_message_id is not null"
                                                                        " order by m.id desc limit 1"),
    {.name = "organization_id",
     .type = NEO_STRING,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_EXPORT_ONLY | NEO_SERVER | NEO_ALWAYS},
    MOMENT("created_at", NEO_REQUIRED, .doc = "Time of creation.", .example = NEO_TEXT(SAMPLE_CREATED)),
    MOMENT("updated_at", NEO_REQUIRED, .doc = "Time of the last change.", .example = "\"2026-02-03T09:20:15.402Z\""),
    {0},
};

const neo_resource neo_conversation = {.name = "conversation",
                                       .collection = "whatsapp/conversations",
                                       .prefix = "wac_",
                                       .title = "Conversation",
                                       .area = NEO_AREA_WHATSAPP,
                                       .fields = conversation_fields};

const neo_resource neo_whatsapp_conversation = {
    .name = "whatsapp_conversation",
    .collection = "whatsapp_conversations",
    .prefix = "wac_",
    .title = "Conversation",
    .fields = conversation_fields,
    .has_foreign_keys = 1,
    .has_json_function = 1,
    .import_function = "neoapi.whatsapp_import_conversation",
    .finish_function = "neoapi.whatsapp_merge_imported",
};

static const char *const booleans[] = {"true", "false", NULL};

/* The condition of window_open in a form that uses the index. */
static const char *const window_sources[] = {
    "select c.id as source_id from neoapi.whatsapp_conversation c"
    " where c.organization_id = $1 and c.last_inbound_at > now() - interval '24 hours'",
    "select c.id as source_id from neoapi.whatsapp_conversation c"
    " where c.organization_id = $1 and coalesce(c.last_inbound_at <= now() - interval '24 hours', true)"};

/* Each has a trigram index. */
static const char *const searched[] = {"neoapi.folded(coalesce(t.contact_name, '') || ' ' || coalesce(t.contact_wa_id, '')) %s",
                                       "t.id in (select m.conversation_id from neoapi.whatsapp_message m"
                                       " where m.organization_id = $1 and m.refers_to is null and neoapi.folded(m.body) %s)",
                                       NULL};

const neo_filter neo_conversation_filters[] = {
    NEO_FILTER_IDS(SAMPLE_CONVERSATION),
    {.name = "triage",
     .value = NEO_VALUE_ENUM,
     .values = triages,
     .left = "t.triage",
     .doc = "Triage.",
     .example = "\"pending\""},
    {.name = "lead_id",
     .value = NEO_VALUE_REFERENCE,
     .left = "t.lead_id",
     .doc = "Lead.",
     .example = NEO_TEXT(NEO_SAMPLE_LEAD)},
    {.name = "unread",
     .value = NEO_VALUE_ENUM,
     .values = booleans,
     .left = "(t.unread_count > 0)",
     .right = "%s::boolean",
     .doc = "Whether there are unread messages of the contact.",
     .example = "\"true\""},
    {.name = "assigned",
     .value = NEO_VALUE_ENUM,
     .values = booleans,
     .left = "(t.broker_id is not null)",
     .right = "%s::boolean",
     .doc = "Whether it is assigned to a broker.",
     .example = "\"false\""},
    {.name = "broker_id",
     .value = NEO_VALUE_REFERENCE,
     .left = "t.broker_id",
     .doc = "The broker that it is assigned to.",
     .example = NEO_TEXT(NEO_SAMPLE_BROKER)},
    {.name = "lead_status",
     .value = NEO_VALUE_ENUM,
     .values = neo_lead_statuses,
     .left = "t.lead_id",
     .selection = "select l.id from neoapi.lead l where l.organization_id = $1 and l.status %s",
     .doc = "Status of the lead.",
     .example = "\"contacted\""},
    {.name = "q",
     .kind = NEO_FILTER_CONTAINS,
     .right = "neoapi.folded(%s)",
     .alternatives = searched,
     .doc = "Part of the contact's name, of `contact_wa_id` or of the text of a message, at least 3 characters, ignoring case "
            "and accents.",
     .example = "\"churrasqueira\""},
    {.name = "window_open",
     .kind = NEO_FILTER_SOURCES,
     .value = NEO_VALUE_ENUM,
     .values = booleans,
     .sources = window_sources,
     .doc = "Whether messages without a template can be sent.",
     .example = "\"true\""},
    {0},
};

/* ---------------------------------------------------------------- to start one */

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

/* clang-format off */
#define TEMPLATE_FIELDS(required, more)                                                                                        \
    {.name = "template_name",                                                                                                  \
     .type = NEO_STRING, .personal = NEO_NOT_PERSONAL,                                                                                                       \
     .flags = (required) | (more),                                                                                             \
     .max = 512,                                                                                                               \
     .rule = template_name_rule,                                                                                               \
     .pattern = "^[a-z0-9_]{1,512}$",                                                                                          \
     .doc = "Name of a message template that WhatsApp has approved for the organization.",                                     \
     .example = "\"visit_invitation\""},                                                                                       \
    {.name = "template_language",                                                                                              \
     .type = NEO_STRING, .personal = NEO_NOT_PERSONAL,                                                                                                       \
     .flags = (more),                                                                                                          \
     .max = 8,                                                                                                                 \
     .default_value = "pt_BR",                                                                                                 \
     .rule = language_rule,                                                                                                    \
     .pattern = "^[a-z]{2,3}(_[A-Z0-9]{2,4})?$",                                                                               \
     .doc = "Language of the template.",                                                                                       \
     .example = "\"pt_BR\""},                                                                                                  \
    {.name = "template_parameters",                                                                                            \
     .type = NEO_TEXT_LIST, .personal = NEO_IDENTIFYING,                                                                                                    \
     .flags = (more),                                                                                                          \
     .max = 1024,                                                                                                              \
     .max_items = 50,                                                                                                          \
     .doc = "Values of the numbered parameters in the template's body, in order.",                                             \
     .example = "[\"Marina\", \"Rua Augusta 1508\"]"},                                                                         \
    {.name = "template_named_parameters",                                                                                      \
     .type = NEO_MAP, .personal = NEO_IDENTIFYING,                                                                                                          \
     .flags = NEO_NOT_IN_EXAMPLE,                                                                                              \
     .max = 1024,                                                                                                              \
     .max_items = 50,                                                                                                          \
     .max_key_length = 100,                                                                                                    \
     .doc = "Values of the named parameters in the template's header and body.",                                               \
     .example = "{\"first_name\": \"Marina\"}"},                                                                               \
    {.name = "template_header_parameter",                                                                                      \
     .type = NEO_STRING, .personal = NEO_IDENTIFYING,                                                                                                       \
     .flags = NEO_NOT_IN_EXAMPLE,                                                                                              \
     .max = 60,                                                                                                                \
     .doc = "Value of the numbered parameter in the template's header.",                                                       \
     .example = "\"Jardins\""},                                                                                                \
    {.name = "template_button_parameters",                                                                                     \
     .type = NEO_TEXT_LIST, .personal = NEO_IDENTIFYING,                                                                                                    \
     .flags = NEO_NOT_IN_EXAMPLE,                                                                                              \
     .max = 2000,                                                                                                              \
     .max_items = 10,                                                                                                          \
     .doc = "Ends of the URLs of the template's buttons that have a parameter, in order.",                                     \
     .example = "[\"1508\"]"}
/* clang-format on */

/* Only what references to a number need: numbers are only listed (GET /whatsapp/numbers), not stored as a resource. */
static const neo_resource number = {.name = "number", .prefix = "wan_", .title = "Number"};

static const neo_field start_fields[] = {
    {.name = "lead_id",
     .type = NEO_STRING,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_REQUIRED,
     .max = 100,
     .rule = neo_rule_lead_id,
     .pattern = ID_PATTERN("led_"),
     .doc = "The lead to send the message to.",
     .example = NEO_TEXT(NEO_SAMPLE_LEAD)},
    TEMPLATE_FIELDS(NEO_REQUIRED, 0),
    {.name = "media_url",
     .type = NEO_STRING,
     .personal = NEO_IDENTIFYING,
     .flags = NEO_NOT_IN_EXAMPLE,
     .max = 2000,
     .rule = neo_rule_https_url,
     .pattern = NEO_PATTERN_HTTPS_URL,
     .doc = "URL from which WhatsApp reads the image, video or document in the template's header: public, with https.",
     .example = "\"https://cdn.example.com/properties/1508/front.jpg\""},
    {.name = "media_filename",
     .type = NEO_STRING,
     .personal = NEO_IDENTIFYING,
     .flags = NEO_NOT_IN_EXAMPLE,
     .max = 240,
     .doc = "File name that the contact sees of a document in the header.",
     .example = "\"plan.pdf\""},
    {.name = "number_id",
     .type = NEO_REFERENCE,
     .personal = NEO_NOT_PERSONAL,
     .refers = &number,
     .doc = "The number to send from. Required if the organization has several.",
     .example = NEO_TEXT(SAMPLE_NUMBER)},
    {0},
};

const neo_resource neo_conversation_input = {
    .name = "whatsapp",
    .collection = "whatsapp",
    .prefix = "wac_",
    .title = "Conversation",
    .tag_doc = "WhatsApp conversations with the contacts of leads.",
    .area = NEO_AREA_WHATSAPP,
    .fields = start_fields,
};

static const neo_field started[] = {
    {.name = "conversation",
     .type = NEO_OBJECT,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_ALWAYS,
     .fields = conversation_fields,
     .doc = "The conversation, with the message."},
    {.name = "message",
     .type = NEO_OBJECT,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_ALWAYS,
     .fields = neo_message_fields,
     .doc = "The message that was sent."},
    YES_OR_NO("created", NEO_ALWAYS, .doc = "Whether the conversation is new.", .example = "true"),
    {0},
};

const neo_resource neo_whatsapp_started = {.name = "whatsapp",
                                           .collection = "whatsapp",
                                           .prefix = "wac_",
                                           .title = "StartedConversation",
                                           .area = NEO_AREA_WHATSAPP,
                                           .fields = started};

/* ---------------------------------------------------------------- to continue one */

static const char *const sent_types[] = {"text", "template", "image", "document", "reaction", NULL};

static const neo_field message_fields[] = {
    {.name = "type",
     .type = NEO_ENUM,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_REQUIRED,
     .values = sent_types,
     .doc = "Type. All but `template` need an open window.",
     .example = "\"text\""},
    {.name = "text",
     .type = NEO_STRING,
     .personal = NEO_IDENTIFYING,
     .flags = NEO_CONDITIONAL | NEO_MULTILINE,
     .max = 4096,
     .doc = "Text of the type `text`.",
     .example = "\"Bom dia, Marina! Sábado às 10h?\""},
    TEMPLATE_FIELDS(NEO_CONDITIONAL, NEO_NOT_IN_EXAMPLE),
    {.name = "media_url",
     .type = NEO_STRING,
     .personal = NEO_IDENTIFYING,
     .flags = NEO_CONDITIONAL | NEO_NOT_IN_EXAMPLE,
     .max = 2000,
     .rule = neo_rule_https_url,
     .pattern = NEO_PATTERN_HTTPS_URL,
     .doc = "URL from which WhatsApp reads the `image` or `document`, or the media in the header of a `template`: public, with "
            "https.",
     .example = "\"https://cdn.example.com/properties/1508/plan.pdf\""},
    {.name = "media_filename",
     .type = NEO_STRING,
     .personal = NEO_IDENTIFYING,
     .flags = NEO_NOT_IN_EXAMPLE,
     .max = 240,
     .doc = "File name that the contact sees of a `document`, also in the header of a `template`.",
     .example = "\"plan.pdf\""},
    {.name = "caption",
     .type = NEO_STRING,
     .personal = NEO_IDENTIFYING,
     .flags = NEO_MULTILINE | NEO_NOT_IN_EXAMPLE,
     .max = 1024,
     .doc = "Caption of an `image` or a `document`.",
     .example = "\"The plan\""},
    {.name = "emoji",
     .type = NEO_STRING,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_CONDITIONAL | NEO_NOT_IN_EXAMPLE | NEO_VERBATIM,
     .max = 30,
     .doc = "Emoji of a `reaction`; an empty one removes it.",
     .example = "\"👍\""},
    {.name = "reply_to_id",
     .type = NEO_REFERENCE,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_CONDITIONAL | NEO_NOT_IN_EXAMPLE,
     .refers = &neo_whatsapp_message,
     .doc = "The message of the conversation that it is a reply or a `reaction` to.",
     .example = NEO_TEXT(SAMPLE_MESSAGE)},
    {0},
};

const neo_resource neo_message_input = {
    .name = "conversation",
    .collection = "whatsapp",
    .prefix = "wam_",
    .title = "Message",
    .area = NEO_AREA_WHATSAPP,
    .fields = message_fields,
    .rule = neo_message_rule,
};

/* ---------------------------------------------------------------- to mark one as read */

static const neo_field read_fields[] = {
    REFERENCE(
        "up_to_id", NEO_REQUIRED, .refers = &neo_whatsapp_message,
        .doc = "The last message that was seen: the first of the list of messages. Those that were stored later stay unread.",
        .example = NEO_TEXT(SAMPLE_MESSAGE)),
    {0},
};

const neo_resource neo_read_input = {.name = "conversation",
                                     .collection = "whatsapp/conversations",
                                     .prefix = "wac_",
                                     .title = "ReadMark",
                                     .area = NEO_AREA_WHATSAPP,
                                     .fields = read_fields};

/* ---------------------------------------------------------------- to change one */

static const neo_field changes[] = {
    {.name = "triage",
     .type = NEO_ENUM,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_REQUIRED,
     .values = triages,
     .doc = "Triage. One that was set here is not changed by the service any more.",
     .example = "\"dismissed\""},
    {.name = "broker_id",
     .type = NEO_REFERENCE,
     .personal = NEO_NOT_PERSONAL,
     .refers = &neo_broker,
     .doc = "The broker that it is assigned to; `null` removes the assignment.",
     .example = NEO_TEXT(NEO_SAMPLE_BROKER)},
    {.name = "last_read_at",
     .type = NEO_TIMESTAMP,
     .personal = NEO_NOT_PERSONAL,
     .rule = neo_rule_past,
     .doc = "Time of the last message that was read; later ones of the contact are unread. Not in the future.",
     .example = NEO_TEXT(SAMPLE_CREATED)},
    {.name = "opted_out_at",
     .type = NEO_TIMESTAMP,
     .personal = NEO_NOT_PERSONAL,
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
