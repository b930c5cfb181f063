/* SPDX-License-Identifier: Apache-2.0 */
/* Cursors: the place of a page's edge in the list, an expiry, and a MAC over both and the list that they belong to. They are
 * not encrypted: they contain nothing that their page does not show. */
#include <apr_strings.h>
#include <string.h>

#include "call.h"
#include "core/encode.h"

#define EXPIRY      NEO_ID_BYTES /* in seconds, after the id */
#define POSITION    (EXPIRY + 8) /* see neo_place */
#define PLAIN_SIZE  (POSITION + 8)
#define MAC_SIZE    16 /* HMAC-SHA-256, truncated */
#define CURSOR_SIZE (PLAIN_SIZE + MAC_SIZE)

/* What must be the same in the request that sends the cursor. */
static const char *list_text(const neo_call *call, const char *filters)
{
    return apr_pstrcat(call->pool, call->request->path, "\n", call->actor.organization, "\n", filters, NULL);
}

static void compute_mac(const unsigned char key[NEO_KEY_SIZE], const char *list, const unsigned char *plain,
                        unsigned char mac[NEO_SHA256_SIZE])
{
    const neo_text pieces[] = {{(const char *)plain, PLAIN_SIZE}, {list, strlen(list)}};
    neo_hmac_sha256(key, NEO_KEY_SIZE, pieces, 2, mac);
}

void neo_cursor_seal(const neo_call *call, const char *filters, const neo_place places[2], const char *cursors[2])
{
    unsigned char bytes[CURSOR_SIZE], mac[NEO_SHA256_SIZE];
    long long expiry = neo_now_ms() / 1000 + call->site->cursor_lifetime;
    const char *list = list_text(call, filters);
    memcpy(bytes + EXPIRY, &expiry, sizeof expiry);
    for (int i = 0; i < 2; i++) {
        neo_id_pack(places[i].id, bytes);
        memcpy(bytes + POSITION, &places[i].position, sizeof places[i].position);
        compute_mac(call->site->cursor_keys.key[0], list, bytes, mac);
        memcpy(bytes + PLAIN_SIZE, mac, MAC_SIZE);
        cursors[i] = neo_base64url(bytes, sizeof bytes, call->pool);
    }
}

static int is_genuine(const neo_call *call, const char *filters, const unsigned char bytes[CURSOR_SIZE])
{
    unsigned char mac[NEO_SHA256_SIZE];
    const neo_keys *keys = &call->site->cursor_keys;
    const char *list = list_text(call, filters);
    int is_equal = 0;
    for (int i = 0; i < keys->count && !is_equal; i++) {
        compute_mac(keys->key[i], list, bytes, mac);
        is_equal = neo_equal_constant_time(mac, bytes + PLAIN_SIZE, MAC_SIZE);
    }
    return is_equal;
}

static neo_problem *cursor_error(const neo_call *call, neo_code code, const char *message)
{
    neo_problem *problem = NULL;
    neo_problem_field(&problem, call->pool, code, "", "cursor", "%s", message);
    return problem;
}

neo_problem *neo_cursor_open(const neo_call *call, const char *filters, const char *cursor, const char *prefix,
                             neo_place *place)
{
    unsigned char bytes[CURSOR_SIZE];
    long long expiry;
    /* the decoder also accepts padding and the other alphabet: a cursor would have several spellings */
    if (strpbrk(cursor, "+/=") || neo_base64_decode(cursor, strlen(cursor), bytes, sizeof bytes) != CURSOR_SIZE ||
        !is_genuine(call, filters, bytes))
        return cursor_error(call, NEO_VALIDATION_CURSOR_INVALID,
                            "was not issued for this list, these filters, this order and this organization");
    memcpy(&expiry, bytes + EXPIRY, sizeof expiry);
    if (expiry <= neo_now_ms() / 1000)
        return cursor_error(call, NEO_VALIDATION_CURSOR_EXPIRED, "has expired; start again from the first page");
    neo_id_unpack(place->id, prefix, bytes);
    memcpy(&place->position, bytes + POSITION, sizeof place->position);
    return NULL;
}
