/* What pages for the administrator ask the databases, however often they are asked for themselves: once a second at most, and
 * one at a time on this host. Where there is no answer of the last seconds, others wait for the one who asks, for seconds;
 * nobody waits behind one who waits for a database that hangs. */
#ifndef NEO_HTTPD_DB_PROBE_H
#define NEO_HTTPD_DB_PROBE_H

#include "httpd/shared_metrics.h"
#include "service/report.h"

/* The queue of the virtual host's database, or of the first one where it has none, with what is wrong, for a report. */
void neo_db_probe_backlog(request_rec *r, neo_report *report);

/* Whether requests can be answered: NULL, or why not. Where the virtual host has no database of its own, all of them count. */
const char *neo_db_probe_readiness(request_rec *r);

#endif
