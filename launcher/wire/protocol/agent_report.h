/* SPDX-License-Identifier: MIT */
/* agent_report.h: parses and checks the JSON of an agent's frames (doc/protocol.md), which come
 * from another host. */
#ifndef LAUNCHER_WIRE_PROTOCOL_AGENT_REPORT_H
#define LAUNCHER_WIRE_PROTOCOL_AGENT_REPORT_H

#include "common/log.h"
#include "common/net/frame.h"

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct hello_report {
    char build[64], arch[32], address[64], guess[64];
    int64_t pid;
};
struct ready_report {
    bool is_pmix;         /* its programs are served by PMIx */
    bool needs_pmix;      /* one of them cannot do without */
    int ports_taken;      /* a bit for each port that {port} cannot be there */
    char coordinator[96]; /* "addr:port" or "" */
    char keeper[64];      /* likewise: where it takes copies */
};
struct refused_report {
    char text[512];
    int status;
};
struct done_report {
    int threads, ranks,
        processors; /* that many threads of the ranks had to share; 0: none had to */
};
struct started_report {
    int rank;
    int64_t pid;
    char *binding; /* what it has got of the host's processors, to be freed; or NULL */
};
/* What a process and the children that it has waited for have used. */
struct rank_usage {
    int64_t elapsed_ms, user_ms, system_ms;
    int64_t peak_bytes; /* memory that one process held at a time */
};
/* What a rank has done with the library. */
struct rank_counted {
    int64_t calls, bytes, wait_ms;
    int64_t kept_waiting; /* calls for all ranks in which it waited for another for long */
};
struct exited_report {
    int rank;
    int64_t pid;
    int status; /* valid if signal is 0 */
    int signal; /* or 0 */
    bool core, consequence, ended_by_us;
    char error[256];     /* why it could not be started; "": it was started */
    char core_file[256]; /* "": unknown */
    char lost[512];      /* for a consequence: a sentence that names the lost peer; or "" */
    char message[256];   /* the exception that ended a PyTorch program; or "" */
    char cause[256];     /* what the host knows of why it failed; or "" */
    struct rank_usage usage;
    bool has_counted; /* it has used the library */
    struct rank_counted counted;
};
struct aborted_report {
    int rank, status;
    char why[512]; /* "": none given */
    bool is_fault; /* `why` continues a sentence: the agent ended the job because of the rank */
};
/* The later membership is the larger one. */
struct report_membership {
    int64_t generation, number;
};
struct unreached_report {
    int rank, peer; /* the first cannot reach the second */
    struct report_membership of;
    char text[512]; /* why, a sentence about both */
};
struct alone_report {
    int rank;
    char text[512]; /* "": what it keeps is on two hosts again */
};
struct keeper_report {
    char address[64]; /* "addr:port", or "" */
    char text[512];
};
struct note_report {
    enum log_level level;
    char text[512];
    bool names_host; /* the text says which hosts it is about */
    bool is_stall;   /* it says that a call waits for too long */
};
struct lost_report { /* LOST, KILLED and ASKED */
    char text[512];
    char coordinator[96]; /* the host has lost this one, "addr:port", and nothing else; or "" */
    bool is_leaving;      /* an elastic job, as it was asked to: it ends its ranks by itself */
    bool by_slurm;        /* Slurm has ended the job, and not `mlaunch kill` */
};

/* `ranks`: the number of ranks in the job. ML_ERR_REFUSED: the frame is malformed, or its rank is
 * out of range. */
int hello_report_parse(struct hello_report *out, const struct frame *f, struct fault *why);
int refused_report_parse(struct refused_report *out, const struct frame *f, struct fault *why);
int started_report_parse(struct started_report *out, const struct frame *f, int ranks,
                         struct fault *why);
int exited_report_parse(struct exited_report *out, const struct frame *f, int ranks,
                        struct fault *why);
int aborted_report_parse(struct aborted_report *out, const struct frame *f, int ranks,
                         struct fault *why);
int unreached_report_parse(struct unreached_report *out, const struct frame *f, int ranks,
                           struct fault *why);
int alone_report_parse(struct alone_report *out, const struct frame *f, int ranks,
                       struct fault *why);
int keeper_report_parse(struct keeper_report *out, const struct frame *f, struct fault *why);
int note_report_parse(struct note_report *out, const struct frame *f, struct fault *why);

/* on_warning is called for each of READY's warnings; on_survivor for each of DONE's survivors. */
int ready_report_parse(struct ready_report *out, const struct frame *f,
                       void (*on_warning)(const char *text, void *arg), void *arg,
                       struct fault *why);
int done_report_parse(struct done_report *out, const struct frame *f,
                      void (*on_survivor)(int64_t pid, const char *text, void *arg), void *arg,
                      struct fault *why);

/* WANT: stores in `wanted`, which has room for `files` of them, the indices, which rise, and their
 * number in *count. */
int want_report_parse(int *wanted, int *count, const struct frame *f, int files, struct fault *why);
/* PLACE: stores the directory, an absolute path, and whether the host has the copy. */
int place_report_parse(char directory[PATH_MAX], bool *is_kept, const struct frame *f,
                       struct fault *why);
int lost_report_parse(struct lost_report *out, const struct frame *f, struct fault *why);

/* COORDINATES: the coordinator's "addr:port". */
int coordinates_report_parse(char *out, size_t size, const struct frame *f, struct fault *why);

struct repaired_report {
    struct report_membership now;
    int *members, count; /* the caller frees them */
};
int repaired_report_parse(struct repaired_report *out, const struct frame *f, int ranks,
                          struct fault *why);

#endif
