/* SPDX-License-Identifier: MIT */
#include "launcher/tools/copier/sync_copy.h"

#include "common/text/text_json.h"
#include "launcher/base/tree/sync_wire.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void sync_copy_fail(struct sync_copy *c, const char *what, int root, const char *path, int err,
                    const char *text)
{
    const char *directory = c->order->roots[root].directory;
    char *sentence = NULL;

    if (++c->failed > SYNC_FAILED_MOST)
        return;
    if (asprintf(&sentence, "cannot %s %s%s%s: %s", what, directory,
                 directory[strlen(directory) - 1] == '/' || !path[0] ? "" : "/", path,
                 err ? strerror(err) : text) < 0)
        sentence = NULL;
    sync_control_send_json(c->control, SYNC_FAILED,
                           json_pack("{so}", "text", text_json(sentence ? sentence : "no memory")));
    free(sentence);
}

int sync_copy_go(struct sync_copy *c, int root, const char *path, const char **name)
{
    if (c->places[root].root < 0) {
        errno = ENOENT;
        return -1;
    }
    return tree_place_go(&c->places[root], path, name);
}

void sync_copy_temporary(char out[SYNC_TEMPORARY], const char *name)
{
    uint8_t hash[crypto_generichash_BYTES_MIN];
    char hex[2 * 8 + 1];

    crypto_generichash(hash, sizeof(hash), (const uint8_t *)name, strlen(name), NULL, 0);
    sodium_bin2hex(hex, sizeof(hex), hash, 8);
    snprintf(out, SYNC_TEMPORARY, SYNC_TEMPORARY_START "%s", hex);
}

bool sync_copy_is_part(int fd, struct stat *st)
{
    return fstat(fd, st) == 0 && S_ISREG(st->st_mode) && st->st_uid == geteuid() &&
           st->st_nlink == 1 && (st->st_mode & 07777) == SYNC_PART_MODE;
}

bool sync_copy_needs(const struct sync_copy *c, uint32_t index)
{
    unsigned bits = c->differs[index] & SYNC_NEEDS_CONTENTS;

    if (c->order->is_checksum)
        bits &= ~(unsigned)SYNC_HAS_OTHER_TIME;
    return c->list.entries[index].kind == TREE_FILE && bits;
}

/* Makes the directory `path` with those above it. 0, or an errno. */
static int directory_make(const char *path)
{
    char part[PATH_MAX];

    if ((size_t)snprintf(part, sizeof(part), "%s", path) >= sizeof(part))
        return ENAMETOOLONG;
    for (char *at = strchr(part + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = '\0';
        if (mkdir(part, 0777) && errno != EEXIST)
            return errno;
        *at = '/';
    }
    return mkdir(part, 0777) && errno != EEXIST ? errno : 0;
}

int sync_copy_open(struct sync_copy *c, struct fault *why)
{
    const char *home = getenv("HOME");

    if (home && chdir(home)) /* for a --to that is no absolute path */
        home = NULL;
    tree_place_allow_depth();
    c->places = calloc((size_t)c->order->root_count, sizeof(*c->places));
    c->block = malloc(SYNC_BLOCK_MOST);
    if (!c->places || !c->block)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (int i = 0; i < c->order->root_count; i++) {
        const char *path = c->order->roots[i].directory;
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = errno;

        if (fd < 0 && err == ENOENT && !c->order->is_comparing) {
            err = directory_make(path);
            if (err)
                return fault_os(why, ML_ERR_SYSTEM, err, "cannot make the directory %s", path);
            fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
            err = errno;
        }
        if (fd < 0 && !(err == ENOENT && c->order->is_comparing))
            return fault_os(why, ML_ERR_SYSTEM, err, "cannot use the directory %s", path);
        tree_place_open(&c->places[i], fd);
    }
    return 0;
}
