/* SPDX-License-Identifier: MIT */
#include "launcher/wire/channel/command_channel.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/quiet_thread.h"
#include "common/text/signal_text.h"
#include "launcher/base/process/last_words.h"
#include "launcher/base/process/pidfd_linux.h"
#include "launcher/base/process/stream_child.h"
#include "launcher/base/text/command_words.h"
#include "launcher/base/text/program_path.h"
#include "launcher/base/text/text_file.h"
#include "launcher/wire/channel/channel_ops.h"
#include "launcher/wire/channel/srun_command.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    START_MS = 60000,   /* for the agent's first byte: Slurm may have a prolog to run */
    EXIT_WAIT_MS = 500, /* from the end of the socket to the command's exit */
};

struct command_channel {
    struct channel base;
    const struct channel_config *config;
    channel_ready_fn *ready;
    void *arg;
    char **argv;        /* owned; argv[0] is a path */
    char **environment; /* owned, the strings are environ's */
    const char *agent;
    struct stream_child child;
    int process; /* a pidfd */
    int wake;    /* eventfd: the channel is being closed */
    pthread_t thread;
    pthread_mutex_t lock; /* for what follows */
    pthread_cond_t ended;
    struct last_words words;
    bool has_ended;
    int status; /* as waitpid gives it, once has_ended */
};

/* The command's end as a sentence with its remedy. */
static void end_describe(struct command_channel *c, bool has_begun, char *text, size_t size)
{
    const char *name = strrchr(c->argv[0], '/') + 1;
    char words[256], how[64];
    int status = WIFEXITED(c->status) ? WEXITSTATUS(c->status) : -1;
    const char *signal = status < 0 ? signal_text_name(WTERMSIG(c->status)) : NULL;

    last_words_line(&c->words, words, sizeof(words));
    if (signal)
        snprintf(how, sizeof(how), "was killed by SIG%s", signal);
    else if (status < 0) /* real-time signals have no name */
        snprintf(how, sizeof(how), "was killed by signal %d", WTERMSIG(c->status));
    else
        snprintf(how, sizeof(how), "ended with status %d", status);
    if (status == AGENT_EXIT_NOT_OURS)
        snprintf(text, size,
                 "%s, as %s starts it there, is another build than this mlaunch (%s): install the "
                 "same, or name its place with --agent",
                 c->agent, name, c->config->build);
    else if (has_begun)
        snprintf(text, size, "%s, which had started its agent, %s%s%s", name, how,
                 *words ? "; end of its standard error: " : "", words);
    else
        snprintf(text, size,
                 "%s %s and started no agent%s%s; it needs %s of this build there (--agent names "
                 "another place)",
                 name, how, *words ? "; it said: " : "", words, c->agent);
}

/* Waits for an event on `fd` or from the command, whose stderr it reads. False: the command has
 * ended, the channel is being closed, or the deadline (-1: none) has passed. */
static bool command_await(struct command_channel *c, int fd, int64_t deadline_ms)
{
    struct pollfd p[] = {{.fd = c->wake, .events = POLLIN},
                         {.fd = c->process, .events = POLLIN},
                         {.fd = c->child.errors, .events = POLLIN},
                         {.fd = fd, .events = POLLIN}};
    bool more;

    if (poll(p, 4, deadline_ms < 0 ? -1 : clock_left_ms(deadline_ms)) < 0)
        return errno == EINTR;
    if (p[2].revents) {
        pthread_mutex_lock(&c->lock);
        more = last_words_read(&c->words, c->child.errors);
        pthread_mutex_unlock(&c->lock);
        if (!more) {
            close(c->child.errors);
            c->child.errors = -1;
        }
    }
    if (p[0].revents || p[1].revents)
        return false;
    return deadline_ms < 0 || clock_left_ms(deadline_ms) > 0;
}

static void command_reap(struct command_channel *c)
{
    int status = 0;

    while (waitpid(c->child.pid, &status, 0) < 0 && errno == EINTR)
        ;
    pthread_mutex_lock(&c->lock);
    last_words_read(&c->words, c->child.errors);
    c->child.pid = 0;
    c->status = status;
    c->has_ended = true;
    pthread_cond_broadcast(&c->ended);
    pthread_mutex_unlock(&c->lock);
}

static bool command_has_ended(const struct command_channel *c)
{
    struct pollfd p = {.fd = c->process, .events = POLLIN};

    return poll(&p, 1, 0) > 0;
}

/* Waits for the agent's first byte and leaves it in the socket, for the supervisor to read. */
static int agent_await(struct command_channel *c, struct fault *why)
{
    int64_t deadline_ms = clock_ms() + START_MS;
    char first[64], shown[TEXT_SHOWN], text[sizeof(why->text)];
    bool more = true;
    ssize_t n;

    while ((n = recv(c->base.fd, first, sizeof(first) - 1, MSG_PEEK | MSG_DONTWAIT)) < 0 && more)
        more = command_await(c, c->base.fd, deadline_ms);
    if (n > 0 && (unsigned char)first[0] <= AGENT_FIRST_BYTE_MAX)
        return 0;
    if (n > 0) {
        first[n] = '\0';
        first[strcspn(first, "\n")] = '\0';
        return fault_set(why, ML_ERR_REFUSED,
                         "%s writes to its standard output, where only the agent may: '%s'",
                         c->argv[0], text_show(shown, first));
    }
    if (n == 0) /* its stdout is closed: it will end in a moment */
        while (command_await(c, -1, deadline_ms) &&
               clock_left_ms(deadline_ms) > START_MS - EXIT_WAIT_MS)
            ;
    if (!command_has_ended(c))
        return fault_set(why, ML_ERR_TIMEOUT, "%s has started no agent within %d s", c->argv[0],
                         START_MS / 1000);
    command_reap(c);
    end_describe(c, false, text, sizeof(text));
    return fault_set(why, ML_ERR_REFUSED, "%s", text);
}

/* Drops what the command has written to stderr before its agent spoke, such as srun's complaint
 * about a missing plugin: that does not explain an end that comes later. */
static void start_words_forget(struct command_channel *c)
{
    pthread_mutex_lock(&c->lock);
    last_words_read(&c->words, c->child.errors);
    c->words.size = 0;
    pthread_mutex_unlock(&c->lock);
}

static void *command_run(void *arg)
{
    struct command_channel *c = arg;
    struct fault why = {0};
    int rc = agent_await(c, &why);

    if (!rc)
        start_words_forget(c);
    c->ready(&c->base, &why, c->arg);
    while (!rc && command_await(c, -1, -1))
        ;
    if (c->child.pid && command_has_ended(c)) {
        command_reap(c);
        /* What has arrived can still be read. An agent that outlives its command, as one behind
         * nsenter does, gets its end of file now. */
        shutdown(c->base.fd, SHUT_RDWR);
    }
    return NULL;
}

static void command_exit_reason(struct channel *base, char *text, size_t size)
{
    struct command_channel *c = (struct command_channel *)base;
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += EXIT_WAIT_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&c->lock);
    while (!c->has_ended && pthread_cond_timedwait(&c->ended, &c->lock, &until) == 0)
        ;
    if (c->has_ended)
        end_describe(c, true, text, size);
    else
        snprintf(text, size, "%s has closed the channel to its agent", c->argv[0]);
    pthread_mutex_unlock(&c->lock);
}

static void command_free(struct command_channel *c)
{
    if (c->process >= 0)
        close(c->process);
    if (c->wake >= 0)
        close(c->wake);
    pthread_cond_destroy(&c->ended);
    pthread_mutex_destroy(&c->lock);
    strings_free(c->argv);
    free(c->environment);
    free(c);
}

/* The end of the socket ends the agent. A command that stays nevertheless is ended together with
 * its process group. */
static void command_close(struct channel *base)
{
    struct command_channel *c = (struct command_channel *)base;

    eventfd_write(c->wake, 1);
    pthread_join(c->thread, NULL);
    if (c->child.pid) {
        stream_child_end(&c->child);
    } else {
        close(c->child.fd);
        if (c->child.errors >= 0)
            close(c->child.errors);
    }
    command_free(c);
}

static const struct channel_ops command_ops = {command_exit_reason, command_close};

/* The words of the command, followed by the agent's path and arguments. */
static int argv_make(struct command_channel *c, const struct host *host, struct fault *why)
{
    const struct text_gap gaps[] = {{"{host}", host->name}, {NULL, NULL}};
    struct string_list words = {0};
    char *path = NULL;
    int rc;

    c->agent = c->config->agent ? c->config->agent : c->config->local_agent;
    rc = host->launch_method == LAUNCH_METHOD_SRUN
             ? srun_command_words(&words, host, environ, why)
             : command_words_fill(&words, c->config->command, gaps, why);
    if (!rc)
        rc = string_list_add(&words, c->agent, why);
    if (!rc)
        rc = string_list_add(&words, "--build", why);
    if (!rc)
        rc = string_list_add(&words, c->config->build, why);
    if (!rc)
        rc = program_path_find(&path, words.items[0], why);
    if (!rc) {
        free(words.items[0]);
        words.items[0] = path;
        rc = string_list_release(&words, &c->argv, why);
    }
    if (!rc && host->launch_method == LAUNCH_METHOD_SRUN)
        rc = srun_command_environment(&c->environment, environ, why);
    string_list_clear(&words);
    return rc;
}

static void command_log(const struct command_channel *c)
{
    char line[1024] = "";
    size_t used = 0;

    for (char *const *word = c->argv; *word && used < sizeof(line); word++)
        used += (size_t)snprintf(line + used, sizeof(line) - used, " %s", *word);
    log_debug("pid %d runs%s", (int)c->child.pid, line);
}

static int command_start(struct command_channel *c, struct fault *why)
{
    int rc = stream_child_start(&c->child, c->argv, c->environment ? c->environment : environ, true,
                                why),
        err;

    if (rc)
        return rc;
    command_log(c);
    c->base.fd = c->child.fd;
    c->process = pidfd_linux_open(c->child.pid);
    c->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    err = c->process < 0 || c->wake < 0 ? errno : quiet_thread_start(&c->thread, 0, command_run, c);
    if (!err)
        return 0;
    stream_child_end(&c->child);
    return fault_os(why, ML_ERR_SYSTEM, err, "cannot open a channel");
}

int command_channel_open(struct channel **out, const struct host *host,
                         const struct channel_config *config, channel_ready_fn *ready, void *arg,
                         struct fault *why)
{
    struct command_channel *c = calloc(1, sizeof(*c));
    int rc;

    if (!c)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    *c = (struct command_channel){.base = {&command_ops, -1},
                                  .config = config,
                                  .ready = ready,
                                  .arg = arg,
                                  .process = -1,
                                  .wake = -1};
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->ended, NULL);
    rc = argv_make(c, host, why);
    *out = &c->base; /* before the thread may use it */
    if (!rc)
        rc = command_start(c, why);
    if (rc) {
        *out = NULL;
        command_free(c);
    }
    return rc;
}
