/* SPDX-License-Identifier: Apache-2.0 */
/* Reads CSV (RFC 4180): separated by commas or, as some spreadsheets write it, semicolons; with or without a byte order mark;
 * with lines that end in LF, CR LF or CR. */
#ifndef NEO_CORE_CSV_H
#define NEO_CORE_CSV_H

#include "core/buf.h"

typedef struct neo_csv {
    const char *at, *end;
    char separator;
    int line; /* the line of `at`, from 1 */
} neo_csv;

/* One record. An unquoted field has no leading or trailing spaces and tabs. */
typedef struct neo_csv_record {
    int line; /* the line on which it starts, from 1 */
    int count;
    const char **fields;
    const char *error; /* an error, or NULL. If set, there are no fields, and the next record starts in the next line */
} neo_csv_record;

/* Starts reading. The first line determines the separator. */
void neo_csv_begin(neo_csv *csv, neo_text text);

/* Reads the next record that is not empty. Returns false at the end. */
NEO_MUSTCHECK int neo_csv_next(neo_csv *csv, apr_pool_t *pool, neo_csv_record *record);

#endif
