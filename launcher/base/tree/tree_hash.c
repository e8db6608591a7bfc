/* SPDX-License-Identifier: MIT */
#include "launcher/base/tree/tree_hash.h"

#include "launcher/base/tree/packed.h"
#include "launcher/base/tree/sync_wire.h"

#include <errno.h>
#include <linux/fs.h>
#include <string.h>
#include <unistd.h>

void tree_hash_begin(struct tree_hash *h, const uint8_t key[TREE_KEY], uint32_t index)
{
    uint8_t packed[4];

    packed_put(packed, index, 4);
    crypto_generichash_init(&h->state, key, TREE_KEY, TREE_HASH);
    crypto_generichash_update(&h->state, packed, sizeof(packed));
}

bool tree_hash_is_zero(const void *bytes, size_t size)
{
    const uint8_t *b = bytes;

    return size == 0 || (b[0] == 0 && memcmp(b, b + 1, size - 1) == 0);
}

void tree_hash_add(struct tree_hash *h, uint64_t at, const void *bytes, size_t size)
{
    uint8_t packed[8];

    if (tree_hash_is_zero(bytes, size))
        return;
    packed_put(packed, at, 8);
    crypto_generichash_update(&h->state, packed, sizeof(packed));
    crypto_generichash_update(&h->state, bytes, size);
}

void tree_hash_end(const struct tree_hash *h, uint64_t size, uint8_t out[TREE_HASH])
{
    crypto_generichash_state copy = h->state;
    uint8_t packed[8];

    packed_put(packed, size, 8);
    crypto_generichash_update(&copy, packed, sizeof(packed));
    crypto_generichash_final(&copy, out, TREE_HASH);
}

int tree_hash_read(int fd, void *bytes, size_t size, uint64_t at)
{
    uint8_t *to = bytes;

    while (size > 0) {
        ssize_t n = pread(fd, to, size, (off_t)at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n ? errno : EIO;
        to += n;
        at += (uint64_t)n;
        size -= (size_t)n;
    }
    return 0;
}

uint64_t tree_hash_skip(int fd, uint64_t at, uint64_t size)
{
    off_t data = lseek(fd, (off_t)at, SEEK_DATA);

    if (data < 0) /* ENXIO: nothing but a hole is left; else the file system knows no holes */
        return errno == ENXIO ? size : at;
    if ((uint64_t)data >= size)
        return size;
    return (uint64_t)data / SYNC_BLOCK_MOST * SYNC_BLOCK_MOST;
}

int tree_hash_add_file(struct tree_hash *h, int fd, uint64_t size, uint8_t *block)
{
    for (uint64_t at = 0; (at = tree_hash_skip(fd, at, size)) < size; at += SYNC_BLOCK_MOST) {
        size_t part = size - at < SYNC_BLOCK_MOST ? (size_t)(size - at) : SYNC_BLOCK_MOST;
        int err = tree_hash_read(fd, block, part, at);

        if (err)
            return err;
        tree_hash_add(h, at, block, part);
    }
    return 0;
}
