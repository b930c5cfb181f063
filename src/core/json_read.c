/* SPDX-License-Identifier: Apache-2.0 */
/* A fast reader of usual JSON (see json_read.h).
 *
 * jansson's lexer takes 120 instructions a byte, most of the time of a request's body. This reader accepts the texts that
 * requests usually consist of, and makes the same values of them. It leaves the others to jansson, which says what is wrong. */
#include "json_read.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *at, *end;
    neo_buf text; /* the last string, unescaped */
    int is_ascii; /* the last string */
    int depth;
} reader;

#define MAX_DEPTH 32
#define KEY_SIZE  128

static const char *after_digits(const char *c, const char *end)
{
    while (c < end && *c >= '0' && *c <= '9')
        c++;
    return c;
}

apr_size_t neo_json_number_length(const char *text, const char *end)
{
    const char *c = text + (*text == '-'), *digits = c;
    c = c < end && *c == '0' ? c + 1 : after_digits(c, end);
    if (c == digits)
        return 0;
    if (c + 1 < end && *c == '.' && after_digits(c + 1, end) > c + 1)
        c = after_digits(c + 1, end);
    if (c < end && (*c == 'e' || *c == 'E')) {
        digits = c + 1 < end && (c[1] == '+' || c[1] == '-') ? c + 2 : c + 1;
        c = after_digits(digits, end) > digits ? after_digits(digits, end) : c;
    }
    return (apr_size_t)(c - text);
}

static void skip_space(reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\r' || *r->at == '\t'))
        r->at++;
}

/* Skips white space and takes `c`, if it follows. */
static int take(reader *r, char c)
{
    skip_space(r);
    if (r->at == r->end || *r->at != c)
        return 0;
    r->at++;
    return 1;
}

static void add_code_point(neo_buf *text, unsigned int code)
{
    int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned char first[] = {0, 0xC0, 0xE0, 0xF0};
    neo_buf_putc(text, (char)(first[more] | code >> (6 * more)));
    while (more-- > 0)
        neo_buf_putc(text, (char)(0x80 | (code >> (6 * more) & 0x3F)));
}

/* Reads the code unit of \uXXXX; -1 if there is none. */
static int read_code_unit(reader *r)
{
    int code = 0;
    if (r->end - r->at < 6 || r->at[0] != '\\' || r->at[1] != 'u')
        return -1;
    for (int i = 2; i < 6; i++) {
        char c = r->at[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return -1;
        code = code * 16 + digit;
    }
    r->at += 6;
    return code;
}

/* Reads an escape of a character other than NUL. */
static int read_escape(reader *r)
{
    static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    const char *letter = r->end - r->at > 1 && r->at[1] ? strchr(letters, r->at[1]) : NULL;
    if (letter) {
        neo_buf_putc(&r->text, meant[letter - letters]);
        r->at += 2;
        return 1;
    }
    int code = read_code_unit(r);
    if (code >= 0xD800 && code < 0xDC00) {
        int low = read_code_unit(r);
        code = low >= 0xDC00 && low < 0xE000 ? 0x10000 + (code - 0xD800) * 0x400 + (low - 0xDC00) : -1;
    }
    if (code <= 0 || (code >= 0xDC00 && code < 0xE000))
        return 0;
    add_code_point(&r->text, (unsigned int)code);
    r->is_ascii &= code < 0x80;
    return 1;
}

/* Reads a string after its first quote into `text`. */
static int read_text(reader *r)
{
    unsigned char any = 0;
    r->text.len = 0;
    r->is_ascii = 1;
    for (;;) {
        const char *from = r->at;
        while (r->at < r->end && (unsigned char)*r->at >= 0x20 && *r->at != '"' && *r->at != '\\')
            any |= (unsigned char)*r->at++;
        neo_buf_add(&r->text, from, (apr_size_t)(r->at - from));
        if (r->at == r->end || *r->at == '"')
            break;
        if (*r->at != '\\' || !read_escape(r))
            return 0;
    }
    r->is_ascii &= any < 0x80;
    return r->at < r->end && *r->at++ == '"';
}

static json_t *read_string(reader *r)
{
    if (!read_text(r))
        return NULL;
    return r->is_ascii ? json_stringn_nocheck(r->text.ptr, r->text.len) : json_stringn(r->text.ptr, r->text.len);
}

static json_t *read_number(reader *r)
{
    char text[40], *end;
    apr_size_t len = neo_json_number_length(r->at, r->end);
    if (len == 0 || len >= sizeof text)
        return NULL;
    memcpy(text, r->at, len);
    text[len] = '\0';
    r->at += len;
    errno = 0;
    if (text[strcspn(text, ".eE")]) {
        double real = strtod(text, &end); /* stops at the point if another module has set a locale with a decimal comma */
        return errno == 0 && !*end ? json_real(real) : NULL;
    }
    long long integer = strtoll(text, NULL, 10);
    return errno == 0 ? json_integer(integer) : NULL;
}

static json_t *read_value(reader *r);

/* Returns 0 if a key is repeated, too. */
static int read_members(reader *r, json_t *object)
{
    char key[KEY_SIZE];
    if (take(r, '}'))
        return 1;
    for (size_t count = 1;; count++) {
        if (!take(r, '"') || !read_text(r) || r->text.len >= sizeof key)
            return 0;
        memcpy(key, r->text.ptr, r->text.len + 1);
        int is_ascii = r->is_ascii;
        json_t *value = take(r, ':') ? read_value(r) : NULL;
        int failed = is_ascii ? json_object_set_new_nocheck(object, key, value) : json_object_set_new(object, key, value);
        if (failed || json_object_size(object) != count)
            return 0;
        if (!take(r, ','))
            return take(r, '}');
    }
}

static int read_elements(reader *r, json_t *array)
{
    if (take(r, ']'))
        return 1;
    do
        if (json_array_append_new(array, read_value(r)) != 0)
            return 0;
    while (take(r, ','));
    return take(r, ']');
}

static json_t *read_container(reader *r, json_t *container)
{
    int is_read = r->depth < MAX_DEPTH;
    r->depth++;
    is_read = is_read && (json_is_object(container) ? read_members(r, container) : read_elements(r, container));
    r->depth--;
    if (!is_read) {
        json_decref(container);
        return NULL;
    }
    return container;
}

static int take_word(reader *r, const char *word)
{
    apr_size_t len = strlen(word);
    if ((apr_size_t)(r->end - r->at) < len || memcmp(r->at, word, len) != 0)
        return 0;
    r->at += len;
    return 1;
}

static json_t *read_value(reader *r)
{
    if (take(r, '"'))
        return read_string(r);
    if (r->at == r->end)
        return NULL;
    switch (*r->at) {
    case '{': r->at++; return read_container(r, json_object());
    case '[': r->at++; return read_container(r, json_array());
    case 't': return take_word(r, "true") ? json_true() : NULL;
    case 'f': return take_word(r, "false") ? json_false() : NULL;
    case 'n': return take_word(r, "null") ? json_null() : NULL;
    default: return read_number(r);
    }
}

neo_json *neo_json_read(neo_text text, apr_pool_t *pool)
{
    if (text.len == 0)
        return NULL;
    reader r = {.at = text.ptr, .end = text.ptr + text.len};
    neo_buf_init(&r.text, pool, 512);
    json_t *value = read_value(&r);
    skip_space(&r);
    if (value && r.at != r.end) {
        json_decref(value);
        return NULL;
    }
    return value;
}
