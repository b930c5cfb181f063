/* SPDX-License-Identifier: Apache-2.0 */
/* WhatsApp conversations and messages, as they are exported and imported. The fields and their order are those of
 * sql/0004_whatsapp.sql. Texts are the contacts' own, so they are not checked. */
#include "resources/lead.h"
#include "resources/list.h"

#define MAX_ID         255
#define MAX_TEXT       200000 /* characters */
#define MAX_IDENTITIES 100000

static const char *const triages[] = {"pending", "assigned", "dismissed", NULL};
static const char *const kinds[] = {"lead", "sent", "seen", "returned", "left", "joined", NULL};
static const char *const preferences[] = {"stop", "resume", NULL};
static const char *const directions[] = {"inbound", "outbound", NULL};
static const char *const sources[] = {"webhook", "api", NULL};
static const char *const statuses[] = {"received", "pending", "accepted", "sent", "delivered", "read", "failed", NULL};
static const char *const actor_types[] = {"user", "api_key", "system", NULL};

/* clang-format off */
#define TEXT(the_name, more, the_max)      {.name = the_name, .type = NEO_STRING, .flags = NEO_VERBATIM | (more), .max = the_max}
#define MOMENT(the_name, more)             {.name = the_name, .type = NEO_TIMESTAMP, .flags = (more)}
#define ONE_OF(the_name, more, the_values) {.name = the_name, .type = NEO_ENUM, .flags = (more), .values = the_values}
#define FLAG(the_name)                     {.name = the_name, .type = NEO_BOOLEAN, .default_value = "false"}
#define REFERENCE(the_name, more, target)  {.name = the_name, .type = NEO_REFERENCE, .flags = (more), .refers = target}
#define OWN(the_name)                      {.name = the_name, .type = NEO_STRING, .flags = NEO_SERVER | NEO_ALWAYS}
/* clang-format on */

/* What was reported about a contact (see doc/whatsapp.md). */
static const neo_field identity[] = {
    TEXT("source", NEO_REQUIRED, 2000),
    ONE_OF("kind", NEO_REQUIRED, kinds),
    MOMENT("at", NEO_REQUIRED),
    TEXT("wa_id", 0, MAX_ID),
    TEXT("bsuid", 0, MAX_ID),
    TEXT("link", 0, 2000),
    TEXT("name", 0, MAX_TEXT),
    REFERENCE("lead_id", 0, &neo_lead),
    ONE_OF("preference", 0, preferences),
    MOMENT("preference_at", 0),
    {0},
};

static const neo_field conversation_fields[] = {
    OWN("id"),
    {.name = "phone_number_id", .type = NEO_STRING, .flags = NEO_REQUIRED, .max = 20},
    TEXT("contact_wa_id", 0, MAX_ID),
    TEXT("contact_bsuid", 0, MAX_ID),
    TEXT("contact_name", 0, MAX_TEXT),
    ONE_OF("triage", NEO_REQUIRED, triages),
    MOMENT("triage_at", 0),
    REFERENCE("lead_id", 0, &neo_lead),
    MOMENT("last_inbound_at", 0),
    {.name = "unread_count", .type = NEO_INTEGER, .flags = NEO_REQUIRED, .max = 2147483647},
    MOMENT("last_read_at", 0),
    MOMENT("opted_out_at", 0),
    MOMENT("preference_at", 0),
    MOMENT("imported_stop_from", 0),
    MOMENT("imported_stop_last", 0),
    MOMENT("recorded_stop_at", 0),
    FLAG("held"),
    FLAG("is_provisional"),
    {.name = "identities", .type = NEO_LIST, .fields = identity, .max_items = MAX_IDENTITIES},
    TEXT("last_provider_message_id", 0, MAX_ID),
    OWN("organization_id"),
    MOMENT("created_at", NEO_REQUIRED),
    MOMENT("updated_at", NEO_REQUIRED),
    {0},
};

const neo_resource neo_whatsapp_conversation = {
    .name = "whatsapp_conversation",
    .collection = "whatsapp_conversations",
    .prefix = "wac_",
    .title = "Conversation",
    .fields = conversation_fields,
    .has_foreign_keys = 1,
    .exported = "neoapi.whatsapp_export_conversation(t)",
    .import_function = "neoapi.whatsapp_import_conversation",
    .finish_function = "neoapi.whatsapp_merge_imported",
};

static const neo_field message_fields[] = {
    OWN("id"),
    REFERENCE("conversation_id", NEO_REQUIRED, &neo_whatsapp_conversation),
    ONE_OF("direction", NEO_REQUIRED, directions),
    ONE_OF("source", NEO_REQUIRED, sources),
    TEXT("recipient_wa_id", 0, MAX_ID),
    TEXT("recipient_bsuid", 0, MAX_ID),
    TEXT("provider_message_id", 0, MAX_ID),
    TEXT("refers_to", 0, MAX_ID),
    TEXT("type", NEO_REQUIRED, MAX_ID),
    FLAG("is_group"),
    TEXT("body", 0, MAX_TEXT),
    MOMENT("edited_at", 0),
    MOMENT("revoked_at", 0),
    TEXT("template_name", 0, 512),
    TEXT("template_language", 0, 20),
    TEXT("media_mime_type", 0, MAX_TEXT),
    TEXT("media_filename", 0, MAX_TEXT),
    FLAG("has_media"),
    ONE_OF("status", NEO_REQUIRED, statuses),
    MOMENT("status_at", NEO_REQUIRED),
    {.name = "error_code", .type = NEO_INTEGER, .min = -2147483647 - 1, .max = 2147483647},
    TEXT("error_title", 0, MAX_TEXT),
    TEXT("actor_id", 0, MAX_ID),
    ONE_OF("actor_type", 0, actor_types),
    MOMENT("occurred_at", NEO_REQUIRED),
    FLAG("created_conversation"),
    TEXT("identity_source", 0, 2000),
    {.name = "identity", .type = NEO_OBJECT, .fields = identity},
    OWN("organization_id"),
    {0},
};

const neo_resource neo_whatsapp_message = {
    .name = "whatsapp_message",
    .collection = "whatsapp_messages",
    .prefix = "wam_",
    .title = "Message",
    .fields = message_fields,
    .has_foreign_keys = 1,
    .exported = "neoapi.whatsapp_export_message(t)",
    .import_function = "neoapi.whatsapp_import_message",
};
