/* SPDX-License-Identifier: MIT */
#include "runtime/world/stop_mark_map.h"

#include "common/agent_to_rank.h"
#include "runtime/process/file_room.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

typedef _Atomic uint32_t stop_word;

static struct {
    pthread_mutex_t lock;    /* while it is mapped */
    stop_word *_Atomic word; /* stays mapped until the process ends */
} mark = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Its page is allocated here: a look at one that the file system has no room for would end the
 * process. */
static stop_word *file_map(const char *path)
{
    void *at = MAP_FAILED;
    int fd = open(path, STOP_MARK_FLAGS, 0600), error;

    if (fd < 0)
        return NULL;
    error = file_room_take(fd, 0, sizeof(stop_word));
    if (!error)
        at = mmap(NULL, sizeof(stop_word), PROT_READ, MAP_SHARED, fd, 0);
    error = at == MAP_FAILED && !error ? errno : error;
    close(fd);
    errno = error;
    return at == MAP_FAILED ? NULL : at;
}

static stop_word *mark_map(const char *dir, struct fault *why)
{
    char path[PATH_MAX + sizeof(STOP_MARK_FILE)];
    stop_word *word;

    snprintf(path, sizeof(path), "%s/" STOP_MARK_FILE, dir);
    pthread_mutex_lock(&mark.lock);
    word = atomic_load_explicit(&mark.word, memory_order_relaxed);
    if (!word) {
        word = file_map(path);
        if (!word)
            fault_os(why, ML_ERR_SYSTEM, errno,
                     "cannot map %s, by which a rank hears that its job is to stop", path);
        atomic_store_explicit(&mark.word, word, memory_order_release);
    }
    pthread_mutex_unlock(&mark.lock);
    return word;
}

int stop_mark_map_read(const char *dir, struct fault *why)
{
    stop_word *word = atomic_load_explicit(&mark.word, memory_order_acquire);

    if (!word)
        word = mark_map(dir, why);
    return word ? atomic_load_explicit(word, memory_order_relaxed) != 0 : ML_ERR_SYSTEM;
}
