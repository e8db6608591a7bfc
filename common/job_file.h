/* SPDX-License-Identifier: MIT */
/*
 * job_file.h: JOB_DIR/job.json and JOB_DIR/secret, by which an agent tells the ranks on its host (and
 * `mlaunch ps`) what they need to know beyond their environment. The directory is 0700, the files 0600.
 */
#ifndef COMMON_JOB_FILE_H
#define COMMON_JOB_FILE_H

#include "common/auth.h"
#include "common/fault.h"

#include <stdbool.h>
#include <stdint.h>

struct job_file {
    char job[AUTH_JOB];        /* job id */
    char host[256];            /* this host's name as the hostfile gives it */
    int host_rank;             /* this host's index in the job, from 0 */
    int hosts;                 /* number of hosts */
    int size;                  /* ranks in all */
    char backend[8];           /* "tcp", "shm" or "rdma": settled, never "auto" */
    bool local_net;            /* --local net: the network's path between ranks of one host too */
    char coordinator[64];      /* "addr:port"; "" with --backend none */
    char bind_ip[64];          /* where this host's ranks listen */
    int starting_port;         /* rank r listens on starting_port + 1 + r; 0: any port */
    int init_timeout_ms;       /* how long ml_init waits for the others */
    int stall_ms;              /* MLAUNCH_STALL */
    int64_t agent_pid;         /* the agent's worker, and when it started: is this job alive? */
    uint64_t agent_start_time; /* field 22 of /proc/PID/stat */
    int64_t guard_pid;
    uint64_t guard_start_time;
    /* Where these pids mean something. /tmp may be shared by containers and survive a reboot. */
    uint64_t pid_namespace; /* inode of /proc/self/ns/pid */
    char boot[40];          /* the kernel's boot_id */
    char node[72];          /* the system's own name for itself */
    int grace_ms;           /* --grace */
    char command[256];      /* what runs, for ps */
    int64_t started_at;     /* seconds since 1970 */
};

/* Writes both files into `dir` (temporary name, then rename); reads them back. A missing or malformed
 * file is ML_ERR_SYSTEM with a sentence naming it. */
int job_file_write(const char *dir, const struct job_file *j, const uint8_t secret[AUTH_SECRET],
                   struct fault *why);
int job_file_read(const char *dir, struct job_file *out, uint8_t secret[AUTH_SECRET],
                  struct fault *why);

/* job.json alone, for those who look at a directory from outside: it may be another user's or another
 * build's, and `dir_fd` any directory. Refused unless it is a plain file. */
int job_file_look(int dir_fd, struct job_file *out, struct fault *why);

/* The text of a job.json; `name`: the file's, for messages. */
int job_file_parse(const char *name, const char *text, struct job_file *out, struct fault *why);

#endif
