/* SPDX-License-Identifier: Apache-2.0 */
/* What has been received of a response (see received.h). */
#include "received.h"

#include <apr_lib.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "core/encode.h"

#define MAX_BYTES        1048576
#define MAX_HEADER_BYTES 65536

/* Returns 0 if the line is malformed. libcurl would accept some such lines, with a code that depends on its version, even 200.
 */
static int parse_status(const char *line, size_t len)
{
    const char *code = memchr(line, ' ', len);
    if (!code || line + len - code < 5 || code[1] < '1' || !memchr(" \r\n", code[4], 3))
        return 0;
    int status = 0;
    for (int i = 1; i <= 3; i++) {
        if (!apr_isdigit(code[i]))
            return 0;
        status = 10 * status + code[i] - '0';
    }
    return status;
}

/* libcurl stores all headers and trailers until the handle is reused. Each counts 32 bytes more, as in RFC 9113, section 6.5.2,
 * because short headers need the most memory per byte. */
size_t neo_received_header(char *line, size_t size, size_t count, void *to)
{
    neo_received_head *head = to;
    size_t len = size * count;
    if (len > 5 && memcmp(line, "HTTP/", 5) == 0)
        head->status = parse_status(line, len);
    head->bytes += len + 32;
    return head->bytes > MAX_HEADER_BYTES ? 0 : len;
}

void neo_received_body(neo_received *received, const char *data, size_t len)
{
    size_t used = received->body_bytes, space = used < NEO_EXCERPT_BYTES ? NEO_EXCERPT_BYTES - used : 0;
    if (space)
        memcpy(received->excerpt + used, data, len < space ? len : space);
    received->body_bytes += len;
}

/* The kernel's count, because libcurl does not count chunk extensions. */
int neo_received_too_much(neo_received *received)
{
    struct tcp_info info;
    socklen_t size = sizeof info;
    if (getsockopt(received->socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0)
        return 0;
    long long bytes = (long long)info.tcpi_bytes_received;
    if (!received->bytes_before)
        received->bytes_before = bytes;
    return bytes - received->bytes_before > MAX_BYTES;
}

/* PostgreSQL accepts no NUL. */
const char *neo_received_excerpt(neo_received *received)
{
    size_t len = received->body_bytes < NEO_EXCERPT_BYTES ? received->body_bytes : NEO_EXCERPT_BYTES;
    for (int cut = 0; cut < 4 && len > 0; cut++, len--) {
        received->excerpt[len] = '\0';
        if (strlen(received->excerpt) == len && neo_utf8_is_valid(received->excerpt, len))
            return received->excerpt;
        if (received->body_bytes <= NEO_EXCERPT_BYTES)
            break;
    }
    return NULL;
}
