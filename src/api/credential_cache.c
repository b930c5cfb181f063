/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of credentials (see api/credential_cache.h): a hash table of reference-counted copies, which are constant
 * except for the fingerprint of the secret. */
#include "api/credential_cache.h"

#include <apr_siphash.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/secret.h"
#include "core/thread.h"

#define BUCKETS     4096
#define MAX_ENTRIES 16384 /* when it is full, all are dropped */
#define MAX_UNKNOWN 1024
#define MAX_USED    512 /* ids between two calls of take_used; more are noted after it */

/* One allocation: the credential, followed by the texts that it points to. */
typedef struct entry {
    struct entry *next;
    atomic_int references;
    _Atomic uint64_t fingerprint; /* that of the secret that was verified last; 0 if there is none */
    atomic_llong used_hour;       /* in which its use was noted; 0: not yet */
    neo_credential credential;
    char *next_text;
} entry;

struct neo_credential_cache {
    pthread_rwlock_t lock;
    entry *buckets[BUCKETS];
    int count;
    atomic_uint generation;
    atomic_llong fresh_until;             /* steady seconds */
    unsigned char key[APR_SIPHASH_KSIZE]; /* the fingerprints' key */
    uint64_t unknown[MAX_UNKNOWN];        /* fingerprints of ids; 0 if the place is free */
    pthread_mutex_t used_lock;            /* protects these two */
    atomic_int used_count;
    char used[MAX_USED][NEO_ID_SIZE];
    pthread_mutex_t writes_lock;
    neo_write_in_progress *writes; /* protected by it */
};

static apr_status_t destroy_cache(void *data)
{
    neo_credential_cache *cache = data;
    neo_credential_cache_clear(cache);
    pthread_rwlock_destroy(&cache->lock);
    pthread_mutex_destroy(&cache->used_lock);
    pthread_mutex_destroy(&cache->writes_lock);
    free(cache);
    return APR_SUCCESS;
}

neo_credential_cache *neo_credential_cache_make(apr_pool_t *pool)
{
    neo_credential_cache *cache = calloc(1, sizeof *cache);
    if (!cache || pthread_rwlock_init(&cache->lock, NULL) != 0)
        abort();
    neo_mutex_init(&cache->used_lock);
    neo_mutex_init(&cache->writes_lock);
    neo_random(cache->key, sizeof cache->key);
    apr_pool_cleanup_register(pool, cache, destroy_cache, apr_pool_cleanup_null);
    return cache;
}

static void release_entry(entry *e)
{
    if (atomic_fetch_sub(&e->references, 1) == 1)
        free(e);
}

static apr_status_t release_at_end(void *data)
{
    release_entry(data);
    return APR_SUCCESS;
}

void neo_credential_cache_mark_fresh(neo_credential_cache *cache)
{
    atomic_store(&cache->fresh_until, neo_steady_seconds() + NEO_CREDENTIAL_CACHE_TTL_S);
}

void neo_credential_cache_distrust(neo_credential_cache *cache)
{
    atomic_store(&cache->fresh_until, 0);
    neo_credential_cache_clear(cache);
}

static void clear_all(neo_credential_cache *cache)
{
    for (int b = 0; b < BUCKETS && cache->count; b++)
        for (entry *e; (e = cache->buckets[b]); cache->count--) {
            cache->buckets[b] = e->next;
            release_entry(e);
        }
    memset(cache->unknown, 0, sizeof cache->unknown);
}

void neo_credential_cache_clear(neo_credential_cache *cache)
{
    pthread_rwlock_wrlock(&cache->lock);
    atomic_fetch_add(&cache->generation, 1);
    clear_all(cache);
    pthread_rwlock_unlock(&cache->lock);
}

unsigned int neo_credential_cache_generation(neo_credential_cache *cache)
{
    return atomic_load(&cache->generation);
}

#define RANDOM_AT (NEO_ID_LEN - 12) /* the start of an id's random part */

static unsigned int bucket_index(const char *id)
{
    unsigned int hash = 2166136261u;
    for (int i = RANDOM_AT; i < NEO_ID_LEN; i++)
        hash = (hash ^ (unsigned char)id[i]) * 16777619u;
    return hash % BUCKETS;
}

/* `id` may be a secret, which begins with the id. */
static entry *find_entry(neo_credential_cache *cache, const char *id)
{
    entry *e = cache->buckets[bucket_index(id)];
    while (e && memcmp(e->credential.id, id, NEO_ID_LEN) != 0)
        e = e->next;
    return e;
}

/* Never 0, which means none. */
static uint64_t compute_hash(const neo_credential_cache *cache, const char *text, size_t len)
{
    uint64_t hash = apr_siphash24(text, len, cache->key);
    return hash ? hash : 1;
}

static uint64_t compute_fingerprint(const neo_credential_cache *cache, const char *text)
{
    return compute_hash(cache, text, NEO_SECRET_LEN);
}

static int is_fresh(const neo_credential_cache *cache)
{
    return neo_steady_seconds() < atomic_load(&cache->fresh_until);
}

/* The first use in an hour. Most requests only compare the hour. */
static void note_use(neo_credential_cache *cache, entry *e)
{
    long long hour = neo_steady_seconds() / 3600 + 1;
    if (atomic_load_explicit(&e->used_hour, memory_order_relaxed) == hour)
        return;
    pthread_mutex_lock(&cache->used_lock);
    int count = atomic_load(&cache->used_count);
    if (count < MAX_USED) {
        memcpy(cache->used[count], e->credential.id, NEO_ID_SIZE);
        atomic_store(&cache->used_count, count + 1);
        atomic_store(&e->used_hour, hour);
    }
    pthread_mutex_unlock(&cache->used_lock);
}

const char *neo_credential_cache_take_used(neo_credential_cache *cache, apr_pool_t *pool)
{
    neo_buf ids;
    if (atomic_load(&cache->used_count) == 0)
        return NULL;
    neo_buf_init(&ids, pool, 256);
    pthread_mutex_lock(&cache->used_lock);
    for (int i = 0; i < atomic_load(&cache->used_count); i++)
        neo_buf_printf(&ids, "%s%s", i ? "," : "", cache->used[i]);
    atomic_store(&cache->used_count, 0);
    pthread_mutex_unlock(&cache->used_lock);
    return ids.ptr;
}

/* The entry, whose fingerprint must be the one given unless that is 0; NULL if it is not cached. Under the lock. */
static entry *find_verified(neo_credential_cache *cache, const char *id, uint64_t fingerprint)
{
    entry *e = find_entry(cache, id);
    return e && fingerprint && atomic_load(&e->fingerprint) != fingerprint ? NULL : e;
}

/* If `fingerprint` is not 0, it must be that of the secret that was verified last. */
static const neo_credential *lookup(neo_credential_cache *cache, const char *id, uint64_t fingerprint, apr_pool_t *pool)
{
    if (!is_fresh(cache))
        return NULL;
    pthread_rwlock_rdlock(&cache->lock);
    entry *e = find_verified(cache, id, fingerprint);
    if (e)
        atomic_fetch_add(&e->references, 1);
    pthread_rwlock_unlock(&cache->lock);
    if (!e)
        return NULL;
    if (fingerprint)
        note_use(cache, e);
    apr_pool_cleanup_register(pool, e, release_at_end, apr_pool_cleanup_null);
    return &e->credential;
}

const neo_credential *neo_credential_cache_get(neo_credential_cache *cache, const char *id, apr_pool_t *pool)
{
    return lookup(cache, id, 0, pool);
}

static int has_secret_length(const char *text)
{
    return strnlen(text, NEO_SECRET_SIZE) == NEO_SECRET_LEN;
}

const neo_credential *neo_credential_cache_get_verified(neo_credential_cache *cache, const char *text, apr_pool_t *pool)
{
    return has_secret_length(text) ? lookup(cache, text, compute_fingerprint(cache, text), pool) : NULL;
}

int neo_credential_cache_has_verified(neo_credential_cache *cache, const char *text, const neo_credential *credential)
{
    if (!is_fresh(cache) || !has_secret_length(text))
        return 0;
    uint64_t fingerprint = compute_fingerprint(cache, text);
    pthread_rwlock_rdlock(&cache->lock);
    const entry *e = find_verified(cache, text, fingerprint);
    pthread_rwlock_unlock(&cache->lock);
    return e && &e->credential == credential;
}

int neo_credential_cache_has(neo_credential_cache *cache, const neo_credential *credential)
{
    if (!is_fresh(cache))
        return 0;
    pthread_rwlock_rdlock(&cache->lock);
    const entry *e = find_entry(cache, credential->id);
    pthread_rwlock_unlock(&cache->lock);
    return e && &e->credential == credential;
}

/* The entry may be newer than the credential that was verified, and have another secret; so the hashes are compared. */
void neo_credential_cache_set_verified(neo_credential_cache *cache, const neo_credential *credential, const char *text)
{
    uint64_t fingerprint = compute_fingerprint(cache, text);
    pthread_rwlock_rdlock(&cache->lock);
    entry *e = find_entry(cache, credential->id);
    if (e && memcmp(e->credential.hash, credential->hash, sizeof e->credential.hash) == 0)
        atomic_store(&e->fingerprint, fingerprint);
    if (e)
        note_use(cache, e);
    pthread_rwlock_unlock(&cache->lock);
}

static apr_size_t text_size(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

static const char *copy_text(entry *e, const char *text)
{
    char *copy = e->next_text;
    if (!text)
        return NULL;
    memcpy(copy, text, text_size(text));
    e->next_text += text_size(text);
    return copy;
}

static entry *copy_credential(const neo_credential *c)
{
    apr_size_t list = (apr_size_t)c->organization_count * sizeof(const char *);
    apr_size_t networks = (apr_size_t)c->network_count * sizeof(neo_network);
    apr_size_t size =
        sizeof(entry) + list + networks + text_size(c->tenant) + text_size(c->role) + text_size(c->user) + text_size(c->email);
    for (int i = 0; i < c->organization_count; i++)
        size += text_size(c->organizations[i]);
    entry *e = malloc(size);
    if (!e)
        abort();
    e->next = NULL;
    atomic_init(&e->references, 1);
    atomic_init(&e->fingerprint, 0);
    atomic_init(&e->used_hour, 0);
    e->credential = *c;
    const char **organizations = (const char **)(e + 1);
    neo_network *copied = (neo_network *)(organizations + c->organization_count);
    if (networks)
        memcpy(copied, c->networks, networks);
    e->credential.networks = copied;
    e->next_text = (char *)(copied + c->network_count);
    for (int i = 0; i < c->organization_count; i++)
        organizations[i] = copy_text(e, c->organizations[i]);
    e->credential.organizations = organizations;
    e->credential.tenant = copy_text(e, c->tenant);
    e->credential.role = copy_text(e, c->role);
    e->credential.user = copy_text(e, c->user);
    e->credential.email = copy_text(e, c->email);
    return e;
}

void neo_credential_cache_put(neo_credential_cache *cache, unsigned int generation, const neo_credential *credential)
{
    entry *e = copy_credential(credential);
    pthread_rwlock_wrlock(&cache->lock);
    if (generation == atomic_load(&cache->generation) && !find_entry(cache, credential->id)) {
        if (cache->count >= MAX_ENTRIES)
            clear_all(cache);
        entry **bucket = &cache->buckets[bucket_index(credential->id)];
        e->next = *bucket;
        *bucket = e;
        cache->count++;
        e = NULL;
    }
    pthread_rwlock_unlock(&cache->lock);
    free(e);
}

void neo_credential_cache_put_unknown(neo_credential_cache *cache, unsigned int generation, const char *id)
{
    uint64_t hash = compute_hash(cache, id, NEO_ID_LEN);
    pthread_rwlock_wrlock(&cache->lock);
    if (generation == atomic_load(&cache->generation))
        cache->unknown[hash % MAX_UNKNOWN] = hash;
    pthread_rwlock_unlock(&cache->lock);
}

int neo_credential_cache_is_unknown(neo_credential_cache *cache, const char *id)
{
    uint64_t hash = compute_hash(cache, id, NEO_ID_LEN);
    pthread_rwlock_rdlock(&cache->lock);
    int is_unknown = is_fresh(cache) && cache->unknown[hash % MAX_UNKNOWN] == hash;
    pthread_rwlock_unlock(&cache->lock);
    return is_unknown;
}

/* ---------------------------------------------------------------- writes in progress */

void neo_credential_cache_enter_write(neo_credential_cache *cache, neo_write_in_progress *write)
{
    pthread_mutex_lock(&cache->writes_lock);
    write->generation = atomic_load(&cache->generation);
    write->next = cache->writes;
    cache->writes = write;
    pthread_mutex_unlock(&cache->writes_lock);
}

void neo_credential_cache_refresh_write(neo_credential_cache *cache, neo_write_in_progress *write)
{
    pthread_mutex_lock(&cache->writes_lock);
    write->generation = atomic_load(&cache->generation);
    pthread_mutex_unlock(&cache->writes_lock);
}

void neo_credential_cache_join_writes(neo_credential_cache *cache, neo_write_in_progress *write,
                                      const neo_write_in_progress *other)
{
    pthread_mutex_lock(&cache->writes_lock);
    if (other->generation != atomic_load(&cache->generation))
        write->generation = other->generation;
    pthread_mutex_unlock(&cache->writes_lock);
}

void neo_credential_cache_leave_write(neo_credential_cache *cache, const neo_write_in_progress *write)
{
    pthread_mutex_lock(&cache->writes_lock);
    neo_write_in_progress **at = &cache->writes;
    while (*at != write)
        at = &(*at)->next;
    *at = write->next;
    pthread_mutex_unlock(&cache->writes_lock);
}

int neo_credential_cache_has_outdated_writes(neo_credential_cache *cache)
{
    unsigned int generation = atomic_load(&cache->generation);
    pthread_mutex_lock(&cache->writes_lock);
    const neo_write_in_progress *w = cache->writes;
    while (w && w->generation == generation)
        w = w->next;
    pthread_mutex_unlock(&cache->writes_lock);
    return w != NULL;
}
