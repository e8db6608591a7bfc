/* SPDX-License-Identifier: MIT */
#include "launcher/agent/host/staged_place.h"

#include "common/text/number.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

static int room_check(const struct staged_place *p, const char *place, int mib, struct fault *why)
{
    uint64_t needed = (uint64_t)mib << 20, room;
    char needs[NUMBER_SIZE], has[NUMBER_SIZE];
    struct statvfs fs;

    if (statvfs(p->directory, &fs))
        return 0;
    if (fs.f_flag & ST_NOEXEC)
        return fault_set(why, ML_ERR_SYSTEM,
                         "--stage-env copies %s to %s, which is mounted noexec there: remount it "
                         "with exec, or name another place with --tmpdir",
                         p->path, place);
    room = (uint64_t)fs.f_bavail * fs.f_frsize;
    if (needed > room)
        return fault_set(why, ML_ERR_SYSTEM,
                         "--stage-env copies %s of %s to %s, where only %s are free: make room "
                         "there, or name another place with --tmpdir",
                         number_size(needs, needed), p->path, place, number_size(has, room));
    return 0;
}

int staged_place_open(struct staged_place **out, const char *job_dir, const char *path,
                      const char *name, int mib, struct fault *why)
{
    struct staged_place *p = calloc(1, sizeof(*p));
    int rc;

    if (!p)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    p->path = path;
    snprintf(p->directory, sizeof(p->directory), "%s/env", job_dir);
    snprintf(p->copy, sizeof(p->copy), "%s/%s", p->directory, name);
    if (mkdir(p->directory, 0700))
        rc = fault_os(why, ML_ERR_SYSTEM, errno, "cannot make %s", p->directory);
    else
        rc = room_check(p, job_dir, mib, why);
    if (rc)
        free(p);
    else
        *out = p;
    return rc;
}

const char *staged_place_shown(const struct staged_place *p)
{
    return p->is_seen ? p->path : p->copy;
}

char *staged_place_program(const struct staged_place *p, const char *cwd, const char *program)
{
    size_t size = strlen(p->path);
    char *full = NULL, *found = NULL;

    while (strncmp(program, "./", 2) == 0)
        program += 1 + strspn(program + 1, "/");
    if (!strchr(program, '/') || asprintf(&full, "%s%s%s", program[0] == '/' ? "" : cwd,
                                          program[0] == '/' ? "" : "/", program) < 0)
        return NULL;
    if (strncmp(full, p->path, size) != 0 || full[size] != '/' ||
        asprintf(&found, "%s%s", p->copy, full + size) < 0)
        found = NULL;
    free(full);
    return found;
}
