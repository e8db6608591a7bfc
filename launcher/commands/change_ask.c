/* SPDX-License-Identifier: MIT */
#include "launcher/commands/change_ask.h"

#include "common/clock.h"
#include "common/failure_times.h"
#include "common/log.h"
#include "common/status.h"
#include "common/text/object_field.h"
#include "common/text/parsed_json.h"
#include "common/text/printable.h"
#include "launcher/ask/register_hosts.h"
#include "launcher/base/machine/job_socket.h"
#include "launcher/base/text/text_file.h"

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { STATUS_NOT_DONE = 1, LINE_MOST = 4096 };

/* A conversation with an mlaunch, which says something every AGENT_HEARTBEAT_MS once it has taken
 * the request. */
struct asked {
    const char *job;
    long long pid;
    int fd;
    int64_t heard_ms; /* when it has said something, clock_ms() */
    bool is_taken, is_warned;
    char line[LINE_MOST];
    size_t used;
};

static void unheard_warn(struct asked *a)
{
    log_warn(
        "job %s: its mlaunch, process %lld, has not answered for %g s: it may be stopped, as by "
        "Ctrl-Z (fg, or kill -CONT %lld, lets it go on)",
        a->job, a->pid, FAILURE_SECONDS(CHANGE_UNHEARD_MS), a->pid);
    a->is_warned = true;
}

static void silence_report(const struct asked *a)
{
    log_error("job %s: its mlaunch, process %lld, has not answered for %g s: %s", a->job, a->pid,
              FAILURE_SECONDS(CHANGE_SILENCE_MS),
              a->is_taken ? "what it was asked for may still be done"
                          : "nothing is changed; ask again when it goes on");
}

/* Waits for bytes. False: there are no more. */
static bool bytes_await(struct asked *a)
{
    struct pollfd p = {a->fd, POLLIN, 0};
    int64_t until_ms = a->heard_ms + (a->is_warned ? CHANGE_SILENCE_MS : CHANGE_UNHEARD_MS);
    ssize_t n;

    if (poll(&p, 1, clock_left_ms(until_ms)) > 0) {
        n = read(a->fd, a->line + a->used, sizeof(a->line) - a->used);
        if (n <= 0)
            log_error("job %s: its mlaunch has ended before it answered", a->job);
        a->used += n > 0 ? (size_t)n : 0;
        a->heard_ms = clock_ms();
        a->is_taken = true;
        return n > 0;
    }
    if (clock_left_ms(until_ms) == 0 && a->is_warned) {
        silence_report(a);
        return false;
    }
    if (clock_left_ms(until_ms) == 0)
        unheard_warn(a);
    return true;
}

/* Prints what the line says, if anything. Returns the status, or -1: it is not the last one. */
static int line_print(const char *job, const char *line, size_t size)
{
    json_t *said = parsed_json(line, size, 0, NULL);
    const char *text = object_field_text(said, "text");
    json_t *ended = json_object_get(said, "status");
    int status = -1;

    if (json_is_integer(ended))
        status = json_integer_value(ended) ? STATUS_NOT_DONE : 0;
    if (status > 0)
        log_error("job %s: %s", job, text);
    else if (*text)
        printable_print("job %s: %s\n", job, text);
    fflush(stdout);
    json_decref(said);
    return status;
}

static int answers_print(struct asked *a)
{
    int status = -1;

    while (status < 0 && a->used < sizeof(a->line) && bytes_await(a)) {
        char *end;

        while (status < 0 && (end = memchr(a->line, '\n', a->used))) {
            status = line_print(a->job, a->line, (size_t)(end - a->line));
            a->used -= (size_t)(end + 1 - a->line);
            memmove(a->line, end + 1, a->used);
        }
    }
    if (status < 0 && a->used == sizeof(a->line))
        log_error("job %s: its mlaunch has said more than %d bytes in one line: it is of another "
                  "version",
                  a->job, LINE_MOST);
    return status < 0 ? STATUS_NOT_DONE : status;
}

static int entry_ask(const struct register_found *f, json_t *request)
{
    struct asked a = {.job = f->entry.file.job,
                      .pid = (long long)f->entry.file.agent_pid,
                      .heard_ms = clock_ms()};
    char *text = json_dumps(request, JSON_COMPACT);
    int status = STATUS_NOT_DONE;
    struct fault why;

    if (!text) {
        log_error("out of memory");
    } else if (job_socket_connect(&a.fd, f, &why)) {
        log_error("%s", why.text);
    } else {
        /* Short, so the socket takes it. What fails shows when the answer is read. */
        send(a.fd, text, strlen(text), MSG_NOSIGNAL);
        send(a.fd, "\n", 1, MSG_NOSIGNAL);
        status = answers_print(&a);
        close(a.fd);
    }
    free(text);
    return status;
}

int change_ask(const char *job, json_t *request)
{
    const struct register_found *f = NULL;
    struct register_list here = {0};
    int status = STATUS_NOT_DONE;
    char shown[TEXT_SHOWN];
    struct fault why;

    if (job_register_list(&here, user_directory_base(), &why) ||
        register_hosts_only(&f, &here, job, &why))
        log_error("%s", why.text);
    else if (!f)
        log_error("no mlaunch of yours on this machine has a job %s; a job is changed where its "
                  "mlaunch runs, and mlaunch ps lists those",
                  text_show(shown, job));
    else
        status = entry_ask(f, request);
    job_register_list_clear(&here);
    json_decref(request);
    return status;
}
