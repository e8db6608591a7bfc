/* SPDX-License-Identifier: MIT */
#include "launcher/pmix/main_queue.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One for the process: most callbacks of libpmix carry no argument of ours. */
static struct {
    pthread_mutex_t lock; /* for the list */
    struct main_queue_item *first, **last;
    int pipe[2];
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .last = &queue.first};

int main_queue_open(struct fault *why)
{
    return pipe2(queue.pipe, O_CLOEXEC | O_NONBLOCK)
               ? fault_os(why, ML_ERR_SYSTEM, errno, "cannot make a pipe")
               : 0;
}

int main_queue_fd(void)
{
    return queue.pipe[0];
}

int main_queue_send(const struct main_queue_item *item, const void *bytes, size_t size)
{
    struct main_queue_item *copy = malloc(sizeof(*copy));

    if (!copy)
        return ML_ERR_MEMORY;
    *copy = *item;
    copy->next = NULL;
    copy->bytes = size ? malloc(size) : NULL;
    copy->size = size;
    if (size && !copy->bytes) {
        free(copy);
        return ML_ERR_MEMORY;
    }
    if (size)
        memcpy(copy->bytes, bytes, size);
    pthread_mutex_lock(&queue.lock);
    *queue.last = copy;
    queue.last = &copy->next;
    pthread_mutex_unlock(&queue.lock);
    (void)!write(queue.pipe[1], "", 1); /* a full pipe wakes the loop as well */
    return 0;
}

struct main_queue_item *main_queue_take(void)
{
    char wakes[64];
    struct main_queue_item *item;

    pthread_mutex_lock(&queue.lock);
    item = queue.first;
    if (item) {
        queue.first = item->next;
        if (!queue.first)
            queue.last = &queue.first;
    } else {
        while (read(queue.pipe[0], wakes, sizeof(wakes)) > 0)
            ;
    }
    pthread_mutex_unlock(&queue.lock);
    return item;
}

void main_queue_destroy(struct main_queue_item *item)
{
    free(item->bytes);
    free(item);
}
