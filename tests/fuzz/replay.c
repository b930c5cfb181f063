/* SPDX-License-Identifier: Apache-2.0 */
/* The main program of a fuzzer that only repeats stored inputs, each as a whole and cut off at up to CUTS places: replay FILE…
 * gcc can build it, with the objects that the other tests with sanitizers use. */
#include "expect.h"

enum { CUTS = 64 };

/* Copies the input, so that AddressSanitizer detects reads beyond its end. */
static int run_first(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    EXPECT(copy);
    memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
    return 1;
}

static int run_file(const char *path)
{
    static uint8_t data[1 << 16];
    FILE *file = fopen(path, "rb");
    EXPECT(file);
    size_t size = fread(data, 1, sizeof data, file);
    EXPECT(size < sizeof data && fclose(file) == 0);
    int runs = run_first(data, size);
    size_t step = size / CUTS + 1;
    for (size_t cut = 0; cut < size; cut += step)
        runs += run_first(data, cut);
    return runs;
}

int main(int count, char **files)
{
    long runs = 0;
    for (int i = 1; i < count; i++) {
        fprintf(stderr, "%s\n", files[i]); /* the last one printed has failed */
        runs += run_file(files[i]);
    }
    printf("%d inputs, %ld executions, no failure\n", count - 1, runs);
    return 0;
}
