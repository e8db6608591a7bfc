/* SPDX-License-Identifier: MIT */
/*
 * strangers.h: the connections at one listener that have not proved anything yet, and who of them
 * goes when there is no room for another one. One thread at a time.
 *
 *     add ──▶ silent ──begin──▶ begun ──idle──▶ silent, the next to go
 *
 * They are kept by the address that they come from. When there are as many as there may be,
 *
 * 1. the oldest silent one of the address that has the most goes: the job's own speak at once;
 * 2. else a connection whose handshake has begun and takes too long (STRANGER_YIELDS_MS);
 * 3. else, if the new one is of another address, the youngest of the address that has the most;
 * 4. else the new one is refused.
 *
 * Only somebody with the secret can make a HELLO, so a flood without it cuts off no handshake that
 * has begun, and keeps nobody away whose HELLO comes with his connection (address_listen). Whoever
 * repeats HELLOs that he has seen on the network can fill all places with them, each for as long as
 * 2 says; whoever is refused then calls again.
 */
#ifndef COMMON_NET_STRANGERS_H
#define COMMON_NET_STRANGERS_H

#include "common/net/address.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct stranger_source;

/* The first member of what a listener keeps of a connection. */
struct stranger {
    struct stranger_source *source; /* NULL: it is not in the list */
    int64_t since_ms;               /* clock_ms: of its last step */
    bool has_begun;
    TAILQ_ENTRY(stranger) entry;
};

TAILQ_HEAD(stranger_list, stranger);
TAILQ_HEAD(stranger_sources, stranger_source);

struct strangers {
    struct stranger_sources sources;
    int count, most;
};

void strangers_init(struct strangers *l, int most);

/* True: there is room for one from `from`, once *out has gone, which the caller closes and removes;
 * NULL: nobody has to. False: the new one is refused. */
bool strangers_room(const struct strangers *l, const struct address *from, struct stranger **out);
/* Who goes where descriptors have run out; NULL: there is nobody. */
struct stranger *strangers_first_out(const struct strangers *l);

int strangers_add(struct strangers *l, struct stranger *s, const struct address *from,
                  struct fault *why);                           /* ML_ERR_MEMORY */
void strangers_begin(struct stranger *s);                       /* it has sent a right HELLO */
void strangers_idle(struct stranger *s);                        /* it has been refused */
void strangers_remove(struct strangers *l, struct stranger *s); /* also of one that is not in it */

#endif
