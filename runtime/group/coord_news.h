/* SPDX-License-Identifier: MIT */
/*
 * coord_news.h: what the coordinator's frames say, kept until it is asked for: of ranks, of groups
 * (in their inboxes), and of this process. It neither reads the connection nor waits, and has no
 * lock: coord_events.c, whose part it is, holds its own around each of these calls.
 */
#ifndef RUNTIME_GROUP_COORD_NEWS_H
#define RUNTIME_GROUP_COORD_NEWS_H

#include "common/fault.h"
#include "common/net/frame.h"
#include "runtime/group/group.h"

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct peer;

/* What a member of a group has sent through the coordinator (COORD_RELAY). */
struct mail {
    struct mail *next;
    uint32_t group;
    int from; /* world rank */
    json_t *word;
};

struct coord_news {
    char *dir; /* the job's; NULL: no copies are shared */
    struct group *groups;
    bool concerns_all;  /* what has come does; for coord_events.c, which forgets it */
    struct peer *peers; /* per world rank */
    int size;
    struct mail *knocks; /* oldest first */
    int knock_fd;        /* counts them; -1: the process has no door for them */
    json_t *welcome, *repaired;
    struct fault failed;      /* why the coordinator refused this rank */
    uint32_t groups_end;      /* every number of a group that the coordinator has given is below */
    _Atomic bool has_changed; /* a member of the world has gone, or repairs it, or may come */
    int64_t awaits_ms;        /* until when the coordinator waits for such; clock_ms() */
};

/* `n`: zeros. For `size` world ranks; `dir` is copied. ML_ERR_MEMORY: there is nothing to close. */
int coord_news_open(struct coord_news *n, int size, const char *dir, struct fault *why);
void coord_news_close(struct coord_news *n);

/* From here until coord_news_remove, which empties it, g's inbox gets what comes for g. */
void coord_news_add(struct coord_news *n, struct group *g);
void coord_news_remove(struct coord_news *n, struct group *g);

/* Takes in one frame. A frame that does not parse is dropped: a thread that waits for it ends by
 * the coordinator's next frame, or by its end. Types that this build does not know are ignored.
 * ML_ERR_MEMORY, ML_ERR_REFUSED or what shared_copy_map returns: nothing is known of the peers any
 * more, so the connection is as good as lost. */
int coord_news_take(struct coord_news *n, const struct frame *f, struct fault *why);

/* As coord_events_peer. */
enum peer_state coord_news_peer(const struct coord_news *n, int rank, struct fault *why);

/* Takes the oldest word off an inbox's mail, or off the knocks: the caller frees it, and releases
 * its `word`. NULL: there is none. */
struct mail *coord_news_mail(struct mail **list);

/* Frees what it owns; takes an empty one. */
void reply_clear(struct reply *r);

#endif
