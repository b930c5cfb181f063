/* SPDX-License-Identifier: Apache-2.0 */
/* Writing YAML (see model/yaml.h). */
#include "model/yaml.h"

#include <apr_strings.h>
#include <apr_tables.h>
#include <ctype.h>
#include <string.h>
#include <strings.h>

#define STEP       2
#define WIDTH      128 /* of a line */
#define FLOW_LINES 8   /* of a mapping or sequence in flow style */

/* ---------------------------------------------------------------- what a string needs */

/* A character that YAML requires to be escaped (YAML 1.2.2, rule 1 c-printable; breaks of YAML 1.1; the byte order mark).
 * Returns its length in bytes and sets its code point, or returns 0. */
static int unprintable(const char *text, unsigned int *point)
{
    const unsigned char *c = (const unsigned char *)text;
    if (*c < 0x20 || *c == 0x7F) {
        *point = *c;
        return 1;
    }
    if (*c == 0xC2 && c[1] < 0xA0) {
        *point = c[1];
        return 2;
    }
    if (*c < 0xE0 || *c > 0xEF)
        return 0;
    *point = (*c & 0x0Fu) << 12 | (c[1] & 0x3Fu) << 6 | (c[2] & 0x3Fu);
    return *point == 0x2028 || *point == 0x2029 || *point == 0xFEFF || *point >= 0xFFFE ? 3 : 0;
}

static int is_printable(const char *text, const char *also)
{
    unsigned int point;
    for (; *text; text++)
        if (!strchr(also, *text) && unprintable(text, &point))
            return 0;
    return 1;
}

/* A word that some parser reads as a boolean or null. */
static int is_reserved(const char *text)
{
    static const char *const words[] = {"true", "false", "yes", "no", "on", "off", "y", "n", "null"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(text, words[i]) == 0)
            return 1;
    return 0;
}

/* "3.1.0" is no number for anybody; "3.1" is. */
static int is_version(const char *text)
{
    const char *point = strchr(text, '.');
    return isdigit((unsigned char)*text) && text[strspn(text, "0123456789.")] == '\0' && point && strchr(point + 1, '.');
}

/* What begins with a letter, a slash or a dollar sign is neither a number nor a date, nor does it begin with an indicator. */
static int is_plain(const char *text)
{
    size_t len = strlen(text);
    if (is_version(text))
        return 1;
    return ((isascii(*text) && isalpha((unsigned char)*text)) || *text == '/' || *text == '$') && !is_reserved(text) &&
           !strstr(text, ": ") && !strstr(text, " #") && text[len - 1] != ':' && text[len - 1] != ' ' && is_printable(text, "");
}

/* Folding turns a break into one space, so only single spaces between words can be broken. */
static int can_be_folded(const char *text)
{
    size_t len = strlen(text);
    return *text != ' ' && text[len - 1] != ' ' && strchr(text, ' ') && !strstr(text, "  ") && is_printable(text, "");
}

/* Blanks at the beginning would need an indicator of indentation; at the end of a line they would be invisible. */
static int can_be_literal(const char *text)
{
    size_t len = strlen(text);
    return strchr(text, '\n') && !strchr(" \n", *text) && text[len - 1] != ' ' && !strstr(text, " \n") &&
           strcmp(text + len - 2, "\n\n") != 0 && is_printable(text, "\n");
}

/* ---------------------------------------------------------------- strings */

static void add_indent(neo_buf *out, int indent)
{
    neo_buf_printf(out, "%*s", indent, "");
}

static void add_quoted(neo_buf *out, const char *text)
{
    neo_buf_putc(out, '"');
    for (unsigned int point; *text;) {
        int len = unprintable(text, &point);
        if (*text == '\n')
            neo_buf_puts(out, "\\n");
        else if (len)
            neo_buf_printf(out, "\\u%04x", point);
        else if (*text == '"' || *text == '\\')
            neo_buf_printf(out, "\\%c", *text);
        else
            neo_buf_putc(out, *text);
        text += len ? len : 1;
    }
    neo_buf_putc(out, '"');
}

static void add_folded(neo_buf *out, const char *text, int indent)
{
    neo_buf_puts(out, ">-");
    while (*text) {
        size_t columns_left = (size_t)(WIDTH - indent), len = strlen(text);
        if (len > columns_left) {
            const char *space = memrchr(text, ' ', columns_left + 1);
            len = space ? (size_t)(space - text) : strcspn(text, " ");
        }
        neo_buf_putc(out, '\n');
        add_indent(out, indent);
        neo_buf_add(out, text, len);
        text += len + (text[len] == ' ');
    }
}

static void add_literal(neo_buf *out, const char *text, int indent)
{
    neo_buf_puts(out, text[strlen(text) - 1] == '\n' ? "|" : "|-");
    while (*text) {
        size_t len = strcspn(text, "\n");
        neo_buf_putc(out, '\n');
        if (len)
            add_indent(out, indent);
        neo_buf_add(out, text, len);
        text += len + (text[len] == '\n');
    }
}

static void add_key(neo_buf *out, const char *text)
{
    if (is_plain(text))
        neo_buf_puts(out, text);
    else
        add_quoted(out, text);
}

/* `indent` is the column of the lines of a multiline string. In texts for people it is less than WIDTH / 2. */
static void add_string(neo_buf *out, const char *text, int indent)
{
    int is_long = strlen(text) > (size_t)(WIDTH - 20) && indent < WIDTH / 2;
    if (*text && is_long && can_be_folded(text))
        add_folded(out, text, indent);
    else if (*text && can_be_literal(text))
        add_literal(out, text, indent);
    else
        add_key(out, text);
}

/* ---------------------------------------------------------------- values */

/* YAML 1.1 requires a decimal point and a signed exponent in numbers with an exponent. */
static void add_number(neo_buf *out, const neo_json *value)
{
    neo_text text = neo_json_text(value, out->pool);
    apr_size_t mantissa = strcspn(text.ptr, "eE");
    neo_buf_add(out, text.ptr, mantissa);
    if (mantissa == text.len)
        return;
    if (!memchr(text.ptr, '.', mantissa))
        neo_buf_puts(out, ".0");
    neo_buf_puts(out, strchr("+-", text.ptr[mantissa + 1]) ? "e" : "e+");
    neo_buf_puts(out, text.ptr + mantissa + 1);
}

/* A value that has no parts. */
static void add_scalar(neo_buf *out, const neo_json *value, int indent)
{
    switch (neo_json_kind_of(value)) {
    case NEO_JSON_STRING: add_string(out, neo_json_string(value), indent); break;
    case NEO_JSON_INTEGER:
    case NEO_JSON_REAL: add_number(out, value); break;
    default: neo_buf_puts(out, neo_json_text(value, out->pool).ptr); /* true, false, null, {} and [] */
    }
}

/* A member of an object, or an item of an array, which has no key. */
typedef struct {
    const char *key;
    neo_json *value;
} part;

/* Empty for a scalar. */
static const apr_array_header_t *parts_of(neo_json *value, apr_pool_t *pool)
{
    apr_array_header_t *parts = apr_array_make(pool, 8, sizeof(part));
    if (neo_json_kind_of(value) == NEO_JSON_OBJECT)
        for (void *m = neo_json_first(value); m; m = neo_json_next(value, m))
            APR_ARRAY_PUSH(parts, part) = (part){neo_json_member_key(m), neo_json_member_value(m)};
    if (neo_json_kind_of(value) == NEO_JSON_ARRAY)
        for (apr_size_t i = 0; i < neo_json_size(value); i++)
            APR_ARRAY_PUSH(parts, part) = (part){NULL, neo_json_at(value, i)};
    return parts;
}

/* ---------------------------------------------------------------- flow style */

static void add_flow_string(neo_buf *out, const char *text)
{
    if (is_plain(text) && !strpbrk(text, ",:[]{}"))
        neo_buf_puts(out, text);
    else
        add_quoted(out, text);
}

static const char *flow_part(const part *of, apr_pool_t *pool);

static void add_flow(neo_buf *out, neo_json *value)
{
    const apr_array_header_t *parts = parts_of(value, out->pool);
    int is_object = neo_json_kind_of(value) == NEO_JSON_OBJECT;
    if (neo_json_string(value))
        add_flow_string(out, neo_json_string(value));
    else if (!parts->nelts)
        add_scalar(out, value, 0);
    for (int i = 0; i < parts->nelts; i++) {
        neo_buf_puts(out, i ? ", " : is_object ? "{" : "[");
        neo_buf_puts(out, flow_part(&APR_ARRAY_IDX(parts, i, part), out->pool));
    }
    if (parts->nelts)
        neo_buf_putc(out, is_object ? '}' : ']');
}

/* "key: value" or "value" */
static const char *flow_part(const part *of, apr_pool_t *pool)
{
    neo_buf out;
    neo_buf_init(&out, pool, 64);
    if (of->key) {
        add_flow_string(&out, of->key);
        neo_buf_puts(&out, ": ");
    }
    add_flow(&out, of->value);
    return out.ptr;
}

/* How many of the columns a value in flow style leaves; negative if it needs more, or has a text of several lines. */
static int columns_left(neo_json *value, int columns, apr_pool_t *pool)
{
    const char *text = neo_json_string(value);
    if (text)
        return strchr(text, '\n') ? -1 : columns - (int)strlen(text);
    const apr_array_header_t *parts = parts_of(value, pool);
    for (int i = 0; i < parts->nelts && columns >= 0; i++) {
        const part *one = &APR_ARRAY_IDX(parts, i, part);
        columns = columns_left(one->value, columns - (one->key ? (int)strlen(one->key) + 2 : 0) - 2, pool);
    }
    return columns;
}

static int column_of(const neo_buf *out)
{
    const char *line = memrchr(out->ptr, '\n', out->len);
    return (int)(out->ptr + out->len - (line ? line + 1 : out->ptr));
}

/* Adds a value in flow style, with line breaks between its parts. Adds nothing and returns false if a part is too long for a
 * line, or the value for FLOW_LINES. */
static int add_wrapped(neo_buf *out, neo_json *value, int indent)
{
    apr_size_t start = out->len;
    int lines = 1, is_object = neo_json_kind_of(value) == NEO_JSON_OBJECT;
    if (columns_left(value, FLOW_LINES * WIDTH, out->pool) < 0)
        return 0;
    const apr_array_header_t *parts = parts_of(value, out->pool);
    neo_buf_putc(out, is_object ? '{' : '[');
    for (int i = 0; i < parts->nelts; i++) {
        const char *text = flow_part(&APR_ARRAY_IDX(parts, i, part), out->pool);
        int len = (int)strlen(text) + 1, fits = column_of(out) + len < WIDTH;
        if (!fits && (i == 0 || indent + len > WIDTH || ++lines > FLOW_LINES)) {
            out->len = start;
            out->ptr[start] = '\0';
            return 0;
        }
        neo_buf_puts(out, !fits ? "\n" : i ? " " : "");
        add_indent(out, fits ? 0 : indent);
        neo_buf_puts(out, text);
        neo_buf_putc(out, i + 1 < parts->nelts ? ',' : is_object ? '}' : ']');
    }
    neo_buf_putc(out, '\n');
    return 1;
}

/* ---------------------------------------------------------------- block style */

/* `begun`: the first part continues the line that "- " began. */
static void add_block(neo_buf *out, neo_json *value, int indent, int begun)
{
    const apr_array_header_t *parts = parts_of(value, out->pool);
    for (int i = 0; i < parts->nelts; i++) {
        const part *one = &APR_ARRAY_IDX(parts, i, part);
        add_indent(out, begun && i == 0 ? 0 : indent);
        if (one->key)
            add_key(out, one->key);
        neo_buf_puts(out, one->key ? ": " : "- ");
        if (!parts_of(one->value, out->pool)->nelts) {
            add_scalar(out, one->value, indent + STEP);
            neo_buf_putc(out, '\n');
        } else if (!add_wrapped(out, one->value, indent + STEP)) {
            if (one->key)
                out->ptr[out->len - 1] = '\n'; /* in place of the blank */
            add_block(out, one->value, indent + STEP, !one->key);
        }
    }
}

neo_text neo_yaml_text(neo_json *value, apr_pool_t *pool)
{
    neo_buf out;
    apr_pool_t *scratch;
    apr_pool_create(&scratch, pool);
    neo_buf_init(&out, scratch, 4096);
    add_block(&out, value, 0, 0);
    if (!out.len) {
        add_scalar(&out, value, STEP);
        neo_buf_putc(&out, '\n');
    }
    const neo_text text = {apr_pstrmemdup(pool, out.ptr, out.len), out.len};
    apr_pool_destroy(scratch);
    return text;
}
