/* SPDX-License-Identifier: Apache-2.0 */
/* Recognizes opt-outs in the text of a message (see whatsapp/callback.h). */
#include "whatsapp/callback.h"

#include <ctype.h>
#include <string.h>

/* Plain texts. NeoAPIWhatsAppStopTexts adds to them. */
static const struct {
    const char *text, *preference;
} texts[] = {
    {"stop", "stop"},
    {"stop all", "stop"},
    {"stop promotions", "stop"},
    {"stop messages", "stop"},
    {"unsubscribe", "stop"},
    {"opt out", "stop"},
    {"parar", "stop"},
    {"parar promocoes", "stop"},
    {"parar mensagens", "stop"},
    {"parar de receber", "stop"},
    {"parar de receber mensagens", "stop"},
    {"pare", "stop"},
    {"sair", "stop"},
    {"sair da lista", "stop"},
    {"cancelar", "stop"},
    {"cancelar inscricao", "stop"},
    {"cancelar mensagens", "stop"},
    {"descadastrar", "stop"},
    {"descadastre", "stop"},
    {"descadastre me", "stop"},
    {"me descadastre", "stop"},
    {"remover", "stop"},
    {"nao quero mais receber mensagens", "stop"},
    {"detener", "stop"},
    {"detener promociones", "stop"},
    {"darse de baja", "stop"},
    {"cancelar suscripcion", "stop"},
    {"resume", "resume"},
    {"voltar", "resume"},
};

/* The letters of U+00C0 to U+00FF without accents. */
static const char latin[] = "aaaaaaaceeeeiiiidnooooo ouuuuypsaaaaaaaceeeeiiiidnooooo ouuuuypy";

/* The character at `text`, and its length in bytes. The text is valid UTF-8. */
static int character_at(const char *text, apr_size_t *len)
{
    const unsigned char *c = (const unsigned char *)text;
    *len = c[0] < 0x80 ? 1 : c[0] < 0xE0 ? 2 : c[0] < 0xF0 ? 3 : 4;
    int code = *len == 1 ? c[0] : c[0] & (0xFF >> (*len + 1));
    for (apr_size_t i = 1; i < *len; i++) {
        if (!c[i]) { /* cut */
            *len = i;
            break;
        }
        code = code << 6 | (c[i] & 0x3F);
    }
    return code;
}

/* General punctuation, symbols, dingbats, variation selectors and emoji. Question marks, also U+00BF, are none: they stay, so
 * that a question is not in the list. */
static int is_symbol(int code)
{
    return (code >= 0x80 && code < 0xBF) || (code >= 0x2000 && code < 0x2C00) || (code >= 0x3000 && code < 0x3040) ||
           (code >= 0xFE00 && code < 0xFE10) || code >= 0x1F000;
}

const char *neo_opt_out_normalize(const char *text, apr_pool_t *pool)
{
    apr_size_t size = strlen(text), len;
    char *plain = apr_palloc(pool, size + 1), *out = plain;
    if (size > NEO_OPT_OUT_TEXT_MAX)
        return NULL;
    for (; *text; text += len) {
        int code = character_at(text, &len), is_accent = code >= 0x300 && code < 0x370;
        int letter = code >= 0xC0 && code <= 0xFF ? latin[code - 0xC0] : code < 0x80 ? tolower(code) : 0;
        int is_space = is_symbol(code) || letter == ' ' || (code < 0x80 && !isalnum(code) && code != '?');
        if (is_space && out > plain && out[-1] != ' ')
            *out++ = ' ';
        else if (!is_space && letter)
            *out++ = (char)letter;
        else if (!is_space && !is_accent) {
            memcpy(out, text, len);
            out += len;
        }
    }
    while (out > plain && out[-1] == ' ')
        out--;
    *out = '\0';
    return plain;
}

const char *neo_read_preference(const char *text, const apr_array_header_t *more, apr_pool_t *pool)
{
    const char *plain = neo_opt_out_normalize(text, pool);
    for (apr_size_t i = 0; plain && i < sizeof texts / sizeof *texts; i++)
        if (strcmp(texts[i].text, plain) == 0)
            return texts[i].preference;
    for (int i = 0; plain && more && i < more->nelts; i++)
        if (strcmp(APR_ARRAY_IDX(more, i, const char *), plain) == 0)
            return "stop";
    return NULL;
}
