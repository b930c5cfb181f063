/* SPDX-License-Identifier: Apache-2.0 */
/* The pages of the reference (see openapi/reference.h). */
#include "openapi/reference.h"

#include <apr_escape.h>
#include <string.h>

/* ---------------------------------------------------------------- lists of operations */

/* Nothing, if there is no text. */
static void add_text(neo_buf *out, const char *before, const char *text, const char *after)
{
    if (!text || !*text)
        return;
    neo_buf_puts(out, before);
    neo_buf_html(out, text);
    neo_buf_puts(out, after);
}

static const char *entry_summary(const neo_reference_entry *entry)
{
    return neo_json_string_at(entry->described, "summary");
}

/* Calls add for each operation of a tag. */
static void add_tag(neo_buf *out, const neo_reference *reference, const char *tag,
                    void (*add)(neo_buf *out, const neo_reference_entry *entry, int is_current),
                    const neo_reference_entry *current)
{
    for (int i = 0; i < reference->entries->nelts; i++) {
        const neo_reference_entry *entry = &APR_ARRAY_IDX(reference->entries, i, neo_reference_entry);
        if (strcmp(entry->tag, tag) == 0)
            add(out, entry, entry == current);
    }
}

static void add_row(neo_buf *out, const neo_reference_entry *entry, int is_current)
{
    (void)is_current;
    neo_buf_printf(out, "<li><a href=\"%s\"><span class=\"method\">%s</span> <code>/%s</code></a> <span>", entry->id,
                   entry->method, entry->path);
    neo_buf_html(out, entry_summary(entry));
    if (neo_json_is_true(neo_json_get(entry->described, "deprecated")))
        neo_buf_puts(out, " (deprecated)");
    neo_buf_puts(out, "</span></li>\n");
}

void neo_reference_list(neo_buf *out, const neo_reference *reference)
{
    neo_json *tags = neo_json_get(reference->document, "tags");
    for (apr_size_t i = 0; i < neo_json_size(tags); i++) {
        const char *tag = neo_json_string_at(neo_json_at(tags, i), "name");
        neo_buf_printf(out, "<h2 id=\"%s\">%s</h2>\n", tag, tag);
        add_text(out, "<p>", neo_json_string_at(neo_json_at(tags, i), "description"), "</p>\n");
        neo_buf_puts(out, "<ul class=\"operations\">\n");
        add_tag(out, reference, tag, add_row, NULL);
        neo_buf_puts(out, "</ul>\n");
    }
}

void neo_reference_tags(neo_buf *out, const neo_reference *reference)
{
    neo_json *tags = neo_json_get(reference->document, "tags");
    neo_buf_puts(out,
                 "<nav class=\"contents\" aria-label=\"On this page\">\n<div>\n<p><strong>On this page</strong></p>\n<ul>\n");
    for (apr_size_t i = 0; i < neo_json_size(tags); i++) {
        const char *tag = neo_json_string_at(neo_json_at(tags, i), "name");
        neo_buf_printf(out, "<li><a href=\"#%s\">%s</a></li>\n", tag, tag);
    }
    neo_buf_puts(out, "</ul>\n</div>\n</nav>\n");
}

static void add_link(neo_buf *out, const neo_reference_entry *entry, int is_current)
{
    neo_buf_printf(out, "<li><a href=\"%s\"%s>", entry->id, is_current ? " aria-current=\"true\"" : "");
    neo_buf_html(out, entry_summary(entry));
    neo_buf_puts(out, "</a></li>\n");
}

void neo_reference_links(neo_buf *out, const neo_reference *reference, const neo_reference_entry *entry)
{
    neo_buf_printf(out, "<p><strong><a href=\"reference#%s\">%s</a></strong></p>\n<ul>\n", entry->tag, entry->tag);
    add_tag(out, reference, entry->tag, add_link, entry);
    neo_buf_puts(out, "</ul>\n");
}

/* ---------------------------------------------------------------- parameters */

#define TABLE(first, class)                                                                                                    \
    "<table class=\"" class "\">\n<thead><tr><th scope=\"col\">" first "</th>"                                                 \
                            "<th scope=\"col\">Type</th><th scope=\"col\">Description</th></tr></thead>\n<tbody>\n"

static void add_parameter(neo_buf *out, const neo_reference *reference, neo_json *parameter)
{
    neo_json *schema = neo_json_get(parameter, "schema"), *example = neo_json_get(parameter, "example");
    neo_buf_printf(out,
                   "<tr><td data-label=\"Name\"><code>%s</code> <span class=\"note\">%s%s</span></td><td data-label=\"Type\">",
                   neo_json_string_at(parameter, "name"), neo_json_string_at(parameter, "in"),
                   neo_json_is_true(neo_json_get(parameter, "required")) ? ", required" : "");
    neo_buf_html(out, neo_reference_type(reference, schema));
    neo_buf_puts(out, "</td><td>");
    neo_buf_html(out, neo_json_string_at(parameter, "description"));
    add_text(out, " ", neo_reference_limits(neo_reference_follow(reference, schema), out->pool), ".");
    if (example) {
        const char *text = neo_json_string(example);
        if (neo_json_get_kind(example) == NEO_JSON_ARRAY)
            text = neo_json_string(neo_json_at(example, 0));
        add_text(out, " Example: <code>", text ? text : neo_json_text(example, out->pool).ptr, "</code>.");
    }
    neo_buf_puts(out, "</td></tr>\n");
}

/* The parameters of the path, then those of the operation. */
static apr_array_header_t *all_parameters(const neo_reference *reference, const neo_reference_entry *entry)
{
    apr_array_header_t *all = apr_array_make(reference->pool, 8, sizeof(neo_json *));
    neo_json *lists[] = {entry->shared, neo_json_get(entry->described, "parameters")};
    for (size_t l = 0; l < sizeof lists / sizeof *lists; l++)
        for (apr_size_t i = 0; lists[l] && i < neo_json_size(lists[l]); i++)
            *(neo_json **)apr_array_push(all) = neo_reference_follow(reference, neo_json_at(lists[l], i));
    return all;
}

static void add_parameters(neo_buf *out, const neo_reference *reference, const apr_array_header_t *parameters)
{
    if (!parameters->nelts)
        return;
    neo_buf_puts(out, "<h2 id=\"parameters\">Parameters</h2>\n" TABLE("Name", "fields"));
    for (int i = 0; i < parameters->nelts; i++)
        add_parameter(out, reference, APR_ARRAY_IDX(parameters, i, neo_json *));
    neo_buf_puts(out, "</tbody>\n</table>\n");
}

/* ---------------------------------------------------------------- bodies */

static void add_fields(neo_buf *out, const neo_reference *reference, neo_json *schema)
{
    neo_buf rows;
    neo_buf_init(&rows, out->pool, 8192);
    neo_reference_fields(&rows, reference, schema);
    if (rows.len)
        neo_buf_printf(out, TABLE("Field", "fields") "%s</tbody>\n</table>\n", rows.ptr);
}

/* The first example of a media type; NULL if there is none. */
static neo_json *find_example(const neo_reference *reference, neo_json *content)
{
    neo_json *examples = content ? neo_json_get(content, "examples") : NULL;
    void *first = examples ? neo_json_first(examples) : NULL;
    return first ? neo_json_get(neo_reference_follow(reference, neo_json_member_value(first)), "value") : NULL;
}

static void add_body(neo_buf *out, const neo_reference *reference, neo_json *content)
{
    neo_json *example = find_example(reference, content);
    if (!content)
        return;
    neo_buf_puts(out, "<h2 id=\"body\">Body</h2>\n");
    add_text(out, "<p>", neo_json_string_at(neo_reference_follow(reference, neo_json_get(content, "schema")), "description"),
             "</p>\n");
    add_fields(out, reference, neo_json_get(content, "schema"));
    if (example) {
        neo_buf_puts(out, "<p>Example:</p>\n");
        neo_sample_json_block(out, example);
    }
}

static void add_response(neo_buf *out, const neo_reference *reference, const char *status, neo_json *response)
{
    neo_json *content = neo_json_get(response, "content"), *headers = neo_json_get(response, "headers");
    void *first = content ? neo_json_first(content) : NULL;
    neo_buf_printf(out, "<h3 id=\"response-%s\">%s</h3>\n", status, status);
    add_text(out, "<p>", neo_json_string_at(response, "description"), "</p>\n");
    if (*status == '2' && headers && neo_json_size(headers)) {
        neo_buf_puts(out, "<p>Headers:");
        for (void *m = neo_json_first(headers); m; m = neo_json_next(headers, m))
            neo_buf_printf(out, " <code>%s</code>", neo_json_member_key(m));
        neo_buf_puts(out, "</p>\n");
    }
    if (*status == '2' && first)
        add_fields(out, reference, neo_json_get(neo_json_member_value(first), "schema"));
}

static void add_responses(neo_buf *out, const neo_reference *reference, neo_json *responses)
{
    neo_buf_puts(out, "<h2 id=\"responses\" data-unindexed>Responses</h2>\n");
    for (void *m = neo_json_first(responses); m; m = neo_json_next(responses, m))
        add_response(out, reference, neo_json_member_key(m), neo_reference_follow(reference, neo_json_member_value(m)));
}

/* ---------------------------------------------------------------- the form (docs/reference.js) */

static void add_form(neo_buf *out, const neo_reference *reference, const neo_reference_entry *entry,
                     const apr_array_header_t *parameters, neo_json *content)
{
    neo_json *example = find_example(reference, content);
    neo_buf_printf(out,
                   "<form class=\"send\" hidden data-method=\"%s\" data-path=\"%s\">\n<h2 id=\"send\">Send a request</h2>\n"
                   "<p>It is sent from this page and takes effect. The key is kept until you leave the page.</p>\n"
                   "<label>API key or token <input type=\"password\" name=\"key\" autocomplete=\"off\"></label>\n",
                   entry->method, entry->path);
    for (int i = 0; i < parameters->nelts; i++) {
        neo_json *parameter = APR_ARRAY_IDX(parameters, i, neo_json *);
        const char *name = neo_json_string_at(parameter, "name");
        neo_buf_printf(out, "<label><code>%s</code> <input name=\"%s\" data-in=\"%s\" autocomplete=\"off\"%s></label>\n", name,
                       name, neo_json_string_at(parameter, "in"),
                       neo_json_is_true(neo_json_get(parameter, "required")) ? " required" : "");
    }
    if (content) {
        neo_buf text;
        neo_buf_init(&text, out->pool, 1024);
        if (example)
            neo_sample_json(&text, example);
        neo_buf_printf(out, "<label>Body <textarea name=\"body\" rows=\"12\" spellcheck=\"false\">%s</textarea></label>\n",
                       apr_pescape_entity(out->pool, text.ptr, 0));
    }
    neo_buf_puts(out, "<button type=\"submit\">Send</button>\n<div class=\"result\" role=\"status\"></div>\n</form>\n");
}

/* ---------------------------------------------------------------- a page */

void neo_reference_article(neo_buf *out, const neo_reference *reference, const neo_reference_entry *entry)
{
    const apr_array_header_t *parameters = all_parameters(reference, entry);
    neo_json *body = neo_reference_follow(reference, neo_json_get(entry->described, "requestBody"));
    void *first = body ? neo_json_first(neo_json_get(body, "content")) : NULL;
    neo_json *content = first ? neo_json_member_value(first) : NULL;
    add_text(out, "<h1>", entry_summary(entry), "</h1>\n");
    add_text(out, "<p>", neo_json_string_at(entry->described, "description"), "</p>\n");
    neo_json *guide = neo_json_get(entry->described, "externalDocs");
    add_text(out, "<p>See <a href=\"", neo_json_string_at(guide, "url"), "\">");
    add_text(out, "", neo_json_string_at(guide, "description"), "</a>.</p>\n");
    neo_buf_printf(out, "<p class=\"endpoint\"><span class=\"method\">%s</span> <code>/%s</code></p>\n", entry->method,
                   entry->path);
    /* Samples and the form send JSON; the body of a request for a token is a form. */
    if (!first || strcmp(neo_json_member_key(first), "application/json") == 0) {
        neo_buf_puts(out, "<h2 id=\"samples\">Samples</h2>\n");
        neo_sample_add(out, reference, entry);
        add_form(out, reference, entry, parameters, content);
    }
    add_parameters(out, reference, parameters);
    add_body(out, reference, content);
    add_responses(out, reference, neo_json_get(entry->described, "responses"));
}
