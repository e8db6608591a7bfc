/* SPDX-License-Identifier: MIT */
/*
 * failure_times.h: after which time something is given up or called lost. Parts of a job that know
 * nothing of each other rely on the order of these times, which the assertions below hold. All are
 * milliseconds, unless their name ends with _S.
 *
 * Not here: the limits of one program's own work, like the time of a question to all hosts, and
 * pauses between two looks.
 */
#ifndef COMMON_FAILURE_TIMES_H
#define COMMON_FAILURE_TIMES_H

#include "config.h"

/* A build for tests divides all times by FAILURE_TIMES_DIVISOR (configure
 * --with-failure-times-divided), which is 1 in all others. It is a constant of the build, not a
 * variable of the environment, so that no user can change these times; and it is part of the build
 * id, because a job whose parts differed in it would lose hosts that live. */
#define FAILURE_MS(ms) ((ms) / FAILURE_TIMES_DIVISOR)
/* For options of sockets, which take whole seconds: rounded up. */
#define FAILURE_WHOLE_S(ms) ((FAILURE_MS(ms) + 999) / 1000)
/* For sentences ("%g s"), and as the initializer of a struct timeval. */
#define FAILURE_SECONDS(ms) ((ms) / 1000.0)
#define FAILURE_TIMEVAL(ms)                                                                        \
    {                                                                                              \
        (ms) / 1000, (ms) % 1000 * 1000                                                            \
    }

enum failure_time {
    /* --- defaults of options, which no build divides --- */

    GRACE_DEFAULT_MS = 5000,         /* --grace: from SIGTERM to SIGKILL of ranks */
    INIT_TIMEOUT_DEFAULT_MS = 60000, /* --init-timeout: for hosts and ranks to come */
    STALL_DEFAULT_MS = 30000,        /* --stall: a call that waits for longer is reported */

    /* --- mlaunch and its agents --- */

    AGENT_HEARTBEAT_MS = FAILURE_MS(2000), /* between pings */
    /* Without a frame, after which either side takes the other for lost. */
    AGENT_SILENCE_MS = FAILURE_MS(10000),
    AGENT_TICK_MS = FAILURE_MS(500), /* between two looks of an agent whether mlaunch is silent */
    /* A heartbeat that comes this much too late: mlaunch was stopped, or its machine slept. */
    AGENT_GAP_MS = FAILURE_MS(3000),

    /* Hosts that have joined, and the tree of --fanout. */
    UPLINK_PING_MS = FAILURE_MS(2000),
    UPLINK_PINGS_MISSED = 4, /* then a connection is lost, at either end */
    UPLINK_LOST_MS = UPLINK_PING_MS * UPLINK_PINGS_MISSED,
    /* The other side's machine has not acknowledged what was sent. */
    UPLINK_SILENCE_MS = FAILURE_MS(10000),
    /* When nothing is sent, its machine is asked whether it still knows the connection. */
    UPLINK_ASK_AFTER_S = FAILURE_WHOLE_S(4000),
    UPLINK_ASK_AGAIN_S = FAILURE_WHOLE_S(2000),
    UPLINK_ASK_MOST = 3,

    /* The helper by which an agent serves programs of Open MPI. */
    PMIX_PING_MS = FAILURE_MS(5000),
    PMIX_SILENCE_MS = FAILURE_MS(10000),

    /* --- hosts and ranks among each other --- */

    /* By then mlaunch knows of a lost host. Hosts that others do not reach, and that are not lost
     * by then, are cut off from these alone. */
    HOST_LOST_MS = AGENT_SILENCE_MS + FAILURE_MS(2000),

    /* A silent TCP connection is probed, and then given up. */
    TCP_PROBE_AFTER_S = FAILURE_WHOLE_S(5000),
    TCP_PROBE_AGAIN_S = FAILURE_WHOLE_S(2000),
    TCP_PROBES = 4,
    TCP_SILENCE_MS = (TCP_PROBE_AFTER_S + TCP_PROBE_AGAIN_S * TCP_PROBES) * 1000,
    /* One that is being made, in a job whose other ranks may go on without either host. */
    TCP_CONNECT_MS = FAILURE_MS(13000),
    PEER_LOOK_MS = FAILURE_MS(3000), /* between a rank's looks whether a peer's host answers */
    /* From a link's failure with --elastic: for mlaunch to say which of two hosts is lost. */
    PEER_UNREACHED_MS = FAILURE_MS(20000),
    KEPT_PATIENCE_MS = FAILURE_MS(10000), /* --keep 2: without a byte of the next host */

    /* RDMA: devices take a power of two for each try, so no build divides these. */
    RC_TIMEOUT = 19, /* a try takes 4.096 us << 19 */
    RC_RETRIES = 4,  /* not 7, which Soft-RoCE takes as infinite */
    RC_TRY_MS = (int)((4096LL << RC_TIMEOUT) / 1000000),
    RC_SILENCE_MS = RC_TRY_MS * (1 + RC_RETRIES),
    RC_QUIET_MS = 2200, /* no packet of a queue pair is on its way any more */
    RDMA_TICK_S = 1,
    RDMA_KEEPALIVE_S = 2, /* between packets by which a silent end is noticed */

    /* All ranks know of a rank's death within a second. */
    EXIT_REPORT_MS = FAILURE_MS(500), /* for an agent to report how a rank has ended */
    /* For the coordinator to say why a link was closed, or who broke a group first. */
    PEER_WORD_MS = FAILURE_MS(1000),
    /* How long a call has waited when its rank says so: calls that differ are an error soon. */
    WAITING_AFTER_MS = FAILURE_MS(500),

    /* --- the end --- */

    /* Without mlaunch, or without one of the agent's two processes, a job's processes are gone
     * within ORPHANS_GONE_MS. */
    ORPHANS_GONE_MS = FAILURE_MS(3000),
    ORPHANS_GRACE_MS = FAILURE_MS(1000), /* from SIGTERM to SIGKILL, also of what jobs leave */
    RANKS_KILLED_MS = FAILURE_MS(1200),  /* after SIGKILL: what is still there cannot be killed */
    GUARD_HUNG_MS = FAILURE_MS(1800),    /* after the channel's end: the worker is killed */
    GUARD_KILLED_MS = FAILURE_MS(2500),  /* what survives SIGKILL is left to `mlaunch clean` */
    CLEAN_KILLED_MS = FAILURE_MS(3000),  /* and by that */
    AGENT_LEAVES_MS = FAILURE_MS(3000),  /* for agents to go after the job's end */
    /* Beyond the grace, for an agent to report that its ranks have ended. */
    JOB_ROUND_STOP_MARGIN_MS = FAILURE_MS(10000),
    JOIN_LEAVES_MS = FAILURE_MS(10000), /* for the agent of a host that has joined */
    /* mlaunch shrink and grow, without a word from the mlaunch that they have asked: until they say
     * so, and until they give up. */
    CHANGE_UNHEARD_MS = FAILURE_MS(5000),
    CHANGE_SILENCE_MS = FAILURE_MS(30000),
    /* mlaunch kill, beyond the job's grace: until the agent's worker, or mlaunch, is told again. */
    KILL_MARGIN_MS = FAILURE_MS(3000),
    KILL_GUARD_MS = FAILURE_MS(4000), /* then for the guard to clean up */
    KILL_LAST_MS = FAILURE_MS(10000), /* for an mlaunch that has been told twice */

    /* --- connections that are made --- */

    HANDSHAKE_MS = FAILURE_MS(10000), /* for both ends to prove who they are */
    /* Where a listener has as many strangers as it takes: from one's HELLO, for a proof. */
    STRANGER_YIELDS_MS = FAILURE_MS(1000),
    COORD_CONNECT_MS = FAILURE_MS(2000),  /* for one try: a full queue drops it in silence */
    UPLINK_CONNECT_MS = FAILURE_MS(5000), /* for one address of the head */
    LINGER_MS = FAILURE_MS(2000),         /* for the other side to read a refusal */
    FAREWELL_MS = FAILURE_MS(2000),       /* for the other side to take the last frame */
    COORD_LEFT_MS = FAILURE_MS(2000),     /* for the coordinator to confirm that a rank leaves */
    /* Beyond --init-timeout: for the coordinator, or the other members, to name who is missing. */
    MISSING_NAMED_MS = FAILURE_MS(5000),
};

_Static_assert(AGENT_HEARTBEAT_MS < AGENT_SILENCE_MS / 2, "one lost ping is no silence");
_Static_assert(AGENT_HEARTBEAT_MS + AGENT_GAP_MS < AGENT_SILENCE_MS,
               "mlaunch knows that it has slept before it takes its agents for lost");
_Static_assert(AGENT_HEARTBEAT_MS < CHANGE_UNHEARD_MS && CHANGE_UNHEARD_MS < CHANGE_SILENCE_MS,
               "one late word is no silence");
_Static_assert(AGENT_TICK_MS < AGENT_HEARTBEAT_MS, "an agent looks between two heartbeats");
_Static_assert(AGENT_HEARTBEAT_MS < AGENT_GAP_MS && AGENT_TICK_MS < AGENT_GAP_MS,
               "an agent that was stopped hears mlaunch before it gives up, if it is there");
_Static_assert(UPLINK_LOST_MS < AGENT_SILENCE_MS,
               "of a branch that is cut off, the host at fault is named, not those below it");
_Static_assert(UPLINK_ASK_AFTER_S * 1000 < UPLINK_SILENCE_MS, "it is asked before it is lost");
_Static_assert(PMIX_PING_MS < PMIX_SILENCE_MS, "one lost ping is no silence");
_Static_assert(AGENT_SILENCE_MS < HOST_LOST_MS && HOST_LOST_MS < FAILURE_MS(15000),
               "a lost host is known by then, and users are promised 15 s");
_Static_assert(HOST_LOST_MS < TCP_CONNECT_MS && HOST_LOST_MS < TCP_SILENCE_MS,
               "ranks hear that a host is lost before their own connections to it fail");
_Static_assert(HOST_LOST_MS < PEER_UNREACHED_MS, "ranks wait until mlaunch has given up a host");
_Static_assert(PEER_LOOK_MS < TCP_SILENCE_MS, "ranks notice a silent host when its time is over");
_Static_assert(TCP_SILENCE_MS < STALL_DEFAULT_MS && HOST_LOST_MS < STALL_DEFAULT_MS,
               "a lost host is not reported as a stall");
_Static_assert(RC_SILENCE_MS >= AGENT_SILENCE_MS, "a pausing machine may be silent that long");
_Static_assert(RC_TRY_MS < RC_QUIET_MS, "a packet is on its way for a try at most");
_Static_assert(RDMA_KEEPALIVE_S * 1000 + RC_SILENCE_MS < 15000, "users are promised 15 s");
_Static_assert(EXIT_REPORT_MS < PEER_WORD_MS, "ranks wait for a word that says how another ended");
_Static_assert(ORPHANS_GRACE_MS < GUARD_HUNG_MS, "a worker has the time to end its ranks");
_Static_assert(ORPHANS_GRACE_MS + RANKS_KILLED_MS < ORPHANS_GONE_MS, "as promised, by the worker");
_Static_assert(ORPHANS_GRACE_MS < GUARD_KILLED_MS && GUARD_KILLED_MS < ORPHANS_GONE_MS,
               "as promised, by the guard");
_Static_assert(GUARD_HUNG_MS < ORPHANS_GONE_MS, "as promised, if the worker hangs");
_Static_assert(RANKS_KILLED_MS < JOB_ROUND_STOP_MARGIN_MS, "an agent gives up before mlaunch does");
_Static_assert(ORPHANS_GONE_MS < JOIN_LEAVES_MS && ORPHANS_GONE_MS < KILL_GUARD_MS,
               "whoever waits for an agent waits for what it ends");
_Static_assert(COORD_CONNECT_MS < HANDSHAKE_MS && UPLINK_CONNECT_MS < HANDSHAKE_MS,
               "there is time for a second try");
_Static_assert(STRANGER_YIELDS_MS < HANDSHAKE_MS, "a listener that is full is less patient");
_Static_assert(HANDSHAKE_MS < INIT_TIMEOUT_DEFAULT_MS, "a stranger does not hold up a start");

#endif
