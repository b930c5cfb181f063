/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of fields: e-mail addresses, URLs, telephone numbers, media types, digests (see schema/rules.h). */
#include "schema/rules.h"

#include <apr_strings.h>
#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"

#define SLACK              60000 /* milliseconds of tolerated clock skew */
#define LETTERS_AND_DIGITS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
#define LOCAL_CHARACTERS   LETTERS_AND_DIGITS ".!#$%&'*+/=?^_`{|}~-"

/* Labels of letters, digits and inner hyphens, separated by single dots. In a URL, which may have an IPv4 address in any
 * notation, also underscores and a dot at the end. */
static int is_host_name(const char *text, size_t len, int is_in_url)
{
    size_t label = 0;
    len -= is_in_url && len > 1 && text[len - 1] == '.';
    if (len == 0 || len > 253)
        return 0;
    for (size_t i = 0; i <= len; i++) {
        if (i == len || text[i] == '.') {
            if (label == 0 || label > 63 || text[i - 1] == '-')
                return 0;
            label = 0;
        } else if (isalnum((unsigned char)text[i]) || (is_in_url && text[i] == '_') || (text[i] == '-' && label > 0))
            label++;
        else
            return 0;
    }
    return 1;
}

const char *neo_rule_email(const neo_json *value, apr_pool_t *pool)
{
    const char *text = neo_json_string(value), *domain = strchr(text, '@');
    size_t local = strspn(text, LOCAL_CHARACTERS);
    (void)pool;
    if (local == 0 || local > 64 || domain != text + local || strlen(text) > 254 ||
        !is_host_name(domain + 1, strlen(domain + 1), 0))
        return "must be an e-mail address, such as ana@example.com";
    return NULL;
}

const char *neo_rule_has_alphanumeric(const neo_json *value, apr_pool_t *pool)
{
    (void)pool;
    for (const char *c = neo_json_string(value); *c; c++)
        if (isascii(*c) && isalnum((unsigned char)*c))
            return NULL;
    return "must have at least one letter or digit";
}

/* An IPv6 address in brackets. */
static int is_ipv6(const char *text, size_t len)
{
    char address[INET6_ADDRSTRLEN];
    struct in6_addr bytes;
    if (len < 2 || len - 2 >= sizeof address || text[len - 1] != ']')
        return 0;
    memcpy(address, text + 1, len - 2);
    address[len - 2] = '\0';
    return inet_pton(AF_INET6, address, &bytes) == 1;
}

/* A colon and a number from 1 to 65535. */
static int is_port(const char *text, size_t len)
{
    return *text == ':' && len >= 2 && len <= 6 && strspn(text + 1, "0123456789") == len - 1 && atoi(text + 1) >= 1 &&
           atoi(text + 1) <= 65535;
}

/* The part of a URL after the scheme: only characters that a URL can have, and none of `without`. It begins with a host and
 * maybe a port, without user and password. */
static int is_after_scheme(const char *rest, const char *without)
{
    for (const unsigned char *c = (const unsigned char *)rest; *c; c++)
        if (*c <= ' ' || *c >= 0x7F || strchr("\"<>\\^`{|}", *c) || strchr(without, *c))
            return 0;
    size_t len = strcspn(rest, "/?#"), host = *rest == '[' ? strcspn(rest, "]") + 1 : strcspn(rest, ":");
    if (host > len)
        host = len;
    return (*rest == '[' ? is_ipv6(rest, host) : is_host_name(rest, host, 1)) &&
           (host == len || is_port(rest + host, len - host));
}

const char *neo_rule_webhook_url(const neo_json *value, apr_pool_t *pool)
{
    const char *text = neo_json_string(value);
    size_t scheme = strncasecmp(text, "https://", 8) == 0 ? 8 : strncasecmp(text, "http://", 7) == 0 ? 7 : 0;
    (void)pool;
    return scheme && is_after_scheme(text + scheme, "#") ? NULL
                                                         : "must be an absolute https URL without user, password or fragment";
}

const char *neo_rule_https_url(const neo_json *value, apr_pool_t *pool)
{
    const char *text = neo_json_string(value);
    (void)pool;
    return strncmp(text, "https://", 8) == 0 && is_after_scheme(text + 8, "[]")
               ? NULL
               : "must be an absolute https URL without user or password";
}

const char *neo_rule_phone(const neo_json *value, apr_pool_t *pool)
{
    const char *text = neo_json_string(value);
    size_t digits = *text == '+' ? strspn(text + 1, "0123456789") : 0;
    (void)pool;
    if (digits < 7 || digits > 15 || text[1] == '0' || text[digits + 1])
        return "must be a telephone number in E.164 format, such as +5511987654321";
    return NULL;
}

const char *neo_normalize_phone(const char *text, apr_pool_t *pool)
{
    char *number = apr_pstrdup(pool, text), *end = number;
    for (const char *c = text; *c; c++)
        if (!strchr(" .-()", *c))
            *end++ = *c;
    *end = '\0';
    return number;
}

/* The length of a restricted-name (RFC 6838), 0 if there is none. */
static size_t name_length(const char *text)
{
    size_t len = strspn(text, LETTERS_AND_DIGITS "!#$&^_.+-");
    return len <= 127 && isalnum((unsigned char)*text) ? len : 0;
}

const char *neo_rule_mime_type(const neo_json *value, apr_pool_t *pool)
{
    const char *text = neo_json_string(value);
    size_t type = name_length(text), subtype = type && text[type] == '/' ? name_length(text + type + 1) : 0;
    (void)pool;
    return subtype && text[type + 1 + subtype] == '\0' ? NULL : "must be a media type, such as application/pdf";
}

const char *neo_rule_sha256(const neo_json *value, apr_pool_t *pool)
{
    const char *text = neo_json_string(value);
    (void)pool;
    return strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64 ? NULL : "must be 64 hexadecimal digits";
}

const char *neo_normalize_lower_case(const char *text, apr_pool_t *pool)
{
    char *lower = apr_pstrdup(pool, text);
    for (char *c = lower; *c; c++)
        *c = (char)(isascii(*c) ? tolower((unsigned char)*c) : *c);
    return lower;
}

/* ---------------------------------------------------------------- times */

const char *neo_rule_past(const neo_json *value, apr_pool_t *pool)
{
    neo_ms time;
    (void)pool;
    return neo_ms_parse(neo_json_string(value), &time) && time > neo_now_ms() + SLACK ? "must not be in the future" : NULL;
}
