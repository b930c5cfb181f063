/* SPDX-License-Identifier: Apache-2.0 */
/* Generates the register of processing (Lei 13.709, art. 37) from the marks in the tables of fields (see openapi/docs.h). */
#include <apr_strings.h>

#include "openapi/docs.h"
#include "resources/list.h"

/* Purpose, source and retention of a resource's personal data. */
static const struct {
    const neo_resource *resource;
    const char *purpose, *source, *retention;
} processing[] = {
    {&neo_lead, "Answering people who ask about a property (art. 7, I and V)", "Portals, the organization's clients, WhatsApp",
     "Until it is deleted or erased, or by a rule of retention (`leads`)"},
    {&neo_party, "Proposals and contracts (art. 7, II and V)", "The organization's clients",
     "Until it is deleted or erased, or by a rule of retention (`candidates`); with a contract ten years after its end (art. "
     "16, I)"},
    {&neo_document, "Examination of documents for a contract (art. 7, II and V)", "The organization's clients",
     "As the record that it belongs to"},
    {&neo_proposal, "Proposals (art. 7, V)", "The organization's clients", "Until it is deleted"},
    {&neo_contract, "Contracts (art. 7, II and V)", "The organization's clients", "Until it is deleted"},
    {&neo_broker, "The organization's brokers and their commissions (art. 7, II and V)", "The organization's clients",
     "Until it is deleted"},
    {&neo_whatsapp_conversation, "Messages with leads (art. 7, I and V)", "WhatsApp", "As its lead"},
    {&neo_whatsapp_message, "Messages with leads (art. 7, I and V)", "WhatsApp, the organization's clients",
     "As its conversation, or by a rule of retention (`messages`)"},
    {&neo_whatsapp_opt_out, "Not writing to who opted out (art. 18, IX)", "WhatsApp, imports",
     "Until the contact opts in; erased, as a keyed hash"},
};

static const char *const marks[] = {[NEO_IDENTIFYING] = "identifying", [NEO_SENSITIVE] = "sensitive"};

static const char *recipients(const neo_resource *resource, const neo_field *field)
{
    return resource->has_events && !(field->flags & NEO_IN_EVENT)
               ? "Clients with the scope to read"
               : "Clients with the scope to read; subscriptions, the event log";
}

/* A member has its object's mark if that is stronger. */
static void add_fields(neo_buf *out, const neo_resource *resource, const neo_field *fields, const char *path,
                       neo_personal above)
{
    for (const neo_field *f = fields; f->name; f++) {
        const neo_personal mark = f->personal > above ? f->personal : above;
        const char *name = apr_pstrcat(out->pool, path, f->name, NULL);
        if (f->fields)
            add_fields(out, resource, f->fields, apr_pstrcat(out->pool, name, ".", NULL), mark);
        else if (mark > NEO_NOT_PERSONAL)
            neo_buf_printf(out,
                           "<tr><td data-label=\"Field\"><code>%s</code></td><td data-label=\"Mark\">%s</td>"
                           "<td data-label=\"Recipients\">%s</td></tr>\n",
                           name, marks[mark], recipients(resource, f));
    }
}

void neo_register_add(neo_buf *out)
{
    for (size_t i = 0; i < sizeof processing / sizeof *processing; i++) {
        const neo_resource *resource = processing[i].resource;
        neo_buf_printf(out, "<h3 id=\"register-%s\"><code>%s</code></h3>\n<p>Purpose: ", resource->name, resource->name);
        neo_buf_html(out, processing[i].purpose);
        neo_buf_puts(out, ". Source: ");
        neo_buf_html(out, processing[i].source);
        neo_buf_puts(out, ". Kept: ");
        neo_buf_html(out, processing[i].retention);
        neo_buf_puts(out, ".</p>\n<table><thead><tr><th>Field</th><th>Mark</th><th>Recipients</th></tr></thead>\n<tbody>\n");
        add_fields(out, resource, resource->fields, "", NEO_NOT_PERSONAL);
        neo_buf_puts(out, "</tbody></table>\n");
    }
}
