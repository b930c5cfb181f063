/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of fields. */
#include "unit.h"

#include <apr_strings.h>

#include "schema/rules.h"

static int passes(neo_rule rule, const char *text, apr_pool_t *pool)
{
    const char *error = rule(neo_json_make_string(text, pool), pool);
    if (error)
        assert_memory_equal(error, "must ", 5);
    return !error;
}

static const char *repeated(char c, int times, apr_pool_t *pool)
{
    char *text = apr_pcalloc(pool, (apr_size_t)times + 1);
    memset(text, c, (apr_size_t)times);
    return text;
}

TEST(an_address_of_the_usual_form_is_an_email)
{
    static const char *const right[] = {"ana@example.com",
                                        "a@b",
                                        "ana.ribeiro+crm@mail.example.com.br",
                                        "o'neil@x-y.example",
                                        "a!#$%&'*+/=?^_`{|}~-@example.com",
                                        "1@2.3",
                                        "..@example.com"};
    for (int i = 0; i < COUNT(right); i++)
        assert_true(passes(neo_rule_email, right[i], *state));
}

TEST(other_texts_are_not_emails)
{
    static const char *const error[] = {
        "ana",
        "@",
        "@example.com",
        "ana@",
        "ana@@example.com",
        "ana@a@b",
        "ana@.com",
        "ana@com.",
        "ana@a..b",
        "ana@-a.com",
        "ana@a-.com",
        "ana@a-",
        "ana@exa mple.com",
        "a na@b.com",
        " ana@b.com",
        "ana@b.com ",
        "ana@b.com\n",
        "Ana <ana@b.com>",
        "ana@b_c.com",
        "ana@[127.0.0.1]",
        "\"a b\"@c.com",
        "an\xC3\xA3@b.com",
        "ana@s\xC3\xA3o.com",
        "ana,b@c.com",
        "a@b,c@d",
    };
    for (int i = 0; i < COUNT(error); i++)
        if (passes(neo_rule_email, error[i], *state))
            fail_msg("%s was taken", error[i]);
}

TEST(the_parts_of_an_email_have_maximum_lengths)
{
    const char *local = repeated('a', 64, *state), *label = repeated('b', 63, *state);
    const char *domain = apr_pstrcat(*state, label, ".", label, ".", repeated('c', 61, *state), NULL);
    assert_true(passes(neo_rule_email, apr_pstrcat(*state, local, "@", domain, NULL), *state)); /* 254 characters */
    assert_false(passes(neo_rule_email, apr_pstrcat(*state, local, "@", domain, "c", NULL), *state));
    assert_false(passes(neo_rule_email, apr_pstrcat(*state, local, "a@b", NULL), *state));
    assert_true(passes(neo_rule_email, apr_pstrcat(*state, "a@", label, NULL), *state));
    assert_false(passes(neo_rule_email, apr_pstrcat(*state, "a@", label, "b", NULL), *state));
}

TEST(punctuation_alone_has_no_letter_or_digit)
{
    static const char *const right[] = {"1", "a", "Z", "--7--", "CRECI-SP 123456-F", "\xC3\xA9x"};
    static const char *const error[] = {"-", "./ -", "--", "_", "\xC3\xA9", "\xD9\xA1", "\xE2\x80\x94"};
    for (int i = 0; i < COUNT(right); i++)
        assert_true(passes(neo_rule_has_alphanumeric, right[i], *state));
    for (int i = 0; i < COUNT(error); i++)
        assert_false(passes(neo_rule_has_alphanumeric, error[i], *state));
}
