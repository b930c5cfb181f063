/* SPDX-License-Identifier: Apache-2.0 */
/* Prints documents that are generated from the tables of fields and operations, for the checks:
 *   print description BASE_URL DOCS_URL   the OpenAPI document
 *   print errors                          the page of errors
 *   print yaml                            the JSON value that comes on standard input, as YAML */
#include <apr_general.h>
#include <stdio.h>
#include <string.h>

#include "api/routing.h"
#include "openapi/reference.h"

static neo_text read_all(FILE *in, apr_pool_t *pool)
{
    char block[4096];
    neo_buf all;
    neo_buf_init(&all, pool, sizeof block);
    for (size_t got; (got = fread(block, 1, sizeof block, in)) > 0;)
        neo_buf_add(&all, block, got);
    return neo_buf_text(&all);
}

static int print(neo_text text)
{
    return fwrite(text.ptr, 1, text.len, stdout) == text.len && fflush(stdout) == 0 ? 0 : 1;
}

static int print_yaml(apr_pool_t *pool)
{
    const char *error;
    neo_json *value = neo_json_parse(read_all(stdin, pool), pool, &error);
    if (value)
        return print(neo_yaml_text(value, pool));
    fprintf(stderr, "print: %s\n", error);
    return 1;
}

static int run(int argc, char **argv, apr_pool_t *pool)
{
    if (argc == 4 && strcmp(argv[1], "description") == 0)
        return print(neo_yaml_text(neo_openapi_document(neo_operations(), argv[2], argv[3], pool), pool));
    if (argc == 2 && strcmp(argv[1], "errors") == 0)
        return print(neo_docs_content(neo_docs_at("docs/errors"),
                                      neo_reference_make(neo_operations(), "https://api.example.com/public/v1/", "", pool),
                                      NULL, pool));
    if (argc == 2 && strcmp(argv[1], "yaml") == 0)
        return print_yaml(pool);
    fputs("usage: print description BASE_URL DOCS_URL | errors | yaml\n", stderr);
    return 2;
}

int main(int argc, char **argv)
{
    apr_pool_t *pool;
    apr_initialize();
    apr_pool_create(&pool, NULL);
    int status = run(argc, argv, pool);
    apr_terminate();
    return status;
}
