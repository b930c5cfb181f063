/* Rules that fields share (see model/rules.h). */
#include "model/rules.h"

#include <ctype.h>
#include <string.h>

#define LOCAL_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.!#$%&'*+/=?^_`{|}~-"

/* Labels of letters, digits and inner hyphens, separated by single dots. */
static int is_domain(const char *text)
{
    size_t label = 0;
    for (const char *c = text;; c++) {
        if (*c == '.' || *c == '\0') {
            if (label == 0 || label > 63 || c[-1] == '-')
                return 0;
            if (*c == '\0')
                return 1;
            label = 0;
        } else if (isalnum((unsigned char)*c) || (*c == '-' && label > 0))
            label++;
        else
            return 0;
    }
}

const char *neo_rule_email(const neo_json *value, apr_pool_t *pool)
{
    const char *text = neo_json_string(value);
    size_t local = strspn(text, LOCAL_CHARACTERS);
    (void)pool;
    if (local == 0 || local > 64 || text[local] != '@' || strlen(text) > 254 || !is_domain(text + local + 1))
        return "must be an e-mail address";
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

static int http_is_allowed;

void neo_rule_allow_http(void)
{
    http_is_allowed = 1;
}

/* The authority of a URL: a host, or an IPv6 address in brackets, and maybe a port; no user and password. */
static int is_authority(const char *text, size_t len)
{
    size_t host = strcspn(text, ":");
    if (*text == '[') {
        host = strspn(text + 1, "0123456789abcdefABCDEF:.") + 2;
        if (host > len || text[host - 1] != ']')
            return 0;
    } else
        for (size_t i = 0; i < host && i < len; i++)
            if (!isalnum((unsigned char)text[i]) && !strchr("-._", text[i]))
                return 0;
    if (host >= len)
        return len > 0;
    return host > 0 && text[host] == ':' && len - host > 1 && len - host <= 6 &&
           strspn(text + host + 1, "0123456789") == len - host - 1;
}

const char *neo_rule_webhook_url(const neo_json *value, apr_pool_t *pool)
{
    const char *text = neo_json_string(value), *rest = NULL;
    (void)pool;
    if (strncasecmp(text, "https://", 8) == 0)
        rest = text + 8;
    else if (http_is_allowed && strncasecmp(text, "http://", 7) == 0)
        rest = text + 7;
    for (const unsigned char *c = (const unsigned char *)text; rest && *c; c++)
        if (*c <= ' ' || *c >= 0x7F || strchr("\"<>\\^`{|}#", *c))
            rest = NULL;
    if (!rest || !is_authority(rest, strcspn(rest, "/?")))
        return http_is_allowed ? "must be an absolute http or https address without user, password and fragment"
                               : "must be an absolute https address without user, password and fragment";
    return NULL;
}
