/* SPDX-License-Identifier: MIT */
#include "launcher/run/spread/sync_feed.h"

#include "common/log.h"
#include "common/net/frame.h"
#include "common/text/printable.h"
#include "launcher/base/tree/packed.h"
#include "launcher/base/tree/sync_wire.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The loop has to go on meanwhile: most bytes in one step of verifying what has come before, and
 * most steps in one call, each of which may read a block of zeros. */
enum { VERIFY_STEP = 32 << 20, STEPS = 200 };

enum feed_state { IDLE, LIST, LIST_END, GO, NEXT_FILE, VERIFYING, FILE_BEGIN, FILE_GOES, END };

struct sync_feed {
    const struct sync_source *source;
    const struct sync_host *hosts;
    int host_count;
    bool is_checksum;
    enum feed_state state;
    crypto_generichash_state list_hash;
    uint32_t index; /* the entry that comes next, or the file that is being sent */
    int fd;         /* the file's, or -1 */
    struct tree_place place;
    uint64_t at, start;
    struct tree_hash hash, start_hash;
    uint64_t total, lost;
    uint8_t block[SYNC_BLOCK_MOST];
};

int sync_feed_open(struct sync_feed **out, const struct sync_source *source,
                   const struct sync_host *hosts, int host_count, bool is_checksum,
                   struct fault *why)
{
    struct sync_feed *f = calloc(1, sizeof(*f));

    if (!f)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    f->source = source;
    f->hosts = hosts;
    f->host_count = host_count;
    f->is_checksum = is_checksum;
    f->fd = -1;
    tree_place_open(&f->place, -1);
    *out = f;
    return 0;
}

static void file_close(struct sync_feed *f)
{
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
}

void sync_feed_close(struct sync_feed *f)
{
    if (!f)
        return;
    file_close(f);
    tree_place_close(&f->place);
    free(f);
}

void sync_feed_stop(struct sync_feed *f)
{
    file_close(f);
    f->state = IDLE;
}

void sync_feed_start_list(struct sync_feed *f)
{
    sync_feed_stop(f);
    f->state = LIST;
    f->index = 0;
    f->total = 0;
    crypto_generichash_init(&f->list_hash, f->source->key, TREE_KEY, TREE_HASH);
}

static bool host_wants(const struct sync_feed *f, const struct sync_host *h, uint32_t index)
{
    return h->state == SYNC_HOST_LOOKED && sync_host_needs(h, index, f->is_checksum);
}

/* Where the first host begins that wants the file; UINT64_MAX: none does. */
static uint64_t file_start(const struct sync_feed *f, uint32_t index)
{
    uint64_t start = UINT64_MAX;

    if (f->source->list.entries[index].kind != TREE_FILE)
        return start;
    for (int i = 0; i < f->host_count; i++) {
        const struct sync_part *part;

        if (!host_wants(f, &f->hosts[i], index))
            continue;
        part = sync_host_part(&f->hosts[i], index);
        if (!part)
            return 0;
        if (part->size < start)
            start = part->size;
    }
    return start;
}

void sync_feed_start_files(struct sync_feed *f)
{
    sync_feed_stop(f);
    f->state = GO;
    f->index = 0;
    f->total = 0;
    for (uint32_t i = 0; i < f->source->list.count; i++) {
        uint64_t start = file_start(f, i);

        if (start != UINT64_MAX)
            f->total += f->source->list.entries[i].size - start;
    }
}

bool sync_feed_is_busy(const struct sync_feed *f)
{
    return f->state != IDLE;
}

uint64_t sync_feed_total(const struct sync_feed *f)
{
    return f->total;
}

uint64_t sync_feed_lost(const struct sync_feed *f)
{
    return f->lost;
}

/* Begins a frame of the stream; returns where its payload goes. */
static uint8_t *frame_begin(uint8_t *out, int type, size_t size)
{
    frame_header(out, (uint8_t)type, (uint32_t)size);
    return out + FRAME_HEADER;
}

static size_t list_make(struct sync_feed *f, uint8_t *out)
{
    uint8_t *payload = out + FRAME_HEADER;
    size_t used = 0;

    while (f->index < f->source->list.count && used + TREE_PACKED_MOST < SYNC_BLOCK_MOST)
        used += tree_list_pack(&f->source->list.entries[f->index++], payload + used);
    if (f->index == f->source->list.count)
        f->state = LIST_END;
    crypto_generichash_update(&f->list_hash, payload, used);
    frame_header(out, SYNC_ENTRIES, (uint32_t)used);
    return used ? FRAME_HEADER + used : 0;
}

static size_t list_end_make(struct sync_feed *f, uint8_t *out)
{
    uint8_t *payload = frame_begin(out, SYNC_LIST_END, 4 + TREE_HASH);

    packed_put(payload, f->source->list.count, 4);
    crypto_generichash_final(&f->list_hash, payload + 4, TREE_HASH);
    f->state = IDLE;
    return FRAME_HEADER + 4 + TREE_HASH;
}

static void file_lose(struct sync_feed *f, int err)
{
    char path[PATH_MAX + TREE_PATH_MOST];
    const struct tree_entry *e = &f->source->list.entries[f->index];

    sync_source_show(f->source, e->root, e->path, false, path, sizeof(path));
    printable_mend(path, "");
    f->lost++;
    if (err)
        log_error("cannot read %s: %s", path, strerror(err));
    else
        log_error("%s was changed while it was copied: sync again", path);
    file_close(f);
}

static void file_next(struct sync_feed *f)
{
    uint64_t start = UINT64_MAX;

    while (f->index < f->source->list.count && (start = file_start(f, f->index)) == UINT64_MAX)
        f->index++;
    if (f->index == f->source->list.count) {
        f->state = END;
        return;
    }
    f->fd = sync_source_open(f->source, &f->place, f->index);
    f->start = start;
    f->at = 0;
    tree_hash_begin(&f->hash, f->source->key, f->index);
    f->start_hash = f->hash;
    f->state = start ? VERIFYING : FILE_BEGIN;
    if (f->fd < 0 || !sync_source_is_unchanged(f->source, f->index, f->fd)) {
        file_lose(f, f->fd < 0 ? errno : 0);
        f->state = NEXT_FILE; /* nobody was told of it */
        f->index++;
    }
}

/* The nearest place, from f->at on, where a host's part of the file ends; UINT64_MAX: none. */
static uint64_t part_end(const struct sync_feed *f)
{
    uint64_t end = UINT64_MAX;

    for (int i = 0; i < f->host_count; i++) {
        const struct sync_part *part = sync_host_part(&f->hosts[i], f->index);

        if (host_wants(f, &f->hosts[i], f->index) && part && part->size > f->at && part->size < end)
            end = part->size;
    }
    return end;
}

/* Whether all the parts that end here hold what the file has here. */
static bool parts_are_right(const struct sync_feed *f)
{
    uint8_t hash[TREE_HASH];

    tree_hash_end(&f->hash, f->at, hash);
    for (int i = 0; i < f->host_count; i++) {
        const struct sync_part *part = sync_host_part(&f->hosts[i], f->index);

        if (host_wants(f, &f->hosts[i], f->index) && part && part->size == f->at &&
            memcmp(part->hash, hash, sizeof(hash)) != 0)
            return false;
    }
    return true;
}

/* Reads the file as far as hosts have parts of it. If one of the parts is wrong, all is sent. */
static void file_verify(struct sync_feed *f)
{
    uint64_t end = part_end(f), stop = f->at + VERIFY_STEP < end ? f->at + VERIFY_STEP : end;
    bool is_wrong = false;

    if (end == UINT64_MAX) {
        f->hash = f->start_hash;
        f->at = f->start;
        f->state = FILE_BEGIN;
        return;
    }
    while (f->at < stop && !is_wrong) {
        is_wrong = tree_hash_read(f->fd, f->block, SYNC_BLOCK_MOST, f->at) != 0;
        tree_hash_add(&f->hash, f->at, f->block, SYNC_BLOCK_MOST);
        f->at += SYNC_BLOCK_MOST;
        if (f->at == f->start)
            f->start_hash = f->hash;
    }
    if (is_wrong || (f->at == end && !parts_are_right(f))) {
        f->total += f->start;
        f->at = f->start = 0;
        tree_hash_begin(&f->hash, f->source->key, f->index);
        f->state = FILE_BEGIN;
    }
}

static size_t file_begin_make(struct sync_feed *f, uint8_t *out)
{
    uint8_t *payload = frame_begin(out, SYNC_FILE, 12);

    packed_put(payload, f->index, 4);
    packed_put(payload + 4, f->start, 8);
    f->state = FILE_GOES;
    return FRAME_HEADER + 12;
}

static size_t file_lost_make(struct sync_feed *f, int err, uint8_t *out)
{
    file_lose(f, err);
    packed_put(frame_begin(out, SYNC_FILE_LOST, 4), f->index, 4);
    f->index++;
    f->state = NEXT_FILE;
    return FRAME_HEADER + 4;
}

static size_t file_end_make(struct sync_feed *f, uint8_t *out)
{
    const struct tree_entry *e = &f->source->list.entries[f->index];
    uint8_t hash[TREE_HASH], *payload;

    tree_hash_end(&f->hash, e->size, hash);
    if (!sync_source_is_unchanged(f->source, f->index, f->fd) ||
        (e->has_hash && memcmp(hash, e->hash, sizeof(hash)) != 0))
        return file_lost_make(f, 0, out);
    payload = frame_begin(out, SYNC_FILE_END, 4 + TREE_HASH);
    packed_put(payload, f->index, 4);
    memcpy(payload + 4, hash, sizeof(hash));
    file_close(f);
    f->index++;
    f->state = NEXT_FILE;
    return FRAME_HEADER + 4 + TREE_HASH;
}

/* The next block that is not zeros, or the end of the file. */
static size_t file_make(struct sync_feed *f, uint8_t *out)
{
    uint64_t size = f->source->list.entries[f->index].size;
    uint8_t *payload = out + FRAME_HEADER;
    size_t part;
    int err;

    f->at = tree_hash_skip(f->fd, f->at, size);
    if (f->at >= size)
        return file_end_make(f, out);
    part = size - f->at < SYNC_BLOCK_MOST ? (size_t)(size - f->at) : SYNC_BLOCK_MOST;
    err = tree_hash_read(f->fd, payload + 8, part, f->at);
    if (err)
        return file_lost_make(f, err == EIO ? 0 : err, out);
    packed_put(payload, f->at, 8);
    f->at += part;
    if (tree_hash_is_zero(payload + 8, part))
        return 0;
    tree_hash_add(&f->hash, f->at - part, payload + 8, part);
    frame_header(out, SYNC_BLOCK, (uint32_t)(8 + part));
    return FRAME_HEADER + 8 + part;
}

static size_t empty_make(struct sync_feed *f, int type, enum feed_state then, uint8_t *out)
{
    frame_begin(out, type, 0);
    f->state = then;
    return FRAME_HEADER;
}

static size_t step_make(struct sync_feed *f, uint8_t *out)
{
    switch (f->state) {
    case LIST:
        return list_make(f, out);
    case LIST_END:
        return list_end_make(f, out);
    case GO:
        return empty_make(f, SYNC_GO, NEXT_FILE, out);
    case NEXT_FILE:
        file_next(f);
        return 0;
    case VERIFYING:
        file_verify(f);
        return 0;
    case FILE_BEGIN:
        return file_begin_make(f, out);
    case FILE_GOES:
        return file_make(f, out);
    case END:
        return empty_make(f, SYNC_END, IDLE, out);
    case IDLE:
        break;
    }
    return 0;
}

size_t sync_feed_make(struct sync_feed *f, uint8_t out[SYNC_FEED_ROOM])
{
    size_t used = 0;

    for (int steps = 0; f->state != IDLE && steps < STEPS; steps++) {
        enum feed_state before = f->state;

        if (used + FRAME_HEADER + 8 + SYNC_BLOCK_MOST > SYNC_FEED_ROOM)
            break;
        used += step_make(f, out + used);
        if (before == VERIFYING)
            break;
    }
    return used;
}
