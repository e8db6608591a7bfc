/* SPDX-License-Identifier: MIT */
/*
 * protocol.h: what ranks and agents say to the coordinator and hear from it (doc/protocol.md,
 * "Coordinator"). Frames as in common/frame.h; a connection starts with the handshake of
 * common/auth.h, purpose "rank" or "agent".
 */
#ifndef COORDINATOR_PROTOCOL_H
#define COORDINATOR_PROTOCOL_H

enum coordinator_frame {
    /* rank → coordinator */
    COORD_JOIN = 16, /* JSON {pid, timeout_ms}: here is the authenticated rank and generation */
    COORD_EXCHANGE,  /* raw, see protocol.md: one blob for everyone or one for each member */
    COORD_SPLIT,     /* JSON {group, seq, color, key} */
    COORD_BREAK,     /* JSON {group, code, text}: the group is broken for all its members */
    COORD_WAITING,   /* JSON {group, seq, call, signature, peers:[…]}: a call has waited 1 s */
    COORD_MOVING,    /* JSON {group}: the call that was reported has ended */
    COORD_LEAVE,     /* JSON {}: ml_finalize */
    COORD_ABORT,     /* JSON {status, why} */
    /* agent → coordinator */
    COORD_AGENT,  /* JSON {host}: the index of its host */
    COORD_EXITED, /* JSON {rank, pid, text}: the rank's first process has ended; how, in words */
    /* rank → coordinator */
    COORD_FREE,  /* JSON {group}: ml_group_free; this rank will say no more of that group */
    COORD_RELAY, /* JSON {group, to, word}: an object for another member of that group */
    /* coordinator → rank */
    COORD_WELCOME = 64, /* JSON {size, hosts:[index per rank], names:[per host]}: all have joined */
    COORD_EXCHANGED,    /* raw: the members' blobs for this rank, in group order */
    COORD_SPLITTED,     /* JSON {parent, seq, group, members:[world ranks]}; group -1: none */
    COORD_DEAD,    /* JSON {rank, text}: that rank of this generation is gone; who, where, how */
    COORD_LEFT,    /* JSON {rank}: that rank has finalized; sent to itself as the answer */
    COORD_BROKEN,  /* JSON {group, code, text} */
    COORD_FAILED,  /* JSON {code, text}: the join failed (time-out, unknown rank, already held) */
    COORD_RELAYED, /* JSON {group, from, word} */
};

enum { COORD_WORLD = 0 /* the group id of the world; split groups count from 1 */ };

#endif
