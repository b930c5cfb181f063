/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing WhatsApp's callbacks (see whatsapp/callback.h). */
#include "whatsapp/callback.h"

#include <apr_hash.h>
#include <apr_strings.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/encode.h"
#include "core/json.h"

#define MAX_ID   255 /* bytes; the id is a key of an index */
#define MAX_NAME 200
#define MAX_BODY 65536
#define MAX_WORD 40

/* ---------------------------------------------------------------- repairing invalid JSON */

/* The code unit of the escape "\uXXXX" at `c`, -1 if there is none. */
static int unit_at(const char *c, const char *end)
{
    char digits[5] = {0};
    if (end - c < 6 || c[0] != '\\' || c[1] != 'u')
        return -1;
    memcpy(digits, c + 2, 4);
    return strspn(digits, "0123456789abcdefABCDEF") == 4 ? (int)strtol(digits, NULL, 16) : -1;
}

/* Returns the length of the escape at `c`. NUL and a lone surrogate become U+FFFD. */
static apr_size_t repair_escape(char *c, const char *end)
{
    int unit = unit_at(c, end);
    if (unit < 0)
        return end - c > 1 ? 2 : 1;
    int is_high = unit >= 0xD800 && unit < 0xDC00, next = is_high ? unit_at(c + 6, end) : -1;
    if (is_high && next >= 0xDC00 && next < 0xE000)
        return 12;
    if (unit == 0 || (unit >= 0xD800 && unit < 0xE000))
        memcpy(c + 2, "fffd", 4);
    return 6;
}

/* Returns the length of the multibyte character at `c`. An invalid one becomes a question mark. */
static apr_size_t repair_character(char *c, const char *end)
{
    unsigned char first = (unsigned char)*c;
    apr_size_t len = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if ((apr_size_t)(end - c) >= len && neo_utf8_is_valid(c, len))
        return len;
    *c = '?';
    return 1;
}

/* Repairs invalid UTF-8, lone surrogates and control characters, so that one broken message does not lose the others. */
static neo_text repaired(neo_text raw, apr_pool_t *pool)
{
    char *copy = apr_pstrmemdup(pool, raw.ptr, raw.len), *end = copy + raw.len;
    for (char *c = copy; c < end;) {
        if (*c == '\\')
            c += repair_escape(c, end);
        else if ((unsigned char)*c >= 0x80)
            c += repair_character(c, end);
        else {
            if ((unsigned char)*c < ' ')
                *c = ' ';
            c++;
        }
    }
    return (neo_text){copy, raw.len};
}

/* ---------------------------------------------------------------- members */

const char *neo_clip(const char *text, apr_size_t max, const char *kept, apr_pool_t *pool)
{
    if (!text || !*text)
        return NULL;
    apr_size_t len = strlen(text);
    if (len > max)
        for (len = max; len > 0 && ((unsigned char)text[len] & 0xC0) == 0x80;)
            len--;
    char *copy = apr_pstrmemdup(pool, text, len);
    for (char *c = copy; *c; c++)
        if (((unsigned char)*c < ' ' || *c == 0x7F) && !strchr(kept, *c))
            *c = ' ';
    return copy;
}

/* The text at a path such as "interactive.button_reply.title". */
static const char *text_at(const neo_json *value, const char *path, apr_size_t max, apr_pool_t *pool)
{
    for (const char *dot; value && (dot = strchr(path, '.')); path = dot + 1)
        value = neo_json_get(value, apr_pstrmemdup(pool, path, (apr_size_t)(dot - path)));
    return value ? neo_clip(neo_json_string(neo_json_get(value, path)), max, "\n\t", pool) : NULL;
}

/* Returns an id, or NULL if it is too long or has spaces or control characters. */
static const char *id_at(const neo_json *value, const char *path, apr_pool_t *pool)
{
    const char *id = text_at(value, path, MAX_ID + 1, pool);
    if (!id || strlen(id) > MAX_ID)
        return NULL;
    for (const char *c = id; *c; c++)
        if (*c <= ' ' || *c == 0x7F)
            return NULL;
    return id;
}

static const char *digits_at(const neo_json *value, const char *path, apr_pool_t *pool)
{
    const char *id = id_at(value, path, pool);
    apr_size_t len = id ? strlen(id) : 0;
    return len >= 5 && len <= 20 && strspn(id, "0123456789") == len ? id : NULL;
}

/* The timestamp is seconds since 1970, as a string or as a number. */
static neo_ms read_timestamp(const neo_json *value)
{
    const neo_json *reported = neo_json_get(value, "timestamp");
    const char *text = reported ? neo_json_string(reported) : NULL;
    long long seconds = reported ? neo_json_integer(reported) : 0;
    if (text && !neo_integer_parse(text, &seconds))
        seconds = 0;
    return seconds > 0 && seconds <= NEO_MS_LAST / 1000 ? seconds * 1000 : 0;
}

static void set_item_error(neo_callback_item *item, const neo_json *value, apr_pool_t *pool)
{
    const neo_json *first = neo_json_at(neo_json_get(value, "errors"), 0), *code = first ? neo_json_get(first, "code") : NULL;
    if (!code || neo_json_get_kind(code) != NEO_JSON_INTEGER)
        return;
    long long number = neo_json_integer(code);
    item->has_error = 1;
    item->error_code = (int)(number > INT_MAX ? INT_MAX : number < INT_MIN ? INT_MIN : number);
    item->error_title = text_at(first, "title", MAX_NAME, pool);
    if (!item->error_title)
        item->error_title = text_at(first, "message", MAX_NAME, pool);
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
        const char *name = text_at(neo_json_at(contacts, i), "name.formatted_name", MAX_NAME, pool);
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
        const char *text = strcmp(bodies[i].type, type) == 0 ? text_at(message, bodies[i].path, MAX_BODY, pool) : NULL;
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
            item->media_id = object ? id_at(object, "id", pool) : NULL;
            item->has_media = item->media_id != NULL;
            item->mime_type = object ? text_at(object, "mime_type", MAX_NAME, pool) : NULL;
            item->filename = object ? text_at(object, "filename", MAX_ID, pool) : NULL;
        }
}

/* ---------------------------------------------------------------- one change */

typedef struct {
    apr_pool_t *pool;
    apr_array_header_t *items;
    const char *number;
    apr_hash_t *contacts; /* elements of `contacts`, by wa_id and by user_id */
    const apr_array_header_t *stop_texts;
    int *dropped;
} reader;

static void index_contacts(reader *r, const neo_json *contacts)
{
    r->contacts = apr_hash_make(r->pool);
    for (apr_size_t i = 0; contacts && i < neo_json_size(contacts); i++) {
        const neo_json *contact = neo_json_at(contacts, i);
        const char *ids[] = {digits_at(contact, "wa_id", r->pool), id_at(contact, "user_id", r->pool)};
        for (int n = 0; n < 2; n++)
            if (ids[n])
                apr_hash_set(r->contacts, ids[n], APR_HASH_KEY_STRING, contact);
    }
}

/* Sets the contact from these members and from `contacts`. False if there is none. */
static int set_contact(const reader *r, neo_callback_item *item, const neo_json *value, const char *wa_id, const char *bsuid)
{
    item->wa_id = digits_at(value, wa_id, r->pool);
    item->bsuid = id_at(value, bsuid, r->pool);
    const neo_json *contact = item->wa_id ? apr_hash_get(r->contacts, item->wa_id, APR_HASH_KEY_STRING) : NULL;
    if (!contact && item->bsuid)
        contact = apr_hash_get(r->contacts, item->bsuid, APR_HASH_KEY_STRING);
    if (contact) {
        item->name = text_at(contact, "profile.name", MAX_NAME, r->pool);
        item->wa_id = item->wa_id ? item->wa_id : digits_at(contact, "wa_id", r->pool);
        item->bsuid = item->bsuid ? item->bsuid : id_at(contact, "user_id", r->pool);
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
    change.new_wa_id = digits_at(system, "wa_id", r->pool);
    change.new_wa_id = change.new_wa_id ? change.new_wa_id : digits_at(system, "new_wa_id", r->pool);
    change.new_bsuid = id_at(system, "user_id", r->pool);
    change.at = from->at;
    int is_same = change.new_wa_id && from->wa_id && strcmp(change.new_wa_id, from->wa_id) == 0;
    if (change.new_bsuid || (change.new_wa_id && !is_same)) /* other system messages change no ids */
        APR_ARRAY_PUSH(r->items, neo_callback_item) = change;
}

static int read_message(const reader *r, const neo_json *message)
{
    neo_callback_item item = {.kind = NEO_ITEM_MESSAGE, .phone_number_id = r->number, .id = id_at(message, "id", r->pool)};
    if (!item.id || !set_contact(r, &item, message, "from", "from_user_id"))
        return 0;
    item.type = id_at(message, "type", r->pool);
    /* types that are not known yet are accepted if they are a word */
    if (!item.type || strlen(item.type) > MAX_WORD || item.type[strspn(item.type, "abcdefghijklmnopqrstuvwxyz_")])
        item.type = "unsupported";
    item.body = message_text(message, item.type, r->pool);
    int is_change = strcmp(item.type, "edit") == 0 || strcmp(item.type, "revoke") == 0;
    const neo_json *change = is_change ? neo_json_get(message, item.type) : NULL;
    item.refers_to = change ? id_at(change, "original_message_id", r->pool) : NULL;
    item.reply_to = id_at(message, strcmp(item.type, "reaction") == 0 ? "reaction.message_id" : "context.id", r->pool);
    item.is_group = id_at(message, "group_id", r->pool) != NULL;
    /* Buttons and lists have labels such as "Cancelar", and what is said in a group is not said to the organization. */
    if (strcmp(item.type, "text") == 0 && item.body && !item.is_group)
        item.preference = neo_read_preference(item.body, r->stop_texts, r->pool);
    item.at = read_timestamp(message);
    set_media(&item, message, r->pool);
    APR_ARRAY_PUSH(r->items, neo_callback_item) = item;
    read_number_change(r, message, &item);
    return 1;
}

static int read_status(const reader *r, const neo_json *reported)
{
    static const struct {
        const char *reported, *status;
    } statuses[] = {{"sent", "sent"}, {"delivered", "delivered"}, {"read", "read"}, {"played", "read"}, {"failed", "failed"}};
    neo_callback_item item = {.kind = NEO_ITEM_STATUS, .phone_number_id = r->number, .id = id_at(reported, "id", r->pool)};
    const char *status = id_at(reported, "status", r->pool);
    if (!item.id || !status)
        return 0;
    for (apr_size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        if (strcmp(statuses[i].reported, status) == 0)
            item.status = statuses[i].status;
    if (!item.status) /* a new kind of status: ignored */
        return 1;
    (void)set_contact(r, &item, reported, "recipient_id", "recipient_user_id");
    item.message = id_at(reported, "biz_opaque_callback_data", r->pool);
    item.at = read_timestamp(reported);
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
    const char *value = id_at(reported, "value", r->pool);
    for (apr_size_t i = 0; value && i < sizeof preferences / sizeof *preferences; i++)
        if (strcmp(preferences[i].reported, value) == 0)
            item.preference = preferences[i].preference;
    if (!item.preference || !set_contact(r, &item, reported, "wa_id", "user_id"))
        return 0;
    item.at = read_timestamp(reported);
    APR_ARRAY_PUSH(r->items, neo_callback_item) = item;
    return 1;
}

/* ---------------------------------------------------------------- the callback */

static void read_change(reader *r, const neo_json *value)
{
    static const struct {
        const char *member;
        int (*read)(const reader *r, const neo_json *one);
    } lists[] = {{"messages", read_message}, {"statuses", read_status}, {"user_preferences", read_preference}};
    r->number = digits_at(value, "metadata.phone_number_id", r->pool);
    if (!r->number) /* a change of an account or a template: ignored */
        return;
    index_contacts(r, neo_json_get(value, "contacts"));
    for (apr_size_t l = 0; l < sizeof lists / sizeof *lists; l++) {
        const neo_json *list = neo_json_get(value, lists[l].member);
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
    neo_json *whole = neo_json_parse(repaired(raw, pool), pool, error), *entries = whole ? neo_json_get(whole, "entry") : NULL;
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
        const neo_json *changes = neo_json_get(neo_json_at(entries, e), "changes");
        for (apr_size_t c = 0; changes && c < neo_json_size(changes); c++)
            read_change(&r, neo_json_get(neo_json_at(changes, c), "value"));
    }
    return r.items;
}
