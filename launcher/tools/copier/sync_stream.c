/* SPDX-License-Identifier: MIT */
#include "launcher/tools/copier/sync_stream.h"

#include "launcher/base/tree/packed.h"
#include "launcher/base/tree/sync_wire.h"
#include "launcher/tools/copier/sync_copy.h"
#include "launcher/tools/copier/sync_store.h"

#include <stdlib.h>
#include <string.h>

/*
 * LISTING ──LIST_END──▶ LOOKED ──GO──▶ BETWEEN ──FILE──▶ IN_FILE ──FILE_END, FILE_LOST──▶ BETWEEN
 *                                         └──END──▶ ENDED
 */
enum stream_state { LISTING, LOOKED, BETWEEN, IN_FILE, ENDED };

struct sync_stream {
    struct sync_copy *copy;
    struct frame_reader *reader;
    struct sync_store store;
    crypto_generichash_state list_hash;
    enum stream_state state;
    uint32_t round, index; /* index: of the file that comes */
    uint64_t at;           /* in that file: bytes before have come */
};

int sync_stream_open(struct sync_stream **out, struct sync_copy *copy, uint32_t round,
                     struct fault *why)
{
    struct sync_stream *s = calloc(1, sizeof(*s));
    int rc;

    if (!s)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    rc = frame_reader_create(&s->reader, SYNC_FRAME_MOST, why);
    if (rc) {
        free(s);
        return rc;
    }
    tree_list_clear(&copy->list);
    free(copy->differs);
    copy->differs = NULL;
    copy->at = 0;
    copy->failed = 0; /* what fails again is counted again */
    s->copy = copy;
    s->round = round;
    sync_store_open(&s->store, copy);
    crypto_generichash_init(&s->list_hash, copy->order->secret, TREE_KEY, TREE_HASH);
    *out = s;
    return 0;
}

void sync_stream_close(struct sync_stream *s)
{
    if (!s)
        return;
    sync_store_leave(&s->store);
    frame_reader_destroy(s->reader);
    free(s);
}

bool sync_stream_has_ended(const struct sync_stream *s)
{
    return s->state == ENDED;
}

static int on_entries(struct sync_stream *s, const struct frame *f, struct fault *why)
{
    size_t at = 0, used;

    crypto_generichash_update(&s->list_hash, f->payload, f->size);
    while (at < f->size) {
        int rc = tree_list_unpack(&s->copy->list, f->payload + at, f->size - at, &used,
                                  s->copy->order->root_count, why);

        if (rc)
            return rc;
        at += used;
    }
    return 0;
}

static int on_list_end(struct sync_stream *s, const struct frame *f, struct fault *why)
{
    uint8_t hash[TREE_HASH];

    crypto_generichash_final(&s->list_hash, hash, sizeof(hash));
    if (packed_get(f->payload, 4) != s->copy->list.count ||
        sodium_memcmp(f->payload + 4, hash, TREE_HASH))
        return fault_set(why, ML_ERR_REFUSED,
                         "the list of files is not the one that mlaunch has sent");
    s->state = LOOKED;
    return sync_compare_run(s->copy, s->round, why);
}

static int on_go(struct sync_stream *s, const struct frame *f, struct fault *why)
{
    (void)f;
    s->state = BETWEEN;
    return sync_settle_before(s->copy, why);
}

static int on_file(struct sync_stream *s, const struct frame *f, struct fault *why)
{
    const struct tree_list *list = &s->copy->list;

    s->index = (uint32_t)packed_get(f->payload, 4);
    s->at = packed_get(f->payload + 4, 8);
    if (s->index >= list->count || list->entries[s->index].kind != TREE_FILE ||
        s->at % SYNC_BLOCK_MOST || s->at > list->entries[s->index].size)
        return fault_set(why, ML_ERR_REFUSED, "a file came that was not announced");
    s->state = IN_FILE;
    if (sync_copy_needs(s->copy, s->index))
        sync_store_begin(&s->store, s->index, s->at);
    return 0;
}

static int on_block(struct sync_stream *s, const struct frame *f, struct fault *why)
{
    uint64_t size = s->copy->list.entries[s->index].size, at = packed_get(f->payload, 8);
    size_t part = f->size - 8;

    if (at < s->at || at % SYNC_BLOCK_MOST || at >= size || part > SYNC_BLOCK_MOST ||
        part != (size - at < SYNC_BLOCK_MOST ? size - at : SYNC_BLOCK_MOST))
        return fault_set(why, ML_ERR_REFUSED, "a part of a file came out of its place");
    s->copy->at += part;
    s->at = at + part;
    sync_store_add(&s->store, at, f->payload + 8, part);
    return 0;
}

static int on_file_end(struct sync_stream *s, const struct frame *f, struct fault *why)
{
    if (packed_get(f->payload, 4) != s->index)
        return fault_set(why, ML_ERR_REFUSED, "another file ended than began");
    s->state = BETWEEN;
    sync_store_end(&s->store, f->payload + 4);
    return 0;
}

static int on_file_lost(struct sync_stream *s, const struct frame *f, struct fault *why)
{
    (void)f;
    (void)why;
    s->state = BETWEEN;
    sync_store_leave(&s->store);
    return 0;
}

static int on_end(struct sync_stream *s, const struct frame *f, struct fault *why)
{
    struct sync_copy *c = s->copy;

    (void)f;
    (void)why;
    s->state = ENDED;
    sync_settle_after(c);
    sync_control_send_json(c->control, SYNC_DONE,
                           json_pack("{sI sI sI sI sI}", "round", (json_int_t)s->round, "files",
                                     (json_int_t)c->files, "bytes", (json_int_t)c->bytes, "deleted",
                                     (json_int_t)c->deleted, "failed", (json_int_t)c->failed));
    return 0;
}

static const struct {
    uint8_t type;
    enum stream_state state;
    uint32_t least, most; /* bytes of payload */
    int (*handle)(struct sync_stream *s, const struct frame *f, struct fault *why);
} handlers[] = {
    {SYNC_ENTRIES, LISTING, 1, SYNC_FRAME_MOST, on_entries},
    {SYNC_LIST_END, LISTING, 4 + TREE_HASH, 4 + TREE_HASH, on_list_end},
    {SYNC_GO, LOOKED, 0, 0, on_go},
    {SYNC_FILE, BETWEEN, 12, 12, on_file},
    {SYNC_BLOCK, IN_FILE, 9, 8 + SYNC_BLOCK_MOST, on_block},
    {SYNC_FILE_END, IN_FILE, 4 + TREE_HASH, 4 + TREE_HASH, on_file_end},
    {SYNC_FILE_LOST, IN_FILE, 4, 4, on_file_lost},
    {SYNC_END, BETWEEN, 0, 0, on_end},
};

static int frame_handle(struct sync_stream *s, const struct frame *f, struct fault *why)
{
    for (size_t i = 0; i < sizeof(handlers) / sizeof(*handlers); i++)
        if (handlers[i].type == f->type && handlers[i].state == s->state &&
            f->size >= handlers[i].least && f->size <= handlers[i].most)
            return handlers[i].handle(s, f, why);
    return fault_set(why, ML_ERR_REFUSED, "the host before it sent what is invalid now");
}

int sync_stream_take(struct sync_stream *s, const void *bytes, size_t size, struct fault *why)
{
    struct frame f;
    int rc = frame_reader_feed(s->reader, bytes, size, why);

    while (!rc) {
        rc = frame_reader_next(s->reader, &f, why);
        if (rc <= 0)
            return rc;
        rc = frame_handle(s, &f, why);
    }
    return rc;
}
