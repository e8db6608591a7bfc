/* SPDX-License-Identifier: MIT */
#include "launcher/agent/host/rank_record.h"

#include "common/call_clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Anyone may have put there what is opened. -1: it is not what a rank of that user's makes. */
static int file_open(const char *path, uid_t user, uint64_t *room)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat st;

    if (fd < 0)
        return -1;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == user &&
        st.st_size >= (off_t)sizeof(struct rank_calls)) {
        *room = ((uint64_t)st.st_size - sizeof(struct rank_calls)) / sizeof(struct rank_call);
        return fd;
    }
    close(fd);
    return -1;
}

static bool head_read(struct rank_record *r, uint64_t room, uint64_t most)
{
    struct rank_calls head;

    if (pread(r->fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
        head.magic != RANK_CALLS_MAGIC || (!head.keeps_all && room < RANK_CALLS_LAST))
        return false;
    r->keeps_all = head.keeps_all;
    r->ticks_are_ns = head.ticks_are_ns;
    r->opened = head.opened;
    r->now = call_clock_now(r->ticks_are_ns);
    r->made = head.taken;
    r->mask = r->keeps_all ? UINT64_MAX : RANK_CALLS_LAST - 1;
    r->past = r->keeps_all && r->made > room ? room : r->made;
    if (!r->keeps_all && most > RANK_CALLS_LAST)
        most = RANK_CALLS_LAST;
    r->next = r->keeps_all || r->past <= most ? 0 : r->past - most;
    return true;
}

bool rank_record_open(struct rank_record *r, const char *dir, uid_t user, int rank, uint64_t most)
{
    const char *name = strrchr(dir, '/');
    char path[RANK_CALLS_PATH];
    uint64_t room = 0;

    snprintf(path, sizeof(path), "%s/calls.%d", dir, rank);
    r->fd = file_open(path, user, &room);
    if (r->fd < 0) {
        snprintf(path, sizeof(path), "/dev/shm/mlaunch-%u-%s.calls.%d", (unsigned)user,
                 name ? name + 1 : dir, rank);
        r->fd = file_open(path, user, &room);
    }
    if (r->fd >= 0 && head_read(r, room, most))
        return true;
    rank_record_close(r);
    return false;
}

void rank_record_close(struct rank_record *r)
{
    if (r->fd >= 0)
        close(r->fd);
    *r = (struct rank_record){.fd = -1};
}

static void call_convert(const struct rank_record *r, struct rank_call *c)
{
    if (r->ticks_are_ns)
        return;
    c->start = call_clock_ns(c->start, &r->opened, &r->now);
    if (c->end)
        c->end = call_clock_ns(c->end, &r->opened, &r->now);
}

size_t rank_record_read(struct rank_record *r, struct rank_call *out, size_t room)
{
    size_t count = 0;

    while (count == 0 && r->next < r->past) {
        uint64_t at = r->next & r->mask, first = r->next, n = r->past - r->next;
        uint64_t till_end = r->keeps_all ? n : RANK_CALLS_LAST - at;
        ssize_t size;

        n = n < till_end ? n : till_end;
        n = n < room ? n : room;
        size = pread(r->fd, out, n * sizeof(*out),
                     (off_t)(sizeof(struct rank_calls) + at * sizeof(*out)));
        if (size < (ssize_t)sizeof(*out)) {
            r->next = r->past;
            break;
        }
        n = (uint64_t)size / sizeof(*out);
        r->next += n;
        for (uint64_t i = 0; i < n; i++) {
            if (out[i].number != (uint32_t)(first + i + 1) || !out[i].number)
                continue;
            out[count] = out[i];
            call_convert(r, &out[count++]);
        }
    }
    return count;
}
