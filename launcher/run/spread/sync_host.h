/* SPDX-License-Identifier: MIT */
/* sync_host.h: what is known of one host: its state in the chain, what it lacks, what it has
 * reported. Its reports come from another machine, and are checked here. */
#ifndef LAUNCHER_RUN_SPREAD_SYNC_HOST_H
#define LAUNCHER_RUN_SPREAD_SYNC_HOST_H

#include "common/net/frame.h"
#include "launcher/run/spread/sync_source.h"
#include "launcher/wire/channel/agent_channel.h"

#include <jansson.h>

/*
 * OPENING ──HELLO──▶ BEGUN ──READY──▶ WAITING ──┬─▶ LINKING ──LINKED──▶ LINKED ──▶ LOOKED ──▶ DONE
 *                                               └─────────── a new chain ◀─────────────┘
 * LOST from anywhere.
 */
enum sync_state {
    SYNC_HOST_OPENING,
    SYNC_HOST_BEGUN,
    SYNC_HOST_WAITING,
    SYNC_HOST_LINKING,
    SYNC_HOST_LINKED,
    SYNC_HOST_LOOKED,
    SYNC_HOST_DONE,
    SYNC_HOST_LOST,
};

/* A part of a file that has come to a host before. */
struct sync_part {
    uint32_t index;
    uint64_t size;
    uint8_t hash[TREE_HASH];
};

/* Something on a host that is not here. */
struct sync_extra {
    int path; /* index of the PATH */
    char *below;
};

struct sync_host {
    const struct host *host;
    int place;                     /* in the list of hosts */
    const char *target;            /* the directory there; NULL: those of the source */
    struct agent_channel *channel; /* the session's; NULL: it could not be opened */
    enum sync_state state;
    char ip[64];             /* for it to listen on */
    char address[128];       /* where it listens; "": nowhere */
    bool is_fed;             /* by mlaunch, in this round */
    bool is_unreachable;     /* by the host before it */
    bool has_no_rdma;        /* from the host before it, as was tried */
    int cuts;                /* how often the way to it has broken */
    size_t unacknowledged;   /* bytes of the stream that were fed */
    uint64_t at;             /* bytes of contents that have come in this round */
    uint8_t *differs;        /* for each entry */
    struct sync_part *parts; /* their indices rise */
    size_t part_count;
    struct sync_extra *extras;
    size_t extra_count;
    uint64_t differing; /* entries and extras */
    uint64_t files, bytes, deleted, failed;
    json_t *failures; /* sentences */
    json_t *git;      /* what git says of each PATH, or NULL */
    char lost[768];   /* why it is LOST */
};

/* `count`: entries of the list. ML_ERR_MEMORY. */
int sync_host_open(struct sync_host *h, const struct host *host, uint32_t count, struct fault *why);
void sync_host_close(struct sync_host *h);

/* Forgets what the host has said about its files. */
void sync_host_forget(struct sync_host *h);

/* Whether it needs the contents of a file. */
bool sync_host_needs(const struct sync_host *h, uint32_t index, bool is_checksum);
/* The part of that file that it has; NULL: none. */
const struct sync_part *sync_host_part(const struct sync_host *h, uint32_t index);

/* Take the payload of a report. ML_ERR_REFUSED: malformed; ML_ERR_MEMORY. */
int sync_host_take_ready(struct sync_host *h, const struct frame *f, struct fault *why);
int sync_host_take_differs(struct sync_host *h, const struct frame *f,
                           const struct sync_source *source, struct fault *why);
int sync_host_take_part(struct sync_host *h, const struct frame *f,
                        const struct sync_source *source, struct fault *why);
int sync_host_take_failed(struct sync_host *h, const struct frame *f, struct fault *why);
int sync_host_take_done(struct sync_host *h, const struct frame *f, struct fault *why);
/* A report about a round, on which the chain is made or has broken. */
struct sync_link_report {
    int64_t round;
    bool to_next;   /* it is about the way to the next host */
    bool is_rdma;   /* RDMA has failed there */
    char text[512]; /* what has failed; or why the host gets nothing over RDMA, or "" */
};
/* False: malformed. */
bool sync_host_take_link(struct sync_link_report *out, const struct frame *f);

#endif
