/* SPDX-License-Identifier: MIT */
#include "launcher/run/spread/sync_host.h"

#include "common/net/address.h"
#include "common/text/parsed_json.h"
#include "common/text/printable.h"
#include "common/text/text_json.h"
#include "launcher/base/tree/packed.h"
#include "launcher/base/tree/sync_wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXTRAS_MOST = 10000000 };

int sync_host_open(struct sync_host *h, const struct host *host, uint32_t count, struct fault *why)
{
    h->host = host;
    h->differs = calloc((size_t)count + 1, 1);
    h->failures = json_array();
    if (!h->differs || !h->failures)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    return 0;
}

static void extras_free(struct sync_host *h)
{
    for (size_t i = 0; i < h->extra_count; i++)
        free(h->extras[i].below);
    free(h->extras);
    h->extras = NULL;
    h->extra_count = 0;
}

void sync_host_close(struct sync_host *h)
{
    extras_free(h);
    free(h->differs);
    free(h->parts);
    json_decref(h->failures);
    json_decref(h->git);
}

void sync_host_forget(struct sync_host *h)
{
    extras_free(h);
    free(h->parts);
    h->parts = NULL;
    h->part_count = 0;
    h->differing = 0;
    h->failed = 0;
    json_array_clear(h->failures);
}

bool sync_host_needs(const struct sync_host *h, uint32_t index, bool is_checksum)
{
    unsigned bits = h->differs[index] & SYNC_NEEDS_CONTENTS;

    if (is_checksum)
        bits &= ~(unsigned)SYNC_HAS_OTHER_TIME;
    return bits != 0;
}

static int part_compare(const void *a, const void *b)
{
    const struct sync_part *x = a, *y = b;

    return x->index < y->index ? -1 : x->index > y->index;
}

const struct sync_part *sync_host_part(const struct sync_host *h, uint32_t index)
{
    struct sync_part key = {.index = index};

    if (h->part_count == 0)
        return NULL;
    return bsearch(&key, h->parts, h->part_count, sizeof(key), part_compare);
}

static int report_refuse(struct fault *why)
{
    return fault_set(why, ML_ERR_REFUSED, "its agent sent a malformed report");
}

int sync_host_take_ready(struct sync_host *h, const struct frame *f, struct fault *why)
{
    json_t *said = reported_json((const char *)f->payload, f->size, NULL);
    const char *address = "", *error = NULL;
    struct address parsed;
    int rc = 0;

    if (json_unpack(said, "{s?s s?s}", "address", &address, "error", &error) ||
        (address[0] &&
         (address_parse(&parsed, address, NULL) || strlen(address) >= sizeof(h->address))))
        rc = report_refuse(why);
    else if (error)
        rc = error[0] ? fault_set(why, ML_ERR_REFUSED, "%s", error) : report_refuse(why);
    snprintf(h->address, sizeof(h->address), "%s", rc ? "" : address);
    h->git = rc ? NULL : json_incref(json_object_get(said, "git"));
    json_decref(said);
    return rc;
}

static int extra_add(struct sync_host *h, int path, const uint8_t *below, size_t size,
                     struct fault *why)
{
    struct sync_extra *more;

    if ((h->extra_count & (h->extra_count - 1)) == 0) {
        more = realloc(h->extras, 2 * (h->extra_count + 1) * sizeof(*more));
        if (!more)
            return fault_set(why, ML_ERR_MEMORY, "out of memory");
        h->extras = more;
    }
    h->extras[h->extra_count].path = path;
    h->extras[h->extra_count].below = strndup((const char *)below, size);
    if (!h->extras[h->extra_count].below)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    h->extra_count++;
    return 0;
}

int sync_host_take_differs(struct sync_host *h, const struct frame *f,
                           const struct sync_source *source, struct fault *why)
{
    const uint8_t *at = f->payload, *end = at + f->size;
    int rc = 0;

    while (at < end && !rc) {
        uint32_t index;
        size_t size;
        uint8_t bits;

        if (end - at < 5)
            return report_refuse(why);
        index = (uint32_t)packed_get(at, 4);
        bits = at[4];
        at += 5;
        h->differing++;
        if (bits != SYNC_IS_EXTRA) {
            if (index >= source->list.count)
                return report_refuse(why);
            h->differs[index] = bits;
            continue;
        }
        size = end - at < 2 ? 0 : packed_get(at, 2);
        if (index >= (uint32_t)source->count || size == 0 || size > TREE_PATH_MOST ||
            size > (size_t)(end - at - 2) || h->extra_count == EXTRAS_MOST)
            return report_refuse(why);
        rc = extra_add(h, (int)index, at + 2, size, why);
        at += 2 + size;
    }
    return rc;
}

int sync_host_take_part(struct sync_host *h, const struct frame *f,
                        const struct sync_source *source, struct fault *why)
{
    struct sync_part part, *more;

    if (f->size != 12 + TREE_HASH)
        return report_refuse(why);
    part.index = (uint32_t)packed_get(f->payload, 4);
    part.size = packed_get(f->payload + 4, 8);
    memcpy(part.hash, f->payload + 12, TREE_HASH);
    if (part.index >= source->list.count || part.size > source->list.entries[part.index].size ||
        part.size % SYNC_BLOCK_MOST ||
        (h->part_count && h->parts[h->part_count - 1].index >= part.index))
        return report_refuse(why);
    more = realloc(h->parts, (h->part_count + 1) * sizeof(*more));
    if (!more)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    h->parts = more;
    h->parts[h->part_count++] = part;
    return 0;
}

int sync_host_take_failed(struct sync_host *h, const struct frame *f, struct fault *why)
{
    json_t *said = reported_json((const char *)f->payload, f->size, NULL);
    const char *text = json_string_value(json_object_get(said, "text"));
    bool is_sentence = text && text[0];
    char *line = is_sentence ? strdup(text) : NULL;
    int rc = is_sentence ? 0 : report_refuse(why);

    h->failed++; /* until DONE says how many there are */
    if (line) {  /* one, although it may name a file with a newline in its name */
        printable_mend(line, "");
        json_array_append_new(h->failures, text_json(line));
    }
    free(line);
    json_decref(said);
    return rc;
}

int sync_host_take_done(struct sync_host *h, const struct frame *f, struct fault *why)
{
    json_t *said = reported_json((const char *)f->payload, f->size, NULL);
    json_int_t files = -1, bytes = -1, deleted = -1, failed = -1;
    int rc = 0;

    if (json_unpack(said, "{sI sI sI sI}", "files", &files, "bytes", &bytes, "deleted", &deleted,
                    "failed", &failed) ||
        files < 0 || bytes < 0 || deleted < 0 || failed < 0)
        rc = report_refuse(why);
    h->files = rc ? 0 : (uint64_t)files;
    h->bytes = rc ? 0 : (uint64_t)bytes;
    h->deleted = rc ? 0 : (uint64_t)deleted;
    h->failed = rc ? 0 : (uint64_t)failed;
    json_decref(said);
    return rc;
}

bool sync_host_take_link(struct sync_link_report *out, const struct frame *f)
{
    json_t *said = reported_json((const char *)f->payload, f->size, NULL);
    const char *text = "";
    int to_next = 0, is_rdma = 0;
    json_int_t round = -1;
    bool good = json_unpack(said, "{sI s?b s?b s?s s?s}", "round", &round, "to_next", &to_next,
                            "rdma", &is_rdma, "text", &text, "tcp", &text) == 0;

    *out = (struct sync_link_report){.round = round, .to_next = to_next, .is_rdma = is_rdma};
    snprintf(out->text, sizeof(out->text), "%s", text);
    printable_mend(out->text, "");
    json_decref(said);
    return good;
}
