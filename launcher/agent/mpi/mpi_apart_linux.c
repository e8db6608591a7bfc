/* SPDX-License-Identifier: MIT */
#include "launcher/agent/mpi/mpi_apart_linux.h"

#include "launcher/base/machine/process_linux.h"

#include <dirent.h>
#include <event2/event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    RANKS_PER_LOOK = 16,
    PROCESSES_MOST = 32, /* below a rank, in one look */
    FIRST_MS = 20,
    OFTEN_MS = 2000, /* that long after the start it is FIRST_MS from look to look */
    LAST_MS = 1000,
};

struct mpi_apart {
    struct mpi_apart_config config;
    struct event *timer;
    int next;             /* the rank with which the next look begins */
    int looked_ms, every; /* in ms: how long it has looked, and the time between two looks */
};

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Whether its environment can be read, and has nothing of a job, ours or another launcher's: a rank
 * may run mpirun. */
static bool is_cut_off(pid_t pid)
{
    static const char *const names[] = {"MLAUNCH_JOB_DIR=", "PMI_RANK=", "PMIX_RANK="};
    size_t size;
    char *text = process_environment(pid, &size);
    /* One that does not begin with NAME=VALUE was overwritten, by a title of the process. */
    bool is = text && (size == 0 || strchr(text, '='));

    for (const char *at = text; at && at < text + size && is; at += strlen(at) + 1) {
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
            is &= !begins(at, names[i]);
    }
    free(text);
    return is;
}

/* Finds the MPI library that it has mapped. False: it has none. */
static bool library_find(pid_t pid, char library[64])
{
    char path[64], *line = NULL;
    bool is_found = false;
    size_t room = 0;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    f = fopen(path, "re");
    while (f && !is_found && getline(&line, &room, f) > 0) {
        const char *name = strrchr(line, '/');

        name = name ? name + 1 : "";
        is_found =
            begins(name, "libmpi.so") || begins(name, "libmpich.so") || begins(name, "libmpi_");
        if (is_found)
            snprintf(library, 64, "%.*s", (int)strcspn(name, " \n"), name);
    }
    free(line);
    if (f)
        fclose(f);
    return is_found;
}

/* Whether it has opened what MPI_Init opens. One socket may be that of PMI, which it inherits. */
static bool has_initialised(pid_t pid)
{
    char path[64], target[64];
    struct dirent *entry;
    bool has_event = false;
    int sockets = 0;
    DIR *dir;

    snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    dir = opendir(path);
    while (dir && (entry = readdir(dir))) {
        ssize_t n = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);

        if (n <= 0 || atoi(entry->d_name) <= STDERR_FILENO)
            continue;
        target[n] = '\0';
        has_event |= begins(target, "anon_inode:");
        sockets += begins(target, "socket:");
    }
    if (dir)
        closedir(dir);
    return has_event || sockets > 1;
}

static bool process_is_apart(pid_t pid, char *text, size_t size)
{
    struct process p;
    char library[64];

    if (!is_cut_off(pid) || !library_find(pid, library) || !has_initialised(pid) ||
        !process_read(&p, pid))
        return false;
    snprintf(text, size,
             "runs an MPI program apart from the job: process %d (%s) has %s, and an environment "
             "without the job's variables, so that it is a world of one. Let sudo, su or env keep "
             "the variables (sudo -E, su without -, env without -i), or permit it by --mpi none",
             (int)pid, p.name, library);
    return true;
}

/* The first `most` processes of the tree below `root`, with it, as far as their first threads have
 * started them. */
static int tree_list(pid_t *list, int most, pid_t root)
{
    int count = 1;

    list[0] = root;
    for (int i = 0; i < count; i++) {
        char path[80];
        int child;
        FILE *f;

        snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)list[i], (int)list[i]);
        f = fopen(path, "re");
        while (f && count < most && fscanf(f, "%d", &child) == 1)
            list[count++] = child;
        if (f)
            fclose(f);
    }
    return count;
}

/* True: the rank was reported. */
static bool rank_look(struct mpi_apart *m, int index)
{
    pid_t list[PROCESSES_MOST], root = m->config.rank_pid(index, m->config.arg);
    int count = root > 0 ? tree_list(list, PROCESSES_MOST, root) : 0;
    char text[400];

    for (int i = 0; i < count; i++) {
        if (process_is_apart(list[i], text, sizeof(text))) {
            m->config.on_found(index, text, m->config.arg);
            return true;
        }
    }
    return false;
}

static void timer_set(struct mpi_apart *m)
{
    struct timeval time;

    if (m->looked_ms >= OFTEN_MS)
        m->every = m->every * 5 / 4 < LAST_MS ? m->every * 5 / 4 : LAST_MS;
    m->looked_ms += m->every;
    time = (struct timeval){m->every / 1000, m->every % 1000 * 1000};
    event_add(m->timer, &time);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct mpi_apart *m = arg;
    int count = m->config.rank_count < RANKS_PER_LOOK ? m->config.rank_count : RANKS_PER_LOOK;

    (void)fd, (void)what;
    for (int i = 0; i < count; i++) {
        int index = m->next;

        m->next = (m->next + 1) % m->config.rank_count;
        if (rank_look(m, index))
            return;
    }
    timer_set(m);
}

int mpi_apart_open(struct mpi_apart **out, const struct mpi_apart_config *config, struct fault *why)
{
    struct mpi_apart *m = calloc(1, sizeof(*m));

    if (!m)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    m->config = *config;
    m->every = FIRST_MS;
    m->timer = evtimer_new(config->base, on_timer, m);
    if (!m->timer) {
        mpi_apart_close(m);
        return fault_set(why, ML_ERR_MEMORY, "out of memory for an event");
    }
    timer_set(m);
    *out = m;
    return 0;
}

void mpi_apart_close(struct mpi_apart *m)
{
    if (m && m->timer)
        event_free(m->timer);
    free(m);
}
