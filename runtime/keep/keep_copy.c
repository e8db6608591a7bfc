/* SPDX-License-Identifier: MIT */
#include "runtime/keep/keep_copy.h"

#include "common/mlaunch.h"
#include "runtime/keep/keep_state.h"
#include "runtime/process/stdio_guard.h"

#include <errno.h>
#include <string.h>

/* The connection to the next host's keeper; NULL: there is none. */
static struct kept_stream *stream_of(struct world *w)
{
    struct keep_state *s = keep_state_of(w);
    struct fault ignored;
    int held[STDIO_GUARD];

    if (!s || !w->job.keeper[0] || s->is_alone)
        return NULL;
    if (!s->copies) {
        stdio_guard_begin(held);
        s->is_alone = kept_stream_connect(&s->copies, w->job.keeper, w->job.job, w->secret, w->rank,
                                          w->job.secure, &ignored) != 0;
        stdio_guard_end(held);
    }
    return s->copies;
}

static void stream_lose(struct world *w)
{
    kept_stream_close(w->keep->copies);
    w->keep->copies = NULL;
    w->keep->is_alone = true;
}

static bool ask_send(struct kept_stream *s, enum kept_what what, const struct keep_owner *o,
                     int slot, uint64_t size)
{
    struct kept_ask ask = {.what = what, .slot = (uint32_t)slot, .size = size};

    memcpy(ask.name, o->name, strlen(o->name)); /* keep_check has bounded it */
    return kept_stream_send(s, &ask, sizeof(ask));
}

/* False: the keeper is gone. */
static bool answer_get(struct kept_stream *s, struct kept_answer *answer)
{
    return kept_stream_receive(s, answer, sizeof(*answer), false);
}

static bool data_send(struct kept_stream *s, const struct keep_head *head, const void *data)
{
    unsigned char page[KEPT_HEAD] = {0};

    memcpy(page, head, sizeof(*head));
    return kept_stream_send(s, page, sizeof(page)) && kept_stream_send(s, data, head->size);
}

int keep_copy_put(struct world *w, const struct keep_owner *o, int slot,
                  const struct keep_head *head, const void *data, struct fault *why)
{
    struct kept_stream *s = stream_of(w);
    struct kept_answer answer;

    if (!s)
        return 0;
    if (!ask_send(s, KEPT_PUT, o, slot, head->size) || !answer_get(s, &answer) ||
        (answer.error == 0 && (!data_send(s, head, data) || !answer_get(s, &answer)))) {
        stream_lose(w);
        return 0;
    }
    if (answer.error == 0)
        return 0;
    return fault_os(why, ML_ERR_SYSTEM, answer.error,
                    "version %llu of \"%s\" is kept on host %s, but its copy cannot be on the next "
                    "host (--keep 2)",
                    (unsigned long long)head->stamp.version, o->name, o->host);
}

static bool next_bytes(void *into, size_t size, void *arg)
{
    return kept_stream_receive(arg, into, size, false);
}

void keep_copy_fetch(struct world *w, const struct keep_owner *o)
{
    struct kept_stream *s = stream_of(w);
    struct kept_answer answer;

    for (int i = 0; i < KEPT_SLOTS && s; i++) {
        if (!ask_send(s, KEPT_GET, o, i, 0) || !answer_get(s, &answer) ||
            (answer.error == 0 && !keep_slot_take(o, i, answer.size, next_bytes, s))) {
            stream_lose(w);
            s = NULL;
        }
    }
}
