/* SPDX-License-Identifier: MIT */
/*
 * kept_stream.h: the connection by which a rank has what it keeps copied to the next host of its
 * job, and gets it back from there (--keep 2; doc/protocol.md, "Copies of what ranks keep"). The
 * two ends are of one build: structs are sent as they lie in memory. One thread at a time.
 */
#ifndef COMMON_NET_KEPT_STREAM_H
#define COMMON_NET_KEPT_STREAM_H

#include "common/fault.h"
#include "common/net/auth.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    KEPT_SLOTS = 2,
    KEPT_NAME = 64,   /* bytes for the longest name, terminated */
    KEPT_HEAD = 4096, /* bytes before the data in a slot's file; zeros: it is not whole */
    KEPT_PATH = 4096 + 128,
};

enum kept_what { KEPT_PUT = 1, KEPT_GET, KEPT_LOOK };

struct kept_ask {
    uint32_t what, slot;
    uint64_t size; /* bytes behind the head, for PUT */
    char name[KEPT_NAME];
};

/* To PUT twice, before and after data and head; to GET and LOOK once, then the head follows, and
 * for GET the data. */
struct kept_answer {
    int32_t error; /* errno, 0: it goes well */
    uint32_t zero;
    uint64_t size; /* bytes behind the head, for GET and LOOK */
};

/* 1 to 63 of the letters a to z and A to Z, digits, '.', '_' and '-'. */
bool kept_is_name(const char *name);
/* The slot's file for the job directory `dir`. */
void kept_path(char path[KEPT_PATH], const char *dir, int rank, int slot, const char *name);
/* True if `size` bytes have been written to the file, or false with errno. */
bool kept_write_at(int fd, const void *bytes, size_t size, int64_t at);

struct kept_stream;

/* Connects to a keeper and proves that this is that rank. is_secure: all is encrypted. ML_ERR_PEER,
 * ML_ERR_TIMEOUT, ML_ERR_REFUSED, ML_ERR_MEMORY. */
int kept_stream_connect(struct kept_stream **out, const char *address, const char *job,
                        const uint8_t secret[AUTH_SECRET], int rank, bool is_secure,
                        struct fault *why);
/* The other end, of a connected socket, which it takes over. *rank: what the peer has proved, for
 * which it has half of STRANGER_MS. */
int kept_stream_accept(struct kept_stream **out, int fd, const char *job,
                       const uint8_t secret[AUTH_SECRET], bool is_secure, int *rank,
                       struct fault *why);
/* One end of a connection whose ends have proved who they are. Takes over `fd`, which does not
 * block, also if it fails. keys: NULL, or the connection's. ML_ERR_MEMORY. */
int kept_stream_create(struct kept_stream **out, int fd, const struct auth_keys *keys,
                       struct fault *why);
void kept_stream_close(struct kept_stream *s); /* takes NULL */

/* True once all bytes have been sent or have come, or false with errno. */
bool kept_stream_send(struct kept_stream *s, const void *bytes, size_t size);
/* The same for `size` bytes of a file, from `at` on, which must be there. kept_stream_send_file is
 * faster, but the process must ignore SIGPIPE. */
bool kept_stream_copy_file(struct kept_stream *s, int file, uint64_t size, int64_t at);
bool kept_stream_send_file(struct kept_stream *s, int file, uint64_t size, int64_t at);
/* is_patient: the first byte may take any time. */
bool kept_stream_receive(struct kept_stream *s, void *bytes, size_t size, bool is_patient);

#endif
