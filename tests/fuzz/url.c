/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the URLs of webhooks and documents, and compares them with libcurl's parser, which webhooks are sent with: it must
 * accept a URL that we accept, and see the same host and port. */
#include <arpa/inet.h>
#include <curl/curl.h>
#include <strings.h>

#include "core/receivers.h"
#include "expect.h"
#include "resources/list.h"
#include "schema/validate.h"

typedef struct {
    char host[300]; /* an address as its canonical text, a name as it was written */
    int port;       /* 0: none */
} endpoint;

/* The resolver and libcurl know IPv4 addresses in several notations. */
static void set_host(endpoint *end, const char *text, size_t len)
{
    unsigned char bytes[16];
    struct in_addr v4;
    EXPECT(len < sizeof end->host);
    memcpy(end->host, text, len);
    end->host[len] = '\0';
    if (*text == '[') {
        EXPECT(len > 2 && end->host[len - 1] == ']');
        end->host[len - 1] = '\0';
        EXPECT(inet_pton(AF_INET6, end->host + 1, bytes) == 1);
        inet_ntop(AF_INET6, bytes, end->host, sizeof end->host);
    } else if (inet_aton(end->host, &v4))
        inet_ntop(AF_INET, &v4, end->host, sizeof end->host);
}

/* Parses like the rule: the host ends at the colon, or an IPv6 address at the bracket. */
static void read_as_ours(const char *url, endpoint *end)
{
    const char *authority = strstr(url, "://") + 3;
    size_t len = strcspn(authority, "/?#"), host = *authority == '[' ? strcspn(authority, "]") + 1 : strcspn(authority, ":");
    char shown[NEO_HOST_SIZE];
    host = host < len ? host : len;
    set_host(end, authority, host);
    end->port = host < len ? atoi(authority + host + 1) : 0;
    neo_receivers_host(url, shown);
    EXPECT(strncmp(shown, authority, strlen(shown)) == 0 && (len >= NEO_HOST_SIZE || strlen(shown) == len));
}

static void read_as_libcurl(CURLU *parsed, const char *url, endpoint *end)
{
    char *host = NULL, *port = NULL, *unexpected = NULL;
    EXPECT(curl_url_set(parsed, CURLUPART_URL, url, CURLU_GUESS_SCHEME | CURLU_NON_SUPPORT_SCHEME) == CURLUE_OK);
    EXPECT(curl_url_get(parsed, CURLUPART_HOST, &host, 0) == CURLUE_OK);
    EXPECT(curl_url_get(parsed, CURLUPART_USER, &unexpected, 0) == CURLUE_NO_USER);
    EXPECT(curl_url_get(parsed, CURLUPART_ZONEID, &unexpected, 0) == CURLUE_NO_ZONEID);
    set_host(end, host, strlen(host));
    end->port = curl_url_get(parsed, CURLUPART_PORT, &port, 0) == CURLUE_OK ? atoi(port) : 0;
    curl_free(host);
    curl_free(port);
}

static void check_url(const neo_resource *resource, const char *name, const char *url, apr_pool_t *pool)
{
    const neo_field *field = neo_field_named(resource->fields, name);
    endpoint ours, theirs;
    field = field->fields ? neo_field_named(field->fields, "url") : field;
    const char *error = neo_check(field, neo_json_make_string(url, pool), NULL, pool);
    check_text(error);
    if (error)
        return;
    CURLU *parsed = curl_url();
    read_as_ours(url, &ours);
    read_as_libcurl(parsed, url, &theirs);
    curl_url_cleanup(parsed);
    EXPECT(strcasecmp(ours.host, theirs.host) == 0 && ours.port == theirs.port);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    apr_pool_t *pool = input_pool();
    if (neo_utf8_is_valid((const char *)data, size) && !memchr(data, '\0', size)) {
        const char *url = apr_pstrmemdup(pool, (const char *)data, size);
        check_url(&neo_webhook, "url", url, pool);
        check_url(&neo_document, "file", url, pool);
    }
    apr_pool_clear(pool);
    return 0;
}
