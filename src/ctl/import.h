/* What the two files of `import` share: reading lines into an intake, and what is wrong with them. */
#ifndef NEO_CTL_IMPORT_H
#define NEO_CTL_IMPORT_H

#include <stdio.h>

#include "ctl/progress.h"
#include "store/intake.h"

#define NEO_IMPORT_MOST_SHOWN 100 /* complaints */

typedef struct neo_complaint {
    long long number; /* of the line; 0: of the file */
    const char *field;
    const char *message;
} neo_complaint;

typedef struct neo_import {
    const neo_ctl *ctl;
    neo_intake *intake;
    const char *organization, *tenant;
    FILE *in;
    long long size;                 /* of the file in bytes, 0 where that is not known */
    long long bytes, lines, rows;   /* that have been read */
    long long passed_over;          /* subscriptions */
    neo_json *head;                 /* of an export, else NULL */
    const neo_resource **kinds;     /* that can be imported */
    long long *counts;              /* of rows, by the place of their kind in neo_intake_kinds */
    apr_array_header_t *complaints; /* of neo_complaint: the first ones */
    long long complained;
    neo_ctl_progress progress;
} neo_import;

/* Reads the whole file into the intake. What is wrong with lines is complained of; returns why it cannot go on at all. */
const char *neo_import_read(neo_import *import);

/* Notes what is wrong with a line. `data` is the neo_import. */
void neo_import_complain(void *data, long long number, const char *field, const char *message);

#endif
