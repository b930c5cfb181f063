/* SPDX-License-Identifier: Apache-2.0 */
/* Repairs the text of callbacks, and reads their members (see callback_members.h). */
#include "callback_members.h"

#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "core/encode.h"

#define MAX_ID 255 /* bytes; the id is a key of an index */

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

neo_text neo_callback_repaired(neo_text raw, apr_pool_t *pool)
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

const char *neo_text_at(const neo_json *value, const char *path, apr_size_t max, apr_pool_t *pool)
{
    for (const char *dot; value && (dot = strchr(path, '.')); path = dot + 1)
        value = neo_json_get(value, apr_pstrmemdup(pool, path, (apr_size_t)(dot - path)));
    return value ? neo_clip(neo_json_string(neo_json_get(value, path)), max, "\n\t", pool) : NULL;
}

const char *neo_id_at(const neo_json *value, const char *path, apr_pool_t *pool)
{
    const char *id = neo_text_at(value, path, MAX_ID + 1, pool);
    if (!id || strlen(id) > MAX_ID)
        return NULL;
    for (const char *c = id; *c; c++)
        if (*c <= ' ' || *c == 0x7F)
            return NULL;
    return id;
}

const char *neo_word_at(const neo_json *value, const char *path, apr_pool_t *pool)
{
    const char *word = neo_id_at(value, path, pool);
    apr_size_t len = word ? strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_") : 0;
    return len && len <= MAX_WORD && !word[len] ? word : NULL;
}

const char *neo_digits_at(const neo_json *value, const char *path, apr_pool_t *pool)
{
    const char *id = neo_id_at(value, path, pool);
    apr_size_t len = id ? strlen(id) : 0;
    return len >= 5 && len <= 20 && strspn(id, "0123456789") == len ? id : NULL;
}

neo_ms neo_timestamp_at(const neo_json *value)
{
    const neo_json *reported = neo_json_get(value, "timestamp");
    const char *text = reported ? neo_json_string(reported) : NULL;
    long long seconds = reported ? neo_json_integer(reported) : 0;
    if (text && !neo_integer_parse(text, &seconds))
        seconds = 0;
    return seconds > 0 && seconds <= NEO_MS_LAST / 1000 ? seconds * 1000 : 0;
}
