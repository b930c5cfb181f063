/* Pages for the administrator, as handlers that a location is given with SetHandler: neoapi-status, neoapi-metrics and
 * neoapi-health; and a section of mod_status's page. They work in any virtual host, also in one without the API. */
#ifndef NEO_HTTPD_ADMIN_H
#define NEO_HTTPD_ADMIN_H

#include <httpd.h>

/* A handler as httpd calls it: DECLINED where the location is another's. */
int neo_admin_handle(request_rec *r);

/* Once, when hooks are registered: the section of mod_status's page, where that is loaded. */
void neo_admin_register(apr_pool_t *pool);

#endif
