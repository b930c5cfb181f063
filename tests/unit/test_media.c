/* SPDX-License-Identifier: Apache-2.0 */
/* Contacts' attachments: path, type and file name, and where the access token may be sent. */
#include "unit.h"

#include <apr_strings.h>

#include "webhooks/download.h"
#include "whatsapp/media.h"

static neo_text text_at(const char *bytes, apr_size_t len)
{
    return (neo_text){bytes, len};
}

TEST(the_path_has_only_an_id_of_the_provider)
{
    assert_string_equal(neo_media_path("1908647269898587", "106540352242922", *state),
                        "1908647269898587?phone_number_id=106540352242922");
    const char *const others[] = {NULL, "", "x", "1/messages", "../1", "1?fields=x", " 1"};
    for (int i = 0; i < COUNT(others); i++)
        assert_null(neo_media_path(others[i], "106540352242922", *state));
}

TEST(the_url_is_read_from_the_response)
{
    static const char with_url[] = "{\"url\":\"https://lookaside.fbsbx.com/a\"}", without[] = "{\"url\":{}}";
    assert_string_equal(neo_media_url(text_at(with_url, sizeof with_url - 1), *state), "https://lookaside.fbsbx.com/a");
    assert_null(neo_media_url(text_at(without, sizeof without - 1), *state));
    assert_null(neo_media_url(text_at("[", 1), *state));
}

TEST(the_type_is_the_declared_one_only_if_the_content_matches)
{
    static const struct {
        const char *declared, *content;
        apr_size_t len;
        const char *type;
    } cases[] = {
        {"image/jpeg", "\xFF\xD8\xFF\xE0", 4, "image/jpeg"},
        {"IMAGE/JPEG; q=1", "\xFF\xD8\xFF\xE0", 4, "image/jpeg"},
        {"image/jpeg", "\xFF\xD8", 2, "application/octet-stream"},
        {"image/jpeg", "<html>", 6, "application/octet-stream"},
        {"image/png", "\xFF\xD8\xFF\xE0", 4, "application/octet-stream"},
        {"audio/mpeg", "\xFF\xF3\x40", 3, "audio/mpeg"},
        {"audio/ogg;codecs=opus", "OggS", 4, "audio/ogg"},
        {"video/mp4",
         "\0\0\0\x18"
         "ftypmp42",
         12, "video/mp4"},
        {"video/mp4",
         "\0\0\0\x18"
         "fty",
         7, "application/octet-stream"},
        {"text/html", "<html>", 6, "application/octet-stream"},
        {"", "", 0, "application/octet-stream"},
        {NULL, "%PDF-1.7", 8, "application/octet-stream"},
    };
    for (int i = 0; i < COUNT(cases); i++)
        assert_string_equal(neo_media_type(cases[i].declared, text_at(cases[i].content, cases[i].len), *state), cases[i].type);
}

TEST(a_file_name_is_safe)
{
    static const struct {
        const char *filename, *type, *header;
    } cases[] = {
        {NULL, "image/jpeg", "attachment; filename=\"wam_1.jpg\"; filename*=UTF-8''wam_1.jpg"},
        {NULL, "application/octet-stream", "attachment; filename=\"wam_1.bin\"; filename*=UTF-8''wam_1.bin"},
        {"..", "application/pdf", "attachment; filename=\"wam_1.pdf\"; filename*=UTF-8''wam_1.pdf"},
        {"a b.pdf", "application/pdf", "attachment; filename=\"a b.pdf\"; filename*=UTF-8''a%20b.pdf"},
        {"Jo\xC3\xA3o.pdf", "application/pdf", "attachment; filename=\"Jo_o.pdf\"; filename*=UTF-8''Jo%C3%A3o.pdf"},
        {"../a\"b\\c\r\n", "application/pdf", "attachment; filename=\"a_b_c  \"; filename*=UTF-8''a_b_c%20%20"},
        {"a\xE2\x80\xAE\xE2\x81\xA6\xD8\x9C"
         "b",
         "application/pdf", "attachment; filename=\"ab\"; filename*=UTF-8''ab"},
    };
    for (int i = 0; i < COUNT(cases); i++)
        assert_string_equal(neo_media_disposition(cases[i].filename, "wam_1", cases[i].type, *state), cases[i].header);
}

TEST(a_long_file_name_is_cut_between_characters)
{
    char name[301] = {0};
    for (int i = 0; i < 300; i += 2)
        memcpy(name + i, "\xC3\xA3", 2);
    const char *header = neo_media_disposition(name, "wam_1", "image/png", *state);
    assert_null(strstr(header, "%C3\""));
    assert_true(strlen(header) < 1000);
}

TEST(a_long_file_name_keeps_its_extension)
{
    static const struct {
        const char *end;
        int len; /* of the stem that is left */
        const char *left;
    } cases[] = {
        {".pdf", 196, ".pdf"}, {".tar.gz", 197, ".gz"}, /* the part before is of the stem */
        {".", 199, "."},       {".no extension, which is short", 200, ""},
        {"", 200, ""},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        char name[300] = {0}, expected[300] = {0};
        memset(name, 'a', 240);
        strcpy(name + 240, cases[i].end);
        memset(expected, 'a', (size_t)cases[i].len);
        strcpy(expected + cases[i].len, cases[i].left);
        const char *header = neo_media_disposition(name, "wam_1", "application/pdf", *state);
        assert_string_equal(header,
                            apr_psprintf(*state, "attachment; filename=\"%s\"; filename*=UTF-8''%s", expected, expected));
    }
}

TEST(the_token_is_sent_to_the_provider_only)
{
    static const struct {
        const char *url, *provider;
        int is_trusted;
    } cases[] = {
        {"https://lookaside.fbsbx.com/whatsapp_business/attachments/?mid=1", "https://graph.facebook.com/v23.0/", 1},
        {"https://LOOKASIDE.fbsbx.com:443/a", "https://graph.facebook.com/v23.0/", 1},
        {"https://graph.facebook.com/a", "https://graph.facebook.com/v23.0/", 1},
        {"http://127.0.0.1:8080/a", "http://127.0.0.1:8080/v23.0/", 1},
        {"http://127.0.0.1:8081/a", "http://127.0.0.1:8080/v23.0/", 0},
        {"http://lookaside.fbsbx.com/a", "https://graph.facebook.com/v23.0/", 0},
        {"https://lookaside.fbsbx.com:8443/a", "https://graph.facebook.com/v23.0/", 0},
        {"https://x.lookaside.fbsbx.com/a", "https://graph.facebook.com/v23.0/", 0},
        {"https://lookaside.fbsbx.com.example.com/a", "https://graph.facebook.com/v23.0/", 0},
        {"https://lookaside.fbsbx.com@example.com/a", "https://graph.facebook.com/v23.0/", 0},
        {"https://x@lookaside.fbsbx.com/a", "https://graph.facebook.com/v23.0/", 0},
        {"https://example.com/https://lookaside.fbsbx.com/", "https://graph.facebook.com/v23.0/", 0},
        {"https://example.com\\@lookaside.fbsbx.com/", "https://graph.facebook.com/v23.0/", 0},
        {"file:///etc/passwd", "https://graph.facebook.com/v23.0/", 0},
        {"lookaside.fbsbx.com/a", "https://graph.facebook.com/v23.0/", 0},
        {"", "https://graph.facebook.com/v23.0/", 0},
    };
    for (int i = 0; i < COUNT(cases); i++)
        if (neo_download_is_trusted(cases[i].url, cases[i].provider) != cases[i].is_trusted)
            fail_msg("%s", cases[i].url);
}
