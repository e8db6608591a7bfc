/* SPDX-License-Identifier: MIT */
/*
 * fuzz_sync_report.c: any reports of a host of mlaunch sync about its files. The input is a list of
 * them: type, u16 size, payload. What is kept is within its bounds, whatever comes.
 */
#include "launcher/base/tree/packed.h"
#include "launcher/base/tree/sync_wire.h"
#include "launcher/run/spread/sync_host.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FILES = 3 };

static void check(bool is_right)
{
    if (!is_right)
        abort();
}

static int report_take(struct sync_host *h, const struct frame *f, const struct sync_source *source,
                       struct fault *why)
{
    struct sync_link_report link;

    switch (f->type) {
    case SYNC_READY:
        json_decref(h->git);
        h->git = NULL;
        return sync_host_take_ready(h, f, why);
    case SYNC_DIFFERS:
        return sync_host_take_differs(h, f, source, why);
    case SYNC_PART:
        return sync_host_take_part(h, f, source, why);
    case SYNC_FAILED:
        return sync_host_take_failed(h, f, why);
    case SYNC_DONE:
        return sync_host_take_done(h, f, why);
    case SYNC_LINKED:
        sync_host_forget(h);
        return 0;
    default:
        sync_host_take_link(&link, f);
        check(memchr(link.text, '\0', sizeof(link.text)) != NULL);
        return 0;
    }
}

static void host_check(const struct sync_host *h, const struct sync_source *source)
{
    check(memchr(h->address, '\0', sizeof(h->address)) != NULL);
    for (size_t i = 0; i < h->part_count; i++) {
        const struct sync_part *part = &h->parts[i];

        check(part->index < FILES && part->size <= source->list.entries[part->index].size);
        check(sync_host_part(h, part->index) == part);
    }
    for (size_t i = 0; i < h->extra_count; i++)
        check(h->extras[i].path == 0 && strlen(h->extras[i].below) <= TREE_PATH_MOST);
    for (uint32_t i = 0; i < FILES; i++)
        sync_host_needs(h, i, true);
}

static void source_make(struct sync_source *source)
{
    char path[] = "a";

    *source = (struct sync_source){.count = 1};
    for (int i = 0; i < FILES; i++, path[0]++) {
        const struct tree_entry e = {.kind = TREE_FILE,
                                     .size = SYNC_BLOCK_MOST << (2 * i),
                                     .path = path,
                                     .target = path + 1};

        check(tree_list_add(&source->list, &e, 1, NULL) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t payload[UINT16_MAX + 1];
    struct sync_source source;
    struct sync_host h = {0};
    struct fault why;

    source_make(&source);
    check(sync_host_open(&h, NULL, FILES, &why) == 0);
    while (size >= 3) {
        size_t part = packed_get(data + 1, 2) < size - 3 ? packed_get(data + 1, 2) : size - 3;
        struct frame f = {.type = data[0], .size = (uint32_t)part, .payload = payload};
        int rc;

        memcpy(payload, data + 3, part);
        payload[part] = '\0';
        why.text[0] = '\0';
        rc = report_take(&h, &f, &source, &why);
        check(rc <= 0);
        check(!rc || why.text[0]);
        host_check(&h, &source);
        data += 3 + part;
        size -= 3 + part;
    }
    sync_host_close(&h);
    tree_list_clear(&source.list);
    return 0;
}
