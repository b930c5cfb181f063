/* SPDX-License-Identifier: Apache-2.0 */
/* Issuing and reading ULID-based ids (see core/id.h). */
#include "core/id.h"

#include <pthread.h>
#include <string.h>

#include "core/crypto.h"

static const char crockford[] = "0123456789abcdefghjkmnpqrstvwxyz";

static pthread_mutex_t issuing = PTHREAD_MUTEX_INITIALIZER;
static unsigned char last_issued[NEO_ID_BYTES];

static void put_ms(unsigned char ulid[NEO_ID_BYTES], neo_ms ms)
{
    for (int i = 5; i >= 0; i--, ms >>= 8)
        ulid[i] = (unsigned char)(ms & 0xFF);
}

static neo_ms get_ms(const unsigned char ulid[NEO_ID_BYTES])
{
    neo_ms ms = 0;
    for (int i = 0; i < 6; i++)
        ms = ms << 8 | ulid[i];
    return ms;
}

/* Sets the lowest 20 bits, which are the last four digits. */
static void fill_low_bits(unsigned char ulid[NEO_ID_BYTES])
{
    ulid[NEO_ID_BYTES - 3] |= 0x0F;
    ulid[NEO_ID_BYTES - 2] = ulid[NEO_ID_BYTES - 1] = 0xFF;
}

/* 26 digits have 130 bits, so the first digit has only 3 of the 128. */
static void encode(char *out, const unsigned char ulid[NEO_ID_BYTES])
{
    unsigned int bits = 0;
    int have = 2; /* two zero bits in front */
    for (int i = 0; i < NEO_ID_BYTES; i++) {
        bits = (bits << 8 | ulid[i]) & 0xFFFF;
        for (have += 8; have >= 5; have -= 5)
            *out++ = crockford[bits >> (have - 5) & 31];
    }
    *out = '\0';
}

/* The value of each digit plus one, so that 0 is no digit. */
static const unsigned char digit_values[256] = {
    ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
    ['g'] = 17, ['h'] = 18, ['j'] = 19, ['k'] = 20, ['m'] = 21, ['n'] = 22, ['p'] = 23, ['q'] = 24,
    ['r'] = 25, ['s'] = 26, ['t'] = 27, ['v'] = 28, ['w'] = 29, ['x'] = 30, ['y'] = 31, ['z'] = 32};

static int digit_value(char c)
{
    return digit_values[(unsigned char)c] - 1;
}

/* Increments last_issued, or moves it to a new millisecond: also to an earlier one if the time was corrected by more than a
 * step of the clock (see core/clock.h). The caller holds the lock. */
static void advance(neo_ms now)
{
    neo_ms last = get_ms(last_issued);
    if (now > last || now + NEO_MAX_CLOCK_STEP_MS < last) {
        put_ms(last_issued, now);
        neo_random(last_issued + 6, NEO_ID_BYTES - 6);
        last_issued[6] &= 0x7F; /* room to count up within the millisecond */
    } else {
        for (int i = NEO_ID_BYTES - 1; i >= 0 && ++last_issued[i] == 0; i--)
            ;
    }
}

neo_ms neo_id_issue(char out[NEO_ID_SIZE], const char *prefix)
{
    unsigned char ulid[NEO_ID_BYTES];
    neo_ms now = neo_now_ms();
    pthread_mutex_lock(&issuing);
    advance(now);
    memcpy(ulid, last_issued, sizeof ulid);
    pthread_mutex_unlock(&issuing);
    neo_id_unpack(out, prefix, ulid);
    return get_ms(ulid);
}

/* The ids of a block share the upper 108 bits. The block starts after the last issued id, and its end counts as issued. */
void neo_id_issue_block(char id_block[NEO_ID_BLOCK_SIZE], const char *prefix)
{
    unsigned char ulid[NEO_ID_BYTES];
    char first[NEO_ID_SIZE];
    neo_ms now = neo_now_ms();
    pthread_mutex_lock(&issuing);
    fill_low_bits(last_issued);
    advance(now);
    fill_low_bits(last_issued);
    memcpy(ulid, last_issued, sizeof ulid);
    pthread_mutex_unlock(&issuing);
    neo_id_unpack(first, prefix, ulid);
    memcpy(id_block, first, NEO_ID_BLOCK_SIZE - 1);
    id_block[NEO_ID_BLOCK_SIZE - 1] = '\0';
}

int neo_id_is(const char *text, const char *prefix)
{
    if (strncmp(text, prefix, NEO_PREFIX_LEN) != 0 || strlen(text) != NEO_ID_LEN)
        return 0;
    const char *ulid = text + NEO_PREFIX_LEN;
    for (int i = 0; i < NEO_ULID_LEN; i++)
        if (digit_value(ulid[i]) < 0)
            return 0;
    return digit_value(ulid[0]) < 8;
}

void neo_id_bound(char out[NEO_ID_SIZE], const char *prefix, neo_ms ms, int last)
{
    unsigned char ulid[NEO_ID_BYTES];
    memset(ulid, last && ms >= 0 ? 0xFF : 0, sizeof ulid);
    put_ms(ulid, ms >= 0 ? ms : 0);
    neo_id_unpack(out, prefix, ulid);
}

void neo_id_pack(const char *id, unsigned char out[NEO_ID_BYTES])
{
    const char *ulid = id + NEO_PREFIX_LEN;
    unsigned int bits = 0;
    int have = -2;
    for (int i = 0; i < NEO_ULID_LEN; i++) {
        bits = (bits << 5 | (unsigned int)digit_value(ulid[i])) & 0xFFFF;
        have += 5;
        if (have >= 8) {
            have -= 8;
            *out++ = (unsigned char)(bits >> have);
        }
    }
}

void neo_id_unpack(char out[NEO_ID_SIZE], const char *prefix, const unsigned char bytes[NEO_ID_BYTES])
{
    memcpy(out, prefix, NEO_PREFIX_LEN);
    encode(out + NEO_PREFIX_LEN, bytes);
}
