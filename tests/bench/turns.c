/* SPDX-License-Identifier: Apache-2.0 */
/* Measures two handlers alternately over one connection: turns PORT ROUNDS FILE FILE
 *
 * A line of a file is "METHOD PATH KEY". A round sends a request of each file, in random order, so that slow phases of the
 * machine affect both handlers alike: the ratio of the medians varies by less than 1 %, that of two separate runs by 10 % and
 * more. Responses must have a Content-Length. Prints RESULT and the medians in microseconds, as JSON. */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define WARM_UP_ROUNDS 500
#define MAX_RESPONSE   (1 << 20) /* bytes */

typedef struct {
    char **texts; /* requests */
    int count;
    double *times; /* of each round, in microseconds */
} side;

static void fail(const char *why, const char *what)
{
    fprintf(stderr, "turns: %s: %.300s\n", why, what);
    exit(1);
}

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int connect_to(const char *port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(port))};
    int no_delay = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&to, sizeof to) != 0)
        fail("cannot connect to port", port);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &no_delay, sizeof no_delay);
    return fd;
}

static side read_side(const char *path, int rounds)
{
    side s = {.times = calloc((size_t)rounds, sizeof *s.times)};
    FILE *file = fopen(path, "r");
    char *line = NULL, method[16], where[2048], key[256];
    size_t capacity = 0;
    if (!file || !s.times)
        fail("cannot read", path);
    while (getline(&line, &capacity, file) > 0) {
        if (sscanf(line, "%15s %2047s %255s", method, where, key) != 3)
            fail("not a request", line);
        s.texts = realloc(s.texts, (size_t)(s.count + 1) * sizeof *s.texts);
        if (!s.texts ||
            asprintf(&s.texts[s.count++], "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: %s\r\n\r\n", method, where, key) < 0)
            fail("no memory for", path);
    }
    free(line);
    fclose(file);
    if (s.count == 0)
        fail("no request in", path);
    return s;
}

/* The length of the response with its head; 0 while the head is incomplete. */
static size_t length_of(const char *response)
{
    const char *end = strstr(response, "\r\n\r\n"), *length = strstr(response, "\r\nContent-Length: ");
    if (!end)
        return 0;
    if (strncmp(response, "HTTP/1.1 200 ", 13) != 0 || !length || length > end)
        fail("unexpected response", response);
    return (size_t)(end + 4 - response) + strtoul(length + 18, NULL, 10);
}

static double measure(int fd, const char *request)
{
    static char response[MAX_RESPONSE];
    size_t received = 0, expected = 0, len = strlen(request);
    double started = now_us();
    if (write(fd, request, len) != (ssize_t)len)
        fail("cannot send", request);
    while (expected == 0 || received < expected) {
        ssize_t count = read(fd, response + received, sizeof response - 1 - received);
        if (count <= 0)
            fail("incomplete response to", request);
        received += (size_t)count;
        response[received] = '\0';
        expected = expected ? expected : length_of(response);
    }
    return now_us() - started;
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static double median_of(const side *s, int rounds)
{
    qsort(s->times, (size_t)rounds, sizeof *s->times, compare);
    return s->times[rounds / 2];
}

int main(int argc, char **argv)
{
    int rounds = argc == 5 ? atoi(argv[2]) : 0;
    if (rounds <= 0)
        fail("usage", "turns PORT ROUNDS FILE FILE");
    int fd = connect_to(argv[1]);
    side sides[] = {read_side(argv[3], rounds), read_side(argv[4], rounds)};
    srandom((unsigned int)time(NULL));
    for (int round = -WARM_UP_ROUNDS; round < rounds; round++) {
        long first = random() & 1;
        for (int turn = 0; turn < 2; turn++) {
            side *s = &sides[first ^ turn];
            double duration = measure(fd, s->texts[random() % s->count]);
            if (round >= 0)
                s->times[round] = duration;
        }
    }
    printf("RESULT {\"one\": %.1f, \"other\": %.1f}\n", median_of(&sides[0], rounds), median_of(&sides[1], rounds));
    return 0;
}
