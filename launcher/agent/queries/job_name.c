/* SPDX-License-Identifier: MIT */
#include "launcher/agent/queries/job_name.h"

#include "launcher/agent/queries/job_survey.h"
#include "launcher/base/machine/place_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { NAMES_PATH = JOB_DIRECTORY_PATH + 16 };

/* A file in the user's directory above `dir`, since all agents that live hold a shared lock on that
 * directory (job_directory_lock). */
static void file_call(char path[NAMES_PATH], const char *dir)
{
    snprintf(path, NAMES_PATH, "%.*s/" JOB_NAME_FILE, (int)(strrchr(dir, '/') - dir), dir);
}

/* The agents hold the lock for a moment only. Who has had it removes the file: who has waited for
 * that one opens the next. */
static int names_lock(int *out, const char *path, struct fault *why)
{
    for (;;) {
        int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600), rc;

        if (fd < 0)
            return fault_os(why, ML_ERR_SYSTEM, errno, "cannot open %s", path);
        do
            rc = flock(fd, LOCK_EX);
        while (rc && errno == EINTR);
        if (rc) {
            rc = fault_os(why, ML_ERR_SYSTEM, errno, "cannot lock %s", path);
            close(fd);
            return rc;
        }
        if (place_lock_is_there(fd)) {
            *out = fd;
            return 0;
        }
        close(fd);
    }
}

/* Agents of one job may share a machine, and one of an earlier run may still be ending. */
static bool has_name(const struct job_survey_job *j, const char *job, const char *name)
{
    return j->state == JOB_SURVEY_LIVE && j->user == geteuid() && strcmp(j->file.name, name) == 0 &&
           strcmp(j->file.job, job) != 0;
}

int job_name_claim(int *lock, const char *dir, const char *job, const char *name, struct fault *why)
{
    struct job_survey *s = NULL;
    char path[NAMES_PATH];
    int rc;

    file_call(path, dir);
    rc = names_lock(lock, path, why);
    if (rc)
        return rc;
    rc = job_survey_open_own(&s, "/tmp", why);
    for (int i = 0; !rc && i < s->job_count; i++) {
        if (has_name(&s->jobs[i], job, name))
            rc = fault_set(why, ML_ERR_STATE,
                           "your job %s runs here under the name %s: choose another --name, or end "
                           "it by mlaunch kill %s",
                           s->jobs[i].file.job, name, name);
    }
    job_survey_close(s);
    if (rc)
        job_name_release(*lock, dir);
    return rc;
}

void job_name_release(int lock, const char *dir)
{
    char path[NAMES_PATH];

    file_call(path, dir);
    unlink(path);
    close(lock);
}
