/* SPDX-License-Identifier: Apache-2.0 */
/* Administrators' pages: the handlers neoapi-status, neoapi-metrics and neoapi-health, and a section of mod_status's page. They
 * work in any virtual host, also in one without the API. */
#ifndef NEO_HTTPD_ADMIN_H
#define NEO_HTTPD_ADMIN_H

#include <httpd.h>

/* A handler hook: DECLINED if the request's handler is not one of these. */
int neo_admin_handle(request_rec *r);

/* Registers the section of mod_status's page. */
void neo_admin_register(apr_pool_t *pool);

#endif
