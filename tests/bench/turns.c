/* Two handlers asked in turns by one client, over one connection: turns PORT ROUNDS FILE FILE
 *
 * A line of a file is "METHOD PATH KEY". A round asks for a line of each, and which of them comes first is left to chance: so
 * whatever slows the machine for longer than an answer takes slows both, and the ratio of the medians strays by less than a
 * hundredth, where that of two runs strays by a tenth and more. Answers have a Content-Length.
 *
 * Prints RESULT and the medians in microseconds, as JSON. */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define WARM_UP 500 /* rounds that are not counted */
#define LONGEST (1 << 20)

typedef struct {
    char **texts; /* requests as they are sent */
    int count;
    double *times; /* of each round, in microseconds */
} side;

static void give_up(const char *why, const char *what)
{
    fprintf(stderr, "turns: %s: %.300s\n", why, what);
    exit(1);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int dial(const char *port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(port))};
    int at_once = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&to, sizeof to) != 0)
        give_up("cannot connect to port", port);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
    return fd;
}

static side read_side(const char *path, int rounds)
{
    side s = {.times = calloc((size_t)rounds, sizeof *s.times)};
    FILE *file = fopen(path, "r");
    char *line = NULL, method[16], where[2048], key[256];
    size_t room = 0;
    if (!file || !s.times)
        give_up("cannot read", path);
    while (getline(&line, &room, file) > 0) {
        if (sscanf(line, "%15s %2047s %255s", method, where, key) != 3)
            give_up("not a request", line);
        s.texts = realloc(s.texts, (size_t)(s.count + 1) * sizeof *s.texts);
        if (!s.texts ||
            asprintf(&s.texts[s.count++], "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: %s\r\n\r\n", method, where, key) < 0)
            give_up("no memory for", path);
    }
    free(line);
    fclose(file);
    if (s.count == 0)
        give_up("no request in", path);
    return s;
}

/* How long the answer is with its head; 0 while that is not known. */
static size_t length_of(const char *answer)
{
    const char *end = strstr(answer, "\r\n\r\n"), *length = strstr(answer, "\r\nContent-Length: ");
    if (!end)
        return 0;
    if (strncmp(answer, "HTTP/1.1 200 ", 13) != 0 || !length || length > end)
        give_up("not the answer that was wanted", answer);
    return (size_t)(end + 4 - answer) + strtoul(length + 18, NULL, 10);
}

static double ask(int fd, const char *request)
{
    static char answer[LONGEST];
    size_t have = 0, due = 0, len = strlen(request);
    double begun = now();
    if (write(fd, request, len) != (ssize_t)len)
        give_up("not sent", request);
    while (due == 0 || have < due) {
        ssize_t more = read(fd, answer + have, sizeof answer - 1 - have);
        if (more <= 0)
            give_up("no whole answer to", request);
        have += (size_t)more;
        answer[have] = '\0';
        due = due ? due : length_of(answer);
    }
    return now() - begun;
}

static int compare(const void *a, const void *b)
{
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
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
        give_up("usage", "turns PORT ROUNDS FILE FILE");
    int fd = dial(argv[1]);
    side sides[] = {read_side(argv[3], rounds), read_side(argv[4], rounds)};
    srandom((unsigned int)time(NULL));
    for (int round = -WARM_UP; round < rounds; round++) {
        long first = random() & 1;
        for (int turn = 0; turn < 2; turn++) {
            side *s = &sides[first ^ turn];
            double took = ask(fd, s->texts[random() % s->count]);
            if (round >= 0)
                s->times[round] = took;
        }
    }
    printf("RESULT {\"one\": %.1f, \"other\": %.1f}\n", median_of(&sides[0], rounds), median_of(&sides[1], rounds));
    return 0;
}
