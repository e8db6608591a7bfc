/* SPDX-License-Identifier: MIT */
#include "launcher/run/elastic/first_failure.h"

#include "common/status.h"
#include "common/text/signal_text.h"

#include <signal.h>
#include <stdio.h>

/* Signals that a program causes itself: mlaunch never sends them, though it may have sent
 * another. */
static bool is_crash(int signal)
{
    return signal == SIGSEGV || signal == SIGABRT || signal == SIGBUS || signal == SIGFPE ||
           signal == SIGILL || signal == SIGSYS || signal == SIGTRAP;
}

static enum blame blame_of(const struct exited_report *r)
{
    if (r->signal == 0 && r->status == 0)
        return BLAME_NONE;
    if (r->ended_by_us && !is_crash(r->signal))
        return BLAME_ENDED_BY_US;
    return r->consequence ? BLAME_CONSEQUENCE : BLAME_CAUSE;
}

void first_failure_describe(char *out, size_t size, const struct exited_report *r, const char *host)
{
    /* The cause of a consequence may be an exit with status 0, which is not reported as a failure:
     * then this sentence alone names it. */
    const char *after = r->lost[0] ? " because it had lost a peer: " : "";
    const char *and = r->cause[0] && !r->lost[0] ? "; " : "";
    const char *cause = r->lost[0] ? "" : r->cause;
    int at = snprintf(out, size, "rank %d on host %s", r->rank, host);

    if (at < 0 || (size_t)at >= size)
        return;
    out += at;
    size -= (size_t)at;
    if (r->error[0]) {
        snprintf(out, size, " could not be started: %s", r->error);
    } else if (r->signal) {
        char killed[SIGNAL_TEXT];

        snprintf(out, size, " (pid %lld) %s%s%s%s%s%s%s", (long long)r->pid,
                 signal_text_killed(killed, r->signal), after, r->lost, and, cause,
                 r->core_file[0] ? "; core file "
                 : r->core       ? "; core dumped"
                                 : "",
                 r->core_file);
    } else {
        bool has_message = r->status != 0 && r->message[0] && !r->lost[0];

        snprintf(out, size, " (pid %lld) exited with status %d%s%s%s%s%s%s", (long long)r->pid,
                 r->status, after, r->lost, has_message ? ": " : "", has_message ? r->message : "",
                 and, cause);
    }
}

enum blame first_failure_exited(struct first_failure *f, const struct exited_report *r,
                                const char *host)
{
    enum blame blame = blame_of(r);

    if (blame > f->blame) {
        f->blame = blame;
        f->rank = r->rank;
        f->status = r->signal ? STATUS_SIGNAL + r->signal : r->status;
        f->is_hopeless = r->error[0] && r->status != STATUS_OURS;
        first_failure_describe(f->text, sizeof(f->text), r, host);
    }
    return blame;
}

void first_failure_aborted(struct first_failure *f, const struct aborted_report *r,
                           const char *host, int64_t pid)
{
    /* The exit of the rank may be reported before its ABORTED, which may come through rank 0's
     * host. */
    if (r->is_fault ? f->blame >= BLAME_FAULT : f->blame >= BLAME_CAUSE && f->rank != r->rank)
        return;
    f->blame = r->is_fault ? BLAME_FAULT : BLAME_CAUSE;
    f->rank = r->rank;
    f->status = r->status & 255 ? r->status & 255 : 1;
    snprintf(f->text, sizeof(f->text), "rank %d on host %s (pid %lld) %s%s%s", r->rank, host,
             (long long)pid, r->is_fault ? "" : "aborted the job",
             r->why[0] && !r->is_fault ? ": " : "", r->why);
}

void first_failure_lost(struct first_failure *f, enum blame blame, const char *host,
                        const char *text)
{
    if (f->blame >= blame)
        return;
    f->blame = blame;
    f->rank = -1;
    f->status = STATUS_OURS;
    snprintf(f->text, sizeof(f->text), "host %s was lost: %s", host, text);
}

void first_failure_shrunk(struct first_failure *f, int lives, int size, int least)
{
    if (f->blame >= BLAME_FAULT)
        return;
    f->blame = BLAME_FAULT;
    f->rank = -1;
    f->status = STATUS_OURS;
    snprintf(f->text, sizeof(f->text),
             "%d of %d ranks %s left the others, and %d %s not enough (--elastic %d)", size - lives,
             size, size - lives == 1 ? "has" : "have", lives, lives == 1 ? "is" : "are", least);
}

void first_failure_killed(struct first_failure *f, const char *text)
{
    f->is_killed = true;
    /* A batch system ends the ranks and the agent at the same time. */
    if (f->blame >= BLAME_CAUSE && f->status != STATUS_SIGNAL + SIGTERM)
        return;
    f->blame = BLAME_CAUSE;
    f->rank = -1;
    f->status = STATUS_SIGNAL + SIGTERM;
    snprintf(f->text, sizeof(f->text), "%s", text);
}
