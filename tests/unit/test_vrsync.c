/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of core/xml.h and resources/vrsync.h. tests/e2e/test_listings.py checks whole documents with a parser. */
#include <apr_strings.h>

#include "core/xml.h"
#include "resources/vrsync.h"
#include "unit.h"

#define CHECK_PLAIN(text, has_lines, expected) assert_string_equal(neo_xml_plain(text, has_lines, *state), expected)

TEST(plain_text_has_no_markup_and_no_repeated_spaces)
{
    CHECK_PLAIN("Casa <b>boa</b>", 0, "Casa boa");
    CHECK_PLAIN("  Casa \t\r\n boa  ", 0, "Casa boa");
    CHECK_PLAIN("<<b>b>Casa<!-- x --></p>", 0, "Casa");
    CHECK_PLAIN("2 < 3 > 1, a<b", 0, "2 < 3 > 1, ab");
    CHECK_PLAIN("a<b <i>c</i> d>e", 0, "ab c d>e");
    CHECK_PLAIN("x<y,z>w <br/>v", 0, "xy,z>w v");
    CHECK_PLAIN("<", 0, "<");
    CHECK_PLAIN("", 0, "");
    CHECK_PLAIN("\n\nUm \n  dois\x7F\x01\n\n", 1, "Um\ndois");
    CHECK_PLAIN("Um\n\ndois", 1, "Um\n\ndois");
}

TEST(xml_text_is_escaped)
{
    neo_buf out;
    neo_buf_init(&out, *state, 16);
    neo_xml_add(&out, "<a b=\"c\">&\n\x01\xEF\xBF\xBE\xEF\xBF\xBF\xEF\xBF\xBD ]]>");
    assert_string_equal(out.ptr, "&lt;a b=&quot;c&quot;&gt;&amp;&lt;br&gt;\xEF\xBF\xBD ]]&gt;");
}

static const neo_vrsync_contact contact = {"Boa & Bela", "contato@boa.example.com", "(11) 3450-4646"};

#define PHOTO(n) "{\"url\":\"https://img.example.com/" n ".jpg\"}"
#define PHOTOS   "[" PHOTO("1") "," PHOTO("2") "," PHOTO("3") "," PHOTO("4") "," PHOTO("5") "]"
#define FORTY    "Quarenta caracteres de texto do anuncio, "
#define LOT                                                                                                                    \
    "{\"id\":\"prp_1\",\"code\":\"T-1\",\"title\":\"Terreno de esquina\",\"description\":\"" FORTY FORTY                       \
    "\",\"transaction_type\":\"sale\",\"usage_type\":\"commercial\",\"property_type\":\"lot\",\"status\":\"active\","          \
    "\"sale_price\":%s,\"lot_area\":360.5,\"media\":" PHOTOS ",\"address\":{\"postal_code\":\"04101300\",\"city\":\"São "     \
    "Paulo\",\"neighborhood\":\"Moema\",\"state\":\"SP\"}}"

static neo_text lot(const char *price, apr_pool_t *pool)
{
    const char *text = apr_psprintf(pool, LOT, price);
    return (neo_text){text, strlen(text)};
}

TEST(a_listing_has_the_elements_of_its_type)
{
    neo_buf out;
    neo_buf_init(&out, *state, 64);
    neo_vrsync_add(&out, lot("9900050", *state), &contact, *state);
    assert_non_null(
        strstr(out.ptr, "<Details><UsageType>Commercial</UsageType><PropertyType>Commercial / Land Lot</PropertyType>"));
    assert_non_null(
        strstr(out.ptr, "<ListPrice currency=\"BRL\">99001</ListPrice><LotArea unit=\"square metres\">361</LotArea>"));
    assert_non_null(strstr(out.ptr, "<State abbreviation=\"SP\">São Paulo</State>"));
    assert_non_null(strstr(out.ptr, "<Item medium=\"image\" primary=\"true\">https://img.example.com/1.jpg</Item>"));
    assert_non_null(strstr(out.ptr, "<ContactInfo><Name>Boa &amp; Bela</Name>"));
    assert_null(strstr(out.ptr, "RentalPrice"));
}

TEST(a_property_that_would_be_refused_adds_nothing_but_its_problems)
{
    neo_buf out;
    neo_buf_init(&out, *state, 64);
    neo_buf_puts(&out, "before");
    neo_vrsync_add(&out, lot("49", *state), &contact, *state);
    neo_vrsync_add(&out, (neo_text){"{}", 2}, &contact, *state);
    neo_vrsync_add(&out, (neo_text){"{", 1}, &contact, *state);
    neo_vrsync_add_problems(&out, lot("50", *state), *state);
    assert_string_equal(out.ptr, "before");
    neo_vrsync_add_problems(&out, lot("49", *state), *state);
    assert_string_equal(
        out.ptr, "before{\"id\":\"prp_1\",\"code\":\"T-1\",\"status\":\"active\",\"problems\":[{\"field\":\"sale_price\","
                 "\"element\":\"Details/ListPrice\",\"message\":\"must be at least 100\"}]}\n");
}
