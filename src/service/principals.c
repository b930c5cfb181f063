/* The cache of credentials (see service/principals.h): a hash table of reference-counted copies. Nothing about them changes but
 * which text is remembered. */
#include "service/principals.h"

#include <apr_siphash.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/secret.h"

#define BUCKETS 4096
#define MOST    16384 /* credentials kept; beyond, all are forgotten */

/* One block of memory: the credential, and behind it the texts that it points to. */
typedef struct entry {
    struct entry *next;
    atomic_int references;
    _Atomic uint64_t print; /* of the text to be recalled; 0: none */
    neo_credential credential;
    char *room;
} entry;

struct neo_principals {
    pthread_rwlock_t lock;
    entry *buckets[BUCKETS];
    int count;
    atomic_uint generation;
    atomic_llong believed_until;          /* steady seconds */
    unsigned char key[APR_SIPHASH_KSIZE]; /* of the prints */
};

static apr_status_t destroy(void *data)
{
    neo_principals *principals = data;
    neo_principals_forget(principals);
    pthread_rwlock_destroy(&principals->lock);
    free(principals);
    return APR_SUCCESS;
}

neo_principals *neo_principals_make(apr_pool_t *pool)
{
    neo_principals *principals = calloc(1, sizeof *principals);
    if (!principals || pthread_rwlock_init(&principals->lock, NULL) != 0)
        abort();
    neo_random(principals->key, sizeof principals->key);
    apr_pool_cleanup_register(pool, principals, destroy, apr_pool_cleanup_null);
    return principals;
}

static void release(entry *e)
{
    if (atomic_fetch_sub(&e->references, 1) == 1)
        free(e);
}

static apr_status_t release_at_end(void *data)
{
    release(data);
    return APR_SUCCESS;
}

void neo_principals_heard(neo_principals *principals)
{
    atomic_store(&principals->believed_until, neo_steady_seconds() + NEO_PRINCIPALS_BELIEVED);
}

void neo_principals_doubt(neo_principals *principals)
{
    atomic_store(&principals->believed_until, 0);
    neo_principals_forget(principals);
}

static void forget_all(neo_principals *principals)
{
    for (int b = 0; b < BUCKETS && principals->count; b++)
        for (entry *e; (e = principals->buckets[b]); principals->count--) {
            principals->buckets[b] = e->next;
            release(e);
        }
}

void neo_principals_forget(neo_principals *principals)
{
    pthread_rwlock_wrlock(&principals->lock);
    atomic_fetch_add(&principals->generation, 1);
    forget_all(principals);
    pthread_rwlock_unlock(&principals->lock);
}

unsigned int neo_principals_generation(neo_principals *principals)
{
    return atomic_load(&principals->generation);
}

#define RANDOM_AT (NEO_ID_LEN - 12) /* where an id is random */

static unsigned int bucket_of(const char *id)
{
    unsigned int hash = 2166136261u;
    for (int i = RANDOM_AT; i < NEO_ID_LEN; i++)
        hash = (hash ^ (unsigned char)id[i]) * 16777619u;
    return hash % BUCKETS;
}

/* `id` may be a secret, which begins with one. */
static entry *find(neo_principals *principals, const char *id)
{
    entry *e = principals->buckets[bucket_of(id)];
    while (e && memcmp(e->credential.id, id, NEO_ID_LEN) != 0)
        e = e->next;
    return e;
}

/* Never 0, which is no text's. */
static uint64_t print_of(const neo_principals *principals, const char *text)
{
    uint64_t print = apr_siphash24(text, NEO_SECRET_LEN, principals->key);
    return print ? print : 1;
}

/* `print`: of the text that must be the one that is remembered; 0: it need not be. */
static const neo_credential *take(neo_principals *principals, const char *id, uint64_t print, apr_pool_t *pool)
{
    if (neo_steady_seconds() >= atomic_load(&principals->believed_until))
        return NULL;
    pthread_rwlock_rdlock(&principals->lock);
    entry *e = find(principals, id);
    if (e && print && atomic_load(&e->print) != print)
        e = NULL;
    if (e)
        atomic_fetch_add(&e->references, 1);
    pthread_rwlock_unlock(&principals->lock);
    if (!e)
        return NULL;
    apr_pool_cleanup_register(pool, e, release_at_end, apr_pool_cleanup_null);
    return &e->credential;
}

const neo_credential *neo_principals_find(neo_principals *principals, const char *id, apr_pool_t *pool)
{
    return take(principals, id, 0, pool);
}

const neo_credential *neo_principals_recall(neo_principals *principals, const char *text, apr_pool_t *pool)
{
    return strnlen(text, NEO_SECRET_SIZE) == NEO_SECRET_LEN ? take(principals, text, print_of(principals, text), pool) : NULL;
}

/* What is kept may have come after the credential that the text was compared with, and have another secret. */
void neo_principals_remember(neo_principals *principals, const neo_credential *credential, const char *text)
{
    uint64_t print = print_of(principals, text);
    pthread_rwlock_rdlock(&principals->lock);
    entry *e = find(principals, credential->id);
    if (e && memcmp(e->credential.hash, credential->hash, sizeof e->credential.hash) == 0)
        atomic_store(&e->print, print);
    pthread_rwlock_unlock(&principals->lock);
}

static apr_size_t size_of(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

static const char *copy_text(entry *e, const char *text)
{
    char *copy = e->room;
    if (!text)
        return NULL;
    memcpy(copy, text, size_of(text));
    e->room += size_of(text);
    return copy;
}

static entry *copy_of(const neo_credential *c)
{
    apr_size_t list = (apr_size_t)c->organization_count * sizeof(const char *);
    apr_size_t size = sizeof(entry) + list + size_of(c->tenant) + size_of(c->role) + size_of(c->user) + size_of(c->email);
    for (int i = 0; i < c->organization_count; i++)
        size += size_of(c->organizations[i]);
    entry *e = malloc(size);
    if (!e)
        abort();
    e->next = NULL;
    atomic_init(&e->references, 1);
    atomic_init(&e->print, 0);
    e->credential = *c;
    const char **organizations = (const char **)(e + 1);
    e->room = (char *)(organizations + c->organization_count);
    for (int i = 0; i < c->organization_count; i++)
        organizations[i] = copy_text(e, c->organizations[i]);
    e->credential.organizations = organizations;
    e->credential.tenant = copy_text(e, c->tenant);
    e->credential.role = copy_text(e, c->role);
    e->credential.user = copy_text(e, c->user);
    e->credential.email = copy_text(e, c->email);
    return e;
}

void neo_principals_keep(neo_principals *principals, unsigned int generation, const neo_credential *credential)
{
    entry *e = copy_of(credential);
    pthread_rwlock_wrlock(&principals->lock);
    if (generation == atomic_load(&principals->generation) && !find(principals, credential->id)) {
        if (principals->count >= MOST)
            forget_all(principals);
        entry **bucket = &principals->buckets[bucket_of(credential->id)];
        e->next = *bucket;
        *bucket = e;
        principals->count++;
        e = NULL;
    }
    pthread_rwlock_unlock(&principals->lock);
    free(e);
}
