/* SPDX-License-Identifier: MIT */
/*
 * remote_channel.c: the channel to an agent over SSH, and the table that mlaunch-ssh.so exports
 * (module_channel.h). One thread for each host does one step after the other, in remote_*.c:
 * configuration, connection, host key, login, agent; then it pumps bytes until the end. Each of its
 * waits also waits for `wake`, with which channel_close ends it.
 */
#include "common/build_id.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/quiet_thread.h"
#include "launcher/wire/channel/channel_ops.h"
#include "launcher/wire/channel/module_channel.h"
#include "launcher/wire/protocol/agent_end.h"
#include "launcher/wire/ssh/reach/remote_share.h"
#include "launcher/wire/ssh/remote_agent.h"
#include "launcher/wire/ssh/remote_host_key.h"
#include "launcher/wire/ssh/remote_login.h"
#include "launcher/wire/ssh/remote_pump.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

struct remote_channel {
    struct channel base;
    const struct host *host;
    const struct channel_config *config;
    channel_ready_fn *ready;
    void *arg;
    int wake;   /* eventfd: the channel is being closed */
    int far_fd; /* the thread's end of the socketpair */
    pthread_t thread;
    pthread_mutex_t lock;
    char exit_reason[512]; /* under lock; "" until the end */
};

static void step_log(const struct remote_channel *c, const char *step, int64_t *since_ns)
{
    int64_t now_ns = clock_ns();

    log_debug("%s: %s after %.1f ms", c->host->name, step, (double)(now_ns - *since_ns) / 1e6);
    *since_ns = now_ns;
}

/* Everything up to the agent's first byte. */
static int channel_establish(struct remote_channel *c, struct remote_config **config,
                             struct remote_session *s, struct remote_agent *a, struct fault *why)
{
    struct remote_wait wait = {c->wake, clock_ms() + c->config->connect_timeout_ms};
    int64_t since_ns = clock_ns();
    const char *file = c->host->ssh_config ? c->host->ssh_config : c->config->ssh_config;
    int rc = remote_share_config(config, c->host, file, &wait, why);

    if (rc)
        return rc;
    step_log(c, "ssh_config read", &since_ns);
    rc = remote_session_open(s, *config, &wait, why);
    if (rc)
        return rc;
    step_log(c, "connected, keys exchanged", &since_ns);
    rc = remote_host_key_check(s->ssh, *config, &wait, why);
    if (!rc)
        rc = remote_login(s, why);
    if (rc)
        return rc;
    step_log(c, "logged in", &since_ns);
    rc = remote_agent_start(a, s, c->config, why);
    if (!rc)
        step_log(c, "agent started", &since_ns);
    return rc;
}

/* Stores what channel_exit_reason will return. */
static void exit_reason_write(struct remote_channel *c, struct remote_agent *a, int rc,
                              const struct fault *why)
{
    char words[1024], text[sizeof(c->exit_reason)];

    if (rc == 0) {
        remote_command_reap(&a->command);
        last_words_line(&a->command.words, words, sizeof(words));
        agent_end_describe(text, sizeof(text), a->command.status,
                           *a->command.signal ? a->command.signal : NULL, words);
    }
    pthread_mutex_lock(&c->lock);
    snprintf(c->exit_reason, sizeof(c->exit_reason), "%s", rc ? why->text : text);
    pthread_mutex_unlock(&c->lock);
}

static void *channel_run(void *arg)
{
    struct remote_channel *c = arg;
    struct remote_config *config = NULL;
    struct remote_session session = {.socket = {.fd = -1}};
    struct remote_agent agent = {.first_size = 0};
    struct fault why = {0};
    int rc = channel_establish(c, &config, &session, &agent, &why);

    if (rc == 0)
        why = (struct fault){0}; /* forget attempts that failed before one succeeded */
    c->ready(&c->base, &why, c->arg);
    if (rc == 0) {
        rc = remote_pump(&agent.command, c->far_fd, agent.first, agent.first_size, &why);
        exit_reason_write(c, &agent, rc, &why);
    }
    shutdown(c->far_fd, SHUT_RDWR);
    remote_agent_close(&agent);
    remote_session_close(&session);
    remote_config_destroy(config);
    return NULL;
}

static void remote_exit_reason(struct channel *base, char *text, size_t size)
{
    struct remote_channel *c = (struct remote_channel *)base;

    pthread_mutex_lock(&c->lock);
    snprintf(text, size, "%s", *c->exit_reason ? c->exit_reason : "the channel has not ended");
    pthread_mutex_unlock(&c->lock);
}

static void channel_free(struct remote_channel *c)
{
    if (c->wake >= 0)
        close(c->wake);
    if (c->base.fd >= 0) {
        close(c->base.fd);
        close(c->far_fd);
    }
    pthread_mutex_destroy(&c->lock);
    free(c);
}

/* `wake` ends every wait of the thread, so joining it takes little time. */
static void remote_close(struct channel *base)
{
    struct remote_channel *c = (struct remote_channel *)base;

    eventfd_write(c->wake, 1);
    pthread_join(c->thread, NULL);
    channel_free(c);
}

static const struct channel_ops remote_ops = {remote_exit_reason, remote_close, true};

static int remote_channel_open(struct channel **out, const struct host *host,
                               const struct channel_config *config, channel_ready_fn *ready,
                               void *arg, struct fault *why)
{
    struct remote_channel *c = calloc(1, sizeof(*c));
    int pair[2], err;

    if (!c)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    *c = (struct remote_channel){
        .base = {&remote_ops, -1}, .host = host, .config = config, .ready = ready, .arg = arg};
    pthread_mutex_init(&c->lock, NULL);
    c->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (c->wake < 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0) {
        err = errno;
        goto fail;
    }
    c->base.fd = pair[0];
    c->far_fd = pair[1];
    *out = &c->base; /* before the thread may use it */
    err = quiet_thread_start(&c->thread, 0, channel_run, c);
    if (!err)
        return 0;
    *out = NULL;
fail:
    channel_free(c);
    return fault_os(why, ML_ERR_SYSTEM, err, "cannot open a channel");
}

__attribute__((visibility("default")))
const struct channel_module mlaunch_ssh_module = {build_id, log_open, log_to, remote_channel_open};
