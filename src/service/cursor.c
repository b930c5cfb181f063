/* Cursors: the id at a page's edge and an expiry, encrypted and authenticated together with the list that they belong to. */
#include <apr_strings.h>
#include <string.h>

#include "call.h"
#include "core/encode.h"

#define PLAIN_SIZE  (NEO_ID_BYTES + 8) /* the id, the expiry in seconds */
#define SEALED_SIZE (PLAIN_SIZE + NEO_SEAL_EXTRA)

/* What must be the same in the request that sends the cursor. */
static neo_text context_of(const neo_call *call, const char *filters)
{
    const char *text = apr_pstrcat(call->pool, call->request->path, "\n", call->actor.organization, "\n", filters, NULL);
    return (neo_text){text, strlen(text)};
}

void neo_cursor_seal(const neo_call *call, const char *filters, const char *const ids[2], const char *cursors[2])
{
    unsigned char plain[PLAIN_SIZE], sealed[SEALED_SIZE];
    long long expiry = neo_now_ms() / 1000 + call->site->cursor_lifetime;
    neo_text context = context_of(call, filters);
    memcpy(plain + NEO_ID_BYTES, &expiry, sizeof expiry);
    for (int i = 0; i < 2; i++) {
        neo_id_pack(ids[i], plain);
        neo_seal(&call->site->keys, context, plain, sizeof plain, sealed);
        cursors[i] = neo_base64url(sealed, sizeof sealed, call->pool);
    }
}

static neo_problem *wrong(const neo_call *call, neo_code code, const char *message)
{
    neo_problem *problem = NULL;
    neo_problem_field(&problem, call->pool, code, "", "cursor", "%s", message);
    return problem;
}

neo_problem *neo_cursor_open(const neo_call *call, const char *filters, const char *cursor, const char *prefix,
                             char id[NEO_ID_SIZE])
{
    unsigned char sealed[SEALED_SIZE], plain[PLAIN_SIZE];
    long long expiry;
    /* the decoder also accepts padding and the other alphabet: a cursor would have several spellings */
    if (strpbrk(cursor, "+/=") || neo_base64_decode(cursor, strlen(cursor), sealed, sizeof sealed) != SEALED_SIZE ||
        neo_open(&call->site->keys, context_of(call, filters), sealed, sizeof sealed, plain) != PLAIN_SIZE)
        return wrong(call, NEO_VALIDATION_CURSOR_INVALID, "was not issued for this list, these filters and this organization");
    memcpy(&expiry, plain + NEO_ID_BYTES, sizeof expiry);
    if (expiry <= neo_now_ms() / 1000)
        return wrong(call, NEO_VALIDATION_CURSOR_EXPIRED, "has expired; start again from the first page");
    neo_id_unpack(id, prefix, plain);
    return NULL;
}
