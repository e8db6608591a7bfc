/* SPDX-License-Identifier: MIT */
#include "launcher/input/hosts/allocation.h"

#include "common/log.h"
#include "launcher/base/text/environment.h"
#include "launcher/base/text/string_list.h"
#include "launcher/base/text/text_file.h"
#include "launcher/input/hosts/allocation_system.h"
#include "launcher/input/hosts/host_list_finish.h"

#include <stdlib.h>
#include <string.h>

static const struct allocation_system *const systems[] = {
    &allocation_slurm,      &allocation_system_pbs, &allocation_lsf,
    &allocation_system_sge, &allocation_system_oar, &allocation_system_cobalt};

/* Variables of jobs whose hosts are not in the environment: Flux has them in its broker, and the
 * files of the others have formats of their own, which --hostfile tells apart. */
static const struct unread {
    const char *variable, *what, *advice;
} unread[] = {
    {"FLUX_URI", "belongs to Flux", "name the job's hosts, with -H \"$(flux hostlist)\""},
    {"OMPI_MCA_orte_default_hostfile", "names Open MPI's hosts", "give that file to --hostfile"},
    {"PRTE_MCA_prte_default_hostfile", "names Open MPI's hosts", "give that file to --hostfile"},
    {"HYDRA_HOST_FILE", "names MPICH's hosts", "give that file to --hostfile"},
    {"I_MPI_HYDRA_HOST_FILE", "names Intel MPI's hosts", "give that file to --hostfile"},
};

static int system_read(struct host_list **out, const struct allocation_system *s,
                       char *const *environment, struct fault *why)
{
    const char *job = environment_find(environment, s->job_variable);
    struct host_list *l = NULL;
    char shown[TEXT_SHOWN], *source = NULL;
    int rc;

    rc = job && *job ? string_format(&source, why, "%s job %s", s->name, text_show(shown, job))
                     : string_format(&source, why, "the %s allocation", s->name);
    if (!rc)
        rc = host_list_create(&l, source, why);
    if (!rc)
        rc = s->read(l, environment, why);
    free(source);
    rc = host_list_finish(out, l, rc, why);
    return rc ? fault_wrap(why, "cannot read the hosts of this %s allocation", s->name) : 0;
}

static const struct allocation_system *system_find(char *const *environment)
{
    for (size_t i = 0; i < sizeof(systems) / sizeof(*systems); i++)
        if (allocation_system_find(environment, systems[i]->variables, NULL))
            return systems[i];
    return NULL;
}

int allocation_read(struct host_list **out, char *const *environment, struct fault *why)
{
    const struct allocation_system *s = system_find(environment);

    *out = NULL;
    return s ? system_read(out, s, environment, why) : 0;
}

void allocation_warn_unread(char *const *environment)
{
    char shown[TEXT_SHOWN];

    if (system_find(environment))
        return;
    for (size_t i = 0; i < sizeof(systems) / sizeof(*systems); i++) {
        const struct allocation_system *s = systems[i];
        const char *job = environment_find(environment, s->job_variable);

        if (job && *job && s->is_always_listed) {
            log_warn("this is %s job %s, but %s, which has its hosts, is not set; using this "
                     "machine alone: name the hosts with -H or --hostfile",
                     s->name, text_show(shown, job), s->variables[0]);
            return;
        }
    }
    for (size_t i = 0; i < sizeof(unread) / sizeof(*unread); i++) {
        const char *value = environment_find(environment, unread[i].variable);

        if (value && *value) {
            log_warn("%s, which is set here, %s, and mlaunch does not read it; using this machine "
                     "alone: %s",
                     unread[i].variable, unread[i].what, unread[i].advice);
            return;
        }
    }
}

int allocation_match(struct host_list *l, char *const *environment, struct fault *why)
{
    struct host_list *given = NULL;
    struct fault ignored;
    int rc = 0;

    /* The user named the hosts, so an unreadable allocation is no reason to refuse them. */
    if (allocation_read(&given, environment, &ignored)) {
        log_warn("%s; using the hosts of %s anyway", ignored.text, l->source);
        return 0;
    }
    for (int i = 0; given && i < l->count && !rc; i++) {
        int at = host_list_finish_find(given, &l->hosts[i], NULL);
        const struct host *h = at < 0 ? NULL : &given->hosts[at];

        if (!h && l->hosts[i].spare)
            rc = fault_set(why, ML_ERR_ARGUMENT,
                           "--spare-hosts: host %s is outside the allocation (%s); name hosts of "
                           "the allocation, which then get no ranks until they are needed",
                           l->hosts[i].name, given->source);
        else if (!h)
            log_warn("%s: host %s is outside the allocation (%s); using it anyway", l->source,
                     l->hosts[i].name, given->source);
        else if (h->node && !l->hosts[i].node) {
            l->hosts[i].component = h->component;
            rc = string_copy(&l->hosts[i].node, h->node, why);
        }
    }
    host_list_destroy(given);
    return rc;
}
