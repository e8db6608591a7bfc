/* SPDX-License-Identifier: MIT */
#include "launcher/base/machine/pid_domain_linux.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>

void pid_domain_write(struct job_file *j)
{
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    struct utsname system;
    struct stat st;

    j->pid_namespace = stat("/proc/self/ns/pid", &st) ? 0 : st.st_ino;
    j->boot[0] = '\0';
    if (f) {
        if (fscanf(f, "%39s", j->boot) != 1)
            j->boot[0] = '\0';
        fclose(f);
    }
    uname(&system);
    snprintf(j->node, sizeof(j->node), "%s", system.nodename);
}

static int64_t boot_time(void)
{
    struct timespec since_boot;

    return clock_gettime(CLOCK_BOOTTIME, &since_boot) ? 0 : time(NULL) - since_boot.tv_sec;
}

enum pid_domain pid_domain_compare(const struct job_file *j, const struct job_file *here)
{
    /* Without a boot id nothing can be compared. */
    if (!j->boot[0] || !here->boot[0])
        return PID_DOMAIN_ELSEWHERE;
    if (strcmp(j->boot, here->boot) != 0)
        return strcmp(j->node, here->node) == 0 && j->started_at < boot_time()
                   ? PID_DOMAIN_PAST
                   : PID_DOMAIN_ELSEWHERE;
    return j->pid_namespace == here->pid_namespace ? PID_DOMAIN_HERE : PID_DOMAIN_ELSEWHERE;
}
