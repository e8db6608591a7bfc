/* SPDX-License-Identifier: MIT */
#include "launcher/agent/mpi/mpi_apart_linux.h"

#include "launcher/agent/mpi/mpi_program.h"
#include "launcher/base/machine/process_linux.h"

#include <dirent.h>
#include <event2/event.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
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
    PROGRAMS_MOST = 512, /* more than ranks, which may each be in a container of its own */
};

/* What is known of an executable, whose symbols are read once. */
struct apart_program {
    uint64_t name; /* program_name's; 0: unused */
    enum mpi_kind kind;
};

struct mpi_apart {
    struct mpi_apart_config config;
    struct event *timer;
    int next;             /* the rank with which the next look begins */
    int looked_ms, every; /* in ms: how long it has looked, and the time between two looks */
    struct apart_program programs[PROGRAMS_MOST]; /* the last ones */
    int oldest;
    bool has_read; /* one in this look: no turn of the loop reads more */
};

/* What of a job, ours or another launcher's, a process has in its environment. */
struct served {
    bool is_job, by_pmi1, by_pmix;
};

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* False: its environment cannot be read. A rank may run mpirun. */
static bool served_read(struct served *out, pid_t pid)
{
    size_t size;
    char *text = process_environment(pid, &size);
    /* One that does not begin with NAME=VALUE was overwritten, by a title of the process. */
    bool is_read = text && (size == 0 || strchr(text, '='));

    *out = (struct served){0};
    for (const char *at = text; is_read && at < text + size; at += strlen(at) + 1) {
        out->is_job |= begins(at, "MLAUNCH_JOB_DIR=");
        out->by_pmi1 |= begins(at, "PMI_RANK=") || begins(at, "PMI_ID=");
        out->by_pmix |= begins(at, "PMIX_RANK=");
    }
    free(text);
    return is_read;
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

/* A number (FNV-1a) for the path of its executable in its file system: containers may have other
 * files there. Neither link leads to the disk. 0: they cannot be read. */
static uint64_t program_name(pid_t pid)
{
    static const char *const links[] = {"exe", "ns/mnt"};
    uint64_t name = 0xcbf29ce484222325;

    for (size_t i = 0; i < 2; i++) {
        char link[64], target[PATH_MAX];
        ssize_t n;

        snprintf(link, sizeof(link), "/proc/%d/%s", (int)pid, links[i]);
        n = readlink(link, target, sizeof(target));
        if (n <= 0)
            return 0;
        for (ssize_t k = 0; k < n; k++)
            name = (name ^ (uint8_t)target[k]) * 0x100000001b3;
    }
    return name;
}

static const struct apart_program *program_known(const struct mpi_apart *m, uint64_t name)
{
    for (int i = 0; i < PROGRAMS_MOST; i++) {
        if (m->programs[i].name == name)
            return &m->programs[i];
    }
    return NULL;
}

static const struct apart_program *program_read(struct mpi_apart *m, uint64_t name, pid_t pid)
{
    struct apart_program *p = &m->programs[m->oldest];
    char link[64];

    snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
    p->name = name;
    p->kind = mpi_program_of_symbols(link);
    m->oldest = (m->oldest + 1) % PROGRAMS_MOST;
    m->has_read = true;
    return p;
}

/* Which protocol the MPI needs that is linked into the process's program, if it has called
 * MPI_Init. */
static enum mpi_kind linked_find(struct mpi_apart *m, pid_t pid)
{
    uint64_t name = program_name(pid);
    const struct apart_program *p = program_known(m, name);

    if (name == 0 || (p ? p->kind == MPI_KIND_NONE : m->has_read) || !has_initialised(pid))
        return MPI_KIND_NONE;
    if (!p)
        p = program_read(m, name, pid);
    return p->kind;
}

/* `has`: what shows that it is an MPI program. */
static void cut_off_say(char *text, size_t size, const struct process *p, const char *has)
{
    snprintf(text, size,
             "runs an MPI program apart from the job: process %d (%s) has %s, and an environment "
             "without the job's variables, so that it is a world of one. Let sudo, su or env keep "
             "the variables (sudo -E, su without -, env without -i), or permit it by --mpi none",
             (int)p->pid, p->name, has);
}

/* Judges a program that has its MPI in itself. No library is preloaded into one of -static, and
 * none finds the functions of another, so that nobody but the agent sees that it is not served. */
static bool linked_is_apart(struct mpi_apart *m, pid_t pid, const struct served *served, char *text,
                            size_t size)
{
    enum mpi_kind kind = linked_find(m, pid);
    bool is_served = kind == MPI_KIND_PMIX ? served->by_pmix : served->by_pmi1;
    struct process p;
    char has[64];

    if (kind == MPI_KIND_NONE || is_served || !process_read(&p, pid))
        return false;
    snprintf(has, sizeof(has), "%s linked into it", kind == MPI_KIND_PMIX ? "Open MPI" : "MPICH");
    if (served->is_job || served->by_pmi1 || served->by_pmix)
        snprintf(
            text, size,
            "runs an MPI program apart from the job: process %d (%s) has %s, and is not served "
            "by %s, so that it is a world of one. Start the job with --mpi %s, or permit it "
            "by --mpi none",
            (int)pid, p.name, has, kind == MPI_KIND_PMIX ? "PMIx" : "PMI-1",
            kind == MPI_KIND_PMIX ? "pmix" : "pmi1");
    else
        cut_off_say(text, size, &p, has);
    return true;
}

static bool process_is_apart(struct mpi_apart *m, pid_t pid, char *text, size_t size)
{
    struct served served;
    struct process p;
    char library[64];

    if (!served_read(&served, pid) || (served.by_pmi1 && served.by_pmix))
        return false;
    if (served.is_job || served.by_pmi1 || served.by_pmix || !library_find(pid, library))
        return linked_is_apart(m, pid, &served, text, size);
    if (!has_initialised(pid) || !process_read(&p, pid))
        return false;
    cut_off_say(text, size, &p, library);
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
        if (process_is_apart(m, list[i], text, sizeof(text))) {
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
    m->has_read = false;
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
