/* SPDX-License-Identifier: MIT */
/*
 * job_supervisor.h: a job, from its first run to its last, shared by the files of this room. Each
 * includes only those below it:
 *
 *   job.c        opens and closes it; its output and input
 *   job_runs.c   one run after the other
 *   job_end.c    signals and the time limit: why and how it ends
 */
#ifndef LAUNCHER_RUN_JOB_JOB_SUPERVISOR_H
#define LAUNCHER_RUN_JOB_JOB_SUPERVISOR_H

#include "launcher/input/plan/plan.h"
#include "launcher/run/job/job_config.h"
#include "launcher/run/job/spare_hosts.h"
#include "launcher/run/state/job_round_config.h"

#include <event2/event.h>
#include <stddef.h>
#include <stdint.h>

struct agent_session;
struct chaos_clock;
struct events_file;
struct input;
struct job_changes;
struct job_hub;
struct job_presence;
struct job_round;
struct output;
struct rank_summary;
struct recording;
struct signals;
struct soft_stop;
struct terminal;

/* Who or what has asked for the job's end. */
struct job_end {
    enum stop_cause cause; /* STOP_NONE, or why no further run will be started */
    int signals;           /* how many times the user has asked for the end */
    int signal;            /* the signal of the last time */
    int64_t signal_ms;     /* and its time, clock_ms() */
    char by[160];          /* who ended the job, if that must be at the end of a log; or "" */
    bool is_late;          /* --timeout has passed */
    bool is_in_a_hurry;    /* output that has not been written yet may be lost */
    struct event *timeout; /* NULL: there is no limit */
    struct event *reader;  /* looks whether the output is read */
    size_t written;        /* bytes of output at its last look */
    int looks;             /* in a row that have seen no byte written */
};

/* The runs so far, and the one under way. */
struct job_runs {
    struct job_round *round; /* or NULL */
    bool has_ended;          /* that one */
    bool have_begun;         /* all ranks of a run were started */
    bool have_met;           /* all hosts were there once */
    bool is_mended;  /* spare hosts have taken the places of all that the last run could not use */
    bool is_pausing; /* before a restart, or while the hosts are looked at */
    int restart;     /* the run's number, from 0 */
    struct event *pause;
    struct agent_session *staying; /* the agents, between two runs; or NULL */
    struct spare_hosts spares;
};

struct job {
    struct plan *plan;
    const char *id;
    struct job_config config;
    struct event_base *base;
    struct events_file *events;
    struct job_presence *presence;
    struct job_hub *hub; /* NULL: no host calls */
    struct output *output;
    struct rank_summary *summary; /* NULL: none is asked for */
    struct recording *recording;  /* NULL: none is asked for */
    bool differs;                 /* --compare-hashes has found a difference, or no call */
    struct input *input;
    struct terminal *terminal; /* NULL: no rank has one */
    struct signals *signals;
    struct soft_stop *soft_stop;
    struct job_changes *changes; /* NULL: nobody may ask for any */
    struct chaos_clock *chaos;   /* NULL: none is asked for, or no run has begun */
    struct job_end end;
    struct job_runs runs;
};

#endif
