/* SPDX-License-Identifier: MIT */
#include "launcher/commands/log_view.h"

#include "common/log.h"
#include "common/text/printable.h"
#include "launcher/run/log/log_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    BLOCK = 65536,
    LOOK_MS = 1000, /* where no event comes: the file is on another machine */
};

/* What is printed next, up to the end of a line or of the room. */
struct view_text {
    bool is_printable;
    char bytes[BLOCK + 1];
    size_t used;
};

/* How many bytes at the end are the beginning of a character. */
static size_t begun_character(const struct view_text *t)
{
    for (size_t n = 1; n <= 3 && n <= t->used; n++) {
        unsigned char byte = (unsigned char)t->bytes[t->used - n];

        if (byte >= 0xc0)
            return n < (byte >= 0xf0 ? 4U : byte >= 0xe0 ? 3U : 2U) ? n : 0;
        if (byte < 0x80)
            break;
    }
    return 0;
}

/* `is_last`: nothing follows that could complete a character. */
static void text_print(struct view_text *t, bool is_last)
{
    size_t kept = t->is_printable && !is_last ? begun_character(t) : 0, size = t->used - kept;
    char rest[4];

    memcpy(rest, t->bytes + size, kept);
    if (t->is_printable) {
        for (size_t i = 0; i < size; i++) {
            if (!t->bytes[i])
                t->bytes[i] = '\x7f';
        }
        t->bytes[size] = '\0';
        printable_mend(t->bytes, "\n\t");
        size = strlen(t->bytes);
    }
    fwrite(t->bytes, 1, size, stdout);
    memcpy(t->bytes, rest, kept);
    t->used = kept;
}

/* From the file's position to its end. */
static int part_copy(int fd, struct view_text *t)
{
    ssize_t n;

    while ((n = read(fd, t->bytes + t->used, BLOCK - t->used)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno;
        t->used += (size_t)n;
        text_print(t, false);
    }
    fflush(stdout);
    return 0;
}

/* Goes back from `end` until *lines newlines have been seen, and sets the file there; *lines
 * becomes how many are still to be found in an older part. */
static void part_seek(int fd, off_t end, int64_t *lines)
{
    char block[BLOCK];
    off_t at = end;

    while (at > 0 && *lines > 0) {
        size_t size = at < BLOCK ? (size_t)at : BLOCK;
        ssize_t n = pread(fd, block, size, at - (off_t)size);

        if (n != (ssize_t)size)
            break;
        while (n > 0 && *lines > 0) {
            if (block[--n] == '\n' && --*lines == 0) {
                lseek(fd, at - (off_t)size + n + 1, SEEK_SET);
                return;
            }
        }
        at -= (off_t)size;
    }
    lseek(fd, 0, SEEK_SET);
}

/* The newline at the very end does not begin another line. */
static void parts_seek(int older, int fd, int64_t lines)
{
    off_t end = lseek(fd, 0, SEEK_END);
    char last = '\0';

    if (lines == 0) {
        if (older >= 0)
            lseek(older, 0, SEEK_END);
        return;
    }
    if (end > 0 && pread(fd, &last, 1, end - 1) == 1 && last == '\n')
        end--;
    part_seek(fd, end, &lines);
    if (older < 0)
        return;
    end = lseek(older, 0, SEEK_END);
    if (lines > 0)
        part_seek(older, end, &lines);
}

static int file_open(const char *path)
{
    return open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

static bool is_same_file(int fd, const struct stat *st)
{
    struct stat own;

    return fstat(fd, &own) == 0 && own.st_dev == st->st_dev && own.st_ino == st->st_ino;
}

/* The older part, unless the log was parted since it was opened. */
static int older_open(const char *path, int fd)
{
    char older[PATH_MAX + sizeof(LOG_OLDER_PART)];
    struct stat st;
    int part;

    snprintf(older, sizeof(older), "%s" LOG_OLDER_PART, path);
    part = file_open(older);
    if (part >= 0 && (fstat(part, &st) || is_same_file(fd, &st))) {
        close(part);
        part = -1;
    }
    return part;
}

static void change_await(int watch)
{
    struct pollfd p = {.fd = watch, .events = POLLIN};
    char events[4096];

    poll(&p, 1, LOOK_MS);
    while (watch >= 0 && read(watch, events, sizeof(events)) > 0)
        ;
}

/* The part that was read has ended: the older of the two is that one, unless parts were begun, and
 * dropped, faster than they are printed here. */
static int part_change(const char *path, int *fd, struct view_text *t)
{
    int next = file_open(path), older = next < 0 ? -1 : older_open(path, next), err = 0;
    struct stat st;

    if (older >= 0 && (fstat(older, &st) || !is_same_file(*fd, &st))) {
        text_print(t, false);
        log_warn("lines of the log are left out: it has grown by more than both of its parts "
                 "while they were printed");
        err = part_copy(older, t);
    }
    if (older >= 0)
        close(older);
    close(*fd);
    *fd = next;
    return err;
}

/* Prints what is added until the job has ended and all has been printed. */
static int log_follow(const char *path, int *fd, struct view_text *t)
{
    const uint32_t changes = IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_MOVE_SELF;
    int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC), err = 0;
    bool is_running = true;
    struct stat st;

    inotify_add_watch(watch, path, changes);
    while (!err && is_running) {
        is_running = log_directory_is_running(path);
        err = part_copy(*fd, t);
        if (err || stat(path, &st))
            break;
        if (!is_same_file(*fd, &st)) { /* a new part was begun */
            err = part_copy(*fd, t);
            if (!err)
                err = part_change(path, fd, t);
            inotify_add_watch(watch, path, changes);
            is_running = *fd >= 0;
        } else if (is_running) {
            change_await(watch);
        }
    }
    if (watch >= 0)
        close(watch);
    return err;
}

int log_view_print(const struct log_view *v, struct fault *why)
{
    static struct view_text t;
    int fd = file_open(v->path), older = -1, err = fd < 0 ? errno : 0;

    t.is_printable = v->is_printable;
    t.used = 0;
    if (!err)
        older = older_open(v->path, fd);
    if (!err && v->lines >= 0)
        parts_seek(older, fd, v->lines);
    if (!err && older >= 0)
        err = part_copy(older, &t);
    if (!err)
        err = part_copy(fd, &t);
    if (!err && v->follows)
        err = log_follow(v->path, &fd, &t);
    text_print(&t, true);
    if (older >= 0)
        close(older);
    if (fd >= 0)
        close(fd);
    return err ? fault_os(why, ML_ERR_SYSTEM, err, "cannot read %.400s", v->path) : 0;
}
