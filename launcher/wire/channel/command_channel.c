/* SPDX-License-Identifier: MIT */
#include "launcher/wire/channel/command_channel.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/quiet_thread.h"
#include "launcher/base/process/pidfd_linux.h"
#include "launcher/base/process/stream_child.h"
#include "launcher/base/text/text_file.h"
#include "launcher/wire/channel/agent_command.h"
#include "launcher/wire/channel/channel_ops.h"
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
    channel_ready_fn *ready;
    void *arg;
    struct agent_command command;
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

static void end_describe(struct command_channel *c, bool has_begun, char *text, size_t size)
{
    agent_command_describe(&c->command, c->status, has_begun, &c->words, text, size);
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
                         c->command.argv[0], text_show(shown, first));
    }
    if (n == 0) /* its stdout is closed: it will end in a moment */
        while (command_await(c, -1, deadline_ms) &&
               clock_left_ms(deadline_ms) > START_MS - EXIT_WAIT_MS)
            ;
    if (!command_has_ended(c))
        return fault_set(why, ML_ERR_TIMEOUT, "%s has started no agent within %d s",
                         c->command.argv[0], START_MS / 1000);
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
        snprintf(text, size, "%s has closed the channel to its agent", c->command.argv[0]);
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
    agent_command_clear(&c->command);
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

static const struct channel_ops command_ops = {command_exit_reason, command_close, true};

static int command_start(struct command_channel *c, struct fault *why)
{
    const struct agent_command *m = &c->command;
    int rc = stream_child_start(&c->child, m->argv, m->environment ? m->environment : environ, true,
                                why),
        err;

    if (rc)
        return rc;
    agent_command_log(m, (int)c->child.pid);
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
    *c = (struct command_channel){
        .base = {&command_ops, -1}, .ready = ready, .arg = arg, .process = -1, .wake = -1};
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->ended, NULL);
    rc = agent_command_make(&c->command, &host, 1, config, NULL, why);
    *out = &c->base; /* before the thread may use it */
    if (!rc)
        rc = command_start(c, why);
    if (rc) {
        *out = NULL;
        command_free(c);
    }
    return rc;
}
