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
