/* SPDX-License-Identifier: MIT */
/* test_binding.c: which ranks get which processors, on machines that hwloc describes. */
#include "launcher/agent/binding/binding.h"

#include "common/text/cpu_list.h"
#include "launcher/agent/binding/binding_variables.h"
#include "launcher/agent/binding/machine_hwloc.h"

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Two sockets of two nodes, each with two L3 caches of two cores of two hardware threads. */
#define EPYC "pack:2 numa:2 l3:2 core:2 pu:2"
/* The hardware threads of a core are as far from each other as Intel numbers them. */
#define XEON "pack:2 core:4 pu:2(indexes=0,8,1,9,2,10,3,11,4,12,5,13,6,14,7,15)"
/* Nodes whose numbers do not follow their processors'. */
#define LUMI "numa:4(indexes=3,1,0,2) l3:2 core:2 pu:1"
#define FLAT "core:6 pu:1"

struct wish {
    const char *machine;
    int ranks;
    struct binding_options asked;
    const char *expected; /* each rank's CPUs, ';' between them; or the sentence */
    bool shares;
};

#define TO(unit)      .to = BIND_##unit
#define EACH(unit, n) .to = BIND_##unit, .each = n
#define BY(unit)      .map = BIND_##unit
#define LIST(text)    .to = BIND_CPUS, .cpus = (char *)(uintptr_t)text

static const struct wish wishes[] = {
    {FLAT, 3, {TO(NONE)}, ";;", false},
    /* One after the other. */
    {FLAT, 3, {TO(CORE)}, "0;1;2", false},
    {FLAT, 8, {TO(CORE)}, "0;1;2;3;4;5;0;1", true},
    {FLAT, 2, {EACH(CORE, 3)}, "0-2;3-5", false},
    {FLAT, 3, {EACH(CORE, 2)}, "0-1;2-3;4-5", false},
    {FLAT, 2, {EACH(CORE, 4)}, "0-3;0-3", true},
    {FLAT, 1, {EACH(CORE, 6)}, "0-5", false},
    {FLAT,
     1,
     {EACH(CORE, 7)},
     "a rank is to get 7 cores, but there are 6 that this job may use",
     false},
    {XEON, 4, {TO(CORE)}, "0,8;1,9;2,10;3,11", false},
    {XEON, 4, {TO(HWTHREAD)}, "0;8;1;9", false},
    {XEON, 3, {EACH(CORE, 3)}, "0-2,8-10;3-5,11-13;0-2,8-10", true},
    {XEON, 2, {EACH(HWTHREAD, 2)}, "0,8;1,9", false},
    {EPYC, 3, {EACH(CORE, 2)}, "0-3;4-7;8-11", false},
    /* Whole units, in blocks of neighbours. */
    {EPYC, 4, {TO(SOCKET)}, "0-15;0-15;16-31;16-31", false},
    {EPYC, 5, {TO(NUMA)}, "0-7;0-7;8-15;16-23;24-31", false},
    {EPYC, 2, {TO(NUMA)}, "0-7;8-15", false},
    {EPYC, 2, {EACH(NUMA, 2)}, "0-15;16-31", false},
    {EPYC, 2, {EACH(L3CACHE, 3)}, "0-11;12-23", false},
    {EPYC, 1, {EACH(SOCKET, 3)}, "a rank is to get 3 sockets, but there are 2", false},
    {FLAT, 1, {TO(L3CACHE)}, "hwloc finds no L3 cache that this job may use", false},
    /* Dealt out over the units of --map-by. */
    {EPYC, 4, {TO(SOCKET), BY(SOCKET)}, "0-15;16-31;0-15;16-31", false},
    {EPYC, 5, {TO(CORE), BY(NUMA)}, "0-1;8-9;16-17;24-25;2-3", false},
    {EPYC, 4, {EACH(CORE, 2), BY(SOCKET)}, "0-3;16-19;4-7;20-23", false},
    {EPYC, 6, {EACH(CORE, 4), BY(SOCKET)}, "0-7;16-23;8-15;24-31;0-7;16-23", true},
    {EPYC,
     2,
     {EACH(CORE, 5), BY(NUMA)},
     "a rank is to get 5 cores, but there are 4 that this job may use in one unit of --map-by",
     false},
    {EPYC, 4, {TO(NUMA), BY(SOCKET)}, "0-7;16-23;8-15;24-31", false},
    {EPYC, 3, {TO(SOCKET), BY(NUMA)}, "0-15;0-15;16-31", false},
    {EPYC, 3, {TO(HWTHREAD), BY(CORE)}, "0;2;4", false},
    {EPYC, 4, {TO(CORE), BY(SOCKET), .block = 2}, "0-1;2-3;16-17;18-19", false},
    {EPYC,
     5,
     {TO(CORE), BY(SOCKET), .block = 2},
     "--map-by ppr: its 2 sockets take 4 ranks, but the job has 5 there",
     false},
    {LUMI, 4, {TO(NUMA), BY(NUMA)}, "0-3;4-7;8-11;12-15", false},
    {LUMI, 4, {EACH(CORE, 2), BY(L3CACHE)}, "0-1;2-3;4-5;6-7", false},
    /* Lists. */
    {FLAT, 3, {LIST("0-1,5+3")}, "0-1;3,5;0-1", true},
    {FLAT, 2, {LIST("4,0-2")}, "4;0-2", false},
    {FLAT, 2, {LIST("0,5-7")}, "--bind-to cpus: this job may not use CPU 6-7", false},
};

static void wish_check(const struct wish *w, const struct machine *m)
{
    struct binding *out = calloc((size_t)w->ranks, sizeof(*out));
    char all[4096] = "", one[CPU_LIST_TEXT];
    bool shares = false;
    struct fault why;

    assert_non_null(out);
    if (binding_choose(out, w->ranks, m, &w->asked, &shares, &why))
        snprintf(all, sizeof(all), "%s", why.text);
    for (int i = 0; i < w->ranks && !strchr(w->expected, ' '); i++)
        snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", i ? ";" : "",
                 cpu_list_format(one, sizeof(one), &out[i].cpus));
    if (strcmp(all, w->expected) != 0 || shares != w->shares)
        fail_msg("wish %d on %s: \"%s\" (%d), not \"%s\" (%d)", (int)(w - wishes), w->machine, all,
                 shares, w->expected, w->shares);
    free(out);
}

static void gives_ranks_their_share(void **state)
{
    (void)state;
    if (!HAVE_HWLOC)
        skip();
    for (size_t i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++) {
        struct machine *m = NULL;
        struct fault why;

        setenv("HWLOC_SYNTHETIC", wishes[i].machine, 1);
        if (machine_read(&m, false, &why))
            fail_msg("%s: %s", wishes[i].machine, why.text);
        wish_check(&wishes[i], m);
        free(m);
    }
    unsetenv("HWLOC_SYNTHETIC");
}

static void reads_the_nodes_beside_cpus(void **state)
{
    struct machine *m = NULL;
    struct fault why;

    (void)state;
    if (!HAVE_HWLOC)
        skip();
    setenv("HWLOC_SYNTHETIC", LUMI, 1);
    assert_int_equal(machine_read(&m, false, &why), 0);
    unsetenv("HWLOC_SYNTHETIC");
    assert_int_equal(m->cpu_count, 16);
    assert_int_equal(m->cpus[0].node, 3);
    assert_int_equal(m->cpus[4].node, 1);
    assert_int_equal(m->cpus[15].node, 2);
    free(m);
}

static void memory_is_beside_its_cpus(void **state)
{
    static const struct {
        struct binding_options asked;
        enum memory_mode mode;
        const char *nodes[2];
    } table[] = {
        {{TO(NUMA)}, MEMORY_ANY, {"", ""}},
        {{TO(NUMA), .memory = MEMORY_LOCAL}, MEMORY_NODES, {"3", "1"}},
        {{EACH(CORE, 8), .memory = MEMORY_PREFERRED}, MEMORY_PREFERRED, {"1,3", "0,2"}},
        {{TO(NONE), .memory = MEMORY_INTERLEAVED}, MEMORY_INTERLEAVED, {"0-3", "0-3"}},
        {{TO(CORE), .memory = MEMORY_NODES, .nodes = (char *)(uintptr_t) "2+0"},
         MEMORY_NODES,
         {"0,2", "0,2"}},
    };
    struct machine *m = NULL;
    char text[CPU_LIST_TEXT];
    struct fault why;

    (void)state;
    if (!HAVE_HWLOC)
        skip();
    setenv("HWLOC_SYNTHETIC", LUMI, 1);
    assert_int_equal(machine_read(&m, false, &why), 0);
    unsetenv("HWLOC_SYNTHETIC");
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct binding out[2];
        bool shares;

        assert_int_equal(binding_choose(out, 2, m, &table[i].asked, &shares, &why), 0);
        for (int rank = 0; rank < 2; rank++) {
            assert_int_equal(out[rank].memory.mode, table[i].mode);
            assert_string_equal(cpu_list_format(text, sizeof(text), &out[rank].memory.nodes),
                                table[i].nodes[rank]);
        }
    }
    free(m);
}

static void threads_are_its_share_of_the_cores(void **state)
{
    static const struct {
        const char *machine;
        int ranks;
        struct binding_options asked;
        int first, last;
    } table[] = {
        {FLAT, 1, {TO(NONE)}, 6, 6},          {FLAT, 4, {TO(NONE)}, 1, 1},
        {FLAT, 20, {TO(NONE)}, 1, 1},         {XEON, 2, {TO(NONE)}, 4, 4},
        {XEON, 3, {EACH(CORE, 2)}, 2, 2},     {XEON, 3, {EACH(CORE, 4)}, 2, 2},
        {EPYC, 5, {TO(SOCKET)}, 2, 4},        {EPYC, 2, {EACH(HWTHREAD, 3)}, 1, 1},
        {EPYC, 3, {EACH(HWTHREAD, 4)}, 2, 2}, {FLAT, 2, {LIST("0-3,3-5")}, 3, 2},
    };

    (void)state;
    if (!HAVE_HWLOC)
        skip();
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct binding_options asked = table[i].asked;
        struct binding out[32];
        struct machine *m = NULL;
        struct fault why;
        bool shares;

        asked.threads = THREADS_AUTO;
        setenv("HWLOC_SYNTHETIC", table[i].machine, 1);
        assert_int_equal(machine_read(&m, false, &why), 0);
        assert_int_equal(binding_choose(out, table[i].ranks, m, &asked, &shares, &why), 0);
        if (out[0].threads != table[i].first || out[table[i].ranks - 1].threads != table[i].last)
            fail_msg("%d: %d and %d threads", (int)i, out[0].threads,
                     out[table[i].ranks - 1].threads);
        free(m);
    }
    unsetenv("HWLOC_SYNTHETIC");
}

/* Machines with GPUs, as hwloc writes them. dgx.xml: two sockets of 8 cores; four GPUs on each, and
 * an RDMA device behind the same PCIe switch as each GPU. lumi.xml: four nodes of 4 cores; the
 * first two GPUs, by PCI address, are at node 3, the next at 1, 0 and 2. ompi14169.xml: two sockets
 * of four nodes of 2 cores; a GPU at nodes 1 and 2 of the first socket, 2 and 3 of the second, and
 * a display of the server's own. */
static void ranks_are_beside_their_gpus(void **state)
{
    static const struct {
        const char *machine;
        int ranks;
        struct binding_options asked;
        const char *cpus, *first, *last; /* all ranks' CPUs; two ranks' GPUs and variables */
    } table[] = {
        {"dgx",
         8,
         {TO(GPU), .gpus = 1},
         "0-7;0-7;0-7;0-7;8-15;8-15;8-15;8-15",
         ", GPU 0 (0000:11:00.0, near port mlx5_0) MLAUNCH_NEAR_DEVICES=mlx5_0 "
         "CUDA_DEVICE_ORDER=PCI_BUS_ID "
         "CUDA_VISIBLE_DEVICES=0",
         ", GPU 7 (0000:81:00.0, near port mlx5_7) MLAUNCH_NEAR_DEVICES=mlx5_7 "
         "CUDA_DEVICE_ORDER=PCI_BUS_ID "
         "CUDA_VISIBLE_DEVICES=7"},
        {"dgx",
         4,
         {EACH(GPU, 2), .gpus = 2},
         "0-1;2-3;8-9;10-11",
         ", GPU 0 (0000:11:00.0, near port mlx5_0), GPU 1 (0000:21:00.0, near port mlx5_1) "
         "MLAUNCH_NEAR_DEVICES=mlx5_0,mlx5_1 CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=0,1",
         ", GPU 6 (0000:71:00.0, near port mlx5_6), GPU 7 (0000:81:00.0, near port mlx5_7) "
         "MLAUNCH_NEAR_DEVICES=mlx5_6,mlx5_7 CUDA_DEVICE_ORDER=PCI_BUS_ID "
         "CUDA_VISIBLE_DEVICES=6,7"},
        {"dgx", 3, {TO(CORE), BY(GPU)}, "0;1;2", "", ""},
        {"dgx", 2, {TO(NUMA), .gpus = 4}, "0-7;8-15", NULL, NULL},
        {"dgx", 10, {TO(GPU)}, "0-7;0-7;0-7;0-7;8-15;8-15;8-15;8-15;0-7;0-7", "", ""},
        {"lumi",
         8,
         {TO(GPU), .gpus = 1},
         "12-15;12-15;4-7;4-7;0-3;0-3;8-11;8-11",
         ", GPU 0 (0000:c1:00.0, near port hsn3) MLAUNCH_NEAR_DEVICES=hsn3 ROCR_VISIBLE_DEVICES=0 "
         "HIP_VISIBLE_DEVICES=0",
         ", GPU 7 (0000:dc:00.0, near port hsn2) MLAUNCH_NEAR_DEVICES=hsn2 ROCR_VISIBLE_DEVICES=7 "
         "HIP_VISIBLE_DEVICES=0"},
        {"lumi",
         4,
         {TO(NONE), .gpus = 2},
         ";;;",
         NULL,
         ", GPU 6 (0000:d9:00.0, near port hsn2), GPU 7 (0000:dc:00.0, near port hsn2) "
         "MLAUNCH_NEAR_DEVICES=hsn2 ROCR_VISIBLE_DEVICES=6,7 HIP_VISIBLE_DEVICES=0,1"},
        {"ompi14169",
         4,
         {TO(GPU), .gpus = 1},
         "2-3;4-5;12-13;14-15",
         ", GPU 0 (0000:17:00.0) CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=0",
         ", GPU 3 (0000:bb:00.0) CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=3"},
        {"ompi14169", 4, {TO(SOCKET), BY(GPU)}, "0-7;0-7;8-15;8-15", "", ""},
        {"ompi14169", 4, {TO(GPU), BY(GPU), .block = 2}, "2-3;2-3;4-5;4-5", "", ""},
        {"ompi14169",
         9,
         {TO(GPU), BY(GPU), .block = 2},
         "--map-by ppr: its 4 GPUs take 8 ranks, but the job has 9 there",
         NULL,
         NULL},
        {"ompi14169",
         5,
         {TO(GPU), .gpus = 1},
         "--gpus-per-rank 1: 5 ranks there need 5, but there are 4 that this job may use",
         NULL,
         NULL},
    };

    (void)state;
    if (!HAVE_HWLOC)
        skip();
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        char path[512], all[4096] = "", text[CPU_LIST_TEXT];
        struct machine *m = NULL;
        struct binding out[16];
        struct fault why;
        bool shares;

        snprintf(path, sizeof(path), "%s%s.xml", MACHINES, table[i].machine);
        setenv("HWLOC_XMLFILE", path, 1);
        assert_int_equal(machine_read(&m, true, &why), 0);
        unsetenv("HWLOC_XMLFILE");
        if (binding_choose(out, table[i].ranks, m, &table[i].asked, &shares, &why))
            snprintf(all, sizeof(all), "%s", why.text);
        for (int rank = 0; rank < table[i].ranks && !strchr(table[i].cpus, ' '); rank++)
            snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", rank ? ";" : "",
                     cpu_list_format(text, sizeof(text), &out[rank].cpus));
        if (strcmp(all, table[i].cpus) != 0)
            fail_msg("%d: %s, not %s", (int)i, all, table[i].cpus);
        for (int last = 0; last < 2; last++) {
            const struct binding *b = &out[last ? table[i].ranks - 1 : 0];
            const char *expected = last ? table[i].last : table[i].first;
            struct binding_variables v;

            if (!expected)
                continue;
            binding_describe_gpus(all, sizeof(all), b, m);
            binding_variables_fill(&v, b, m, 0);
            for (int j = 0; j < v.count; j++)
                snprintf(all + strlen(all), sizeof(all) - strlen(all), " %s", v.list[j]);
            if (strcmp(all, expected) != 0)
                fail_msg("%d: %s, not %s", (int)i, all, expected);
        }
        free(m);
    }
}

/* GPUs that have the same nearest ports divide them. */
static void ports_are_divided_among_gpus(void **state)
{
    static const struct {
        const char *nearness[3]; /* each GPU has a digit for each port */
        const char *ports[3];
    } table[] = {
        {{"2"}, {"a"}},
        {{"11"}, {""}},
        {{"21", "12"}, {"a", "b"}},
        {{"2211", "2211", "1122"}, {"a", "b", "c d"}},
        {{"2221", "1112", "2221"}, {"a c", "d", "b"}},
        {{"221", "221", "221"}, {"a", "b", "a"}},
        {{""}, {""}},
    };
    static struct machine m;

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        m = (struct machine){.port_count = (int)strlen(table[i].nearness[0])};
        for (; m.gpu_count < 3 && table[i].nearness[m.gpu_count]; m.gpu_count++)
            for (int j = 0; j < m.port_count; j++)
                m.ports[j].nearness[m.gpu_count] = table[i].nearness[m.gpu_count][j] - '0';
        for (int j = 0; j < m.port_count; j++)
            m.ports[j].name[0] = (char)('a' + j);
        for (int gpu = 0; gpu < m.gpu_count; gpu++) {
            char text[BINDING_PORTS_TEXT];

            binding_ports_near(text, sizeof(text), &m, &gpu, 1, " ");
            if (strcmp(text, table[i].ports[gpu]) != 0)
                fail_msg("%d: GPU %d: %s", (int)i, gpu, text);
        }
    }
}

static void may_use_only_its_own_cpus(void **state)
{
    struct machine *m = NULL;
    cpu_set_t before, one;
    struct fault why;

    (void)state;
    if (!HAVE_HWLOC)
        skip();
    assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
    CPU_ZERO(&one);
    for (size_t cpu = 0; CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &before))
            CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    assert_int_equal(machine_read(&m, false, &why), 0);
    assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
    assert_int_equal(m->cpu_count, 1);
    assert_true(CPU_ISSET((size_t)m->cpus[0].number, &one));
    free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_ranks_their_share),
        cmocka_unit_test(reads_the_nodes_beside_cpus),
        cmocka_unit_test(memory_is_beside_its_cpus),
        cmocka_unit_test(threads_are_its_share_of_the_cores),
        cmocka_unit_test(ranks_are_beside_their_gpus),
        cmocka_unit_test(ports_are_divided_among_gpus),
        cmocka_unit_test(may_use_only_its_own_cpus),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
