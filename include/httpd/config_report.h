/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration as httpd has read it, for neoapictl doctor. */
#ifndef NEO_HTTPD_CONFIG_REPORT_H
#define NEO_HTTPD_CONFIG_REPORT_H

#include <httpd.h>

/* With `apachectl -t -D NEOAPI_REPORT`, prints a line of JSON: processes, threads, connections of each process, ports, the PID
 * file, and the virtual hosts with NeoAPI On, with their names, files and database. Members without a value are left out. Call
 * it after the MPM has checked its own configuration. */
void neo_config_report(server_rec *main_server, apr_pool_t *temporary);

#endif
