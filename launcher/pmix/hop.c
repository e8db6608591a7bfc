/* SPDX-License-Identifier: MIT */
#include "launcher/pmix/hop.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One for the process: most callbacks of libpmix carry no argument of ours. */
static struct {
    pthread_mutex_t lock; /* of the list */
    struct hop *first, **last;
    int pipe[2];
} hops = {.lock = PTHREAD_MUTEX_INITIALIZER, .last = &hops.first};

int hop_open(struct fault *why)
{
    return pipe2(hops.pipe, O_CLOEXEC | O_NONBLOCK)
               ? fault_os(why, ML_ERR_SYSTEM, errno, "cannot make a pipe")
               : 0;
}

int hop_fd(void)
{
    return hops.pipe[0];
}

int hop_send(const struct hop *h, const void *bytes, size_t size)
{
    struct hop *copy = malloc(sizeof(*copy));

    if (!copy)
        return ML_ERR_MEMORY;
    *copy = *h;
    copy->next = NULL;
    copy->bytes = size ? malloc(size) : NULL;
    copy->size = size;
    if (size && !copy->bytes) {
        free(copy);
        return ML_ERR_MEMORY;
    }
    if (size)
        memcpy(copy->bytes, bytes, size);
    pthread_mutex_lock(&hops.lock);
    *hops.last = copy;
    hops.last = &copy->next;
    pthread_mutex_unlock(&hops.lock);
    (void)!write(hops.pipe[1], "", 1); /* a full pipe wakes the loop as well */
    return 0;
}

struct hop *hop_take(void)
{
    char wakes[64];
    struct hop *h;

    pthread_mutex_lock(&hops.lock);
    h = hops.first;
    if (h) {
        hops.first = h->next;
        if (!hops.first)
            hops.last = &hops.first;
    } else {
        while (read(hops.pipe[0], wakes, sizeof(wakes)) > 0)
            ;
    }
    pthread_mutex_unlock(&hops.lock);
    return h;
}

void hop_destroy(struct hop *h)
{
    free(h->bytes);
    free(h);
}
