/* SPDX-License-Identifier: Apache-2.0 */
/* Validates and completes values of the command line (see ctl/value.h). */
#include "ctl/value.h"

#include <apr_strings.h>
#include <ctype.h>
#include <string.h>

#include "core/clock.h"
#include "core/encode.h"
#include "core/id.h"
#include "resources/event.h"
#include "resources/scope.h"
#include "schema/rules.h"

#define MAX_NAME       200
#define MAX_GRACE      2592000 /* 30 days */
#define MAX_IDENTIFIER 63

static const char *const delivery_statuses[] = {"pending", "success", "failed", NULL};

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

static const char *check_plan(const char *text, apr_pool_t *pool)
{
    (void)pool;
    apr_size_t len = strlen(text);
    if (len < 1 || len > 40 || strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_-") != len)
        return "must be 1 to 40 lowercase letters, digits, hyphens and underscores";
    return NULL;
}

static const char *check_email(const char *text, apr_pool_t *pool)
{
    return neo_rule_email(neo_json_make_string(text, pool), pool);
}

static const char *check_range(const char *text, int max, apr_pool_t *pool)
{
    long long value;
    if (!neo_integer_parse(text, &value) || value < 1 || value > max)
        return apr_psprintf(pool, "must be a whole number from 1 to %d", max);
    return NULL;
}

static const char *check_count(const char *text, apr_pool_t *pool)
{
    return check_range(text, 2147483647, pool);
}

static const char *check_limit(const char *text, apr_pool_t *pool)
{
    return strcmp(text, "unlimited") == 0 ? NULL
           : check_count(text, pool)      ? "must be a number from 1 to 2147483647, or \"unlimited\""
                                          : NULL;
}

static const char *check_seconds(const char *text, apr_pool_t *pool)
{
    return check_range(text, 86400, pool);
}

static const char *check_grace(const char *text, apr_pool_t *pool)
{
    return strcmp(text, "0") == 0               ? NULL
           : check_range(text, MAX_GRACE, pool) ? "must be a whole number from 0 to 2592000"
                                                : NULL;
}

static const char *check_some(const char *text, apr_pool_t *pool)
{
    (void)pool;
    return *text ? NULL : "must not be empty";
}

static const char *check_provider_id(const char *text, apr_pool_t *pool)
{
    apr_size_t len = strlen(text);
    (void)pool;
    return len >= 5 && len <= 20 && strspn(text, "0123456789") == len ? NULL : "must be 5 to 20 digits, as Meta shows it";
}

/* A DNS name. Lowercase only, as it is compared with certificates and URLs. */
static const char *check_host(const char *text, apr_pool_t *pool)
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

/* Stricter than PostgreSQL's rule, so that names need no quotes in service files and other texts. */
static const char *check_identifier(const char *text, apr_pool_t *pool)
{
    apr_size_t len = strlen(text);
    if (len < 1 || len > MAX_IDENTIFIER || isdigit((unsigned char)*text) ||
        strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_-") != len)
        return apr_psprintf(pool,
                            "must be 1 to %d lowercase letters, digits, underscores and hyphens, not starting with a digit",
                            MAX_IDENTIFIER);
    return NULL;
}

/* A value is one of `words`, which end with NULL, or an id with `prefix`, or passes `check`. Scopes are made of their bits. */
static const struct {
    const char *placeholder;
    const char *prefix;
    const char *const *words;
    const char *(*check)(const char *text, apr_pool_t *pool);
} kinds[NEO_PARAMETER_KINDS] = {
    [NEO_KIND_FLAG] = {.placeholder = NULL},
    [NEO_KIND_NAME] = {.placeholder = "NAME", .check = check_name},
    [NEO_KIND_PLAN] = {.placeholder = "PLAN", .check = check_plan},
    [NEO_KIND_EMAIL] = {.placeholder = "EMAIL", .check = check_email},
    [NEO_KIND_COUNT] = {.placeholder = "N", .check = check_count},
    [NEO_KIND_LIMIT] = {.placeholder = "LIMIT", .check = check_limit},
    [NEO_KIND_SECONDS] = {.placeholder = "SECONDS", .check = check_seconds},
    [NEO_KIND_GRACE] = {.placeholder = "SECONDS", .check = check_grace},
    [NEO_KIND_ROLE] = {.placeholder = "ROLE", .words = neo_role_names},
    [NEO_KIND_SCOPE] = {.placeholder = "SCOPE"},
    [NEO_KIND_FILE] = {.placeholder = "FILE", .check = check_some},
    [NEO_KIND_FOLDER] = {.placeholder = "DIR", .check = check_some},
    [NEO_KIND_CONNINFO] = {.placeholder = "CONNINFO", .check = check_some},
    [NEO_KIND_IDENTIFIER] = {.placeholder = "NAME", .check = check_identifier},
    [NEO_KIND_TENANT_ID] = {.placeholder = "TENANT", .prefix = "tnt_"},
    [NEO_KIND_ORGANIZATION_ID] = {.placeholder = "ORGANIZATION", .prefix = "org_"},
    [NEO_KIND_USER_ID] = {.placeholder = "USER", .prefix = "usr_"},
    [NEO_KIND_KEY_ID] = {.placeholder = "ID", .prefix = "nbr_"},
    [NEO_KIND_TOKEN_ID] = {.placeholder = "ID", .prefix = "pat_"},
    [NEO_KIND_SUBSCRIPTION_ID] = {.placeholder = "SUBSCRIPTION", .prefix = "whs_"},
    [NEO_KIND_DELIVERY_ID] = {.placeholder = "DELIVERY", .prefix = "whd_"},
    [NEO_KIND_DELIVERY_STATUS] = {.placeholder = "STATUS", .words = delivery_statuses},
    [NEO_KIND_RECOVERY_STATUS] = {.placeholder = "STATUS", .words = neo_recovery_statuses},
    [NEO_KIND_EVENT_TYPE] = {.placeholder = "TYPE", .words = neo_event_type_values},
    [NEO_KIND_TIME] = {.placeholder = "TIME", .check = check_date_time},
    [NEO_KIND_NUMBER_ID] = {.placeholder = "NUMBER", .prefix = "wan_"},
    [NEO_KIND_LEAD_ID] = {.placeholder = "LEAD", .prefix = "led_"},
    [NEO_KIND_HOST] = {.placeholder = "NAME", .check = check_host},
    [NEO_KIND_PROVIDER_ID] = {.placeholder = "DIGITS", .check = check_provider_id},
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
    for (int bit = 0; kind == NEO_KIND_SCOPE && bit < 2 * NEO_AREAS; bit++)
        APR_ARRAY_PUSH(words, const char *) = neo_scope_text((neo_scopes)1 << bit, pool);
    return words->nelts ? words : NULL;
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

const char *neo_ctl_value_check(neo_parameter_kind kind, const char *text, apr_pool_t *pool)
{
    if (!neo_utf8_is_valid(text, strlen(text)))
        return "must be valid UTF-8";
    if (kinds[kind].prefix && !neo_id_is(text, kinds[kind].prefix))
        return apr_psprintf(pool, "must be an id: %s followed by %d letters and digits", kinds[kind].prefix, NEO_ULID_LEN);
    apr_array_header_t *words = neo_ctl_value_words(kind, pool);
    if (words)
        return check_words(words, text, pool);
    return kinds[kind].check ? kinds[kind].check(text, pool) : NULL;
}
