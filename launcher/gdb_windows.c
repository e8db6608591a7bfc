/* SPDX-License-Identifier: MIT */
#include "launcher/gdb_windows.h"

#include "common/log.h"
#include "launcher/base/process/install_path.h"
#include "launcher/base/text/string_list.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A window stays until its user has read why the debugger could not begin. */
static char keeper[] = "\"$@\" || { printf 'The debugger has ended with status %s; Enter closes "
                       "this window. ' $?; read -r line; }";

static int option_add(struct string_list *l, const char *name, const char *value, struct fault *why)
{
    if (!value)
        return 0;
    return string_list_add(l, name, why) ? why->code : string_list_add(l, value, why);
}

/* mlaunch attach, with the options by which this mlaunch has found the hosts. */
static int attach_words(struct string_list *l, const struct gdb_windows *w, int rank,
                        struct fault *why)
{
    static const char *const launchers[] = {NULL, "ssh", "srun", "command"};
    const struct options *o = w->options;
    char self[PATH_MAX], number[16];

    if (install_path_find(self, INSTALL_MLAUNCH, why))
        return why->code;
    snprintf(number, sizeof(number), "%d", rank);
    if (string_list_add(l, self, why) || string_list_add(l, "attach", why) ||
        option_add(l, "-H", o->hosts, why) || option_add(l, "--hostfile", o->hostfile, why) ||
        option_add(l, "--ssh-config", o->ssh_config, why) ||
        option_add(l, "--agent", o->agent, why) ||
        option_add(l, "--agent-launcher", launchers[o->agent_launcher], why) ||
        option_add(l, "--agent-command", o->agent_command, why) || string_list_add(l, w->id, why) ||
        option_add(l, number, "--", why))
        return why->code;
    /* gdb would stop once more for the signal that has held the rank. */
    if (option_add(l, "gdb", "-iex", why) ||
        option_add(l, "handle SIGSTOP nostop noprint nopass", "-p", why))
        return why->code;
    return string_list_add(l, "{pid}", why);
}

/* Runs tmux, which only passes the command on to its server. */
static int tmux_run(char **argv, struct fault *why)
{
    int status, err;
    pid_t pid;

    err = posix_spawnp(&pid, "tmux", NULL, NULL, argv, environ);
    if (err)
        return fault_os(why, ML_ERR_SYSTEM, err, "cannot run tmux");
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR)
            return fault_os(why, ML_ERR_SYSTEM, errno, "cannot wait for tmux");
    }
    return status == 0 ? 0 : fault_set(why, ML_ERR_SYSTEM, "tmux did not open a window");
}

/* The window of one rank: in the user's own session, or in one of the job's, which the first window
 * makes. */
static int window_open(const struct gdb_windows *w, const char *session, int rank, bool is_first,
                       struct fault *why)
{
    bool is_inside = getenv("TMUX") != NULL;
    struct string_list l = {0};
    char title[32];
    int rc;

    snprintf(title, sizeof(title), "rank %d", rank);
    rc = option_add(&l, "tmux", is_inside || !is_first ? "new-window" : "new-session", why);
    if (!rc && !is_inside)
        rc = option_add(&l, is_first ? "-s" : "-t", session, why);
    if (!rc)
        rc = option_add(&l, "-d", "-n", why);
    if (!rc)
        rc = option_add(&l, title, "sh", why);
    if (!rc)
        rc = option_add(&l, "-c", keeper, why);
    if (!rc)
        rc = string_list_add(&l, "sh", why);
    if (!rc)
        rc = attach_words(&l, w, rank, why);
    if (!rc)
        rc = tmux_run(l.items, why);
    string_list_clear(&l);
    return rc;
}

static void windows_open(struct gdb_windows *w)
{
    bool is_first = !w->has_begun;
    char session[128];
    struct fault why;

    snprintf(session, sizeof(session), "mlaunch-%s", w->id);
    for (int r = 0; r < w->plan->where->size; r++) {
        if (!rank_set_has(&w->plan->gdb_ranks, r))
            continue;
        if (window_open(w, session, r, is_first, &why)) {
            log_error("--gdb: rank %d waits for a debugger, but has none: %s", r, why.text);
            return;
        }
        is_first = false;
    }
    if (!getenv("TMUX") && !w->has_begun)
        fprintf(stderr, "mlaunch: the debuggers' windows are in tmux: tmux attach -t %s\n",
                session);
    w->has_begun = true;
}

static void server_say(const struct gdb_windows *w)
{
    for (int r = 0; r < w->plan->where->size; r++) {
        if (rank_set_has(&w->plan->gdb_ranks, r))
            fprintf(stderr,
                    "mlaunch: rank %d on host %s waits for gdb at the port that its gdbserver "
                    "prints: mlaunch attach %s %d -- gdb -ex 'target remote :PORT'\n",
                    r, plan_host(w->plan, w->plan->where->ranks[r].host)->name, w->id, r);
    }
}

static void on_started(void *arg)
{
    struct gdb_windows *w = arg;

    if (w->plan->gdb == GDB_WINDOWS)
        windows_open(w);
    else
        server_say(w);
}

struct job_config gdb_windows_config(struct gdb_windows *w)
{
    return (struct job_config){.on_started = on_started, .arg = w};
}
