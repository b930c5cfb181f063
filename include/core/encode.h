/* Bytes and numbers as text and back: base64, base62, hexadecimal, integers, CRC-32, prints, UTF-8. */
#ifndef NEO_CORE_ENCODE_H
#define NEO_CORE_ENCODE_H

#include <apr_pools.h>

#include "core/buf.h"

/* base64url without padding (RFC 4648, section 5), from the pool. */
char *neo_base64url(const void *data, apr_size_t len, apr_pool_t *pool);

/* base64 with padding (RFC 4648, section 4), from the pool. */
char *neo_base64(const void *data, apr_size_t len, apr_pool_t *pool);

/* Reads base64 in either alphabet, padded or not. Returns the number of bytes, or -1 for other characters, a broken end
 * (also one whose unused bits are not zero, so that one value has one text) or more than `capacity` bytes. */
NEO_MUSTCHECK int neo_base64_decode(const char *text, apr_size_t len, unsigned char *out, apr_size_t capacity);

/* Writes 2 * len lowercase hexadecimal digits and a NUL. */
void neo_hex(const void *data, apr_size_t len, char *out);

/* Writes the unsigned big-endian number `data` as exactly `width` base62 digits (0-9A-Za-z), zeros in front, and a NUL.
 * 32 bytes need 43 digits, 4 bytes need 6. `len` is at most 64. */
void neo_base62(const unsigned char *data, apr_size_t len, char *out, int width);

/* CRC-32 (IEEE 802.3, as in zlib). */
unsigned int neo_crc32(const void *data, apr_size_t len);

/* 64 bits by which one text is told from another, as hexadecimal digits and a NUL: SipHash-2-4 under a key that is no secret,
 * so that a text has the same print on every host. Not for where somebody gains from two texts that have the same. */
#define NEO_FINGERPRINT_SIZE 17
void neo_fingerprint(const void *data, apr_size_t len, char out[NEO_FINGERPRINT_SIZE]);

/* Reads a decimal integer that is the whole of `text`; no spaces, no plus sign. False where it is none or does not fit. */
NEO_MUSTCHECK int neo_integer_parse(const char *text, long long *value);

/* True for well-formed UTF-8 (RFC 3629). */
NEO_MUSTCHECK int neo_utf8_is_valid(const char *text, apr_size_t len);

/* The number of code points of well-formed UTF-8. */
apr_size_t neo_utf8_length(const char *text);

#endif
