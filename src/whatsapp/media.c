/* SPDX-License-Identifier: Apache-2.0 */
/* Attachments of contacts (see whatsapp/media.h). */
#include "whatsapp/media.h"

#include <apr_strings.h>
#include <string.h>

#include "whatsapp/callback.h"

#define MAX_NAME      200 /* bytes of a file name */
#define MAX_EXTENSION 20  /* bytes, with its dot; a longer one is not an extension */
#define UNKNOWN       "application/octet-stream"

const char *neo_media_path(const char *media_id, const char *phone_number_id, apr_pool_t *pool)
{
    int is_id = media_id && *media_id && strspn(media_id, "0123456789") == strlen(media_id);
    return is_id ? apr_pstrcat(pool, media_id, "?phone_number_id=", phone_number_id, NULL) : NULL;
}

const char *neo_media_url(neo_text body, apr_pool_t *pool)
{
    const char *error;
    const neo_json *answer = neo_json_parse(body, pool, &error);
    return answer ? neo_json_string_at(answer, "url") : NULL;
}

/* ---------------------------------------------------------------- the type */

/* The types of attachments in Meta's documentation, and what a file of each has at an offset. A type can have several rows. */
static const struct {
    const char *type, *extension;
    unsigned int offset, len;
    const char *bytes;
} types[] = {
    {"image/jpeg", "jpg", 0, 3, "\xFF\xD8\xFF"},
    {"image/png", "png", 0, 8, "\x89PNG\r\n\x1A\n"},
    {"image/webp", "webp", 8, 4, "WEBP"},
    {"audio/aac", "aac", 0, 2, "\xFF\xF1"},
    {"audio/aac", "aac", 0, 2, "\xFF\xF9"},
    {"audio/amr", "amr", 0, 5, "#!AMR"},
    {"audio/mp4", "m4a", 4, 4, "ftyp"},
    {"audio/mpeg", "mp3", 0, 3, "ID3"},
    {"audio/mpeg", "mp3", 0, 2, "\xFF\xFB"},
    {"audio/mpeg", "mp3", 0, 2, "\xFF\xF3"},
    {"audio/mpeg", "mp3", 0, 2, "\xFF\xF2"},
    {"audio/ogg", "ogg", 0, 4, "OggS"},
    {"video/3gpp", "3gp", 4, 4, "ftyp"},
    {"video/mp4", "mp4", 4, 4, "ftyp"},
    {"application/pdf", "pdf", 0, 5, "%PDF-"},
    {"application/msword", "doc", 0, 4, "\xD0\xCF\x11\xE0"},
    {"application/vnd.ms-excel", "xls", 0, 4, "\xD0\xCF\x11\xE0"},
    {"application/vnd.ms-powerpoint", "ppt", 0, 4, "\xD0\xCF\x11\xE0"},
    {"application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx", 0, 4, "PK\x03\x04"},
    {"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx", 0, 4, "PK\x03\x04"},
    {"application/vnd.openxmlformats-officedocument.presentationml.presentation", "pptx", 0, 4, "PK\x03\x04"},
};

const char *neo_media_type(const char *declared, neo_text first, apr_pool_t *pool)
{
    const char *type = declared ? apr_pstrmemdup(pool, declared, strcspn(declared, "; ")) : UNKNOWN;
    for (apr_size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcasecmp(types[i].type, type) == 0 && first.len >= types[i].offset + types[i].len &&
            memcmp(first.ptr + types[i].offset, types[i].bytes, types[i].len) == 0)
            return types[i].type;
    return UNKNOWN;
}

/* ---------------------------------------------------------------- the name */

/* The length of the UTF-8 character at `c` if it changes the direction of text, which can disguise the extension: U+061C,
 * U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069. Otherwise 0. */
static size_t direction_mark_at(const unsigned char *c)
{
    if (c[0] == 0xD8 && c[1] == 0x9C)
        return 2;
    int is_mark = c[0] == 0xE2 && ((c[1] == 0x80 && (c[2] == 0x8E || c[2] == 0x8F || (c[2] >= 0xAA && c[2] <= 0xAE))) ||
                                   (c[1] == 0x81 && c[2] >= 0xA6 && c[2] <= 0xA9));
    return is_mark ? 3 : 0;
}

/* At most MAX_NAME bytes; a longer name is cut before its extension. NULL if it is empty. */
static const char *clip_name(const char *name, apr_pool_t *pool)
{
    const char *dot = strrchr(name, '.');
    size_t len = dot ? strlen(dot) : 0;
    if (strlen(name) <= MAX_NAME || len == 0 || len > MAX_EXTENSION)
        return neo_clip(name, MAX_NAME, "", pool);
    return apr_pstrcat(pool, neo_clip(name, MAX_NAME - len, "", pool), neo_clip(dot, len, "", pool), NULL);
}

/* Without leading dots and spaces, and without directories and characters that file systems or headers treat specially. */
static const char *safe_name(const char *name, apr_pool_t *pool)
{
    neo_buf out;
    neo_buf_init(&out, pool, MAX_NAME + 8);
    for (const char *c = clip_name(name, pool); c && *c; c++) {
        size_t mark = direction_mark_at((const unsigned char *)c);
        if (mark)
            c += mark - 1;
        else if (out.len || !strchr(". /\\", *c))
            neo_buf_putc(&out, (char)(strchr("/\\:*?\"<>|%", *c) ? '_' : *c));
    }
    return out.ptr;
}

const char *neo_media_disposition(const char *filename, const char *id, const char *type, apr_pool_t *pool)
{
    const char *extension = NULL, *name = filename ? safe_name(filename, pool) : "";
    for (apr_size_t i = 0; !extension && i < sizeof types / sizeof *types; i++)
        extension = strcmp(types[i].type, type) == 0 ? types[i].extension : NULL;
    if (!*name)
        name = apr_pstrcat(pool, id, ".", extension ? extension : "bin", NULL);
    neo_buf plain, encoded;
    neo_buf_init(&plain, pool, 2 * MAX_NAME);
    neo_buf_init(&encoded, pool, 4 * MAX_NAME);
    for (const unsigned char *c = (const unsigned char *)name; *c; c++) {
        int is_plain = *c < 0x80;
        if ((*c & 0xC0) != 0x80) /* one underscore for each character */
            neo_buf_putc(&plain, is_plain ? (char)*c : '_');
        if (is_plain && (strchr("-._~", *c) || (*c >= '0' && *c <= '9') || ((*c | 0x20) >= 'a' && (*c | 0x20) <= 'z')))
            neo_buf_putc(&encoded, (char)*c);
        else
            neo_buf_printf(&encoded, "%%%02X", *c);
    }
    return apr_psprintf(pool, "attachment; filename=\"%s\"; filename*=UTF-8''%s", plain.ptr, encoded.ptr);
}
