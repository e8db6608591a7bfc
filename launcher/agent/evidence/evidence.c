/* SPDX-License-Identifier: MIT */
#include "launcher/agent/evidence/evidence.h"

#include "common/clock.h"
#include "common/text/number.h"
#include "common/text/object_field.h"
#include "common/text/parsed_json.h"
#include "launcher/agent/evidence/flight_dump.h"
#include "launcher/agent/evidence/flight_record.h"
#include "launcher/agent/evidence/ras_answer.h"
#include "launcher/agent/evidence/stream_ask.h"
#include "launcher/agent/evidence/worker_server_linux.h"
#include "launcher/base/machine/process_linux.h"
#include "launcher/base/text/environment.h"

#include <stdlib.h>
#include <string.h>

enum {
    SILENCE_MS = 1000, /* how long a server is given that has heard the question */
    ANSWER_MS = 2000,  /* for the whole answer; torch begins a dump after up to 1 s */
    LOOK_MS = 10,      /* between looks at files */
    PORTS = 4,         /* at which a rank's worker server may listen */
};

enum source { SOURCE_NCCL, SOURCE_SERVER, SOURCE_DUMP };

struct witness {
    int rank;
    enum source source;
    struct stream_ask stream; /* for all but SOURCE_DUMP */
    struct flight_dump dump;  /* for SOURCE_DUMP */
};

struct evidence {
    struct witness **list;
    size_t count, room;
    int64_t begun_ms;
};

static const char server_question[] =
    "POST /handler/dump_nccl_trace_json HTTP/1.0\r\nContent-Length: 0\r\n\r\n";

struct evidence *evidence_open(void)
{
    struct evidence *e = calloc(1, sizeof(*e));

    if (e)
        e->begun_ms = clock_ms();
    return e;
}

static void witness_clear(struct witness *w)
{
    if (w->source == SOURCE_DUMP)
        flight_dump_close(&w->dump);
    else
        stream_ask_close(&w->stream);
}

void evidence_close(struct evidence *e)
{
    if (!e)
        return;
    for (size_t i = 0; i < e->count; i++) {
        witness_clear(e->list[i]);
        free(e->list[i]);
    }
    free(e->list);
    free(e);
}

/* --- questions -------------------------------------------------------------------------------- */

/* Takes over a witness who has been asked. */
static void witness_keep(struct evidence *e, struct witness *asked)
{
    struct witness *w = malloc(sizeof(*w)), **more = e->list;

    if (e->count == e->room) {
        more = realloc(e->list, (e->room * 2 + 16) * sizeof(struct witness *));
        if (more) {
            e->list = more;
            e->room = e->room * 2 + 16;
        }
    }
    if (w && more) {
        *w = *asked;
        e->list[e->count++] = w;
    } else {
        free(w);
        witness_clear(asked);
    }
}

static void nccl_ask(struct evidence *e, struct witness *w, char *const *variables)
{
    const char *text = environment_find(variables, "NCCL_RAS_ADDR");
    struct address to;

    w->source = SOURCE_NCCL;
    if (text && address_parse(&to, text, NULL) == 0 &&
        stream_ask_open(&w->stream, &to, ras_answer_question))
        witness_keep(e, w);
}

/* The server that torch.distributed.debug has begun; of several ports one is its. */
static void debug_server_ask(struct evidence *e, struct witness *w, pid_t pid,
                             char *const *variables)
{
    const char *store = environment_find(variables, "MASTER_PORT");
    int64_t other = 0;
    uint16_t ports[PORTS];
    struct address to;
    int count;

    if (store)
        number_parse(store, 0, UINT16_MAX, &other);
    count = worker_server_ports(pid, (uint16_t)other, ports, PORTS);
    for (int i = 0; i < count; i++)
        if (address_make(&to, "127.0.0.1", ports[i], NULL) == 0 &&
            stream_ask_open(&w->stream, &to, server_question))
            witness_keep(e, w);
}

static void server_ask(struct evidence *e, struct witness *w, pid_t pid, char *const *variables)
{
    const char *path = environment_find(variables, "TORCH_WORKER_SERVER_SOCKET");
    struct address to;

    w->source = SOURCE_SERVER;
    if (path && *path == '/' && address_make_local(&to, "", path + 1, NULL) == 0 &&
        stream_ask_open(&w->stream, &to, server_question))
        witness_keep(e, w);
    else
        debug_server_ask(e, w, pid, variables);
}

void evidence_ask(struct evidence *e, int rank, pid_t pid, bool asks_nccl)
{
    char **variables = e ? process_variables(pid) : NULL;
    struct witness w = {.rank = rank};

    if (!variables)
        return;
    if (asks_nccl)
        nccl_ask(e, &w, variables);
    w.source = SOURCE_DUMP;
    if (flight_dump_ask(&w.dump, variables, pid, rank))
        witness_keep(e, &w);
    else
        server_ask(e, &w, pid, variables); /* which does not tell the lines of the program */
    process_variables_free(variables);
}

/* --- answers ---------------------------------------------------------------------------------- */

/* Goes on as far as it can; true if the witness may still say something. */
static bool witness_run(struct witness *w, int64_t begun_ms)
{
    if (w->source == SOURCE_DUMP)
        return !flight_dump_look(&w->dump);
    stream_ask_run(&w->stream);
    return w->stream.fd >= 0 && (w->stream.size > 0 || clock_left_ms(begun_ms + SILENCE_MS) > 0);
}

static void answers_await(struct evidence *e, int64_t deadline_ms)
{
    struct pollfd *fds = calloc(e->count + 1, sizeof(*fds));
    size_t pending = 0, count;

    do {
        int64_t until_ms =
            clock_left_ms(e->begun_ms + SILENCE_MS) > 0 ? e->begun_ms + SILENCE_MS : deadline_ms;

        pending = count = 0;
        for (size_t i = 0; i < e->count; i++) {
            if (!witness_run(e->list[i], e->begun_ms))
                continue;
            pending++;
            if (e->list[i]->source != SOURCE_DUMP && fds)
                fds[count++] = stream_ask_poll(&e->list[i]->stream);
        }
        if (until_ms > deadline_ms)
            until_ms = deadline_ms;
        if (pending > count && clock_left_ms(until_ms) > LOOK_MS)
            poll(fds, count, LOOK_MS);
        else if (pending > 0)
            poll(fds, count, clock_left_ms(until_ms));
    } while (pending > 0 && clock_left_ms(deadline_ms) > 0);
    free(fds);
}

static json_t *server_calls(const char *text, size_t size)
{
    const char *body = text && strncmp(text, "HTTP/", 5) == 0 ? strstr(text, "\r\n\r\n") : NULL;
    json_t *dump, *calls;

    if (!body)
        return NULL;
    body += 4;
    dump = parsed_json(body, size - (size_t)(body - text), 0, NULL);
    calls = flight_record_calls(dump);
    json_decref(dump);
    return calls;
}

/* {"from": "nccl", "lines": […]}, {"from": "torch", "calls": […]}, or "silent" in place of these.
 * NULL: it has ended without an answer, for instance because it is something else. */
static json_t *witness_quote(const struct witness *w)
{
    const char *from = w->source == SOURCE_NCCL ? "nccl" : "torch", *key = "calls";
    json_t *said = NULL;

    if (w->source == SOURCE_NCCL) {
        key = "lines";
        said = w->stream.text ? ras_answer_lines(w->stream.text) : NULL;
    } else if (w->source == SOURCE_SERVER) {
        said = server_calls(w->stream.text, w->stream.size);
    } else {
        said = w->dump.dump ? flight_record_calls(w->dump.dump) : NULL;
    }
    if (said)
        return json_pack("{s:s, s:o}", "from", from, key, said);
    if (w->source == SOURCE_DUMP ? !w->dump.dump : w->stream.fd >= 0 && w->stream.was_heard)
        return json_pack("{s:s, s:b}", "from", from, "silent", 1);
    return NULL;
}

static bool has_quote(const json_t *list, const json_t *from)
{
    json_t *one;
    size_t i;

    json_array_foreach(list, i, one)
    {
        if (json_equal(json_object_get(one, "from"), from))
            return true;
    }
    return false;
}

/* Adds what a rank's witnesses have said; or who is silent, where no other has spoken for it. */
static void quotes_add(const struct evidence *e, json_t *list, int64_t rank, bool is_silent)
{
    for (size_t i = 0; i < e->count; i++) {
        json_t *quote = e->list[i]->rank == rank ? witness_quote(e->list[i]) : NULL;

        if ((json_object_get(quote, "silent") != NULL) == is_silent &&
            !has_quote(list, json_object_get(quote, "from")))
            json_array_append(list, quote);
        json_decref(quote);
    }
}

void evidence_gather(struct evidence *e, int64_t deadline_ms, json_t *ranks)
{
    json_t *one, *list;
    size_t i;

    if (!e)
        return;
    answers_await(e, e->begun_ms + ANSWER_MS < deadline_ms ? e->begun_ms + ANSWER_MS : deadline_ms);
    json_array_foreach(ranks, i, one)
    {
        list = json_array();
        quotes_add(e, list, object_field_whole(one, "rank"), false);
        quotes_add(e, list, object_field_whole(one, "rank"), true);
        if (json_array_size(list) > 0)
            json_object_set(one, "evidence", list);
        json_decref(list);
    }
}
