/* SPDX-License-Identifier: MIT */
/*
 * job_survey.h: the jobs on this machine, from their directories in /tmp/mlaunch-UID and from
 * /proc: which jobs live, which are dead and have left something, and which processes belong to
 * which job.
 *
 * A job lives as long as its agent's worker or guard, which are identified by pid and start time on
 * this machine and in this pid namespace. The contents of a directory are trusted only as far as
 * /proc confirms them, because it may be another user's.
 */
#ifndef LAUNCHER_AGENT_QUERIES_JOB_SURVEY_H
#define LAUNCHER_AGENT_QUERIES_JOB_SURVEY_H

#include "common/net/job_file.h"
#include "launcher/agent/host/job_directory.h"
#include "launcher/base/machine/process_linux.h"

enum job_survey_state {
    JOB_SURVEY_LIVE,
    JOB_SURVEY_STALE,
    JOB_SURVEY_ELSEWHERE,  /* in another pid namespace or machine: its state is unknown here; or
                              somebody who is not seen here has its directory locked */
    JOB_SURVEY_UNREADABLE, /* its job.json is missing, malformed or of another build */
};

struct job_survey_job {
    char dir[JOB_DIRECTORY_PATH];
    uid_t user;
    enum job_survey_state state;
    struct job_file file; /* unreadable: only the id, from the directory's name */
    char why[256];        /* unreadable: the reason */
    bool worker_lives, guard_lives;
};

struct job_survey_rank {
    int rank;
    pid_t pid;
    bool lives;
};

/* What one process belongs to. */
struct job_survey_owner {
    int job;        /* index, or -1 */
    int rank;       /* or -1 */
    bool is_marked; /* by its own environment or control group, not by an ancestor's */
    bool is_agent;  /* worker or guard of a live job */
    bool is_orphan; /* marked with a job directory that is gone, and below no agent that had it: the
                       job is dead */
    char *mark;     /* the directory that it is marked with, or NULL */
};

enum {
    JOB_SURVEY_BASES = 3,
    /* Bounds on what other users can make as much of as they like. */
    JOB_SURVEY_OTHERS = 4096,          /* users */
    JOB_SURVEY_OTHERS_DIRECTORIES = 8, /* for one user */
    JOB_SURVEY_OTHERS_JOBS = 256,      /* the same */
};

struct job_survey_other {
    uid_t user;
    int directories, jobs;
};

struct job_survey {
    const char *bases[JOB_SURVEY_BASES + 1]; /* where users' directories are; NULL at the end */
    struct job_file here;                    /* only the members that pid_domain_linux.h sets */
    struct job_survey_job *jobs;
    int job_count, job_room;
    const struct job_survey_job **by_dir; /* all jobs, in the order of `dir` */
    struct job_survey_other *others;
    int other_count;
    struct process_list processes;
    struct job_survey_owner *owners; /* one for each process */
};

/* `base`: "/tmp", which stands for the caller's $TMPDIR and all of user_directory_bases as well (in
 * tests another). Skips directories that this user may not read, and of other users' jobs those
 * beyond the bounds above. ML_ERR_SYSTEM: `base` or /proc cannot be read. */
int job_survey_open(struct job_survey **out, const char *base, struct fault *why);
/* The same for the jobs of this process's user alone, without what processes belong to: it takes no
 * more time however many names others make. */
int job_survey_open_own(struct job_survey **out, const char *base, struct fault *why);
void job_survey_close(struct job_survey *s); /* takes NULL */

/* The ranks that the agent has started here, sorted by rank; the caller frees *out. ML_ERR_SYSTEM:
 * the list cannot be read. */
int job_survey_ranks(const struct job_survey *s, int job, struct job_survey_rank **out, int *count,
                     struct fault *why);

/* Whether a question about `job` is about this one: its id, its name, or "", which is all. */
bool job_survey_is_asked(const struct job_survey_job *j, const char *job);
/* Whether a question about `job` is about the user's own job with that id, whether its directory is
 * there or not. */
bool job_survey_is_asked_id(const struct job_survey *s, const char *id, const char *job);

/* Whether `p` is `ancestor` or one of its descendants. */
bool job_survey_is_below(const struct job_survey *s, const struct process *p, pid_t ancestor);

/* The job's id within "/tmp/mlaunch-0/ID.HOST.XXXXXX". */
void job_survey_id(const char *dir, char out[AUTH_JOB]);

/* A control group tells only the last two parts of a job directory: the directory of the job here
 * that has them, or `dir`, in which they were looked for. */
const char *job_survey_dir(const struct job_survey *s, const char *dir);

const char *job_survey_state_word(enum job_survey_state state);

#endif
