/* SPDX-License-Identifier: MIT */
#include "launcher/tools/copier/sync_engine.h"

#include "common/clock.h"
#include "common/text/text_json.h"
#include "launcher/base/tree/git_state.h"
#include "launcher/base/tree/packed.h"
#include "launcher/base/tree/sync_wire.h"
#include "launcher/tools/copier/sync_chain.h"
#include "launcher/tools/copier/sync_copy.h"
#include "launcher/tools/copier/sync_stream.h"

#include <sodium.h>
#include <unistd.h>

enum { CHUNK = 256 << 10, PROGRESS_MS = 200 };

/* What git says of each PATH. */
static json_t *git_look(const struct sync_order *order)
{
    json_t *all = json_array();

    for (int i = 0; i < order->root_count; i++) {
        struct git_state state;

        git_state_read(&state, order->roots[i].directory, order->roots[i].name);
        json_array_append_new(all,
                              json_pack("{ss sI so so}", "commit", state.commit, "changes",
                                        (json_int_t)state.changes, "change",
                                        text_json(state.change), "error", text_json(state.error)));
    }
    return all;
}

static void cut_report(struct sync_control *c, uint32_t round, bool to_next,
                       const struct fault *why)
{
    bool is_rdma = why->code == ML_ERR_LINK || why->code == ML_ERR_DEVICE;

    sync_control_send_json(c, SYNC_CUT,
                           json_pack("{sI sb sb so}", "round", (json_int_t)round, "to_next",
                                     to_next, "rdma", is_rdma, "text", text_json(why->text)));
}

/* What mlaunch knows of how far this host is. */
struct said {
    uint64_t at;
    int64_t due_ms; /* when the next report may be made */
};

/* Says now and then how many bytes have come. */
static void progress_report(struct sync_copy *copy, struct said *said)
{
    uint8_t packed[8];

    if (said->at == copy->at || clock_ms() < said->due_ms)
        return;
    said->at = copy->at;
    said->due_ms = clock_ms() + PROGRESS_MS;
    packed_put(packed, copy->at, 8);
    sync_control_send(copy->control, SYNC_AT, packed, sizeof(packed));
}

/* Passes bytes of the stream on and takes them in. 1: another place in the chain has come. */
static int bytes_handle(struct sync_chain *chain, struct sync_stream *stream,
                        struct sync_copy *copy, const uint8_t *bytes, size_t count,
                        struct fault *why)
{
    struct sync_control *c = copy->control;
    bool is_fed = c->place.is_fed;
    uint8_t packed[4];
    int rc = sync_chain_write(chain, c, bytes, count, why);

    if (rc)
        return rc;
    chain->is_next = false;
    rc = sync_stream_take(stream, bytes, count, why);
    if (!rc && is_fed) {
        packed_put(packed, count, 4);
        sync_control_send(c, SYNC_CREDIT, packed, sizeof(packed));
    }
    return rc;
}

/* Runs until the chain breaks, or another place in it comes. */
static void round_run(struct sync_copy *copy, struct sync_chain *chain, struct sync_stream *stream)
{
    struct sync_control *c = copy->control;
    uint32_t round = c->place.round;
    static uint8_t chunk[CHUNK];
    struct said said = {0};
    struct fault why = {0};

    while (!sync_stream_has_ended(stream)) {
        size_t count;
        int rc = sync_chain_read(chain, c, chunk, sizeof(chunk),
                                 said.at == copy->at ? -1 : said.due_ms, &count, &why);

        if (!rc && count > 0)
            rc = bytes_handle(chain, stream, copy, chunk, count, &why);
        if (rc < 0)
            cut_report(c, round, chain->is_next, &why);
        if (rc || c->has_moved)
            return;
        progress_report(copy, &said);
    }
    if (sync_chain_idle(chain, c, &why))
        cut_report(c, round, chain->is_next, &why);
}

static void chain_run(struct sync_copy *copy, struct sync_chain *chain, struct fault *why)
{
    struct sync_control *c = copy->control;
    struct sync_stream *stream = NULL;
    uint32_t round;
    int rc;

    while (!c->has_moved)
        sync_control_wait(c, -1, 0, -1);
    round = c->place.round;
    rc = sync_chain_make(chain, c, copy->order, why);
    if (rc > 0)
        return;
    if (rc) {
        cut_report(c, round, chain->is_next, why);
        return;
    }
    if (sync_stream_open(&stream, copy, round, why)) {
        cut_report(c, round, false, why);
        return;
    }
    sync_control_send_json(
        c, SYNC_LINKED,
        json_pack("{sI so*}", "round", (json_int_t)round, "tcp",
                  chain->over_tcp.code ? text_json(chain->over_tcp.text) : NULL));
    round_run(copy, chain, stream);
    sync_stream_close(stream);
}

_Noreturn void sync_engine_run(int fd)
{
    char address[ADDRESS_TEXT] = "";
    struct sync_control control;
    struct sync_order order = {0};
    struct sync_chain chain;
    struct sync_copy copy = {.control = &control, .order = &order};
    struct fault why = {0};
    json_t *git = NULL;
    int rc;

    if (sodium_init() < 0 || sync_control_open(&control, fd, &why))
        _exit(1);
    rc = sync_control_begin(&control, &order, &why);
    if (!rc && order.is_git)
        git = git_look(&order);
    if (!rc && !order.is_git)
        rc = sync_copy_open(&copy, &why);
    if (rc) {
        sync_control_send_json(&control, SYNC_READY,
                               json_pack("{so}", "error", text_json(why.text)));
        for (;;)
            sync_control_wait(&control, -1, 0, -1);
    }
    /* Without a listener mlaunch itself feeds this host. */
    if (!order.is_git && sync_chain_open(&chain, &order, address, &why))
        address[0] = '\0';
    sync_control_send_json(&control, SYNC_READY,
                           json_pack("{ss so*}", "address", address, "git", git));
    while (order.is_git) /* there is nothing to be copied */
        sync_control_wait(&control, -1, 0, -1);
    for (;;)
        chain_run(&copy, &chain, &why);
}
