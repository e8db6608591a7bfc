/* SPDX-License-Identifier: MIT */
/*
 * allocation_slurm.c: SLURM_JOB_NODELIST "n[1-3,7]" and SLURM_TASKS_PER_NODE "4(x3),2". Without the
 * latter (the user asked for no number of tasks) the slots of a host are its CPUs,
 * SLURM_JOB_CPUS_PER_NODE, divided by SLURM_CPUS_PER_TASK.
 */
#include "common/text/number.h"
#include "launcher/base/text/environment.h"
#include "launcher/base/text/text_file.h"
#include "launcher/input/hosts/allocation_system.h"
#include "launcher/input/hosts/node_list.h"

#include <stdlib.h>
#include <string.h>

static const char *const lists[] = {"SLURM_JOB_NODELIST", "SLURM_NODELIST", NULL};
static const char *const tasks[] = {"SLURM_TASKS_PER_NODE", NULL};
static const char *const cpus[] = {"SLURM_JOB_CPUS_PER_NODE", NULL};
static const char *const totals[] = {"SLURM_JOB_NUM_NODES", "SLURM_NNODES", NULL};

/* Inside `srun` the numbers of tasks are those of the step, which may have fewer hosts than the
 * job. */
static bool tasks_are_of_step(char *const *environment, const char *list)
{
    const char *step = environment_find(environment, "SLURM_STEP_NODELIST");
    const char *step_tasks = environment_find(environment, "SLURM_STEP_TASKS_PER_NODE");
    const char *all_tasks = environment_find(environment, *tasks);

    return step && strcmp(step, list) != 0 && step_tasks && all_tasks &&
           strcmp(step_tasks, all_tasks) == 0;
}

static int cpus_per_task_read(char *const *environment, int64_t *out, struct fault *why)
{
    const char *value = environment_find(environment, "SLURM_CPUS_PER_TASK");
    char shown[TEXT_SHOWN];

    *out = 1;
    if (value && *value && !number_parse(value, 1, SLOTS_LIMIT, out))
        return fault_set(why, ML_ERR_ARGUMENT, "SLURM_CPUS_PER_TASK: '%s' is not a number",
                         text_show(shown, value));
    return 0;
}

static int slots_read(int **out, size_t count, char *const *environment, const char *list,
                      struct fault *why)
{
    const char *name = "SLURM_TASKS_PER_NODE", *text = NULL;
    int64_t divisor = 1;
    int *slots = NULL, rc = 0;

    if (!tasks_are_of_step(environment, list))
        text = allocation_system_find(environment, tasks, &name);
    if (!text) {
        text = allocation_system_find(environment, cpus, &name);
        rc = cpus_per_task_read(environment, &divisor, why);
    }
    if (!rc && (rc = node_list_counts(&slots, count, text ? text : "1", why)))
        fault_wrap(why, "%s", name);
    for (size_t i = 0; i < count && !rc; i++)
        slots[i] = slots[i] < divisor ? 1 : slots[i] / (int)divisor;
    if (!rc)
        *out = slots;
    return rc;
}

/* Otherwise a list that was cut or edited would run the job on fewer hosts than it was given. */
static int total_check(size_t count, char *const *environment, const char *list, struct fault *why)
{
    const char *name, *text = allocation_system_find(environment, totals, &name);
    char shown[TEXT_SHOWN];
    int64_t total;

    if (text && (!number_parse(text, 1, HOSTS_LIMIT, &total) || (size_t)total != count))
        return fault_set(why, ML_ERR_ARGUMENT, "%s names %zu host%s, but %s is '%s'", list, count,
                         count == 1 ? "" : "s", name, text_show(shown, text));
    return 0;
}

static int slurm_read(struct host_list *l, char *const *environment, struct fault *why)
{
    const char *list, *text = allocation_system_find(environment, lists, &list);
    struct string_list names = {0};
    int *slots = NULL, rc = node_list_expand(&names, text, HOSTS_LIMIT, why);

    if (rc)
        fault_wrap(why, "%s", list);
    else
        rc = total_check(names.count, environment, list, why);
    if (!rc)
        rc = slots_read(&slots, names.count, environment, text, why);
    for (size_t i = 0; i < names.count && !rc; i++)
        if ((rc = allocation_system_add(l, names.items[i], slots[i], true, why)))
            fault_wrap(why, "%s", list);
    free(slots);
    string_list_clear(&names);
    return rc;
}

const struct allocation_system allocation_slurm = {"Slurm", "SLURM_JOB_ID", lists, slurm_read};
