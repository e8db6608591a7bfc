/* SPDX-License-Identifier: MIT */
/*
 * env_copy.h: the directory of --stage-env, which all hosts of a run get a copy of before their
 * ranks start, from host to host. Each host says where it wants the copy, or that it has kept one;
 * once all have, it is made. The run cannot start without one of them, so when one is lost it is
 * not made.
 */
#ifndef LAUNCHER_RUN_SPREAD_ENV_COPY_H
#define LAUNCHER_RUN_SPREAD_ENV_COPY_H

#include "common/fault.h"
#include "common/net/frame.h"

#include <stdbool.h>
#include <stdint.h>

struct agent_channel;
struct env_copy;
struct event_base;
struct host;

struct env_copy_config {
    struct event_base *base;
    const char *directory; /* here: an absolute path, which may be a link */
    int hosts;             /* how many the run has */
    int stall_ms;          /* after which a host that does not go on is named; 0: none is */
    /* Called once, on the loop: all hosts have their copies. `lost`: files that have changed
     * meanwhile, or could not be read. */
    void (*on_copied)(uint64_t lost, void *arg);
    void *arg;
};

/* Lists what is in the directory, which takes as long as its file system needs; no file is opened.
 * ML_ERR_SYSTEM names what cannot be read; ML_ERR_ARGUMENT: a path in it is too long. */
int env_copy_open(struct env_copy **out, const struct env_copy_config *config, struct fault *why);
/* The same for host `host` of that run alone, which comes later, from the list that there is. Files
 * that have changed since then are `lost`. `listed` must outlive it. */
int env_copy_open_later(struct env_copy **out, const struct env_copy *listed, int host,
                        void (*on_copied)(uint64_t lost, void *arg), void *arg, struct fault *why);
void env_copy_close(struct env_copy *c); /* takes NULL */

/* The directory's own name, without links. */
const char *env_copy_name(const struct env_copy *c);
uint64_t env_copy_size(const struct env_copy *c); /* bytes of all files */
/* "PATH.TREE", two hashes: another directory has another PATH, another state of it another TREE. */
const char *env_copy_version(const struct env_copy *c);

/* Where a host wants it. All is borrowed but the texts. */
struct env_copy_place {
    const struct host *host;
    struct agent_channel *channel;
    const char *ip;        /* for it to listen on */
    const char *directory; /* in which the copy is to be */
    bool is_kept;          /* it is there, of this version */
};

/* ML_ERR_REFUSED: it has said so before; ML_ERR_MEMORY. */
int env_copy_place(struct env_copy *c, int host, const struct env_copy_place *place,
                   struct fault *why);
/* Takes an AGENT_SYNC. ML_ERR_REFUSED: malformed, or the host cannot write a file, which the text
 * names; ML_ERR_PEER, ML_ERR_MEMORY. */
int env_copy_take(struct env_copy *c, int host, const struct frame *f, struct fault *why);
/* The host cannot take part in the run. Takes NULL. */
void env_copy_lose(struct env_copy *c, int host);
/* Whether a host was lost, and all others have said where they want it. Takes NULL. */
bool env_copy_is_off(const struct env_copy *c);

/* Call it every second or so: names a host that does not go on. Takes NULL. */
void env_copy_pulse(struct env_copy *c);
/* For people, with -v: what a host has got. */
void env_copy_report(const struct env_copy *c, int host);

#endif
