/* SPDX-License-Identifier: MIT */
/*
 * loader_cache.h: /etc/ld.so.cache, in which ldconfig lists the libraries of the directories of
 * /etc/ld.so.conf. The format is glibc's since 2.2 (its sysdeps/generic/dl-cache.h).
 */
#ifndef LAUNCHER_BASE_LOADER_LOADER_CACHE_H
#define LAUNCHER_BASE_LOADER_LOADER_CACHE_H

#include <stddef.h>
#include <stdint.h>

struct loader_cache {
    char *bytes; /* owned; NULL: there is none */
    size_t size;
    size_t base;    /* where the new format begins, from which texts are counted */
    uint32_t count; /* entries, all of them within `bytes` */
};

/* Reads the cache at `path`. Without a valid one the cache is empty. */
void loader_cache_open(struct loader_cache *c, const char *path);
void loader_cache_close(struct loader_cache *c);

/* The next path of the library `name`, or NULL. *at is 0 for the first call. First come those that
 * any processor of this kind can use, then those for some of them only. */
const char *loader_cache_next(const struct loader_cache *c, const char *name, uint32_t *at);

#endif
