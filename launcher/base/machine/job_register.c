/* SPDX-License-Identifier: MIT */
#include "launcher/base/machine/job_register.h"

#include "common/clock.h"
#include "common/log.h"
#include "launcher/base/machine/pid_domain_linux.h"
#include "launcher/base/machine/place_lock.h"
#include "launcher/base/machine/process_linux.h"
#include "launcher/base/process/pidfd_linux.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    TRIES = 20,
    ENTRY_LIMIT = 32 << 20, /* bytes; 65,536 hosts with long names take less */
    LOOK_MS = 50,
};

static const char prefix[] = "run.";

void job_register_describe(struct register_entry *e)
{
    struct process self = {0};

    process_read(&self, getpid());
    e->file.agent_pid = getpid();
    e->file.agent_start_time = self.start_time;
    e->file.started_at = time(NULL);
    pid_domain_write(&e->file);
}

static void parent_of(char parent[USER_DIRECTORY_PATH], const char *path)
{
    snprintf(parent, USER_DIRECTORY_PATH, "%s", path);
    *strrchr(parent, '/') = '\0';
}

/* Where an entry is already, or else the user's directory, also if a tidy system has removed that
 * with the entry. */
static int directory_choose(char directory[USER_DIRECTORY_PATH], const struct job_register *r,
                            const char *base, struct fault *why)
{
    if (r->path[0])
        parent_of(directory, r->path);
    return r->path[0] && access(directory, F_OK) == 0 ? 0
                                                      : user_directory_make(directory, base, why);
}

static void directory_lock(struct job_register *r, bool is_new)
{
    char directory[USER_DIRECTORY_PATH];

    if (is_new)
        r->lock = -1;
    if (place_lock_is_there(r->lock))
        return;
    place_lock_drop(&r->lock);
    parent_of(directory, r->path);
    r->lock = place_lock_directory(directory);
}

int job_register_write(struct job_register *r, const char *base, const struct register_entry *e,
                       struct fault *why)
{
    char directory[USER_DIRECTORY_PATH] = "", name[sizeof(prefix) + AUTH_JOB];
    char *text = register_entry_text(e);
    bool is_new = !r->path[0];
    int rc = text ? ML_ERR_SYSTEM : fault_set(why, ML_ERR_MEMORY, "out of memory");

    snprintf(name, sizeof(name), "%s%s", prefix, e->file.job);
    /* Repeated, because an agent that ends may remove the user's directory in between. */
    for (int i = 0; i < TRIES && text && rc; i++) {
        rc = directory_choose(directory, r, base, why);
        if (rc)
            break;
        rc = job_file_put(directory, name, text, why);
        if (rc && access(directory, F_OK) == 0) {
            rmdir(directory); /* it may have been made just now */
            break;
        }
    }
    free(text);
    if (!rc && snprintf(r->path, sizeof(r->path), "%s/%s", directory, name) >= (int)sizeof(r->path))
        r->path[0] = '\0';
    if (!rc && r->path[0])
        directory_lock(r, is_new);
    return rc;
}

static void door_path(const char *path, char *out, size_t size)
{
    snprintf(out, size, "%s.door", path);
}

void job_register_door(const struct job_register *r, char *out, size_t size)
{
    out[0] = '\0';
    if (r->path[0])
        door_path(r->path, out, size);
}

/* Removes it, and the user's directory above it if that was the last in it. */
static void entry_leave(const char *path)
{
    char parent[USER_DIRECTORY_PATH];

    parent_of(parent, path);
    user_directory_leave(parent, strrchr(path, '/') + 1);
}

void job_register_touch(struct job_register *r)
{
    char name[USER_DIRECTORY_PATH + sizeof(".door")];

    if (!r->path[0])
        return;
    directory_lock(r, false);
    door_path(r->path, name, sizeof(name));
    utimensat(AT_FDCWD, name, NULL, AT_SYMLINK_NOFOLLOW);
    utimensat(AT_FDCWD, r->path, NULL, AT_SYMLINK_NOFOLLOW);
    parent_of(name, r->path);
    utimensat(AT_FDCWD, name, NULL, AT_SYMLINK_NOFOLLOW);
}

void job_register_remove(struct job_register *r)
{
    if (!r->path[0])
        return;
    entry_leave(r->path);
    place_lock_drop(&r->lock);
    r->path[0] = '\0';
}

/* Whether its pid is that of the process which wrote the entry, and that runs. */
static bool is_alive(const struct register_entry *e)
{
    struct process p;
    uid_t user;

    return process_read(&p, (pid_t)e->file.agent_pid) && !p.has_ended &&
           p.start_time == e->file.agent_start_time && process_user(p.pid, &user) &&
           user == geteuid();
}

static int found_add(struct register_list *l, struct register_found *one, struct fault *why)
{
    struct register_found *more = realloc(l->found, (l->count + 1) * sizeof(*more));

    if (!more) {
        register_entry_clear(&one->entry);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    l->found = more;
    l->found[l->count++] = *one;
    return 0;
}

/* Reads one file. What is left aside is a reason to say so, not to fail. */
static int file_add(struct register_list *l, int directory_fd, const char *directory,
                    const char *name, const struct job_file *here, struct fault *why)
{
    struct register_found one = {0};
    enum pid_domain domain;
    json_t *object = NULL;
    struct fault bad;
    struct stat st;
    int rc;

    if (snprintf(one.path, sizeof(one.path), "%s/%s", directory, name) >= (int)sizeof(one.path) ||
        fstatat(directory_fd, name, &st, AT_SYMLINK_NOFOLLOW))
        return 0; /* it has just been removed */
    if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077)) {
        log_info("%s is left aside: it is not a file of yours that is closed to others", one.path);
        return 0;
    }
    rc = job_file_json(&object, directory, name, ENTRY_LIMIT, &bad);
    if (!rc)
        rc = register_entry_take(&one.entry, one.path, object, &bad);
    if (!rc && strcmp(one.entry.file.job, name + strlen(prefix)) != 0) {
        rc = fault_set(&bad, ML_ERR_SYSTEM, "it is of another job");
        register_entry_clear(&one.entry);
    }
    json_decref(object);
    if (rc) {
        if (access(one.path, F_OK) == 0)
            log_info("%s is left aside: %s", one.path, bad.text);
        return 0;
    }
    domain = pid_domain_compare(&one.entry.file, here);
    if (domain == PID_DOMAIN_ELSEWHERE) {
        log_info("%s is left aside: its mlaunch runs in another container or on another machine",
                 one.path);
        register_entry_clear(&one.entry);
        return 0;
    }
    one.lives = domain == PID_DOMAIN_HERE && is_alive(&one.entry);
    return found_add(l, &one, why);
}

struct listing {
    struct register_list *list;
    struct job_file here;
    char own[32]; /* how the names of this user's directories begin */
};

/* Adds the entries of one directory of this user's, if nobody else can have written to it. */
static int directory_add(const char *path, void *listing, struct fault *why)
{
    const struct listing *into = listing;
    const char *user = strrchr(path, '/') + 1;
    size_t length = strlen(into->own);
    int fd, rc = 0;
    struct dirent *entry;
    struct stat st;
    DIR *dir;

    if (strncmp(user, into->own, length) != 0 || (user[length] && user[length] != '.'))
        return 0; /* another user's */
    fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return 0;
    if (fstat(fd, &st) || st.st_uid != geteuid() || (st.st_mode & 077) || !(dir = fdopendir(fd))) {
        log_info("%s is left aside: it is not a directory of yours that is closed to others", path);
        close(fd);
        return 0;
    }
    while (!rc && (entry = readdir(dir))) {
        const char *name = entry->d_name;

        if (strncmp(name, prefix, strlen(prefix)) == 0 && !strchr(name + strlen(prefix), '.'))
            rc = file_add(into->list, fd, path, name, &into->here, why);
    }
    closedir(dir);
    return rc;
}

static int compare_found(const void *a, const void *b)
{
    const struct job_file *x = &((const struct register_found *)a)->entry.file,
                          *y = &((const struct register_found *)b)->entry.file;

    return x->started_at != y->started_at ? (x->started_at > y->started_at ? 1 : -1)
                                          : strcmp(x->job, y->job);
}

int job_register_list(struct register_list *out, const char *base, struct fault *why)
{
    struct listing into = {.list = out};
    int rc;

    *out = (struct register_list){0};
    pid_domain_write(&into.here);
    snprintf(into.own, sizeof(into.own), "mlaunch-%u", (unsigned)geteuid());
    rc = user_directory_each(base, directory_add, &into, why);
    if (rc == ML_ERR_SYSTEM)
        rc = 0; /* without `base` there are none */
    if (rc)
        job_register_list_clear(out);
    else if (out->count)
        qsort(out->found, out->count, sizeof(*out->found), compare_found);
    return rc;
}

void job_register_list_clear(struct register_list *l)
{
    for (size_t i = 0; i < l->count; i++)
        register_entry_clear(&l->found[i].entry);
    free(l->found);
    *l = (struct register_list){0};
}

bool job_register_is_asked(const struct register_found *f, const char *job)
{
    return !*job || strcmp(f->entry.file.job, job) == 0 || strcmp(f->entry.file.name, job) == 0;
}

/* False: it has ended. */
static bool launcher_read(struct process *out, const struct register_found *f)
{
    return is_alive(&f->entry) && process_read(out, (pid_t)f->entry.file.agent_pid) &&
           out->start_time == f->entry.file.agent_start_time;
}

int job_register_signal(const struct register_found *f, int signal)
{
    struct process p;

    if (!launcher_read(&p, f))
        return -1;
    process_signal(&p, signal); /* by a pidfd, after another look at who has the pid */
    return 0;
}

int job_register_signal_value(const struct register_found *f, int signal, int value)
{
    struct process p;

    if (!launcher_read(&p, f))
        return -1;
    process_signal_value(&p, signal, value);
    return 0;
}

bool job_register_await(const struct register_found *f, int ms)
{
    int64_t deadline_ms = clock_ms() + ms;
    struct pollfd end = {.fd = pidfd_linux_open((pid_t)f->entry.file.agent_pid), .events = POLLIN};

    while (is_alive(&f->entry) && clock_left_ms(deadline_ms) > 0) {
        int left = clock_left_ms(deadline_ms);

        /* Without pidfds the process is looked at now and then. */
        poll(&end, 1, end.fd < 0 && left > LOOK_MS ? LOOK_MS : left);
    }
    if (end.fd >= 0)
        close(end.fd);
    return !is_alive(&f->entry);
}

int job_register_forget(const struct register_found *f)
{
    char door[USER_DIRECTORY_PATH + sizeof(".door")];

    door_path(f->path, door, sizeof(door));
    entry_leave(door);
    entry_leave(f->path);
    return access(f->path, F_OK) == 0 ? EACCES : 0;
}
