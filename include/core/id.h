/* SPDX-License-Identifier: Apache-2.0 */
/* Ids: a prefix for the kind and a ULID in lowercase Crockford base32, "brk_01jd3x…" (30 characters).
 * A ULID has 48 bits of milliseconds and 80 random bits, so ids sort by the time of issue, which is the resource's
 * created_at. */
#ifndef NEO_CORE_ID_H
#define NEO_CORE_ID_H

#include "core/buf.h"
#include "core/clock.h"

#define NEO_ULID_LEN   26
#define NEO_PREFIX_LEN 4 /* three letters and the underscore */
#define NEO_ID_LEN     (NEO_PREFIX_LEN + NEO_ULID_LEN)
#define NEO_ID_SIZE    (NEO_ID_LEN + 1)
#define NEO_ID_BYTES   16 /* a ULID as a big-endian number */

/* Issues an id that is greater than all that this process issued before, even within a millisecond or after the clock stepped
 * back. `prefix`: "brk_". Returns the id's time. Thread-safe. */
neo_ms neo_id_issue(char out[NEO_ID_SIZE], const char *prefix);

/* Reserves 2^20 consecutive ids, which the database issues (neoapi.block_id). `id_block` is their common prefix. */
#define NEO_ID_BLOCK_SIZE (NEO_ID_LEN - 4 + 1)
void neo_id_issue_block(char id_block[NEO_ID_BLOCK_SIZE], const char *prefix);

/* Returns true if `text` is the prefix and a ULID as neo_id_issue writes it. */
NEO_MUSTCHECK int neo_id_is(const char *text, const char *prefix);

/* Writes the smallest (`last` 0) or greatest (`last` 1) id of a millisecond: the ends of a range of creation times. Before 1970
 * both are the smallest id there is, which is never issued. */
void neo_id_bound(char out[NEO_ID_SIZE], const char *prefix, neo_ms ms, int last);

/* The ULID of a valid id as 16 bytes, and back. */
void neo_id_pack(const char *id, unsigned char out[NEO_ID_BYTES]);
void neo_id_unpack(char out[NEO_ID_SIZE], const char *prefix, const unsigned char bytes[NEO_ID_BYTES]);

#endif
