/* What the two files of `import` share: reading lines into an import, and what is wrong with them. */
#ifndef NEO_CTL_IMPORT_H
#define NEO_CTL_IMPORT_H

#include <stdio.h>

#include "ctl/progress.h"
#include "store/import.h"

#define NEO_IMPORT_MAX_SHOWN 100 /* complaints */

typedef struct neo_import_problem {
    long long number; /* of the line; 0: of the file */
    const char *field;
    const char *message;
} neo_import_problem;

typedef struct neo_import_job {
    const neo_ctl *ctl;
    neo_import *import;
    const char *organization, *tenant;
    FILE *in;
    long long size;               /* of the file in bytes, 0 where that is not known */
    long long bytes, lines, rows; /* that have been read */
    long long skipped;            /* subscriptions */
    neo_json *head;               /* of an export, else NULL */
    const neo_resource **kinds;   /* that can be imported */
    long long *counts;            /* of rows, by the place of their kind in neo_import_kinds */
    apr_array_header_t *problems; /* of neo_import_problem: the first ones */
    long long problem_count;
    neo_ctl_progress progress;
} neo_import_job;

/* Reads the whole file into the import. What is wrong with lines is complained of; returns why it cannot go on at all. */
const char *neo_import_job_read(neo_import_job *job);

/* Notes what is wrong with a line. `data` is the neo_import_job. */
void neo_import_job_add_problem(void *data, long long number, const char *field, const char *message);

#endif
