/* SPDX-License-Identifier: MIT */
#include "launcher/run/job/job.h"

#include "common/build_id.h"
#include "common/clock.h"
#include "common/failure_times.h"
#include "common/log.h"
#include "common/net/stranger_limits.h"
#include "common/status.h"
#include "common/text/rank_list.h"
#include "common/text/signal_text.h"
#include "common/text/text_json.h"
#include "launcher/base/machine/self_stop.h"
#include "launcher/base/process/install_path.h"
#include "launcher/base/process/mpir.h"
#include "launcher/input/plan/plan_spares.h"
#include "launcher/run/change/job_changes.h"
#include "launcher/run/identity/job_identity.h"
#include "launcher/run/job/chaos_clock.h"
#include "launcher/run/job/job_hub.h"
#include "launcher/run/job/job_presence.h"
#include "launcher/run/job/restarts.h"
#include "launcher/run/job/signals.h"
#include "launcher/run/job/soft_stop.h"
#include "launcher/run/job/spare_hosts.h"
#include "launcher/run/record/recording.h"
#include "launcher/run/round/escalation.h"
#include "launcher/run/round/job_round.h"
#include "launcher/run/round/round_pause.h"
#include "launcher/run/stdio/events_file.h"
#include "launcher/run/stdio/input.h"
#include "launcher/run/stdio/output.h"
#include "launcher/run/stdio/rank_summary.h"
#include "launcher/run/stdio/terminal.h"
#include "launcher/wire/channel/agent_session.h"
#include "launcher/wire/channel/channel.h"
#include "launcher/wire/protocol/frame_stream.h"

#include <event2/event.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    STATUS_DIFFERS = 1, /* the job went well, but not as --compare-hashes has it */
    /* `timeout -s INT` and others send a signal to mlaunch and to its process group: twice. */
    SAME_PRESS_MS = 100,
    /* Once the user or --timeout has asked for the end, pending output is dropped after this many
     * checks without progress. Checks, not the time, because mlaunch itself may be stopped. */
    READER_CHECK_MS = 200,
    READER_CHECKS = 10,
};

struct job {
    struct plan *plan;
    const char *id;
    struct job_config config;
    struct event_base *base;
    struct events_file *events;
    struct job_presence *presence;
    struct job_hub *hub; /* NULL: no host calls */
    int restart;         /* the run's number, from 0 */
    struct output *output;
    struct rank_summary *summary; /* NULL: none is asked for */
    struct recording *recording;  /* NULL: none is asked for */
    bool has_run;                 /* all ranks of a run were started */
    bool has_met;                 /* all hosts were there once */
    bool differs;                 /* --compare-hashes has found a difference, or no call */
    struct input *input;
    struct terminal *terminal; /* NULL: no rank has one */
    struct signals *signals;
    struct soft_stop *soft_stop;
    struct job_changes *changes; /* NULL: nobody may ask for any */
    struct chaos_clock *chaos;   /* NULL: none is asked for, or no run has begun */
    struct event *timeout;
    struct event *reader_check; /* whether the output is read */
    struct event *pause;        /* before a restart */
    bool is_pausing;
    struct job_round *round; /* the run under way, or NULL */
    bool round_ended;
    struct agent_session *staying; /* the agents, between two runs; or NULL */
    bool is_mended; /* spare hosts have taken the places of all that the last run could not use */
    struct spare_hosts spares;

    int end_signals;       /* how many times the user has asked for the end */
    int end_signal;        /* the signal of the last time */
    int64_t end_signal_ms; /* and its time, clock_ms() */
    char ended_by[160];    /* who ended the job, if that must be at the end of a log; or "" */
    enum stop_cause cause; /* STOP_NONE, or why no further run will be started */
    bool is_late;          /* --timeout has passed */
    bool is_in_a_hurry;    /* output that has not been written yet may be lost */
    size_t written;        /* bytes of output at the last check */
    int reader_checks;     /* in a row that have seen no byte written */
};

/* The most that a host needs: the channel, its bell, its thread's wake-up and SSH's socket; while
 * connecting also those of ssh-agent, a proxy and the file to be copied. */
enum { DESCRIPTORS_PER_HOST = 12, DESCRIPTORS_OF_OUR_OWN = 64 };

/* Where hosts call: each of them, and as many strangers as are let in. */
static rlim_t uplink_descriptors(const struct plan *p)
{
    const struct options *o = p->options;

    return o->await || o->fanout ? STRANGERS_UPLINK + 3 * (rlim_t)(o->await + p->host_count) : 0;
}

/* Allows as many descriptors as hosts and files need, and no more: local ranks inherit the limit,
 * and some programs try every number up to it. */
static void descriptor_limit_raise(const struct plan *p)
{
    rlim_t need = DESCRIPTORS_OF_OUR_OWN + uplink_descriptors(p) +
                  DESCRIPTORS_PER_HOST * (rlim_t)p->host_count + (rlim_t)p->files.count +
                  (p->output == OUTPUT_DIR ? 2 * (rlim_t)p->size : 0);
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= need)
        return;
    if (need > limit.rlim_max) {
        log_warn("this job may need %llu open files, the limit is %llu (ulimit -n)",
                 (unsigned long long)need, (unsigned long long)limit.rlim_max);
        need = limit.rlim_max;
    }
    log_debug("raising the limit of open files to %llu", (unsigned long long)need);
    limit.rlim_cur = need;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static void on_reader_check(evutil_socket_t fd, short what, void *arg)
{
    struct job *j = arg;
    size_t written = output_written(j->output);

    (void)fd;
    (void)what;
    j->reader_checks =
        output_is_idle(j->output) || written != j->written ? 0 : j->reader_checks + 1;
    j->written = written;
    if (j->reader_checks < READER_CHECKS)
        return;
    event_del(j->reader_check);
    j->is_in_a_hurry = true;
    if (j->round)
        job_round_drop_output(j->round);
}

/* Ends the run; no further one will be started. */
static void job_stop(struct job *j, enum stop_cause cause, int signal)
{
    const struct timeval reader_check = {.tv_usec = READER_CHECK_MS * 1000};

    if (j->cause == STOP_NONE)
        j->cause = cause;
    job_presence_set(j->presence, REGISTER_ENDING, j->restart);
    if (cause == STOP_SIGNAL || cause == STOP_SLURM || cause == STOP_TIMEOUT)
        event_add(j->reader_check, &reader_check);
    if (j->round)
        job_round_stop(j->round, cause, signal);
}

/* Whether another mlaunch has sent it that is not the one in the foreground of --detach: `mlaunch
 * kill`. `text` then says by whom. */
static bool is_ended_by_kill(char *text, size_t size, int signal, const struct signal_sender *from)
{
    const struct passwd *user = getpwuid(geteuid());
    char host[256] = "";

    if (signal != SIGTERM || from->pid <= 0 || from->pid == getppid() ||
        strcmp(from->name, "mlaunch") != 0)
        return false;
    gethostname(host, sizeof(host) - 1);
    snprintf(text, size, "the job was ended with mlaunch kill by %.40s on host %.60s",
             user ? user->pw_name : "its user", host);
    return true;
}

/* "interrupted" (Ctrl-C), "ended by SIGTERM (from pid 4711, timeout)" */
static void end_signal_name(char *out, size_t size, int signal, const struct signal_sender *from)
{
    char sender[64] = "";

    if (from->is_kernel && signal == SIGHUP)
        snprintf(sender, sizeof(sender), " (the terminal is gone)");
    else if (from->pid > 0)
        snprintf(sender, sizeof(sender), " (from pid %d%s%s)", from->pid, from->name[0] ? ", " : "",
                 from->name);
    if (from->is_kernel && signal == SIGINT)
        snprintf(out, size, "interrupted");
    else if (signal_sender_is_slurm(from))
        snprintf(out, size, "Slurm has ended the job (scancel or its time limit)");
    else
        snprintf(out, size, "ended by SIG%s%s", signal_text_name(signal), sender);
}

/* Says what happens to the job now. */
static void end_say(struct job *j, const char *what, const char *advice)
{
    char escalation[128] = "";

    if (j->round)
        escalation_describe(j->round, escalation, sizeof(escalation));
    output_say(j->output, "%s%s%s%s", what, escalation[0] ? ": " : "", escalation,
               escalation[0] ? advice : "");
}

static void kill_say(const struct job *j, const char *name)
{
    char ranks[ESCALATION_RANKS];
    int left = escalation_ranks(j->round, ranks);

    output_say(j->output, "%s, the second signal%s%s", name, left ? ": SIGKILL to " : "", ranks);
}

static void killed_write(const struct job *j, const char *text)
{
    char host[256] = "";
    json_t *members = json_object();

    gethostname(host, sizeof(host) - 1);
    json_object_set_new(members, "host", text_json(host));
    json_object_set_new(members, "text", text_json(text));
    events_file_write(j->events, "killed", j->id, members);
}

static void on_end_signal(struct job *j, int signal, const struct signal_sender *from)
{
    char name[sizeof(j->ended_by)];
    int64_t now = clock_ms();
    bool is_killed;

    /* Slurm sends it for each step, and by itself SIGKILL. */
    if (signal == j->end_signal && (now - j->end_signal_ms < SAME_PRESS_MS ||
                                    (j->cause == STOP_SLURM && signal_sender_is_slurm(from))))
        return;
    j->end_signal = signal;
    j->end_signal_ms = now;
    j->end_signals++;
    is_killed = is_ended_by_kill(name, sizeof(name), signal, from);
    if (!is_killed)
        end_signal_name(name, sizeof(name), signal, from);
    log_debug("got signal %d, number %d that asks for the end", signal, j->end_signals);
    if (j->end_signals == 1) {
        bool has_job = j->is_pausing || (j->round && !j->round_ended);
        bool is_said = j->round && job_round_is_ended_by_slurm(j->round);

        job_stop(j, signal == SIGTERM && signal_sender_is_slurm(from) ? STOP_SLURM : STOP_SIGNAL,
                 signal);
        if (!has_job)
            return;
        if (is_killed)
            killed_write(j, name);
        if (!is_said)
            end_say(j, name,
                    from->is_kernel && signal == SIGINT ? "; Ctrl-C again kills at once" : "");
        if (!from->is_kernel)
            memcpy(j->ended_by, name, sizeof(name));
        return;
    }
    j->is_in_a_hurry = true;
    if (j->end_signals == 2 && j->round && !j->round_ended)
        kill_say(j, name);
    if (j->end_signals == 2 && j->round)
        job_round_kill(j->round);
    else if (j->round)
        job_round_give_up(j->round);
}

/* Who sends a signal that asks the ranks to stop. */
static void asking_name(char *out, size_t size, int signal, const struct signal_sender *from)
{
    const struct passwd *user = getpwuid(geteuid());
    char host[256] = "", sender[64] = "";

    gethostname(host, sizeof(host) - 1);
    if (from->pid > 0)
        snprintf(sender, sizeof(sender), " (from pid %d%s%s)", from->pid, from->name[0] ? ", " : "",
                 from->name);
    if (from->asks_stop)
        snprintf(out, size, "asked to stop with mlaunch kill --soft by %.40s on host %.60s",
                 user ? user->pw_name : "its user", host);
    else
        snprintf(out, size, "asked to stop by SIG%s%s", signal_text_name(signal), sender);
}

/* Whether the signal asks the ranks to stop, and is neither passed on nor ends them (soft_stop.h).
 * One that would end the job does so if no ranks run, if they have been asked before, or if it is
 * the one of `mlaunch kill`. */
static bool is_asking(struct job *j, int signal, const struct signal_sender *from)
{
    char name[sizeof(j->ended_by)];

    if (from->asks_stop)
        return true;
    if (signal != j->plan->job.stop_signal)
        return false;
    if (signal == SIGUSR1 || signal == SIGUSR2)
        return true;
    return j->cause == STOP_NONE && !soft_stop_is_asked(j->soft_stop) && j->round &&
           job_round_is_running(j->round) && !is_ended_by_kill(name, sizeof(name), signal, from);
}

static void on_asking_signal(struct job *j, int signal, const struct signal_sender *from)
{
    char name[sizeof(j->ended_by)];

    if (j->cause != STOP_NONE)
        return;
    asking_name(name, sizeof(name), signal, from);
    if (!j->round) { /* nothing is there that could stop by itself */
        job_stop(j, STOP_SIGNAL, SIGTERM);
        return;
    }
    /* The same press, sent to the process group as well, does not end the job. */
    j->end_signal = signal;
    j->end_signal_ms = clock_ms();
    soft_stop_ask(j->soft_stop, j->round, name, from->asks_stop ? 0 : signal);
}

static void on_asked(const char *text, void *arg)
{
    struct job *j = arg;

    if (j->cause == STOP_NONE)
        soft_stop_ask(j->soft_stop, j->round, text, 0);
}

static bool on_host_lost(int host, const char *why, void *arg)
{
    struct job *j = arg;

    return spare_hosts_replace(&j->spares, j->round, host, why);
}

/* The ranks have had --grace to stop by themselves. */
static void on_stop_late(void *arg)
{
    struct job *j = arg;
    char ranks[ESCALATION_RANKS], text[ESCALATION_RANKS + 80];
    int left = j->round ? escalation_ranks(j->round, ranks) : 0;

    if (j->cause != STOP_NONE || left == 0)
        return;
    snprintf(text, sizeof(text), "%s %s not stopped within %g s (--grace), and get SIGTERM", ranks,
             left == 1 ? "has" : "have", j->plan->job.grace_ms / 1e3);
    j->end_signals = 1;
    job_stop(j, STOP_SIGNAL, SIGTERM);
    end_say(j, text, "");
}

static void on_paused(void *arg)
{
    struct job *j = arg;

    terminal_leave(j->terminal);
    self_stop();
    if (j->round)
        round_pause_end(j->round);
    else if (j->staying)
        agent_session_go_on(j->staying);
    input_wake(j->input);
}

static void on_signal(int signal, const struct signal_sender *from, void *arg)
{
    struct job *j = arg;

    if (is_asking(j, signal, from)) {
        on_asking_signal(j, signal, from);
        return;
    }
    switch (signal) {
    case SIGTSTP:
        if (j->round)
            round_pause_begin(j->round, on_paused, j);
        else if (j->staying)
            agent_session_pause(j->staying, on_paused, j);
        else
            on_paused(j);
        break;
    case SIGCONT:
        if (j->round)
            job_round_reset_silence(j->round);
        else if (j->staying)
            agent_session_reset_silence(j->staying);
        input_wake(j->input);
        break;
    case SIGUSR1:
    case SIGUSR2:
        if (j->round)
            job_round_signal(j->round, signal);
        break;
    default:
        on_end_signal(j, signal, from);
    }
}

/* The ranks have been looked at. */
static void timeout_stop(void *arg)
{
    struct job *j = arg;
    char ranks[ESCALATION_RANKS], text[ESCALATION_RANKS + 200];
    int left = 0;

    snprintf(j->ended_by, sizeof(j->ended_by), "the job has not ended within %d s (--timeout)",
             j->plan->options->timeout_ms / 1000);
    if (j->round)
        left = escalation_ranks(j->round, ranks);
    if (left)
        snprintf(text, sizeof(text), "%s; %s still %s", j->ended_by, ranks,
                 left == 1 ? "runs" : "run");
    else
        snprintf(text, sizeof(text), "%s", j->ended_by);
    job_stop(j, STOP_TIMEOUT, SIGTERM);
    end_say(j, text, "");
}

static void on_timeout(evutil_socket_t fd, short what, void *arg)
{
    struct job *j = arg;

    (void)fd;
    (void)what;
    j->is_late = true;
    if (j->cause != STOP_NONE)
        job_stop(j, STOP_TIMEOUT, SIGTERM);
    else if (j->round && !j->config.results) /* where independent ranks are tells nobody anything */
        job_round_report_stacks(j->round, timeout_stop, j);
    else
        timeout_stop(j);
}

static void on_output_failed(const struct fault *why, void *arg)
{
    struct job *j = arg;

    if (why->code == ML_ERR_PEER) { /* as in `mlaunch … | head -1`: no error */
        job_stop(j, STOP_READER_GONE, SIGPIPE);
        return;
    }
    log_error("%s", why->text);
    job_stop(j, STOP_OUTPUT_FAILED, SIGTERM);
}

static void on_credit(int host, uint32_t bytes, void *arg)
{
    struct job *j = arg;

    if (j->round)
        job_round_on_credit(j->round, host, bytes);
    if (j->config.on_written)
        j->config.on_written(j->config.arg);
}

static void on_stdin(int rank, const void *bytes, size_t size, void *arg)
{
    struct job *j = arg;

    if (size && ((const char *)bytes)[size - 1] == '\n' && isatty(STDIN_FILENO))
        output_on_typed_line(j->output);
    if (j->round)
        job_round_on_stdin(j->round, rank, bytes, size);
}

static void on_size(struct terminal_size size, void *arg)
{
    struct job *j = arg;

    if (j->round)
        job_round_on_resize(j->round, size);
}

/* At the first start alone: otherwise no restart could succeed. */
static void chaos_begin(struct job *j)
{
    const struct chaos_job job = {j->id, j->plan->size, &j->round, j->output, j->events};
    struct fault why;

    if (!j->plan->chaos || j->chaos)
        return;
    if (chaos_clock_start(&j->chaos, j->base, j->plan->chaos, &job, &why))
        log_error("--chaos: %s", why.text);
}

/* The ranks were held, and mlaunch is stopped while the debugger takes them over: the agents expect
 * its silence until then. */
static void on_debugger_ready(void *arg)
{
    const struct job *j = arg;

    mpir_show();
    if (j->round)
        round_pause_end(j->round);
}

/* Shows the ranks to debuggers of parallel programs. */
static void ranks_show(struct job *j)
{
    const struct plan *p = j->plan;
    struct fault why;

    if (mpir_begin(p->size, &why)) {
        log_warn("%s", why.text);
        return;
    }
    for (int r = 0; r < p->size; r++)
        mpir_set(r, plan_host(p, p->ranks[r].host)->name, p->apps[p->ranks[r].app].argv[0],
                 (int)job_round_rank_pid(j->round, r));
    if (mpir_is_debugged())
        round_pause_begin(j->round, on_debugger_ready, j);
    else
        mpir_show();
}

static void on_round_started(void *arg)
{
    struct job *j = arg;

    j->has_run = true;
    job_presence_set(j->presence, REGISTER_RUNNING, j->restart);
    ranks_show(j);
    chaos_begin(j);
    soft_stop_started(j->soft_stop, j->round);
    if (j->config.on_started)
        j->config.on_started(j->config.arg);
}

static void on_rank_changed(void *arg)
{
    job_changes_on_rank(((struct job *)arg)->changes);
}

static void on_hosts_came(int first, const char *why, void *arg)
{
    job_changes_on_hosts(((struct job *)arg)->changes, first, why);
}

static void on_round_end(void *arg)
{
    ((struct job *)arg)->round_ended = true;
}

/* Waits until all output has been written, however slow its reader is, unless the user or --timeout
 * asks for the end meanwhile, or has done so before and nothing is read. */
static void job_drain(struct job *j)
{
    int asked = j->end_signals;
    bool was_late = j->cause == STOP_TIMEOUT;

    output_finish(j->output);
    while (!output_is_idle(j->output) && !j->is_in_a_hurry) {
        event_base_loop(j->base, EVLOOP_ONCE);
        j->is_in_a_hurry |= j->end_signals != asked || was_late != (j->cause == STOP_TIMEOUT);
    }
    event_base_loop(j->base, EVLOOP_NONBLOCK); /* the last write may have failed */
}

static void finished_write(struct job *j, const struct job_round_result *result)
{
    json_t *event = json_pack("{s:i}", "status", result->status);

    if (j->plan->job.elastic)
        json_object_update_new(event,
                               json_pack("{s:I, s:i}", "membership", (json_int_t)result->membership,
                                         "members", result->members));
    events_file_write(j->events, "finished", j->id, event);
}

static int job_run_once(struct job *j, const struct job_round_config *config,
                        struct job_round_result *result)
{
    struct fault why;

    j->round_ended = false;
    if (job_round_start(&j->round, config, &why)) {
        log_error("%s", why.text);
        return -1;
    }
    /* While the agents start, so that the job starts as early as without it. */
    job_presence_set(j->presence, j->restart ? REGISTER_RESTARTING : REGISTER_STARTING, j->restart);
    while (!j->round_ended)
        event_base_loop(j->base, EVLOOP_ONCE);
    job_drain(j);
    job_round_report(j->round);
    /* What the ranks wrote since has hidden it. */
    if (j->ended_by[0] && output_ends_with(j->output, -1) == 0)
        output_say(j->output, "%s", j->ended_by);
    job_round_result(j->round, result);
    soft_stop_end(j->soft_stop, j->cause == STOP_NONE && result->status == 0);
    if (result->has_failed && result->has_run)
        mpir_abort("the job has failed");
    finished_write(j, result);
    j->has_met |= result->has_run;
    if (result->has_run)
        j->spares.newcomer = -1;
    j->is_mended = config->restart > 0 && result->has_failed && !result->has_run &&
                   spare_hosts_replace_lost(&j->spares, j->round, result);
    job_round_destroy(j->round);
    j->round = NULL;
    return 0;
}

static void on_pause_end(evutil_socket_t fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    ((struct job *)arg)->is_pausing = false;
}

/* False: the end of the job was asked for meanwhile. */
static bool job_pause(struct job *j, int ms)
{
    const struct timeval t = {ms / 1000, ms % 1000 * 1000};

    j->is_pausing = true;
    evtimer_add(j->pause, &t);
    while (j->is_pausing && j->cause == STOP_NONE)
        event_base_loop(j->base, EVLOOP_ONCE);
    evtimer_del(j->pause);
    j->is_pausing = false;
    return j->cause == STOP_NONE;
}

/* What is wrong with the command line, the program or a key would be so again. Nor does a host
 * become one of the job's that has never been one, unless it just was not reached. */
static bool is_worth_a_restart(const struct job *j, const struct job_round_result *result)
{
    if (j->cause != STOP_NONE || j->is_late || soft_stop_is_asked(j->soft_stop) ||
        !result->has_failed)
        return false;
    if (j->is_mended || result->outlook == CHANNEL_MAY_RETURN)
        return true;
    return result->outlook == CHANNEL_MAY_NOT_RETURN && j->has_met;
}

static void restart_say(struct job *j, const struct restarts *r, int pause_ms)
{
    char when[32] = "";

    if (pause_ms)
        snprintf(when, sizeof(when), " in %d s", pause_ms / 1000);
    output_say(j->output, "starting the job again%s (restart %d of %d)", when, r->used, r->most);
    events_file_write(j->events, "restarted", j->id,
                      json_pack("{s:i, s:i}", "restart", r->count, "of", r->most));
}

static bool is_stopped(void *arg)
{
    return ((struct job *)arg)->cause != STOP_NONE;
}

/* Before each run. False: none may begin. *status: mlaunch's exit status then. */
static bool hosts_check(struct job *j, int *status)
{
    if (j->plan->options->check == FITNESS_NONE || !j->config.check)
        return true;
    j->is_pausing = true; /* there is a job that a signal ends */
    *status = STATUS_OURS;
    if (!spare_hosts_check(&j->spares, j->config.check, j->base, is_stopped, j))
        return false;
    j->is_pausing = false;
    *status = escalation_status(j->cause, j->end_signal);
    return j->cause == STOP_NONE;
}

/* One run after the other. Returns mlaunch's exit status. */
static int job_run_runs(struct job *j, const struct channel_config *channel)
{
    struct job_round_config config = {
        .base = j->base,
        .plan = j->plan,
        .job = j->id,
        .channel = channel,
        .output = j->output,
        .input = j->input,
        .stdin_mode = input_mode(j->plan),
        .events = j->events,
        .results = j->config.results,
        .summary = j->summary,
        .recording = j->recording,
        .door = job_presence_door(j->presence),
        .staying = job_options_agents_stay(&j->plan->job) ? &j->staying : NULL,
        .on_started = on_round_started,
        .on_host_lost = on_host_lost,
        .on_hosts_came = on_hosts_came,
        .on_asked = on_asked,
        .on_rank_changed = on_rank_changed,
        .on_end = on_round_end,
        .arg = j};
    struct job_round_result result = {.status = STATUS_OURS};
    /* With --elastic ranks are started again, one by one, within the run. */
    struct restarts restarts = {.most = j->plan->job.elastic ? 0 : j->plan->job.restarts};
    int pause_ms, status;

    plan_spares_renew(j->plan);
    if (!hosts_check(j, &status))
        return status;
    while (job_run_once(j, &config, &result) == 0 && is_worth_a_restart(j, &result)) {
        if (j->is_mended) { /* still the same try */
            output_restart(j->output);
            continue;
        }
        if (!restarts_take(&restarts, result.ran_ms, result.host_failed, &pause_ms))
            break;
        config.restart = j->restart = restarts.count;
        job_presence_set(j->presence, REGISTER_RESTARTING, j->restart);
        plan_spares_renew(j->plan);
        restart_say(j, &restarts, pause_ms);
        output_restart(j->output);
        if (!job_pause(j, pause_ms))
            return escalation_status(j->cause, j->end_signal);
        if (j->plan->options->evict_slow && result.has_run)
            spare_hosts_evict(&j->spares, j->summary);
        if (!hosts_check(j, &status))
            return status;
    }
    return result.status;
}

static int job_run_all(struct job *j)
{
    char agent[PATH_MAX];
    struct channel_config channel = {.ssh_config = j->plan->options->ssh_config,
                                     .connect_timeout_ms =
                                         j->plan->options->ssh_connect_timeout_s * 1000,
                                     .agent = j->plan->options->agent,
                                     .local_agent = agent,
                                     .build = build_id,
                                     .command = j->plan->agent_command,
                                     .with_copier = j->plan->stage_env != NULL,
                                     .with_entry = j->plan->job.container != NULL,
                                     .hub = job_hub_uplinks(j->hub)};
    struct fault why;
    int status;

    if (install_path_find(agent, INSTALL_AGENT, &why)) {
        log_error("%s", why.text);
        return STATUS_OURS;
    }
    status = job_run_runs(j, &channel);
    agent_session_part(j->staying, AGENT_LEAVES_MS);
    return status;
}

static void on_grown(void *arg)
{
    const struct job *j = arg;

    descriptor_limit_raise(j->plan);
    job_presence_renew(j->presence);
}

/* The job runs without it, if it must. */
static void changes_open(struct job *j)
{
    const struct job_changes_config config = {.base = j->base,
                                              .plan = j->plan,
                                              .job = j->id,
                                              .round = &j->round,
                                              .on_grown = on_grown,
                                              .arg = j};
    struct fault why;

    if (job_changes_open(&j->changes, &config, &why))
        log_warn("this job cannot be changed while it runs: %s", why.text);
}

static int job_open(struct job *j, struct fault *why)
{
    const struct output_events events = {on_credit, on_output_failed, j};
    const struct timeval limit = {.tv_sec = j->plan->options->timeout_ms / 1000};
    int rc;

    j->base = event_base_new();
    if (!j->base)
        return fault_set(why, ML_ERR_SYSTEM, "cannot make an event loop");
    rc = job_hub_open(&j->hub, j->base, j->plan, why);
    if (!rc)
        rc = job_presence_open(&j->presence, j->base, j->plan, j->id, why);
    if (!rc)
        rc = events_file_open(&j->events, j->plan->options->events, j->plan->job.name, why);
    if (!rc)
        rc = recording_open(&j->recording, j->plan, why);
    if (!rc && j->plan->options->pty)
        rc = terminal_open(&j->terminal, j->base, on_size, j, why);
    if (!rc)
        rc = output_open(&j->output, j->base, j->plan, j->id, j->terminal, j->config.sink, &events,
                         why);
    if (!rc)
        rc = input_open(&j->input, j->base, j->plan, input_mode(j->plan), on_stdin, j, why);
    if (!rc)
        input_use_terminal(j->input, j->terminal);
    if (!rc)
        rc = soft_stop_open(&j->soft_stop,
                            &(struct soft_stop_config){.base = j->base,
                                                       .plan = j->plan,
                                                       .job = j->id,
                                                       .output = j->output,
                                                       .events = j->events,
                                                       .on_late = on_stop_late,
                                                       .arg = j},
                            why);
    if (!rc && j->plan->job.elastic)
        changes_open(j);
    if (!rc)
        rc = signals_open(&j->signals, j->base, on_signal, j, why);
    if (rc)
        return rc;
    if (j->plan->options->summary || j->plan->options->evict_slow) {
        j->summary = rank_summary_create(j->plan);
        if (!j->summary)
            return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    j->spares = (struct spare_hosts){
        .plan = j->plan, .job = j->id, .output = j->output, .events = j->events, .newcomer = -1};
    j->reader_check = event_new(j->base, -1, EV_PERSIST, on_reader_check, j);
    j->pause = evtimer_new(j->base, on_pause_end, j);
    if (!j->reader_check || !j->pause)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (j->plan->options->timeout_ms == 0)
        return 0;
    j->timeout = evtimer_new(j->base, on_timeout, j);
    if (!j->timeout || evtimer_add(j->timeout, &limit))
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    return 0;
}

/* Only if it does not block: standard error may be the very pipe that nobody reads. */
static void loss_report(size_t size)
{
    struct pollfd p = {.fd = STDERR_FILENO, .events = POLLOUT};

    if (poll(&p, 1, 0) == 1 && (p.revents & POLLOUT))
        log_warn("output that has not been read is dropped, at most %zu bytes", size);
}

/* `status`: mlaunch's. */
static void job_close(struct job *j, int status)
{
    bool is_lost = j->output && !output_is_idle(j->output);
    size_t size = is_lost ? output_waiting(j->output) : 0;

    job_changes_close(j->changes);
    job_presence_close(j->presence);
    signals_close(j->signals);
    soft_stop_close(j->soft_stop);
    input_close(j->input);
    output_close(j->output);
    terminal_close(j->terminal);
    if (is_lost)
        loss_report(size);
    else if (j->plan->options->summary && j->summary)
        rank_summary_print(j->summary);
    if (recording_close(j->recording, j->has_run))
        j->differs = true;
    events_file_close(j->events);
    rank_summary_destroy(j->summary);
    chaos_clock_stop(j->chaos);
    if (j->timeout)
        event_free(j->timeout);
    if (j->reader_check)
        event_free(j->reader_check);
    if (j->pause)
        event_free(j->pause);
    job_hub_close(j->hub, status || !j->differs ? status : STATUS_DIFFERS);
    if (j->base)
        event_base_free(j->base);
}

int job_run(struct plan *p, const char *id, const struct job_config *config)
{
    struct job j = {.plan = p, .id = id};
    struct fault why;
    int status;

    if (config)
        j.config = *config;
    descriptor_limit_raise(p);
    frame_stream_keep_memory();
    if (job_open(&j, &why)) {
        job_close(&j, STATUS_OURS);
        log_error("%s", why.text);
        return STATUS_OURS;
    }
    status = job_run_all(&j);
    job_drain(&j);
    job_close(&j, status);
    return status || !j.differs ? status : STATUS_DIFFERS;
}
