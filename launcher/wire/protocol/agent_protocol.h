/* SPDX-License-Identifier: MIT */
/*
 * agent_protocol.h: the frames (common/net/frame.h) that mlaunch and its agents exchange over an
 * agent's stdin and stdout (doc/protocol.md, "Launcher and agent"). The channel is private (an SSH
 * channel or a socketpair), so there is no handshake; HELLO carries the build.
 */
#ifndef LAUNCHER_WIRE_PROTOCOL_AGENT_PROTOCOL_H
#define LAUNCHER_WIRE_PROTOCOL_AGENT_PROTOCOL_H

#include <stddef.h>
#include <stdint.h>

enum agent_frame {
    /* agent → mlaunch */
    AGENT_HELLO = 16, /* JSON {build, arch, pid, address, guess}: sent at once */
    AGENT_READY,   /* JSON {coordinator, warnings:[…]}: the job is accepted, nothing runs yet */
    AGENT_REFUSED, /* JSON {text, status}: the job cannot run here; the agent ends */
    AGENT_STARTED, /* JSON {rank, pid} */
    AGENT_OUTPUT,  /* raw: u32 rank, u8 stream (1, 2), bytes; no bytes: end of that stream */
    AGENT_EXITED,  /* JSON, see protocol.md: a rank's first process has ended, or never began */
    AGENT_STDIN_CREDIT, /* raw: u32 rank, u32 bytes that the rank has taken */
    AGENT_ABORTED,      /* JSON {rank, status, why, fault}: ml_abort, MPI_Abort; see protocol.md */
    AGENT_NOTE,         /* JSON {level, text}: a line for the user (stall, refused peer, warning) */
    AGENT_LOST,         /* JSON {text, cut_off}: it has lost its guard or that coordinator */
    AGENT_DONE,         /* JSON {survivors:[{pid, text}], crowded}: all are gone */
    AGENT_PONG,         /* answers LAUNCH_PING: empty, or its time and the agent's, as i64 */
    AGENT_KILLED,       /* JSON {text}: `mlaunch kill` has ended the job */
    AGENT_ANSWER,       /* JSON, see protocol.md: answers LAUNCH_QUERY */
    AGENT_WANT,         /* JSON {files:[index]}: those of JOB's files that this host needs */
    AGENT_FILE_CREDIT,  /* raw: u32 bytes of FILE that have been written */
    AGENT_SYNC,         /* raw: u8 type and payload of a report of mlaunch sync, see protocol.md */
    AGENT_CALLS,        /* raw: struct calls_head, struct rank_call each: a rank's record */
    AGENT_ASKED,        /* JSON {text}: this agent has been asked to stop the job softly */
    AGENT_FOLDED,       /* raw: u8 stream, u32 count of ranges of ranks, u32 first and last each,
                           bytes: whole lines that these ranks have written */
    AGENT_PLACE,        /* JSON {directory}: where it wants the copy of --stage-env */
    AGENT_REPAIRED,     /* JSON {generation, membership, count, members}: these ranks go on */
    AGENT_COORDINATES,  /* JSON {coordinator}: answers COORDINATE */
    AGENT_MET,          /* empty: all ranks have met in ml_init (--elastic) */
    AGENT_GREW,         /* raw: u32 rank: answers GROW */
    AGENT_WIRED,        /* empty: answers a PLACED that has a wiring */
    AGENT_UNREACHED, /* JSON {rank, peer, generation, membership, text}: a rank can't reach another
                           one of that membership (--elastic) */
    AGENT_ALONE,     /* JSON {rank, text}: why what it keeps is on one host alone, or "" */
    AGENT_KEEPS,     /* JSON {keeper, text}: its keeper has ended, and another one listens there;
                           or "": none does (--keep 2) */
    AGENT_UNMET,     /* empty: ml_init has failed, for a rank has ended before all had called it */
    /* mlaunch → agent */
    LAUNCH_JOB = 64,   /* JSON, see protocol.md: the host's part of the job, behind SHARED */
    LAUNCH_START,      /* JSON {coordinator}: fork the ranks */
    LAUNCH_STDIN,      /* raw: u32 rank or AGENT_STDIN_ALL, bytes; no bytes: end of file */
    LAUNCH_CREDIT,     /* raw: u32 agent_output_cost() of what has been written out */
    LAUNCH_SIGNAL,     /* raw: u32 signal for one process of each rank; or u32 signal, u32 rank */
    LAUNCH_STOP,       /* raw: u32 first signal, u32 grace in ms until SIGKILL, u32 not 0: NOTE what
                        ranks wait for; u32 not 0: Slurm ends the job */
    LAUNCH_KILL,       /* empty: SIGKILL to all at once */
    LAUNCH_PAUSE,      /* empty: stop the ranks; silence is allowed until RESUME or end of file */
    LAUNCH_RESUME,     /* empty */
    LAUNCH_PING,       /* empty, or raw: i64 ns of mlaunch's clock: asks for the agent's */
    LAUNCH_BYE,        /* empty: answers DONE; the agent exits 0 */
    LAUNCH_QUERY,      /* JSON, see protocol.md: instead of JOB: ps, kill, clean */
    LAUNCH_DROP,       /* empty: once the ranks have ended, drop what they have written */
    LAUNCH_RESIZE,     /* raw: u32 rows, u32 columns: of the terminal of --pty */
    LAUNCH_FILE,       /* raw: u32 index into JOB's files, bytes: the next ones of it */
    LAUNCH_SYNC,       /* raw: u8 type and payload of an order of mlaunch sync, instead of JOB, or
                        behind PLACE */
    LAUNCH_ASK,        /* empty: tell the ranks that the job has been asked to stop */
    LAUNCH_STAGED,     /* empty: all hosts have their copies of --stage-env */
    LAUNCH_COORDINATE, /* JSON {membership, met, count, ended}: be the next coordinator */
    LAUNCH_MOVED,      /* raw: "addr:port" of the next coordinator */
    LAUNCH_PLACED,     /* JSON {host, name, address, wiring}: this host is there now (--elastic) */
    LAUNCH_GONE,       /* raw: u32 host, u32 how many had taken its place before: it is lost, and
                          the job goes on without it (--elastic) */
    LAUNCH_SHARED,     /* JSON, see protocol.md: before JOB, the part of all hosts */
    LAUNCH_REPLACE,    /* raw: u32 rank, u32 number: it has ended; start it again for the number-th
                          time, or 0: nobody takes its place (--elastic, see protocol.md) */
    LAUNCH_DOOR,   /* raw: u32 host: to mlaunch's door (question_door.h), whose agent is asked */
    LAUNCH_LEAVE,  /* raw: u32 rank: it leaves the job (mlaunch shrink), to its host's agent and
                          the coordinator's */
    LAUNCH_AGAIN,  /* empty: instead of BYE, or before JOB: forget the run; HELLO answers */
    LAUNCH_GROW,   /* raw: u32 rank, u32 host, u32 program: the job has another rank, which
                          REPLACE starts once all agents have answered (mlaunch grow) */
    LAUNCH_KEEPER, /* raw: "addr:port addr:port …": another host is the next one (--keep 2) */
};

#define AGENT_STDIN_ALL UINT32_MAX /* all ranks of the host that get input */

enum {
    AGENT_OUTPUT_WINDOW = 4 << 20,  /* bytes of OUTPUT per host that may be unacknowledged */
    AGENT_OUTPUT_EXTRA = 64,        /* by which each OUTPUT counts more: what it costs to keep it */
    AGENT_STDIN_WINDOW = 256 << 10, /* bytes of STDIN per rank that may be unacknowledged */
    HOOK_LIMIT_S = 600,             /* for --prolog, and for --epilog */
    AGENT_FILE_WINDOW = 1 << 20,    /* bytes of FILE per host that may be unacknowledged */
    AGENT_CALLS_LAST = 65536,       /* calls of all ranks that are sent after a failure */
    AGENT_EXIT_NOT_OURS = 94,       /* agent started with --build X is another build: exit status */
    AGENT_EXIT_HAS_LEFT = 95,       /* the agent was asked to leave an elastic job, and has */
    /* The largest first byte of an agent's output: the high byte of a frame's length. A text that
     * some other program prints begins with a larger one. */
    AGENT_FIRST_BYTE_MAX = 4,
};

/* The beginning of CALLS. Both ends are of one build, and so of one byte order and data model: it
 * is sent as it lies in memory. Times are ns of the agent's CLOCK_MONOTONIC. */
struct calls_head {
    uint32_t rank;
    uint32_t is_last; /* 1: no more of this rank come */
    uint64_t made;    /* calls that the rank has begun in all */
};

/* What an OUTPUT of `size` bytes takes of the window; the end of a stream takes nothing. */
static inline uint32_t agent_output_cost(size_t size)
{
    return size ? (uint32_t)size + AGENT_OUTPUT_EXTRA : 0;
}

/* How many ports {port} may be (--words): READY says which are taken, START which one it is. */
enum { JOB_PORTS = 12 };

#endif
