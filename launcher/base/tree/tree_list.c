/* SPDX-License-Identifier: MIT */
#include "launcher/base/tree/tree_list.h"

#include "launcher/base/tree/packed.h"

#include <stdlib.h>
#include <string.h>

enum { FIXED = 36, IS_SPARSE = 1, HAS_HASH = 2 };

static bool name_is_good(const char *name, size_t size)
{
    return size > 0 && size <= TREE_NAME_MOST && !(size == 1 && name[0] == '.') &&
           !(size == 2 && name[0] == '.' && name[1] == '.');
}

bool tree_list_is_name(const char *name)
{
    return !strchr(name, '/') && name_is_good(name, strlen(name));
}

static bool path_is_good(const char *path)
{
    if (strlen(path) > TREE_PATH_MOST)
        return false;
    for (;; path++) {
        size_t size = strcspn(path, "/");

        if (!name_is_good(path, size))
            return false;
        path += size;
        if (!*path)
            return true;
    }
}

/* The directories of a path are the last one of the list or among those above it, since all that is
 * in a directory follows it. */
static bool parent_is_listed(const struct tree_list *l, const struct tree_entry *e)
{
    const char *slash = strrchr(e->path, '/');
    size_t size = slash ? (size_t)(slash - e->path) : 0;
    const struct tree_entry *d;

    if (!slash)
        return true;
    if (!l->last_directory)
        return false;
    d = &l->entries[l->last_directory - 1];
    return d->root == e->root && strncmp(d->path, e->path, size) == 0 &&
           (d->path[size] == '/' || d->path[size] == '\0');
}

static int entry_check(const struct tree_list *l, const struct tree_entry *e, int roots,
                       struct fault *why)
{
    const char *wrong = NULL;

    if (e->kind < TREE_DIRECTORY || e->kind > TREE_OTHER_NAME)
        wrong = "an unknown kind";
    else if (e->root >= roots || !path_is_good(e->path))
        wrong = "a path that is none";
    else if (!parent_is_listed(l, e))
        wrong = "a path whose directory is not there";
    else if (e->nanoseconds >= 1000000000 || e->size > INT64_MAX / 2 || e->mode > 07777)
        wrong = "a number out of range";
    else if ((e->kind == TREE_LINK) != (e->target[0] != '\0') || strlen(e->target) > TREE_PATH_MOST)
        wrong = "a link that leads nowhere";
    else if (e->kind == TREE_OTHER_NAME &&
             (e->first >= l->count || l->entries[e->first].kind != TREE_FILE ||
              l->entries[e->first].root != e->root))
        wrong = "another name of no file";
    else if (l->count == TREE_ENTRIES_MOST)
        wrong = "too many entries";
    return wrong ? fault_set(why, ML_ERR_REFUSED, "the list of files has %s", wrong) : 0;
}

int tree_list_add(struct tree_list *l, const struct tree_entry *e, int roots, struct fault *why)
{
    struct tree_entry copy = *e;
    int rc = entry_check(l, e, roots, why);

    if (rc)
        return rc;
    if (l->count == l->room) {
        uint32_t room = l->room ? 2 * l->room : 64;
        struct tree_entry *more = realloc(l->entries, room * sizeof(*more));

        if (!more)
            return fault_set(why, ML_ERR_MEMORY, "out of memory");
        l->entries = more;
        l->room = room;
    }
    copy.path = strdup(e->path);
    copy.target = strdup(e->target);
    if (!copy.path || !copy.target) {
        free(copy.path);
        free(copy.target);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    l->entries[l->count++] = copy;
    if (e->kind == TREE_DIRECTORY)
        l->last_directory = l->count;
    return 0;
}

void tree_list_clear(struct tree_list *l)
{
    for (uint32_t i = 0; i < l->count; i++) {
        free(l->entries[i].path);
        free(l->entries[i].target);
    }
    free(l->entries);
    *l = (struct tree_list){0};
}

size_t tree_list_pack(const struct tree_entry *e, uint8_t *out)
{
    size_t path = strlen(e->path), target = strlen(e->target);
    uint8_t *at = out;

    *at++ = (uint8_t)e->kind;
    *at++ = (uint8_t)((e->is_sparse ? IS_SPARSE : 0) | (e->has_hash ? HAS_HASH : 0));
    packed_put(at, e->root, 2);
    packed_put(at += 2, e->mode, 4);
    packed_put(at += 4, (uint64_t)e->seconds, 8);
    packed_put(at += 8, e->nanoseconds, 4);
    packed_put(at += 4, e->size, 8);
    packed_put(at += 8, e->first, 4);
    packed_put(at += 4, path, 2);
    packed_put(at += 2, target, 2);
    at += 2;
    memcpy(at, e->hash, e->has_hash ? TREE_HASH : 0);
    at += e->has_hash ? TREE_HASH : 0;
    memcpy(at, e->path, path);
    memcpy(at += path, e->target, target);
    return (size_t)(at + target - out);
}

/* Takes `size` bytes as text; false: they hold a 0. */
static bool text_take(char *out, const uint8_t *bytes, size_t size)
{
    memcpy(out, bytes, size);
    out[size] = '\0';
    return strlen(out) == size;
}

int tree_list_unpack(struct tree_list *l, const uint8_t *bytes, size_t size, size_t *used,
                     int roots, struct fault *why)
{
    char path[TREE_PATH_MOST + 1], target[TREE_PATH_MOST + 1];
    struct tree_entry e = {.path = path, .target = target};
    size_t path_size, target_size, hash_size;

    if (size < FIXED)
        return fault_set(why, ML_ERR_REFUSED, "the list of files is cut off");
    e.kind = bytes[0];
    e.is_sparse = bytes[1] & IS_SPARSE;
    e.has_hash = bytes[1] & HAS_HASH;
    e.root = (uint16_t)packed_get(bytes + 2, 2);
    e.mode = (uint32_t)packed_get(bytes + 4, 4);
    e.seconds = (int64_t)packed_get(bytes + 8, 8);
    e.nanoseconds = (uint32_t)packed_get(bytes + 16, 4);
    e.size = packed_get(bytes + 20, 8);
    e.first = (uint32_t)packed_get(bytes + 28, 4);
    path_size = packed_get(bytes + 32, 2);
    target_size = packed_get(bytes + 34, 2);
    hash_size = e.has_hash ? TREE_HASH : 0;
    if (path_size > TREE_PATH_MOST || target_size > TREE_PATH_MOST ||
        FIXED + hash_size + path_size + target_size > size)
        return fault_set(why, ML_ERR_REFUSED, "the list of files is cut off");
    bytes += FIXED;
    memcpy(e.hash, bytes, hash_size);
    bytes += hash_size;
    if (!text_take(path, bytes, path_size) || !text_take(target, bytes + path_size, target_size))
        return fault_set(why, ML_ERR_REFUSED, "the list of files has a malformed path");
    *used = FIXED + hash_size + path_size + target_size;
    return tree_list_add(l, &e, roots, why);
}
