/* SPDX-License-Identifier: MIT */
#include "launcher/run/job/job_end.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/text/signal_text.h"
#include "common/text/text_json.h"
#include "launcher/base/machine/self_stop.h"
#include "launcher/run/job/job_presence.h"
#include "launcher/run/job/signals.h"
#include "launcher/run/job/soft_stop.h"
#include "launcher/run/round/job_round.h"
#include "launcher/run/state/escalation.h"
#include "launcher/run/state/round_pause.h"
#include "launcher/run/stdio/events_file.h"
#include "launcher/run/stdio/input.h"
#include "launcher/run/stdio/output.h"
#include "launcher/run/stdio/terminal.h"
#include "launcher/wire/channel/agent_session.h"

#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    /* `timeout -s INT` and others send a signal to mlaunch and to its process group: twice. */
    SAME_PRESS_MS = 100,
    /* Once the user or --timeout has asked for the end, pending output is dropped after this many
     * checks without progress. Checks, not the time, because mlaunch itself may be stopped. */
    READER_CHECK_MS = 200,
    READER_CHECKS = 10,
};

static void on_reader_check(evutil_socket_t fd, short what, void *arg)
{
    struct job *j = arg;
    size_t written = output_written(j->output);

    (void)fd;
    (void)what;
    j->end.looks = output_is_idle(j->output) || written != j->end.written ? 0 : j->end.looks + 1;
    j->end.written = written;
    if (j->end.looks < READER_CHECKS)
        return;
    event_del(j->end.reader);
    j->end.is_in_a_hurry = true;
    if (j->runs.round)
        job_round_drop_output(j->runs.round);
}

/* Ends the run; no further one will be started. */
void job_end_stop(struct job *j, enum stop_cause cause, int signal)
{
    const struct timeval reader_check = {.tv_usec = READER_CHECK_MS * 1000};

    if (j->end.cause == STOP_NONE)
        j->end.cause = cause;
    job_presence_set(j->presence, REGISTER_ENDING, j->runs.restart);
    if (cause == STOP_SIGNAL || cause == STOP_SLURM || cause == STOP_TIMEOUT)
        event_add(j->end.reader, &reader_check);
    if (j->runs.round)
        job_round_stop(j->runs.round, cause, signal);
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

    if (j->runs.round)
        escalation_describe(j->runs.round, escalation, sizeof(escalation));
    output_say(j->output, "%s%s%s%s", what, escalation[0] ? ": " : "", escalation,
               escalation[0] ? advice : "");
}

static void kill_say(const struct job *j, const char *name)
{
    char ranks[ESCALATION_RANKS];
    int left = escalation_ranks(j->runs.round, ranks);

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
    char name[sizeof(j->end.by)];
    int64_t now = clock_ms();
    bool is_killed;

    /* Slurm sends it for each step, and by itself SIGKILL. */
    if (signal == j->end.signal && (now - j->end.signal_ms < SAME_PRESS_MS ||
                                    (j->end.cause == STOP_SLURM && signal_sender_is_slurm(from))))
        return;
    j->end.signal = signal;
    j->end.signal_ms = now;
    j->end.signals++;
    is_killed = is_ended_by_kill(name, sizeof(name), signal, from);
    if (!is_killed)
        end_signal_name(name, sizeof(name), signal, from);
    log_debug("got signal %d, number %d that asks for the end", signal, j->end.signals);
    if (j->end.signals == 1) {
        bool has_job = j->runs.is_pausing || (j->runs.round && !j->runs.has_ended);
        bool is_said = j->runs.round && job_round_is_ended_by_slurm(j->runs.round);

        job_end_stop(j,
                     signal == SIGTERM && signal_sender_is_slurm(from) ? STOP_SLURM : STOP_SIGNAL,
                     signal);
        if (!has_job)
            return;
        if (is_killed)
            killed_write(j, name);
        if (!is_said)
            end_say(j, name,
                    from->is_kernel && signal == SIGINT ? "; Ctrl-C again kills at once" : "");
        if (!from->is_kernel)
            memcpy(j->end.by, name, sizeof(name));
        return;
    }
    j->end.is_in_a_hurry = true;
    if (j->end.signals == 2 && j->runs.round && !j->runs.has_ended)
        kill_say(j, name);
    if (j->end.signals == 2 && j->runs.round)
        job_round_kill(j->runs.round);
    else if (j->runs.round)
        job_round_give_up(j->runs.round);
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
    char name[sizeof(j->end.by)];

    if (from->asks_stop)
        return true;
    if (signal != j->plan->job.stop_signal)
        return false;
    if (signal == SIGUSR1 || signal == SIGUSR2)
        return true;
    return j->end.cause == STOP_NONE && !soft_stop_is_asked(j->soft_stop) && j->runs.round &&
           job_round_is_running(j->runs.round) &&
           !is_ended_by_kill(name, sizeof(name), signal, from);
}

static void on_asking_signal(struct job *j, int signal, const struct signal_sender *from)
{
    char name[sizeof(j->end.by)];

    if (j->end.cause != STOP_NONE)
        return;
    asking_name(name, sizeof(name), signal, from);
    if (!j->runs.round) { /* nothing is there that could stop by itself */
        job_end_stop(j, STOP_SIGNAL, SIGTERM);
        return;
    }
    /* The same press, sent to the process group as well, does not end the job. */
    j->end.signal = signal;
    j->end.signal_ms = clock_ms();
    soft_stop_ask(j->soft_stop, j->runs.round, name, from->asks_stop ? 0 : signal);
}

void job_end_on_asked(const char *text, void *arg)
{
    struct job *j = arg;

    if (j->end.cause == STOP_NONE)
        soft_stop_ask(j->soft_stop, j->runs.round, text, 0);
}

/* The ranks have had --grace to stop by themselves. */
void job_end_on_late_stop(void *arg)
{
    struct job *j = arg;
    char ranks[ESCALATION_RANKS], text[ESCALATION_RANKS + 80];
    int left = j->runs.round ? escalation_ranks(j->runs.round, ranks) : 0;

    if (j->end.cause != STOP_NONE || left == 0)
        return;
    snprintf(text, sizeof(text), "%s %s not stopped within %g s (--grace), and get SIGTERM", ranks,
             left == 1 ? "has" : "have", j->plan->job.grace_ms / 1e3);
    j->end.signals = 1;
    job_end_stop(j, STOP_SIGNAL, SIGTERM);
    end_say(j, text, "");
}

static void on_paused(void *arg)
{
    struct job *j = arg;

    terminal_leave(j->terminal);
    self_stop();
    if (j->runs.round)
        round_pause_end(j->runs.round);
    else if (j->runs.staying)
        agent_session_go_on(j->runs.staying);
    input_wake(j->input);
}

void job_end_on_signal(int signal, const struct signal_sender *from, void *arg)
{
    struct job *j = arg;

    if (is_asking(j, signal, from)) {
        on_asking_signal(j, signal, from);
        return;
    }
    switch (signal) {
    case SIGTSTP:
        if (j->runs.round)
            round_pause_begin(j->runs.round, on_paused, j);
        else if (j->runs.staying)
            agent_session_pause(j->runs.staying, on_paused, j);
        else
            on_paused(j);
        break;
    case SIGCONT:
        if (j->runs.round)
            job_round_reset_silence(j->runs.round);
        else if (j->runs.staying)
            agent_session_reset_silence(j->runs.staying);
        input_wake(j->input);
        break;
    case SIGUSR1:
    case SIGUSR2:
        if (j->runs.round)
            job_round_signal(j->runs.round, signal);
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

    snprintf(j->end.by, sizeof(j->end.by), "the job has not ended within %d s (--timeout)",
             j->plan->options->timeout_ms / 1000);
    if (j->runs.round)
        left = escalation_ranks(j->runs.round, ranks);
    if (left)
        snprintf(text, sizeof(text), "%s; %s still %s", j->end.by, ranks,
                 left == 1 ? "runs" : "run");
    else
        snprintf(text, sizeof(text), "%s", j->end.by);
    job_end_stop(j, STOP_TIMEOUT, SIGTERM);
    end_say(j, text, "");
}

static void on_timeout(evutil_socket_t fd, short what, void *arg)
{
    struct job *j = arg;

    (void)fd;
    (void)what;
    j->end.is_late = true;
    if (j->end.cause != STOP_NONE)
        job_end_stop(j, STOP_TIMEOUT, SIGTERM);
    else if (j->runs.round &&
             !j->config.results) /* where independent ranks are tells nobody anything */
        job_round_report_stacks(j->runs.round, timeout_stop, j);
    else
        timeout_stop(j);
}

int job_end_open(struct job *j, struct fault *why)
{
    const struct timeval limit = {.tv_sec = j->plan->options->timeout_ms / 1000};

    j->end.reader = event_new(j->base, -1, EV_PERSIST, on_reader_check, j);
    if (!j->end.reader)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (j->plan->options->timeout_ms == 0)
        return 0;
    j->end.timeout = evtimer_new(j->base, on_timeout, j);
    if (!j->end.timeout || evtimer_add(j->end.timeout, &limit))
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    return 0;
}

void job_end_close(struct job *j)
{
    if (j->end.timeout)
        event_free(j->end.timeout);
    if (j->end.reader)
        event_free(j->end.reader);
}
