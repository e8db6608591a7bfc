/* SPDX-License-Identifier: MIT */
#include "launcher/agent/binding/binding.h"

#include "common/text/cpu_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Some of the machine's cores, caches, sockets or nodes, each as the CPUs in it. */
struct units {
    cpu_set_t *sets;
    int count;
};

struct chooser {
    const struct machine *machine;
    const struct binding_options *asked;
    struct units to, map; /* what ranks are bound to, and dealt out over */
    int each;             /* how many of `to` a rank gets */
    cpu_set_t *within;    /* per rank: the unit of `map` that it has been given */
};

/* As a sentence names one of them, and several. */
static const char *const words[BIND_GPU + 1][2] = {
    [BIND_HWTHREAD] = {"hardware thread", "hardware threads"},
    [BIND_CORE] = {"core", "cores"},
    [BIND_L3CACHE] = {"L3 cache", "L3 caches"},
    [BIND_SOCKET] = {"socket", "sockets"},
    [BIND_NUMA] = {"NUMA node", "NUMA nodes"},
    [BIND_GPU] = {"GPU", "GPUs"},
};

static const char *word_of(enum bind_mode unit, int count)
{
    return words[unit][count != 1];
}

/* All units of a kind that hold a CPU which the job may use, in the order of their CPUs. */
static int units_find(struct units *u, const struct machine *m, enum bind_mode unit,
                      struct fault *why)
{
    int ids[CPU_SETSIZE];

    u->sets = calloc((size_t)m->cpu_count + 1, sizeof(*u->sets));
    if (!u->sets)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (int i = 0; i < m->cpu_count; i++) {
        int id = m->cpus[i].in[unit], at = u->count;

        if (id < 0)
            continue;
        while (at > 0 && ids[at - 1] != id) /* the last ones are the nearest */
            at--;
        if (at == 0) {
            ids[u->count++] = id;
            at = u->count;
        }
        CPU_SET((size_t)m->cpus[i].number, &u->sets[at - 1]);
    }
    return u->count ? 0
                    : fault_set(why, ML_ERR_SYSTEM, "hwloc finds no %s that this job may use",
                                word_of(unit, 1));
}

/* How many of the ranks before rank i have the same unit of `map`. */
static int turn_of(const struct chooser *c, int i)
{
    int turn = 0;

    for (int j = 0; j < i; j++)
        turn += CPU_EQUAL(&c->within[j], &c->within[i]) != 0;
    return turn;
}

static void all_cpus(cpu_set_t *out, const struct machine *m)
{
    CPU_ZERO(out);
    for (int i = 0; i < m->cpu_count; i++)
        CPU_SET((size_t)m->cpus[i].number, out);
}

/* Gives each rank its GPUs, in the order of their PCI addresses. With --bind-to gpu alone, rank i
 * is beside GPU i, which programs choose by their local rank. */
static int gpus_deal(struct chooser *c, struct binding *out, int count, struct fault *why)
{
    const struct machine *m = c->machine;
    int each = c->asked->gpus;

    if (!each && c->asked->to != BIND_GPU && c->asked->map != BIND_GPU)
        return 0;
    if (m->gpu_count == 0)
        return fault_set(why, ML_ERR_SYSTEM, "hwloc finds no GPU that this job may use");
    if ((long)each * count > m->gpu_count)
        return fault_set(why, ML_ERR_SYSTEM,
                         "--gpus-per-rank %d: %d rank%s there need %ld, but there %s %d that this "
                         "job may use",
                         each, count, count == 1 ? "" : "s", (long)each * count,
                         m->gpu_count == 1 ? "is" : "are", m->gpu_count);
    if (c->asked->map == BIND_GPU && c->asked->block && count > c->asked->block * m->gpu_count)
        return fault_set(
            why, ML_ERR_SYSTEM, "--map-by ppr: its %d %s take %d ranks, but the job has %d there",
            m->gpu_count, word_of(BIND_GPU, m->gpu_count), c->asked->block * m->gpu_count, count);
    for (int i = 0; i < count; i++) {
        int beside =
            c->asked->map == BIND_GPU && c->asked->block ? i / c->asked->block : i % m->gpu_count;

        for (int j = 0; j < each; j++)
            out[i].gpus[out[i].gpu_count++] = i * each + j;
        for (int j = 0; j < (each ? each : 1) && c->within; j++)
            CPU_OR(&c->within[i], &c->within[i], &m->gpus[each ? i * each + j : beside].cpus);
        if (c->within && CPU_COUNT(&c->within[i]) == 0) /* the machine does not say what is near */
            all_cpus(&c->within[i], m);
    }
    return 0;
}

/* Deals the ranks out over the units of `map`, one each in turn, or `block` ranks at a time.
 * Without such units all ranks have the whole machine. */
static int ranks_deal(struct chooser *c, int count, struct fault *why)
{
    int block = c->asked->block, units = c->map.count;

    if (c->asked->map == BIND_GPU || c->asked->to == BIND_GPU)
        return 0; /* gpus_deal() has */
    if (!c->asked->map) {
        for (int i = 0; i < count; i++)
            all_cpus(&c->within[i], c->machine);
        return 0;
    }
    if (block && count > block * units)
        return fault_set(why, ML_ERR_SYSTEM,
                         "--map-by ppr: its %d %s take %d ranks, but the job has %d there", units,
                         word_of(c->asked->map, units), block * units, count);
    for (int i = 0; i < count; i++)
        c->within[i] = c->map.sets[block ? i / block : i % units];
    return 0;
}

/* The first `count` units that have a CPU of `within`, into indices[]. */
static int units_within(const struct units *u, const cpu_set_t *within, int *indices)
{
    int count = 0;

    for (int i = 0; i < u->count; i++) {
        cpu_set_t both;

        CPU_AND(&both, &u->sets[i], within);
        if (CPU_COUNT(&both) > 0)
            indices[count++] = i;
    }
    return count;
}

/* Gives rank i its turn of the groups of `each` units within its unit of `map`. */
static int rank_give(struct chooser *c, struct binding *out, int i, bool *shares, struct fault *why)
{
    int indices[CPU_SETSIZE], turn = turn_of(c, i);
    int found = units_within(&c->to, &c->within[i], indices), groups = found / c->each;

    if (groups == 0)
        return fault_set(
            why, ML_ERR_SYSTEM, "a rank is to get %d %s, but there %s %d that this job may use%s",
            c->each, word_of(c->asked->to == BIND_GPU ? BIND_CORE : c->asked->to, c->each),
            found == 1 ? "is" : "are", found, c->asked->map ? " in one unit of --map-by" : "");
    *shares |= turn >= groups;
    for (int j = 0; j < c->each; j++)
        CPU_OR(&out->cpus, &out->cpus, &c->to.sets[indices[turn % groups * c->each + j]]);
    return 0;
}

/* Equal blocks of neighbouring ranks share a cache, socket or node, or several of them. */
static int block_give(const struct chooser *c, struct binding *out, int i, int count,
                      struct fault *why)
{
    int groups = c->to.count / c->each, group;

    if (groups == 0)
        return fault_set(why, ML_ERR_SYSTEM, "a rank is to get %d %s, but there %s %d", c->each,
                         word_of(c->asked->to, c->each), c->to.count == 1 ? "is" : "are",
                         c->to.count);
    group = (int)((long)i * groups / (count > groups ? count : groups));
    for (int j = 0; j < c->each; j++)
        CPU_OR(&out->cpus, &out->cpus, &c->to.sets[group * c->each + j]);
    return 0;
}

static int units_give(struct chooser *c, struct binding *out, int count, bool *shares,
                      struct fault *why)
{
    enum bind_mode unit = c->asked->to == BIND_GPU ? BIND_CORE : c->asked->to;
    bool is_own = unit == BIND_CORE || unit == BIND_HWTHREAD, wraps = false;
    int rc = units_find(&c->to, c->machine, unit, why);

    if (!rc && c->asked->map && c->asked->map != BIND_GPU)
        rc = units_find(&c->map, c->machine, c->asked->map, why);
    if (!rc)
        rc = ranks_deal(c, count, why);
    for (int i = 0; i < count && !rc; i++) {
        out[i].is_bound = true;
        if (c->asked->to == BIND_GPU && !c->asked->each)
            out[i].cpus = c->within[i]; /* all that are beside the GPU */
        else
            rc = is_own || c->asked->map ? rank_give(c, &out[i], i, &wraps, why)
                                         : block_give(c, &out[i], i, count, why);
    }
    *shares = is_own && wraps;
    return rc;
}

/* The CPUs that --bind-to cpus:LIST names; the ranks begin again with the first share. */
static int lists_give(const struct chooser *c, struct binding *out, int count, bool *shares,
                      struct fault *why)
{
    char text[CPU_LIST_TEXT];
    cpu_set_t all, known;

    all_cpus(&all, c->machine);
    for (int i = 0; i < count; i++) {
        cpu_list_share(&out[i].cpus, c->asked->cpus, i);
        out[i].is_bound = true;
        CPU_AND(&known, &out[i].cpus, &all);
        if (CPU_EQUAL(&known, &out[i].cpus))
            continue;
        CPU_XOR(&known, &known, &out[i].cpus);
        return fault_set(why, ML_ERR_SYSTEM, "--bind-to cpus: this job may not use CPU %.100s",
                         cpu_list_format(text, sizeof(text), &known));
    }
    *shares = count > cpu_list_count(c->asked->cpus);
    return 0;
}

/* The memory nodes of a rank: those beside its processors, or its turn of a list. */
static void memory_give(struct binding *b, int i, const struct machine *m,
                        const struct binding_options *asked)
{
    b->memory.mode = asked->memory == MEMORY_LOCAL ? MEMORY_NODES : asked->memory;
    if (asked->memory == MEMORY_NODES)
        cpu_list_share(&b->memory.nodes, asked->nodes, i);
    for (int j = 0; j < m->cpu_count && asked->memory && asked->memory != MEMORY_NODES; j++)
        if (m->cpus[j].node >= 0 && m->cpus[j].node < CPU_SETSIZE &&
            (!b->is_bound || CPU_ISSET((size_t)m->cpus[j].number, &b->cpus)))
            CPU_SET((size_t)m->cpus[j].node, &b->memory.nodes);
    if (asked->memory && CPU_COUNT(&b->memory.nodes) == 0)
        b->memory.mode = MEMORY_ANY; /* the machine does not say where its memory is */
}

/* The first hardware thread in the machine's order of the same core as CPU j. */
static int core_of(const struct machine *m, int j)
{
    int first = j;

    while (first > 0 && m->cpus[j].in[BIND_CORE] >= 0 &&
           m->cpus[first - 1].in[BIND_CORE] == m->cpus[j].in[BIND_CORE])
        first--;
    return first;
}

/* Whether the rank may run on a core, which begins at CPU `core` of the machine's order. */
static bool has_core(const struct binding *b, const struct machine *m, int core)
{
    for (int j = core; j < m->cpu_count && core_of(m, j) == core; j++)
        if (!b->is_bound || CPU_ISSET((size_t)m->cpus[j].number, &b->cpus))
            return true;
    return false;
}

/* A core that n ranks may use is 1/n of each one's. */
static void threads_count(struct binding *out, int count, const struct machine *m)
{
    double *shares = calloc((size_t)count, sizeof(*shares));

    for (int core = 0; shares && core < m->cpu_count; core++) {
        int ranks = 0;

        if (core_of(m, core) != core)
            continue;
        for (int i = 0; i < count; i++)
            ranks += has_core(&out[i], m, core);
        for (int i = 0; i < count && ranks; i++)
            shares[i] += has_core(&out[i], m, core) ? 1.0 / ranks : 0;
    }
    for (int i = 0; i < count; i++) {
        int whole = shares ? (int)(shares[i] + 1e-6) : 1;

        out[i].threads = whole > 1 ? whole : 1;
    }
    free(shares);
}

static int processors_give(struct chooser *c, struct binding *out, int count, bool *shares,
                           struct fault *why)
{
    int rc;

    c->within = calloc((size_t)count, sizeof(*c->within));
    rc = c->within ? gpus_deal(c, out, count, why) : fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (rc || c->asked->to == BIND_NONE)
        return rc;
    return c->asked->to == BIND_CPUS ? lists_give(c, out, count, shares, why)
                                     : units_give(c, out, count, shares, why);
}

int binding_choose(struct binding *out, int count, const struct machine *m,
                   const struct binding_options *asked, bool *shares, struct fault *why)
{
    struct chooser c = {.machine = m, .asked = asked, .each = asked->each ? asked->each : 1};
    int rc;

    memset(out, 0, (size_t)count * sizeof(*out));
    *shares = false;
    rc = processors_give(&c, out, count, shares, why);
    for (int i = 0; i < count && !rc; i++)
        memory_give(&out[i], i, m, asked);
    if (!rc && asked->threads == THREADS_AUTO)
        threads_count(out, count, m);
    free(c.to.sets);
    free(c.map.sets);
    free(c.within);
    return rc;
}

/* Marks the ports that are nearest to a GPU. GPUs to which the same ports are nearest divide them,
 * or take them in turn. None are where all ports are as near as each other. */
static void ports_mark(bool *marked, const struct machine *m, int gpu)
{
    int best = 0, among = 0, turn = 0, gpus = 1;

    for (int i = 0; i < m->port_count; i++)
        best = m->ports[i].nearness[gpu] > best ? m->ports[i].nearness[gpu] : best;
    for (int i = 0; i < m->port_count; i++)
        among += m->ports[i].nearness[gpu] == best;
    if (among > 1 && among == m->port_count)
        return;
    for (int other = 0; other < m->gpu_count; other++) {
        bool is_same = true;

        for (int i = 0; i < m->port_count; i++)
            is_same &= m->ports[i].nearness[other] == m->ports[i].nearness[gpu];
        turn += is_same && other < gpu;
        gpus += is_same && other != gpu;
    }
    for (int i = 0, place = 0; i < m->port_count; i++) {
        if (m->ports[i].nearness[gpu] != best)
            continue;
        marked[i] |= among < gpus ? place == turn % among : place % gpus == turn;
        place++;
    }
}

void binding_ports_near(char *out, size_t size, const struct machine *m, const int *gpus, int count,
                        const char *between)
{
    bool marked[MACHINE_DEVICES] = {false};
    size_t used = 0;

    *out = '\0';
    for (int i = 0; i < count; i++)
        ports_mark(marked, m, gpus[i]);
    for (int i = 0; i < m->port_count; i++)
        if (marked[i] && used + strlen(between) + strlen(m->ports[i].name) < size)
            used += (size_t)snprintf(out + used, size - used, "%s%s", used ? between : "",
                                     m->ports[i].name);
}

void binding_describe_gpus(char *out, size_t size, const struct binding *b, const struct machine *m)
{
    size_t used = 0;

    *out = '\0';
    for (int i = 0; i < b->gpu_count && used < size; i++) {
        const struct machine_gpu *g = &m->gpus[b->gpus[i]];
        char ports[BINDING_PORTS_TEXT];

        binding_ports_near(ports, sizeof(ports), m, &b->gpus[i], 1, " and ");
        used +=
            (size_t)snprintf(out + used, size - used, ", GPU %d (%04x:%02x:%02x.%x%s%s)", g->number,
                             (unsigned)g->domain, (unsigned)g->bus, (unsigned)g->device,
                             (unsigned)g->function, *ports ? ", near port " : "", ports);
    }
}
