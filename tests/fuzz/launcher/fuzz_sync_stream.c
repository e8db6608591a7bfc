/* SPDX-License-Identifier: MIT */
/*
 * fuzz_sync_stream.c: any stream that a host of mlaunch sync sends, in any order. Whatever comes,
 * nothing is written outside of the directory, although links in it lead out. The input is a list
 * of frames: type, u16 size, payload. An empty LIST_END, and one of FILE_END that is four bytes
 * long, get the right hash.
 */
#include "launcher/base/tree/packed.h"
#include "launcher/base/tree/sync_wire.h"
#include "launcher/tools/copier/sync_stream.h"

#include <event2/buffer.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FILE_MOST = 2 << 20 };

struct state {
    struct sync_stream *stream;
    struct sync_copy *copy;
    crypto_generichash_state list;
    struct tree_hash file;
    uint64_t file_size;
    int control; /* the other end of mlaunch-copier's */
};

static char top[64];

static void check(bool is_right)
{
    if (!is_right)
        abort();
}

static int on_node(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static void top_remove(void)
{
    nftw(top, on_node, 16, FTW_DEPTH | FTW_PHYS);
}

/* TOP/victim/file, and TOP/in/evil and TOP/in/bad, which lead to it. */
static int top_make(void)
{
    char path[128];
    int fd;

    snprintf(path, sizeof(path), "%s/victim", top);
    mkdir(top, 0700);
    check(mkdir(path, 0700) == 0);
    snprintf(path, sizeof(path), "%s/victim/file", top);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    check(fd >= 0 && write(fd, "precious", 8) == 8);
    close(fd);
    snprintf(path, sizeof(path), "%s/in", top);
    check(mkdir(path, 0700) == 0);
    fd = open(path, O_RDONLY | O_DIRECTORY);
    check(fd >= 0 && symlinkat("../victim", fd, "evil") == 0 &&
          symlinkat("../victim/file", fd, "bad") == 0);
    return fd;
}

/* The victim is as it was, and TOP has nothing else. */
static void top_check(void)
{
    char path[128], text[16] = "";
    struct stat st;
    int fd;

    snprintf(path, sizeof(path), "%s/victim/file", top);
    check(stat(path, &st) == 0 && (st.st_mode & 07777) == 0600 && st.st_nlink == 1);
    fd = open(path, O_RDONLY);
    check(fd >= 0 && read(fd, text, sizeof(text) - 1) == 8 && strcmp(text, "precious") == 0);
    close(fd);
    check(stat(top, &st) == 0 && st.st_nlink == 4);
    snprintf(path, sizeof(path), "%s/victim", top);
    check(stat(path, &st) == 0 && st.st_nlink == 2);
}

static void reports_drop(struct state *s)
{
    char rest[65536];

    while (recv(s->control, rest, sizeof(rest), MSG_DONTWAIT) > 0)
        ;
}

/* Completes what only those that know the secret can make. */
static size_t hash_add(struct state *s, int type, uint8_t *payload, size_t size)
{
    const struct tree_list *list = &s->copy->list;

    if (type == SYNC_ENTRIES)
        crypto_generichash_update(&s->list, payload, size);
    if (type == SYNC_LIST_END && size == 0) {
        crypto_generichash_state end = s->list;

        packed_put(payload, list->count, 4);
        crypto_generichash_final(&end, payload + 4, TREE_HASH);
        return 4 + TREE_HASH;
    }
    if (type == SYNC_FILE && size == 12) {
        uint32_t index = (uint32_t)packed_get(payload, 4);

        tree_hash_begin(&s->file, s->copy->order->secret, index);
        s->file_size = index < list->count ? list->entries[index].size : 0;
    }
    if (type == SYNC_BLOCK && size > 8)
        tree_hash_add(&s->file, packed_get(payload, 8), payload + 8, size - 8);
    if (type == SYNC_FILE_END && size == 4) {
        tree_hash_end(&s->file, s->file_size, payload + 4);
        return 4 + TREE_HASH;
    }
    return size;
}

static void frames_send(struct state *s, const uint8_t *data, size_t size)
{
    uint8_t frame[FRAME_HEADER + UINT16_MAX + TREE_HASH + 4];
    struct fault why = {0};

    while (size >= 3) {
        size_t part = packed_get(data + 1, 2) < size - 3 ? packed_get(data + 1, 2) : size - 3;
        size_t whole;
        int rc;

        memcpy(frame + FRAME_HEADER, data + 3, part);
        whole = hash_add(s, data[0], frame + FRAME_HEADER, part);
        frame_header(frame, data[0], (uint32_t)whole);
        rc = sync_stream_take(s->stream, frame, FRAME_HEADER + whole, &why);
        check(rc <= 0);
        check(!rc || why.text[0]);
        reports_drop(s);
        if (rc || sync_stream_has_ended(s->stream))
            return;
        data += 3 + part;
        size -= 3 + part;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct rlimit most = {FILE_MOST, FILE_MOST};
    struct sync_root root = {.directory = top, .name = "in"};
    char *exclude[] = {NULL};
    struct sync_order order = {.job = "sync",
                               .roots = &root,
                               .root_count = 1,
                               .exclude = exclude,
                               .is_delete = size & 1,
                               .is_checksum = size & 2};
    struct sync_control control = {.fd = -1};
    struct sync_copy copy = {.control = &control, .order = &order};
    struct state s = {.copy = &copy};
    int ends[2];

    if (!top[0]) {
        snprintf(top, sizeof(top), "%s", "/dev/shm/fuzz_sync.XXXXXX");
        check(mkdtemp(top) && sodium_init() >= 0);
        signal(SIGXFSZ, SIG_IGN); /* for files that are announced to be huge */
        check(setrlimit(RLIMIT_FSIZE, &most) == 0);
        atexit(top_remove);
    }
    check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    control.fd = ends[0];
    s.control = ends[1];
    copy.block = malloc(SYNC_BLOCK_MOST);
    copy.places = calloc(1, sizeof(*copy.places));
    check(copy.block && copy.places);
    tree_place_open(copy.places, top_make());
    check(sync_stream_open(&s.stream, &copy, 1, NULL) == 0);
    crypto_generichash_init(&s.list, order.secret, TREE_KEY, TREE_HASH);
    tree_hash_begin(&s.file, order.secret, 0);
    frames_send(&s, data, size);
    sync_stream_close(s.stream);
    top_check();
    tree_place_close(copy.places);
    close(copy.places->root);
    tree_list_clear(&copy.list);
    free(copy.differs);
    free(copy.places);
    free(copy.block);
    close(ends[0]);
    close(ends[1]);
    top_remove();
    return 0;
}
