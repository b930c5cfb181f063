/* SPDX-License-Identifier: Apache-2.0 */
/* Message templates (see whatsapp/provider.h). */
#include "whatsapp/provider.h"

#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TEXT 4096 /* bytes of a template's body; the provider's limit is 1024 characters */

/* The name has only lowercase letters, digits and underscores. */
const char *neo_template_path(const char *account, const char *name, apr_pool_t *pool)
{
    return apr_pstrcat(pool, account, "/message_templates?fields=name,language,components&limit=100&name=", name, NULL);
}

static int has_text(const neo_json *object, const char *name, const char *wanted)
{
    const char *text = neo_json_string_at(object, name);
    return text && strcasecmp(text, wanted) == 0;
}

/* Returns NULL if the template has no text, or one that is too long to store. */
static const char *find_body(const neo_json *template)
{
    const neo_json *components = neo_json_get(template, "components");
    for (apr_size_t i = 0; components && i < neo_json_size(components); i++) {
        const neo_json *component = neo_json_at(components, i);
        const char *text = has_text(component, "type", "BODY") ? neo_json_string_at(component, "text") : NULL;
        if (text && *text && strlen(text) <= MAX_TEXT)
            return text;
    }
    return NULL;
}

const char *neo_template_read(const neo_provider_response *response, const char *name, const char *language, apr_pool_t *pool,
                              const char **error)
{
    const neo_json *answer = NULL, *list;
    *error = "not in the list";
    if (response->outcome != NEO_PROVIDER_RESPONDED)
        *error = response->error;
    else if (response->http_status != 200)
        *error = apr_psprintf(pool, "HTTP status %d", response->http_status);
    else
        answer = neo_json_parse(response->body, pool, error);
    list = answer ? neo_json_get(answer, "data") : NULL;
    if (answer && !list)
        *error = "no list in the response";
    for (apr_size_t i = 0; list && i < neo_json_size(list); i++) {
        const neo_json *template = neo_json_at(list, i);
        if (has_text(template, "name", name) && has_text(template, "language", language)) {
            *error = "it has no text";
            return find_body(template);
        }
    }
    return NULL;
}

/* The length of the placeholder at `text`, such as "{{1}}", and its number; 0 if there is none. */
static size_t placeholder_at(const char *text, apr_size_t *number)
{
    size_t digits = strncmp(text, "{{", 2) == 0 ? strspn(text + 2, "0123456789") : 0;
    if (digits == 0 || digits > 3 || strncmp(text + 2 + digits, "}}", 2) != 0)
        return 0;
    *number = (apr_size_t)atoi(text + 2);
    return digits + 4;
}

const char *neo_template_fill(const char *text, const neo_json *parameters, apr_pool_t *pool)
{
    neo_buf out;
    neo_buf_init(&out, pool, strlen(text) + 256);
    while (*text) {
        apr_size_t number = 0;
        size_t len = placeholder_at(text, &number);
        int is_known = len && parameters && number >= 1 && number <= neo_json_size(parameters);
        if (is_known)
            neo_buf_puts(&out, neo_json_string(neo_json_at(parameters, number - 1)));
        else
            neo_buf_putc(&out, *text);
        text += is_known ? len : 1;
    }
    return out.ptr;
}
