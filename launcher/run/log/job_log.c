/* SPDX-License-Identifier: MIT */
#include "launcher/run/log/job_log.h"

#include "launcher/run/log/log_directory.h"
#include "launcher/run/log/log_reserve_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const off_t PART_SIZE = 64 << 20;

/* O_APPEND: standard output and standard error are written by several threads, and the user may
 * empty the file. */
static int file_create(struct job_log *l, struct fault *why)
{
    char path[PATH_MAX + 8];
    int err = 0;

    snprintf(path, sizeof(path), "%s.new", l->path);
    unlink(path);
    l->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    if (l->fd < 0)
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot write %.400s", path);
    l->lock = open(path, O_WRONLY | O_CLOEXEC);
    if (l->lock < 0 || flock(l->lock, LOCK_EX | LOCK_NB))
        err = errno;
    else
        err = log_reserve_take(l->lock);
    if (!err && rename(path, l->path))
        err = errno;
    if (!err)
        return 0;
    job_log_close(l);
    unlink(path);
    return fault_os(why, ML_ERR_SYSTEM, err,
                    err == EWOULDBLOCK ? "cannot lock %.400s" : "cannot write %.400s", path);
}

int job_log_open(struct job_log *out, const char *id, const char *name, struct fault *why)
{
    struct job_log l = {.fd = -1, .lock = -1};
    int rc = log_directory_find(l.path, why);
    size_t used = strlen(l.path);

    if (rc)
        return rc;
    snprintf(l.path + used, sizeof(l.path) - used, "/%s%s%s.log", id, name ? "." : "",
             name ? name : "");
    rc = file_create(&l, why);
    if (!rc)
        *out = l;
    return rc;
}

void job_log_take(struct job_log *l)
{
    dup2(l->fd, STDOUT_FILENO);
    dup2(l->fd, STDERR_FILENO);
    close(l->fd);
    l->fd = -1;
}

void job_log_bound(struct job_log *l)
{
    struct job_log next = *l;
    char older[PATH_MAX + sizeof(LOG_OLDER_PART)];
    struct fault why;
    struct stat st;

    if (fstat(STDOUT_FILENO, &st) || st.st_size < PART_SIZE)
        return;
    snprintf(older, sizeof(older), "%s" LOG_OLDER_PART, l->path);
    unlink(older);
    if (link(l->path, older) || file_create(&next, &why))
        return; /* the log still grows */
    job_log_close(l);
    *l = next;
    job_log_take(l);
}

/* Returns 0 or an errno; what has been written is then missing at the beginning of *text. */
static int text_append(const char **text)
{
    while (**text) {
        ssize_t n = write(STDERR_FILENO, *text, strlen(*text));

        if (n < 0 && errno != EINTR)
            return errno;
        *text += n > 0 ? n : 0;
    }
    return 0;
}

void job_log_end(const char *line)
{
    const char *rest = line, *said = NULL;
    char text[256];
    int err = text_append(&rest);

    if (!err)
        return;
    log_reserve_give_back(STDERR_FILENO);
    snprintf(text, sizeof(text), "%smlaunch: lines are missing before this one: %s\n",
             rest == line ? "" : "\n", strerror(err));
    said = text;
    (void)text_append(&said);
    (void)text_append(&line);
}

void job_log_close(struct job_log *l)
{
    if (l->fd >= 0)
        close(l->fd);
    if (l->lock >= 0)
        close(l->lock);
    l->fd = l->lock = -1;
}
