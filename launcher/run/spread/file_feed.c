/* SPDX-License-Identifier: MIT */
#include "launcher/run/spread/file_feed.h"

#include "common/clock.h"
#include "common/log.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK = 128 << 10 };

struct file_feed {
    const struct staged_list *list;
    struct agent_channel *channel;
    int *wanted;
    int count, next; /* index into `wanted` of the file that is being sent */
    uint64_t at;     /* in that file */
    size_t unacknowledged;
    int64_t begun_ms;
    uint8_t block[BLOCK];
};

int file_feed_create(struct file_feed **out, const struct staged_list *list,
                     struct agent_channel *channel, const int *wanted, int count, struct fault *why)
{
    struct file_feed *f = malloc(sizeof(*f));
    int *copy = malloc((size_t)count * sizeof(*copy) + 1);

    if (!f || !copy) {
        free(f);
        free(copy);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    memcpy(copy, wanted, (size_t)count * sizeof(*copy));
    f->list = list;
    f->channel = channel;
    f->wanted = copy;
    f->count = count;
    f->next = 0;
    f->at = 0;
    f->unacknowledged = 0;
    f->begun_ms = clock_ms();
    *out = f;
    return 0;
}

void file_feed_destroy(struct file_feed *f)
{
    if (!f)
        return;
    free(f->wanted);
    free(f);
}

int file_feed_send(struct file_feed *f, struct fault *why)
{
    while (f->next < f->count) {
        const struct staged_file *file = &f->list->files[f->wanted[f->next]];
        uint64_t left = file->size - f->at;
        size_t size = left < BLOCK ? (size_t)left : BLOCK;
        int rc;

        if (size == 0) {
            f->next++;
            f->at = 0;
            continue;
        }
        if (f->unacknowledged + size > AGENT_FILE_WINDOW)
            return 0;
        rc = staged_file_read(file, f->block, size, f->at, why);
        if (rc)
            return rc;
        f->at += size;
        f->unacknowledged += size;
        agent_channel_send_tagged(f->channel, LAUNCH_FILE, (uint32_t)f->wanted[f->next], f->block,
                                  size);
    }
    return 0;
}

int file_feed_acknowledge(struct file_feed *f, uint32_t bytes, struct fault *why)
{
    if (bytes > f->unacknowledged)
        return fault_set(why, ML_ERR_REFUSED, "its agent acknowledged more than it was sent");
    f->unacknowledged -= bytes;
    return 0;
}

void file_feed_report(const struct file_feed *f, const char *host)
{
    uint64_t size = 0;

    for (int i = 0; i < f->count; i++)
        size += f->list->files[f->wanted[i]].size;
    log_info("host %s: has got its copy of %llu bytes in %lld ms", host, (unsigned long long)size,
             (long long)(clock_ms() - f->begun_ms));
}
