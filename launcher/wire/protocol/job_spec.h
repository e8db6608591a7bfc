/* SPDX-License-Identifier: MIT */
/*
 * job_spec.h: LAUNCH_SHARED and LAUNCH_JOB, parsed and checked: the part of a job that is the same
 * for all hosts, and the host's (doc/protocol.md, "Launcher and agent"). A launcher of this build
 * always sends valid ones. The checks are for damaged channels and fuzzers, and let all other code
 * rely on every index.
 */
#ifndef LAUNCHER_WIRE_PROTOCOL_JOB_SPEC_H
#define LAUNCHER_WIRE_PROTOCOL_JOB_SPEC_H

#include "common/fault.h"
#include "common/job_options.h"
#include "common/net/auth.h"
#include "launcher/base/process/job_copy.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The rank that gets a terminal. */
struct job_pty {
    int rank;          /* -1: none */
    int rows, columns; /* 1 to 65535 */
    const char *term;  /* TERM for the ranks, or "" */
};

/* A file that the launcher sends on request (--stage). */
struct job_copy {
    const char *name; /* a file name without directory */
    uint64_t size;    /* bytes */
    uint8_t hash[JOB_COPY_HASH];
    bool is_executable;
    int beside; /* index into files: it is a library of that program, and lies beside it; or -1 */
    /* With --stage-libs, of programs and libraries: */
    const char **needed;  /* NULL-terminated: the libraries that it needs; NULL: not known */
    const char *run_path; /* where it wants them to be looked for, or "" */
    bool is_inherited;    /* run_path also holds for what they need (DT_RPATH) */
    const char *glibc;    /* the version of glibc that it needs, or "" */
};

/* The process of another job that this job's one rank joins: it gets its environment. */
struct job_attach {
    int pid;  /* 0: none */
    int rank; /* its rank in its job */
};

/* The directory that this host gets a copy of (--stage-env). */
struct job_staged {
    const char *path; /* absolute, where the ranks see it; NULL: there is none */
    const char *name; /* the copy's, a file name without directory */
    int mib;          /* its size, rounded up */
    /* The directory of this host in which copies are kept, absolute, and the name for this one's
     * place there (hexadecimal digits and points); both "": it is removed with the job. */
    const char *cache, *version;
};

enum {
    JOB_CACHE_MOST = 80, /* bytes of such a directory's path */
    JOB_VERSION_MOST = 64,
};

struct job_app {
    const char **argv; /* NULL-terminated, at least the program */
    bool has_words;    /* its arguments have words to be filled in (argument_words.h) */
    const char **env;  /* NULL-terminated NAME=VALUE */
    const char *cwd;   /* "" or a directory that must exist */
    int file;          /* index into files: the program is that file's copy; or -1 */
};

struct job_rank {
    int rank, local_rank;
    int app;      /* index into apps */
    int wrap;     /* index into wraps, or -1 */
    bool is_held; /* it is stopped at its first instruction */
};

struct job_spec {
    json_t *root; /* owns all strings */
    const char *job;
    int restart; /* how many runs of the job came before */
    int fold_ms; /* lines that ranks write within this time are folded; 0: none are */
    uint8_t secret[AUTH_SECRET];
    int size, hosts, host;
    int most;       /* ranks that there may ever be, by job_spec_change_grow() */
    int hosts_most; /* hosts, by job_spec_change_place() */
    const char *host_name;
    const char **host_names; /* hosts of them */
    int *host_of;            /* size of them */
    const char **addresses;  /* per host, "" where unknown; NULL: the launcher has not sent them */
    const char *backend;     /* "tcp", "shm", "rdma" or "none" */
    struct job_options options;
    const char *bind_ip; /* or "" */
    const char *peer;    /* the address of another host, or "" */
    const char *command;
    struct job_pty pty;
    struct job_attach attach;
    struct job_staged staged;
    const char **env;           /* NULL-terminated */
    const char *cwd, *host_cwd; /* or "" */
    json_t *wiring;             /* [host][host][device], or NULL */
    struct job_copy *files;
    int file_count;
    struct job_app *apps;
    int app_count;
    const char ***wraps; /* each NULL-terminated, at least a program: goes before a rank's own */
    int wrap_count;
    struct job_rank *ranks; /* this host's */
    int rank_count;
    int rank_most; /* for which there is room */
};

/* The RDMA devices are those of `table`, of wiring_table_write(), from now on. ML_ERR_REFUSED: it
 * is no such table of the job's hosts; then nothing has changed. ML_ERR_MEMORY. */
int job_spec_rewire(struct job_spec *m, const json_t *table, struct fault *why);

/* Makes the JSON object of those members that are one value each. The rest, and the secret, are for
 * the caller to add (job_spec_encode.h). NULL: out of memory, or a string is not UTF-8. */
json_t *job_spec_write(const struct job_spec *m);

/* LAUNCH_SHARED's object, to be released. NULL: it is none. */
json_t *job_spec_parse_shared(const char *text, size_t size);
/* Parses and checks. `shared`: of job_spec_parse_shared(); NULL: all is in `text`. If both have a
 * member, it is that of `text`. ML_ERR_REFUSED names the invalid member. */
int job_spec_decode(struct job_spec **out, json_t *shared, const char *text, size_t size,
                    struct fault *why);
void job_spec_destroy(struct job_spec *m); /* wipes the secret; takes NULL */

/* Whether `text` may be the value of TERM, by which programs look for a file: a short name. */
bool job_spec_is_term(const char *text);

/* A variable as the user has set it for the ranks of this program, or as this process has it; or
 * "". */
const char *job_spec_variable(const struct job_spec *m, const struct job_app *app,
                              const char *name);

/* Whether `rank` of this job gets stdin. */
bool job_spec_has_stdin(const struct job_spec *m, int rank);

#endif
