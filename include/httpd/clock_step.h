/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of the system clock, which neoapictl doctor reports. */
#ifndef NEO_HTTPD_CLOCK_STEP_H
#define NEO_HTTPD_CLOCK_STEP_H

#include "core/clock.h"
#include "pg/pg.h"

/* Records that this host's system clock is `ahead` milliseconds ahead of the time; negative: behind. */
NEO_MUSTCHECK neo_pg_status neo_clock_step_record(neo_pg *pg, neo_ms ahead, apr_pool_t *pool);

#endif
