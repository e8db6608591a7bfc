/* SPDX-License-Identifier: MIT */
#include "launcher/input/plan/launch_method.h"

#include "common/log.h"
#include "launcher/base/text/command_words.h"
#include "launcher/base/text/environment.h"
#include "launcher/base/text/program_path.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static int command_resolve(struct plan *p, const struct options *o, struct fault *why)
{
    struct string_list words = {0};
    int count = p->where->host_count + p->where->spare_count, rc;

    if (!o->agent_command)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--agent-launcher command needs --agent-command, such as 'docker exec -i "
                         "{host}'");
    rc = command_words_split(&words, o->agent_command, why);
    if (!rc && count > 1 && !command_words_name_host(words.items))
        rc = fault_set(why, ML_ERR_ARGUMENT,
                       "{host} is missing, so the agents of all %d hosts would start in one place",
                       count);
    if (rc)
        fault_wrap(why, "--agent-command");
    else
        rc = string_list_release(&words, &p->agent_command, why);
    string_list_clear(&words);
    for (int i = 0; i < count; i++)
        plan_host(p, i)->launch_method = LAUNCH_METHOD_COMMAND;
    log_debug("agents: started by --agent-command");
    return rc;
}

static int srun_resolve(struct plan *p, char *const *environment, struct fault *why)
{
    if (!environment_find(environment, "SLURM_JOB_ID"))
        return fault_set(
            why, ML_ERR_ARGUMENT,
            "--agent-launcher srun: this is not a Slurm job (SLURM_JOB_ID is not set); "
            "start one with salloc or sbatch");
    for (int i = 0; i < p->where->host_count + p->where->spare_count; i++)
        plan_host(p, i)->launch_method = LAUNCH_METHOD_SRUN;
    log_debug("agents: started by srun, as --agent-launcher says");
    return 0;
}

static bool has_nodes(const struct plan *p)
{
    for (int i = 0; i < p->where->host_count + p->where->spare_count; i++)
        if (plan_host(p, i)->node)
            return true;
    return false;
}

/* A container inside a Slurm job may have the variables of Slurm without its programs. */
static bool srun_is_found(void)
{
    struct fault why;
    char *path;

    if (program_path_find(&path, "srun", &why)) {
        log_warn("this is a Slurm job, but %s; starting the agents without srun, so Slurm does not "
                 "account for ranks on other hosts",
                 why.text);
        return false;
    }
    free(path);
    return true;
}

/* With --fanout hosts call each other, and nobody can have SSH do that. */
static int fanout_check(struct plan *p, const struct options *o, struct fault *why)
{
    for (int i = 0; o->fanout && i < p->where->host_count; i++) {
        struct host *h = plan_host(p, i);

        if (h->launch_method != LAUNCH_METHOD_SRUN && h->launch_method != LAUNCH_METHOD_COMMAND)
            return fault_set(why, ML_ERR_ARGUMENT,
                             "--fanout is for hosts that join (--await, mlaunch join), or whose "
                             "agents srun or --agent-command starts: host %s is %s",
                             h->name,
                             h->launch_method == LAUNCH_METHOD_LOCAL ? "this machine"
                                                                     : "reached over SSH");
        h->join_index = i;
    }
    return 0;
}

static void method_choose(struct host *h, bool by_srun)
{
    h->launch_method = by_srun && h->node ? LAUNCH_METHOD_SRUN
                       : h->is_local      ? LAUNCH_METHOD_LOCAL
                                          : LAUNCH_METHOD_SSH;
    log_debug("host %s: its agent is started %s", h->name,
              h->launch_method == LAUNCH_METHOD_SRUN
                  ? "by srun, as the host belongs to this Slurm job"
              : h->launch_method == LAUNCH_METHOD_LOCAL ? "directly, as the host is this machine"
                                                        : "over SSH");
}

static int method_resolve(struct plan *p, const struct options *o, char *const *environment,
                          struct fault *why)
{
    bool by_srun;

    for (int i = 0; o->await && i < p->where->host_count; i++) {
        struct host *h = plan_host(p, i);

        h->launch_method = h->is_local ? LAUNCH_METHOD_LOCAL : LAUNCH_METHOD_JOIN;
    }
    if (o->await)
        return 0;
    if (o->agent_launcher == LAUNCHER_COMMAND ||
        (o->agent_launcher == LAUNCHER_AUTO && o->agent_command))
        return command_resolve(p, o, why);
    if (o->agent_launcher == LAUNCHER_SRUN)
        return srun_resolve(p, environment, why);
    by_srun = o->agent_launcher == LAUNCHER_AUTO && has_nodes(p) && srun_is_found();
    for (int i = 0; i < p->where->host_count + p->where->spare_count; i++)
        method_choose(plan_host(p, i), by_srun);
    return 0;
}

int launch_method_resolve(struct plan *p, const struct options *o, char *const *environment,
                          struct fault *why)
{
    int rc = method_resolve(p, o, environment, why);

    for (int i = 0; i < p->where->host_count; i++) /* those of a job that is asked about */
        if (plan_host(p, i)->door)
            plan_host(p, i)->launch_method = LAUNCH_METHOD_HEAD;
    return rc || o->await ? rc : fanout_check(p, o, why);
}

int launch_method_resolve_one(const struct plan *p, struct host *h, struct fault *why)
{
    const struct options *o = p->options;
    enum launch_method first = plan_host(p, 0)->launch_method;

    if (o->await)
        return fault_set(why, ML_ERR_STATE,
                         "host %s cannot be reached as the others are: the hosts of a job with "
                         "--await or mlaunch join have called mlaunch when it began",
                         h->name);
    if (p->agent_command && !command_words_name_host(p->agent_command))
        return fault_set(why, ML_ERR_STATE,
                         "--agent-command has no {host}, so it starts agents in one place alone");
    if (p->agent_command)
        h->launch_method = LAUNCH_METHOD_COMMAND;
    else if (o->agent_launcher == LAUNCHER_SRUN)
        h->launch_method = LAUNCH_METHOD_SRUN;
    else
        method_choose(h, first == LAUNCH_METHOD_SRUN);
    if (h->launch_method == LAUNCH_METHOD_SSH && o->ssh_config && access(o->ssh_config, R_OK))
        return fault_os(why, ML_ERR_ARGUMENT, errno, "--ssh-config: cannot read %s", o->ssh_config);
    return 0;
}
