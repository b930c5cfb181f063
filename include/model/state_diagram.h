/* SPDX-License-Identifier: Apache-2.0 */
/* State diagrams for the documentation. */
#ifndef NEO_MODEL_STATE_DIAGRAM_H
#define NEO_MODEL_STATE_DIAGRAM_H

#include "core/buf.h"

typedef struct neo_edge {
    const char *from, *to;
} neo_edge;

/* Adds an SVG of at most 16 states, ended by NULL, in about the order in which they are reached. States without edges are left
 * out. `edges` ends with one without `from`; one that leads back to an earlier state needs its opposite. */
void neo_state_diagram(neo_buf *out, const char *title, const char *const *states, const neo_edge *edges);

#endif
