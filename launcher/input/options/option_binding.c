/* SPDX-License-Identifier: MIT */
#include "launcher/input/options/option_binding.h"

#include "common/text/cpu_list.h"
#include "common/text/number.h"
#include "launcher/base/text/text_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EACH_LIMIT = 1024, RANKS_LIMIT = 1 << 20 };

#define UNITS "hwthread, core, l3cache, socket, numa, gpu"

/* Our words, then those of mpirun, Hydra and srun. */
static const struct named_value units[] = {
    {"hwthread", BIND_HWTHREAD}, {"core", BIND_CORE},
    {"l3cache", BIND_L3CACHE},   {"socket", BIND_SOCKET},
    {"numa", BIND_NUMA},         {"hwthreads", BIND_HWTHREAD},
    {"threads", BIND_HWTHREAD},  {"pu", BIND_HWTHREAD},
    {"cores", BIND_CORE},        {"l3", BIND_L3CACHE},
    {"package", BIND_SOCKET},    {"sockets", BIND_SOCKET},
    {"gpu", BIND_GPU},           {"numanode", BIND_NUMA},
    {"ldoms", BIND_NUMA},        {NULL, 0}};

/* The unit that the first `length` bytes name; BIND_NONE: none. */
static enum bind_mode unit_of(const char *text, size_t length)
{
    for (const struct named_value *u = units; u->word; u++)
        if (strlen(u->word) == length && strncmp(u->word, text, length) == 0)
            return (enum bind_mode)u->value;
    return BIND_NONE;
}

/* What is behind one of the words, such as "cpus:"; NULL: it is no list. */
static const char *list_of(const char *value, const char *const *words)
{
    for (size_t i = 0; words[i]; i++)
        if (strncmp(value, words[i], strlen(words[i])) == 0)
            return value + strlen(words[i]);
    return NULL;
}

static int list_set(char **field, const char *list, const char *what, struct fault *why)
{
    char shown[TEXT_SHOWN], *copy = NULL;
    int rc;

    if (cpu_list_count(list) < 0)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "'%s' is not a list of %s for each rank of a host, such as 0-3,4-7 or, "
                         "with several pieces for one rank, 0-1+8-9,2-3+10-11",
                         text_show(shown, list), what);
    rc = string_copy(&copy, list, why);
    if (rc)
        return rc;
    free(*field);
    *field = copy;
    return 0;
}

int option_binding_to(void *to, const struct option *spec, const char *value, struct fault *why)
{
    static const char *const words[] = {"cpus:", "user:", "map_cpu:", NULL};
    struct options *o = to;
    const char *list = list_of(value, words);
    size_t length = strcspn(value, ":");
    enum bind_mode unit = unit_of(value, length);
    int64_t each = 0;
    char shown[TEXT_SHOWN];

    (void)spec;
    o->binds = true;
    o->job.binding.each = 0;
    if (list) {
        o->job.binding.to = BIND_CPUS;
        return list_set(&o->job.binding.cpus, list, "CPUs", why);
    }
    if (unit == BIND_NONE && strcmp(value, "none") != 0)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "'%s' is not none, " UNITS ", one of these with the number that a rank "
                         "gets, as core:4, or a list, as cpus:0-3,4-7",
                         text_show(shown, value));
    if (value[length] && !number_parse(value + length + 1, 1, EACH_LIMIT, &each))
        return fault_set(why, ML_ERR_ARGUMENT, "'%s' is not a whole number from 1 to %d",
                         text_show(shown, value + length + 1), EACH_LIMIT);
    o->job.binding.to = unit;
    if (unit == BIND_GPU && each) /* as Hydra has it */
        o->job.binding.gpus = each > GPUS_MOST ? GPUS_MOST : (int)each;
    else
        o->job.binding.each = (int)each;
    return 0;
}

int option_binding_memory(void *to, const struct option *spec, const char *value, struct fault *why)
{
    static const char *const lists[] = {"nodes:", "bind:", "map_mem:", NULL};
    static const struct named_value words[] = {
        {"none", MEMORY_ANY},         {"firsttouch", MEMORY_ANY},         {"local", MEMORY_LOCAL},
        {"prefer", MEMORY_PREFERRED}, {"interleave", MEMORY_INTERLEAVED}, {NULL, 0}};
    struct options *o = to;
    const char *list = list_of(value, lists);
    char shown[TEXT_SHOWN];

    (void)spec;
    if (list) {
        o->job.binding.memory = MEMORY_NODES;
        return list_set(&o->job.binding.nodes, list, "memory nodes", why);
    }
    for (const struct named_value *w = words; w->word; w++) {
        if (strcmp(w->word, value) != 0)
            continue;
        o->job.binding.memory = (enum memory_mode)w->value;
        return 0;
    }
    return fault_set(why, ML_ERR_ARGUMENT,
                     "'%s' is not none, local, prefer, interleave, or a list, as nodes:0,1",
                     text_show(shown, value));
}

int option_binding_threads(void *to, const struct option *spec, const char *value,
                           struct fault *why)
{
    struct options *o = to;
    char shown[TEXT_SHOWN];
    int64_t n = THREADS_AUTO;

    (void)spec;
    if (strcmp(value, "auto") != 0 && !number_parse(value, 1, THREADS_MOST, &n))
        return fault_set(why, ML_ERR_ARGUMENT, "'%s' is not auto, or a whole number from 1 to %d",
                         text_show(shown, value), THREADS_MOST);
    o->job.binding.threads = (int)n;
    return 0;
}

static int map_refuse(const char *value, struct fault *why)
{
    char shown[TEXT_SHOWN];

    return fault_set(why, ML_ERR_ARGUMENT,
                     "'%s' is not slot, host, " UNITS ", one of these with the cores that a rank "
                     "gets, as numa:PE=4, or ppr:N:UNIT for N ranks on each",
                     text_show(shown, value));
}

static bool is_host(const char *text, size_t length)
{
    return length == 4 && (strncmp(text, "host", 4) == 0 || strncmp(text, "node", 4) == 0);
}

int option_binding_map(void *to, const struct option *spec, const char *value, struct fault *why)
{
    struct options *o = to;
    const char *at = value, *colon = strchr(value, ':');
    int64_t block = 0, each = 0;
    char number[16];
    size_t length;
    bool is_slot;

    (void)spec;
    if (strncmp(value, "ppr:", 4) == 0) { /* mpirun's */
        at = strchr(value + 4, ':');
        if (!at ||
            (size_t)snprintf(number, sizeof(number), "%.*s", (int)(at - value - 4), value + 4) >=
                sizeof(number) ||
            !number_parse(number, 1, RANKS_LIMIT, &block))
            return map_refuse(value, why);
        at++;
        colon = strchr(at, ':');
    }
    length = strcspn(at, ":");
    if (colon && ((strncmp(colon, ":PE=", 4) != 0 && strncmp(colon, ":pe=", 4) != 0) ||
                  !number_parse(colon + 4, 1, EACH_LIMIT, &each)))
        return map_refuse(value, why);
    is_slot = !block && length == 4 && strncmp(at, "slot", 4) == 0;
    o->job.binding.map = unit_of(at, length);
    if (!o->job.binding.map && !is_slot && !is_host(at, length))
        return map_refuse(value, why);
    o->map_by = !block && is_host(at, length) ? MAP_BY_HOST : MAP_BY_SLOT;
    o->job.binding.block = is_host(at, length) ? 0 : (int)block;
    if (block && is_host(at, length))
        o->ppn = (int)block;
    if (each)
        o->cpus_per_rank = (int)each;
    return 0;
}
