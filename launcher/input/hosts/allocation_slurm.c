/* SPDX-License-Identifier: MIT */
/*
 * allocation_slurm.c: SLURM_JOB_NODELIST "n[1-3,7]" and SLURM_TASKS_PER_NODE "4(x3),2". Without the
 * latter (the user asked for no number of tasks) the slots of a host are its CPUs,
 * SLURM_JOB_CPUS_PER_NODE, divided by SLURM_CPUS_PER_TASK. A heterogeneous job (salloc -N1 : -N2)
 * has SLURM_HET_SIZE components, and each of these variables for each component, with
 * _HET_GROUP_0 and so on behind its name; SLURM_PACK_SIZE and _PACK_GROUP_0 before Slurm 20.02.
 * Without the ending, sbatch describes the first component alone, and salloc none.
 */
#include "common/text/number.h"
#include "launcher/base/text/environment.h"
#include "launcher/base/text/text_file.h"
#include "launcher/input/hosts/allocation_system.h"
#include "launcher/input/hosts/node_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NAME_ROOM = 64,        /* bytes of a variable's name */
    COMPONENTS_MOST = 1024 /* Slurm itself allows 128 */
};

static const char *const variables[] = {"SLURM_JOB_NODELIST", "SLURM_NODELIST", "SLURM_HET_SIZE",
                                        "SLURM_PACK_SIZE", NULL};
static const char *const lists[] = {"SLURM_JOB_NODELIST", "SLURM_NODELIST", NULL};
static const char *const tasks[] = {"SLURM_TASKS_PER_NODE", NULL};
static const char *const cpus[] = {"SLURM_JOB_CPUS_PER_NODE", NULL};
static const char *const totals[] = {"SLURM_JOB_NUM_NODES", "SLURM_NNODES", NULL};
static const char *const divisors[] = {"SLURM_CPUS_PER_TASK", NULL};

/* A whole job, or a component of it. */
struct part {
    char *const *environment;
    const char *kind; /* "HET", "PACK"; NULL: it is the whole job */
    int component;    /* from 0 */
};

/* The value of the first of `names`, for this part, that is set and not empty; `name` gets its full
 * name. NULL: none is, and `name` is the last one. */
static const char *part_find(const struct part *p, const char *const *names, char name[NAME_ROOM])
{
    for (; *names; names++) {
        const char *value;

        if (p->kind)
            snprintf(name, NAME_ROOM, "%s_%s_GROUP_%d", *names, p->kind, p->component);
        else
            snprintf(name, NAME_ROOM, "%s", *names);
        value = environment_find(p->environment, name);
        if (value && *value)
            return value;
    }
    return NULL;
}

/* Inside `srun` the numbers of tasks are those of the step, which may have fewer hosts than the
 * job. A component's own numbers stay. */
static bool tasks_are_of_step(const struct part *p, const char *list)
{
    const char *step = environment_find(p->environment, "SLURM_STEP_NODELIST");
    const char *step_tasks = environment_find(p->environment, "SLURM_STEP_TASKS_PER_NODE");
    const char *all_tasks = environment_find(p->environment, *tasks);

    return !p->kind && step && strcmp(step, list) != 0 && step_tasks && all_tasks &&
           strcmp(step_tasks, all_tasks) == 0;
}

static int cpus_per_task_read(const struct part *p, int64_t *out, struct fault *why)
{
    char name[NAME_ROOM], shown[TEXT_SHOWN];
    const char *value = part_find(p, divisors, name);

    *out = 1;
    if (value && !number_parse(value, 1, SLOTS_LIMIT, out))
        return fault_set(why, ML_ERR_ARGUMENT, "%s: '%s' is not a number", name,
                         text_show(shown, value));
    return 0;
}

static int slots_read(int **out, size_t count, const struct part *p, const char *list,
                      struct fault *why)
{
    char name[NAME_ROOM];
    const char *text = NULL;
    int64_t divisor = 1;
    int *slots = NULL, rc = 0;

    if (!tasks_are_of_step(p, list))
        text = part_find(p, tasks, name);
    if (!text) {
        text = part_find(p, cpus, name);
        rc = cpus_per_task_read(p, &divisor, why);
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
static int total_check(size_t count, const struct part *p, const char *list, struct fault *why)
{
    char name[NAME_ROOM], shown[TEXT_SHOWN];
    const char *text = part_find(p, totals, name);
    int64_t total;

    if (text && (!number_parse(text, 1, HOSTS_LIMIT, &total) || (size_t)total != count))
        return fault_set(why, ML_ERR_ARGUMENT, "%s names %zu host%s, but %s is '%s'", list, count,
                         count == 1 ? "" : "s", name, text_show(shown, text));
    return 0;
}

static int part_read(struct host_list *l, const struct part *p, struct fault *why)
{
    char list[NAME_ROOM];
    const char *text = part_find(p, lists, list);
    struct string_list names = {0};
    int *slots = NULL, rc;

    if (!text)
        return fault_set(
            why, ML_ERR_ARGUMENT,
            "SLURM_%s_SIZE says that the job has a component %d, but %s_%s_GROUP_%d is "
            "not set",
            p->kind, p->component, *lists, p->kind, p->component);
    rc = node_list_expand(&names, text, HOSTS_LIMIT, why);
    if (rc)
        fault_wrap(why, "%s", list);
    else
        rc = total_check(names.count, p, list, why);
    if (!rc)
        rc = slots_read(&slots, names.count, p, text, why);
    for (size_t i = 0; i < names.count && !rc; i++) {
        if ((rc = allocation_system_add(l, names.items[i], slots[i], true, why)))
            fault_wrap(why, "%s", list);
        else
            l->hosts[l->count - 1].component = p->kind ? p->component + 1 : 0;
    }
    free(slots);
    string_list_clear(&names);
    return rc;
}

/* Whether the components are those of this job, not of a heterogeneous job in which its user called
 * sbatch, which passes all variables on. A step's job is that of its component. */
static bool is_of_job(const struct part *first, int64_t count)
{
    static const char *const ids[] = {"SLURM_JOB_ID", NULL};
    const char *job = environment_find(first->environment, *ids), *own = NULL;
    char name[NAME_ROOM];

    for (struct part p = *first; p.component < count; p.component++) {
        own = part_find(&p, ids, name);
        if (!job || !own || strcmp(own, job) == 0)
            return true;
    }
    return false;
}

/* Sets p->kind if the job has components. */
static int components_find(struct part *p, int64_t *count, struct fault *why)
{
    static const char *const kinds[] = {"HET", "PACK", NULL};
    char name[NAME_ROOM], shown[TEXT_SHOWN];

    for (const char *const *kind = kinds; *kind && !p->kind; kind++) {
        struct part first = {.environment = p->environment, .kind = *kind};
        const char *value;

        snprintf(name, sizeof(name), "SLURM_%s_SIZE", *kind);
        value = environment_find(p->environment, name);
        if (!value || !*value)
            continue;
        if (!number_parse(value, 1, COMPONENTS_MOST, count))
            return fault_set(why, ML_ERR_ARGUMENT, "%s: '%s' is not a number of components", name,
                             text_show(shown, value));
        if (is_of_job(&first, *count) || !allocation_system_find(p->environment, lists, NULL))
            *p = first;
    }
    return 0;
}

static int slurm_read(struct host_list *l, char *const *environment, struct fault *why)
{
    struct part p = {.environment = environment};
    int64_t count = 1;
    int rc = components_find(&p, &count, why);

    if (!rc && !p.kind)
        return part_read(l, &p, why);
    for (; !rc && p.component < count; p.component++)
        rc = part_read(l, &p, why);
    return rc;
}

const struct allocation_system allocation_slurm = {"Slurm", "SLURM_JOB_ID", true, variables,
                                                   slurm_read};
