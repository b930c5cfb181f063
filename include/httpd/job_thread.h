/* SPDX-License-Identifier: Apache-2.0 */
/* The thread of each child process that runs background jobs. */
#ifndef NEO_HTTPD_JOB_THREAD_H
#define NEO_HTTPD_JOB_THREAD_H

#include "httpd/database.h"
#include "httpd/dispatcher.h"
#include "jobs/jobs.h"

/* Starts the thread, which ends before `pchild` is destroyed. Call it after mod_dbd's child_init. `dispatcher`: NULL if this
 * host does not deliver. */
void neo_job_thread_start(apr_pool_t *pchild, server_rec *server, neo_database *database, neo_dispatcher *dispatcher);

#endif
