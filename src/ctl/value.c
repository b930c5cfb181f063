/* SPDX-License-Identifier: Apache-2.0 */
/* Validates and completes values of the command line (see ctl/command.h). */
#include "ctl/command.h"

#include <apr_network_io.h>
#include <apr_strings.h>
#include <ctype.h>
#include <string.h>

#include "core/clock.h"
#include "core/encode.h"
#include "core/id.h"
#include "core/network.h"
#include "resources/lead.h"
#include "resources/portal.h"
#include "resources/scope.h"
#include "schema/rules.h"

#define MAX_NAME     200
#define MAX_NETWORKS 100

#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyz0123456789_-"

static const char *const delivery_statuses[] = {"pending", "success", "failed", NULL};
static const char *const switches[] = {"on", "off", NULL};
static const char *const log_levels[] = {"error", "warn", "notice", "info", "debug", NULL};

static const char *check_date_time(const char *text, apr_pool_t *pool)
{
    neo_ms ms;
    (void)pool;
    return neo_ms_parse(text, &ms) ? NULL : "must be a date-time such as 2026-01-31T13:45:00Z or 2026-01-31T13:45:00-03:00";
}

static const char *check_name(const char *text, apr_pool_t *pool)
{
    int blank = 1;
    for (const char *c = text; *c; c++) {
        if (iscntrl((unsigned char)*c))
            return "must not contain control characters";
        blank &= *c == ' ';
    }
    if (blank || neo_utf8_length(text) > MAX_NAME)
        return apr_psprintf(pool, "must be 1 to %d characters and not only blanks", MAX_NAME);
    return NULL;
}

static const char *check_email(const char *text, apr_pool_t *pool)
{
    return neo_rule_email(neo_json_make_string(text, pool), pool);
}

static const char *check_some(const char *text, apr_pool_t *pool)
{
    (void)pool;
    return *text ? NULL : "must not be empty";
}

#define NOT_IDENTIFIER "must be 1 to 63 lowercase letters, digits, underscores and hyphens, not starting with a digit"

static const char *check_start(const char *text, apr_pool_t *pool)
{
    (void)pool;
    return isdigit((unsigned char)*text) ? NOT_IDENTIFIER : NULL;
}

/* A DNS name. Lowercase only, as it is compared with certificates and URLs. */
static const char *check_host_name(const char *text, apr_pool_t *pool)
{
    static const char error[] = "must be the host name that clients use, in lowercase letters, such as api.example.com";
    apr_size_t label = 0, len = strlen(text);
    (void)pool;
    if (len > 253 || strspn(text, "0123456789.") == len)
        return error;
    for (const char *c = text;; c++) {
        int is_end = *c == '.' || *c == '\0';
        if (is_end ? label == 0 || label > 63 || c[-1] == '-' || c[-(int)label] == '-'
                   : !strchr("abcdefghijklmnopqrstuvwxyz0123456789-", *c))
            return error;
        if (*c == '\0')
            return NULL;
        label = is_end ? 0 : label + 1;
    }
}

/* The path is that of the API's <Location>. */
static const char *check_base_url(const char *text, apr_pool_t *pool)
{
    static const char end[] = "/public/v1/";
    apr_size_t len = strlen(text), scheme = strncmp(text, "https://", 8) == 0 ? 8 : strncmp(text, "http://", 7) == 0 ? 7 : 0;
    apr_size_t host = strcspn(text + scheme, "/");
    (void)pool;
    if (!scheme || !host || len < scheme + host + strlen(end) || strcmp(text + len - strlen(end), end) != 0 ||
        strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ" NAME_CHARACTERS ".~:/[]") != len)
        return "must be a URL that ends in /public/v1/, such as https://api.example.com/public/v1/";
    return NULL;
}

/* Credentials would be in httpd's environment, and its configuration refuses them, too. */
static const char *check_collector(const char *text, apr_pool_t *pool)
{
    const char *host = strncmp(text, "https://", 8) == 0 ? text + 8 : strncmp(text, "http://", 7) == 0 ? text + 7 : "";
    (void)pool;
    return *host && *host != '/' && strspn(host, "ABCDEFGHIJKLMNOPQRSTUVWXYZ" NAME_CHARACTERS ".~:/[]") == strlen(host)
               ? NULL
               : "must be a URL without a user or a query, such as http://127.0.0.1:4318";
}

/* A name that messages repeat as an argument of commands, such as neoapictl host remove. */
static const char *check_machine(const char *text, apr_pool_t *pool)
{
    return strchr(text, ' ') ? "must not contain blanks" : check_name(text, pool);
}

/* As in httpd's Require ip and NeoAPIWebhookAllowAddress: 10.20.30.0/24 fd00::/64 127.0.0.1. */
static const char *check_ranges(const char *text, apr_pool_t *pool)
{
    apr_ipsubnet_t *range;
    char *rest = apr_pstrdup(pool, text), *word;
    int count = 0;
    while ((word = strsep(&rest, " "))) {
        char *mask = strchr(word, '/');
        if (mask)
            *mask++ = '\0';
        if (*word && apr_ipsubnet_create(&range, word, mask, pool) != APR_SUCCESS)
            return "must be address ranges with blanks between them, such as 10.20.30.0/24 fd00:20:30::/64";
        count += *word != '\0';
    }
    return count ? NULL : "must not be empty";
}

static const char *check_networks(const char *text, apr_pool_t *pool)
{
    neo_network network;
    apr_array_header_t *words = neo_ctl_networks(text, pool);
    for (int i = 0; i < words->nelts; i++) {
        const char *word = APR_ARRAY_IDX(words, i, const char *);
        if (!neo_network_parse(word, &network))
            return "must be networks with commas or blanks between them, such as 203.0.113.0/24,2001:db8::/32";
        if (neo_network_has_host_bits(&network))
            return apr_psprintf(pool, "must not have an address instead of a network: %s has bits after its prefix", word);
    }
    return words->nelts && words->nelts <= MAX_NETWORKS ? NULL : "must be 1 to " APR_STRINGIFY(MAX_NETWORKS) " networks";
}

static const char *const retention_kinds[] = {"leads", "candidates", "messages", NULL};

static const char *check_expiry(const char *text, apr_pool_t *pool)
{
    neo_ms ms;
    const char *error = check_date_time(text, pool);
    return error || (neo_ms_parse(text, &ms) && ms > neo_now_ms()) ? error : "must be in the future";
}

/* A value is one of `words`, which end with NULL, or an id with `prefix`, or passes `check`, or has `min` to `max` of the
 * characters, or is a whole number of that range if `characters` is NULL. Scopes are made of their bits. */
static const struct {
    const char *placeholder;
    const char *error; /* the message for a value that is not in the range */
    long long min, max;
    const char *characters;
    const char *other; /* a valid text that is not in the range; or NULL */
    const char *(*check)(const char *text, apr_pool_t *pool);
    const char *const *words;
    const char *prefix;
} kinds[NEO_PARAMETER_KINDS] = {
    [NEO_KIND_FLAG] = {.placeholder = NULL},
    [NEO_KIND_NAME] = {"NAME", .check = check_name},
    [NEO_KIND_PLAN] = {"PLAN", "must be 1 to 40 lowercase letters, digits, hyphens and underscores", 1, 40,
                       .characters = NAME_CHARACTERS},
    [NEO_KIND_EMAIL] = {"EMAIL", .check = check_email},
    [NEO_KIND_COUNT] = {"N", "must be a whole number from 1 to 2147483647", 1, .max = 2147483647},
    [NEO_KIND_LIMIT] = {"LIMIT", "must be a number from 1 to 2147483647, or \"unlimited\"", 1, 2147483647,
                        .other = "unlimited"},
    [NEO_KIND_SECONDS] = {"SECONDS", "must be a whole number from 1 to 86400", 1, .max = 86400},
    [NEO_KIND_GRACE] = {"SECONDS", "must be a whole number from 0 to 2592000", 1, 2592000, .other = "0"},
    [NEO_KIND_ROLE] = {"ROLE", .words = neo_role_names},
    [NEO_KIND_SCOPE] = {.placeholder = "SCOPE"},
    [NEO_KIND_FILE] = {"FILE", .check = check_some},
    [NEO_KIND_FOLDER] = {"DIR", .check = check_some},
    [NEO_KIND_CONNINFO] = {"CONNINFO", .check = check_some},
    [NEO_KIND_MACHINE] = {"NAME", .check = check_machine},
    /* The rule is stricter than PostgreSQL's, so that names need no quotes in service files and other texts. */
    [NEO_KIND_IDENTIFIER] = {"NAME", NOT_IDENTIFIER, 1, 63, .characters = NAME_CHARACTERS, .check = check_start},
    [NEO_KIND_TENANT_ID] = {"TENANT", .prefix = "tnt_"},
    [NEO_KIND_ORGANIZATION_ID] = {"ORGANIZATION", .prefix = "org_"},
    [NEO_KIND_USER_ID] = {"USER", .prefix = "usr_"},
    [NEO_KIND_KEY_ID] = {"ID", .prefix = "nbr_"},
    [NEO_KIND_TOKEN_ID] = {"ID", .prefix = "pat_"},
    [NEO_KIND_SUBSCRIPTION_ID] = {"SUBSCRIPTION", .prefix = "whs_"},
    [NEO_KIND_DELIVERY_ID] = {"DELIVERY", .prefix = "whd_"},
    [NEO_KIND_DELIVERY_STATUS] = {"STATUS", .words = delivery_statuses},
    [NEO_KIND_RECOVERY_STATUS] = {"STATUS", .words = neo_recovery_statuses},
    [NEO_KIND_EVENT_TYPE] = {"TYPE", .words = neo_event_type_values},
    [NEO_KIND_TIME] = {"TIME", .check = check_date_time},
    [NEO_KIND_NUMBER_ID] = {"NUMBER", .prefix = "wan_"},
    [NEO_KIND_LEAD_ID] = {"LEAD", .prefix = "led_"},
    [NEO_KIND_LEAD_ASSIGNMENT] = {"RULE", .words = neo_lead_assignments},
    [NEO_KIND_RETENTION] = {"KIND", .words = retention_kinds},
    [NEO_KIND_MONTHS] = {"MONTHS", "must be a whole number from 1 to 600", 1, .max = 600},
    [NEO_KIND_FEED_ID] = {"ID", .prefix = NEO_FEED_PREFIX},
    [NEO_KIND_PORTAL_FORMAT] = {"FORMAT", .words = neo_portal_formats},
    [NEO_KIND_PORTAL_ID] = {"PORTAL", .prefix = NEO_PORTAL_PREFIX},
    [NEO_KIND_REJECTED_ID] = {"REJECTED", .prefix = "lrj_"},
    [NEO_KIND_HOST] = {"NAME", .check = check_host_name},
    [NEO_KIND_PROVIDER_ID] = {"DIGITS", "must be 5 to 20 digits, as Meta shows it", 5, 20, .characters = "0123456789"},
    [NEO_KIND_BASE_URL] = {"URL", .check = check_base_url},
    [NEO_KIND_COLLECTOR] = {"URL", .check = check_collector},
    [NEO_KIND_PORT] = {"PORT", "must be a port from 1024 to 65535", 1024, .max = 65535},
    [NEO_KIND_RANGES] = {"RANGES", .check = check_ranges},
    [NEO_KIND_NETWORKS] = {"NETWORKS", .check = check_networks},
    [NEO_KIND_TEXT] = {"TEXT", .check = check_name},
    [NEO_KIND_EXPIRY] = {"TIME", .check = check_expiry},
    [NEO_KIND_SWITCH] = {"SWITCH", .words = switches},
    [NEO_KIND_LOG_LEVEL] = {"LEVEL", .words = log_levels},
    [NEO_KIND_PROCESSES] = {"N", "must be a whole number from 1 to 64", 1, .max = 64},
    [NEO_KIND_THREADS] = {"N", "must be a whole number from 4 to 1000", 4, .max = 1000},
    [NEO_KIND_ATTEMPT] = {"SECONDS", "must be a whole number from 1 to 60", 1, .max = 60},
    [NEO_KIND_CONCURRENCY] = {"N", "must be a whole number from 0 to 4096", 0, .max = 4096},
};

const char *neo_ctl_placeholder(neo_parameter_kind kind)
{
    return kinds[kind].placeholder;
}

const char *neo_ctl_id_prefix(neo_parameter_kind kind)
{
    return kinds[kind].prefix;
}

apr_array_header_t *neo_ctl_value_words(neo_parameter_kind kind, apr_pool_t *pool)
{
    apr_array_header_t *words = apr_array_make(pool, 2 * NEO_AREAS, sizeof(const char *));
    for (const char *const *word = kinds[kind].words; word && *word; word++)
        APR_ARRAY_PUSH(words, const char *) = *word;
    for (const char *const *name = kind == NEO_KIND_SCOPE ? neo_scope_names(pool) : NULL; name && *name; name++)
        APR_ARRAY_PUSH(words, const char *) = *name;
    return words->nelts ? words : NULL;
}

apr_array_header_t *neo_ctl_networks(const char *text, apr_pool_t *pool)
{
    apr_array_header_t *words = apr_array_make(pool, 4, sizeof(const char *));
    char *rest = apr_pstrdup(pool, text), *word;
    while ((word = strsep(&rest, ", ")))
        if (*word)
            APR_ARRAY_PUSH(words, const char *) = word;
    return words;
}

int neo_ctl_is_among(const apr_array_header_t *words, const char *text)
{
    for (int i = 0; i < words->nelts; i++)
        if (strcmp(APR_ARRAY_IDX(words, i, const char *), text) == 0)
            return 1;
    return 0;
}

static const char *check_words(const apr_array_header_t *words, const char *text, apr_pool_t *pool)
{
    if (neo_ctl_is_among(words, text))
        return NULL;
    neo_buf out;
    neo_buf_init(&out, pool, 256);
    neo_buf_puts(&out, words->nelts > 1 ? "must be one of" : "must be");
    for (int i = 0; i < words->nelts; i++)
        neo_buf_printf(&out, "%s %s", i ? "," : "", APR_ARRAY_IDX(words, i, const char *));
    return out.ptr;
}

/* Whether the kind's characters, or else its range, admit the text. */
static int is_in_range(neo_parameter_kind kind, const char *text)
{
    const char *characters = kinds[kind].characters;
    long long number = (long long)strlen(text);
    if (characters ? (long long)strspn(text, characters) != number : !neo_integer_parse(text, &number))
        return 0;
    return number >= kinds[kind].min && number <= kinds[kind].max;
}

const char *neo_ctl_value_check(neo_parameter_kind kind, const char *text, apr_pool_t *pool)
{
    if (!neo_utf8_is_valid(text, strlen(text)))
        return "must be valid UTF-8";
    if (kinds[kind].prefix && !neo_id_is(text, kinds[kind].prefix))
        return apr_psprintf(pool, "must be an id: %s followed by %d letters and digits", kinds[kind].prefix, NEO_ULID_LEN);
    apr_array_header_t *words = neo_ctl_value_words(kind, pool);
    if (words)
        return check_words(words, text, pool);
    if (kinds[kind].error && !is_in_range(kind, text) && (!kinds[kind].other || strcmp(text, kinds[kind].other) != 0))
        return kinds[kind].error;
    return kinds[kind].check ? kinds[kind].check(text, pool) : NULL;
}
