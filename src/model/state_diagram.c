/* SPDX-License-Identifier: Apache-2.0 */
/* Draws state diagrams as SVG (see model/state_diagram.h). States are placed in columns by their distance from the start. */
#include "model/state_diagram.h"

#include <string.h>

enum { MAX_STATES = 16, WIDTH = 150, HEIGHT = 32, COLUMN = 210, ROW = 48, MARGIN = 4, HEAD = 8 };

typedef struct {
    const char *const *names;
    const neo_edge *edges;
    int count; /* of states */
    int level[MAX_STATES], row[MAX_STATES], is_used[MAX_STATES];
} diagram;

static int index_of(const diagram *d, const char *name)
{
    int i = 0;
    while (i < d->count && strcmp(d->names[i], name) != 0)
        i++;
    return i;
}

/* An edge leads forward if its end comes later in the list of states. */
static int is_forward(const diagram *d, const neo_edge *edge)
{
    return index_of(d, edge->from) < index_of(d, edge->to);
}

static void set_levels(diagram *d)
{
    for (int round = 0; round < d->count; round++)
        for (const neo_edge *e = d->edges; e->from; e++) {
            int from = index_of(d, e->from), to = index_of(d, e->to);
            d->is_used[from] = d->is_used[to] = 1;
            if (is_forward(d, e) && d->level[to] <= d->level[from])
                d->level[to] = d->level[from] + 1;
        }
}

static int is_passed(const diagram *d, int state)
{
    for (const neo_edge *e = d->edges; e->from; e++)
        if (is_forward(d, e) && d->level[index_of(d, e->from)] < d->level[state] &&
            d->level[index_of(d, e->to)] > d->level[state])
            return 1;
    return 0;
}

static int states_in(const diagram *d, int level)
{
    int count = 0;
    for (int s = 0; s < d->count; s++)
        count += d->is_used[s] && d->level[s] == level;
    return count;
}

/* A state that an edge passes is drawn below the next column's, out of the way of the edge. */
static void set_rows(diagram *d)
{
    int next[MAX_STATES] = {0};
    for (int s = 0; s < d->count; s++)
        if (d->is_used[s])
            d->row[s] = is_passed(d, s) ? states_in(d, d->level[s] + 1) : next[d->level[s]]++;
}

static int left_of(const diagram *d, int state)
{
    return MARGIN + d->level[state] * COLUMN;
}

static int middle_of(const diagram *d, int state)
{
    return MARGIN + d->row[state] * ROW + HEIGHT / 2;
}

static void add_head(neo_buf *out, int x, int y, int direction)
{
    neo_buf_printf(out, "<path d=\"M%d %dl%d -4v8z\" fill=\"currentColor\"/>\n", x, y, -direction * HEAD);
}

static int is_mutual(const diagram *d, const neo_edge *edge)
{
    for (const neo_edge *e = d->edges; e->from; e++)
        if (strcmp(e->from, edge->to) == 0 && strcmp(e->to, edge->from) == 0)
            return 1;
    return 0;
}

static void add_edge(neo_buf *out, const diagram *d, const neo_edge *edge)
{
    int from = index_of(d, edge->from), to = index_of(d, edge->to);
    int x1 = left_of(d, from) + WIDTH, x2 = left_of(d, to), y1 = middle_of(d, from), y2 = middle_of(d, to);
    if (!is_forward(d, edge))
        return;
    neo_buf_printf(out, "<path d=\"M%d %dL%d %d\" stroke=\"currentColor\" fill=\"none\"/>\n", x1, y1, x2, y2);
    add_head(out, x2, y2, 1);
    if (is_mutual(d, edge))
        add_head(out, x1, y1, -1);
}

static void add_state(neo_buf *out, const diagram *d, int state)
{
    neo_buf_printf(out,
                   "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"6\" stroke=\"currentColor\" fill=\"none\"/>\n"
                   "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" font-size=\"14\" fill=\"currentColor\">%s</text>\n",
                   left_of(d, state), middle_of(d, state) - HEIGHT / 2, WIDTH, HEIGHT, left_of(d, state) + WIDTH / 2,
                   middle_of(d, state) + 5, d->names[state]);
}

void neo_state_diagram(neo_buf *out, const char *title, const char *const *states, const neo_edge *edges)
{
    diagram d = {.names = states, .edges = edges};
    int width = 0, height = 0;
    while (states[d.count] && d.count < MAX_STATES)
        d.count++;
    set_levels(&d);
    set_rows(&d);
    for (int s = 0; s < d.count; s++) {
        width = left_of(&d, s) + WIDTH > width ? left_of(&d, s) + WIDTH : width;
        height = middle_of(&d, s) > height ? middle_of(&d, s) : height;
    }
    neo_buf_printf(out, "<svg class=\"diagram\" viewBox=\"0 0 %d %d\" width=\"%d\" role=\"img\" aria-label=\"%s\">\n",
                   width + MARGIN, height + HEIGHT / 2 + MARGIN, width + MARGIN, title);
    for (const neo_edge *e = edges; e->from; e++)
        add_edge(out, &d, e);
    for (int s = 0; s < d.count; s++)
        if (d.is_used[s])
            add_state(out, &d, s);
    neo_buf_puts(out, "</svg>\n");
}
