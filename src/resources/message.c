/* SPDX-License-Identifier: Apache-2.0 */
/* WhatsApp messages: the table of their fields. */
#include "whatsapp_fields.h"

const char *const neo_message_directions[] = {"inbound", "outbound", NULL};
const char *const neo_message_statuses[] = {"received", "pending", "accepted", "sent", "delivered", "read", "failed", NULL};
static const char *const sources[] = {"webhook", "api", "device", NULL};
static const char *const actor_types[] = {"user", "api_key", "system", NULL};

static const neo_field pricing[] = {
    YES_OR_NO("billable", NEO_ALWAYS, .doc = "Whether WhatsApp charges for the message.", .example = "true"),
    TEXT("pricing_model", NEO_NOT_PERSONAL, 0, .max = MAX_WORD, .doc = "Pricing model: `PMP`, per message.",
         .example = "\"PMP\""),
    TEXT("category", NEO_NOT_PERSONAL, NEO_ALWAYS, .max = MAX_WORD,
         .doc = "Category of the rate: `marketing`, `utility`, `authentication`, `service` and others. New ones can be added.",
         .example = "\"marketing\""),
    TEXT("type", NEO_NOT_PERSONAL, 0, .max = MAX_WORD,
         .doc = "`regular`, or why it is free: `free_customer_service`, `free_entry_point`. New ones can be added.",
         .example = "\"regular\""),
    {0},
};

const neo_field neo_message_fields[] = {
    IDENTIFIER("id", "wam_", NEO_SERVER | NEO_ALWAYS, .doc = "Id of the message.", .example = NEO_TEXT(SAMPLE_MESSAGE)),
    REFERENCE("conversation_id", NEO_REQUIRED, .refers = &neo_whatsapp_conversation, .doc = "The conversation.",
              .example = NEO_TEXT(SAMPLE_CONVERSATION)),
    ONE_OF("direction", NEO_REQUIRED, .values = neo_message_directions, .doc = "`inbound` from the contact, `outbound` to it.",
           .example = "\"outbound\""),
    ONE_OF("source", NEO_REQUIRED, .values = sources,
           .doc = "Origin: a webhook of WhatsApp, this API, or the business's telephone (`device`).", .example = "\"api\""),
    TEXT("recipient_wa_id", NEO_SENSITIVE, NEO_EXPORT_ONLY, .max = MAX_ID),
    TEXT("recipient_bsuid", NEO_IDENTIFYING, NEO_EXPORT_ONLY, .max = MAX_ID),
    TEXT("provider_message_id", NEO_SENSITIVE, 0, .max = MAX_ID,
         .doc = "Id of the message at WhatsApp. Absent until it is known.",
         .example = "\"wamid.HBgNNTUxMTk4NzY1NDMyMRUCABEYEjlBM0\""),
    TEXT("refers_to", NEO_SENSITIVE, NEO_EXPORT_ONLY, .max = MAX_ID),
    TEXT("reply_to", NEO_SENSITIVE, NEO_EXPORT_ONLY, .max = MAX_ID),
    IDENTIFIER("reply_to_id", "wam_", NEO_API_ONLY,
               .computed = "select r.id from neoapi.whatsapp_message r"
                           " where r.organization_id = t.organization_id and r.provider_message_id = t.reply_to",
               .doc = "The message that it is a reply or a reaction to."),
    TEXT("type", NEO_NOT_PERSONAL, NEO_REQUIRED, .max = MAX_ID,
         .doc = "Type: `template`, `text`, `image` and others. New types can be added.", .example = "\"template\""),
    YES_OR_NO("is_group", 0, .default_value = "false", .computed = "nullif(t.is_group, false)",
              .doc = "`true` if it was sent to a group; otherwise absent."),
    TEXT("body", NEO_IDENTIFYING, 0, .max = MAX_TEXT,
         .doc = "Text: of a template, its body with the parameters; of an attachment, its caption; of a reaction, the emoji."),
    MOMENT("edited_at", 0, .doc = "Time of the contact's last edit; `body` is the new text."),
    MOMENT("revoked_at", 0, .doc = "Time at which the contact deleted it; it has no `body` since then."),
    TEXT("template_name", NEO_NOT_PERSONAL, 0, .max = 512, .doc = "Name of the template.", .example = "\"visit_invitation\""),
    TEXT("template_language", NEO_NOT_PERSONAL, 0, .max = 20, .doc = "Language of the template.", .example = "\"pt_BR\""),
    TEXT("media_mime_type", NEO_NOT_PERSONAL, 0, .max = MAX_TEXT, .doc = "Media type of the attachment."),
    TEXT("media_filename", NEO_IDENTIFYING, 0, .max = MAX_TEXT, .doc = "File name of the attachment."),
    TEXT("media_id", NEO_IDENTIFYING, NEO_EXPORT_ONLY, .max = MAX_ID),
    TEXT("media_url", NEO_IDENTIFYING, 0, .max = MAX_TEXT, .doc = "URL of an attachment that was sent."),
    YES_OR_NO("has_media", NEO_ALWAYS, .default_value = "false", .doc = "Whether there is an attachment.", .example = "false"),
    ONE_OF("status", NEO_REQUIRED, .values = neo_message_statuses,
           .doc =
               "`received` for messages of the contact. A sent message is `pending` until WhatsApp responds, then `accepted`, "
               "`sent`, `delivered` and `read`, always in this order, or `failed`. Without a response it stays `pending`, and "
               "is not sent again, until WhatsApp reports its status.",
           .example = "\"accepted\""),
    MOMENT("status_at", NEO_REQUIRED, .doc = "Time of the status.", .example = "\"2026-02-03T09:20:15.398Z\""),
    {.name = "error_code",
     .type = NEO_INTEGER,
     .personal = NEO_NOT_PERSONAL,
     .min = -MAX_INT - 1,
     .max = MAX_INT,
     .doc = "WhatsApp's error code, if it failed."},
    TEXT("error_title", NEO_NOT_PERSONAL, 0, .max = MAX_TEXT, .doc = "WhatsApp's error message, if it failed."),
    {.name = "pricing",
     .type = NEO_OBJECT,
     .personal = NEO_NOT_PERSONAL,
     .fields = pricing,
     .doc = "How WhatsApp bills a sent message. Absent until a status reports it."},
    TEXT("actor_id", NEO_NOT_PERSONAL, 0, .max = MAX_ID, .doc = "API key or user that sent it.",
         .example = "\"nbr_01jwr1zbts0h4k8n3p7r1t5w9x\""),
    ONE_OF("actor_type", 0, .values = actor_types, .doc = "Kind of `actor_id`.", .example = "\"api_key\""),
    MOMENT("occurred_at", NEO_REQUIRED, .doc = "Time of the message. That of a contact's message has whole seconds.",
           .example = NEO_TEXT(SAMPLE_CREATED)),
    YES_OR_NO("created_conversation", NEO_EXPORT_ONLY, .default_value = "false"),
    TEXT("identity_source", NEO_SENSITIVE, NEO_EXPORT_ONLY, .max = MAX_SOURCE,
         .computed = "select i.source from neoapi.whatsapp_identity i"
                     " where i.organization_id = t.organization_id and i.id = t.identity_id"),
    {.name = "identity",
     .type = NEO_OBJECT,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_EXPORT_ONLY,
     .fields = neo_identity_fields,
     .computed = "neoapi.whatsapp_identity identity where identity.organization_id = t.organization_id"
                 " and identity.id = t.identity_id"
                 " and identity.source = 'message ' || t.provider_message_id"},
    {.name = "organization_id",
     .type = NEO_STRING,
     .personal = NEO_NOT_PERSONAL,
     .flags = NEO_EXPORT_ONLY | NEO_SERVER | NEO_ALWAYS},
    {0},
};

const neo_resource neo_whatsapp_message = {
    .name = "whatsapp_message",
    .collection = "whatsapp_messages",
    .prefix = "wam_",
    .title = "Message",
    .area = NEO_AREA_WHATSAPP,
    .fields = neo_message_fields,
    .has_foreign_keys = 1,
    .has_json_function = 1,
    .import_function = "neoapi.whatsapp_import_message",
};

const neo_filter neo_message_filters[] = {NEO_FILTER_IDS(SAMPLE_MESSAGE), {0}};
