/* SPDX-License-Identifier: MIT */
/*
 * protocol.h: the frames between ranks or agents and the coordinator (doc/protocol.md,
 * "Coordinator"). They are framed as in common/net/frame.h. A connection begins with the handshake
 * of common/net/auth.h, for the purpose "rank" or "agent".
 */
#ifndef COORDINATOR_PROTOCOL_H
#define COORDINATOR_PROTOCOL_H

enum coordinator_frame {
    /* rank → coordinator */
    COORD_JOIN = 16, /* JSON {pid, timeout_ms, replaces}: the authenticated rank joins its
                        generation, or takes the place of a dead one */
    COORD_EXCHANGE,  /* raw, see protocol.md: one blob for all members, or one for each. An agent's
                        has another layout */
    COORD_SPLIT,     /* JSON {group, seq, color, key} */
    COORD_BREAK,     /* JSON {group, code, text}: the group is broken for all its members */
    COORD_WAITING,   /* JSON, see protocol.md: a call that waits */
    COORD_MOVING,    /* JSON {group}: the call that was reported has ended */
    COORD_LEAVE,     /* JSON {}: ml_finalize */
    COORD_ABORT,     /* JSON {status, why} */
    /* agent → coordinator */
    COORD_EXITED = 25, /* JSON {rank, pid, text}: the rank's first process has ended; how */
    /* rank → coordinator */
    COORD_FREE,  /* JSON {group}: ml_group_free; the rank uses that group no more */
    COORD_RELAY, /* JSON {group, to, word}: an object for another member of that group */
    /* agent → coordinator */
    COORD_NAME, /* JSON {ask, what, service, port}: about a name that ranks publish */
    COORD_PASS, /* raw: u32 host, bytes: for the agent of that host */
    /* For ranks that talk to their host's agent; raw, see protocol.md */
    COORD_RANK_OPENED, /* u32 channel, u32 rank, u32 generation: it has proved itself */
    COORD_RANK_SENT,   /* u32 channel, u8 type, payload: a frame of that rank */
    COORD_RANK_CLOSED, /* u32 channel: its connection has ended */
    /* rank → coordinator */
    COORD_REPAIR, /* JSON {pid, timeout_ms, groups}: ml_repair; all that live send it */
    COORD_AGREE,  /* JSON {group, value}: ml_agree; a u64 as a signed number */
    COORD_CREATE, /* JSON {group, tag, timeout_ms, count, ranks}: ml_group_create; the members do */
    /* JSON {rank, generation, membership, text}: that rank cannot be reached (--elastic) */
    COORD_UNREACHED,
    COORD_ALONE, /* JSON {text}: why what the rank keeps is on one host alone; "": on two again */
    /* coordinator → rank */
    COORD_WELCOME = 64, /* JSON {size, hosts:[index per rank], names:[per host]}: all have joined.
                           With {generation}: REPAIRED follows, for it takes a dead rank's place */
    COORD_EXCHANGED, /* raw: the members' blobs for this rank, in group order; an agent's differs */
    COORD_SPLITTED,  /* JSON {parent, seq, group, members:[world ranks]}; group -1: none */
    COORD_DEAD,      /* JSON {rank, text}: that rank of this generation has died; text says how */
    COORD_LEFT,      /* JSON {count, ranks}: they have left; a rank itself gets it as the answer */
    COORD_BROKEN,    /* JSON {group, code, text} */
    COORD_FAILED,    /* JSON {code, text}: the join failed (time-out, already held) */
    COORD_RELAYED,   /* JSON {group, from, word} */
    /* agent → its ranks */
    COORD_EXCHANGED_COPY, /* raw: u32 number of a shared copy, which has EXCHANGED's payload */
    /* coordinator → rank or agent */
    COORD_ADMITTED, /* JSON {}: the first frame after the handshake */
    /* coordinator → agent */
    COORD_NAMED,        /* JSON {ask, done, port}: answers NAME */
    COORD_PASSED,       /* raw: u32 host, bytes: PASS of that host's agent */
    COORD_TO_RANKS,     /* raw: u8 type, u32 count, that many u32 channels, payload */
    COORD_RANK_DROPPED, /* raw: u32 channel: the agent closes that connection */
    /* coordinator → rank */
    COORD_REPAIRED, /* JSON {membership, group, count, members, came_count, came}: the new world,
                       and whose processes are new in it */
    COORD_AGREED,   /* JSON {group, value} or {group, code, text}: the same for all that live */
    COORD_COMES,    /* JSON {rank}: its place may be filled by the next ml_repair */
    COORD_AWAITS,   /* JSON {ms}: REPAIR is not answered yet, for places may be filled until then */
    COORD_CREATED,  /* JSON {group, value} or {group, code, text}: answers CREATE; value: the number
                       of the new group */
};

/* The pause before the next attempt to connect: a system whose queue of connections is full drops a
 * request in silence, and repeats of it come ever more seldom. */
enum { CONNECT_AGAIN_MS = 20 };

/* In the job directory of a host that relays: where its ranks connect (host/host_relay.h). */
#define COORD_SOCKET "coordinator"

enum { COORD_WORLD = 0 /* the group id of the world; groups made by split follow from 1 */ };

#endif
