/* Writing YAML (see model/yaml.h). */
#include "model/yaml.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define STEP  2
#define WIDTH 120 /* columns of folded text */

/* ---------------------------------------------------------------- styles of strings */

/* A character that must be escaped (YAML 1.2.2, rule 1 c-printable; line breaks of YAML 1.1; the byte order mark). Returns its
 * length in bytes and sets its code point, or returns 0. */
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

/* A word that YAML 1.1 or 1.2 parsers read as a boolean or null. */
static int is_reserved(const char *text)
{
    static const char *const words[] = {"true", "false", "yes", "no", "on", "off", "y", "n", "null"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(text, words[i]) == 0)
            return 1;
    return 0;
}

/* "3.1.0" is a string, but "3.1" is a number. */
static int is_version(const char *text)
{
    const char *point = strchr(text, '.');
    return isdigit((unsigned char)*text) && text[strspn(text, "0123456789.")] == '\0' && point && strchr(point + 1, '.');
}

/* Text that starts with a letter, slash or dollar sign is no number or date, and does not start with an indicator. */
static int is_plain(const char *text)
{
    size_t len = strlen(text);
    if (is_version(text))
        return 1;
    return ((isascii(*text) && isalpha((unsigned char)*text)) || *text == '/' || *text == '$') && !is_reserved(text) &&
           !strstr(text, ": ") && !strstr(text, " #") && text[len - 1] != ':' && text[len - 1] != ' ' && is_printable(text, "");
}

/* Parsers turn a folded line break into one space, so only single spaces can be folded. */
static int can_be_folded(const char *text)
{
    size_t len = strlen(text);
    return *text != ' ' && text[len - 1] != ' ' && strchr(text, ' ') && !strstr(text, "  ") && is_printable(text, "");
}

/* Leading spaces would need an indentation indicator; trailing spaces would be invisible. */
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

/* `indent`: of the lines of a folded or literal string. */
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

static void add_members(neo_buf *out, neo_json *object, int indent, int begun);
static void add_items(neo_buf *out, neo_json *array, int indent, int begun);

/* In YAML 1.1 a number with an exponent must also have a decimal point and a sign of the exponent. */
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

static int has_parts(const neo_json *value)
{
    neo_json_kind kind = neo_json_kind_of(value);
    return (kind == NEO_JSON_OBJECT || kind == NEO_JSON_ARRAY) && neo_json_size(value) > 0;
}

static void add_scalar(neo_buf *out, const neo_json *value, int indent)
{
    switch (neo_json_kind_of(value)) {
    case NEO_JSON_STRING: add_string(out, neo_json_string(value), indent); break;
    case NEO_JSON_INTEGER:
    case NEO_JSON_REAL: add_number(out, value); break;
    default: neo_buf_puts(out, neo_json_text(value, out->pool).ptr); /* true, false, null, {} and [] */
    }
    neo_buf_putc(out, '\n');
}

/* `begun`: the first part continues the line after "- ". */
static void add_parts(neo_buf *out, neo_json *value, int indent, int begun)
{
    if (neo_json_kind_of(value) == NEO_JSON_OBJECT)
        add_members(out, value, indent, begun);
    else
        add_items(out, value, indent, begun);
}

static void add_members(neo_buf *out, neo_json *object, int indent, int begun)
{
    for (void *m = neo_json_first(object); m; m = neo_json_next(object, m)) {
        neo_json *value = neo_json_member_value(m);
        add_indent(out, begun ? 0 : indent);
        begun = 0;
        add_key(out, neo_json_member_key(m));
        neo_buf_puts(out, has_parts(value) ? ":\n" : ": ");
        if (has_parts(value))
            add_parts(out, value, indent + STEP, 0);
        else
            add_scalar(out, value, indent + STEP);
    }
}

static void add_items(neo_buf *out, neo_json *array, int indent, int begun)
{
    for (apr_size_t i = 0; i < neo_json_size(array); i++) {
        neo_json *value = neo_json_at(array, i);
        add_indent(out, begun && i == 0 ? 0 : indent);
        neo_buf_puts(out, "- ");
        if (has_parts(value))
            add_parts(out, value, indent + STEP, 1);
        else
            add_scalar(out, value, indent + STEP);
    }
}

neo_text neo_yaml_text(neo_json *value, apr_pool_t *pool)
{
    neo_buf out;
    neo_buf_init(&out, pool, 4096);
    if (has_parts(value))
        add_parts(&out, value, 0, 0);
    else
        add_scalar(&out, value, STEP);
    return neo_buf_text(&out);
}
