/* SPDX-License-Identifier: MIT */
#include "launcher/allocation.h"
#include "common/number.h"
#include "launcher/environment.h"
#include "launcher/hostfile.h"
#include "launcher/slurm_list.h"
#include "launcher/string_list.h"
#include "launcher/text_file.h"

#include <stdlib.h>
#include <string.h>

static int add_host(struct host_list *l, const char *name, int64_t slots, struct fault *why)
{
    struct host h = {0};
    int rc = host_parse(&h, name, why);

    h.slots = (int)slots;
    if (!rc)
        rc = host_list_add(l, &h, why);
    host_clear(&h);
    return rc;
}

/* SLURM_JOB_NODELIST "n[1-3,7]" and SLURM_TASKS_PER_NODE "4(x3),2". */
static int read_slurm(struct host_list *l, char *const *environment, struct fault *why)
{
    const char *nodes = environment_find(environment, "SLURM_JOB_NODELIST");
    const char *tasks = environment_find(environment, "SLURM_TASKS_PER_NODE");
    struct string_list names = {0};
    int *slots = NULL, rc;

    if (!tasks)
        tasks = environment_find(environment, "SLURM_JOB_CPUS_PER_NODE");
    rc = slurm_expand_hosts(&names, nodes, HOSTS_LIMIT, why);
    if (!rc)
        rc = slurm_expand_counts(&slots, names.count, tasks ? tasks : "1", why);
    for (size_t i = 0; i < names.count && !rc; i++)
        rc = add_host(l, names.items[i], slots[i], why);
    free(slots);
    string_list_clear(&names);
    return rc;
}

/* LSB_MCPU_HOSTS "a 4 b 2". */
static int read_lsf(struct host_list *l, char *const *environment, struct fault *why)
{
    char *copy = NULL, *rest, *name, *count;
    int64_t slots;
    int rc = string_copy(&copy, environment_find(environment, "LSB_MCPU_HOSTS"), why);

    rest = copy;
    while (!rc && (name = strtok_r(rest, " ", &rest))) {
        count = strtok_r(NULL, " ", &rest);
        if (!count || !number_parse(count, 1, SLOTS_LIMIT, &slots))
            rc = fault_set(why, ML_ERR_ARGUMENT, "no number of slots behind %s", name);
        else
            rc = add_host(l, name, slots, why);
    }
    free(copy);
    return rc;
}

/* Lines of a host and, for SGE, its slots; PBS repeats a host for each slot. */
static int read_lines(struct host_list *l, const char *path, bool has_slots, struct fault *why)
{
    char *text = NULL, *rest, *line;
    size_t size = 0;
    int64_t slots = 1;
    int rc = text_file_read(path, &text, &size, why);

    rest = text;
    while (!rc && (line = text_line(&rest))) {
        char *at = text_trim(line), *name = strsep(&at, " \t"),
             *count = at ? strsep(&at, " \t") : NULL;

        if (!*name)
            continue;
        if (has_slots && (!count || !number_parse(count, 1, SLOTS_LIMIT, &slots)))
            rc = fault_set(why, ML_ERR_ARGUMENT, "%s: no number of slots behind %s", path, name);
        else
            rc = add_host(l, name, slots, why);
    }
    free(text);
    return rc;
}

static int read_pbs(struct host_list *l, char *const *environment, struct fault *why)
{
    return read_lines(l, environment_find(environment, "PBS_NODEFILE"), false, why);
}

static int read_sge(struct host_list *l, char *const *environment, struct fault *why)
{
    return read_lines(l, environment_find(environment, "PE_HOSTFILE"), true, why);
}

/* The variable that says we are in such an allocation, and who understands it. */
static const struct system {
    const char *variable;
    int (*read)(struct host_list *l, char *const *environment, struct fault *why);
} systems[] = {{"SLURM_JOB_NODELIST", read_slurm},
               {"PBS_NODEFILE", read_pbs},
               {"LSB_MCPU_HOSTS", read_lsf},
               {"PE_HOSTFILE", read_sge}};

static int read_system(struct host_list **out, const struct system *s, char *const *environment,
                       struct fault *why)
{
    struct host_list *l = NULL;
    int rc = host_list_create(&l, s->variable, why);

    if (!rc)
        rc = s->read(l, environment, why);
    if (!rc && l->count == 0)
        rc = fault_set(why, ML_ERR_ARGUMENT, "names no host");
    if (!rc)
        rc = host_list_merge(l, why);
    if (rc) {
        host_list_destroy(l);
        return fault_wrap(why, "the batch system's %s", s->variable);
    }
    *out = l;
    return 0;
}

int allocation_read(struct host_list **out, char *const *environment, struct fault *why)
{
    const char *value;

    *out = NULL;
    for (size_t i = 0; i < sizeof(systems) / sizeof(*systems); i++) {
        value = environment_find(environment, systems[i].variable);
        if (value && *value)
            return read_system(out, &systems[i], environment, why);
    }
    return 0;
}
