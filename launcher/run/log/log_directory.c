/* SPDX-License-Identifier: MIT */
#include "launcher/run/log/log_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOGS_MOST = 32 };
static const int64_t LOGS_SIZE_MOST = 256 << 20;

static const char suffix[] = ".log";

/* Stores the path without making anything. */
static int path_find(char path[PATH_MAX], struct fault *why)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    const struct passwd *user = home ? NULL : getpwuid(geteuid());
    int size;

    if (state && state[0] == '/') {
        size = snprintf(path, PATH_MAX, "%s/mlaunch/logs", state);
    } else {
        if (!home && user)
            home = user->pw_dir;
        if (!home || home[0] != '/')
            return fault_set(why, ML_ERR_SYSTEM,
                             "there is no directory for logs: neither XDG_STATE_HOME nor HOME is "
                             "set");
        size = snprintf(path, PATH_MAX, "%s/.local/state/mlaunch/logs", home);
    }
    if (size >= PATH_MAX - (int)(sizeof(suffix) + AUTH_JOB + JOB_NAME + 16))
        return fault_set(why, ML_ERR_SYSTEM, "the path of the directory for logs is too long");
    return 0;
}

int log_directory_find(char path[PATH_MAX], struct fault *why)
{
    struct stat st;
    int rc = path_find(path, why);

    if (rc)
        return rc;
    for (char *end = strchr(path + 1, '/');; end = strchr(end + 1, '/')) {
        if (end)
            *end = '\0';
        if (mkdir(path, 0700) && errno != EEXIST)
            return fault_os(why, ML_ERR_SYSTEM, errno, "cannot make the directory for logs, %.400s",
                            path);
        if (!end)
            break;
        *end = '/';
    }
    if (lstat(path, &st) || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
        ((st.st_mode & 077) && chmod(path, 0700)))
        return fault_set(why, ML_ERR_SYSTEM,
                         "%.400s must be a directory of yours that is closed to others", path);
    return 0;
}

bool log_directory_is_running(const char *path)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool locked = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;

    if (fd >= 0)
        close(fd);
    return locked;
}

static int64_t size_of(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISREG(st.st_mode) ? (int64_t)st.st_size : 0;
}

/* "ID.log", "ID.NAME.log" */
static bool file_read(struct log_entry *e, const char *directory, const char *file)
{
    size_t length = strlen(file), id = strcspn(file, "."), end = length - (sizeof(suffix) - 1);
    char older[PATH_MAX + sizeof(LOG_OLDER_PART)];
    struct stat st;

    if (length < sizeof(suffix) || strcmp(file + end, suffix) != 0 || id == 0 || id >= AUTH_JOB)
        return false;
    *e = (struct log_entry){0};
    memcpy(e->id, file, id);
    if (end > id) {
        if (end - id > JOB_NAME)
            return false;
        memcpy(e->name, file + id + 1, end - id - 1);
        if (!job_file_is_name(e->name))
            return false;
    }
    if (snprintf(e->path, sizeof(e->path), "%s/%s", directory, file) >= (int)sizeof(e->path) ||
        lstat(e->path, &st) || !S_ISREG(st.st_mode))
        return false;
    snprintf(older, sizeof(older), "%s" LOG_OLDER_PART, e->path);
    e->size = (int64_t)st.st_size + size_of(older);
    e->written_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    e->is_running = log_directory_is_running(e->path);
    return true;
}

/* An id begins with the second of the job's start; within that the log decides. */
static int compare_entries(const void *a, const void *b)
{
    const struct log_entry *x = a, *y = b;
    int order = strncmp(x->id, y->id, strcspn(x->id, "-"));

    return order ? order : (x->written_ns > y->written_ns) - (x->written_ns < y->written_ns);
}

static int entry_add(struct log_list *l, const struct log_entry *e, struct fault *why)
{
    struct log_entry *more = realloc(l->entries, ((size_t)l->count + 1) * sizeof(*more));

    if (!more)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    l->entries = more;
    l->entries[l->count++] = *e;
    return 0;
}

int log_directory_list(struct log_list *out, struct fault *why)
{
    char path[PATH_MAX];
    struct log_entry e;
    struct dirent *entry;
    DIR *dir;
    int rc = path_find(path, why);

    *out = (struct log_list){0};
    if (rc)
        return rc;
    dir = opendir(path);
    if (!dir && errno != ENOENT)
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot read the directory of logs, %.400s",
                        path);
    while (!rc && dir && (entry = readdir(dir))) {
        if (file_read(&e, path, entry->d_name))
            rc = entry_add(out, &e, why);
    }
    if (dir)
        closedir(dir);
    if (out->count)
        qsort(out->entries, (size_t)out->count, sizeof(*out->entries), compare_entries);
    return rc;
}

const struct log_entry *log_directory_choose(const struct log_list *l, const char *job)
{
    const struct log_entry *chosen = NULL;

    for (int i = l->count - 1; i >= 0; i--) {
        const struct log_entry *e = &l->entries[i];

        if ((strcmp(e->id, job) == 0 || strcmp(e->name, job) == 0) &&
            (!chosen || (e->is_running && !chosen->is_running)))
            chosen = e;
    }
    return chosen;
}

int log_directory_running(const struct log_list *l, const char *name, char *ids, size_t size)
{
    size_t used = 0;
    int count = 0;

    ids[0] = '\0';
    for (int i = 0; i < l->count; i++) {
        const struct log_entry *e = &l->entries[i];

        if (!e->is_running || strcmp(e->name, name) != 0)
            continue;
        count++;
        if (used < size)
            used += (size_t)snprintf(ids + used, size - used, "%s%s", used ? ", " : "", e->id);
    }
    return count;
}

int log_directory_remove(const struct log_entry *e)
{
    char older[PATH_MAX + sizeof(LOG_OLDER_PART)];

    snprintf(older, sizeof(older), "%s" LOG_OLDER_PART, e->path);
    unlink(older);
    return unlink(e->path) && errno != ENOENT ? errno : 0;
}

void log_directory_each_surplus(const struct log_list *l,
                                void (*found)(const struct log_entry *e, void *arg), void *arg)
{
    int64_t size = 0;
    int count = 0;

    for (int i = l->count - 1; i >= 0; i--) {
        if (l->entries[i].is_running)
            continue;
        size += l->entries[i].size;
        if (++count > 1 && (count > LOGS_MOST || size > LOGS_SIZE_MOST))
            found(&l->entries[i], arg);
    }
}

static void surplus_remove(const struct log_entry *e, void *arg)
{
    (void)arg;
    log_directory_remove(e);
}

void log_directory_bound(void)
{
    struct log_list l;
    struct fault why;

    if (log_directory_list(&l, &why) == 0)
        log_directory_each_surplus(&l, surplus_remove, NULL);
    free(l.entries);
}
