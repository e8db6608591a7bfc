/* SPDX-License-Identifier: MIT */
#include "launcher/agent/queries/answer_clean_files.h"

#include "common/text/text_json.h"
#include "launcher/agent/host/cgroup_linux.h"
#include "launcher/agent/queries/job_name.h"
#include "launcher/base/machine/place_lock.h"
#include "launcher/base/machine/tree_removal_linux.h"
#include "launcher/base/process/install_path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    OLD_S = 900,        /* a file that was not touched for so long is not being made now */
    STALE_EMPTY_S = 60, /* an agent that has made a directory writes to it at once */
};

struct sweep {
    const struct job_survey *survey;
    const struct answer_question *query;
    json_t *removed, *left;
};

static void sweep_report(const struct sweep *w, const char *kind, const char *job, const char *path,
                         int err)
{
    json_t *one = json_object();

    json_object_set_new(one, "kind", json_string(kind));
    json_object_set_new(one, "job", text_json(job));
    json_object_set_new(one, "path", text_json(path));
    json_object_set_new(one, "text", text_json(err ? strerror(err) : ""));
    json_array_append_new(err ? w->left : w->removed, one);
}

static bool is_old(const struct stat *st, int seconds)
{
    time_t now = time(NULL);

    return st->st_mtime < now - seconds && st->st_ctime < now - seconds;
}

/* Opens a directory that this user owns; NULL otherwise. */
static DIR *directory_open_own(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    DIR *dir = NULL;

    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid())
        dir = fdopendir(fd);
    if (!dir && fd >= 0)
        close(fd);
    return dir;
}

/* --- segments --------------------------------------------------------------------------------- */

/* Whether the name is "mlaunch-UID-JOB.HOST.…", of any run of the job. Any host's number matches a
 * job whose file cannot be read. */
static bool segment_is_of(const char *name, const struct job_survey_job *j)
{
    char prefix[128], host[16] = "";

    if (j->state != JOB_SURVEY_UNREADABLE)
        snprintf(host, sizeof(host), "%d.", j->file.host_rank);
    snprintf(prefix, sizeof(prefix), "mlaunch-%u-%s.%s", (unsigned)j->user, j->file.job, host);
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

/* True if its job is dead, or if it is old and its job has no directory any more: ranks that have
 * just made a segment open it within the time that they wait for each other. */
static bool segment_is_left_over(const struct sweep *w, const char *name, const struct stat *st)
{
    bool is_dead = false;

    for (int i = 0; i < w->survey->job_count; i++) {
        const struct job_survey_job *j = &w->survey->jobs[i];

        if (j->user != geteuid() || !segment_is_of(name, j))
            continue;
        if (j->state != JOB_SURVEY_STALE)
            return false;
        is_dead = true;
    }
    return is_dead || is_old(st, OLD_S);
}

/* Takes the locks that keep others from using it: its own, and the one that the agent of its job
 * holds for all names that begin with "mlaunch-UID-JOB.HOST.XXXXXX.". False: somebody has one of
 * them, perhaps in another container with the same /dev/shm and another /tmp. */
static bool segment_exclude(int locks[2], int shm, const char *name)
{
    char lock[NAME_MAX + 8];
    const char *end = name;

    locks[1] = -1;
    if (!place_lock_exclude(&locks[0], shm, name))
        return false;
    for (int dots = 0; dots < 3 && end; dots++) {
        end = strchr(end, '.');
        end = end ? end + 1 : NULL;
    }
    if (!end || strcmp(end, JOB_DIRECTORY_LOCK) == 0 ||
        snprintf(lock, sizeof(lock), "%.*s" JOB_DIRECTORY_LOCK, (int)(end - name), name) >=
            (int)sizeof(lock) ||
        place_lock_exclude(&locks[1], shm, lock))
        return true;
    place_lock_drop(&locks[0]);
    return false;
}

static void segment_sweep(const struct sweep *w, int shm, const char *name, const char *job)
{
    char path[512];
    int locks[2], err = 0;

    if (!segment_exclude(locks, shm, name))
        return;
    snprintf(path, sizeof(path), "/dev/shm/%s", name);
    if (!w->query->dry_run && !tree_removal_run(shm, name))
        err = errno;
    place_lock_drop(&locks[0]);
    place_lock_drop(&locks[1]);
    sweep_report(w, "segment", job, path, err);
}

static void segments_sweep(const struct sweep *w)
{
    DIR *shm = opendir("/dev/shm");
    char prefix[32], job[AUTH_JOB];
    struct dirent *entry;
    struct stat st;

    if (!shm)
        return;
    snprintf(prefix, sizeof(prefix), "mlaunch-%u-", (unsigned)geteuid());
    while ((entry = readdir(shm))) {
        const char *name = entry->d_name;

        if (strncmp(name, prefix, strlen(prefix)) != 0 ||
            fstatat(dirfd(shm), name, &st, AT_SYMLINK_NOFOLLOW) ||
            !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode) || S_ISFIFO(st.st_mode)) ||
            st.st_uid != geteuid() || !segment_is_left_over(w, name, &st))
            continue;
        job_survey_id(name + strlen(prefix), job);
        if (job_survey_is_asked_id(w->survey, job, w->query->job))
            segment_sweep(w, dirfd(shm), name, job);
    }
    closedir(shm);
}

/* --- directories ------------------------------------------------------------------------------ */

static bool list_has_process(const json_t *list, const char *job)
{
    size_t i;
    const json_t *one;

    json_array_foreach(list, i, one)
    {
        const char *kind = json_string_value(json_object_get(one, "kind"));
        const char *id = json_string_value(json_object_get(one, "job"));

        if (kind && id && strcmp(kind, "process") == 0 && strcmp(id, job) == 0)
            return true;
    }
    return false;
}

/* True if an agent made it and was killed before it wrote anything. */
static bool is_abandoned(const struct job_survey_job *j)
{
    DIR *dir = directory_open_own(j->dir);
    struct dirent *entry;
    bool is_empty = true;
    struct stat st;

    if (!dir)
        return false;
    while ((entry = readdir(dir)))
        is_empty &= strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    is_empty = is_empty && fstat(dirfd(dir), &st) == 0 && is_old(&st, STALE_EMPTY_S);
    closedir(dir);
    return is_empty;
}

static bool has_processes_left(const struct sweep *w, const char *job)
{
    return list_has_process(w->left, job);
}

static void directories_sweep(const struct sweep *w)
{
    for (int i = 0; i < w->survey->job_count; i++) {
        const struct job_survey_job *j = &w->survey->jobs[i];
        bool is_dead = j->state == JOB_SURVEY_STALE ||
                       (j->state == JOB_SURVEY_UNREADABLE && !*w->query->job && is_abandoned(j));
        int lock;

        if (!is_dead || j->user != geteuid() || has_processes_left(w, j->file.job) ||
            !job_survey_is_asked(j, w->query->job) || !place_lock_exclude(&lock, AT_FDCWD, j->dir))
            continue;
        if (!w->query->dry_run)
            job_directory_remove(j->dir);
        place_lock_drop(&lock);
        sweep_report(w, "directory", j->file.job, j->dir,
                     !w->query->dry_run && access(j->dir, F_OK) == 0 ? EBUSY : 0);
    }
}

/* --- users' directories ----------------------------------------------------------------------- */

/* Whether a process bears the name of that job directory in its environment. */
static bool is_marked_with(const struct sweep *w, const char *dir)
{
    for (size_t i = 0; i < w->survey->processes.count; i++) {
        const char *mark = w->survey->owners[i].mark;

        if (mark && strcmp(mark, dir) == 0)
            return true;
    }
    return false;
}

/* A link to a job directory that has been removed with all of its --tmpdir. An agent that sees
 * another file system there, in a container, may be running that job: unless the user has named it,
 * the link stays until it is old. */
static bool link_is_left_over(const struct sweep *w, int parent_fd, const char *name,
                              const struct stat *st)
{
    char path[JOB_DIRECTORY_PATH];
    ssize_t length = readlinkat(parent_fd, name, path, sizeof(path) - 1);

    if (length <= 0)
        return false;
    path[length] = '\0';
    return access(path, F_OK) && errno == ENOENT && !is_marked_with(w, path) &&
           (*w->query->job || is_old(st, OLD_S));
}

/* "run.JOB.new": a draft of a killed mlaunch's entry (job_register.h). */
static bool is_draft(const char *name)
{
    size_t length = strlen(name);

    return strncmp(name, "run.", 4) == 0 && length > 8 && strcmp(name + length - 4, ".new") == 0;
}

/* What is left of an agent that was killed while it looked which names there are. */
static bool is_names_lock(int parent_fd, const char *name)
{
    return strcmp(name, JOB_NAME_FILE) == 0 && !place_lock_is_held(parent_fd, name);
}

static void entry_sweep(const struct sweep *w, int parent_fd, const char *parent, const char *name)
{
    bool draft = is_draft(name), is_file = draft || is_names_lock(parent_fd, name);
    char path[4096], job[AUTH_JOB];
    struct stat st;

    job_survey_id(draft ? name + strlen("run.") : name, job);
    if (fstatat(parent_fd, name, &st, AT_SYMLINK_NOFOLLOW) ||
        !job_survey_is_asked_id(w->survey, job, w->query->job) ||
        !(is_file ? S_ISREG(st.st_mode) && is_old(&st, OLD_S)
                  : S_ISLNK(st.st_mode) && link_is_left_over(w, parent_fd, name, &st)))
        return;
    snprintf(path, sizeof(path), "%s/%s", parent, name);
    sweep_report(w, is_file ? "file" : "link", job, path,
                 !w->query->dry_run && unlinkat(parent_fd, name, 0) ? errno : 0);
}

static int user_sweep(const char *path, void *sweep, struct fault *why)
{
    DIR *dir = directory_open_own(path);
    struct dirent *entry;

    (void)why;
    while (dir && (entry = readdir(dir)))
        entry_sweep(sweep, dirfd(dir), path, entry->d_name);
    if (dir) {
        closedir(dir);
        rmdir(path); /* only if it is empty */
    }
    return 0;
}

static void users_sweep(struct sweep *w)
{
    struct fault none;

    for (int i = 0; w->survey->bases[i]; i++)
        user_directory_each(w->survey->bases[i], user_sweep, w, &none);
}

/* --- control groups --------------------------------------------------------------------------- */

/* Whether --dry-run names a process of the job: it may be all that is in the job's group. */
static bool has_processes_named(const struct sweep *w, const char *dir)
{
    char job[AUTH_JOB];

    job_survey_id(dir, job);
    return list_has_process(w->removed, job);
}

/* True if its job is dead. A job without a directory may be one of an agent with another /tmp, as a
 * container has, and is then judged by its group. One that an older agent has made may be about to
 * get its ranks, unless the user has named the job. */
static bool group_is_left_over(const struct sweep *w, const char *path, const char *dir)
{
    struct stat st;

    for (int i = 0; i < w->survey->job_count; i++) {
        if (strcmp(w->survey->jobs[i].dir, dir) == 0)
            return w->survey->jobs[i].state == JOB_SURVEY_STALE &&
                   !place_lock_is_held(AT_FDCWD, path);
    }
    if (cgroup_is_in_use(path) && !(w->query->dry_run && has_processes_named(w, dir)))
        return false;
    return *w->query->job || (stat(path, &st) == 0 && is_old(&st, OLD_S));
}

/* A group that still has processes stays: those that could be ended have been. */
static void group_sweep(const char *path, const char *name, void *arg)
{
    const struct sweep *w = arg;
    char dir[JOB_DIRECTORY_PATH], job[AUTH_JOB];
    size_t user = user_directory_length(name);

    if (name[user] != '-' ||
        snprintf(dir, sizeof(dir), "%s/%.*s/%s", w->query->base, (int)user, name,
                 name + user + 1) >= (int)sizeof(dir) ||
        !group_is_left_over(w, path, dir))
        return;
    job_survey_id(dir, job);
    if (!job_survey_is_asked_id(w->survey, job, w->query->job))
        return;
    if (w->query->dry_run || cgroup_remove(path, 0))
        sweep_report(w, "cgroup", job, path, 0);
}

static void groups_sweep(const struct sweep *w)
{
    char prefix[32];

    snprintf(prefix, sizeof(prefix), "mlaunch-%u", (unsigned)geteuid());
    cgroup_each(prefix, geteuid(), group_sweep, (void *)(uintptr_t)w);
}

/* --- partial copies --------------------------------------------------------------------------- */

static void copies_sweep_in(const struct sweep *w, const char *path)
{
    DIR *dir = directory_open_own(path);
    struct dirent *entry;
    char file[4096];
    struct stat st;

    while (dir && (entry = readdir(dir))) {
        if (!install_path_is_partial(entry->d_name) ||
            fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode) ||
            !is_old(&st, OLD_S))
            continue;
        snprintf(file, sizeof(file), "%s/%s", path, entry->d_name);
        sweep_report(w, "file", "", file,
                     !w->query->dry_run && unlinkat(dirfd(dir), entry->d_name, 0) ? errno : 0);
    }
    if (dir)
        closedir(dir);
}

/* ~/.cache/mlaunch/BUILD-PROCESSOR/ */
static void copies_sweep(const struct sweep *w)
{
    const char *home = getenv("HOME");
    char cache[2048], build[2400];
    struct dirent *entry;
    DIR *dir;

    if (!home || snprintf(cache, sizeof(cache), "%s/.cache/mlaunch", home) >= (int)sizeof(cache))
        return;
    dir = directory_open_own(cache);
    while (dir && (entry = readdir(dir))) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(build, sizeof(build), "%s/%s", cache, entry->d_name);
        copies_sweep_in(w, build);
    }
    if (dir)
        closedir(dir);
}

void answer_clean_files_sweep(const struct job_survey *s, const struct answer_question *q,
                              json_t *removed, json_t *left)
{
    struct sweep w = {s, q, removed, left};

    segments_sweep(&w);
    groups_sweep(&w);
    directories_sweep(&w);
    users_sweep(&w);
    if (!*q->job)
        copies_sweep(&w);
}
