/* SPDX-License-Identifier: MIT */
#include "launcher/pmix/job_info.h"

#include "common/text/text_json.h"
#include "launcher/pmix/info_list.h"

#include <pmix_version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int refused(const char *what, pmix_status_t status, struct fault *why)
{
    return fault_set(why, ML_ERR_SYSTEM, "libpmix refuses %s: %s", what, PMIx_Error_string(status));
}

/* "0,1;2,3": the ranks of each host; with `host` >= 0 those of one: "2,3". NULL: out of memory. */
static char *ranks_text(const struct served_job *j, int host)
{
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);

    if (!to)
        return NULL;
    for (int h = 0; h < j->hosts; h++) {
        const char *before = "";

        if (host >= 0 && h != host)
            continue;
        if (host < 0 && h > 0)
            fputc(';', to);
        for (int i = 0; i < j->size; i++) {
            if (j->host_of[i] != h)
                continue;
            fprintf(to, "%s%d", before, i);
            before = ",";
        }
    }
    return fclose(to) == 0 ? text : NULL;
}

static char *names_text(const struct served_job *j)
{
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);

    if (!to)
        return NULL;
    for (int h = 0; h < j->hosts; h++)
        fprintf(to, "%s%s", h ? "," : "", j->names[h]);
    return fclose(to) == 0 ? text : NULL;
}

/* Which ranks run on which host. */
static int map_add(struct info_list *l, const struct served_job *j, struct fault *why)
{
    char *names = names_text(j), *ranks = ranks_text(j, -1), *peers = ranks_text(j, j->host);
    char *nodes = NULL, *processes = NULL;
    pmix_status_t status = PMIX_ERR_NOMEM;

    if (names && ranks && peers)
        status = PMIx_generate_regex(names, &nodes);
    if (status == PMIX_SUCCESS)
        status = PMIx_generate_ppn(ranks, &processes);
    if (status == PMIX_SUCCESS) {
        info_list_expression(l, PMIX_NODE_MAP, nodes);
        info_list_expression(l, PMIX_PROC_MAP, processes);
        info_list_text(l, PMIX_LOCAL_PEERS, peers);
    }
    free(names);
    free(ranks);
    free(peers);
    free(nodes);
    free(processes);
    return status == PMIX_SUCCESS ? 0 : refused("the map of the ranks", status, why);
}

/* Which caches and memory its CPUs have, for ranks that are bound. Open MPI 4 does not know the
 * prefix that libpmix 4 puts before it. */
static void locality_add(struct info_list *l, const char *cpus)
{
#if PMIX_NUMERIC_VERSION >= 0x00040200
    static const char prefix[] = "hwloc:";
    char text[4096], *locality = NULL, *at;
    pmix_cpuset_t set;

    PMIX_CPUSET_CONSTRUCT(&set);
    snprintf(text, sizeof(text), "%s%s", prefix, cpus);
    if (PMIx_Parse_cpuset_string(text, &set) == PMIX_SUCCESS &&
        PMIx_server_generate_locality_string(&set, &locality) == PMIX_SUCCESS && locality) {
        at = strncmp(locality, prefix, strlen(prefix)) == 0 ? locality + strlen(prefix) : locality;
        info_list_text(l, PMIX_LOCALITY_STRING, at);
        free(locality);
    }
    PMIx_Cpuset_destruct(&set);
#endif
    info_list_text(l, PMIX_CPUSET, cpus);
}

static void ranks_add(struct info_list *l, const struct served_job *j, int *placed)
{
    for (int rank = 0; rank < j->size; rank++) {
        int host = j->host_of[rank], index = served_job_index(j, (uint32_t)rank);
        uint16_t local = (uint16_t)placed[host]++;
        struct info_list one = {0};

        info_list_rank(&one, PMIX_RANK, (pmix_rank_t)rank);
        info_list_u32(&one, PMIX_NODEID, (uint32_t)host);
        info_list_text(&one, PMIX_HOSTNAME, j->names[host]);
        info_list_u16(&one, PMIX_LOCAL_RANK, local);
        info_list_u16(&one, PMIX_NODE_RANK, local);
        if (index >= 0)
            info_list_u32(&one, PMIX_APPNUM, (uint32_t)j->ranks[index].app);
        if (index >= 0 && j->ranks[index].cpus[0])
            locality_add(&one, j->ranks[index].cpus);
        info_list_array(l, PMIX_PROC_DATA, &one);
    }
}

static void job_add(struct info_list *l, const struct served_job *j)
{
    uint32_t size = (uint32_t)j->size;

    info_list_text(l, PMIX_JOBID, j->space);
    info_list_u32(l, PMIX_JOB_SIZE, size);
    info_list_u32(l, PMIX_UNIV_SIZE, size);
    info_list_u32(l, PMIX_MAX_PROCS, size);
    info_list_u32(l, PMIX_LOCAL_SIZE, (uint32_t)j->rank_count);
    info_list_u32(l, PMIX_NUM_NODES, (uint32_t)j->hosts);
    info_list_u32(l, PMIX_JOB_NUM_APPS, (uint32_t)j->app_count);
    /* Without directories of ours MPI's library would make some, and leave them. */
    info_list_flag(l, PMIX_TDIR_RMCLEAN, true);
    info_list_text(l, PMIX_TMPDIR, j->dir);
    info_list_text(l, PMIX_NSDIR, j->dir);
}

int job_info_register(const struct served_job *j, struct fault *why)
{
    int *placed = calloc((size_t)j->hosts, sizeof(*placed));
    struct info_list l = {0};
    pmix_proc_t proc;
    pmix_status_t status;
    int rc = placed ? map_add(&l, j, why) : fault_set(why, ML_ERR_MEMORY, "out of memory");

    if (rc) {
        free(placed);
        info_list_free(&l);
        return rc;
    }
    job_add(&l, j);
    ranks_add(&l, j, placed);
    free(placed);
    PMIX_LOAD_PROCID(&proc, j->space, PMIX_RANK_WILDCARD);
    status = l.failed ? PMIX_ERR_NOMEM
                      : PMIx_server_register_nspace(proc.nspace, j->rank_count, l.list, l.count,
                                                    NULL, NULL);
    info_list_free(&l);
    if (status != PMIX_SUCCESS && status != PMIX_OPERATION_SUCCEEDED)
        return refused("the job", status, why);
    for (int i = 0; i < j->rank_count; i++) {
        proc.rank = (pmix_rank_t)j->ranks[i].rank;
        status = PMIx_server_register_client(&proc, geteuid(), getegid(), NULL, NULL, NULL);
        if (status != PMIX_SUCCESS && status != PMIX_OPERATION_SUCCEEDED)
            return refused("a rank", status, why);
    }
    return 0;
}

json_t *job_info_environment(const struct served_job *j, int index, struct fault *why)
{
    json_t *list = json_array();
    char **env = NULL;
    pmix_proc_t proc;
    pmix_status_t status;

    PMIX_LOAD_PROCID(&proc, j->space, (pmix_rank_t)j->ranks[index].rank);
    status = PMIx_server_setup_fork(&proc, &env);
    for (char **entry = env; entry && *entry; entry++) {
        json_array_append_new(list, text_json(*entry));
        free(*entry);
    }
    free(env);
    if (status == PMIX_SUCCESS && list)
        return list;
    json_decref(list);
    refused("a rank's environment", status, why);
    return NULL;
}
