/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the threads that wait for bodies (see httpd/slow_bodies.h). The list is searched linearly: it is short, and only
 * requests that have waited for a while get there. */
#include "httpd/slow_bodies.h"

#include <ap_mpm.h>
#include <apr_siphash.h>
#include <pthread.h>
#include <string.h>

#include "core/crypto.h"

#define MAX_WAITING 1024 /* in a process */
#define MAX_EACH    8    /* of one credential or address */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned char key[APR_SIPHASH_KSIZE];
static neo_slow_body waiting[MAX_WAITING];
static int count, max;

void neo_slow_bodies_prepare(void)
{
    int threads = 0;
    ap_mpm_query(AP_MPMQ_MAX_THREADS, &threads);
    neo_random(key, sizeof key);
    max = threads < 2 ? 1 : threads / 2;
    max = max < MAX_WAITING ? max : MAX_WAITING;
}

static uint64_t hash_of(const char *text)
{
    return text ? apr_siphash24(text, strlen(text), key) : 0;
}

static int is_allowed(const neo_slow_body *body)
{
    int of_credential = 0, of_address = 0;
    for (int i = 0; i < count; i++) {
        of_credential += body->credential && waiting[i].credential == body->credential;
        of_address += waiting[i].address == body->address;
    }
    return count < max && of_credential < MAX_EACH && of_address < MAX_EACH;
}

int neo_slow_bodies_enter(neo_slow_body *body, const char *credential, const char *address)
{
    *body = (neo_slow_body){hash_of(credential), hash_of(address)};
    pthread_mutex_lock(&mutex);
    int is_entered = is_allowed(body);
    if (is_entered)
        waiting[count++] = *body;
    pthread_mutex_unlock(&mutex);
    return is_entered;
}

void neo_slow_bodies_leave(const neo_slow_body *body)
{
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < count; i++)
        if (memcmp(&waiting[i], body, sizeof *body) == 0) {
            waiting[i] = waiting[--count];
            break;
        }
    pthread_mutex_unlock(&mutex);
}
