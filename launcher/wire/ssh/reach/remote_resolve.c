/* SPDX-License-Identifier: MIT */
#include "launcher/wire/ssh/reach/remote_resolve.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* A question and its answer. Two threads hold it; the last one to drop it frees it. */
struct name_question {
    atomic_int holders;
    atomic_bool is_answered; /* status, err and answer are valid; set before `done` is rung */
    int done;                /* eventfd */
    char *name;
    char port[8];
    struct addrinfo hints, *answer;
    int status, err;
};

static void question_drop(struct name_question *q)
{
    if (atomic_fetch_sub(&q->holders, 1) > 1)
        return;
    if (q->answer)
        freeaddrinfo(q->answer);
    if (q->done >= 0)
        close(q->done);
    free(q->name);
    free(q);
}

static void *question_ask(void *arg)
{
    struct name_question *q = arg;

    q->status = getaddrinfo(q->name, q->port, &q->hints, &q->answer);
    q->err = errno;
    atomic_store(&q->is_answered, true);
    eventfd_write(q->done, 1);
    question_drop(q);
    return NULL;
}

static int question_start(struct name_question *q)
{
    pthread_attr_t attributes;
    pthread_t thread;
    int err;

    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    atomic_fetch_add(&q->holders, 1);
    err = pthread_create(&thread, &attributes, question_ask, q);
    if (err)
        atomic_fetch_sub(&q->holders, 1);
    pthread_attr_destroy(&attributes);
    return err;
}

static int answer_judge(struct name_question *q, struct addrinfo **out, struct fault *why)
{
    if (q->status == EAI_SYSTEM)
        return fault_os(why, ML_ERR_SYSTEM, q->err, "cannot look up the name %s", q->name);
    if (q->status)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "unknown host name %s (%s); check the spelling, or give it a HostName in "
                         "ssh_config",
                         q->name, gai_strerror(q->status));
    *out = q->answer;
    q->answer = NULL;
    return 0;
}

int remote_resolve(struct addrinfo **out, const char *name, int port, int family,
                   const struct remote_wait *w, struct fault *why)
{
    struct name_question *q = calloc(1, sizeof(*q));
    int rc = 0, err;

    if (!q)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    atomic_init(&q->holders, 1);
    q->done = eventfd(0, EFD_CLOEXEC);
    q->name = strdup(name);
    snprintf(q->port, sizeof(q->port), "%d", port);
    q->hints = (struct addrinfo){.ai_family = family,
                                 .ai_socktype = SOCK_STREAM,
                                 .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    /* A numeric address needs no name server, and so no thread. */
    q->status = q->name ? getaddrinfo(q->name, q->port, &q->hints, &q->answer) : EAI_MEMORY;
    if (q->status == EAI_NONAME && q->done >= 0) {
        q->hints.ai_flags = AI_NUMERICSERV;
        err = question_start(q);
        if (err)
            rc = fault_os(why, ML_ERR_SYSTEM, err, "cannot start a thread");
        else
            rc = remote_wait_for(w, q->done, POLLIN, why);
        if (!rc && !atomic_load(&q->is_answered))
            rc = fault_set(why, ML_ERR_SYSTEM, "the look-up of %s ended without an answer", name);
        if (rc == ML_ERR_TIMEOUT)
            fault_set(why, rc, "the name server gave no answer about %s in time", name);
    }
    if (!rc)
        rc = answer_judge(q, out, why);
    question_drop(q);
    return rc;
}
