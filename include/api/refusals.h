/* SPDX-License-Identifier: Apache-2.0 */
/* The requests of each credential that this host refused lately, in shared memory. No request waits for another one. */
#ifndef NEO_API_REFUSALS_H
#define NEO_API_REFUSALS_H

#include <apr_pools.h>

#include "core/clock.h"
#include "core/id.h"

#define NEO_MAX_REFUSALS 100 /* for each credential */

/* All texts end in a zero byte, and longer ones are cut off. */
typedef struct neo_refusal {
    char principal[NEO_ID_SIZE];
    char request_id[NEO_ID_SIZE];
    char method[8];
    char path[200];
    char code[80];
    char detail[240];
    int status;
    neo_ms at;
} neo_refusal;

typedef struct neo_refusals neo_refusals;

/* The size in bytes. New memory must be zeroed; pages of it are used as credentials are refused. */
apr_size_t neo_refusals_size(void);
neo_refusals *neo_refusals_attach(void *memory);

/* Copies a text into a member of a refusal of `size` bytes, cut off between two characters of UTF-8. NULL is an empty text. */
void neo_refusal_set(char *member, apr_size_t size, const char *text);

/* Replaces the credential's oldest refusal, and if too many credentials have some, those of the one that was refused least
 * recently. Drops the refusal instead of waiting for another process. */
void neo_refusals_add(neo_refusals *refusals, const neo_refusal *refusal);

/* Reads the credential's refusals, newest first; returns their number. */
int neo_refusals_read(neo_refusals *refusals, const char *principal, neo_refusal found[NEO_MAX_REFUSALS]);

#endif
