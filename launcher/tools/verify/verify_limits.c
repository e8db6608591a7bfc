/* SPDX-License-Identifier: MIT */
/* verify_limits.c: whether ranks may use what they need. */
#include "launcher/base/text/amount.h"
#include "launcher/tools/verify/verify_groups.h"

#include <stdio.h>

/* memlock: what a rank registers with a device for 16 peers, each with rings of its own.
 * nofile_least, nproc_least: a program with its library's threads and files. */
static const double memlock_least = 64 << 20, room_least = 64 << 20;
static const double nofile_least = 256, nproc_least = 256, nofile_of_rank = 4;

/* The ranks of a job that uses all hosts. */
static double ranks_count(const struct verify *v)
{
    double count = 0;

    for (int i = 0; i < v->c.hosts->count; i++)
        count += v->c.hosts->hosts[i].slots ? v->c.hosts->hosts[i].slots
                                            : (double)v->survey.hosts[i].cores;
    return count;
}

static void bytes_check(struct verify *v, int host, enum finding_kind kind, const char *what,
                        double bytes, double least)
{
    char there[AMOUNT], wanted[AMOUNT];

    if (bytes < least)
        verify_add(v, kind, host, "%s %s (at least %s)", what, amount_size(there, bytes),
                   amount_size(wanted, least));
}

/* A place where jobs make files: whether they can, and else whether there is much room. */
static void place_check(struct verify *v, int host, const char *place, const char *refused,
                        enum finding_kind kind, double bytes, enum finding_kind full)
{
    char there[AMOUNT], wanted[AMOUNT];

    if (refused[0])
        verify_add(v, kind, host, "no file can be made in %s: %s", place, refused);
    else if (bytes < room_least)
        verify_add(v, full, host, "%s has only %s free, and jobs need %s", place,
                   amount_size(there, bytes), amount_size(wanted, room_least));
}

static void count_check(struct verify *v, int host, enum finding_kind kind, const char *what,
                        double count, double least)
{
    if (count < least)
        verify_add(v, kind, host, "%s %.0f (at least %.0f)", what, count, least);
}

static void cgroup_check(struct verify *v, int host, const struct host_facts *h)
{
    char there[AMOUNT];

    if (h->limits.cgroup_cpus < (double)h->cores)
        verify_add(v, FINDING_CGROUP, host, "its control group allows %.1f of its %lld processors",
                   h->limits.cgroup_cpus, h->cores);
    if (h->limits.cgroup_memory < h->memory)
        verify_add(v, FINDING_CGROUP, host, "its control group allows %s of its %s of memory",
                   amount_size(there, h->limits.cgroup_memory), h->text[HOST_MEMORY]);
}

void verify_limits(struct verify *v)
{
    double ranks = ranks_count(v), files = nofile_of_rank * ranks;

    for (int i = 0; i < v->c.hosts->count; i++) {
        const struct host_facts *h = &v->survey.hosts[i];
        const struct host_limits *l = &h->limits;

        if (!h->is_known)
            continue;
        if (h->device_count > 0)
            bytes_check(v, i, FINDING_MEMLOCK, "a rank may lock", l->memlock, memlock_least);
        count_check(v, i, FINDING_NOFILE, "the number of open files is limited to", l->nofile,
                    files > nofile_least ? files : nofile_least);
        count_check(v, i, FINDING_NPROC, "the number of processes is limited to", l->nproc,
                    nproc_least);
        place_check(v, i, "/dev/shm", l->no_shm, FINDING_NO_SHM, l->shm_free, FINDING_SHM);
        place_check(v, i, l->tmp[0] ? l->tmp : "/tmp", l->no_tmp, FINDING_NO_TMP, l->tmp_free,
                    FINDING_TMP);
        place_check(v, i, "the home directory", l->no_cache, FINDING_NO_CACHE, l->cache_free,
                    FINDING_CACHE);
        cgroup_check(v, i, h);
        if (l->no_process_read[0])
            verify_add(v, FINDING_PROCESS_READ, i,
                       "long messages between its ranks are copied twice, as processes cannot "
                       "read each other's memory (%s)",
                       l->no_process_read);
    }
}
