/* SPDX-License-Identifier: MIT */
/*
 * entry_answer.h: what mlaunch-entry, a container's first program, and the agent say to each other
 * over the door, a Unix socket in the job's directory:
 *
 *     entry ──u32 index of the rank──▶ agent
 *     entry ◀─one byte, with the rank's descriptors── agent
 *     entry ──end, as the program is executed; else struct entry_answer──▶ agent
 *
 * The program is in the file entry.INDEX beside the door, as strings ended by zero bytes: the
 * working directory, the agent's user namespace as ENTRY_NAMESPACE links to it, the number of the
 * arguments, these, and the environment.
 */
#ifndef LAUNCHER_AGENT_CONTAINER_ENTRY_ANSWER_H
#define LAUNCHER_AGENT_CONTAINER_ENTRY_ANSWER_H

#define ENTRY_DOOR      "door"
#define ENTRY_FILE      "entry.%d"
#define ENTRY_NAMESPACE "/proc/self/ns/user"

enum {
    ENTRY_STREAMS = 3, /* standard input, output and error, and perhaps PMI's socket behind them */
    ENTRY_DESCRIPTORS = 4,
    ENTRY_FOUND = 200, /* bytes of a name */
};

/* Why the program could not be executed. */
enum entry_step {
    ENTRY_DIRECTORY = 1, /* the working directory */
    ENTRY_ABSENT,        /* nowhere in PATH, or not at its path */
    ENTRY_PROCESSOR,     /* it is for another processor */
    ENTRY_LOADER,        /* `found`, its interpreter or loader, is not there */
    ENTRY_LIBC,          /* `found`, its loader, is not that of glibc */
    ENTRY_OTHER,
};

struct entry_answer {
    int step, error; /* error: an errno */
    char found[ENTRY_FOUND];
};

#endif
