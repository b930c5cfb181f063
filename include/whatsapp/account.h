/* SPDX-License-Identifier: Apache-2.0 */
/* What the provider reports about an organization's account. */
#ifndef NEO_WHATSAPP_ACCOUNT_H
#define NEO_WHATSAPP_ACCOUNT_H

#include "sql/idempotency.h"
#include "sql/page.h"
#include "whatsapp/store.h"

/* One row: the body of GET /whatsapp/usage. `from` and `to` are months ("2026-01"); NULL: no limit. */
NEO_MUSTCHECK neo_pg_status neo_whatsapp_usage(neo_pg *pg, const neo_actor *actor, const char *from, const char *to,
                                               apr_pool_t *pool, neo_rows *rows);

/* The accounts whose report ("templates" or "numbers") is outdated, so that the caller must ask the provider; for 30 seconds,
 * other requests do not get them. Also those of which nothing is stored, but another request has tried: those have no
 * NEO_REPORT_CLAIMED_AT, and the caller must not ask. */
enum {
    NEO_REPORT_NUMBER, /* one that can ask */
    NEO_REPORT_PHONE_NUMBER_ID,
    NEO_REPORT_ACCESS_TOKEN, /* sealed */
    NEO_REPORT_ACCOUNT,
    NEO_REPORT_CLAIMED_AT,
    NEO_REPORT_IS_KNOWN,  /* an older report, or a part of one, is stored */
    NEO_REPORT_NEXT_PAGE, /* where the reading continues; null: at the beginning */
};
NEO_MUSTCHECK neo_pg_status neo_whatsapp_claim_reports(neo_pg *pg, const neo_actor *actor, const char *kind, apr_pool_t *pool,
                                                       neo_rows *rows);

/* Stores a page of templates (see neo_templates_read); an element without a definition records that the provider was asked. */
NEO_MUSTCHECK neo_pg_status neo_whatsapp_store_templates(neo_pg *pg, const neo_actor *actor, const char *account,
                                                         const neo_json *templates, apr_pool_t *pool);
/* Records where the next request continues to read the templates (see neo_templates_path); NULL: at the beginning. */
NEO_MUSTCHECK neo_pg_status neo_whatsapp_pause_templates(neo_pg *pg, const neo_actor *actor, const char *account,
                                                         const char *claimed, const char *next_page, apr_pool_t *pool);
/* Removes the templates of the account that were not stored since it was claimed. */
NEO_MUSTCHECK neo_pg_status neo_whatsapp_finish_templates(neo_pg *pg, const neo_actor *actor, const char *account,
                                                          const char *claimed, apr_pool_t *pool);
/* Stores what was reported about the account's numbers (see neo_numbers_read). */
NEO_MUSTCHECK neo_pg_status neo_whatsapp_store_numbers(neo_pg *pg, const neo_actor *actor, const char *account,
                                                       const neo_json *numbers, const char *claimed, apr_pool_t *pool);

/* A page of the organization's templates. */
NEO_MUSTCHECK neo_pg_status neo_whatsapp_list_templates(neo_pg *pg, const neo_actor *actor, const neo_selection *selection,
                                                        apr_pool_t *pool, neo_rows *rows);
/* One row: the body of GET /whatsapp/numbers. */
NEO_MUSTCHECK neo_pg_status neo_whatsapp_list_numbers(neo_pg *pg, const neo_actor *actor, apr_pool_t *pool, neo_rows *rows);

/* The template of a message that is to be sent. One row, or none if the message is refused anyway. */
enum {
    NEO_TEMPLATE_NUMBER,
    NEO_TEMPLATE_ACCESS_TOKEN, /* sealed */
    NEO_TEMPLATE_ACCOUNT,
    NEO_TEMPLATE_DEFINITION, /* null: not known */
    NEO_TEMPLATE_IS_CURRENT, /* it was read within an hour, and no callback says that it has changed */
    NEO_TEMPLATE_ASKED,      /* seconds since the provider was asked for it; null: never */
};
NEO_MUSTCHECK neo_pg_status neo_whatsapp_find_template(neo_pg *pg, const neo_actor *actor, const neo_conversation_start *start,
                                                       apr_pool_t *pool, neo_rows *rows);

/* Applies the items of a callback that are about accounts of these numbers (see neo_whatsapp_receive). */
NEO_MUSTCHECK neo_pg_status neo_whatsapp_apply_changes(neo_pg *pg, neo_text items, const char *const *numbers,
                                                       apr_pool_t *pool);

#endif
