/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of Brazil (see schema/rules.h): tax numbers, postal codes, municipalities. */
#include <apr_strings.h>
#include <string.h>

#include "schema/rules.h"

#define DIGITS      "0123456789"
#define TAX_MAX_LEN 18 /* 12.ABC.345/01DE-35 */

/* The check digit over the first `count` characters. Weights go from `first` down to 2, then from `again` down to 2. The value
 * of a letter is its ASCII code minus that of the digit 0. */
static int check_digit(const char *text, int count, int first, int again)
{
    int sum = 0, weight = first;
    for (int i = 0; i < count; i++) {
        sum += (text[i] - '0') * weight;
        weight = weight == 2 ? again : weight - 1;
    }
    return sum % 11 < 2 ? 0 : 11 - sum % 11;
}

static int has_check_digits(const char *text, int count, int first, int again)
{
    return text[count] - '0' == check_digit(text, count, first, again) &&
           text[count + 1] - '0' == check_digit(text, count + 1, first + 1, again);
}

/* 000…, 111… have valid check digits, but are not issued. */
static int is_one_character(const char *text)
{
    return text[strspn(text, (char[]){*text, '\0'})] == '\0';
}

int neo_is_cpf(const char *bare)
{
    return strlen(bare) == 11 && strspn(bare, DIGITS) == 11 && !is_one_character(bare) && has_check_digits(bare, 9, 10, 0);
}

int neo_is_cnpj(const char *bare)
{
    return strlen(bare) == 14 && strspn(bare, DIGITS "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == 14 && strspn(bare + 12, DIGITS) == 2 &&
           !is_one_character(bare) && has_check_digits(bare, 12, 5, 9);
}

const char *neo_normalize_tax_number(const char *text, apr_pool_t *pool)
{
    if (strlen(text) > TAX_MAX_LEN)
        return text;
    char *bare = apr_pstrdup(pool, text), *end = bare;
    for (const char *c = text; *c; c++)
        if (!strchr("./-", *c))
            *end++ = (char)(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
    *end = '\0';
    return bare;
}

const char *neo_rule_tax_number(const neo_json *value, apr_pool_t *pool)
{
    const char *bare = neo_json_string(value);
    (void)pool;
    return neo_is_cpf(bare) || neo_is_cnpj(bare) ? NULL : "must be a CPF or CNPJ with valid check digits";
}

const char *neo_normalize_postal_code(const char *text, apr_pool_t *pool)
{
    return strlen(text) == 9 && text[5] == '-' ? apr_pstrcat(pool, apr_pstrmemdup(pool, text, 5), text + 6, NULL) : text;
}

const char *neo_rule_postal_code(const neo_json *value, apr_pool_t *pool)
{
    const char *text = neo_json_string(value);
    (void)pool;
    return strlen(text) == 8 && strspn(text, DIGITS) == 8 ? NULL : "must be a CEP of 8 digits, such as 01310100";
}

const char *neo_rule_ibge_code(const neo_json *value, apr_pool_t *pool)
{
    const char *text = neo_json_string(value);
    (void)pool;
    return strlen(text) == 7 && strspn(text, DIGITS) == 7 ? NULL
                                                          : "must be an IBGE municipality code of 7 digits, such as 3550308";
}
