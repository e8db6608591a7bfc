/* SPDX-License-Identifier: MIT */
#include "runtime/tcp/tcp_eager.h"

#include "common/clock.h"
#include "common/failure_times.h"
#include "runtime/group/coord_events.h"
#include "runtime/group/door.h"
#include "runtime/group/link.h"
#include "runtime/group/wait_note.h"
#include "runtime/group/world.h"
#include "runtime/process/bell.h"
#include "runtime/tcp/tcp_door.h"
#include "runtime/tcp/tcp_link.h"
#include "runtime/tcp/tcp_mesh.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

enum { POLLS_FIXED = 3 /* door, coordinator, bell */ };

static int tcp_eager_check_news(struct group *g, struct fault *why)
{
    struct coord_events *n = g->world->coord_events;
    int rc;

    coord_events_read(n, g);
    rc = coord_events_broken(n, g, why);
    for (int i = 0; i < g->size && !rc; i++)
        if (g->links[i]->is_connecting && coord_events_peer(n, g->members[i], why) != PEER_PRESENT)
            rc = ML_ERR_PEER;
    return rc;
}

/* Names a member to which there is no link, and the first one's reason. `missing`: how many. */
static int tcp_eager_timed_out(const struct group *g, int missing, struct fault *why)
{
    char who[GROUP_MEMBER_TEXT], others[32] = "";
    int peer = 0;

    while (!g->links[peer]->is_connecting)
        peer++;
    group_describe(g, peer, who);
    if (missing > 1)
        snprintf(others, sizeof(others), " and %d others", missing - 1);
    if (peer < g->rank)
        return fault_set(why, ML_ERR_TIMEOUT,
                         "%s%s did not connect to rank %d on host %s at %s in time; is a firewall "
                         "between them? (--starting-port)",
                         who, others, g->members[g->rank], g->world->job.host,
                         tcp_door_where(g->world->door));
    return fault_set(why, ML_ERR_TIMEOUT,
                     "rank %d on host %s could not connect to %s%s in time; is a firewall between "
                     "them? (--starting-port)",
                     g->members[g->rank], g->world->job.host, who, others);
}

/* Goes on with all of them. Returns how many are missing; *lost: why one has failed, or NULL. */
static int tcp_eager_step(struct group *g, const struct fault **lost, struct fault *why)
{
    int missing = 0, rc;

    for (int i = 0; i < g->size; i++) {
        if (!g->links[i]->is_connecting)
            continue;
        rc = tcp_link_connect(g->links[i], i > g->rank, why);
        if (rc < 0)
            return rc;
        missing += rc == 0;
        if (tcp_mesh_reason(g->mesh, i))
            *lost = tcp_mesh_reason(g->mesh, i);
    }
    return missing;
}

static int tcp_eager_sleep(struct group *g, struct pollfd *p, int64_t deadline_ms,
                           struct fault *why)
{
    int count = POLLS_FIXED;

    p[0] = (struct pollfd){.fd = g->world->door->fd, .events = POLLIN};
    p[1] = (struct pollfd){.fd = coord_events_fd(g->world->coord_events), .events = POLLIN};
    p[2] = (struct pollfd){.fd = g->waiting.bell, .events = POLLIN};
    for (int i = 0; i < g->size; i++)
        count += tcp_mesh_watch(g->mesh, i, &p[count]);
    if (clock_poll(p, (nfds_t)count, deadline_ms) < 0) {
        if (errno != EINTR)
            return fault_os(why, ML_ERR_SYSTEM, errno, "poll");
        return 0;
    }
    if (p[2].revents)
        bell_silence(g->waiting.bell);
    return p[0].revents ? g->world->door->look(g->world->door, g, why) : 0;
}

static int tcp_eager_connect_all(struct group *g, struct pollfd *polls, int64_t deadline_ms,
                                 struct wait_noted *noted, struct fault *why)
{
    const struct fault *lost = NULL;
    int64_t lost_ms = 0;

    for (;;) {
        int64_t until_ms = deadline_ms;
        /* Before the first poll, too: what came together with the answer to the exchange has been
         * read from the socket already. */
        int rc = tcp_eager_check_news(g, why), missing;

        missing = rc ? rc : tcp_eager_step(g, &lost, why);
        if (missing <= 0)
            return missing;
        if (lost && !lost_ms)
            lost_ms = clock_ms() + PEER_WORD_MS;
        if (lost && lost_ms < until_ms)
            until_ms = lost_ms;
        if (lost && clock_left_ms(lost_ms) == 0) {
            *why = *lost;
            return why->code;
        }
        if (clock_left_ms(deadline_ms) == 0)
            return tcp_eager_timed_out(g, missing, why);
        rc = tcp_eager_sleep(g, polls, wait_noted_deadline(noted, until_ms), why);
        if (rc)
            return rc;
        wait_noted_look(noted, g);
    }
}

int tcp_eager_run(struct group *g, int64_t deadline_ms, struct fault *why)
{
    struct pollfd *polls = calloc((size_t)g->size + POLLS_FIXED, sizeof(*polls));
    struct wait_noted noted = {0};
    int rc;

    if (!polls)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    rc = tcp_eager_connect_all(g, polls, deadline_ms, &noted, why);
    wait_noted_end(&noted, g);
    free(polls);
    return rc;
}
