/* SPDX-License-Identifier: MIT */
/*
 * fuzz_pmi.c: the PMI service survives, whatever ranks write and the coordinator answers, in any
 * order. The first byte of the input is the number of hosts; each line after it is a step:
 *   0 or 1, text        that rank writes the text and a newline
 *   r, 0 or 1, text     … without the newline
 *   e, text             the answer to the exchange under way; '~' stands for a newline
 *   n, 0 or 1           the answer about a name
 *   p, 0 or 1           the answer to a Python that may need PMIx; with a third byte: it does
 *   x or k, 0 or 1      that rank ends, with status 0 or otherwise
 */
#include "launcher/agent/mpi/pmi.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { RANKS = 2, LINE = 1024 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct state {
    struct pmi *pmi;
    int fd[RANKS];
    size_t answered[RANKS]; /* bytes of an answer that has not ended */
    uint32_t exchange;
    int faults;
};

static struct event_base *base;

static void check(bool is_right)
{
    if (!is_right)
        abort();
}

static void on_exchange(uint32_t number, const char *pairs, size_t size, void *arg)
{
    struct state *s = arg;

    check(number == s->exchange + 1);
    check(size == 0 || pairs[size - 1] == '\n');
    s->exchange = number;
}

static void on_name(int index, const char *what, const char *service, const char *port, void *arg)
{
    (void)arg;
    check(index >= 0 && index < RANKS && *what && *service);
    check(!port || *port);
}

static void on_abort(int index, int status, void *arg)
{
    (void)status, (void)arg;
    check(index >= 0 && index < RANKS);
}

static void on_fault(int index, const char *text, void *arg)
{
    struct state *s = arg;

    check(index >= 0 && index < RANKS && *text);
    check(++s->faults == 1);
}

static const char *const variables[] = {"c1=a", "c2=b=c", NULL};

/* A Python is answered later, if at all. */
static void on_pmix(int index, const char *python, void *arg)
{
    struct state *s = arg;

    check(index >= 0 && index < RANKS);
    if (!python)
        pmi_pmix(s->pmi, index, variables);
}

static void on_note(int index, const char *text, void *arg)
{
    (void)arg;
    check(index >= 0 && index < RANKS && *text);
}

/* An answer is a line that fits MPICH's buffer. */
static void answers_read(struct state *s, int rank)
{
    char bytes[4096];
    ssize_t n;

    while (s->fd[rank] >= 0 && (n = recv(s->fd[rank], bytes, sizeof(bytes), MSG_DONTWAIT)) > 0) {
        for (ssize_t i = 0; i < n; i++) {
            check(++s->answered[rank] <= LINE);
            check(s->answered[rank] > 1 || bytes[i] == 'c');
            if (bytes[i] == '\n')
                s->answered[rank] = 0;
        }
    }
}

static void loop(struct state *s)
{
    event_base_loop(base, EVLOOP_NONBLOCK);
    for (int i = 0; i < RANKS; i++)
        answers_read(s, i);
}

static void rank_write(struct state *s, int rank, const uint8_t *text, size_t size)
{
    while (s->fd[rank] >= 0 && size > 0) {
        ssize_t n = send(s->fd[rank], text, size, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n <= 0)
            return;
        text += n;
        size -= (size_t)n;
        loop(s);
    }
}

static void rank_end(struct state *s, int rank, bool has_succeeded)
{
    if (s->fd[rank] < 0)
        return;
    pmi_rank_ended(s->pmi, rank, has_succeeded);
    answers_read(s, rank);
    close(s->fd[rank]);
    s->fd[rank] = -1;
}

static void exchange_answer(struct state *s, const uint8_t *text, size_t size)
{
    char *pairs = malloc(size + 1);
    struct fault why = {0};

    check(pairs != NULL);
    memcpy(pairs, text, size);
    for (size_t i = 0; i < size; i++) {
        if (pairs[i] == '~')
            pairs[i] = '\n';
    }
    check(pmi_exchanged(s->pmi, s->exchange, pairs, size, &why) == 0 || why.text[0]);
    free(pairs);
}

static void step(struct state *s, const uint8_t *line, size_t size)
{
    int first = line[0] - '0', second = size > 1 ? line[1] - '0' : -1;
    bool has_rank = second == 0 || second == 1;

    if (first == 0 || first == 1) {
        rank_write(s, first, line + 1, size - 1);
        rank_write(s, first, (const uint8_t *)"\n", 1);
    } else if (line[0] == 'r' && has_rank) {
        rank_write(s, second, line + 2, size - 2);
    } else if (line[0] == 'e') {
        exchange_answer(s, line + 1, size - 1);
    } else if (line[0] == 'n' && has_rank) {
        pmi_named(s->pmi, second, true, "port");
    } else if (line[0] == 'p' && has_rank) {
        pmi_pmix(s->pmi, second, size > 2 ? variables : NULL);
    } else if ((line[0] == 'x' || line[0] == 'k') && has_rank) {
        rank_end(s, second, line[0] == 'x');
    }
}

static void start(struct state *s, int hosts)
{
    static const int host_of[RANKS + 1] = {0, 0, 1}, ranks[RANKS] = {0, 1}, apps[RANKS] = {0, 1};
    const struct pmi_events events = {on_exchange, on_name, on_pmix, on_abort,
                                      on_fault,    on_note, s};
    struct pmi_config config = {.job = "j",
                                .size = hosts == 1 ? RANKS : RANKS + 1,
                                .hosts = hosts,
                                .host_of = host_of,
                                .ranks = ranks,
                                .apps = apps,
                                .rank_count = RANKS};
    struct fault why;

    if (!base)
        base = event_base_new();
    check(base && pmi_open(&s->pmi, base, &config, &events, &why) == 0);
    for (int i = 0; i < RANKS; i++)
        check(pmi_rank_open(s->pmi, i, &s->fd[i], &why) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = data + size, *next;
    struct state s = {0};

    if (size == 0)
        return 0;
    start(&s, *data == '2' ? 2 : 1);
    for (data++; data < end; data = next + 1) {
        next = memchr(data, '\n', (size_t)(end - data));
        if (!next)
            next = end;
        if (next > data)
            step(&s, data, (size_t)(next - data));
        loop(&s);
    }
    for (int i = 0; i < RANKS; i++)
        rank_end(&s, i, false);
    loop(&s);
    pmi_close(s.pmi);
    return 0;
}
