/* SPDX-License-Identifier: MIT */
/* test_binding_seen.c: what is said of a process's processors and memory. */
#include "launcher/agent/binding/binding_seen_linux.h"

#include "common/text/cpu_list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const struct memory_policy any;

/* Two nodes of two cores of two hardware threads, or with `threads` 1 of four cores. */
static void machine_make(const char *root, int threads)
{
    char command[2048];

    snprintf(command, sizeof(command),
             "cd '%s' && mkdir -p sys/devices/system/node/node0 sys/devices/system/node/node2 && "
             "cd sys/devices/system && echo 0,2 > node/online && "
             "echo %s > node/node0/cpulist && echo %s > node/node2/cpulist && "
             "for i in 0 1 2 3 4 5 6 7; do mkdir -p cpu/cpu$i/topology; "
             "echo $((i %% (8 / %d)))%s > cpu/cpu$i/topology/thread_siblings_list; done",
             root, threads == 2 ? "0-1,4-5" : "0-3", threads == 2 ? "2-3,6-7" : "4-7", threads,
             threads == 2 ? ",$((i % 4 + 4))" : "");
    assert_int_equal(system(command), 0);
}

static void words(void **state)
{
    static const struct {
        int threads;
        const char *cpus, *said;
    } table[] = {
        {1, "0-3", "cores 0-3, memory node 0"},
        {1, "5", "core 5, memory node 2"},
        {1, "0+6", "cores 0,6, memory nodes 0,2"},
        {2, "0+4", "hardware threads 0,4 (1 core), memory node 0"},
        {2, "2", "hardware thread 2 (1 core), memory node 2"},
        {2, "6", "hardware thread 6 (1 core), memory node 2"},
        {2, "0-3", "hardware threads 0-3 (4 cores), memory nodes 0,2"},
        {2, "0-7", "hardware threads 0-7 (4 cores), memory nodes 0,2"},
    };
    char root[] = "/tmp/test_binding_seen.XXXXXX", said[CPU_LIST_TEXT], nodes[CPU_LIST_TEXT];
    char command[64];

    (void)state;
    assert_non_null(mkdtemp(root));
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        cpu_set_t cpus;

        machine_make(root, table[i].threads);
        cpu_list_share(&cpus, table[i].cpus, 0);
        binding_seen_cpus(said, CPU_LIST_TEXT, root, &cpus);
        binding_seen_memory(nodes, sizeof(nodes), root, &cpus, &any);
        assert_memory_equal(said, table[i].said, strlen(said));
        assert_string_equal(nodes, table[i].said + strlen(said));
    }
    snprintf(command, sizeof(command), "rm -r %s", root);
    assert_int_equal(system(command), 0);
}

/* As of a rank that has ended and was not waited for. */
static void an_ended_child(void **state)
{
    char said[2 * CPU_LIST_TEXT], list[CPU_LIST_TEXT];
    struct binding asked = {.is_bound = true};
    siginfo_t info;
    pid_t pid;

    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof(asked.cpus), &asked.cpus), 0);
    pid = fork();
    if (pid == 0)
        _exit(0);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    binding_seen_describe(said, sizeof(said), pid, &asked, &any);
    assert_non_null(strstr(said, cpu_list_format(list, sizeof(list), &asked.cpus)));
    assert_null(strstr(said, "differs"));
    assert_null(strstr(said, "not bound"));
    binding_seen_describe(said, sizeof(said), pid, NULL, &any);
    assert_non_null(strstr(said, ", not bound"));
    CPU_SET(CPU_SETSIZE - 1, &asked.cpus);
    binding_seen_describe(said, sizeof(said), pid, &asked, &any);
    assert_non_null(strstr(said, "; differs: CPUs "));
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    binding_seen_describe(said, sizeof(said), pid, &asked, &any);
    assert_string_equal(said, "the kernel does not say its processors: No such process");
}

static void policies(void **state)
{
    static const struct {
        const char *line;
        int rc;
        const char *said;
    } table[] = {
        {"7f00 default file=/bin/true mapped=2", 0, ""},
        {"7f00 local anon=1", 0, ""},
        {"7f00 bind:0-1 anon=1", 0, ", memory nodes 0-1 only"},
        {"7f00 bind=static:2\n", 0, ", memory node 2 only"},
        {"7f00 prefer:1 stack", 0, ", memory node 1 preferred"},
        {"7f00 prefer (many):0,2 stack", 0, ", memory nodes 0,2 preferred"},
        {"7f00 interleave:0-3 x", 0, ", memory nodes 0-3, interleaved"},
        {"7f00 bind: x", -1, NULL},
        {"7f00 bind", -1, NULL},
        {"7f00 odd:0", -1, NULL},
        {"7f00", -1, NULL},
        {"", -1, NULL},
    };
    char said[CPU_LIST_TEXT];
    cpu_set_t none;

    (void)state;
    CPU_ZERO(&none);
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct memory_policy p = {0};

        assert_int_equal(memory_policy_parse(&p, table[i].line), table[i].rc);
        if (table[i].rc)
            continue;
        binding_seen_memory(said, sizeof(said), "/nonexistent", &none, &p);
        assert_string_equal(said, table[i].said);
    }
}

/* The kernel's word, and what it said before the child ended. */
static void a_policy_outlasts_the_process(void **state)
{
    struct memory_policy before, one = {.mode = MEMORY_NODES}, now;
    struct binding asked = {.is_bound = false};
    char said[2 * CPU_LIST_TEXT];
    siginfo_t info;
    pid_t pid;

    (void)state;
    CPU_SET(0, &one.nodes);
    if (memory_policy_get(&before) || memory_policy_set(&one))
        skip(); /* a container forbids it, or the kernel knows no nodes */
    assert_int_equal(memory_policy_get(&now), 0);
    assert_int_equal(now.mode, MEMORY_NODES);
    assert_true(CPU_EQUAL(&now.nodes, &one.nodes));
    pid = fork();
    if (pid == 0)
        _exit(0);
    assert_int_equal(memory_policy_set(&before), 0);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    asked.memory = one;
    binding_seen_describe(said, sizeof(said), pid, &asked, &now);
    assert_non_null(strstr(said, ", memory node 0 only"));
    assert_null(strstr(said, "differs"));
    binding_seen_describe(said, sizeof(said), pid, &asked, &any);
    assert_non_null(strstr(said, "; differs: memory nodes 0 were asked for"));
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words),
        cmocka_unit_test(an_ended_child),
        cmocka_unit_test(policies),
        cmocka_unit_test(a_policy_outlasts_the_process),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
