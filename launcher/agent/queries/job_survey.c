/* SPDX-License-Identifier: MIT */
#include "launcher/agent/queries/job_survey.h"

#include "common/text/number.h"
#include "launcher/agent/host/cgroup_linux.h"
#include "launcher/base/machine/pid_domain_linux.h"
#include "launcher/base/machine/place_lock.h"
#include "launcher/base/text/temporary_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    RANKS_FILE_LIMIT = 32 << 20,
    RANKS_FILE_OTHERS = 256 << 10, /* for another user's job */
    NAMES_OF_OTHERS = 4096,        /* in one directory */
    PASSING_S = 10,                /* an agent that has made a directory writes to it at once */
};

static const char job_dir_name[] = "MLAUNCH_JOB_DIR=", rank_name[] = "MLAUNCH_RANK=";

const char *job_survey_state_word(enum job_survey_state state)
{
    static const char *const words[] = {"live", "stale", "elsewhere", "unreadable"};

    return words[state];
}

void job_survey_id(const char *dir, char out[AUTH_JOB])
{
    const char *name = strrchr(dir, '/');

    snprintf(out, AUTH_JOB, "%s", name ? name + 1 : dir);
    out[strcspn(out, ".")] = '\0';
}

/* --- jobs ------------------------------------------------------------------------------------- */

/* A job.json can name any pid, so a process of another user is never taken for its agent. */
static bool agent_lives(const struct job_survey *s, const struct job_survey_job *j, int64_t pid,
                        uint64_t start_time)
{
    const struct process *p;
    uid_t user;

    if (pid <= 0 || pid > INT_MAX)
        return false;
    p = process_list_find(&s->processes, (pid_t)pid);
    return p && !p->has_ended && p->start_time == start_time && process_user(p->pid, &user) &&
           user == j->user;
}

static void job_judge(const struct job_survey *s, struct job_survey_job *j)
{
    const struct job_file *f = &j->file;

    switch (pid_domain_compare(f, &s->here)) {
    case PID_DOMAIN_ELSEWHERE:
        j->state = JOB_SURVEY_ELSEWHERE;
        return;
    case PID_DOMAIN_PAST:
        j->state = JOB_SURVEY_STALE;
        break;
    case PID_DOMAIN_HERE:
        j->worker_lives = agent_lives(s, j, f->agent_pid, f->agent_start_time);
        j->guard_lives = agent_lives(s, j, f->guard_pid, f->guard_start_time);
        j->state = j->worker_lives || j->guard_lives ? JOB_SURVEY_LIVE : JOB_SURVEY_STALE;
    }
    /* Whoever uses it is not seen here, whatever its file says. */
    if (j->state == JOB_SURVEY_STALE && place_lock_is_held(AT_FDCWD, j->dir))
        j->state = JOB_SURVEY_ELSEWHERE;
}

static int job_of_dir(const struct job_survey *s, const char *dir)
{
    int low = 0, high = s->job_count;

    while (low < high) {
        int middle = (low + high) / 2, order = strcmp(dir, s->by_dir[middle]->dir);

        if (order == 0)
            return (int)(s->by_dir[middle] - s->jobs);
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return -1;
}

static int compare_dirs(const void *a, const void *b)
{
    const struct job_survey_job *const *x = a, *const *y = b;

    return strcmp((*x)->dir, (*y)->dir);
}

static int by_dir_make(struct job_survey *s, struct fault *why)
{
    s->by_dir = calloc((size_t)s->job_count + 1, sizeof(*s->by_dir));
    if (!s->by_dir)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (int i = 0; i < s->job_count; i++)
        s->by_dir[i] = &s->jobs[i];
    qsort(s->by_dir, (size_t)s->job_count, sizeof(*s->by_dir), compare_dirs);
    return 0;
}

static bool is_own(uid_t user)
{
    return user == geteuid();
}

/* What is counted of another user, or NULL: there are too many. */
static struct job_survey_other *other_of(struct job_survey *s, uid_t user)
{
    for (int i = 0; i < s->other_count; i++)
        if (s->others[i].user == user)
            return &s->others[i];
    if (!s->others)
        s->others = calloc(JOB_SURVEY_OTHERS, sizeof(*s->others));
    if (!s->others || s->other_count == JOB_SURVEY_OTHERS)
        return NULL;
    s->others[s->other_count].user = user;
    return &s->others[s->other_count++];
}

/* Another place in the list, or NULL. */
static struct job_survey_job *job_place(struct job_survey *s)
{
    int room = s->job_room ? 2 * s->job_room : 16;
    struct job_survey_job *more;

    if (s->job_count < s->job_room)
        return &s->jobs[s->job_count];
    more = realloc(s->jobs, (size_t)room * sizeof(*more));
    if (!more)
        return NULL;
    s->jobs = more;
    s->job_room = room;
    return &s->jobs[s->job_count];
}

/* Whether its agent has just made the directory and not yet written to it, or is removing it. */
static bool is_in_passing(int fd, const struct stat *st)
{
    return faccessat(fd, "job.json", F_OK, AT_SYMLINK_NOFOLLOW) && errno == ENOENT &&
           st->st_mtime >= time(NULL) - PASSING_S;
}

static int job_add(struct job_survey *s, int parent_fd, const char *parent, const char *name,
                   uid_t user, struct fault *why)
{
    int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct job_survey_job *j;
    struct fault unread = {0};
    struct stat st;

    if (fd < 0)
        return 0; /* the job has just ended, or this is no directory */
    j = job_place(s);
    if (!j) {
        close(fd);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    *j = (struct job_survey_job){.user = user, .state = JOB_SURVEY_UNREADABLE};
    if (fstat(fd, &st) == 0 && st.st_uid == user &&
        snprintf(j->dir, sizeof(j->dir), "%s/%s", parent, name) < (int)sizeof(j->dir)) {
        if (job_file_look(fd, &j->file, &unread)) {
            if (is_in_passing(fd, &st)) {
                close(fd);
                return 0;
            }
            snprintf(j->why, sizeof(j->why), "%.250s", unread.text);
            job_survey_id(j->dir, j->file.job);
        }
        s->job_count++;
    }
    close(fd);
    return 0;
}

/* A job whose directory is elsewhere (--tmpdir): `name` is a link to it. */
static int linked_add(struct job_survey *s, int parent_fd, const char *name, uid_t user,
                      struct fault *why)
{
    char path[JOB_DIRECTORY_PATH], *last;
    ssize_t length = readlinkat(parent_fd, name, path, sizeof(path) - 1);
    struct stat st;
    int fd, rc = 0;

    if (length <= 0)
        return 0;
    path[length] = '\0';
    last = strrchr(path, '/');
    if (path[0] != '/' || strcmp(last + 1, name) != 0)
        return 0;
    *last = '\0';
    fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == user && !(st.st_mode & 022))
        rc = job_add(s, fd, path, name, user, why);
    if (fd >= 0)
        close(fd);
    return rc;
}

/* Adds what is in a user's directory, or the first of it, if it is another user's. */
static int entries_add(struct job_survey *s, DIR *dir, const char *parent, uid_t user,
                       struct job_survey_other *other, struct fault *why)
{
    struct dirent *entry;
    int rc = 0, names = 0;

    while (!rc && (entry = readdir(dir))) {
        int before = s->job_count;

        if (other && (other->jobs >= JOB_SURVEY_OTHERS_JOBS || names++ == NAMES_OF_OTHERS))
            break;
        if (entry->d_name[0] == '.')
            continue;
        rc = job_add(s, dirfd(dir), parent, entry->d_name, user, why);
        if (!rc)
            rc = linked_add(s, dirfd(dir), entry->d_name, user, why);
        if (other)
            other->jobs += s->job_count - before;
    }
    return rc;
}

/* Adds the jobs of one user, if nobody else can have written to the directory. */
static int user_add(const char *parent, void *survey, struct fault *why)
{
    struct job_survey *s = survey;
    struct job_survey_other *other = NULL;
    struct stat st;
    int fd, rc;
    DIR *dir;

    if (lstat(parent, &st) || !S_ISDIR(st.st_mode))
        return 0;
    if (!is_own(st.st_uid)) {
        other = other_of(s, st.st_uid);
        if (!other || other->directories++ >= JOB_SURVEY_OTHERS_DIRECTORIES)
            return 0;
    }
    fd = open(parent, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return 0;
    if (fstat(fd, &st) || (other ? other->user != st.st_uid : !is_own(st.st_uid)) ||
        (st.st_mode & 022) || !(dir = fdopendir(fd))) {
        close(fd);
        return 0;
    }
    rc = entries_add(s, dir, parent, st.st_uid, other, why);
    closedir(dir);
    return rc;
}

static int compare_jobs(const void *a, const void *b)
{
    const struct job_survey_job *x = a, *y = b;

    if (x->file.started_at != y->file.started_at)
        return x->file.started_at < y->file.started_at ? -1 : 1;
    return strcmp(x->dir, y->dir);
}

/* A job below $TMPDIR has been found by its link, too. */
static void twins_drop(struct job_survey *s)
{
    int kept = 0;

    for (int i = 0; i < s->job_count; i++)
        if (kept == 0 || compare_jobs(&s->jobs[kept - 1], &s->jobs[i]) != 0)
            s->jobs[kept++] = s->jobs[i];
    s->job_count = kept;
}

static void bases_find(struct job_survey *s, const char *base)
{
    const char *own = temporary_directory("");
    int count = 0;

    s->bases[count++] = base;
    if (strcmp(base, "/tmp") != 0)
        return;
    for (int i = 1; user_directory_bases[i]; i++)
        s->bases[count++] = user_directory_bases[i];
    for (int i = 0; i < count; i++)
        if (strcmp(s->bases[i], own) == 0)
            return;
    s->bases[count] = own;
}

static int jobs_find(struct job_survey *s, bool is_own_only, struct fault *why)
{
    int count = 0, rc = 0;

    while (s->bases[count])
        count++;
    for (int i = count - 1; i >= 0 && !rc; i--) {
        rc = (is_own_only ? user_directory_each_own : user_directory_each)(s->bases[i], user_add, s,
                                                                           why);
        if (i > 0 && rc == ML_ERR_SYSTEM)
            rc = 0; /* it need not be there */
    }
    if (!rc && s->job_count)
        qsort(s->jobs, (size_t)s->job_count, sizeof(*s->jobs), compare_jobs);
    twins_drop(s);
    return rc;
}

/* Leaves out jobs that only look dead, because they have ended since they were found: an agent ends
 * after its directory. */
static void ended_drop(struct job_survey *s)
{
    int kept = 0;

    for (int i = 0; i < s->job_count; i++) {
        const struct job_survey_job *j = &s->jobs[i];
        bool looks_dead = j->state == JOB_SURVEY_STALE || j->state == JOB_SURVEY_UNREADABLE;

        if (!looks_dead || access(j->dir, F_OK) == 0 || errno != ENOENT)
            s->jobs[kept++] = *j;
    }
    s->job_count = kept;
}

/* --- processes -------------------------------------------------------------------------------- */

static const char *value_of(const char *environment, size_t size, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = environment; at < environment + size; at += strlen(at) + 1) {
        if (strncmp(at, name, length) == 0)
            return at + length;
    }
    return NULL;
}

/* Whether it is a path like "/tmp/mlaunch-0/…", which only mlaunch uses. */
static bool is_job_dir(const struct job_survey *s, const char *dir)
{
    if (strstr(dir, "/../") || strlen(dir) >= JOB_DIRECTORY_PATH)
        return false;
    for (int i = 0; s->bases[i]; i++) {
        size_t length = strlen(s->bases[i]);

        if (strncmp(dir, s->bases[i], length) == 0 && strncmp(dir + length, "/mlaunch-", 9) == 0)
            return true;
    }
    return job_of_dir(s, dir) >= 0; /* by a link */
}

const char *job_survey_dir(const struct job_survey *s, const char *dir)
{
    const char *tail = strrchr(dir, '/');
    size_t length;

    while (tail > dir && tail[-1] != '/')
        tail--;
    length = strlen(tail);
    for (int i = 0; i < s->job_count; i++) {
        const char *known = s->jobs[i].dir;
        size_t size = strlen(known);

        if (size > length && known[size - length - 1] == '/' &&
            strcmp(known + size - length, tail) == 0)
            return known;
    }
    return dir;
}

/* Whether the directory does not exist in the process's view, whose root directory may differ from
 * this process's. False for a process of another pid namespace: its job's agent may live there. */
static bool is_gone_for(const struct job_survey *s, pid_t pid, const char *dir)
{
    char path[JOB_DIRECTORY_PATH + 64];
    struct stat st;

    snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)pid);
    if (stat(path, &st) || st.st_ino != s->here.pid_namespace)
        return false;
    snprintf(path, sizeof(path), "/proc/%d/root/", (int)pid);
    if (access(path, X_OK))
        return false;
    snprintf(path, sizeof(path), "/proc/%d/root%s", (int)pid, dir);
    return lstat(path, &st) != 0 && errno == ENOENT;
}

/* Whether the process has the directory open, by that path, though it may have been removed. */
static bool has_open(pid_t pid, const char *dir)
{
    char path[64], text[JOB_DIRECTORY_PATH + 16];
    size_t length = strlen(dir);
    const struct dirent *e;
    bool is_open = false;
    DIR *fds;

    snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    fds = opendir(path);
    while (fds && !is_open && (e = readdir(fds))) {
        ssize_t size = readlinkat(dirfd(fds), e->d_name, text, sizeof(text) - 1);

        text[size > 0 ? size : 0] = '\0';
        is_open = strncmp(text, dir, length) == 0 &&
                  (!text[length] || strcmp(text + length, " (deleted)") == 0);
    }
    if (fds)
        closedir(fds);
    return is_open;
}

/* Whether an ancestor of the process is its job's agent, which has the job directory open as long
 * as it lives: somebody else has removed that. */
static bool has_live_agent(const struct job_survey *s, const struct process *p, const char *dir)
{
    for (size_t steps = 0; p && p->parent > 1 && steps < s->processes.count; steps++) {
        if (has_open(p->parent, dir))
            return true;
        p = process_list_find(&s->processes, p->parent);
    }
    return false;
}

static int owner_set(struct job_survey *s, size_t i, const char *dir, const char *rank,
                     struct fault *why)
{
    struct job_survey_owner *o = &s->owners[i];
    int64_t number;

    o->job = job_of_dir(s, dir);
    o->is_marked = true;
    o->is_orphan = o->job < 0 && is_gone_for(s, s->processes.list[i].pid, dir) &&
                   !has_live_agent(s, &s->processes.list[i], dir);
    if (rank && number_parse(rank, 0, INT_MAX, &number))
        o->rank = (int)number;
    o->mark = strdup(dir);
    return o->mark ? 0 : fault_set(why, ML_ERR_MEMORY, "out of memory");
}

/* Finds its job by its environment or, if that has been emptied, by its control group. */
static int process_judge(struct job_survey *s, size_t i, struct fault *why)
{
    pid_t pid = s->processes.list[i].pid;
    char group_dir[JOB_DIRECTORY_PATH];
    const char *dir = NULL;
    size_t size = 0;
    char *environment = process_environment(pid, &size);
    int rc = 0;

    if (environment)
        dir = value_of(environment, size, job_dir_name);
    if (dir && is_job_dir(s, dir))
        rc = owner_set(s, i, dir, value_of(environment, size, rank_name), why);
    else if (cgroup_job_dir(pid, s->bases[0], group_dir, sizeof(group_dir)))
        rc = owner_set(s, i, job_survey_dir(s, group_dir), NULL, why);
    free(environment);
    return rc;
}

/* Agents may themselves be marked, if they were started within a job. */
static void agents_note(struct job_survey *s)
{
    for (int i = 0; i < s->job_count; i++) {
        const struct job_survey_job *j = &s->jobs[i];
        const int64_t pids[] = {j->worker_lives ? j->file.agent_pid : 0,
                                j->guard_lives ? j->file.guard_pid : 0};

        for (int k = 0; k < 2; k++) {
            const struct process *p =
                pids[k] ? process_list_find(&s->processes, (pid_t)pids[k]) : NULL;
            struct job_survey_owner *o = p ? &s->owners[p - s->processes.list] : NULL;

            if (!o)
                continue;
            o->job = i;
            o->rank = -1;
            o->is_agent = true;
            o->is_orphan = false;
        }
    }
}

/* A process without a mark belongs to the job of its next ancestor that is marked or an agent. */
static void descendants_note(struct job_survey *s)
{
    for (size_t i = 0; i < s->processes.count; i++) {
        const struct process *p = &s->processes.list[i];

        if (s->owners[i].job >= 0 || s->owners[i].is_marked)
            continue;
        for (size_t steps = 0; p && steps < s->processes.count; steps++) {
            const struct job_survey_owner *o = &s->owners[p - s->processes.list];

            if (o->is_marked || o->is_agent) {
                s->owners[i].job = o->job;
                s->owners[i].rank = o->rank;
                s->owners[i].is_orphan = o->is_orphan;
                break;
            }
            p = process_list_find(&s->processes, p->parent);
        }
    }
}

static int owners_find(struct job_survey *s, struct fault *why)
{
    int rc = 0;

    s->owners = calloc(s->processes.count + 1, sizeof(*s->owners));
    if (!s->owners)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (size_t i = 0; i < s->processes.count; i++)
        s->owners[i].job = s->owners[i].rank = -1;
    for (size_t i = 0; i < s->processes.count && !rc; i++) {
        if (!s->processes.list[i].has_ended)
            rc = process_judge(s, i, why);
    }
    agents_note(s);
    descendants_note(s);
    return rc;
}

/* Reads the directories before the processes, so that a job that begins meanwhile does not look
 * dead. */
static int survey_open(struct job_survey **out, const char *base, bool is_own_only,
                       struct fault *why)
{
    struct job_survey *s = calloc(1, sizeof(*s));
    int rc;

    if (!s)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    pid_domain_write(&s->here);
    bases_find(s, base);
    rc = jobs_find(s, is_own_only, why);
    if (!rc)
        rc = process_list_read(&s->processes, why);
    for (int i = 0; i < s->job_count && !rc; i++) {
        if (!s->jobs[i].why[0])
            job_judge(s, &s->jobs[i]);
    }
    ended_drop(s);
    if (!rc)
        rc = by_dir_make(s, why);
    if (!rc && !is_own_only)
        rc = owners_find(s, why);
    if (rc)
        job_survey_close(s);
    else
        *out = s;
    return rc;
}

int job_survey_open(struct job_survey **out, const char *base, struct fault *why)
{
    return survey_open(out, base, false, why);
}

int job_survey_open_own(struct job_survey **out, const char *base, struct fault *why)
{
    return survey_open(out, base, true, why);
}

void job_survey_close(struct job_survey *s)
{
    if (!s)
        return;
    for (size_t i = 0; s->owners && i < s->processes.count; i++)
        free(s->owners[i].mark);
    free(s->owners);
    free(s->jobs);
    free(s->by_dir);
    free(s->others);
    process_list_free(&s->processes);
    free(s);
}

bool job_survey_is_asked(const struct job_survey_job *j, const char *job)
{
    return !*job || strcmp(j->file.job, job) == 0 || strcmp(j->file.name, job) == 0;
}

bool job_survey_is_asked_id(const struct job_survey *s, const char *id, const char *job)
{
    if (!*job || strcmp(id, job) == 0)
        return true;
    for (int i = 0; i < s->job_count; i++)
        if (s->jobs[i].user == geteuid() && strcmp(s->jobs[i].file.job, id) == 0 &&
            job_survey_is_asked(&s->jobs[i], job))
            return true;
    return false;
}

bool job_survey_is_below(const struct job_survey *s, const struct process *p, pid_t ancestor)
{
    for (size_t steps = 0; p && steps <= s->processes.count; steps++) {
        if (p->pid == ancestor)
            return true;
        p = process_list_find(&s->processes, p->parent);
    }
    return false;
}

/* --- ranks ------------------------------------------------------------------------------------ */

/* Whether the rank's first process lives. Without a mark of its own, it must be the worker's child:
 * that can only be the rank or, if the rank has ended and its pid was reused, an orphan that the
 * worker has inherited. */
static bool rank_lives(const struct job_survey *s, int job, const struct job_survey_rank *r)
{
    const struct process *p = process_list_find(&s->processes, r->pid);
    const struct job_survey_owner *o;

    if (!p || p->has_ended)
        return false;
    o = &s->owners[p - s->processes.list];
    if (o->job != job)
        return false;
    return o->is_marked ? o->rank == r->rank
                        : s->jobs[job].worker_lives && p->parent == s->jobs[job].file.agent_pid;
}

static FILE *ranks_open(const struct job_survey_job *j, struct fault *why)
{
    int dir = open(j->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int fd = dir < 0
                 ? -1
                 : openat(dir, JOB_DIRECTORY_RANKS, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    int err = errno;
    struct stat st;
    FILE *f = NULL;

    if (dir >= 0)
        close(dir);
    if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode) ||
                    st.st_size > (is_own(j->user) ? RANKS_FILE_LIMIT : RANKS_FILE_OTHERS)))
        err = EFBIG;
    else if (fd >= 0)
        f = fdopen(fd, "r");
    if (f)
        return f;
    if (fd >= 0)
        close(fd);
    fault_os(why, ML_ERR_SYSTEM, err, "cannot read its list of ranks");
    return NULL;
}

static int compare_ranks(const void *a, const void *b)
{
    const struct job_survey_rank *x = a, *y = b;

    return (x->rank > y->rank) - (x->rank < y->rank);
}

int job_survey_ranks(const struct job_survey *s, int job, struct job_survey_rank **out, int *count,
                     struct fault *why)
{
    FILE *f = ranks_open(&s->jobs[job], why);
    struct job_survey_rank *list = NULL;
    size_t used = 0, room = 0;
    int rank, pid;

    if (!f)
        return ML_ERR_SYSTEM;
    while (fscanf(f, "%10d %10d", &rank, &pid) == 2 && rank >= 0 && pid > 0) {
        if (used == room) {
            struct job_survey_rank *more = realloc(list, (room * 2 + 64) * sizeof(*more));

            if (!more) {
                free(list);
                fclose(f);
                return fault_set(why, ML_ERR_MEMORY, "out of memory");
            }
            list = more;
            room = room * 2 + 64;
        }
        list[used] = (struct job_survey_rank){.rank = rank, .pid = pid};
        list[used].lives = rank_lives(s, job, &list[used]);
        used++;
    }
    fclose(f);
    if (used)
        qsort(list, used, sizeof(*list), compare_ranks);
    *out = list;
    *count = (int)used;
    return 0;
}
