/* SPDX-License-Identifier: Apache-2.0 */
/* A library for LD_PRELOAD that replaces getaddrinfo: a file NAME in the directory ANSWERS has the current address of that
 * name. */
#include <dlfcn.h>
#include <netdb.h>
#include <stdio.h>

typedef int resolver(const char *, const char *, const struct addrinfo *, struct addrinfo **);

resolver getaddrinfo;

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **found)
{
    char path[512], address[64] = "";
    resolver *real = (resolver *)dlsym(RTLD_NEXT, "getaddrinfo");
    FILE *file = NULL;
    if (node && snprintf(path, sizeof path, "%s/%s", ANSWERS, node) < (int)sizeof path)
        file = fopen(path, "r");
    if (!file)
        return real(node, service, hints, found);
    if (fscanf(file, "%63s", address) != 1)
        address[0] = '\0';
    fclose(file);
    return real(address, service, hints, found);
}
