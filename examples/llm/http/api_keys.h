/* SPDX-License-Identifier: MIT */
/* api_keys.h: the keys of --api-key-file, one of which a client must send. */
#ifndef LLM_HTTP_API_KEYS_H
#define LLM_HTTP_API_KEYS_H

#include <stdbool.h>
#include <stddef.h>

enum { API_KEYS_MOST = 64, API_KEY_MOST = 256 /* bytes */ };

struct api_keys;

/* Reads the keys of a file, one a line; empty lines, and those that begin with #, are left out.
 * NULL: `error` has a sentence. */
struct api_keys *api_keys_read(const char *path, char *error, size_t size);
void api_keys_free(struct api_keys *k); /* takes NULL */

/* True if the file is readable by every user of this host. */
bool api_keys_are_open(const struct api_keys *k);

/* True if the value of the header Authorization, or NULL, is "Bearer KEY". How long it takes says
 * nothing about a wrong key. */
bool api_keys_has(const struct api_keys *k, const char *authorization);

#endif
