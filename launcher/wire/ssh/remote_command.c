/* SPDX-License-Identifier: MIT */
#include "launcher/wire/ssh/remote_command.h"

#include "config.h"

#include "common/clock.h"

#include <stdio.h>
#include <string.h>

enum { REAP_MS = 500 /* from the end of stdout to the status */ };

/* Asking for the status makes libssh process the packets that have arrived, even after the end of
 * the streams. The question has another name since libssh 0.11, which warns of the old one. */
#ifdef HAVE_SSH_CHANNEL_GET_EXIT_STATE
static void packets_process(ssh_channel channel)
{
    ssh_channel_get_exit_state(channel, NULL, NULL, NULL);
}
#else
static void packets_process(ssh_channel channel)
{
    ssh_channel_get_exit_status(channel);
}
#endif

static void on_exit_status(ssh_session ssh, ssh_channel channel, int status, void *arg)
{
    struct remote_command *c = arg;

    (void)ssh;
    (void)channel;
    c->status = status;
}

static void on_exit_signal(ssh_session ssh, ssh_channel channel, const char *signal, int core,
                           const char *text, const char *language, void *arg)
{
    struct remote_command *c = arg;

    (void)ssh;
    (void)channel;
    (void)core;
    (void)text;
    (void)language;
    snprintf(c->signal, sizeof(c->signal), "%s", signal);
}

/* Opening the session and starting the line each need an answer from sshd. */
static int session_open(struct remote_command *c, struct fault *why)
{
    int answer, rc;

    while ((answer = ssh_channel_open_session(c->channel)) == SSH_AGAIN)
        if ((rc = remote_session_wait(c->session, why)))
            return rc;
    return answer == SSH_OK
               ? 0
               : fault_set(why, remote_session_error(c->session), "its sshd opens no session: %s",
                           ssh_get_error(c->session->ssh));
}

static int line_exec(struct remote_command *c, const char *line, struct fault *why)
{
    int answer, rc;

    while ((answer = ssh_channel_request_exec(c->channel, line)) == SSH_AGAIN)
        if ((rc = remote_session_wait(c->session, why)))
            return rc;
    return answer == SSH_OK
               ? 0
               : fault_set(why, remote_session_error(c->session), "its sshd runs no commands: %s",
                           ssh_get_error(c->session->ssh));
}

int remote_command_start(struct remote_command *c, struct remote_session *s, const char *line,
                         struct fault *why)
{
    int rc;

    *c = (struct remote_command){.session = s, .status = -1};
    c->channel = ssh_channel_new(s->ssh);
    if (!c->channel)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    c->callbacks.userdata = c;
    c->callbacks.channel_exit_status_function = on_exit_status;
    c->callbacks.channel_exit_signal_function = on_exit_signal;
    ssh_callbacks_init(&c->callbacks);
    ssh_set_channel_callbacks(c->channel, &c->callbacks);
    rc = session_open(c, why);
    return rc ? rc : line_exec(c, line, why);
}

static void errors_read(struct remote_command *c)
{
    char bytes[1024];
    int n;

    while ((n = ssh_channel_read_nonblocking(c->channel, bytes, sizeof(bytes), 1)) > 0)
        last_words_add(&c->words, bytes, (size_t)n);
}

static int connection_explain(ssh_session ssh, struct fault *why)
{
    const char *error = ssh_get_error(ssh);

    if (strstr(error, "disconnected"))
        return fault_set(why, ML_ERR_LINK, "the connection was closed there: its sshd has ended");
    return fault_set(why, ML_ERR_LINK, "the connection broke: %s", error);
}

int remote_command_read(struct remote_command *c, char *out, size_t size, struct fault *why)
{
    int n = ssh_channel_read_nonblocking(c->channel, out, (uint32_t)size, 0);

    if (n > 0)
        return n;
    errors_read(c);
    if (ssh_channel_poll(c->channel, 0) > 0) /* it arrived together with stderr's bytes */
        return ssh_channel_read_nonblocking(c->channel, out, (uint32_t)size, 0);
    if (ssh_channel_is_eof(c->channel))
        return REMOTE_COMMAND_ENDED;
    if (n < 0 || !ssh_is_connected(c->session->ssh))
        return connection_explain(c->session->ssh, why);
    return ssh_channel_is_closed(c->channel) ? REMOTE_COMMAND_ENDED : 0;
}

void remote_command_reap(struct remote_command *c)
{
    c->session->wait.deadline_ms = clock_ms() + REAP_MS;
    packets_process(c->channel);
    while (c->status < 0 && !*c->signal && !ssh_channel_is_closed(c->channel) &&
           ssh_is_connected(c->session->ssh)) {
        if (remote_session_wait(c->session, NULL))
            break;
        packets_process(c->channel);
    }
    errors_read(c);
}

void remote_command_close(struct remote_command *c)
{
    if (!c->channel)
        return;
    ssh_remove_channel_callbacks(c->channel, &c->callbacks);
    ssh_channel_free(c->channel);
    c->channel = NULL;
}
