/* SPDX-License-Identifier: Apache-2.0 */
/* The answer to a person, as a page in Portuguese (Lei 13.709, art. 19, § 2). */
#ifndef NEO_RESOURCES_SUBJECT_PAGE_H
#define NEO_RESOURCES_SUBJECT_PAGE_H

#include "schema/operation.h"

/* Makes the page of what POST /subjects/export returns. */
extern const neo_html_page neo_subject_page;

#endif
