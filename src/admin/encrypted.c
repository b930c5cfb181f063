/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the encrypted secrets by key, and encrypts them again (see admin/encrypted.h). */
#include "admin/encrypted.h"

#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "pg/pg.h"

#define PAGE_ROWS  1000
#define PLACE_SIZE 400

enum { ROW, SECRET, AUTHENTICATED, PLACE };

#define BY_ID "organization_id, id", "format('%L, %L', organization_id, id)"

/* Inactive subscriptions count, because they can be activated again. A rotation of a subscription's secret or key moves it
 * to the column that therefore comes after it. */
static const struct column {
    const char *table, *name;
    const char *authenticated; /* the row's id that the secret is bound to */
    const char *order, *place; /* the primary key, and its values as SQL */
    const char *is_used;
} columns[] = {
    {"webhook_subscription", "secret", "id", BY_ID, "true"},
    {"webhook_subscription", "previous_secret", "id", BY_ID, "previous_secret_until > now()"},
    {"webhook_header", "value", "subscription_id", "organization_id, subscription_id, name",
     "format('%L, %L, %L', organization_id, subscription_id, name)", "true"},
    {"webhook_subscription", "private_key", "id", BY_ID, "private_key is not null"},
    {"webhook_subscription", "previous_private_key", "id", BY_ID, "previous_public_key_until > now()"},
    {"whatsapp_number", "access_token", "id", BY_ID, "true"},
    {"whatsapp_number", "app_secret", "id", BY_ID, "true"},
    {"idempotency_key", "secret", "response_body::json->>'id'", "organization_id, credential_id, key",
     "format('%L, %L, %L', organization_id, credential_id, key)", "secret is not null and expires_at > now()"},
};

typedef struct {
    neo_pg *pg;
    const neo_keys *keys;
    neo_encrypted_action action;
    neo_encrypted_counts *counts;
} walk;

/* The secrets of a page that get the first key, as PostgreSQL arrays. */
typedef struct {
    neo_buf rows, old_secrets, new_secrets, old_keys;
} renewal;

/* Returns the index of the key that decrypts a secret, and sets *plain; -1 if none does. */
static int find_key(const neo_keys *keys, const char *id, const char *sealed, apr_pool_t *pool, const char **plain)
{
    int found = -1;
    neo_keys one = {.count = 1};
    for (int i = 0; i < keys->count && id && found < 0; i++) {
        memcpy(one.key[0], keys->key[i], NEO_KEY_SIZE);
        *plain = neo_secret_open(&one, id, sealed, pool);
        found = *plain ? i : -1;
    }
    explicit_bzero(&one, sizeof one);
    return found;
}

/* The secret is compared again, because its row may have been changed since it was read. */
static const char *store(const walk *w, const struct column *c, renewal *r, apr_pool_t *pool)
{
    neo_rows rows;
    const char *values[] = {neo_array_end(&r->rows), neo_array_end(&r->old_secrets), neo_array_end(&r->new_secrets),
                            neo_array_end(&r->old_keys)};
    const char *sql =
        apr_psprintf(pool,
                     "with found as materialized (select t.ctid as at, v.new_secret, v.old_key from neoapi.%s t"
                     " join unnest($1::tid[], $2::text[], $3::text[], $4::int[]) v (at, old_secret, new_secret, old_key)"
                     " on t.ctid = v.at and t.%s = v.old_secret"
                     " where t.ctid = any ($1::tid[]) for no key update of t skip locked)"
                     " update neoapi.%s t set %s = found.new_secret from found where t.ctid = found.at returning found.old_key",
                     c->table, c->name, c->table, c->name);
    if (neo_pg_exec(w->pg, sql, 4, values, pool, &rows) != NEO_PG_OK)
        return rows.message;
    for (int i = 0; i < rows.count; i++)
        w->counts->by_key[atoi(neo_rows_value(&rows, i, 0))]--;
    w->counts->by_key[0] += rows.count;
    w->counts->renewed += rows.count;
    return NULL;
}

static void add_secret(const walk *w, const neo_rows *page, int row, renewal *r, apr_pool_t *pool)
{
    const char *plain, *id = neo_rows_value(page, row, AUTHENTICATED), *sealed = neo_rows_value(page, row, SECRET);
    int key = find_key(w->keys, id, sealed, pool, &plain);
    if (key < 0) {
        w->counts->undecryptable++;
        return;
    }
    w->counts->by_key[key]++;
    if (key == 0 || w->action == NEO_ENCRYPTED_COUNT)
        return;
    neo_array_add(&r->rows, neo_rows_value(page, row, ROW));
    neo_array_add(&r->old_secrets, sealed);
    neo_array_add(&r->new_secrets, neo_secret_seal(w->keys, id, plain, pool));
    neo_array_add_number(&r->old_keys, key);
}

/* Reads the page after `place`, if it is not empty, and sets it to that of the page's last row; '\0' if no page follows. */
static const char *walk_page(const walk *w, const struct column *c, char place[PLACE_SIZE], apr_pool_t *pool)
{
    neo_rows page;
    renewal r;
    for (neo_buf *each[] = {&r.rows, &r.old_secrets, &r.new_secrets, &r.old_keys}, **b = each; b < each + 4; b++)
        neo_buf_init(*b, pool, 0);
    const char *after = *place ? apr_psprintf(pool, "(%s) > (%s)", c->order, place) : "true";
    const char *row_id = w->action == NEO_ENCRYPTED_RENEW ? "ctid" : "null"; /* ctid needs a privilege on the whole table */
    const char *sql = apr_psprintf(pool, "select %s, %s, %s, %s from neoapi.%s where %s and %s order by %s limit %d", row_id,
                                   c->name, c->authenticated, c->place, c->table, c->is_used, after, c->order, PAGE_ROWS);
    if (neo_pg_exec(w->pg, sql, 0, NULL, pool, &page) != NEO_PG_OK)
        return page.message;
    for (int row = 0; row < page.count; row++)
        add_secret(w, &page, row, &r, pool);
    apr_cpystrn(place, page.count == PAGE_ROWS ? neo_rows_value(&page, page.count - 1, PLACE) : "", PLACE_SIZE);
    return r.rows.len ? store(w, c, &r, pool) : NULL;
}

/* The roles of httpd cannot read all columns. */
static const char *check_privilege(const walk *w, const struct column *c, apr_pool_t *pool, int *is_granted)
{
    neo_rows rows;
    const char *sql = apr_psprintf(pool, "select has_column_privilege('neoapi.%s', '%s', 'select')", c->table, c->name);
    if (neo_pg_exec(w->pg, sql, 0, NULL, pool, &rows) != NEO_PG_OK)
        return rows.message;
    *is_granted = neo_rows_is_true(&rows, 0, 0);
    w->counts->is_partial |= !*is_granted;
    return NULL;
}

static const char *walk_column(const walk *w, const struct column *c, apr_pool_t *parent)
{
    int is_granted = 0;
    char place[PLACE_SIZE] = "";
    apr_pool_t *pool;
    const char *error = check_privilege(w, c, parent, &is_granted);
    if (error || !is_granted)
        return error;
    apr_pool_create(&pool, parent);
    do {
        apr_pool_clear(pool);
        error = walk_page(w, c, place, pool);
    } while (!error && *place);
    error = error ? apr_pstrdup(parent, error) : NULL;
    apr_pool_destroy(pool);
    return error;
}

const char *neo_encrypted_walk(neo_pg *pg, const neo_keys *keys, neo_encrypted_action action, apr_pool_t *pool,
                               neo_encrypted_counts *counts)
{
    const char *error = NULL;
    const walk w = {pg, keys, action, counts};
    memset(counts, 0, sizeof *counts);
    for (size_t i = 0; !error && i < sizeof columns / sizeof *columns; i++)
        error = walk_column(&w, &columns[i], pool);
    return error;
}
