/* SPDX-License-Identifier: MIT */
#include "launcher/run/job/host_check.h"

#include "common/text/object_field.h"
#include "common/text/parsed_json.h"
#include "common/text/text_json.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ANSWER_MOST = 16 << 20 };

struct host_check {
    pid_t pid;
    struct evbuffer *answer;
    bool has_ended;
};

/* In the child, which ends with its parent. A signal to the process group ends it at once; after
 * Ctrl-Z, which stops the parent, it goes on, as the agents that it asks do. */
static void child_run(int fd, host_check_finder *find, const struct plan *p, pid_t parent)
{
    static const int defaults[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
    struct fault why = {0};
    struct sigaction was;
    json_t *answer;

    for (size_t i = 0; i < sizeof(defaults) / sizeof(*defaults); i++)
        if (sigaction(defaults[i], NULL, &was) == 0 && was.sa_handler != SIG_IGN)
            signal(defaults[i], SIG_DFL);
    signal(SIGTSTP, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    answer = find(p, &why);
    if (!answer)
        answer = json_pack("{so}", "error", text_json(why.text));
    _exit(json_dumpfd(answer, fd, JSON_COMPACT) ? 1 : 0);
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    struct host_check *c = arg;
    int n = evbuffer_read(c->answer, fd, -1);

    (void)what;
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR) ||
        evbuffer_get_length(c->answer) > ANSWER_MOST)
        c->has_ended = true;
}

static int answer_read(json_t **out, struct host_check *c, struct fault *why)
{
    size_t size = evbuffer_get_length(c->answer);
    json_t *said = parsed_json((const char *)evbuffer_pullup(c->answer, -1), size, 0, NULL);

    if (json_is_array(said)) {
        *out = said;
        return 0;
    }
    fault_set(why, ML_ERR_SYSTEM, "%s",
              said ? object_field_text(said, "error") : "its process has ended without an answer");
    json_decref(said);
    return ML_ERR_SYSTEM;
}

static int check_start(struct host_check *c, int fds[2], host_check_finder *find,
                       const struct plan *p, struct fault *why)
{
    pid_t parent = getpid();

    if (pipe2(fds, O_CLOEXEC | O_NONBLOCK))
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot make a pipe");
    fcntl(fds[1], F_SETFL, 0); /* the child may wait until its answer is read */
    fflush(NULL);
    c->pid = fork();
    if (c->pid == 0)
        child_run(fds[1], find, p, parent);
    if (c->pid < 0)
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot make a process");
    close(fds[1]);
    fds[1] = -1;
    return 0;
}

int host_check_run(json_t **out, host_check_finder *find, const struct plan *p,
                   struct event_base *base, bool (*is_over)(void *arg), void *arg,
                   struct fault *why)
{
    struct host_check c = {.answer = evbuffer_new()};
    struct event *readable = NULL;
    int fds[2] = {-1, -1};
    int rc = c.answer ? check_start(&c, fds, find, p, why)
                      : fault_set(why, ML_ERR_MEMORY, "out of memory");

    *out = NULL;
    if (!rc) {
        readable = event_new(base, fds[0], EV_READ | EV_PERSIST, on_readable, &c);
        if (!readable || event_add(readable, NULL))
            rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    while (!rc && !c.has_ended && !is_over(arg))
        event_base_loop(base, EVLOOP_ONCE);
    if (!rc && c.has_ended)
        rc = answer_read(out, &c, why);
    if (readable)
        event_free(readable);
    if (c.pid > 0) {
        kill(c.pid, SIGKILL); /* it has nothing more to say */
        while (waitpid(c.pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    for (int i = 0; i < 2; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    if (c.answer)
        evbuffer_free(c.answer);
    return rc;
}
