/* SPDX-License-Identifier: MIT */
/*
 * fuzz_agent_job.c: any bytes as LAUNCH_JOB. If the message is accepted, no index is out of range,
 * and the ranks' environments and files can be made from it.
 */
#include "launcher/agent/rank/framework_variables.h"
#include "launcher/agent/rank/rank_command.h"
#include "launcher/agent/rank/rank_environment.h"
#include "launcher/wire/protocol/job_spec.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* --words and --wrap. */
static void check_command(const struct job_spec *m)
{
    char **argv = rank_command_create(m, &m->ranks[0], "prog", "/", "127.0.0.1:1", 10000);

    if (!argv || !argv[0])
        abort();
    rank_command_destroy(argv);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_ranks(const struct job_spec *m)
{
    for (int i = 0; i < m->rank_count; i++) {
        const struct job_rank *r = &m->ranks[i];

        if (r->rank < 0 || r->rank >= m->size || m->host_of[r->rank] != m->host ||
            r->local_rank < 0 || r->local_rank >= m->rank_count || r->app < 0 ||
            r->app >= m->app_count || !m->apps[r->app].argv[0][0])
            abort();
    }
    for (int i = 0; i < m->size; i++) {
        if (m->host_of[i] < 0 || m->host_of[i] >= m->hosts)
            abort();
    }
    for (int i = 0; i < m->file_count; i++) { /* the names become a part of a path */
        if (!m->files[i].name[0] || strchr(m->files[i].name, '/') ||
            strcmp(m->files[i].name, "..") == 0 || m->files[i].size > INT64_MAX)
            abort();
        if (m->files[i].beside < -1 || m->files[i].beside >= i || !m->files[i].run_path ||
            !m->files[i].glibc)
            abort();
    }
    for (int i = 0; i < m->app_count; i++) {
        if (m->apps[i].file < -1 || m->apps[i].file >= m->file_count)
            abort();
    }
    if (strchr(m->job, '/') || !m->job[0]) /* it becomes a file's name */
        abort();
}

static void check_environment(const struct job_spec *m)
{
    static const char *const inherited[] = {"PATH=/bin", "RANK=1", NULL};
    struct rank_environment_config config = {.job = m,
                                             .app = &m->apps[m->ranks[0].app],
                                             .inherited = inherited,
                                             .job_dir = "/tmp/x",
                                             .coordinator = "127.0.0.1:1",
                                             .shim = "/lib/x.so",
                                             .cwd = "/"};
    struct rank_environment *e;

    if (rank_environment_create(&e, &config, NULL))
        return;
    if (!rank_environment_of(e, &m->ranks[0], NULL, -1, -1, NULL) ||
        !rank_environment_get(e, "MLAUNCH_RANK") ||
        strcmp(rank_environment_get(e, "MLAUNCH_JOB_DIR"), "/tmp/x") != 0)
        abort();
    rank_environment_destroy(e);
    free(framework_ring_hosts(m));
    free(framework_ibv_devices(m));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct job_spec *m = NULL;
    struct fault why = {0};

    if (job_spec_decode(&m, NULL, (const char *)data, size, &why) == 0) {
        check_ranks(m);
        if (m->size < 4096)
            check_environment(m);
        check_command(m);
        job_spec_destroy(m);
    } else if (m || why.code >= 0 || !why.text[0]) {
        abort();
    }
    return 0;
}
