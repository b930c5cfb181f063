/* SPDX-License-Identifier: Apache-2.0 */
/* Message templates: reads them from the provider's responses, checks a request's parameters, and makes what is sent (see
 * whatsapp/template.h). */
#include "whatsapp/template.h"

#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "whatsapp/callback.h"
#include "whatsapp/reported.h"

#define MAX_TEXT        4096 /* bytes of a template's body; the provider's limit is 1024 characters */
#define MAX_NAME        512
#define MAX_WORD        40
#define MAX_PLACEHOLDER 100 /* characters between the braces of a placeholder */
#define PAGE            "100"
#define FIELDS          "/message_templates?fields=id,name,language,status,category,components&limit=" PAGE

/* The fields of a request with parameters of a template. */
#define BODY_LIST   "template_parameters"
#define NAMED       "template_named_parameters"
#define HEADER_TEXT "template_header_parameter"
#define BUTTON_LIST "template_button_parameters"
#define MEDIA       "media_url"

const char *neo_template_path(const char *account, const char *name, apr_pool_t *pool)
{
    return apr_pstrcat(pool, account, FIELDS "&name=", name, NULL);
}

const char *neo_templates_path(const char *account, const char *after, apr_pool_t *pool)
{
    return apr_pstrcat(pool, account, FIELDS, after ? "&after=" : "", after ? after : "", NULL);
}

/* ---------------------------------------------------------------- reading */

static int has_text(const neo_json *object, const char *name, const char *wanted)
{
    const char *text = neo_json_string_at(object, name);
    return text && strcasecmp(text, wanted) == 0;
}

static const char *lower_word(const neo_json *object, const char *name, apr_pool_t *pool)
{
    const char *word = neo_provider_word(object, name, MAX_WORD, pool);
    return word ? word : "unknown";
}

/* The length of the placeholder at `text`, such as "{{1}}" or "{{first_name}}", and its name; 0 if there is none. */
static size_t placeholder_at(const char *text, apr_pool_t *pool, const char **name)
{
    size_t len = strncmp(text, "{{", 2) == 0 ? strspn(text + 2, "abcdefghijklmnopqrstuvwxyz0123456789_") : 0;
    if (len == 0 || len > MAX_PLACEHOLDER || strncmp(text + 2 + len, "}}", 2) != 0)
        return 0;
    *name = apr_pstrmemdup(pool, text + 2, len);
    return len + 4;
}

/* Placeholders are numbered from 1, or have names. */
static int is_number(const char *name)
{
    return name[strspn(name, "0123456789")] == '\0';
}

static int has_parameter(const neo_json *parameters, const char *component, const char *name)
{
    for (apr_size_t i = 0; i < neo_json_size(parameters); i++)
        if (has_text(neo_json_at(parameters, i), "component", component) && has_text(neo_json_at(parameters, i), "name", name))
            return 1;
    return 0;
}

/* Adds a parameter. `field` is that of a request that has its value; NULL if it cannot be sent here. */
static neo_json *add_parameter(neo_json *parameters, const char *field, const char *component, const char *type,
                               apr_pool_t *pool)
{
    neo_json *parameter = neo_json_make_object(pool);
    neo_json_set_string(parameter, "field", field, pool);
    neo_json_set_string(parameter, "component", component, pool);
    neo_json_set_string(parameter, "type", type, pool);
    neo_json_append(parameters, parameter);
    return parameter;
}

/* Adds a parameter for each name in the text, and for each number from 1 to the highest one. */
static void add_placeholders(neo_json *parameters, const char *component, const char *positional, const char *text,
                             apr_pool_t *pool)
{
    const char *name;
    long highest = 0;
    for (size_t len; *text; text += len ? len : 1) {
        if (!(len = placeholder_at(text, pool, &name)))
            continue;
        long number = is_number(name) && strlen(name) <= 2 ? atol(name) : 0;
        highest = number > highest ? number : highest;
        if (!is_number(name) && !has_parameter(parameters, component, name))
            neo_json_set_string(add_parameter(parameters, NAMED, component, "text", pool), "name", name, pool);
    }
    for (long number = 1; number <= highest; number++)
        neo_json_set_string(add_parameter(parameters, positional, component, "text", pool), "name", apr_ltoa(pool, number),
                            pool);
}

static void read_header(neo_json *parameters, const neo_json *header, apr_pool_t *pool)
{
    static const char *const media[] = {"image", "video", "document"};
    const char *format = lower_word(header, "format", pool), *text = neo_json_string_at(header, "text");
    int is_media = 0;
    if (!neo_json_get(header, "format"))
        return;
    for (apr_size_t i = 0; i < sizeof media / sizeof *media; i++)
        is_media |= strcmp(media[i], format) == 0;
    if (strcmp(format, "text") != 0)
        add_parameter(parameters, is_media ? MEDIA : NULL, "header", format, pool);
    else if (text)
        add_placeholders(parameters, "header", HEADER_TEXT, text, pool);
}

/* Adds the parameters of buttons: those of URLs, and those that cannot be sent here. */
static void read_buttons(neo_json *parameters, const neo_json *component, apr_pool_t *pool)
{
    static const char *const types_with_parameter[] = {"copy_code", "otp", "mpm", "spm", "order_details"};
    const neo_json *buttons = neo_json_get(component, "buttons");
    for (apr_size_t i = 0; buttons && i < neo_json_size(buttons); i++) {
        const neo_json *button = neo_json_at(buttons, i);
        const char *type = lower_word(button, "type", pool), *url = neo_json_string_at(button, "url");
        int is_url = strcmp(type, "url") == 0 && url && strstr(url, "{{"), is_needed = is_url;
        for (apr_size_t n = 0; n < sizeof types_with_parameter / sizeof *types_with_parameter; n++)
            is_needed |= strcmp(types_with_parameter[n], type) == 0;
        if (!is_needed)
            continue;
        neo_json *parameter = add_parameter(parameters, is_url ? BUTTON_LIST : NULL, "button", type, pool);
        neo_json_set_integer(parameter, "index", (long long)i, pool);
        neo_json_set_string(parameter, "text", neo_clip(neo_json_string_at(button, "text"), MAX_NAME, "", pool), pool);
    }
}

/* What is stored of a template: its body and its parameters. */
static neo_json *make_definition(const neo_json *template, apr_pool_t *pool)
{
    neo_json *definition = neo_json_make_object(pool), *parameters = neo_json_make_array(pool);
    const neo_json *components = neo_json_get(template, "components");
    for (apr_size_t i = 0; components && i < neo_json_size(components); i++) {
        const neo_json *component = neo_json_at(components, i);
        const char *type = lower_word(component, "type", pool), *text = neo_json_string_at(component, "text");
        if (strcmp(type, "header") == 0)
            read_header(parameters, component, pool);
        else if (strcmp(type, "buttons") == 0)
            read_buttons(parameters, component, pool);
        else if (strcmp(type, "body") == 0 && text && *text && strlen(text) <= MAX_TEXT) {
            neo_json_set_string(definition, "body", text, pool);
            add_placeholders(parameters, "body", BODY_LIST, text, pool);
        } else if (strcmp(type, "carousel") == 0 || strcmp(type, "limited_time_offer") == 0)
            add_parameter(parameters, NULL, type, type, pool);
    }
    if (neo_json_size(parameters))
        neo_json_set(definition, "parameters", parameters);
    return definition;
}

static neo_json *make_row(const neo_json *template, apr_pool_t *pool)
{
    neo_json *row = neo_json_make_object(pool);
    const char *name = neo_json_string_at(template, "name"), *language = neo_json_string_at(template, "language");
    if (!name || !*name || strlen(name) > MAX_NAME || !language || !*language || strlen(language) > MAX_WORD)
        return NULL;
    neo_json_set_string(row, "name", name, pool);
    neo_json_set_string(row, "language", language, pool);
    neo_json_set_string(row, "status", lower_word(template, "status", pool), pool);
    neo_json_set_string(row, "category", lower_word(template, "category", pool), pool);
    neo_json_set(row, "definition", make_definition(template, pool));
    return row;
}

/* A cursor of the provider's that can be part of a URL; NULL if there is no next page. */
static const char *read_after(const neo_json *answer)
{
    const neo_json *paging = neo_json_get(answer, "paging"), *cursors = paging ? neo_json_get(paging, "cursors") : NULL;
    const char *after = cursors && neo_json_get(paging, "next") ? neo_json_string_at(cursors, "after") : NULL;
    size_t len = after ? strspn(after, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-=") : 0;
    return len && !after[len] ? after : NULL;
}

neo_json *neo_templates_read(const neo_provider_response *response, apr_pool_t *pool, const char **after, const char **error)
{
    neo_json *rows = neo_json_make_array(pool);
    *after = NULL;
    const neo_json *answer = neo_provider_list(response, pool, error), *list = answer ? neo_json_get(answer, "data") : NULL;
    if (!list)
        return NULL;
    for (apr_size_t i = 0; i < neo_json_size(list); i++) {
        neo_json *row = make_row(neo_json_at(list, i), pool);
        if (row)
            neo_json_append(rows, row);
    }
    *after = read_after(answer);
    return rows;
}

const neo_json *neo_template_find(const neo_json *rows, const char *name, const char *language)
{
    for (apr_size_t i = 0; rows && i < neo_json_size(rows); i++)
        if (has_text(neo_json_at(rows, i), "name", name) && has_text(neo_json_at(rows, i), "language", language))
            return neo_json_get(neo_json_at(rows, i), "definition");
    return NULL;
}

/* ---------------------------------------------------------------- checking a request */

static const neo_json *get_parameters(const neo_json *definition, apr_pool_t *pool)
{
    const neo_json *parameters = neo_json_get(definition, "parameters");
    return parameters ? parameters : neo_json_make_array(pool);
}

typedef struct {
    const neo_json *parameters, *content;
    neo_problem **problem;
    apr_pool_t *pool;
} check;

/* The parameter number `index` of those that the field has; NULL if there are fewer. */
static const neo_json *find_parameter(const neo_json *parameters, const char *field, apr_size_t index)
{
    for (apr_size_t i = 0; i < neo_json_size(parameters); i++)
        if (has_text(neo_json_at(parameters, i), "field", field) && index-- == 0)
            return neo_json_at(parameters, i);
    return NULL;
}

/* "{{1}} of its body", "the image of its header", "a carousel", "the URL of the button \"Ver\"" */
static const char *describe(const neo_json *parameter, apr_pool_t *pool)
{
    const char *component = neo_json_string_at(parameter, "component"), *type = neo_json_string_at(parameter, "type");
    const char *name = neo_json_string_at(parameter, "name"), *label = neo_json_string_at(parameter, "text");
    if (name)
        return apr_psprintf(pool, "{{%s}} of its %s", name, component);
    if (strcmp(type, component) == 0)
        return apr_pstrcat(pool, "a ", component, NULL);
    if (label && strcmp(type, "url") == 0)
        return apr_psprintf(pool, "the URL of the button \"%s\"", label);
    return label ? apr_psprintf(pool, "the button \"%s\" of the type %s", label, type)
                 : apr_psprintf(pool, "the %s of its %s", type, component);
}

static void add_missing(const check *c, const char *path, const neo_json *parameter)
{
    neo_problem_field(c->problem, c->pool, NEO_VALIDATION_TEMPLATE_REJECTED, "whatsapp", path,
                      "is required: the template has %s", describe(parameter, c->pool));
}

static void add_superfluous(const check *c, const char *path)
{
    neo_problem_field(c->problem, c->pool, NEO_VALIDATION_TEMPLATE_REJECTED, "whatsapp", path,
                      "is not a parameter of the template");
}

static void check_list(const check *c, const char *field)
{
    const neo_json *list = neo_json_get(c->content, field);
    apr_size_t given = list ? neo_json_size(list) : 0, i = 0;
    for (const neo_json *wanted; (wanted = find_parameter(c->parameters, field, i)); i++)
        if (i >= given)
            add_missing(c, apr_psprintf(c->pool, "%s[%d]", field, (int)i), wanted);
    for (; i < given; i++)
        add_superfluous(c, apr_psprintf(c->pool, "%s[%d]", field, (int)i));
}

static void check_text(const check *c, const char *field)
{
    const neo_json *wanted = find_parameter(c->parameters, field, 0), *given = neo_json_get(c->content, field);
    if (wanted && !given)
        add_missing(c, field, wanted);
    else if (given && !wanted)
        add_superfluous(c, field);
}

static void check_named(const check *c)
{
    neo_json *given = neo_json_get(c->content, NAMED);
    const neo_json *wanted;
    for (apr_size_t i = 0; (wanted = find_parameter(c->parameters, NAMED, i)); i++) {
        const char *name = neo_json_string_at(wanted, "name");
        if (!given || !neo_json_get(given, name))
            add_missing(c, apr_pstrcat(c->pool, NAMED ".", name, NULL), wanted);
    }
    for (void *m = given ? neo_json_first(given) : NULL; m; m = neo_json_next(given, m)) {
        const char *name = neo_json_member_key(m);
        if (!has_parameter(c->parameters, "body", name) && !has_parameter(c->parameters, "header", name))
            add_superfluous(c, apr_pstrcat(c->pool, NAMED ".", name, NULL));
    }
}

void neo_template_check(const neo_json *definition, const neo_json *content, neo_problem **problem, apr_pool_t *pool)
{
    const check c = {get_parameters(definition, pool), content, problem, pool};
    for (apr_size_t i = 0; i < neo_json_size(c.parameters); i++) {
        const neo_json *parameter = neo_json_at(c.parameters, i);
        if (!neo_json_get(parameter, "field"))
            neo_problem_field(problem, pool, NEO_VALIDATION_TEMPLATE_REJECTED, "whatsapp", "template_name",
                              "has %s, which cannot be sent here", describe(parameter, pool));
    }
    check_list(&c, BODY_LIST);
    check_list(&c, BUTTON_LIST);
    check_named(&c);
    check_text(&c, HEADER_TEXT);
    check_text(&c, MEDIA);
    if (neo_json_get(content, "media_filename") && !neo_json_get(content, MEDIA))
        add_superfluous(&c, "media_filename");
}

int neo_template_is_plain(const neo_json *content)
{
    return !neo_json_get(content, NAMED) && !neo_json_get(content, HEADER_TEXT) && !neo_json_get(content, BUTTON_LIST) &&
           !neo_json_get(content, MEDIA);
}

/* ---------------------------------------------------------------- sending */

/* The value of a parameter in the request: at `index`, if the field is a list. NULL if it has none. */
static const char *find_value(const neo_json *content, const neo_json *parameter, apr_size_t index)
{
    const char *field = neo_json_string_at(parameter, "field"), *name = neo_json_string_at(parameter, "name");
    const neo_json *given = field ? neo_json_get(content, field) : NULL;
    if (!given)
        return NULL;
    switch (neo_json_get_kind(given)) {
    case NEO_JSON_OBJECT: return name ? neo_json_string_at(given, name) : NULL;
    case NEO_JSON_ARRAY: return index < neo_json_size(given) ? neo_json_string(neo_json_at(given, index)) : NULL;
    default: return neo_json_string(given);
    }
}

/* The index of a parameter's value in its field, if that is a list. */
static apr_size_t list_index(const neo_json *parameters, apr_size_t index)
{
    const char *field = neo_json_string_at(neo_json_at(parameters, index), "field");
    apr_size_t count = 0;
    for (apr_size_t i = 0; i < index; i++)
        count += field && has_text(neo_json_at(parameters, i), "field", field);
    return count;
}

/* {"type":"image","image":{"link":…}}, or {"type":"text","text":…} with the name of a named one. */
static neo_json *make_parameter(const neo_json *parameter, const char *value, const neo_json *content, apr_pool_t *pool)
{
    neo_json *made = neo_json_make_object(pool), *media = neo_json_make_object(pool);
    const char *type = neo_json_string_at(parameter, "type");
    int is_media = has_text(parameter, "field", MEDIA);
    neo_json_set_string(made, "type", is_media ? type : "text", pool);
    if (has_text(parameter, "field", NAMED))
        neo_json_set_string(made, "parameter_name", neo_json_string_at(parameter, "name"), pool);
    if (!is_media) {
        neo_json_set_string(made, "text", value, pool);
        return made;
    }
    neo_json_set_string(media, "link", value, pool);
    if (strcmp(type, "document") == 0)
        neo_json_set_string(media, "filename", neo_json_string_at(content, "media_filename"), pool);
    neo_json_set(made, type, media);
    return made;
}

/* The component of a parameter; each button is one of its own. */
static neo_json *find_component(neo_json *components, const neo_json *parameter, apr_pool_t *pool)
{
    const char *type = neo_json_string_at(parameter, "component");
    int is_button = strcmp(type, "button") == 0;
    for (apr_size_t i = 0; !is_button && i < neo_json_size(components); i++)
        if (has_text(neo_json_at(components, i), "type", type))
            return neo_json_at(components, i);
    neo_json *component = neo_json_make_object(pool);
    neo_json_set_string(component, "type", type, pool);
    if (is_button) {
        neo_json_set_string(component, "sub_type", neo_json_string_at(parameter, "type"), pool);
        neo_json_set_string(component, "index", apr_ltoa(pool, (long)neo_json_integer(neo_json_get(parameter, "index"))), pool);
    }
    neo_json_set(component, "parameters", neo_json_make_array(pool));
    neo_json_append(components, component);
    return component;
}

/* Without a definition, the request's list has the parameters of the body. */
static neo_json *assume_parameters(const neo_json *content, apr_pool_t *pool)
{
    const neo_json *list = neo_json_get(content, BODY_LIST);
    neo_json *parameters = neo_json_make_array(pool);
    for (apr_size_t i = 0; list && i < neo_json_size(list); i++)
        neo_json_set_string(add_parameter(parameters, BODY_LIST, "body", "text", pool), "name", apr_ltoa(pool, (long)i + 1),
                            pool);
    return parameters;
}

static void add_to_component(neo_json *components, const neo_json *parameters, apr_size_t index, const neo_json *content,
                             apr_pool_t *pool)
{
    const neo_json *parameter = neo_json_at(parameters, index);
    const char *value = find_value(content, parameter, list_index(parameters, index));
    if (value)
        neo_json_append(neo_json_get(find_component(components, parameter, pool), "parameters"),
                        make_parameter(parameter, value, content, pool));
}

neo_json *neo_template_components(const neo_json *definition, const neo_json *content, apr_pool_t *pool)
{
    neo_json *components = neo_json_make_array(pool);
    const neo_json *parameters = definition ? get_parameters(definition, pool) : assume_parameters(content, pool);
    for (apr_size_t i = 0; i < neo_json_size(parameters); i++)
        add_to_component(components, parameters, i, content, pool);
    return neo_json_size(components) ? components : NULL;
}

const char *neo_template_fill(const char *text, const neo_json *content, apr_pool_t *pool)
{
    const neo_json *list = neo_json_get(content, BODY_LIST), *named = neo_json_get(content, NAMED);
    neo_buf out;
    neo_buf_init(&out, pool, strlen(text) + 256);
    while (*text) {
        const char *name = "", *value = NULL;
        size_t len = placeholder_at(text, pool, &name);
        apr_size_t number = len && is_number(name) ? (apr_size_t)apr_atoi64(name) : 0;
        if (number && list && number <= neo_json_size(list))
            value = neo_json_string(neo_json_at(list, number - 1));
        else if (len && named && !is_number(name))
            value = neo_json_string_at(named, name);
        if (value)
            neo_buf_puts(&out, value);
        else
            neo_buf_putc(&out, *text);
        text += value ? len : 1;
    }
    return out.ptr;
}
