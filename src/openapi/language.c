/* SPDX-License-Identifier: Apache-2.0 */
/* Samples in five languages (see openapi/reference.h). A language is a row: its texts, and how it writes values. */
#include <apr_escape.h>
#include <apr_lib.h>
#include <apr_strings.h>
#include <string.h>

#include "openapi/reference.h"

typedef enum { SNAKE_CASE, UPPER_CASE, CAMEL_CASE } naming;

/* In texts {base} is the base URL, {name} a variable, {environment} its name in the environment, {prefix} that of its id,
 * {method} and {path} those of a request, {value} its body, and {body}, {here} and {after} what a request with a body has.
 * {request} is curl's option for the method. Lines of `start` that begin with ? are for samples with unique values. */
typedef struct {
    const char *label, *highlighting;
    const char *start, *unique, *read, *printed, *end;
    const char *body, *no_body, *here, *after;
    const char *indent;
    int level;
    naming naming;
    const char *sigil;          /* before the names of variables; NULL: there are no variables */
    const char *joins;          /* the operator that joins strings; NULL: variables are expanded within strings */
    const char *object, *array; /* what opens them */
    const char *object_end, *array_end, *colon;
    const char *true_value, *false_value, *null_value;
    int has_trailing_comma;
} language;

/* clang-format off */
static const language languages[] = {
    {.label = "curl", .highlighting = "sh",
     .start = "API='{base}'\n",
     .unique = "{name}=$(od -An -N4 -tu4 /dev/urandom | awk '{ printf \"%08d\", $1 % 100000000 }')\n",
     .read = "",
     .printed = "curl{request} -H \"X-API-Key: $KEY\"{body} {path}{here}\n{after}",
     .end = "",
     .body = " -H 'Content-Type: application/json' \\\n    -d @-", .no_body = "", .here = " <<END", .after = "{value}\nEND\n",
     .indent = "  ", .naming = UPPER_CASE, .sigil = "$",
     .object = "{", .array = "[", .object_end = "}", .array_end = "]", .colon = ": ",
     .true_value = "true", .false_value = "false", .null_value = "null"},
    {.label = "Python", .highlighting = "python",
     .start = "import os\n?from random import randrange\n\nimport requests\n\nAPI = \"{base}\"\n\n\n"
              "def send(method, path, body=None):\n"
              "    response = requests.request(method, API + path, json=body, headers={\"X-API-Key\": os.environ[\"KEY\"]})\n"
              "    response.raise_for_status()\n"
              "    return response\n\n\n",
     .unique = "{name} = f\"{randrange(10**8):08}\"\n",
     .read = "{name} = os.environ[\"{environment}\"]\n",
     .printed = "print(send(\"{method}\", {path}{body}).text)\n",
     .end = "",
     .body = ", {value}", .no_body = "",
     .indent = "    ", .naming = SNAKE_CASE, .sigil = "", .joins = " + ",
     .object = "{", .array = "[", .object_end = "}", .array_end = "]", .colon = ": ",
     .true_value = "True", .false_value = "False", .null_value = "None", .has_trailing_comma = 1},
    {.label = "TypeScript", .highlighting = "ts",
     .start = "import process from \"node:process\";\n\nconst api = \"{base}\";\n\n"
              "async function send(method: string, path: string, body?: object) {\n"
              "  const headers = { \"X-API-Key\": process.env.KEY ?? \"\", \"Content-Type\": \"application/json\" };\n"
              "  const response = await fetch(api + path, { method, headers, body: JSON.stringify(body) });\n"
              "  if (!response.ok) throw new Error(await response.text());\n"
              "  return response;\n}\n\n",
     .unique = "const {name} = String(Math.floor(Math.random() * 1e8)).padStart(8, \"0\");\n",
     .read = "const {name} = process.env.{environment};\n",
     .printed = "console.log(await (await send(\"{method}\", {path}{body})).text());\n",
     .end = "",
     .body = ", {value}", .no_body = "",
     .indent = "  ", .naming = CAMEL_CASE, .sigil = "", .joins = " + ",
     .object = "{", .array = "[", .object_end = "}", .array_end = "]", .colon = ": ",
     .true_value = "true", .false_value = "false", .null_value = "null", .has_trailing_comma = 1},
    {.label = "PHP", .highlighting = "php",
     .start = "<?php\n\nconst API = \"{base}\";\n\n"
              "function send(string $method, string $path, ?array $body = null): string\n{\n"
              "    $response = file_get_contents(API . $path, false, stream_context_create([\"http\" => [\n"
              "        \"method\" => $method,\n"
              "        \"header\" => [\"X-API-Key: \" . getenv(\"KEY\"), \"Content-Type: application/json\"],\n"
              "        \"content\" => $body === null ? \"\" : json_encode($body),\n"
              "    ]]));\n"
              "    if ($response === false) {\n        throw new RuntimeException(\"$method $path failed\");\n    }\n"
              "    return $response;\n}\n\n",
     .unique = "{name} = sprintf(\"%08d\", random_int(0, 99999999));\n",
     .read = "{name} = getenv(\"{environment}\");\n",
     .printed = "echo send(\"{method}\", {path}{body}), \"\\n\";\n",
     .end = "",
     .body = ", {value}", .no_body = "",
     .indent = "    ", .naming = SNAKE_CASE, .sigil = "$", .joins = " . ",
     .object = "[", .array = "[", .object_end = "]", .array_end = "]", .colon = " => ",
     .true_value = "true", .false_value = "false", .null_value = "null", .has_trailing_comma = 1},
    {.label = "Go", .highlighting = "go",
     .start = "package main\n\nimport (\n\t\"bytes\"\n?\t\"crypto/rand\"\n\t\"encoding/json\"\n\t\"fmt\"\n\t\"io\"\n\t\"log\"\n"
              "?\t\"math/big\"\n\t\"net/http\"\n\t\"os\"\n)\n\nconst api = \"{base}\"\n\n"
              "func send(method, path string, body any) []byte {\n"
              "\tvar content bytes.Buffer\n"
              "\tif body != nil {\n\t\tif err := json.NewEncoder(&content).Encode(body); err != nil {\n\t\t\tlog.Fatal(err)\n\t\t}\n\t}\n"
              "\trequest, err := http.NewRequest(method, api+path, &content)\n"
              "\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n"
              "\trequest.Header.Set(\"X-API-Key\", os.Getenv(\"KEY\"))\n"
              "\trequest.Header.Set(\"Content-Type\", \"application/json\")\n"
              "\tresponse, err := http.DefaultClient.Do(request)\n"
              "\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n"
              "\tdefer response.Body.Close()\n"
              "\ttext, err := io.ReadAll(response.Body)\n"
              "\tif err != nil || response.StatusCode > 299 {\n\t\tlog.Fatal(response.Status, \" \", string(text), err)\n\t}\n"
              "\treturn text\n}\n\n"
              "?func random() string {\n?\tnumber, err := rand.Int(rand.Reader, big.NewInt(1e8))\n"
              "?\tif err != nil {\n?\t\tlog.Fatal(err)\n?\t}\n?\treturn fmt.Sprintf(\"%08d\", number)\n?}\n?\n"
              "func main() {\n",
     .unique = "\t{name} := random()\n",
     .read = "\t{name} := os.Getenv(\"{environment}\")\n",
     .printed = "\tfmt.Println(string(send(\"{method}\", {path}{body})))\n",
     .end = "}\n",
     .body = ", {value}", .no_body = ", nil",
     .indent = "\t", .level = 1, .naming = CAMEL_CASE, .sigil = "", .joins = "+",
     .object = "map[string]any{", .array = "[]any{", .object_end = "}", .array_end = "}", .colon = ": ",
     .true_value = "true", .false_value = "false", .null_value = "nil", .has_trailing_comma = 1},
};
/* clang-format on */

/* Without variables: the values of samples have none. */
static const language plain_json = {.indent = "  ",
                                    .object = "{",
                                    .array = "[",
                                    .object_end = "}",
                                    .array_end = "]",
                                    .colon = ": ",
                                    .true_value = "true",
                                    .false_value = "false",
                                    .null_value = "null"};

/* ---------------------------------------------------------------- texts with variables */

/* "property_id" is PROPERTY_ID, propertyId or property_id. */
static const char *write_name(naming style, const char *name, apr_pool_t *pool)
{
    char *written = apr_pstrdup(pool, name), *to = written;
    for (const char *from = name; *from; from++) {
        int is_next = style == CAMEL_CASE && *from == '_';
        from += is_next;
        *to++ = (char)(is_next || style == UPPER_CASE ? apr_toupper(*from) : *from);
    }
    *to = '\0';
    return written;
}

static const char *write_variable(const language *l, const char *name, apr_pool_t *pool)
{
    return apr_pstrcat(pool, l->sigil, write_name(l->naming, name, pool), NULL);
}

/* The end of the name in braces that `text` begins with; NULL if it begins with none. */
static const char *end_of_name(const char *text)
{
    size_t len = *text == '{' ? strspn(text + 1, "abcdefghijklmnopqrstuvwxyz_0123456789") : 0;
    return len && text[len + 1] == '}' ? text + len + 1 : NULL;
}

static void add_joined(neo_buf *out, const language *l, const char *text, size_t len, int *count)
{
    if (!len)
        return;
    if ((*count)++)
        neo_buf_puts(out, l->joins);
    neo_buf_json(out, apr_pstrmemdup(out->pool, text, len));
}

/* "properties/" + property_id, or "properties/$PROPERTY_ID": a string literal, with variables for the names in braces. */
static void add_string(neo_buf *out, const language *l, const char *text)
{
    const char *literal = text, *end;
    neo_buf expanded;
    int count = 0;
    neo_buf_init(&expanded, out->pool, 64);
    for (const char *at = text; *at; at++) {
        if (!l->sigil || !(end = end_of_name(at))) {
            neo_buf_putc(&expanded, *at);
            continue;
        }
        const char *variable = write_variable(l, apr_pstrmemdup(out->pool, at + 1, (apr_size_t)(end - at - 1)), out->pool);
        neo_buf_puts(&expanded, variable);
        if (l->joins) {
            add_joined(out, l, literal, (size_t)(at - literal), &count);
            neo_buf_printf(out, "%s%s", count++ ? l->joins : "", variable);
        }
        literal = end + 1;
        at = end;
    }
    if (l->joins && *text)
        add_joined(out, l, literal, strlen(literal), &count);
    else
        neo_buf_json(out, expanded.ptr);
}

/* ---------------------------------------------------------------- values */

static void add_value(neo_buf *out, const language *l, neo_json *value, int level);

static void start_line(neo_buf *out, const language *l, int level)
{
    neo_buf_putc(out, '\n');
    while (level-- > 0)
        neo_buf_puts(out, l->indent);
}

static void add_object(neo_buf *out, const language *l, neo_json *object, int level)
{
    neo_buf_puts(out, l->object);
    for (void *m = neo_json_first(object); m;) {
        start_line(out, l, level + 1);
        neo_buf_json(out, neo_json_member_key(m));
        neo_buf_puts(out, l->colon);
        add_value(out, l, neo_json_member_value(m), level + 1);
        m = neo_json_next(object, m);
        if (m || l->has_trailing_comma)
            neo_buf_putc(out, ',');
    }
    if (neo_json_size(object))
        start_line(out, l, level);
    neo_buf_puts(out, l->object_end);
}

static int is_scalar(const neo_json *value)
{
    return neo_json_get_kind(value) != NEO_JSON_OBJECT && neo_json_get_kind(value) != NEO_JSON_ARRAY;
}

/* On one line, if it has no objects. */
static void add_array(neo_buf *out, const language *l, neo_json *array, int level)
{
    apr_size_t count = neo_json_size(array);
    int is_long = count && !is_scalar(neo_json_at(array, 0));
    neo_buf_puts(out, l->array);
    for (apr_size_t i = 0; i < count; i++) {
        if (is_long)
            start_line(out, l, level + 1);
        add_value(out, l, neo_json_at(array, i), level + 1);
        if (i + 1 < count || (is_long && l->has_trailing_comma))
            neo_buf_puts(out, is_long ? "," : ", ");
    }
    if (is_long)
        start_line(out, l, level);
    neo_buf_puts(out, l->array_end);
}

static void add_value(neo_buf *out, const language *l, neo_json *value, int level)
{
    switch (neo_json_get_kind(value)) {
    case NEO_JSON_OBJECT: add_object(out, l, value, level); break;
    case NEO_JSON_ARRAY: add_array(out, l, value, level); break;
    case NEO_JSON_STRING: add_string(out, l, neo_json_string(value)); break;
    case NEO_JSON_BOOLEAN: neo_buf_puts(out, neo_json_is_true(value) ? l->true_value : l->false_value); break;
    case NEO_JSON_NULL: neo_buf_puts(out, l->null_value); break;
    case NEO_JSON_INTEGER:
    case NEO_JSON_REAL: neo_json_add(out, value); break;
    }
}

/* ---------------------------------------------------------------- statements */

typedef struct {
    const neo_reference *reference;
    const language *language;
    const neo_sample_step *step;
    const char *variable;
} context;

static void add_statement(neo_buf *out, const context *c, const char *text);

static void add_path(neo_buf *out, const context *c)
{
    const language *l = c->language;
    add_string(out, l, l->joins ? c->step->path : apr_pstrcat(out->pool, "${API}", c->step->path, NULL));
}

/* An assignment in the shell has no dollar sign. */
static const char *assigned_name(const context *c, apr_pool_t *pool)
{
    const char *variable = write_variable(c->language, c->variable, pool);
    return variable + (!c->language->joins && *variable == '$');
}

/* curl takes the method from the body; -X is for others. */
static const char *method_option(const context *c, apr_pool_t *pool)
{
    const neo_sample_step *step = c->step;
    int is_default = strcmp(step->method, step->body ? "POST" : "GET") == 0;
    return is_default ? "" : apr_pstrcat(pool, " -X ", step->method, NULL);
}

/* The text for a name in braces; NULL if its value is written. */
static const char *find_text(neo_buf *out, const context *c, const char *name)
{
    const language *l = c->language;
    if (strcmp(name, "base") == 0)
        return c->reference->base_url;
    if (strcmp(name, "name") == 0)
        return assigned_name(c, out->pool);
    if (strcmp(name, "prefix") == 0)
        return c->step->prefix;
    if (strcmp(name, "environment") == 0)
        return write_name(UPPER_CASE, c->variable, out->pool);
    if (strcmp(name, "method") == 0)
        return c->step->method;
    if (strcmp(name, "request") == 0)
        return method_option(c, out->pool);
    if (strcmp(name, "body") == 0)
        return c->step->body ? l->body : l->no_body;
    if (strcmp(name, "here") == 0)
        return c->step->body ? l->here : "";
    if (strcmp(name, "after") == 0)
        return c->step->body ? l->after : "";
    return NULL;
}

static void add_part(neo_buf *out, const context *c, const char *name)
{
    const char *text = find_text(out, c, name);
    if (strcmp(name, "path") == 0)
        add_path(out, c);
    else if (strcmp(name, "value") == 0)
        add_value(out, c->language, c->step->body, c->language->level);
    else if (text && strchr(text, '{'))
        add_statement(out, c, text);
    else
        neo_buf_puts(out, text ? text : name);
}

static void add_statement(neo_buf *out, const context *c, const char *text)
{
    for (const char *end; *text; text++) {
        end = end_of_name(text);
        if (!end) {
            neo_buf_putc(out, *text);
            continue;
        }
        add_part(out, c, apr_pstrmemdup(out->pool, text + 1, (apr_size_t)(end - text - 1)));
        text = end;
    }
}

/* Whether a request has the variable in its path or body. */
static int has_variable(const neo_sample_step *step, const char *name, apr_pool_t *pool)
{
    const char *braced = apr_pstrcat(pool, "{", name, "}", NULL);
    return strstr(step->path, braced) || (step->body && strstr(neo_json_text(step->body, pool).ptr, braced));
}

/* "unique", "unique_2": the name of the variable; NULL if none of the requests has it. */
static const char *find_unique(const neo_sample_step *steps, int count, int number, apr_pool_t *pool)
{
    const char *name = number == 1 ? "unique" : apr_psprintf(pool, "unique_%d", number);
    for (int i = 0; i < count; i++)
        if (has_variable(&steps[i], name, pool))
            return name;
    return NULL;
}

static void add_start(neo_buf *out, context *c, const neo_sample_step *steps, int count)
{
    int is_unique = find_unique(steps, count, 1, out->pool) != NULL;
    for (const char *line = c->language->start, *end; *line; line = end + 1) {
        end = strchr(line, '\n');
        if (*line == '?' && !is_unique)
            continue;
        line += *line == '?';
        add_statement(out, c, apr_pstrmemdup(out->pool, line, (apr_size_t)(end + 1 - line)));
    }
    for (int number = 1; (c->variable = find_unique(steps, count, number, out->pool)); number++)
        add_statement(out, c, c->language->unique);
}

/* Adds it as the content of <code>; the last line break is the element's. */
static void add_code(neo_buf *out, neo_buf *code)
{
    code->ptr[--code->len] = '\0';
    neo_buf_puts(out, apr_pescape_entity(out->pool, code->ptr, 0));
}

static void add_sample(neo_buf *out, const neo_reference *reference, const language *l, const apr_array_header_t *steps)
{
    const neo_sample_step *first = (const neo_sample_step *)(const void *)steps->elts, *last = first + steps->nelts - 1;
    context c = {.reference = reference, .language = l, .step = last};
    neo_buf text;
    neo_buf_init(&text, out->pool, 2048);
    add_start(&text, &c, last, 1);
    for (const neo_sample_step *step = first; step < last; step++)
        if (has_variable(last, c.variable = step->variable, out->pool))
            add_statement(&text, &c, l->read);
    add_statement(&text, &c, l->printed);
    neo_buf_puts(&text, l->end);
    neo_buf_printf(out, "<pre data-label=\"%s\"><code class=\"language-%s\">", l->label, l->highlighting);
    add_code(out, &text);
    neo_buf_puts(out, "</code></pre>\n");
}

/* ---------------------------------------------------------------- the variables that a sample reads */

#define SET_BY_REQUEST                                                                                                         \
    "export {name}=$(curl -sS{request} -H \"X-API-Key: $KEY\"{body} {path}{here} | grep -o '{prefix}[0-9a-z]*' | head -n 1"

/* In the shell, for all languages. */
static void add_setup(neo_buf *out, const neo_reference *reference, const apr_array_header_t *steps)
{
    const neo_sample_step *first = (const neo_sample_step *)(const void *)steps->elts, *last = first + steps->nelts - 1;
    context c = {.reference = reference, .language = &languages[0]};
    int creates = 0, count = 0;
    neo_buf text;
    neo_buf_init(&text, out->pool, 2048);
    add_start(&text, &c, first, steps->nelts - 1);
    neo_buf_puts(out, "<p>The sample reads ");
    for (c.step = first; c.step < last; c.step++) {
        c.variable = c.step->variable;
        creates |= strcmp(c.step->method, "GET") != 0;
        if (has_variable(last, c.variable, out->pool))
            neo_buf_printf(out, "%s<code>%s</code>", count++ ? ", " : "", write_name(UPPER_CASE, c.variable, out->pool));
        add_statement(&text, &c, c.step->body ? SET_BY_REQUEST "\n{after})\n" : SET_BY_REQUEST ")\n");
    }
    neo_buf_printf(out,
                   " from the environment, like <code>KEY</code>.</p>\n<details><summary>%s</summary>\n"
                   "<pre data-label=\"curl\"><code class=\"language-sh\" id=\"setup\">",
                   creates ? "Create what it needs" : "Find what it needs");
    add_code(out, &text);
    neo_buf_puts(out, "</code></pre>\n</details>\n");
}

void neo_sample_add(neo_buf *out, const neo_reference *reference, const neo_reference_entry *entry)
{
    const apr_array_header_t *steps = neo_sample_steps(reference, entry);
    if (steps->nelts > 1)
        add_setup(out, reference, steps);
    neo_buf_puts(out, "<div class=\"samples\">\n");
    for (size_t i = 0; i < sizeof languages / sizeof *languages; i++)
        add_sample(out, reference, &languages[i], steps);
    neo_buf_puts(out, "</div>\n");
}

void neo_sample_json(neo_buf *out, neo_json *value)
{
    add_value(out, &plain_json, value, 0);
}

void neo_sample_json_block(neo_buf *out, neo_json *value)
{
    neo_buf text;
    neo_buf_init(&text, out->pool, 1024);
    neo_sample_json(&text, value);
    neo_buf_printf(out, "<pre data-label=\"JSON\"><code class=\"language-json\">%s</code></pre>\n",
                   apr_pescape_entity(out->pool, text.ptr, 0));
}
