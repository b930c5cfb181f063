/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to and responses of WhatsApp's provider (see whatsapp/provider.h). */
#include "whatsapp/provider.h"

#include <apr_strings.h>
#include <limits.h>
#include <string.h>

#include "whatsapp/callback.h"
#include "whatsapp/template.h"

#define MAX_TEXT      300 /* bytes of a message of the provider */
#define MAX_ID        255
#define MIN_TOKEN_LEN 16 /* characters; the provider's tokens are longer */
#define LIKE_TOKEN    40 /* a run of as many characters can be a token */

/* ---------------------------------------------------------------- requests */

static neo_json *make_template(const neo_outgoing *message, apr_pool_t *pool)
{
    neo_json *template = neo_json_make_object(pool), *language = neo_json_make_object(pool);
    neo_json *components = neo_template_components(message->definition, message->content, pool);
    neo_json_set_string(template, "name", neo_json_string_at(message->content, "template_name"), pool);
    neo_json_set_string(language, "policy", "deterministic", pool);
    neo_json_set_string(language, "code", neo_json_string_at(message->content, "template_language"), pool);
    neo_json_set(template, "language", language);
    if (components)
        neo_json_set(template, "components", components);
    return template;
}

/* The content of a message of another type. */
static neo_json *make_content(const neo_outgoing *message, const char *type, apr_pool_t *pool)
{
    static const struct {
        const char *type, *name, *field; /* what the provider calls a field of the request */
    } members[] = {{"text", "body", "text"},           {"image", "link", "media_url"},
                   {"image", "caption", "caption"},    {"document", "link", "media_url"},
                   {"document", "caption", "caption"}, {"document", "filename", "media_filename"},
                   {"reaction", "emoji", "emoji"}};
    neo_json *content = neo_json_make_object(pool);
    for (apr_size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (strcmp(members[i].type, type) == 0)
            neo_json_set_string(content, members[i].name, neo_json_string_at(message->content, members[i].field), pool);
    return content;
}

neo_text neo_outgoing_json(const neo_outgoing *message, apr_pool_t *pool)
{
    neo_json *body = neo_json_make_object(pool), *reply_to = neo_json_make_object(pool);
    const char *type = neo_json_string_at(message->content, "type");
    int is_template = !type || strcmp(type, "template") == 0;
    neo_json *content = is_template ? make_template(message, pool) : make_content(message, type, pool);
    neo_json_set_string(body, "messaging_product", "whatsapp", pool);
    neo_json_set_string(body, "recipient_type", "individual", pool);
    neo_json_set_string(body, "to", message->wa_id ? message->wa_id : message->bsuid, pool);
    neo_json_set_string(body, "type", is_template ? "template" : type, pool);
    neo_json_set(body, is_template ? "template" : type, content);
    if (message->reply_to && !is_template && strcmp(type, "reaction") == 0)
        neo_json_set_string(content, "message_id", message->reply_to, pool);
    else if (message->reply_to) {
        neo_json_set_string(reply_to, "message_id", message->reply_to, pool);
        neo_json_set(body, "context", reply_to);
    }
    neo_json_set_string(body, "biz_opaque_callback_data", message->id, pool);
    return neo_json_text(body, pool);
}

neo_text neo_read_receipt_json(const char *provider_id, apr_pool_t *pool)
{
    neo_json *body = neo_json_make_object(pool);
    neo_json_set_string(body, "messaging_product", "whatsapp", pool);
    neo_json_set_string(body, "status", "read", pool);
    neo_json_set_string(body, "message_id", provider_id, pool);
    return neo_json_text(body, pool);
}

/* ---------------------------------------------------------------- responses */

/* The provider's error codes (doc/whatsapp.md explains each); the first matching row counts. For any other code the HTTP status
 * decides. */
static const struct {
    int first, last;
    int subcode; /* 0: any */
    neo_verdict verdict;
    int is_about_parameters;
} codes[] = {
    {0, 0, 0, NEO_VERDICT_FORBIDDEN, 0},           /* authentication */
    {2, 2, 0, NEO_VERDICT_LATER, 0},               /* the service is down */
    {3, 3, 0, NEO_VERDICT_FORBIDDEN, 0},           /* capability or permissions */
    {4, 4, 0, NEO_VERDICT_LATER, 0},               /* too many calls */
    {10, 10, 0, NEO_VERDICT_FORBIDDEN, 0},         /* permission */
    {17, 17, 0, NEO_VERDICT_LATER, 0},             /* too many calls of this user */
    {33, 33, 0, NEO_VERDICT_FORBIDDEN, 0},         /* the number was deleted */
    {100, 100, 33, NEO_VERDICT_FORBIDDEN, 0},      /* the number does not exist, or not for this token */
    {100, 100, 2207051, NEO_VERDICT_FORBIDDEN, 0}, /* the number is not registered */
    {100, 100, 0, NEO_VERDICT_TEMPLATE, 0},        /* parameter */
    {104, 104, 0, NEO_VERDICT_FORBIDDEN, 0},       /* a token or a proof is required */
    {190, 190, 0, NEO_VERDICT_FORBIDDEN, 0},       /* the token expired */
    {200, 299, 0, NEO_VERDICT_FORBIDDEN, 0},       /* permissions */
    {368, 368, 0, NEO_VERDICT_FORBIDDEN, 0},       /* the account is blocked for violating a policy */
    {80007, 80007, 0, NEO_VERDICT_LATER, 0},       /* rate limits */
    {130429, 130429, 0, NEO_VERDICT_LATER, 0},
    {131016, 131016, 0, NEO_VERDICT_LATER, 0}, /* unavailable */
    {131056, 131056, 0, NEO_VERDICT_LATER, 0},
    {131057, 131057, 0, NEO_VERDICT_LATER, 0},     /* the account is in maintenance */
    {133004, 133004, 0, NEO_VERDICT_LATER, 0},     /* unavailable */
    {131005, 131005, 0, NEO_VERDICT_FORBIDDEN, 0}, /* permission */
    {131031, 131031, 0, NEO_VERDICT_FORBIDDEN, 0}, /* the account is locked */
    {131042, 131042, 0, NEO_VERDICT_FORBIDDEN, 0}, /* the account's payment */
    {131045, 131045, 0, NEO_VERDICT_FORBIDDEN, 0}, /* the number is not registered */
    {133010, 133010, 0, NEO_VERDICT_FORBIDDEN, 0}, /* the number is not registered at the Cloud API */
    {131008, 131009, 0, NEO_VERDICT_TEMPLATE, 1},  /* missing or wrong parameter */
    {130497, 130497, 0, NEO_VERDICT_FAILED, 0},    /* not allowed in the contact's country */
    {131026, 131026, 0, NEO_VERDICT_FAILED, 0},    /* undeliverable */
    {131047, 131049, 0, NEO_VERDICT_FAILED, 0},
    {131050, 131050, 0, NEO_VERDICT_OPTED_OUT, 0},
    {132000, 132000, 0, NEO_VERDICT_TEMPLATE, 1}, /* number of parameters */
    {132012, 132012, 0, NEO_VERDICT_TEMPLATE, 1}, /* format of a parameter */
    {132018, 132018, 0, NEO_VERDICT_TEMPLATE, 1}, /* content of a parameter */
    {132001, 132999, 0, NEO_VERDICT_TEMPLATE, 0}, /* template unknown, paused or disabled */
};

/* The provider quotes what it refuses. Removes the access token and, if `is_suspect`, anything that can be a token. */
static const char *remove_token(const char *text, const char *token, int is_suspect, apr_pool_t *pool)
{
    static const char all[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    apr_size_t len = token && strlen(token) >= MIN_TOKEN_LEN ? strlen(token) : 0;
    neo_buf out;
    neo_buf_init(&out, pool, 256);
    while (*text) {
        apr_size_t run = is_suspect ? strspn(text, all) : 0, hidden = 0;
        if (run >= LIKE_TOKEN)
            hidden = run;
        else if (len && strncmp(text, token, len) == 0)
            hidden = len;
        if (hidden)
            neo_buf_puts(&out, "…");
        else
            neo_buf_putc(&out, *text);
        text += hidden ? hidden : 1;
    }
    return out.ptr;
}

static const char *read_text(const neo_json *object, const char *name, apr_size_t max, apr_pool_t *pool)
{
    return neo_clip(object ? neo_json_string(neo_json_get(object, name)) : NULL, max, "", pool);
}

/* Returns NULL if the id is too long to store. */
static const char *read_provider_id(const neo_json *object, const char *name, apr_pool_t *pool)
{
    const char *id = read_text(object, name, MAX_ID + 1, pool);
    return id && strlen(id) <= MAX_ID ? id : NULL;
}

static int clamp_int(const neo_json *value)
{
    long long number = value && neo_json_get_kind(value) == NEO_JSON_INTEGER ? neo_json_integer(value) : 0;
    return (int)(number > INT_MAX ? INT_MAX : number < INT_MIN ? INT_MIN : number);
}

/* What an HTTP status means if the code does not say it. */
static neo_verdict judge_status(int http_status)
{
    if (http_status == 401 || http_status == 403)
        return NEO_VERDICT_FORBIDDEN;
    if (http_status == 429)
        return NEO_VERDICT_LATER;
    return http_status >= 500 || http_status == 408 ? NEO_VERDICT_UNKNOWN : NEO_VERDICT_FAILED;
}

static void judge(const neo_json *error, int http_status, neo_reply *reply)
{
    int subcode = clamp_int(neo_json_get(error, "error_subcode"));
    reply->code = clamp_int(neo_json_get(error, "code"));
    reply->verdict = judge_status(http_status);
    for (apr_size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (reply->code >= codes[i].first && reply->code <= codes[i].last &&
            (!codes[i].subcode || codes[i].subcode == subcode)) {
            reply->verdict = codes[i].verdict;
            reply->is_about_parameters = codes[i].is_about_parameters;
            return;
        }
}

/* Returns false if it is not an error of the provider. */
static int read_error(const neo_json *error, int http_status, const char *token, apr_pool_t *pool, neo_reply *reply)
{
    const neo_json *code = neo_json_get(error, "code"), *data = neo_json_get(error, "error_data");
    const char *const texts[] = {neo_json_string(neo_json_get(error, "message")),
                                 data ? neo_json_string(neo_json_get(data, "details")) : NULL,
                                 neo_json_string(neo_json_get(error, "fbtrace_id"))};
    const char **const stored[] = {&reply->title, &reply->details, &reply->trace};
    if (!code || neo_json_get_kind(code) != NEO_JSON_INTEGER)
        return 0;
    judge(error, http_status, reply);
    for (int i = 0; i < 3; i++) /* the token is removed before cutting, which could leave half of it */
        if (texts[i])
            *stored[i] =
                neo_clip(remove_token(texts[i], token, reply->verdict == NEO_VERDICT_FORBIDDEN, pool), MAX_TEXT, "", pool);
    reply->title = reply->title ? reply->title : "The provider gave no reason.";
    return 1;
}

static void read_success(const neo_json *body, apr_pool_t *pool, neo_reply *reply)
{
    const neo_json *message = neo_json_at(neo_json_get(body, "messages"), 0);
    const neo_json *contact = neo_json_at(neo_json_get(body, "contacts"), 0), *success = neo_json_get(body, "success");
    const char *status = read_text(message, "message_status", MAX_ID, pool);
    const char *wa_id = read_provider_id(contact, "wa_id", pool);
    reply->is_success = neo_json_is_true(success);
    reply->id = read_provider_id(message, "id", pool);
    if (!reply->id)
        return;
    reply->verdict = NEO_VERDICT_ACCEPTED;
    reply->wa_id = wa_id && strspn(wa_id, "0123456789") == strlen(wa_id) && strlen(wa_id) <= 20 ? wa_id : NULL;
    reply->bsuid = read_provider_id(contact, "user_id", pool);
    reply->is_held = status && (strcmp(status, "held_for_quality_assessment") == 0 || strcmp(status, "paused") == 0);
}

void neo_reply_read(const neo_provider_response *answer, apr_pool_t *pool, neo_reply *reply)
{
    const char *unparsable;
    memset(reply, 0, sizeof *reply);
    reply->verdict = answer->outcome == NEO_PROVIDER_NOT_SENT ? NEO_VERDICT_LATER : NEO_VERDICT_UNKNOWN;
    if (answer->outcome != NEO_PROVIDER_RESPONDED)
        return;
    int status = answer->http_status;
    reply->http_status = status;
    const neo_json *body = neo_json_parse(answer->body, pool, &unparsable), *error = body ? neo_json_get(body, "error") : NULL;
    if (status >= 400 && error && read_error(error, status, answer->token, pool, reply))
        return;
    reply->details = apr_psprintf(pool, "HTTP status %d", status);
    if (status == 429) /* refused before processing */
        reply->verdict = NEO_VERDICT_LATER;
    else if (status >= 300 && status < 500 && status != 408) /* not by the provider, which would give a reason */
        reply->verdict = NEO_VERDICT_FORBIDDEN;
    else if (status >= 200 && status < 300 && body)
        read_success(body, pool, reply);
}
