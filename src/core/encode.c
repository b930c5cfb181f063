/* SPDX-License-Identifier: Apache-2.0 */
/* Encodings, checksums and compression (see core/encode.h). */
#include "core/encode.h"

#include <apr_encode.h>
#include <apr_siphash.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define GZIP_WINDOW (MAX_WBITS + 16) /* the format is gzip, not zlib's */
#define MEMORY      8                /* zlib's default */

char *neo_base64url(const void *data, apr_size_t len, apr_pool_t *pool)
{
    return (char *)apr_pencode_base64_binary(pool, data, (apr_ssize_t)len, APR_ENCODE_URL | APR_ENCODE_NOPADDING, NULL);
}

char *neo_base64(const void *data, apr_size_t len, apr_pool_t *pool)
{
    return (char *)apr_pencode_base64_binary(pool, data, (apr_ssize_t)len, APR_ENCODE_NONE, NULL);
}

static int base64_digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == '+' || c == '-')
        return 62;
    return c == '/' || c == '_' ? 63 : -1;
}

/* Stricter than apr_decode_base64, which accepts unused bits that are not zero. */
int neo_base64_decode(const char *text, apr_size_t len, unsigned char *out, apr_size_t capacity)
{
    apr_size_t padding = 0;
    for (; padding < 2 && len && text[len - 1] == '='; padding++)
        len--;
    if (len % 4 == 1 || (padding && (len + padding) % 4 != 0))
        return -1;
    unsigned int bits = 0;
    int have = 0;
    apr_size_t n = 0;
    for (apr_size_t i = 0; i < len; i++) {
        int digit = base64_digit(text[i]);
        if (digit < 0)
            return -1;
        bits = bits << 6 | (unsigned int)digit;
        have += 6;
        if (have >= 8) {
            have -= 8;
            if (n == capacity)
                return -1;
            out[n++] = (unsigned char)(bits >> have);
        }
    }
    return bits & ((1u << have) - 1) ? -1 : (int)n;
}

void neo_hex(const void *data, apr_size_t len, char *out)
{
    (void)apr_encode_base16_binary(out, data, (apr_ssize_t)len, APR_ENCODE_LOWER, NULL);
}

void neo_base62(const unsigned char *data, apr_size_t len, char *out, int width)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    unsigned char number[64];
    memcpy(number, data, len);
    out[width] = '\0';
    for (int i = width - 1; i >= 0; i--) {
        unsigned int rest = 0;
        for (apr_size_t b = 0; b < len; b++) {
            rest = rest << 8 | number[b];
            number[b] = (unsigned char)(rest / 62);
            rest %= 62;
        }
        out[i] = digits[rest];
    }
}

unsigned int neo_crc32(const void *data, apr_size_t len)
{
    return (unsigned int)crc32(0, data, (uInt)len);
}

void neo_fingerprint(const void *data, apr_size_t len, char out[NEO_FINGERPRINT_SIZE])
{
    static const unsigned char key[APR_SIPHASH_KSIZE] = "neoapi";
    unsigned char hash[APR_SIPHASH_DSIZE];
    apr_siphash24_auth(hash, data, len, key);
    neo_hex(hash, sizeof hash, out);
}

int neo_integer_parse(const char *text, long long *value)
{
    const char *digits = *text == '-' ? text + 1 : text;
    if (!isdigit((unsigned char)*digits))
        return 0;
    char *end;
    errno = 0;
    *value = strtoll(text, &end, 10);
    return errno == 0 && *end == '\0';
}

/* The length of the well-formed sequence at `at`, 0 if there is none (RFC 3629, section 4). */
static apr_size_t utf8_sequence(const unsigned char *at, apr_size_t left)
{
    unsigned char lead = at[0];
    if (lead < 0x80)
        return 1;
    apr_size_t len = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4 || len > left)
        return 0;
    for (apr_size_t i = 1; i < len; i++)
        if ((at[i] & 0xC0) != 0x80)
            return 0;
    int overlong = (lead == 0xE0 && at[1] < 0xA0) || (lead == 0xF0 && at[1] < 0x90);
    int surrogate = lead == 0xED && at[1] > 0x9F;
    int beyond = lead == 0xF4 && at[1] > 0x8F;
    return overlong || surrogate || beyond ? 0 : len;
}

int neo_utf8_is_valid(const char *text, apr_size_t len)
{
    const unsigned char *at = (const unsigned char *)text;
    for (apr_size_t i = 0; i < len;) {
        apr_size_t step = utf8_sequence(at + i, len - i);
        if (!step)
            return 0;
        i += step;
    }
    return 1;
}

apr_size_t neo_utf8_length(const char *text)
{
    apr_size_t n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xC0) != 0x80;
    return n;
}

neo_text neo_gzip(neo_text plain, apr_pool_t *pool)
{
    z_stream stream = {.next_in = (Bytef *)plain.ptr, .avail_in = (uInt)plain.len};
    if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
        abort();
    uLong size = deflateBound(&stream, plain.len);
    Bytef *out = apr_palloc(pool, size);
    stream.next_out = out;
    stream.avail_out = (uInt)size;
    if (deflate(&stream, Z_FINISH) != Z_STREAM_END)
        abort();
    deflateEnd(&stream);
    return (neo_text){(char *)out, stream.total_out};
}
