/* SPDX-License-Identifier: MIT */
/*
 * tree_hash.h: BLAKE2b of a file's contents, with the secret of the run as its key: so only those
 * that belong to the run can make one. It is made of blocks, with the place of each; blocks of
 * zeros, which most often are holes, are left out.
 */
#ifndef LAUNCHER_BASE_TREE_TREE_HASH_H
#define LAUNCHER_BASE_TREE_TREE_HASH_H

#include <sodium.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TREE_HASH = 32, TREE_KEY = 32 }; /* bytes */

struct tree_hash {
    crypto_generichash_state state;
};

/* `index`: of the file in the list, so that no file's hash is that of another. */
void tree_hash_begin(struct tree_hash *h, const uint8_t key[TREE_KEY], uint32_t index);
/* `at` is a multiple of SYNC_BLOCK_MOST, as is `size` but for the last block; zeros are ignored. */
void tree_hash_add(struct tree_hash *h, uint64_t at, const void *bytes, size_t size);
/* The hash of a file that ends here; more may be added afterwards. */
void tree_hash_end(const struct tree_hash *h, uint64_t size, uint8_t out[TREE_HASH]);

bool tree_hash_is_zero(const void *bytes, size_t size);

/* Reads the block at `at`, which has `size` bytes. 0, or an errno; EIO: the file is shorter. */
int tree_hash_read(int fd, void *bytes, size_t size, uint64_t at);
/* The place of the first block at or after `at` that may hold something else than zeros, or
 * `size`. */
uint64_t tree_hash_skip(int fd, uint64_t at, uint64_t size);
/* Adds a file's bytes from 0 to `size`. `block` has SYNC_BLOCK_MOST bytes. 0, or an errno. */
int tree_hash_add_file(struct tree_hash *h, int fd, uint64_t size, uint8_t *block);

#endif
