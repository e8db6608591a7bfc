/* SPDX-License-Identifier: MIT */
#include "launcher/agent/binding/binding_seen_linux.h"

#include "common/text/cpu_list.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES_MOST = 1024 };

/* A file of one list, as "0-3,8", which Linux separates by commas. */
static __attribute__((format(printf, 2, 3))) bool list_read(cpu_set_t *out, const char *format, ...)
{
    char path[4096], line[CPU_LIST_TEXT] = "";
    va_list args;
    FILE *f;

    va_start(args, format);
    vsnprintf(path, sizeof(path), format, args);
    va_end(args);
    f = fopen(path, "re");
    CPU_ZERO(out);
    if (!f)
        return false;
    if (!fgets(line, sizeof(line), f))
        line[0] = '\0';
    fclose(f);
    line[strcspn(line, "\n")] = '\0';
    for (char *c = line; *c; c++)
        if (*c == ',')
            *c = '+';
    if (cpu_list_count(line) != 1)
        return false;
    cpu_list_share(out, line, 0);
    return true;
}

/* Whether `cpu` is the first hardware thread of its core; *has_more: the core has several. */
static bool is_first_thread(const char *root, int cpu, bool *has_more)
{
    cpu_set_t core;
    int first = 0;

    if (!list_read(&core, "%s/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", root,
                   cpu))
        return true;
    while (first < cpu && !CPU_ISSET((size_t)first, &core))
        first++;
    *has_more |= CPU_COUNT(&core) > 1;
    return first == cpu;
}

void binding_seen_cpus(char *out, size_t size, const char *root, const cpu_set_t *cpus)
{
    int count = CPU_COUNT(cpus), cores = 0;
    bool has_more = false;
    char list[CPU_LIST_TEXT];

    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET((size_t)cpu, cpus))
            cores += is_first_thread(root, cpu, &has_more);
    cpu_list_format(list, sizeof(list), cpus);
    if (has_more)
        snprintf(out, size, "hardware thread%s %s (%d core%s)", count == 1 ? "" : "s", list,
                 cores ? cores : 1, cores > 1 ? "s" : "");
    else
        snprintf(out, size, "core%s %s", count == 1 ? "" : "s", list);
}

static void nodes_beside(cpu_set_t *nodes, const char *root, const cpu_set_t *cpus)
{
    cpu_set_t online, here;

    CPU_ZERO(nodes);
    if (!list_read(&online, "%s/sys/devices/system/node/online", root))
        return;
    for (int node = 0; node < NODES_MOST; node++) {
        if (!CPU_ISSET((size_t)node, &online))
            continue;
        if (!list_read(&here, "%s/sys/devices/system/node/node%d/cpulist", root, node))
            continue;
        CPU_AND(&here, &here, cpus);
        if (CPU_COUNT(&here) > 0)
            CPU_SET((size_t)node, nodes);
    }
}

void binding_seen_memory(char *out, size_t size, const char *root, const cpu_set_t *cpus,
                         const struct memory_policy *policy)
{
    static const char *const words[] = {[MEMORY_NODES] = " only",
                                        [MEMORY_PREFERRED] = " preferred",
                                        [MEMORY_INTERLEAVED] = ", interleaved"};
    cpu_set_t nodes = policy->nodes;
    char list[CPU_LIST_TEXT];

    *out = '\0';
    if (policy->mode == MEMORY_ANY)
        nodes_beside(&nodes, root, cpus);
    if (CPU_COUNT(&nodes) > 0)
        snprintf(out, size, ", memory node%s %s%s", CPU_COUNT(&nodes) == 1 ? "" : "s",
                 cpu_list_format(list, sizeof(list), &nodes),
                 words[policy->mode] ? words[policy->mode] : "");
}

/* What was asked for, and is not so. */
static void difference_describe(char *out, size_t size, const struct binding *asked,
                                const cpu_set_t *cpus, const struct memory_policy *memory)
{
    bool has_cpus = !asked->is_bound || CPU_EQUAL(cpus, &asked->cpus);
    bool has_memory =
        asked->memory.mode == MEMORY_ANY ||
        (asked->memory.mode == memory->mode && CPU_EQUAL(&asked->memory.nodes, &memory->nodes));
    char list[CPU_LIST_TEXT];
    size_t used = 0;

    *out = '\0';
    if (!has_cpus)
        used = (size_t)snprintf(out, size, "; differs: CPUs %s were asked for",
                                cpu_list_format(list, sizeof(list), &asked->cpus));
    if (!has_memory && used < size)
        snprintf(out + used, size - used, "; differs: memory nodes %s were asked for",
                 cpu_list_format(list, sizeof(list), &asked->memory.nodes));
}

void binding_seen_describe(char *out, size_t size, pid_t pid, const struct binding *asked,
                           const struct memory_policy *began)
{
    char memory_text[CPU_LIST_TEXT + 32];
    struct memory_policy memory;
    cpu_set_t seen;
    size_t used;

    if (sched_getaffinity(pid, sizeof(seen), &seen)) {
        snprintf(out, size, "the kernel does not say its processors: %s", strerror(errno));
        return;
    }
    binding_seen_cpus(out, size, "", &seen);
    if (memory_policy_read(&memory, pid))
        memory = *began;
    binding_seen_memory(memory_text, sizeof(memory_text), "", &seen, &memory);
    used = strlen(out);
    used += (size_t)snprintf(out + used, size - used, "%s%s",
                             asked && asked->is_bound ? "" : ", not bound", memory_text);
    if (asked && used < size)
        difference_describe(out + used, size - used, asked, &seen, &memory);
}
