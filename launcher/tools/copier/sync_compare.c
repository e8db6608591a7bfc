/* SPDX-License-Identifier: MIT */
#include "launcher/tools/copier/sync_copy.h"

#include "launcher/base/tree/packed.h"
#include "launcher/base/tree/sync_wire.h"
#include "launcher/tools/copier/sync_remove.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { REPORT = 64 << 10 };

/* Which file a name is of. */
struct file_identity {
    dev_t device;
    ino_t inode;
};

struct differences {
    struct sync_copy *copy;
    struct file_identity *files; /* the entries', for their other names; 0: missing */
    uint8_t report[REPORT];
    size_t used;
};

static void report_flush(struct differences *d)
{
    if (d->used)
        sync_control_send(d->copy->control, SYNC_DIFFERS, d->report, d->used);
    d->used = 0;
}

static void difference_report(struct differences *d, uint32_t index, uint8_t bits)
{
    if (d->used + 5 > REPORT)
        report_flush(d);
    packed_put(d->report + d->used, index, 4);
    d->report[d->used + 4] = bits;
    d->used += 5;
}

static int extra_report(void *arg, int root, int fd, const char *name, const char *path)
{
    struct differences *d = arg;
    size_t size = strlen(path);

    (void)fd;
    (void)name;
    if (d->used + 7 + size > REPORT)
        report_flush(d);
    packed_put(d->report + d->used, (uint64_t)root, 4);
    d->report[d->used + 4] = SYNC_IS_EXTRA;
    packed_put(d->report + d->used + 5, size, 2);
    memcpy(d->report + d->used + 7, path, size);
    d->used += 7 + size;
    return 0;
}

/* Whether the contents of `name` are those of the entry; the sizes are equal. */
static bool contents_are_same(struct sync_copy *c, int fd, const char *name, uint32_t index)
{
    const struct tree_entry *e = &c->list.entries[index];
    int file = openat(fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    uint8_t hash[TREE_HASH];
    struct tree_hash h;
    int err = file < 0 ? errno : 0;

    tree_hash_begin(&h, c->order->secret, index);
    if (!err)
        err = tree_hash_add_file(&h, file, e->size, c->block);
    tree_hash_end(&h, e->size, hash);
    if (file >= 0)
        close(file);
    if (err)
        sync_copy_fail(c, "read", e->root, e->path, err, NULL);
    return !err && memcmp(hash, e->hash, sizeof(hash)) == 0;
}

static uint8_t file_compare(struct sync_copy *c, int fd, const char *name, uint32_t index,
                            const struct stat *st)
{
    const struct tree_entry *e = &c->list.entries[index];
    unsigned bits = 0;

    if ((uint64_t)st->st_size != e->size)
        bits |= SYNC_HAS_OTHER_SIZE;
    if (st->st_mtim.tv_sec != e->seconds || st->st_mtim.tv_nsec != (long)e->nanoseconds)
        bits |= SYNC_HAS_OTHER_TIME;
    if ((st->st_mode & 07777) != e->mode)
        bits |= SYNC_HAS_OTHER_MODE;
    if (c->order->is_checksum && !(bits & SYNC_HAS_OTHER_SIZE) && e->has_hash &&
        !contents_are_same(c, fd, name, index))
        bits |= SYNC_HAS_OTHER_CONTENTS;
    return (uint8_t)bits;
}

static uint8_t link_compare(int fd, const char *name, const struct tree_entry *e)
{
    char target[TREE_PATH_MOST + 1];
    ssize_t n = readlinkat(fd, name, target, sizeof(target));

    return n < 0 || (size_t)n != strlen(e->target) || memcmp(target, e->target, (size_t)n) != 0
               ? SYNC_HAS_OTHER_CONTENTS
               : 0;
}

static bool is_same_file(const struct file_identity *f, const struct stat *st)
{
    return f->device == st->st_dev && f->inode == st->st_ino;
}

static uint8_t entry_compare(struct differences *d, uint32_t index)
{
    static const mode_t types[] = {[TREE_DIRECTORY] = S_IFDIR,
                                   [TREE_FILE] = S_IFREG,
                                   [TREE_LINK] = S_IFLNK,
                                   [TREE_OTHER_NAME] = S_IFREG};
    struct sync_copy *c = d->copy;
    const struct tree_entry *e = &c->list.entries[index];
    const char *name;
    struct stat st;
    int fd = sync_copy_go(c, e->root, e->path, &name);

    if (fd < 0 || fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW)) {
        if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
            sync_copy_fail(c, "look at", e->root, e->path, errno, NULL);
        return SYNC_IS_MISSING;
    }
    if ((st.st_mode & S_IFMT) != types[e->kind])
        return SYNC_HAS_OTHER_KIND;
    if (e->kind == TREE_OTHER_NAME)
        return is_same_file(&d->files[e->first], &st) ? 0 : SYNC_HAS_OTHER_CONTENTS;
    if (e->kind == TREE_LINK)
        return link_compare(fd, name, e);
    if (e->kind == TREE_DIRECTORY)
        return (st.st_mode & 07777) != e->mode ? SYNC_HAS_OTHER_MODE : 0;
    d->files[index] = (struct file_identity){st.st_dev, st.st_ino};
    return file_compare(c, fd, name, index, &st);
}

/* Reports what an interrupted run has left of a file. */
static void part_compare(struct sync_copy *c, uint32_t index)
{
    const struct tree_entry *e = &c->list.entries[index];
    char temporary[SYNC_TEMPORARY];
    uint8_t packed[12 + TREE_HASH];
    const char *name;
    struct tree_hash h;
    struct stat st;
    uint64_t size;
    int fd = sync_copy_go(c, e->root, e->path, &name), file;

    if (fd < 0 || e->size < SYNC_PART_LEAST)
        return;
    sync_copy_temporary(temporary, name);
    file = openat(fd, temporary, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return;
    if (sync_copy_is_part(file, &st) && st.st_size >= SYNC_PART_LEAST) {
        size = (uint64_t)st.st_size < e->size ? (uint64_t)st.st_size : e->size;
        size -= size % SYNC_BLOCK_MOST;
        tree_hash_begin(&h, c->order->secret, index);
        if (tree_hash_add_file(&h, file, size, c->block) == 0) {
            packed_put(packed, index, 4);
            packed_put(packed + 4, size, 8);
            tree_hash_end(&h, size, packed + 12);
            sync_control_send(c->control, SYNC_PART, packed, sizeof(packed));
        }
    }
    close(file);
}

int sync_compare_run(struct sync_copy *c, uint32_t round, struct fault *why)
{
    size_t count = c->list.count;
    struct differences *d = calloc(1, sizeof(*d));
    int rc = 0;

    c->differs = calloc(count + 1, sizeof(*c->differs));
    if (d)
        d->files = calloc(count + 1, sizeof(*d->files));
    if (!d || !d->files || !c->differs) {
        rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
        goto end;
    }
    d->copy = c;
    for (uint32_t i = 0; i < count; i++) {
        c->differs[i] = entry_compare(d, i);
        if (c->differs[i])
            difference_report(d, i, c->differs[i]);
        if (!c->order->is_comparing && sync_copy_needs(c, i))
            part_compare(c, i);
    }
    if (c->order->is_delete)
        rc = sync_remove_visit(c, extra_report, d, why);
    report_flush(d);
    if (!rc)
        sync_control_send_json(c->control, SYNC_LOOKED,
                               json_pack("{sI}", "round", (json_int_t)round));
end:
    if (d)
        free(d->files);
    free(d);
    return rc;
}
