/* SPDX-License-Identifier: MIT */
#include "launcher/agent/run/ranks_stop.h"

#include "common/clock.h"
#include "common/failure_times.h"
#include "launcher/agent/container/container.h"
#include "launcher/agent/host/descendants_linux.h"
#include "launcher/agent/host/signal_target_linux.h"
#include "launcher/agent/host/stop_mark_file.h"
#include "launcher/agent/run/agent.h"
#include "launcher/agent/run/job_report.h"
#include "launcher/agent/run/rank_input.h"
#include "launcher/agent/run/rank_pty.h"
#include "launcher/agent/run/reap.h"

#include <event2/event.h>
#include <signal.h>

enum {
    PASS_MS = 20,   /* between two rounds of SIGKILL */
    SLURM_MS = 200, /* in which Slurm's own SIGTERM reaches all processes of a host */
};

static void timer_set(struct agent *a, int64_t at)
{
    int ms = clock_left_ms(at);
    struct timeval time = {ms / 1000, (ms % 1000) * 1000};

    event_add(a->stop_timer, &time);
}

void ranks_stop_signal_rank(struct agent *a, int rank, int signal)
{
    for (int i = 0; i < a->run.ranks.spawned; i++) {
        if (a->run.ranks.all[i].job->rank == rank && a->run.ranks.all[i].state == RANK_RUNNING)
            descendants_signal_group(a->run.ranks.all[i].pid, signal);
    }
}

/* To the ranks' process groups, not to descendants outside of them. */
static void groups_signal(struct agent *a, int signal)
{
    for (int i = 0; i < a->run.ranks.spawned; i++) {
        if (a->run.ranks.all[i].state == RANK_RUNNING)
            descendants_signal_group(a->run.ranks.all[i].pid, signal);
    }
}

/* To its program's process group, if it leads one in its container. */
static void program_signal(pid_t program, int signal)
{
    kill(getpgid(program) == program ? -program : program, signal);
}

/* To the process group of its program, which may be in a container. */
static void rank_signal(const struct agent_rank *r, int signal)
{
    const struct agent *a = r->agent;
    pid_t program = a->run.place.container
                        ? container_process(a->run.place.container, (int)(r - a->run.ranks.all))
                        : 0;

    if (r->state != RANK_RUNNING)
        return;
    if (program > 0 && program != r->pid)
        program_signal(program, signal);
    else
        descendants_signal_group(r->pid, signal);
}

void ranks_stop_ask(struct agent *a)
{
    struct fault why;

    if (!a->run.stop.is_asked && stop_mark_file_set(a->directory.path, &why))
        job_report_note(a, "error", why.text);
    a->run.stop.is_asked = true;
}

static void on_leave_limit(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    rank_signal(arg, SIGKILL);
}

void ranks_stop_leave(struct agent *a, int rank)
{
    int grace_ms = a->run.job->options.grace_ms;
    const struct timeval grace = {grace_ms / 1000, grace_ms % 1000 * 1000};

    for (int i = 0; i < a->run.ranks.spawned; i++) {
        struct agent_rank *r = &a->run.ranks.all[i];

        if (r->job->rank != rank || r->state != RANK_RUNNING)
            continue;
        r->is_signalled = true;
        rank_signal(r, SIGTERM);
        rank_signal(r, SIGCONT); /* a stopped process handles no other signal */
        if (event_base_once(a->base, -1, EV_TIMEOUT, on_leave_limit, r, &grace))
            rank_signal(r, SIGKILL);
    }
}

void ranks_stop_warn(struct agent *a, int signal)
{
    struct process_list all = {0};

    if (a->run.job->options.signal_children || descendants_find(&all, NULL)) {
        groups_signal(a, signal);
        return;
    }
    for (int i = 0; i < a->run.ranks.spawned; i++) {
        const struct process *target;

        if (a->run.ranks.all[i].state != RANK_RUNNING)
            continue;
        target = process_list_find(&all, signal_target_find(&all, a->run.ranks.all[i].pid, signal));
        if (target)
            process_signal(target, signal);
    }
    process_list_free(&all);
}

/* Whether it only waits for the rank's program, as bwrap does; if a signal ended it, the program's
 * status would be lost. */
static bool is_waiter(const struct agent *a, pid_t pid)
{
    for (int i = 0; a->run.place.container && i < a->run.ranks.spawned; i++) {
        pid_t program = container_process(a->run.place.container, i);

        if (a->run.ranks.all[i].pid == pid && program && program != pid)
            return true;
    }
    return false;
}

static void waiters_drop(const struct agent *a, struct process_list *l)
{
    size_t kept = 0;

    for (size_t i = 0; i < l->count; i++)
        if (!is_waiter(a, l->list[i].pid))
            l->list[kept++] = l->list[i];
    l->count = kept;
}

/* Signals the process groups of the ranks' programs alone: what keeps their containers would pass
 * the signal on, so that they got it twice. A program that is no descendant, or has not begun, gets
 * it from the agent's child. */
static void programs_signal(struct agent *a, int signal)
{
    struct process_list found = {0};

    descendants_find(&found, NULL);
    for (int i = 0; i < a->run.ranks.spawned; i++) {
        pid_t program = container_process(a->run.place.container, i);

        if (a->run.ranks.all[i].state != RANK_RUNNING)
            continue;
        if (program != a->run.ranks.all[i].pid && process_list_find(&found, program))
            program_signal(program, signal);
        else
            descendants_signal_group(a->run.ranks.all[i].pid, signal);
    }
    process_list_free(&found);
}

/* Signals all descendants. Returns how many there are, -1 without /proc. A stopped process handles
 * no signal but SIGKILL, hence SIGCONT. Handlers of it run in stopped processes only; without one,
 * it does not matter that a process may be about to stop. */
static int descendants_count_signalled(const struct agent *a, int signal, bool continues)
{
    struct process_list found = {0};
    int count;

    if (descendants_find(&found, NULL))
        return -1;
    if (continues)
        waiters_drop(a, &found);
    descendants_signal(&found, signal);
    for (size_t i = 0; i < found.count && continues; i++)
        if (found.list[i].state == 'T' || !process_catches(found.list[i].pid, SIGCONT))
            process_signal(&found.list[i], SIGCONT);
    count = (int)found.count;
    process_list_free(&found);
    return count;
}

void ranks_stop_signal_all(struct agent *a, int signal)
{
    if (descendants_count_signalled(a, signal, false) < 0)
        groups_signal(a, signal);
}

/* Ranks that run now and end later are reported as ended by the agent. */
static void ranks_mark_signalled(struct agent *a)
{
    reap_all(a);
    for (int i = 0; i < a->run.ranks.spawned; i++)
        a->run.ranks.all[i].is_signalled |= a->run.ranks.all[i].state == RANK_RUNNING;
}

/* As a terminal that is gone: SIGHUP, and the end of the input. The latter wakes a bash that has
 * forgotten SIGHUP, because SIGTERM came while readline restored its handlers. */
static void terminals_hang_up(struct agent *a)
{
    rank_pty_hang_up(a);
    for (int i = 0; i < a->run.ranks.spawned; i++) {
        if (a->run.ranks.all[i].pty >= 0)
            rank_input_take(&a->run.ranks.all[i], NULL, 0);
    }
}

/* Signals the ranks and the descendants that have left their process groups. Returns how many there
 * were, 0 if that is unknown. */
static int everyone_signal(struct agent *a, int signal)
{
    int count;

    ranks_mark_signalled(a);
    if (signal == SIGKILL)
        cgroup_kill(a->run.place.cgroup);
    else if (signal == SIGTERM)
        terminals_hang_up(a);
    if (!descendants_exist())
        return 0;
    if (signal != SIGKILL && a->run.place.container && container_is_apart(a->run.place.container)) {
        programs_signal(a, signal);
        return 0;
    }
    count = descendants_count_signalled(a, signal, signal != SIGKILL);
    if (count >= 0)
        return count;
    groups_signal(a, signal);
    return 0;
}

/* A handler that writes a checkpoint must not be entered again while it writes: no signal is sent
 * twice. */
static void everyone_ask(struct agent *a, int signal)
{
    if (signal != a->run.stop.asked)
        everyone_signal(a, signal);
    a->run.stop.asked = signal;
}

/* Sends SIGKILL to all. The time until the agent gives up begins with the first round that was
 * really sent, which may be late, and begins anew after each round that finds fewer processes: on a
 * busy machine a thousand processes end slowly. */
static void everyone_kill(struct agent *a)
{
    struct ranks_stop *s = &a->run.stop;
    int count = everyone_signal(a, SIGKILL);
    int64_t give_up_at = clock_ms() + RANKS_KILLED_MS;

    if (s->fewest >= 0 && count >= s->fewest)
        return;
    s->fewest = count;
    if (s->give_up_at < give_up_at)
        s->give_up_at = give_up_at;
}

static void escalation_step(struct agent *a)
{
    struct ranks_stop *s = &a->run.stop;
    int64_t now = clock_ms();
    bool is_needed = true; /* another step */

    if (now >= s->kill_at) {
        everyone_kill(a);
        is_needed = descendants_exist() || s->is_hurried;
        s->has_given_up = is_needed && clock_ms() >= s->give_up_at;
    } else if (s->term_at >= 0 && now >= s->term_at) {
        s->term_at = -1;
        everyone_ask(a, SIGTERM);
    }
    /* If no process is left, their output may still be on its way, however long its reader
     * takes. */
    if (s->has_given_up)
        s->is_active = false;
    else if (now < s->kill_at)
        timer_set(a, s->term_at >= 0 ? s->term_at : s->kill_at);
    else if (is_needed)
        timer_set(a, now + PASS_MS);
    agent_check_soon(a);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct agent *a = arg;

    (void)fd, (void)what;
    if (a->run.stop.is_active)
        escalation_step(a);
}

int ranks_stop_open(struct agent *a, struct fault *why)
{
    a->stop_timer = evtimer_new(a->base, on_timer, a);
    return a->stop_timer ? 0 : fault_set(why, ML_ERR_MEMORY, "out of memory for the timer");
}

void ranks_stop_end(struct agent *a)
{
    event_del(a->stop_timer);
    a->run.stop.is_active = false;
}

void ranks_stop_hurry(struct agent *a)
{
    int64_t now = clock_ms();

    /* The time until giving up begins here, even if SIGKILL was sent long ago. */
    if (!a->run.stop.is_hurried && a->run.stop.is_active &&
        a->run.stop.give_up_at < now + RANKS_KILLED_MS)
        a->run.stop.give_up_at = now + RANKS_KILLED_MS;
    a->run.stop.is_hurried = true;
    ranks_stop_begin(a, SIGKILL, 0);
}

void ranks_stop_begin(struct agent *a, int signal, int grace_ms)
{
    struct ranks_stop *s = &a->run.stop;
    int64_t now = clock_ms();
    int64_t kill_at = signal == SIGKILL ? now : now + grace_ms;
    bool is_polite = signal != SIGKILL && grace_ms > 0;

    if (s->has_given_up)
        return;
    if (!s->is_active || kill_at < s->kill_at) {
        s->kill_at = kill_at;
        s->give_up_at = kill_at + RANKS_KILLED_MS;
        s->fewest = -1;
        s->term_at = is_polite && signal != SIGTERM ? now + grace_ms / 2 : -1;
    }
    s->is_active = true;
    if (is_polite)
        everyone_ask(a, signal);
    escalation_step(a);
}

void ranks_stop_begin_slurm(struct agent *a, int grace_ms)
{
    struct ranks_stop *s = &a->run.stop;
    int64_t now = clock_ms();

    /* Said before, by mlaunch or by the guard, and Slurm's own SIGTERM is still on its way. */
    if (s->is_active && !s->asked)
        return;
    if (s->is_active || s->has_given_up || grace_ms <= SLURM_MS) {
        ranks_stop_begin(a, SIGTERM, grace_ms);
        return;
    }
    s->is_active = true;
    s->term_at = s->asked == SIGTERM ? -1 : now + SLURM_MS;
    s->kill_at = now + grace_ms;
    s->give_up_at = s->kill_at + RANKS_KILLED_MS;
    s->fewest = -1;
    escalation_step(a);
}

void ranks_stop_on_slurm(struct agent *a)
{
    ranks_mark_signalled(a);
    a->run.stop.asked = SIGTERM;
}
