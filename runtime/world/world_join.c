/* SPDX-License-Identifier: MIT */
#include "runtime/world/world_join.h"

#include "common/clock.h"
#include "common/failure_times.h"
#include "common/net/host_table.h"
#include "common/outer_launcher.h"
#include "common/text/number.h"
#include "coordinator/protocol.h"
#include "runtime/call/call.h"
#include "runtime/call/progress.h"
#include "runtime/group/coord_events.h"
#include "runtime/group/door.h"
#include "runtime/group/wait.h"
#include "runtime/group/wait_note.h"
#include "runtime/keep/keep_state.h"
#include "runtime/process/calls_file.h"
#include "runtime/process/claim.h"
#include "runtime/process/counters_file.h"
#include "runtime/process/fork_guard.h"
#include "runtime/process/stdio_guard.h"
#include "runtime/process/thread_linux.h"
#include "runtime/steps/algorithm_table.h"
#include "runtime/transport/shm_rendezvous.h"
#include "runtime/world/agent_above_linux.h"
#include "runtime/world/group_join.h"
#include "runtime/world/membership_join.h"
#include "runtime/world/window_join.h"

#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

enum { LOOK_MS = 1 /* between looks whether another thread has done with the world */ };

/* The process's world. */
static struct {
    pthread_mutex_t lock;          /* held throughout ml_init and ml_finalize */
    struct world *_Atomic current; /* may be read without the lock */
    int users;                     /* ml_init calls without their ml_finalize yet */
    bool eager_is_free; /* the program's first ml_init takes over what --eager's has counted */
    bool has_been;      /* this process has been a member of the job's world */
    _Atomic(const char *) change; /* the call that ends the present world; NULL: none */
} joined = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void world_free(struct world *w)
{
    if (!w)
        return;
    group_leave(w->group);
    while (w->group_count) /* another thread is at the end of ml_group_free */
        poll(NULL, 0, LOOK_MS);
    if (w->door)
        w->door->close(w->door);
    counters_file_close(w->counters);
    calls_file_close(w->calls);
    coord_events_close(w->coord_events);
    claim_release(w->claim);
    fork_guard_stop();
    for (int i = 0; i < w->hosts && w->host_names; i++)
        free(w->host_names[i]);
    free(w->host_names);
    for (int i = 0; i < w->old_names.count; i++)
        free(w->old_names.list[i]);
    free(w->old_names.list);
    free(w->host_of);
    free(w->change.left);
    free(w->change.came);
    keep_state_free(w->keep);
    free(w->has_come);
    sodium_memzero(w->secret, sizeof(w->secret));
    free(w);
}

/* Copies the hosts' names. */
static int world_set_hosts(struct world *w, const char *const *names, int hosts)
{
    w->hosts_most = hosts + (w->job.elastic ? JOB_GROW_MOST : 0);
    w->host_names = calloc((size_t)w->hosts_most, sizeof(*w->host_names));
    for (w->hosts = 0; w->host_names && w->hosts < hosts; w->hosts++) {
        w->host_names[w->hosts] = strdup(names[w->hosts]);
        if (!w->host_names[w->hosts])
            break;
    }
    return w->hosts == hosts ? 0 : ML_ERR_MEMORY;
}

/* For a process that no launcher started: a world of one. */
static int world_join_alone(struct world *w, struct fault *why)
{
    char name[256] = "localhost";
    const char *names[] = {name};
    int member = 0, rc;

    gethostname(name, sizeof(name) - 1);
    w->size = 1;
    w->host_of = calloc(1, sizeof(*w->host_of));
    if (!w->host_of || world_set_hosts(w, names, 1))
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    snprintf(w->job.host, sizeof(w->job.host), "%s", name);
    rc = coord_events_open(&w->coord_events, NULL, 1, NULL, why);
    return rc ? rc : group_join(&w->group, w, COORD_WORLD, &member, 1, "init", INT64_MAX, why);
}

/* Reads which rank this process is: MLAUNCH_RANK and MLAUNCH_JOB_DIR. */
static int world_read_environment(struct world *w, const char *rank_text, struct fault *why)
{
    const char *dir = getenv("MLAUNCH_JOB_DIR");
    int64_t rank;
    int rc;

    if (!dir || strlen(dir) >= sizeof(w->dir) - 64)
        return fault_set(why, ML_ERR_STATE,
                         "MLAUNCH_RANK is set, but MLAUNCH_JOB_DIR is not: this process's "
                         "environment is not the one that mlaunch made");
    strcpy(w->dir, dir);
    rc = job_file_read(dir, &w->job, w->secret, why);
    if (rc)
        return rc;
    if (!number_parse(rank_text, 0, w->job.size - 1, &rank))
        return fault_set(why, ML_ERR_STATE, "MLAUNCH_RANK is \"%s\", but the job has ranks 0 to %d",
                         rank_text, w->job.size - 1);
    w->rank = (int)rank;
    w->most = w->job.size + (w->job.elastic ? JOB_GROW_MOST : 0);
    if (!w->job.coordinator[0])
        return fault_set(why, ML_ERR_STATE,
                         "this job was started with --backend none: its processes don't meet");
    if (strcmp(w->job.backend, "tcp") != 0 && strcmp(w->job.backend, "shm") != 0 &&
        strcmp(w->job.backend, "rdma") != 0)
        return fault_set(why, ML_ERR_STATE, "this build of mlaunch has no backend \"%s\"",
                         w->job.backend);
    return 0;
}

/* A job of --elastic may have got more ranks than its file says. */
static bool is_size(const struct world *w, int size)
{
    return w->job.elastic ? size > w->rank && size <= w->most : size == w->job.size;
}

/* Parses WELCOME {size, hosts, names, host_of}. Every host has a rank. */
static int world_read_welcome(struct world *w, json_t *welcome, struct fault *why)
{
    json_t *texts, *numbers;
    const char **names = NULL;
    int size, hosts, rc = ML_ERR_REFUSED;

    if (json_unpack(welcome, "{s:i, s:i, s:o, s:o}", "size", &size, "hosts", &hosts, "names",
                    &texts, "host_of", &numbers) == 0 &&
        is_size(w, size) && hosts > 0 && hosts <= size)
        rc = host_table_read_texts(&names, texts, hosts);
    if (!rc)
        rc = membership_set_ids(w, numbers, size, hosts);
    if (!rc)
        rc = world_set_hosts(w, names, hosts);
    free(names);
    if (rc == ML_ERR_MEMORY)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    return rc ? fault_set(why, rc, "the coordinator's welcome is damaged") : 0;
}

/* Sets is_crowded if there are more ranks on this host than processors, assuming that all may use
 * the same ones. Ranks that share memory find out more exactly (group_join.c). */
static void world_count_processors(struct world *w)
{
    cpu_set_t set;
    int local_size = 0;

    for (int i = 0; i < w->size; i++)
        local_size += w->host_of[i] == w->host_of[w->rank];
    w->is_crowded = sched_getaffinity(0, sizeof(set), &set) == 0 && local_size > CPU_COUNT(&set);
}

/* Until all ranks have called ml_init. */
static int world_await(struct world *w, int64_t deadline_ms, json_t **welcome, struct fault *why)
{
    int64_t soon_ms = clock_ms() + WAITING_AFTER_MS;
    int rc = coord_events_await_welcome(w->coord_events, soon_ms, welcome, why);

    if (rc != ML_ERR_TIMEOUT)
        return rc;
    wait_note_leave_init(w);
    rc = coord_events_await_welcome(w->coord_events, deadline_ms, welcome, why);
    wait_note_remove_init(w);
    return rc;
}

/* Tells the coordinator that this process has come, and waits for the others. */
static int world_ask(struct world *w, int64_t deadline_ms, json_t **welcome, struct fault *why)
{
    int rc =
        coord_events_send(w->coord_events, COORD_JOIN,
                          json_pack("{s:I, s:i, s:i}", "pid", (json_int_t)getpid(), "timeout_ms",
                                    w->job.init_timeout_ms, "replaces", w->replaces),
                          why);

    return rc ? rc : world_await(w, deadline_ms + MISSING_NAMED_MS, welcome, why);
}

/* This process takes the place of a dead rank: it becomes a member by the others' next ml_repair.
 * Its generation is then theirs, as if it had come with them. */
static int world_ask_place(struct world *w, int64_t deadline_ms, json_t **welcome,
                           struct fault *why)
{
    json_int_t generation = 0;
    int rc;

    do
        rc = world_ask(w, deadline_ms, welcome, why);
    while (rc && coord_events_fd(w->coord_events) < 0 && !(rc = membership_reconnect(w, why)));
    if (rc == ML_ERR_TIMEOUT)
        return fault_set(why, rc,
                         "rank %d has come to a job that runs, but those that live have not called "
                         "ml_repair within %g s (--init-timeout)",
                         w->rank, w->job.init_timeout_ms / 1e3);
    if (rc || json_unpack(*welcome, "{s?I}", "generation", &generation) || generation == 0)
        return rc; /* no place: it came with all others */
    if (generation < 0 || generation > UINT32_MAX)
        return fault_set(why, ML_ERR_REFUSED, "the coordinator's welcome is damaged");
    w->generation = (uint32_t)generation;
    w->is_newcomer = true;
    return claim_set(w->claim, w->rank, w->generation, why);
}

static int world_meet(struct world *w, int64_t deadline_ms, struct fault *why)
{
    struct client *c;
    json_t *welcome = NULL;
    int rc;

    rc = client_open(&c, w->job.coordinator, w->dir, w->job.job, w->secret, w->rank, w->generation,
                     deadline_ms, why);
    if (rc)
        return rc;
    rc = coord_events_open(&w->coord_events, c, w->most, w->dir, why);
    if (rc) {
        client_close(c);
        return rc;
    }
    rc = w->replaces ? world_ask_place(w, deadline_ms, &welcome, why)
                     : world_ask(w, deadline_ms, &welcome, why);
    if (!rc)
        rc = world_read_welcome(w, welcome, why);
    json_decref(welcome);
    return rc;
}

/* With all others. */
static int world_connect(struct world *w, struct fault *why)
{
    int *members = calloc((size_t)w->size, sizeof(*members));
    int rc;

    if (!members)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (int i = 0; i < w->size; i++)
        members[i] = i;
    rc = group_join(&w->group, w, COORD_WORLD, members, w->size, "init",
                    clock_ms() + w->job.init_timeout_ms, why);
    free(members);
    return rc;
}

static int world_connect_newcomer(struct world *w, struct fault *why)
{
    struct membership m = {0};
    int rc = membership_join(w, NULL, false, &m, &w->group, why);

    if (rc == ML_ERR_SYSTEM) /* the others empty their old world, and try again (repair.c) */
        rc = membership_join(w, NULL, true, &m, &w->group, why);
    free(m.members);
    free(w->has_come);
    w->has_come = NULL;
    return rc;
}

/* The number of the process in its rank's place, after the first; 0: it is that one, or has been a
 * member before. */
static int replaces_read(const struct world *w)
{
    const char *text = getenv("MLAUNCH_RESTART");
    int64_t number;

    return w->job.elastic && !joined.has_been && text && number_parse(text, 0, INT_MAX, &number)
               ? (int)number
               : 0;
}

static int world_join_job(struct world *w, const char *rank_text, struct fault *why)
{
    int rc = world_read_environment(w, rank_text, why);

    if (rc)
        return rc;
    w->replaces = replaces_read(w);
    w->is_launched = true;
    w->is_eager = getenv("MLAUNCH_EAGER") != NULL;
    fork_guard_start();
    rc = claim_take(&w->claim, w->dir, w->rank, &w->generation, why);
    if (!rc)
        rc = world_meet(w, clock_ms() + w->job.init_timeout_ms, why);
    if (rc)
        goto fail;
    world_count_processors(w);
    w->counters = counters_file_open(w->dir, w->rank, w->host_names, w->hosts_most);
    w->calls = calls_file_open(w->dir, w->rank, w->generation);
    rc = w->is_newcomer ? world_connect_newcomer(w, why) : world_connect(w, why);
    joined.has_been |= rc == 0;
    if (!rc && w->job.elastic)
        counters_file_world(w->counters, w->membership, w->group->size);
fail:
    if (rc == ML_ERR_PEER)
        claim_mark_broken(w->dir, w->rank, why->text);
    return rc;
}

/* The program's groups of one would otherwise look like a run that went well. One of the processes
 * says it for all. */
static void alone_warn(void)
{
    static bool is_said; /* behind the lock of `joined` */
    struct outer_launcher outer;

    if (is_said || !outer_launcher_find(&outer))
        return;
    is_said = true;
    if (outer.is_first)
        fprintf(stderr,
                "mlaunch: warning: %s has started %d of this program, and each is a group of one "
                "(rank 0 of 1): start it by mlaunch -n %d\n",
                outer.name, outer.size, outer.size);
}

/* A group of one is meant: MLAUNCH_ALONE=1, whoever has started the process. */
static bool alone_is_asked(void)
{
    const char *text = getenv("MLAUNCH_ALONE");

    return text && strcmp(text, "1") == 0;
}

/* Refuses a group of one to a process of a job that has lost its environment: all ranks would
 * compute the same, and the job would look as if it had gone well. */
static int alone_check(struct fault *why)
{
    char sign[256];

    if (!agent_above_find(sign, sizeof(sign)))
        return 0;
    return fault_set(why, ML_ERR_STATE,
                     "this process belongs to a job (%s), but cannot know its rank: %s. A program "
                     "in between (sudo, su -, env -i, a sandbox) has removed what mlaunch had set: "
                     "let it keep the variables that begin with MLAUNCH_, as sudo -E does, or set "
                     "MLAUNCH_ALONE=1 if a group of one is meant",
                     sign, environ[0] ? "MLAUNCH_RANK is not set" : "its environment is empty");
}

static int world_open(struct world **out, struct fault *why)
{
    bool is_asked = alone_is_asked();
    const char *rank = is_asked ? NULL : getenv("MLAUNCH_RANK");
    struct world *w;
    int held[STDIO_GUARD], rc = rank || is_asked ? 0 : alone_check(why);

    if (rc)
        return rc;
    w = calloc(1, sizeof(*w));
    if (!w)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    shm_rendezvous_init();
    stdio_guard_begin(held);
    rc = rank ? world_join_job(w, rank, why) : world_join_alone(w, why);
    if (!rank && !is_asked && !rc)
        alone_warn();
    stdio_guard_end(held);
    if (rc) {
        world_free(w);
        return rc;
    }
    *out = w;
    return 0;
}

int world_join_init(struct world **out, bool eager, struct fault *why)
{
    struct world *w;
    int rc = 0;

    pthread_mutex_lock(&joined.lock);
    w = joined.current;
    if (!w) {
        rc = algorithm_read(why);
        if (!rc)
            rc = world_open(&w, why);
    } else if (joined.eager_is_free) {
        joined.users--;
    }
    if (!rc) {
        joined.users++;
        joined.eager_is_free = eager;
        joined.current = w;
        *out = w;
    }
    pthread_mutex_unlock(&joined.lock);
    return rc;
}

/* Tells the coordinator that this rank leaves and waits for the answer: from then on, for the
 * others, it has left and not died. */
static void world_leave(struct world *w)
{
    if (!w->is_launched ||
        coord_events_send(w->coord_events, COORD_LEAVE, json_object(), NULL) != 0)
        return;
    coord_events_await_left(w->coord_events, w->rank, clock_ms() + COORD_LEFT_MS, NULL);
}

/* The last chance to notice that the ranks' calls have differed. */
static int world_check_group(struct group *g, struct fault *why)
{
    g->records.now = (struct recorded){0}; /* this is no call */
    return g->broken.code ? 0 : call_end(g, wait_look(g, why), why);
}

int world_join_change_begin(const char *call, struct fault *why)
{
    const char *other = NULL;

    if (atomic_compare_exchange_strong(&joined.change, &other, call))
        return 0;
    return fault_set(why, ML_ERR_STATE, "another thread is in %s", other);
}

void world_join_change_end(void)
{
    atomic_store(&joined.change, NULL);
}

/* Before leaving: the other ranks still need this one for what was started. */
static void world_settle(const struct world *w, const struct fault *ends)
{
    struct group *busy;

    while ((busy = coord_events_busy_group(w->coord_events))) {
        if (group_take(busy, "finalize", ends)) {
            progress_settle(busy);
            group_release(busy);
        }
    }
}

static void world_leave_groups(const struct world *w, const struct fault *ends)
{
    struct group *other;

    while ((other = coord_events_other_group(w->coord_events, w->group))) {
        if (!group_take(other, "finalize", ends))
            continue;
        if (other->is_window) { /* it came up meanwhile */
            group_release(other);
            window_join_end();
        } else {
            group_leave(other);
        }
    }
}

/* Other threads' calls end, and find groups that are gone when they come back. */
static int world_end(struct world *w, struct fault *why)
{
    struct fault ends;
    int rc;

    fault_set(&ends, ML_ERR_STATE, "another thread, %d, has called ml_finalize", thread_self());
    world_settle(w, &ends);
    group_take(w->group, "finalize", &ends);
    rc = world_check_group(w->group, why);
    window_join_end();
    world_leave(w);
    world_leave_groups(w, &ends);
    world_free(w);
    return rc;
}

int world_join_finalize(struct fault *why)
{
    struct world *w;
    int rc = 0;

    pthread_mutex_lock(&joined.lock);
    w = joined.current;
    if (!w)
        rc = fault_set(why, ML_ERR_STATE, "ml_finalize without ml_init");
    else if (joined.users == 1)
        rc = world_join_change_begin("ml_finalize", why);
    if (!rc && --joined.users == 0) {
        joined.current = NULL;
        joined.eager_is_free = false;
        rc = world_end(w, why);
        world_join_change_end();
    }
    pthread_mutex_unlock(&joined.lock);
    return rc;
}

void world_join_set_group(struct world *w, struct group *g, const struct world_change *change)
{
    pthread_mutex_lock(&joined.lock);
    w->group = g;
    free(w->change.left);
    free(w->change.came);
    w->change = *change;
    free(w->has_come);
    w->has_come = NULL;
    pthread_mutex_unlock(&joined.lock);
    counters_file_world(w->counters, w->membership, g->size);
}

struct world *world_join_current(void)
{
    return joined.current;
}
