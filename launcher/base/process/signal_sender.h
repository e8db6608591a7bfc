/* SPDX-License-Identifier: MIT */
/* signal_sender.h: who has sent a signal that libevent handles, which libevent does not tell. */
#ifndef LAUNCHER_BASE_PROCESS_SIGNAL_SENDER_H
#define LAUNCHER_BASE_PROCESS_SIGNAL_SENDER_H

#include <stdbool.h>

enum {
    SIGNAL_SENDER_NAME = 16,
    /* The value of the SIGUSR1 by which `mlaunch kill --soft` asks a mlaunch or an agent, which
     * must not take it for one that the user means for the ranks. */
    SIGNAL_SENDER_ASKS_STOP = 0x73746f70,
};

/* What is known of the process that sent a signal. */
struct signal_sender {
    bool is_kernel; /* no process: a key of the terminal (Ctrl-C), or the terminal's end (SIGHUP) */
    bool asks_stop; /* it is one of SIGNAL_SENDER_ASKS_STOP */
    int pid;        /* 0: unknown, as for a process of another container */
    char name[SIGNAL_SENDER_NAME]; /* its program's; "": unknown */
};

/* Notes the senders of `signal`, which libevent handles already, from now on. All threads but the
 * main one, which runs the loop, block the signal (common/quiet_thread.h). */
void signal_sender_watch(int signal);

/* Who sent the last one. */
const struct signal_sender *signal_sender_last(int signal);

/* Slurm's process on each host, which sends its signals to all processes of a step or job there. */
bool signal_sender_is_slurm(const struct signal_sender *from);

#endif
