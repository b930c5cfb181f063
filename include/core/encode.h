/* SPDX-License-Identifier: Apache-2.0 */
/* Encodings, checksums and compression: base64, base62, hexadecimal, integers, CRC-32, fingerprints, UTF-8, gzip. */
#ifndef NEO_CORE_ENCODE_H
#define NEO_CORE_ENCODE_H

#include "core/buf.h"

/* base64url without padding (RFC 4648, section 5). */
char *neo_base64url(const void *data, apr_size_t len, apr_pool_t *pool);

/* base64 with padding (RFC 4648, section 4). */
char *neo_base64(const void *data, apr_size_t len, apr_pool_t *pool);

/* Decodes base64 of either alphabet, with or without padding. Returns the number of bytes, or -1 for other characters, wrong
 * padding, unused bits that are not zero (so that a value has only one encoding), or more than `capacity` bytes. */
NEO_MUSTCHECK int neo_base64_decode(const char *text, apr_size_t len, unsigned char *out, apr_size_t capacity);

/* Writes 2 * len lowercase hexadecimal digits and a NUL. */
void neo_hex(const void *data, apr_size_t len, char *out);

/* Writes the big-endian number `data` as `width` base62 digits (0-9A-Za-z) with leading zeros, and a NUL. 32 bytes need 43
 * digits, 4 bytes need 6. `len` is at most 64. */
void neo_base62(const unsigned char *data, apr_size_t len, char *out, int width);

/* CRC-32 (IEEE 802.3, as in zlib). */
unsigned int neo_crc32(const void *data, apr_size_t len);

/* SipHash-2-4 as hexadecimal digits and a NUL. The key is fixed, so that a text has the same fingerprint on every host. Not for
 * input that an attacker chooses to make two texts collide. */
#define NEO_FINGERPRINT_SIZE 17
void neo_fingerprint(const void *data, apr_size_t len, char out[NEO_FINGERPRINT_SIZE]);

/* Parses a decimal integer without spaces or plus sign. Returns false if `text` is anything else or out of range. */
NEO_MUSTCHECK int neo_integer_parse(const char *text, long long *value);

/* Returns true for well-formed UTF-8 (RFC 3629). */
NEO_MUSTCHECK int neo_utf8_is_valid(const char *text, apr_size_t len);

/* The number of code points of well-formed UTF-8. */
apr_size_t neo_utf8_length(const char *text);

/* Compresses a document that is sent often in the gzip format (RFC 1952). Returns the same bytes at each call. */
neo_text neo_gzip(neo_text plain, apr_pool_t *pool);

#endif
