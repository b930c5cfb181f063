/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the responses of webhook receivers: an input is all that a receiver sends before it closes the connection. */
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "expect.h"
#include "webhooks/sender.h"

static void check_result(void *baton, const neo_send_result *result)
{
    static const char *const errors[] = {"connection_closed", "response_invalid", "response_too_large", NULL};
    EXPECT((result->error == NULL) == (result->http_status != 0));
    EXPECT(result->http_status >= 0 && result->http_status <= 999);
    EXPECT(result->retry_after >= 0 && result->retry_after <= 86400);
    EXPECT(result->duration >= 0);
    if (result->error)
        EXPECT(is_one_of(result->error, errors));
    if (result->excerpt) {
        EXPECT(!result->error && strlen(result->excerpt) <= NEO_EXCERPT_BYTES);
        check_utf8(result->excerpt);
    }
    ++*(int *)baton;
}

/* A listening socket; writes its URL. */
static int receiver(char *url, size_t size)
{
    static int listening = -1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    if (listening < 0) {
        listening = socket(AF_INET, SOCK_STREAM, 0);
        EXPECT(bind(listening, (struct sockaddr *)&address, len) == 0 && listen(listening, 8) == 0);
    }
    EXPECT(getsockname(listening, (struct sockaddr *)&address, &len) == 0);
    snprintf(url, size, "http://127.0.0.1:%d/", ntohs(address.sin_port));
    return listening;
}

static neo_sender *sender_of(apr_pool_t *pool)
{
    static neo_guard *guard;
    if (!guard) {
        apr_pool_t *kept;
        apr_pool_create(&kept, NULL);
        guard = neo_guard_make(kept);
        EXPECT(!neo_guard_allow(guard, "127.0.0.1", kept));
    }
    return neo_sender_make(&(neo_sender_settings){guard, 5, 1, 1, NULL, NULL}, check_result, pool);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    apr_pool_t *pool = input_pool();
    neo_sender *sender = sender_of(pool);
    char url[64], ignored[4096];
    int ended = 0, listening = receiver(url, sizeof url);
    EXPECT(neo_sender_post(sender, url, NULL, 0, (neo_text){"{}", 2}, 0, &ended));
    neo_sender_work(sender, 0, -1); /* connects */
    int connection = accept(listening, NULL, NULL);
    EXPECT(send(connection, data, size, MSG_NOSIGNAL) == (ssize_t)size);
    shutdown(connection, SHUT_WR);
    while (!ended)
        neo_sender_work(sender, 1000, -1);
    EXPECT(ended == 1);
    while (recv(connection, ignored, sizeof ignored, MSG_DONTWAIT) > 0)
        ;
    close(connection);
    apr_pool_clear(pool);
    return 0;
}
