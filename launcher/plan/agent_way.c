/* SPDX-License-Identifier: MIT */
#include "launcher/plan/agent_way.h"
#include "common/log.h"
#include "launcher/process/program_path.h"
#include "launcher/text/command_words.h"
#include "launcher/text/environment.h"

#include <stdlib.h>
#include <unistd.h>

static int take_command(struct plan *p, const struct options *o, struct fault *why)
{
    struct string_list words = {0};
    int rc;

    if (!o->agent_command)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--agent-launcher command needs --agent-command, such as 'docker exec -i "
                         "{host}'");
    rc = command_words_split(&words, o->agent_command, why);
    if (!rc && p->host_count > 1 && !command_words_name_host(words.items))
        rc = fault_set(why, ML_ERR_ARGUMENT,
                       "{host} is not in it, so all %d hosts' agents would start in one place",
                       p->host_count);
    if (rc)
        fault_wrap(why, "--agent-command");
    else
        rc = string_list_release(&words, &p->agent_command, why);
    string_list_clear(&words);
    for (int i = 0; i < p->host_count; i++)
        plan_host(p, i)->way = HOST_BY_COMMAND;
    return rc;
}

static int take_srun(struct plan *p, char *const *environment, struct fault *why)
{
    if (!environment_find(environment, "SLURM_JOB_ID"))
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--agent-launcher srun: this is no Slurm job (SLURM_JOB_ID is not set); "
                         "salloc and sbatch make one");
    for (int i = 0; i < p->host_count; i++)
        plan_host(p, i)->way = HOST_BY_SRUN;
    return 0;
}

static bool has_nodes(const struct plan *p)
{
    for (int i = 0; i < p->host_count; i++)
        if (plan_host(p, i)->node)
            return true;
    return false;
}

/* In a container inside of a job Slurm's variables are there, but not its programs. */
static bool has_srun(void)
{
    struct fault why;
    char *path;

    if (program_path_find(&path, "srun", &why)) {
        log_warn("this is a Slurm job, but %s: ranks are started without it, so Slurm doesn't "
                 "account for those on other hosts",
                 why.text);
        return false;
    }
    free(path);
    return true;
}

int agent_way_settle(struct plan *p, const struct options *o, char *const *environment,
                     struct fault *why)
{
    bool by_srun;

    if (o->agent_launcher == LAUNCHER_COMMAND ||
        (o->agent_launcher == LAUNCHER_AUTO && o->agent_command))
        return take_command(p, o, why);
    if (o->agent_launcher == LAUNCHER_SRUN)
        return take_srun(p, environment, why);
    by_srun = o->agent_launcher == LAUNCHER_AUTO && has_nodes(p) && has_srun();
    for (int i = 0; i < p->host_count; i++) {
        struct host *h = plan_host(p, i);

        h->way = by_srun && h->node ? HOST_BY_SRUN : h->is_local ? HOST_IS_HERE : HOST_BY_SSH;
    }
    return 0;
}
