/* SPDX-License-Identifier: MIT */
/*
 * fabric_main.c: standin-fabric PROFILE DIR: a test network for the stand-in of libibverbs.
 *
 * It makes the network's files and sockets below DIR, an empty folder, prints "ready", and serves
 * until SIGTERM or SIGINT comes or its standard input ends, a pipe, socket or terminal; then it
 * removes what it has made. Status 0; 1 if it cannot go on; 2 if it refuses PROFILE or DIR.
 */
#include "common/fault.h"
#include "rdma/standin/fabric/contexts.h"
#include "rdma/standin/fabric/control.h"
#include "rdma/standin/fabric/folder.h"
#include "rdma/standin/fabric/sysfs_tree.h"
#include "rdma/standin/profile/profile_file.h"

#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { STATUS_FAILED = 1, STATUS_REFUSED = 2, COUNTERS_MS = 50 };

struct fabric {
    const char *dir;
    struct profile *profile;
    struct ports *ports;
    struct event_base *base;
    struct event *on_term, *on_interrupt, *on_input, *on_tick;
    struct sysfs_tree *tree;
    struct contexts *contexts;
    struct control *control;
    struct fault failure; /* after it has begun to serve */
};

/* --- events ----------------------------------------------------------------------------------- */

static void on_signal(evutil_socket_t signal, short what, void *arg)
{
    struct fabric *f = arg;

    (void)signal;
    (void)what;
    event_base_loopbreak(f->base);
}

static void on_input(evutil_socket_t fd, short what, void *arg)
{
    struct fabric *f = arg;
    char ignored[256];
    ssize_t n = read(fd, ignored, sizeof(ignored));

    (void)what;
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        event_base_loopbreak(f->base);
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
    struct fabric *f = arg;

    (void)fd;
    (void)what;
    if (sysfs_tree_write_counters(f->tree, &f->failure))
        event_base_loopbreak(f->base);
}

/* The files of all first: a program that gets an event may read them, and so may one at the other
 * end of the cable that hears of it from that program. */
static void on_change(void *arg, const struct ports_change *changes, int count)
{
    struct fabric *f = arg;

    for (int i = 0; i < count; i++) {
        if (sysfs_tree_write_port(f->tree, changes[i].port, &f->failure))
            event_base_loopbreak(f->base);
    }
    for (int i = 0; i < count; i++)
        contexts_tell(f->contexts, changes[i].port, changes[i].event);
}

/* --- begin and end ---------------------------------------------------------------------------- */

/* Each context takes two descriptors. */
static void descriptors_allow(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit))
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* What libevent says is in the sentences here. */
static void on_words(int severity, const char *text)
{
    (void)severity;
    (void)text;
}

static int events_open(struct fabric *f, struct fault *why)
{
    const struct timeval tick = {.tv_usec = COUNTERS_MS * 1000};

    event_set_log_callback(on_words);
    f->base = event_base_new();
    if (!f->base)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    f->on_term = evsignal_new(f->base, SIGTERM, on_signal, f);
    f->on_interrupt = evsignal_new(f->base, SIGINT, on_signal, f);
    f->on_tick = event_new(f->base, -1, EV_PERSIST, on_tick, f);
    f->on_input = event_new(f->base, STDIN_FILENO, EV_READ | EV_PERSIST, on_input, f);
    if (!f->on_term || !f->on_interrupt || !f->on_tick || !f->on_input ||
        event_add(f->on_term, NULL) || event_add(f->on_interrupt, NULL) ||
        event_add(f->on_tick, &tick))
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (event_add(f->on_input, NULL))
        return fault_set(why, ML_ERR_ARGUMENT,
                         "standard input has to be a pipe, a socket or a terminal, whose end ends "
                         "the fabric");
    return 0;
}

static int fabric_open(struct fabric *f, const char *profile, struct fault *why)
{
    struct control_of of;
    int rc = profile_file_read(&f->profile, profile, why);

    if (!rc)
        rc = folder_check_empty(f->dir, why);
    if (!rc)
        rc = events_open(f, why);
    if (!rc)
        rc = ports_open(&f->ports, f->profile, why);
    if (!rc)
        rc = sysfs_tree_open(&f->tree, f->ports, f->dir, why);
    if (!rc)
        rc = contexts_open(&f->contexts, f->base, f->ports, f->dir, f->profile->network.seed, why);
    if (rc)
        return rc;
    f->ports->on_change = on_change;
    f->ports->arg = f;
    of = (struct control_of){f->base, f->ports, f->contexts, f->tree};
    return control_open(&f->control, &of, f->dir, why);
}

static void event_end(struct event *e)
{
    if (e)
        event_free(e);
}

static void fabric_close(struct fabric *f)
{
    control_close(f->control);
    contexts_close(f->contexts);
    sysfs_tree_close(f->tree);
    ports_close(f->ports);
    profile_file_close(f->profile);
    event_end(f->on_term);
    event_end(f->on_interrupt);
    event_end(f->on_tick);
    event_end(f->on_input);
    if (f->base)
        event_base_free(f->base);
}

static int fabric_serve(struct fabric *f)
{
    const char *failure;

    printf("ready\n");
    if (fflush(stdout)) {
        fprintf(stderr, "standin-fabric: cannot write to standard output: %s\n", strerror(errno));
        return STATUS_FAILED;
    }
    event_base_dispatch(f->base);
    failure = f->failure.code ? f->failure.text : contexts_failure(f->contexts);
    if (!*failure)
        return 0;
    fprintf(stderr, "standin-fabric: %s\n", failure);
    return STATUS_FAILED;
}

int main(int argc, char **argv)
{
    struct fabric f = {0};
    struct fault why = {0};
    int status;

    if (argc != 3) {
        fprintf(stderr, "usage: standin-fabric PROFILE DIR\n");
        return STATUS_REFUSED;
    }
    f.dir = argv[2];
    signal(SIGPIPE, SIG_IGN);
    descriptors_allow();
    if (fabric_open(&f, argv[1], &why)) {
        fprintf(stderr, "standin-fabric: %s\n", why.text);
        status = why.code == ML_ERR_ARGUMENT ? STATUS_REFUSED : STATUS_FAILED;
    } else {
        status = fabric_serve(&f);
    }
    fabric_close(&f);
    return status;
}
