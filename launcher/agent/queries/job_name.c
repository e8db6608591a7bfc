/* SPDX-License-Identifier: MIT */
#include "launcher/agent/queries/job_name.h"

#include "launcher/agent/queries/job_survey.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* The user's directory above `dir`, locked. The agents hold the lock for a moment only. */
static int directory_lock(int *out, const char *dir, struct fault *why)
{
    char parent[JOB_DIRECTORY_PATH];
    int fd, rc;

    snprintf(parent, sizeof(parent), "%s", dir);
    *strrchr(parent, '/') = '\0';
    fd = open(parent, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot open %s", parent);
    do
        rc = flock(fd, LOCK_EX);
    while (rc && errno == EINTR);
    if (rc) {
        rc = fault_os(why, ML_ERR_SYSTEM, errno, "cannot lock %s", parent);
        close(fd);
        return rc;
    }
    *out = fd;
    return 0;
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
    int rc = directory_lock(lock, dir, why);

    if (rc)
        return rc;
    rc = job_survey_open(&s, "/tmp", why);
    for (int i = 0; !rc && i < s->job_count; i++) {
        if (has_name(&s->jobs[i], job, name))
            rc = fault_set(why, ML_ERR_STATE,
                           "your job %s runs here under the name %s: choose another --name, or end "
                           "it by mlaunch kill %s",
                           s->jobs[i].file.job, name, name);
    }
    job_survey_close(s);
    if (rc)
        close(*lock);
    return rc;
}
