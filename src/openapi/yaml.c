/* SPDX-License-Identifier: Apache-2.0 */
/* Writes JSON values with libyaml (see openapi/openapi.h). */
#include "openapi/openapi.h"

#include <apr_strings.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

#define WIDTH     128 /* characters of a line */
#define MAX_SHORT 600 /* bytes of the JSON text of what is written in flow style */

static int append_output(void *out, unsigned char *text, size_t len)
{
    neo_buf_add(out, (const char *)text, len);
    return 1;
}

/* Fails only without memory. */
static void emit(yaml_emitter_t *emitter, yaml_event_t *event)
{
    if (!yaml_emitter_emit(emitter, event))
        abort();
}

/* A word that some parser reads as a boolean or null. */
static int is_reserved_word(const char *text)
{
    static const char *const words[] = {"true", "false", "yes", "no", "on", "off", "y", "n", "null"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(text, words[i]) == 0)
            return 1;
    return 0;
}

/* Whether a parser reads the text without quotes as a string: it begins like neither a number nor a date, or like a version
 * ("3.1.0"). libyaml decides whether it can be written without quotes otherwise. */
static int is_plain(const char *text)
{
    const char *point = strchr(text, '.');
    int is_version =
        isdigit((unsigned char)*text) && text[strspn(text, "0123456789.")] == '\0' && point && strchr(point + 1, '.');
    return is_version ||
           (((isascii(*text) && isalpha((unsigned char)*text)) || *text == '/' || *text == '$') && !is_reserved_word(text));
}

static void write_scalar(yaml_emitter_t *emitter, const char *text, yaml_scalar_style_t style)
{
    yaml_event_t event;
    yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)text, (int)strlen(text), 1, 1, style);
    emit(emitter, &event);
}

static void write_string(yaml_emitter_t *emitter, const char *text)
{
    write_scalar(emitter, text,
                 strchr(text, '\n') ? YAML_LITERAL_SCALAR_STYLE
                 : is_plain(text)   ? YAML_PLAIN_SCALAR_STYLE
                                    : YAML_DOUBLE_QUOTED_SCALAR_STYLE);
}

/* YAML 1.1 requires a decimal point and a signed exponent in numbers with an exponent. */
static const char *number_text(const char *text, apr_pool_t *pool)
{
    size_t mantissa = strcspn(text, "eE");
    if (!text[mantissa])
        return text;
    return apr_psprintf(pool, "%.*s%s%s%s", (int)mantissa, text, memchr(text, '.', mantissa) ? "" : ".0",
                        strchr("+-", text[mantissa + 1]) ? "e" : "e+", text + mantissa + 1);
}

static void write_value(yaml_emitter_t *emitter, neo_json *value, apr_pool_t *pool);

static void write_object(yaml_emitter_t *emitter, neo_json *value, int is_short, apr_pool_t *pool)
{
    yaml_event_t event;
    yaml_mapping_start_event_initialize(&event, NULL, NULL, 1, is_short ? YAML_FLOW_MAPPING_STYLE : YAML_BLOCK_MAPPING_STYLE);
    emit(emitter, &event);
    for (void *m = neo_json_first(value); m; m = neo_json_next(value, m)) {
        write_string(emitter, neo_json_member_key(m));
        write_value(emitter, neo_json_member_value(m), pool);
    }
    yaml_mapping_end_event_initialize(&event);
    emit(emitter, &event);
}

static void write_array(yaml_emitter_t *emitter, neo_json *value, int is_short, apr_pool_t *pool)
{
    yaml_event_t event;
    yaml_sequence_start_event_initialize(&event, NULL, NULL, 1,
                                         is_short ? YAML_FLOW_SEQUENCE_STYLE : YAML_BLOCK_SEQUENCE_STYLE);
    emit(emitter, &event);
    for (apr_size_t i = 0; i < neo_json_size(value); i++)
        write_value(emitter, neo_json_at(value, i), pool);
    yaml_sequence_end_event_initialize(&event);
    emit(emitter, &event);
}

static void write_value(yaml_emitter_t *emitter, neo_json *value, apr_pool_t *pool)
{
    neo_json_kind kind = neo_json_get_kind(value);
    if (kind == NEO_JSON_STRING) {
        write_string(emitter, neo_json_string(value));
        return;
    }
    neo_text text = neo_json_text(value, pool);
    int is_short = text.len <= MAX_SHORT && !strstr(text.ptr, "\\n");
    if (kind == NEO_JSON_OBJECT)
        write_object(emitter, value, is_short, pool);
    else if (kind == NEO_JSON_ARRAY)
        write_array(emitter, value, is_short, pool);
    else
        write_scalar(emitter, kind == NEO_JSON_REAL ? number_text(text.ptr, pool) : text.ptr, YAML_PLAIN_SCALAR_STYLE);
}

static void write_document(yaml_emitter_t *emitter, neo_json *value, apr_pool_t *pool)
{
    yaml_event_t event;
    yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING);
    emit(emitter, &event);
    yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1);
    emit(emitter, &event);
    write_value(emitter, value, pool);
    yaml_document_end_event_initialize(&event, 1);
    emit(emitter, &event);
    yaml_stream_end_event_initialize(&event);
    emit(emitter, &event);
}

neo_text neo_yaml_text(neo_json *value, apr_pool_t *pool)
{
    neo_buf out;
    apr_pool_t *scratch;
    yaml_emitter_t emitter;
    apr_pool_create(&scratch, pool);
    neo_buf_init(&out, scratch, 4096);
    if (!yaml_emitter_initialize(&emitter))
        abort();
    yaml_emitter_set_output(&emitter, append_output, &out);
    yaml_emitter_set_unicode(&emitter, 1);
    yaml_emitter_set_width(&emitter, WIDTH);
    write_document(&emitter, value, scratch);
    yaml_emitter_delete(&emitter);
    const neo_text text = {apr_pstrmemdup(pool, out.ptr, out.len), out.len};
    apr_pool_destroy(scratch);
    return text;
}
