/* SPDX-License-Identifier: Apache-2.0 */
/* Database queries of the administrators' pages. On this host at most one runs at a time, and at most one per second;
 * concurrent requests use the last result, or wait a few seconds for the query in progress if there is no recent one. */
#ifndef NEO_HTTPD_DB_PROBE_H
#define NEO_HTTPD_DB_PROBE_H

#include <httpd.h>

#include "status/report.h"

/* Sets the report's backlog, its error, and write_error. Reads the virtual host's database, or the first one if it has none. */
void neo_db_probe_report(request_rec *r, neo_report *report);

/* Returns NULL if requests can be served, or the reason why not. Checks all databases if the virtual host has none of its own.
 * `needs_writes`: a database that cannot execute writes is a reason, too; at most every five seconds this is tried. */
const char *neo_db_probe_readiness(request_rec *r, int needs_writes);

#endif
