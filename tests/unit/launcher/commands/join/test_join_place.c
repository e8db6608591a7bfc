/* SPDX-License-Identifier: MIT */
/* test_join_place.c: what each system's variables mean, and what they lack. */
#include "launcher/commands/join/join_place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { VARIABLES = 6 };

struct row {
    struct join_words words;
    const char *environment[VARIABLES]; /* NULL-terminated, if there are fewer */
    const char *expected; /* "SYSTEM INDEX/HOSTS HEAD:PORT", or words of the refusal */
};

static void run_row(const struct row *row, char *out, size_t size)
{
    char *environment[VARIABLES + 1] = {NULL};
    struct join_place p;
    struct fault why;

    memcpy(environment, row->environment, sizeof(row->environment));
    if (join_place_find(&p, &row->words, environment, &why))
        snprintf(out, size, "%s", why.text);
    else
        snprintf(out, size, "%s %d/%d %s:%d", p.system, p.index, p.hosts, p.head, p.port);
}

static void expect_rows(const struct row *rows, size_t count, bool whole)
{
    char text[sizeof(((struct fault *)0)->text)];

    for (size_t i = 0; i < count; i++) {
        run_row(&rows[i], text, sizeof(text));
        if (whole ? strcmp(text, rows[i].expected) != 0 : !strstr(text, rows[i].expected))
            fail_msg("row %zu: %s, not %s", i, text, rows[i].expected);
    }
}

static void test_words(void **state)
{
    static const struct row rows[] = {
        {{"a:7000", "3", "4", NULL}, {NULL}, " 3/4 a:7000"},
        {{"[fd00::2]:7000", "0", "1", NULL}, {NULL}, " 0/1 fd00::2:7000"},
        /* Without --from no variable counts. */
        {{"a:7000", "3", "4", NULL}, {"LWS_WORKER_INDEX=1", "LWS_GROUP_SIZE=2"}, " 3/4 a:7000"},
    };

    (void)state;
    expect_rows(rows, sizeof(rows) / sizeof(*rows), true);
}

static void test_systems(void **state)
{
    static const struct row rows[] = {
        {{NULL, NULL, NULL, "auto"},
         {"LWS_WORKER_INDEX=2", "LWS_GROUP_SIZE=4", "LWS_LEADER_ADDRESS=lws-0.lws.default"},
         "LeaderWorkerSet 2/4 lws-0.lws.default:7400"},
        {{NULL, NULL, NULL, "auto"},
         {"VC_TASK_INDEX=1", "VC_WORKER_NUM=2", "VC_WORKER_HOSTS=j-worker-0.j,j-worker-1.j"},
         "Volcano 1/2 j-worker-0.j:7400"},
        {{NULL, NULL, NULL, "auto"},
         {"VK_TASK_INDEX=0", "VC_W_NUM=2", "VC_W_HOSTS=j-w-0.j,j-w-1.j"},
         "Volcano 0/2 j-w-0.j:7400"},
        {{NULL, NULL, NULL, "auto"},
         {"PET_NODE_RANK=1", "PET_NNODES=2", "MASTER_ADDR=j-master-0", "MASTER_PORT=23456",
          "JOB_COMPLETION_INDEX=1"},
         "Kubeflow 1/2 j-master-0:7400"},
        {{NULL, NULL, NULL, "auto"},
         {"RANK=1", "PET_NNODES=3", "MASTER_ADDR=j-master-0"},
         "Kubeflow 1/3 j-master-0:7400"},
        {{NULL, NULL, NULL, "auto"},
         {"SKYPILOT_NODE_RANK=1", "SKYPILOT_NUM_NODES=2", "SKYPILOT_NODE_IPS=10.0.0.2\n10.0.0.3"},
         "SkyPilot 1/2 10.0.0.2:7400"},
        {{NULL, NULL, NULL, "auto"},
         {"AWS_BATCH_JOB_NODE_INDEX=1", "AWS_BATCH_JOB_NUM_NODES=2",
          "AWS_BATCH_JOB_MAIN_NODE_INDEX=0",
          "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS=10.0.0.2"},
         "AWS Batch 1/2 10.0.0.2:7400"},
        {{NULL, NULL, NULL, "auto"},
         {"DSTACK_NODE_RANK=1", "DSTACK_NODES_NUM=2", "DSTACK_NODES_IPS=10.0.0.2\n10.0.0.3",
          "DSTACK_MASTER_NODE_IP=10.0.0.2"},
         "dstack 1/2 10.0.0.2:7400"},
        {{NULL, NULL, NULL, "auto"},
         {"NODE_RANK=1", "NUM_NODES=2", "MASTER_ADDR=10.0.0.2"},
         "Lightning 1/2 10.0.0.2:7400"},
        {{"job-0.job:7000", NULL, "8", "auto"},
         {"JOB_COMPLETION_INDEX=5"},
         "an Indexed Job 5/8 job-0.job:7000"},
    };

    (void)state;
    expect_rows(rows, sizeof(rows) / sizeof(*rows), true);
}

/* The main node of AWS Batch knows no address, and need not be the first. */
static void test_main_node(void **state)
{
#define MAIN(index)                                                                                \
    {                                                                                              \
        "AWS_BATCH_JOB_NODE_INDEX=" index, "AWS_BATCH_JOB_NUM_NODES=3",                            \
            "AWS_BATCH_JOB_MAIN_NODE_INDEX=1",                                                     \
            "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS=10.0.0.3"                                \
    }
    static const struct row rows[] = {
        {{NULL, NULL, NULL, "aws-batch"}, MAIN("0"), "AWS Batch 1/3 10.0.0.3:7400"},
        {{NULL, NULL, NULL, "aws-batch"}, MAIN("2"), "AWS Batch 2/3 10.0.0.3:7400"},
        {{NULL, NULL, NULL, "aws-batch"},
         {"AWS_BATCH_JOB_NODE_INDEX=1", "AWS_BATCH_JOB_NUM_NODES=3",
          "AWS_BATCH_JOB_MAIN_NODE_INDEX=1"},
         "AWS Batch 0/3 :7400"},
    };

    (void)state;
    expect_rows(rows, sizeof(rows) / sizeof(*rows), true);
}

/* The command line wins, word by word; --from NAME chooses among several systems. */
static void test_both(void **state)
{
    static const struct row rows[] = {
        {{":9000", NULL, NULL, "auto"},
         {"DSTACK_NODE_RANK=1", "DSTACK_NODES_NUM=2", "DSTACK_MASTER_NODE_IP=10.0.0.2"},
         "dstack 1/2 10.0.0.2:9000"},
        {{NULL, "0", "3", "auto"},
         {"DSTACK_NODE_RANK=1", "DSTACK_NODES_NUM=2", "DSTACK_MASTER_NODE_IP=10.0.0.2"},
         "dstack 0/3 10.0.0.2:7400"},
        {{NULL, NULL, NULL, "lightning"},
         {"LWS_WORKER_INDEX=1", "LWS_GROUP_SIZE=2", "NODE_RANK=3", "NUM_NODES=4",
          "MASTER_ADDR=10.0.0.2"},
         "Lightning 3/4 10.0.0.2:7400"},
    };

    (void)state;
    expect_rows(rows, sizeof(rows) / sizeof(*rows), true);
}

static void test_refused(void **state)
{
    static const struct row rows[] = {
        {{NULL, "0", "1", NULL}, {NULL}, "join needs --head"},
        {{"a:1", NULL, "1", NULL}, {NULL}, "join needs --index"},
        {{"a:1", "0", NULL, NULL}, {NULL}, "join needs --hosts"},
        {{"a", "0", "1", NULL}, {NULL}, "--head needs HOST:PORT"},
        {{":7000", "0", "1", NULL}, {NULL}, "--head needs HOST:PORT"},
        {{"a:0", "0", "1", NULL}, {NULL}, "--head needs HOST:PORT"},
        {{"fd00::2:7000", "0", "1", NULL}, {NULL}, "--head needs HOST:PORT"},
        {{"a:1", "1", "1", NULL}, {NULL}, "--index: '1' is not a number from 0 to 0"},
        {{"a:1", "0", "0", NULL}, {NULL}, "--hosts: '0' is not a number from 1"},
        {{NULL, NULL, NULL, "auto"}, {NULL}, "none of the systems"},
        {{NULL, NULL, NULL, "slurm"}, {NULL}, "--from: 'slurm' is not auto, lws,"},
        {{NULL, NULL, NULL, "lws"}, {NULL}, "--from lws: the variable LWS_WORKER_INDEX is not"},
        {{NULL, NULL, NULL, "lws"}, {"LWS_WORKER_INDEX=1"}, "join needs --hosts"},
        {{NULL, NULL, NULL, "lws"},
         {"LWS_WORKER_INDEX=1", "LWS_GROUP_SIZE=two"},
         "LWS_GROUP_SIZE: 'two' is not a number"},
        {{NULL, NULL, NULL, "lws"},
         {"LWS_WORKER_INDEX=2", "LWS_GROUP_SIZE=2", "LWS_LEADER_ADDRESS=a"},
         "LWS_WORKER_INDEX: '2' is not a number from 0 to 1"},
        {{NULL, NULL, NULL, "lws"},
         {"LWS_WORKER_INDEX=1", "LWS_GROUP_SIZE=2"},
         "join needs --head"},
        {{NULL, NULL, NULL, "auto"},
         {"VC_TASK_INDEX=1", "VC_A_NUM=2", "VC_B_NUM=2"},
         "several variables VC_*_NUM"},
        {{NULL, NULL, NULL, "indexed-job"}, {"JOB_COMPLETION_INDEX=0"}, "join needs --hosts"},
    };

    (void)state;
    expect_rows(rows, sizeof(rows) / sizeof(*rows), false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),     cmocka_unit_test(test_systems),
        cmocka_unit_test(test_main_node), cmocka_unit_test(test_both),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
