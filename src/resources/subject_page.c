/* SPDX-License-Identifier: Apache-2.0 */
/* The answer to a person, as a page in Portuguese. It has no scripts, and needs nothing else, so that it can be saved and
 * printed. All values are escaped. */
#include "resources/subject_page.h"

#include <apr_escape.h>
#include <apr_strings.h>
#include <string.h>

extern const char neo_subject_style[];

/* ---------------------------------------------------------------- words */

typedef struct {
    const char *name, *text;
} word;

/* Names of fields. Others are shown as they are. */
static const word names[] = {
    {"account_number", "Número da conta"},
    {"account_type", "Tipo de conta"},
    {"actor_id", "Feito por"},
    {"address", "Endereço"},
    {"agency", "Agência"},
    {"assigned_by", "Forma de atribuição"},
    {"bank_account", "Conta bancária"},
    {"bank_code", "Código do banco"},
    {"bank_name", "Banco"},
    {"birth_date", "Data de nascimento"},
    {"body", "Texto"},
    {"broker_id", "Corretor responsável"},
    {"city", "Cidade"},
    {"complement", "Complemento"},
    {"consent", "Consentimento"},
    {"contact_bsuid", "Identificador no WhatsApp"},
    {"contact_name", "Nome do contato"},
    {"contact_wa_id", "Número no WhatsApp"},
    {"conversation_id", "Conversa"},
    {"created_at", "Criado em"},
    {"created_by", "Criado por"},
    {"deleted", "Excluído"},
    {"deliveries", "Envios"},
    {"direction", "Direção"},
    {"document_number", "CPF ou CNPJ"},
    {"email", "E-mail"},
    {"events", "Histórico de alterações"},
    {"expires_at", "Validade"},
    {"external_id", "Identificador em outro sistema"},
    {"field", "Campo"},
    {"file", "Arquivo"},
    {"filename", "Nome do arquivo"},
    {"first_at", "Primeiro envio"},
    {"given_at", "Dado em"},
    {"host", "Destinatário"},
    {"ibge_code", "Código do IBGE"},
    {"id", "Identificador"},
    {"issued_at", "Emissão"},
    {"issuer", "Órgão emissor"},
    {"kind", "Tipo"},
    {"last_at", "Último envio"},
    {"latitude", "Latitude"},
    {"lead_id", "Contato de origem"},
    {"legal_representatives", "Representantes legais"},
    {"legal_representatives.party_id", "Representante legal"},
    {"lgpd_consent_at", "Consentimento em"},
    {"longitude", "Longitude"},
    {"lost_reason", "Motivo da perda"},
    {"marital_status", "Estado civil"},
    {"message", "Mensagem"},
    {"metadata", "Dados adicionais"},
    {"mime_type", "Formato"},
    {"name", "Nome"},
    {"nationality", "Nacionalidade"},
    {"neighborhood", "Bairro"},
    {"number", "Número"},
    {"occurred_at", "Data e hora"},
    {"opt_outs", "Pedidos de não receber mensagens"},
    {"opted_out_at", "Recusou mensagens em"},
    {"organization_id", "Organização"},
    {"origin", "Origem"},
    {"owners.party_id", "Proprietário"},
    {"parties.party_id", "Parte"},
    {"party_id", "Pessoa cadastrada"},
    {"phone", "Telefone"},
    {"pix_key", "Chave Pix"},
    {"portal", "Portal"},
    {"postal_code", "CEP"},
    {"profession", "Profissão"},
    {"property_id", "Imóvel"},
    {"property_regime", "Regime de bens"},
    {"proponent_ids", "Proponente"},
    {"received_at", "Recebido em"},
    {"rejected_leads", "Contatos recusados"},
    {"related", "Relacionado a"},
    {"resource_id", "Registro"},
    {"rg", "RG"},
    {"role", "Papel"},
    {"roles", "Papéis"},
    {"sha256", "Código de verificação"},
    {"size", "Tamanho em bytes"},
    {"source", "Fonte"},
    {"spouse_party_id", "Cônjuge"},
    {"state", "Estado"},
    {"status", "Situação"},
    {"stored_responses", "Respostas guardadas"},
    {"street", "Rua"},
    {"subscription_id", "Assinatura"},
    {"tenant_id", "Conta"},
    {"text", "Texto"},
    {"title", "Título"},
    {"trade_name", "Nome fantasia"},
    {"type", "Tipo"},
    {"updated_at", "Alterado em"},
    {"updated_by", "Alterado por"},
    {"url", "Endereço na internet"},
    {"whatsapp_user_id", "Identificador no WhatsApp"},
    {NULL, NULL},
};

/* Values of the fields `coded`. */
static const word values[] = {
    {"accepted", "aceita"},
    {"api", "sistema da empresa"},
    {"attorney", "procurador"},
    {"broker", "corretor"},
    {"buyer", "comprador"},
    {"checking", "corrente"},
    {"company", "pessoa jurídica"},
    {"contacted", "contatado"},
    {"contract", "contrato"},
    {"conversation", "conversa do WhatsApp"},
    {"converted", "convertido"},
    {"created", "criação"},
    {"deleted", "exclusão"},
    {"delivered", "entregue"},
    {"device", "telefone da empresa"},
    {"divorced", "divorciado"},
    {"document", "documento"},
    {"erased", "apagamento"},
    {"expired", "vencido"},
    {"failed", "falhou"},
    {"final_participation", "participação final nos aquestos"},
    {"guarantor", "fiador"},
    {"import", "importação"},
    {"inbound", "recebida"},
    {"landlord", "locador"},
    {"lead", "contato"},
    {"lost", "perdido"},
    {"mandatory_separation", "separação obrigatória de bens"},
    {"married", "casado"},
    {"message", "mensagem"},
    {"new", "novo"},
    {"other", "outro"},
    {"outbound", "enviada"},
    {"partial_community", "comunhão parcial de bens"},
    {"party", "pessoa cadastrada"},
    {"pending", "pendente"},
    {"person", "pessoa física"},
    {"property", "imóvel"},
    {"proposal", "proposta"},
    {"qualified", "qualificado"},
    {"read", "lida"},
    {"received", "recebida"},
    {"referral", "indicação"},
    {"rejected", "recusado"},
    {"seller", "vendedor"},
    {"savings", "poupança"},
    {"sent", "enviada"},
    {"separated", "separado"},
    {"separation", "separação de bens"},
    {"single", "solteiro"},
    {"stable_union", "união estável"},
    {"tenant", "locatário"},
    {"universal_community", "comunhão universal de bens"},
    {"updated", "alteração"},
    {"valid", "válido"},
    {"walk_in", "atendimento presencial"},
    {"webhook", "WhatsApp"},
    {"widowed", "viúvo"},
    {NULL, NULL},
};

static const char *const coded[] = {"account_type", "direction", "kind",   "marital_status", "property_regime",
                                    "role",         "roles",     "source", "status",         NULL};

static const char *translate(const word *words, const char *name)
{
    for (; words->name; words++)
        if (strcmp(words->name, name) == 0)
            return words->text;
    return name;
}

static int is_coded(const char *name)
{
    for (const char *const *c = coded; *c; c++)
        if (strcmp(*c, name) == 0)
            return 1;
    return 0;
}

/* ---------------------------------------------------------------- values */

static void put_text(neo_buf *out, const char *text)
{
    neo_buf_puts(out, apr_pescape_entity(out->pool, text, 0));
}

/* A type: of a record, or of an event ("party.created"). */
static void put_type(neo_buf *out, const char *code)
{
    char *rest;
    for (char *part = apr_strtok(apr_pstrdup(out->pool, code), ".", &rest); part;) {
        put_text(out, translate(values, part));
        if ((part = apr_strtok(NULL, ".", &rest)))
            neo_buf_puts(out, ": ");
    }
}

static void put_string(neo_buf *out, const char *name, const char *text)
{
    if (strcmp(name, "type") == 0)
        put_type(out, text);
    else if (strcmp(name, "field") == 0)
        put_text(out, translate(names, text));
    else
        put_text(out, is_coded(name) ? translate(values, text) : text);
}

/* A date or a time of the API becomes 31/01/2026 or 31/01/2026 13:45 UTC. */
static int put_time(neo_buf *out, const char *text)
{
    static const char pattern[] = "dddd-dd-ddTdd:dd:dd.dddZ";
    const size_t len = strlen(text);
    if (len != 10 && len != sizeof pattern - 1)
        return 0;
    for (size_t i = 0; i < len; i++)
        if (pattern[i] == 'd' ? text[i] < '0' || text[i] > '9' : text[i] != pattern[i])
            return 0;
    neo_buf_printf(out, "<time datetime=\"%s\">%.2s/%.2s/%.4s", text, text + 8, text + 5, text);
    if (len > 10)
        neo_buf_printf(out, " %.5s UTC", text + 11);
    neo_buf_puts(out, "</time>");
    return 1;
}

static void put_value(neo_buf *out, const char *name, const neo_json *value);

static void put_row(neo_buf *out, const char *name, const neo_json *value)
{
    neo_buf_puts(out, "<div><dt>");
    put_text(out, translate(names, name));
    neo_buf_puts(out, "</dt><dd>");
    put_value(out, name, value);
    neo_buf_puts(out, "</dd></div>");
}

static void put_object(neo_buf *out, const neo_json *object)
{
    neo_buf_puts(out, "<dl>");
    for (void *m = neo_json_first((neo_json *)object); m; m = neo_json_next((neo_json *)object, m))
        put_row(out, neo_json_member_key(m), neo_json_member_value(m));
    neo_buf_puts(out, "</dl>");
}

static void put_list(neo_buf *out, const char *name, const neo_json *list)
{
    neo_buf_puts(out, "<ul>");
    for (apr_size_t i = 0; i < neo_json_size(list); i++) {
        neo_buf_puts(out, "<li>");
        put_value(out, name, neo_json_at(list, i));
        neo_buf_puts(out, "</li>");
    }
    neo_buf_puts(out, "</ul>");
}

static void put_value(neo_buf *out, const char *name, const neo_json *value)
{
    const neo_json_kind kind = value ? neo_json_get_kind(value) : NEO_JSON_NULL;
    const char *text = kind == NEO_JSON_STRING ? neo_json_string(value) : NULL;
    if (kind == NEO_JSON_OBJECT)
        put_object(out, value);
    else if (kind == NEO_JSON_ARRAY)
        put_list(out, name, value);
    else if (text && !put_time(out, text))
        put_string(out, name, text);
    else if (kind == NEO_JSON_BOOLEAN)
        neo_buf_puts(out, neo_json_is_true(value) ? "sim" : "não");
    else if (kind == NEO_JSON_NULL)
        neo_buf_puts(out, "—");
    else if (!text)
        neo_json_add(out, value);
}

/* ---------------------------------------------------------------- sections */

/* A table with the members `columns` of each object of a list. */
static void put_table(neo_buf *out, const neo_json *list, const char *const *columns)
{
    neo_buf_puts(out, "<div class=\"table\" tabindex=\"0\"><table><thead><tr>");
    for (const char *const *c = columns; *c; c++)
        neo_buf_printf(out, "<th scope=\"col\">%s</th>", translate(names, *c));
    neo_buf_puts(out, "</tr></thead>\n<tbody>\n");
    for (apr_size_t i = 0; i < neo_json_size(list); i++) {
        neo_buf_puts(out, "<tr>");
        for (const char *const *c = columns; *c; c++) {
            neo_buf_puts(out, "<td>");
            put_value(out, *c, neo_json_get(neo_json_at(list, i), *c));
            neo_buf_puts(out, "</td>");
        }
        neo_buf_puts(out, "</tr>\n");
    }
    neo_buf_puts(out, "</tbody></table></div>\n");
}

static void put_until(neo_buf *out, const neo_json *until)
{
    neo_buf_puts(out, "Até ");
    put_value(out, "", until);
    neo_buf_puts(out, ". ");
}

static void put_kept(neo_buf *out, const neo_json *kept)
{
    const neo_json *until = neo_json_get(kept, "until"), *because = neo_json_get(kept, "because"),
                   *months = neo_json_get(kept, "months");
    neo_buf_puts(out, "<h4>Até quando fica guardado, e por quê</h4>\n<p>");
    if (until)
        put_until(out, until);
    if (because) {
        neo_buf_puts(out, until ? "" : "Até dez anos depois do fim. ");
        neo_buf_puts(out, "A lei obriga a guardar (Lei 13.709/2018, art. 16, I), por causa de:</p>\n");
        put_list(out, "", because);
    } else if (months)
        neo_buf_printf(out, "Até %lld meses depois do último contato, por regra da empresa.</p>\n", neo_json_integer(months));
    else
        neo_buf_puts(out, "Até que seja excluído, ou apagado a seu pedido.</p>\n");
}

/* The member of an object as a part of a record. */
static void put_part(neo_buf *out, const char *heading, const neo_json *value)
{
    if (!value || !neo_json_size(value))
        return;
    neo_buf_printf(out, "<h4>%s</h4>\n", heading);
    put_object(out, value);
    neo_buf_putc(out, '\n');
}

static void put_record(neo_buf *out, const neo_json *record)
{
    static const char *const columns[] = {"occurred_at", "direction", "type", "body", "status", NULL};
    const neo_json *messages = neo_json_get(record, "messages"), *kept = neo_json_get(record, "kept");
    neo_buf_puts(out, "<article><h3>");
    put_value(out, "type", neo_json_get(record, "type"));
    neo_buf_puts(out, " <code>");
    put_value(out, "id", neo_json_get(record, "id"));
    neo_buf_puts(out, "</code></h3>\n");
    if (neo_json_is_true(neo_json_get(record, "deleted")))
        neo_buf_puts(out, "<p>O registro foi excluído; só o histórico de alterações ainda o tem.</p>\n");
    put_part(out, "Dados", neo_json_get(record, "data"));
    put_part(out, "Dados", neo_json_get(record, "record"));
    if (messages) {
        neo_buf_puts(out, "<h4>Mensagens</h4>\n");
        put_table(out, messages, columns);
    }
    put_part(out, "Origem", neo_json_get(record, "origin"));
    if (kept)
        put_kept(out, kept);
    neo_buf_puts(out, "</article>\n");
}

static void put_records(neo_buf *out, const neo_json *list)
{
    for (apr_size_t i = 0; i < neo_json_size(list); i++)
        put_record(out, neo_json_at(list, i));
}

static void put_restricted(neo_buf *out, const neo_json *list)
{
    for (apr_size_t i = 0; i < neo_json_size(list); i++) {
        const neo_json *one = neo_json_at(list, i), *until = neo_json_get(one, "kept_until");
        put_record(out, one);
        neo_buf_puts(out, "<p>");
        if (until && neo_json_get_kind(until) != NEO_JSON_NULL)
            put_until(out, until);
        neo_buf_puts(out, "Guardado por causa de:</p>\n");
        put_list(out, "", neo_json_get(one, "because"));
    }
}

static void put_roles(neo_buf *out, const neo_json *list)
{
    static const char *const columns[] = {"type", "id", "field", NULL};
    put_table(out, list, columns);
}

static void put_recipients(neo_buf *out, const neo_json *list)
{
    static const char *const columns[] = {"host", "deliveries", "first_at", "last_at", NULL};
    put_table(out, list, columns);
}

static void put_history(neo_buf *out, const neo_json *list)
{
    static const char *const columns[] = {"created_at", "type", "resource_id", "actor_id", NULL};
    put_table(out, list, columns);
}

static const struct {
    const char *member, *heading, *text, *none;
    void (*put)(neo_buf *out, const neo_json *list);
} sections[] = {
    {"records", "Registros", "Os dados guardados sobre você, de onde vieram e até quando ficam guardados.",
     "Não há registros sobre você.", put_records},
    {"roles", "Participação em outros registros", "Contratos, propostas, imóveis e cadastros que se referem a você.",
     "Nenhum outro registro se refere a você.", put_roles},
    {"restricted", "Guardados por obrigação legal",
     "Estes dados foram apagados do uso normal. A lei obriga a guardá-los (Lei 13.709/2018, art. 16, I).", NULL,
     put_restricted},
    {"recipients", "Destinatários", "Os sistemas que receberam dados sobre você (Lei 13.709/2018, art. 18, VII).",
     "Nenhum sistema recebeu dados sobre você no período em que os envios ficam guardados.", put_recipients},
    {"history", "Histórico", "As alterações dos registros acima, e quem as fez.",
     "Não há alterações no período em que o histórico fica guardado.", put_history},
};

static void put_section(neo_buf *out, size_t i, const neo_json *list)
{
    const int is_empty = !list || !neo_json_size(list);
    if (is_empty && !sections[i].none)
        return;
    neo_buf_printf(out, "<h2>%s</h2>\n<p class=\"dim\">%s</p>\n", sections[i].heading,
                   is_empty ? sections[i].none : sections[i].text);
    if (!is_empty)
        sections[i].put(out, list);
}

/* How long the traces are kept, and what else there is. */
static void put_periods(neo_buf *out, const neo_json *export)
{
    const neo_json *counts = neo_json_get(export, "counts"), *kept = neo_json_get(export, "kept");
    neo_buf_puts(
        out,
        "<h2>Outros vestígios e prazos</h2>\n<div class=\"table\" tabindex=\"0\"><table><thead><tr><th scope=\"col\">O quê</th>"
        "<th scope=\"col\">Quantos</th><th scope=\"col\">Guardado por</th><th scope=\"col\">Os seus, até</th></tr>"
        "</thead>\n<tbody>\n");
    for (void *m = counts ? neo_json_first((neo_json *)counts) : NULL; m; m = neo_json_next((neo_json *)counts, m)) {
        const neo_json *period = kept ? neo_json_get(kept, neo_json_member_key(m)) : NULL;
        const neo_json *days = period ? neo_json_get(period, "days") : NULL;
        neo_buf_printf(out, "<tr><td>%s</td><td>%lld</td><td>", translate(names, neo_json_member_key(m)),
                       neo_json_integer(neo_json_member_value(m)));
        put_value(out, "", days);
        neo_buf_puts(out, days ? " dias</td><td>" : "</td><td>");
        put_value(out, "", period ? neo_json_get(period, "until") : NULL);
        neo_buf_puts(out, "</td></tr>\n");
    }
    neo_buf_puts(out, "</tbody></table></div>\n");
}

static void put_head(neo_buf *out, const neo_json *export)
{
    neo_buf_puts(out, "<!doctype html>\n<html lang=\"pt-BR\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
                      "content=\"width=device-width, initial-scale=1\"><meta name=\"robots\" content=\"noindex\">\n"
                      "<title>Seus dados pessoais</title>\n<style>");
    neo_buf_puts(out, neo_subject_style);
    neo_buf_puts(out, "</style></head>\n<body><main>\n<h1>Seus dados pessoais</h1>\n<p>Resposta de ");
    put_value(out, "", neo_json_get(export, "organization"));
    neo_buf_puts(out, " ao seu pedido de acesso (Lei 13.709/2018, arts. 18 e 19), feita em ");
    put_value(out, "", neo_json_get(export, "generated_at"));
    neo_buf_puts(out, ". A busca foi por:</p>\n");
    put_object(out, neo_json_get(export, "person"));
}

static neo_text make(neo_text body, apr_pool_t *pool)
{
    neo_buf out;
    const char *error;
    const neo_json *export = neo_json_parse(body, pool, &error);
    if (!export)
        return (neo_text){NULL, 0};
    neo_buf_init(&out, pool, 2 * body.len + 16384);
    put_head(&out, export);
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        put_section(&out, i, neo_json_get(export, sections[i].member));
    const long long omitted = neo_json_integer(neo_json_get(export, "history_omitted"));
    if (omitted)
        neo_buf_printf(&out, "<p>Há ainda %lld alterações mais antigas, que esta página não mostra.</p>\n", omitted);
    put_periods(&out, export);
    neo_buf_puts(&out, "</main></body></html>\n");
    return neo_buf_text(&out);
}

const neo_html_page neo_subject_page = {make, neo_subject_style};
