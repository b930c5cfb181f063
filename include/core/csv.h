/* Tables as text (RFC 4180): records of fields, separated by commas or, as some spreadsheets write it, semicolons; with or
 * without a byte order mark, lines ended in any way. */
#ifndef NEO_CORE_CSV_H
#define NEO_CORE_CSV_H

#include "core/buf.h"

typedef struct neo_csv {
    const char *at, *end;
    char separator;
    int line; /* of `at`, from 1 */
} neo_csv;

/* One record; a field without quotes is taken without the blanks around it. */
typedef struct neo_csv_record {
    int line; /* in which it begins */
    int count;
    const char **fields;
    const char *wrong; /* a sentence: then there are no fields, and the next record begins in the next line */
} neo_csv_record;

/* Begins to read. The first line tells what separates. */
void neo_csv_begin(neo_csv *csv, neo_text text);

/* Reads the next record that is not empty, into the pool. False at the end. */
NEO_MUSTCHECK int neo_csv_next(neo_csv *csv, apr_pool_t *pool, neo_csv_record *record);

#endif
