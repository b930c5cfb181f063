/* SPDX-License-Identifier: Apache-2.0 */
/* Options and errors of transfers (see transfer.h). */
#include "transfer.h"

#include "core/crypto.h"

#define CONNECT_TIMEOUT_S 5

static CURLcode require_alternative_names(CURL *curl, void *ssl_context, void *data)
{
    (void)curl;
    (void)data;
    neo_tls_require_alternative_names(ssl_context);
    return CURLE_OK;
}

void neo_transfer_set_options(CURL *curl, int allows_http, int timeout, const char *agent, neo_received_head *head)
{
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, allows_http ? "http,https" : "https");
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(curl, CURLOPT_SSL_CTX_FUNCTION, require_alternative_names);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)(timeout < CONNECT_TIMEOUT_S ? timeout : CONNECT_TIMEOUT_S));
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, (long)timeout);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, agent);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, neo_received_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, head);
}

static curl_socket_t open_socket(void *data, curlsocktype purpose, struct curl_sockaddr *address)
{
    neo_transfer_guard *guard = data;
    (void)purpose;
    if (guard->guard && !neo_guard_permits(guard->guard, &address->addr)) {
        guard->was_blocked = 1;
        return CURL_SOCKET_BAD;
    }
    guard->was_permitted = 1;
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

void neo_transfer_set_guard(CURL *curl, neo_transfer_guard *guard)
{
    curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, guard);
}

/* libcurl reports a response that is not HTTP as an unsupported protocol, like a URL that is not HTTP. */
const char *neo_transfer_error(CURL *curl, CURLcode code, const neo_transfer_guard *guard)
{
    long sent = 0;
    if (guard && guard->was_blocked && !guard->was_permitted)
        return "blocked_address";
    curl_easy_getinfo(curl, CURLINFO_REQUEST_SIZE, &sent);
    switch (code) {
    case CURLE_OK: /* the status line is malformed */
    case CURLE_WEIRD_SERVER_REPLY: return "response_invalid";
    case CURLE_OPERATION_TIMEDOUT: return "timeout";
    case CURLE_COULDNT_RESOLVE_HOST: return "name_not_resolved";
    case CURLE_COULDNT_CONNECT: return "connection_failed";
    case CURLE_PEER_FAILED_VERIFICATION: return "certificate_not_trusted";
    case CURLE_SSL_CONNECT_ERROR: return "tls_failed";
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL: return sent > 0 ? "response_invalid" : "address_invalid";
    case CURLE_FILESIZE_EXCEEDED:
    case CURLE_ABORTED_BY_CALLBACK:
    case CURLE_WRITE_ERROR: return "response_too_large"; /* on_progress, or a callback that returned 0 */
    default: return "connection_closed";
    }
}
