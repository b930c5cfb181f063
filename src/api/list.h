/* SPDX-License-Identifier: Apache-2.0 */
/* What lists share: the parameters of a list, and the body of a page. Private to this layer. */
#ifndef NEO_API_LIST_H
#define NEO_API_LIST_H

#include "call.h"
#include "sql/page.h"

typedef struct neo_listing {
    int limit;
    apr_array_header_t *conditions; /* elements: neo_condition */
    neo_buf filters; /* "&name=value,value" each, in the tables' order, and an order: for the Link header and cursors */
    const neo_order *order;
    int has_total;
    const char *const *fields; /* see neo_call_read_fields */
} neo_listing;

/* The items of a page, in the first column of the first `count` rows. */
typedef struct neo_page {
    const neo_rows *rows;
    int count;
    const char *const *cursors; /* those of the first and the last item; each is NULL if the page has none */
    const char *const *fields;  /* the fields of each item that are shown; NULL: all */
    int has_more, has_earlier;
} neo_page;

/* Reads limit, filters, sort, count and fields. Returns a problem with all errors of the query, or NULL. */
neo_problem *neo_listing_read(neo_call *call, neo_listing *list);

/* The selection of one row more than the limit, which shows whether there is a next page. */
neo_selection neo_listing_selection(const neo_listing *list);

/* The body of a page. */
neo_text neo_page_body(neo_call *call, const neo_page *page);

/* Sets the Link header of the next page, which `at` ("&cursor=…") distinguishes from this one. */
void neo_listing_link(neo_call *call, const neo_listing *list, const char *at);

/* Fetches the rows of a page. Without rows, a first page is empty. */
typedef neo_pg_status (*neo_page_fetcher)(neo_call *call, neo_pg *pg, const neo_selection *selection, neo_rows *rows);

/* A page. */
neo_problem *neo_list_with(neo_call *call, neo_page_fetcher fetch, neo_result *result);

#endif
