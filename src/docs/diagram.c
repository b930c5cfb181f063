/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the statuses of a resource and their changes for Graphviz: diagram proposal. pack.sh runs it when the pages are made.
 *
 * Those of a property are changed by the effects of other resources. The boxes have fixed sizes, so that the drawing does not
 * depend on the fonts of the machine. */
#include <stdio.h>
#include <string.h>

#include "schema/resource.h"

static void print_status(const char *name)
{
    printf("\"%s\" [width=%.2f]\n", name, 0.3 + 0.105 * (double)strlen(name)); /* inches */
}

static void print_change(const char *from, const char *to)
{
    print_status(from);
    print_status(to);
    printf("\"%s\" -> \"%s\"\n", from, to);
}

static void print_effects(void)
{
    for (const neo_resource *const *r = neo_resources; *r; r++)
        for (const neo_effect *e = (*r)->effects; e && e->state; e++)
            for (const char *const *from = e->from; *from; from++)
                print_change(*from, e->becomes);
}

int main(int argc, char **argv)
{
    const neo_resource *const *r = neo_resources;
    while (*r && (argc != 2 || strcmp((*r)->name, argv[1]) != 0))
        r++;
    if (!*r) {
        fputs("usage: diagram RESOURCE\n", stderr);
        return 2;
    }
    puts("strict digraph {\nrankdir=TB nodesep=0.2 ranksep=0.35\n"
         "node [shape=box style=rounded fixedsize=true height=0.4 fontname=monospace fontsize=13]\nedge [arrowsize=0.8]");
    for (const neo_transition *t = (*r)->transitions; t && t->from; t++)
        print_change(t->from, t->to);
    if (!(*r)->transitions)
        print_effects();
    puts("}");
    return 0;
}
