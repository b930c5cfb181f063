/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing WhatsApp's callbacks (see whatsapp/callback.h). */
#include "whatsapp/callback.h"

#include <apr_hash.h>
#include <apr_strings.h>
#include <limits.h>
#include <string.h>

#include "callback_members.h"

#define MAX_FILENAME 1024 /* bytes, of a file name: more than file systems allow, so that a long one keeps its extension */
#define MAX_BODY     65536

static void set_item_error(neo_callback_item *item, const neo_json *value, apr_pool_t *pool)
{
    const neo_json *first = neo_json_at(neo_json_get(value, "errors"), 0), *code = first ? neo_json_get(first, "code") : NULL;
    if (!code || neo_json_get_kind(code) != NEO_JSON_INTEGER)
        return;
    long long number = neo_json_integer(code);
    item->has_error = 1;
    item->error_code = (int)(number > INT_MAX ? INT_MAX : number < INT_MIN ? INT_MIN : number);
    item->error_title = neo_text_at(first, "title", MAX_NAME, pool);
    if (!item->error_title)
        item->error_title = neo_text_at(first, "message", MAX_NAME, pool);
}

/* ---------------------------------------------------------------- messages */

/* The paths of the text in each type of message. */
static const struct {
    const char *type, *path;
} bodies[] = {
    {"text", "text.body"},
    {"image", "image.caption"},
    {"video", "video.caption"},
    {"document", "document.caption"},
    {"location", "location.name"},
    {"location", "location.address"},
    {"interactive", "interactive.button_reply.title"},
    {"interactive", "interactive.list_reply.title"},
    {"interactive", "interactive.nfm_reply.body"},
    {"button", "button.text"},
    {"reaction", "reaction.emoji"},
    {"order", "order.text"},
    {"system", "system.body"},
    {"edit", "edit.message.text.body"},
    {"edit", "edit.message.image.caption"},
    {"edit", "edit.message.video.caption"},
    {"edit", "edit.message.document.caption"},
};

static const char *const media[] = {"image", "video", "audio", "document", "sticker"};

static const char *join_contact_names(const neo_json *contacts, apr_pool_t *pool)
{
    neo_buf out;
    neo_buf_init(&out, pool, 128);
    for (apr_size_t i = 0; contacts && i < neo_json_size(contacts) && out.len < MAX_BODY; i++) {
        const char *name = neo_text_at(neo_json_at(contacts, i), "name.formatted_name", MAX_NAME, pool);
        if (name)
            neo_buf_printf(&out, "%s%s", out.len ? ", " : "", name);
    }
    return out.len ? out.ptr : NULL;
}

static int is_number(const neo_json *value)
{
    return value && (neo_json_get_kind(value) == NEO_JSON_INTEGER || neo_json_get_kind(value) == NEO_JSON_REAL);
}

/* "-23.5613,-46.6565" */
static const char *format_location(const neo_json *location, apr_pool_t *pool)
{
    const neo_json *latitude = neo_json_get(location, "latitude"), *longitude = neo_json_get(location, "longitude");
    if (!is_number(latitude) || !is_number(longitude))
        return NULL;
    double north = neo_json_real(latitude), east = neo_json_real(longitude);
    return north >= -90 && north <= 90 && east >= -360 && east <= 360 ? apr_psprintf(pool, "%.6f,%.6f", north, east) : NULL;
}

static const char *message_text(const neo_json *message, const char *type, apr_pool_t *pool)
{
    for (apr_size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        const char *text = strcmp(bodies[i].type, type) == 0 ? neo_text_at(message, bodies[i].path, MAX_BODY, pool) : NULL;
        if (text)
            return text;
    }
    if (strcmp(type, "contacts") == 0)
        return join_contact_names(neo_json_get(message, "contacts"), pool);
    const neo_json *location = strcmp(type, "location") == 0 ? neo_json_get(message, "location") : NULL;
    return location ? format_location(location, pool) : NULL;
}

static void set_media(neo_callback_item *item, const neo_json *message, apr_pool_t *pool)
{
    for (apr_size_t i = 0; i < sizeof media / sizeof *media; i++)
        if (strcmp(media[i], item->type) == 0) {
            const neo_json *object = neo_json_get(message, item->type);
            item->media_id = object ? neo_id_at(object, "id", pool) : NULL;
            item->has_media = item->media_id != NULL;
            item->mime_type = object ? neo_text_at(object, "mime_type", MAX_NAME, pool) : NULL;
            item->filename = object ? neo_text_at(object, "filename", MAX_FILENAME, pool) : NULL;
        }
}

/* ---------------------------------------------------------------- one change */

typedef struct {
    apr_pool_t *pool;
    apr_array_header_t *items;
    const char *number;
    const char *display;  /* the number's own phone: digits */
    apr_hash_t *contacts; /* elements of `contacts`, by wa_id and by user_id */
    const apr_array_header_t *stop_texts;
    int *dropped;
} reader;

static void index_contacts(reader *r, const neo_json *contacts)
{
    r->contacts = apr_hash_make(r->pool);
    for (apr_size_t i = 0; contacts && i < neo_json_size(contacts); i++) {
        const neo_json *contact = neo_json_at(contacts, i);
        const char *ids[] = {neo_digits_at(contact, "wa_id", r->pool), neo_id_at(contact, "user_id", r->pool)};
        for (int n = 0; n < 2; n++)
            if (ids[n])
                apr_hash_set(r->contacts, ids[n], APR_HASH_KEY_STRING, contact);
    }
}

/* Sets the contact from these members and from `contacts`. False if there is none. */
static int set_contact(const reader *r, neo_callback_item *item, const neo_json *value, const char *wa_id, const char *bsuid)
{
    item->wa_id = neo_digits_at(value, wa_id, r->pool);
    item->bsuid = neo_id_at(value, bsuid, r->pool);
    const neo_json *contact = item->wa_id ? apr_hash_get(r->contacts, item->wa_id, APR_HASH_KEY_STRING) : NULL;
    if (!contact && item->bsuid)
        contact = apr_hash_get(r->contacts, item->bsuid, APR_HASH_KEY_STRING);
    if (contact) {
        item->name = neo_text_at(contact, "profile.name", MAX_NAME, r->pool);
        item->wa_id = item->wa_id ? item->wa_id : neo_digits_at(contact, "wa_id", r->pool);
        item->bsuid = item->bsuid ? item->bsuid : neo_id_at(contact, "user_id", r->pool);
    }
    return item->wa_id || item->bsuid;
}

/* A system message can announce that its sender has a new number. */
static void read_number_change(const reader *r, const neo_json *message, const neo_callback_item *from)
{
    neo_callback_item change = {.kind = NEO_ITEM_NUMBER_CHANGED,
                                .phone_number_id = r->number,
                                .id = from->id,
                                .wa_id = from->wa_id,
                                .bsuid = from->bsuid};
    const neo_json *system = strcmp(from->type, "system") == 0 ? neo_json_get(message, "system") : NULL;
    if (!system)
        return;
    change.new_wa_id = neo_digits_at(system, "wa_id", r->pool);
    change.new_wa_id = change.new_wa_id ? change.new_wa_id : neo_digits_at(system, "new_wa_id", r->pool);
    change.new_bsuid = neo_id_at(system, "user_id", r->pool);
    change.at = from->at;
    int is_same = change.new_wa_id && from->wa_id && strcmp(change.new_wa_id, from->wa_id) == 0;
    if (change.new_bsuid || (change.new_wa_id && !is_same)) /* other system messages change no ids */
        APR_ARRAY_PUSH(r->items, neo_callback_item) = change;
}

/* The contact has a new user id, for example with a new telephone number. It is reported without a
 * message, so there is no id of one. */
static int read_user_id_change(const reader *r, const neo_json *reported)
{
    neo_callback_item change = {.kind = NEO_ITEM_NUMBER_CHANGED,
                                .phone_number_id = r->number,
                                .wa_id = neo_digits_at(reported, "wa_id", r->pool),
                                .bsuid = neo_id_at(reported, "user_id.previous", r->pool),
                                .new_bsuid = neo_id_at(reported, "user_id.current", r->pool),
                                .at = neo_timestamp_at(reported)};
    if (!change.bsuid || !change.new_bsuid)
        return 0;
    change.id = apr_pstrcat(r->pool, change.bsuid, " ", change.new_bsuid, NULL);
    APR_ARRAY_PUSH(r->items, neo_callback_item) = change;
    return 1;
}

static void set_content(const reader *r, neo_callback_item *item, const neo_json *message)
{
    item->type = neo_id_at(message, "type", r->pool);
    /* types that are not known yet are accepted if they are a word */
    if (!item->type || strlen(item->type) > MAX_WORD || item->type[strspn(item->type, "abcdefghijklmnopqrstuvwxyz_")])
        item->type = "unsupported";
    item->body = message_text(message, item->type, r->pool);
    int is_change = strcmp(item->type, "edit") == 0 || strcmp(item->type, "revoke") == 0;
    const neo_json *change = is_change ? neo_json_get(message, item->type) : NULL;
    item->refers_to = change ? neo_id_at(change, "original_message_id", r->pool) : NULL;
    item->reply_to = neo_id_at(message, strcmp(item->type, "reaction") == 0 ? "reaction.message_id" : "context.id", r->pool);
    item->is_group = neo_id_at(message, "group_id", r->pool) != NULL;
    /* Buttons and lists have labels such as "Cancelar", and what is said in a group is not said to the organization. */
    if (strcmp(item->type, "text") == 0 && item->body && !item->is_group && !item->is_outbound)
        item->preference = neo_read_preference(item->body, r->stop_texts, r->pool);
    item->at = neo_timestamp_at(message);
    set_media(item, message, r->pool);
}

static int read_message(const reader *r, const neo_json *message)
{
    neo_callback_item item = {.kind = NEO_ITEM_MESSAGE, .phone_number_id = r->number, .id = neo_id_at(message, "id", r->pool)};
    if (!item.id || !set_contact(r, &item, message, "from", "from_user_id"))
        return 0;
    set_content(r, &item, message);
    APR_ARRAY_PUSH(r->items, neo_callback_item) = item;
    read_number_change(r, message, &item);
    return 1;
}

/* A message that the business has sent with its telephone. */
static int read_echo(const reader *r, const neo_json *message)
{
    neo_callback_item item = {.kind = NEO_ITEM_MESSAGE,
                              .phone_number_id = r->number,
                              .id = neo_id_at(message, "id", r->pool),
                              .is_outbound = 1,
                              .status = "sent"};
    if (!item.id || !set_contact(r, &item, message, "to", "to_user_id"))
        return 0;
    set_content(r, &item, message);
    APR_ARRAY_PUSH(r->items, neo_callback_item) = item;
    return 1;
}

/* ---------------------------------------------------------------- history of the telephone */

/* The status of an old message; one that is still pending at the telephone counts as sent. */
static const char *history_status(const neo_json *message, apr_pool_t *pool)
{
    static const char *const statuses[][2] = {
        {"DELIVERED", "delivered"}, {"READ", "read"}, {"PLAYED", "read"}, {"ERROR", "failed"}};
    const char *status = neo_word_at(message, "history_context.status", pool);
    for (apr_size_t i = 0; status && i < sizeof statuses / sizeof *statuses; i++)
        if (strcmp(statuses[i][0], status) == 0)
            return statuses[i][1];
    return "sent";
}

/* A message of the thread with this contact; `thread`: digits, NULL: only the message says who the contact is. */
static int read_old_message(const reader *r, const neo_json *message, const char *thread)
{
    neo_callback_item item = {
        .kind = NEO_ITEM_MESSAGE, .phone_number_id = r->number, .id = neo_id_at(message, "id", r->pool), .is_history = 1};
    const char *from = neo_digits_at(message, "from", r->pool);
    item.is_outbound = neo_json_get(message, "to") || neo_json_get(message, "to_user_id") ||
                       (from && (thread ? strcmp(from, thread) != 0 : r->display && strcmp(from, r->display) == 0));
    int has_contact =
        set_contact(r, &item, message, item.is_outbound ? "to" : "from", item.is_outbound ? "to_user_id" : "from_user_id");
    if (!item.wa_id && !item.bsuid)
        item.wa_id = thread;
    if (!item.id || (!has_contact && !thread))
        return 0;
    item.status = item.is_outbound ? history_status(message, r->pool) : NULL;
    set_content(r, &item, message);
    APR_ARRAY_PUSH(r->items, neo_callback_item) = item;
    return 1;
}

/* The business may have declined to share its history; then there are no threads. */
static int read_history(const reader *r, const neo_json *chunk)
{
    const neo_json *threads = neo_json_get(chunk, "threads");
    for (apr_size_t t = 0; threads && t < neo_json_size(threads); t++) {
        const neo_json *thread = neo_json_at(threads, t), *messages = neo_json_get(thread, "messages");
        const char *contact = neo_digits_at(thread, "id", r->pool);
        for (apr_size_t i = 0; messages && i < neo_json_size(messages); i++)
            if (!read_old_message(r, neo_json_at(messages, i), contact))
                ++*r->dropped;
    }
    return 1;
}

/* Media of old messages follow in callbacks of their own, with the same ids. */
static int read_old_media(const reader *r, const neo_json *message)
{
    return read_old_message(r, message, NULL);
}

/* How the provider bills a message, as JSON text that is always the same for the same values; NULL if a status does not say. */
static const char *read_pricing(const reader *r, const neo_json *reported)
{
    static const char *const words[] = {"pricing_model", "category", "type"};
    const neo_json *pricing = neo_json_get(reported, "pricing"), *billable = pricing ? neo_json_get(pricing, "billable") : NULL;
    const char *type = pricing ? neo_word_at(pricing, "type", r->pool) : NULL;
    if (!pricing || !neo_word_at(pricing, "category", r->pool))
        return NULL;
    neo_json *clean = neo_json_make_object(r->pool);
    int is_billable = billable ? neo_json_is_true(billable) : type && strcmp(type, "regular") == 0;
    neo_json_set_boolean(clean, "billable", is_billable, r->pool);
    for (apr_size_t i = 0; i < sizeof words / sizeof *words; i++)
        neo_json_set_string(clean, words[i], neo_word_at(pricing, words[i], r->pool), r->pool);
    return neo_json_text(clean, r->pool).ptr;
}

static int read_status(const reader *r, const neo_json *reported)
{
    static const struct {
        const char *reported, *status;
    } statuses[] = {{"sent", "sent"}, {"delivered", "delivered"}, {"read", "read"}, {"played", "read"}, {"failed", "failed"}};
    neo_callback_item item = {.kind = NEO_ITEM_STATUS, .phone_number_id = r->number, .id = neo_id_at(reported, "id", r->pool)};
    const char *status = neo_id_at(reported, "status", r->pool);
    if (!item.id || !status)
        return 0;
    for (apr_size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        if (strcmp(statuses[i].reported, status) == 0)
            item.status = statuses[i].status;
    if (!item.status) /* a new kind of status: ignored */
        return 1;
    (void)set_contact(r, &item, reported, "recipient_id", "recipient_user_id");
    item.message = neo_id_at(reported, "biz_opaque_callback_data", r->pool);
    item.at = neo_timestamp_at(reported);
    item.pricing = read_pricing(r, reported);
    if (strcmp(item.status, "failed") == 0)
        set_item_error(&item, reported, r->pool);
    APR_ARRAY_PUSH(r->items, neo_callback_item) = item;
    return 1;
}

static int read_preference(const reader *r, const neo_json *reported)
{
    static const struct {
        const char *reported, *preference;
    } preferences[] = {{"stop", "stop"}, {"resume", "resume"}, {"signup", "resume"}};
    neo_callback_item item = {.kind = NEO_ITEM_PREFERENCE, .phone_number_id = r->number};
    const char *value = neo_id_at(reported, "value", r->pool);
    for (apr_size_t i = 0; value && i < sizeof preferences / sizeof *preferences; i++)
        if (strcmp(preferences[i].reported, value) == 0)
            item.preference = preferences[i].preference;
    if (!item.preference || !set_contact(r, &item, reported, "wa_id", "user_id"))
        return 0;
    item.at = neo_timestamp_at(reported);
    APR_ARRAY_PUSH(r->items, neo_callback_item) = item;
    return 1;
}

/* ---------------------------------------------------------------- the callback */

/* The new status of a template, as the list of templates has it; NULL if the event is another one. */
static const char *template_status(const neo_json *value, apr_pool_t *pool)
{
    static const struct {
        const char *event, *status;
    } events[] = {{"APPROVED", "approved"}, {"REINSTATED", "approved"}, {"REJECTED", "rejected"},
                  {"PENDING", "pending"},   {"IN_APPEAL", "in_appeal"}, {"PAUSED", "paused"},
                  {"DISABLED", "disabled"}, {"ARCHIVED", "archived"},   {"PENDING_DELETION", "pending_deletion"},
                  {"DELETED", "deleted"}};
    const char *event = neo_word_at(value, "event", pool);
    for (apr_size_t i = 0; event && i < sizeof events / sizeof *events; i++)
        if (strcmp(events[i].event, event) == 0)
            return events[i].status;
    return NULL;
}

/* A change of an account. Only a template's new status is stored; all else is read from the provider when it is needed. */
static void read_account_change(reader *r, const char *account, const char *field, const neo_json *value)
{
    static const struct {
        const char *field, *report;
    } fields[] = {{"message_template_status_update", "templates"},  {"message_template_components_update", "templates"},
                  {"message_template_quality_update", "templates"}, {"template_category_update", "templates"},
                  {"phone_number_quality_update", "numbers"},       {"phone_number_name_update", "numbers"},
                  {"business_capability_update", "numbers"},        {"account_update", "numbers"}};
    for (apr_size_t i = 0; account && field && i < sizeof fields / sizeof *fields; i++) {
        if (strcmp(fields[i].field, field) != 0)
            continue;
        neo_callback_item item = {.kind = NEO_ITEM_ACCOUNT, .account = account, .report = fields[i].report};
        item.template_name = neo_id_at(value, "message_template_name", r->pool);
        item.template_language = neo_id_at(value, "message_template_language", r->pool);
        item.template_status = i == 0 ? template_status(value, r->pool) : NULL;
        APR_ARRAY_PUSH(r->items, neo_callback_item) = item;
    }
}

static void read_change(reader *r, const char *field, const neo_json *value)
{
    static const struct {
        const char *member, *field; /* NULL: any but history */
        int (*read)(const reader *r, const neo_json *one);
    } lists[] = {{"messages", NULL, read_message},
                 {"statuses", NULL, read_status},
                 {"user_preferences", NULL, read_preference},
                 {"user_id_update", NULL, read_user_id_change},
                 {"message_echoes", NULL, read_echo},
                 {"history", "history", read_history},
                 {"messages", "history", read_old_media}};
    int is_history = field && strcmp(field, "history") == 0;
    r->number = neo_digits_at(value, "metadata.phone_number_id", r->pool);
    r->display = neo_digits_at(value, "metadata.display_phone_number", r->pool);
    if (!r->number)
        return;
    index_contacts(r, neo_json_get(value, "contacts"));
    for (apr_size_t l = 0; l < sizeof lists / sizeof *lists; l++) {
        const neo_json *list = is_history == (lists[l].field != NULL) ? neo_json_get(value, lists[l].member) : NULL;
        for (apr_size_t i = 0; list && i < neo_json_size(list); i++) {
            const neo_json *one = neo_json_at(list, i);
            if (one && !lists[l].read(r, one))
                ++*r->dropped;
        }
    }
}

apr_array_header_t *neo_callback_read(neo_text raw, const apr_array_header_t *stop_texts, apr_pool_t *pool, const char **error,
                                      int *dropped)
{
    neo_json *whole = neo_json_parse(neo_callback_repaired(raw, pool), pool, error),
             *entries = whole ? neo_json_get(whole, "entry") : NULL;
    reader r = {.pool = pool, .stop_texts = stop_texts, .dropped = dropped};
    *dropped = 0;
    if (!whole)
        return NULL;
    if (!entries || neo_json_get_kind(entries) != NEO_JSON_ARRAY) {
        *error = "\"entry\" is missing or not an array";
        return NULL;
    }
    r.items = apr_array_make(pool, 8, sizeof(neo_callback_item));
    for (apr_size_t e = 0; e < neo_json_size(entries); e++) {
        const neo_json *entry = neo_json_at(entries, e), *changes = neo_json_get(entry, "changes");
        for (apr_size_t c = 0; changes && c < neo_json_size(changes); c++) {
            const neo_json *change = neo_json_at(changes, c), *value = neo_json_get(change, "value");
            if (!value)
                continue;
            const char *field = neo_word_at(change, "field", pool);
            read_account_change(&r, neo_digits_at(entry, "id", pool), field, value);
            read_change(&r, field, value);
        }
    }
    return r.items;
}
