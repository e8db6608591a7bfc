/* SPDX-License-Identifier: MIT */
/*
 * job_file.h: JOB_DIR/job.json, which an agent writes for the ranks on its host and for `mlaunch
 * ps`. It holds what is not in the ranks' environment, the job's secret too. The directory has mode
 * 0700, the file 0600.
 */
#ifndef COMMON_NET_JOB_FILE_H
#define COMMON_NET_JOB_FILE_H

#include "common/fault.h"
#include "common/net/auth.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    JOB_NAME = 41,       /* bytes for the longest name of a job, terminated */
    JOB_GROW_MOST = 256, /* ranks that a job of --elastic may get beside those that it began with */
};

struct job_file {
    char job[AUTH_JOB];   /* job id */
    char name[JOB_NAME];  /* --name, or "" */
    char host[256];       /* this host's name in the hostfile */
    int host_rank;        /* this host's index in the job, from 0 */
    int hosts;            /* number of hosts */
    int size;             /* number of ranks */
    char backend[8];      /* "tcp", "shm" or "rdma"; never "auto" */
    bool local_net;       /* --local net: ranks of one host use the network as well */
    bool secure;          /* --secure: connections between ranks are encrypted */
    bool elastic;         /* --elastic: those that live may go on without those that are gone */
    char coordinator[64]; /* "addr:port"; "" with --backend none */
    char keeper[256];     /* where the next host takes copies of what ranks keep, and behind a
                             blank each where there may be some that were made before; or "" */
    char bind_ip[64];     /* where this host's ranks listen */
    int restart;          /* how many runs of the job came before */
    int starting_port;    /* rank r listens on starting_port + 1 + r; 0: any port */
    int init_timeout_ms;  /* how long ml_init waits for the other ranks */
    int stall_ms;         /* MLAUNCH_STALL */
    int64_t agent_pid;    /* the agent's worker; its start time shows whether the job is alive */
    uint64_t agent_start_time; /* field 22 of /proc/PID/stat */
    int64_t guard_pid;
    uint64_t guard_start_time;
    /* Where these pids are valid: /tmp may be shared by containers and survive a reboot. */
    uint64_t pid_namespace; /* inode of /proc/self/ns/pid */
    char boot[40];          /* the kernel's boot_id */
    char node[72];          /* the system's host name */
    int grace_ms;           /* --grace */
    char command[256];      /* the command line, for ps */
    int64_t started_at;     /* seconds since 1970 */
};

/* Whether `name` may be that of a job: letters, digits and . _ -, a letter first, so that no id of
 * a job is one. */
bool job_file_is_name(const char *name);

/* Writes it into `dir` (under a temporary name, then renamed), and reads it. ML_ERR_SYSTEM names a
 * missing or malformed file. */
int job_file_write(const char *dir, const struct job_file *j, const uint8_t secret[AUTH_SECRET],
                   struct fault *why);
int job_file_read(const char *dir, struct job_file *out, uint8_t secret[AUTH_SECRET],
                  struct fault *why);

/* Writes another file of the directory, in the same way. */
int job_file_put(const char *dir, const char *name, const char *text, struct fault *why);

/* Reads another file of the directory, which holds JSON; *out is the caller's. ML_ERR_SYSTEM if it
 * is missing, malformed, no regular file or longer than `limit`. */
int job_file_json(json_t **out, const char *dir, const char *name, size_t limit, struct fault *why);

/* Reads only job.json of a directory that may belong to another user or build, or may be no job
 * directory at all. ML_ERR_SYSTEM, also if the file is not a regular one. */
int job_file_look(int dir_fd, struct job_file *out, struct fault *why);

/* Parses the text of a job.json; `name` is the file's name, for sentences. */
int job_file_parse(const char *name, const char *text, struct job_file *out, struct fault *why);

/* The members as a JSON object, the caller's; NULL: out of memory. And back from an object, which
 * may have others besides. */
json_t *job_file_object(const struct job_file *j);
int job_file_take(const char *name, const json_t *object, struct job_file *out, struct fault *why);

#endif
