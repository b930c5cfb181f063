/* SPDX-License-Identifier: Apache-2.0 */
/* The format of `export` and `import`, and the state of an import, shared by import.c and import_read.c.
 *
 * The format is a line of JSON per row, {"broker": {…}}, after a header line {"export": {"format": 1, "organization": {"id":
 * …}, "rows": {"broker": 200, …}, "left_out": {"whatsapp_number": 2}, …}}. `import` accepts files without the header. */
#ifndef NEO_CTL_IMPORT_H
#define NEO_CTL_IMPORT_H

#include <stdio.h>

#include "admin/import.h"
#include "ctl/output.h"

#define NEO_TRANSFER_HEAD   "export"
#define NEO_TRANSFER_FORMAT 1

/* What an export does not contain, for help texts. */
#define NEO_TRANSFER_LEFT_OUT "WhatsApp numbers, webhook deliveries, keys, tokens and users"

#define NEO_TRANSFER_MAX_LINE 1048576 /* bytes of a line: the default of NeoAPIMaxBody */

#define NEO_IMPORT_MAX_SHOWN 100 /* errors */

typedef struct neo_import_problem {
    long long number; /* the line's; 0: the whole file */
    const char *field;
    const char *message;
} neo_import_problem;

typedef struct neo_import_job {
    const neo_ctl *ctl;
    neo_import *import;
    const char *organization, *tenant;
    FILE *in;
    long long size;               /* the file's, in bytes; 0 if unknown */
    long long bytes, lines, rows; /* read so far */
    long long skipped;            /* webhook subscriptions */
    neo_json *head;               /* the header line of an export, or NULL */
    const neo_resource **kinds;   /* the kinds that can be imported */
    long long *counts;            /* rows by their kind's index in neo_import_kinds */
    apr_array_header_t *problems; /* elements: neo_import_problem, the first ones */
    long long problem_count;
    neo_ctl_progress progress;
} neo_import_job;

/* Reads the file into the import. Errors in lines are added to `problems`; other errors are returned. */
const char *neo_import_job_read(neo_import_job *job);

/* Adds an error. `data` is the neo_import_job. */
void neo_import_job_add_problem(void *data, long long number, const char *field, const char *message);

#endif
