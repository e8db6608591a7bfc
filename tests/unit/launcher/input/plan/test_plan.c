/* SPDX-License-Identifier: MIT */
/* test_plan.c: the host of each rank, the data path and the environment. */
#include "common/log.h"
#include "launcher/base/text/environment.h"
#include "launcher/input/options/options_load.h"
#include "launcher/input/plan/plan_create.h"
#include "launcher/input/plan/plan_spares.h"
#include "launcher/input/plan/topology_stated.h"

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { WORDS = 32 };

static char *no_environment[] = {NULL};

/* Words are separated by blanks. */
static int make(struct plan **p, const char *line, char *const *environment, struct fault *why)
{
    char copy[1024], *argv[WORDS], *rest = copy;
    struct options_source from = {1, argv, environment, NULL, NULL};
    struct options *o = NULL;
    int rc;

    snprintf(copy, sizeof(copy), "%s", line);
    argv[0] = (char *)"mlaunch";
    while (from.argc < WORDS && (argv[from.argc] = strsep(&rest, " ")))
        from.argc++;
    *p = NULL;
    rc = options_load_from(&o, &from, why);
    if (!rc)
        rc = plan_create(p, o, environment, why);
    if (rc)
        options_destroy(o);
    return rc;
}

static void unmake(struct plan *p)
{
    struct options *o = p ? (struct options *)(uintptr_t)p->options : NULL;

    plan_destroy(p);
    options_destroy(o);
}

static struct plan *made(const char *line)
{
    struct plan *p;
    struct fault why = {0};

    if (make(&p, line, no_environment, &why))
        fail_msg("%s: %s", line, why.text);
    return p;
}

/* "aab": the host of each rank, by the first letter of its name. */
static void expect_placement(const char *line, const char *expected)
{
    struct plan *p = made(line);
    char got[64] = "";

    assert_in_range(p->where->size, 1, 60);
    for (int r = 0; r < p->where->size; r++)
        got[r] = plan_host(p, p->where->ranks[r].host)->name[0];
    if (strcmp(got, expected) != 0)
        fail_msg("%s\n  placed: %s\n  expected: %s", line, got, expected);
    unmake(p);
}

static void test_placement(void **state)
{
    static const struct {
        const char *line, *placed;
    } cases[] = {
        {"p", "l"}, /* localhost */
        {"-n 3 p", "lll"},
        {"--ssh-config /nonexistent -n 2 p", "ll"}, /* not needed here */
        {"--ppn 2 p", "ll"},
        {"-H a p", "a"},
        {"-H a,b p", "ab"},
        {"-H a,a p", "aa"},
        {"-H a:2,b p", "aab"},
        {"-H a:2,b:3 p", "aabbb"},
        {"-H a:2,b:3 -n 4 p", "aabb"},
        {"-H a:2,b:3 -n 2 p", "aa"},
        {"-H a:2,b:2 -n 9 --oversubscribe p", "aaaaabbbb"},
        {"-H a:3,b:1 -n 8 --oversubscribe p", "aaaaaabb"},
        {"-H a -n 3 p", "aaa"},
        {"-H a,b,c -n 7 p", "aaabbcc"},
        {"-H a,b,c -n 2 p", "ab"},
        {"-H a:1,b,c -n 6 p", "abbbcc"},
        {"-H a,b:2 -n 6 p", "aaaabb"},
        {"-H a,b:4 -n 4 p", "aabb"},
        {"-H a,b --ppn 2 p", "aabb"},
        {"-H a,b,c --ppn 2 -n 3 p", "aab"},
        {"-H a:4,b:4 --ppn 2 p", "aabb"},
        {"-H a:1,b:1 --ppn 2 --oversubscribe p", "aabb"},
        {"-H a:2,b:3 --map-by host p", "ababb"},
        {"-H a,b,c -n 7 --map-by host p", "abcabca"},
        {"-H a:1,b:3 -n 4 --map-by host p", "abbb"},
        {"-H a:1,b:1 -n 5 --map-by host --oversubscribe p", "ababa"},
        {"-H a,b --ppn 2 --map-by host p", "abab"},
        {"-H a:2,b:1 --ppn 2 -n 3 --map-by host p", "aba"},
        {"-H a:3,b:1 --ppn 3 -n 4 --map-by host p", "abaa"},
        {"-H a:3,b:3 -n 2 p : -n 2 q", "aaab"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        expect_placement(cases[i].line, cases[i].placed);
}

static const struct {
    const char *line, *sentence;
} refused[] = {
    {"-H a:2,b:2 -n 5 p",
     "5 ranks are asked for, but the hosts (--hosts) have 4 slots; --oversubscribe"},
    {"-H a,a -n 3 p", "3 ranks are asked for, but the hosts (--hosts) have 2 slots"},
    {"-H a,b --ppn 2 -n 5 p", "5 ranks are asked for, but --ppn 2 on 2 hosts makes 4"},
    {"-H a,b:1 --ppn 2 p", "--ppn 2 asks for 2 ranks on host b, which has 1 slot; --oversubscribe"},
    {"-H a:4,b:1 --ppn 2 p", "--ppn 2 asks for 2 ranks on host b, which has 1 slot"},
    {"-H a:2,b,c:1 --ppn 2 --map-by host p",
     "6 ranks are asked for, but --ppn 2 and the hosts' slots (--hosts) make 5"},
    {"--ppn 1048576 -H a,b p", "2097152 ranks are more than mlaunch can start (1048576)"},
    {"-n 1048576 p : -n 1 q", "1048577 ranks are more than mlaunch can start"},
    {"-H a -n 2 p : q", "program 2 (q) has no -n: with ':' each program needs its own"},
    {"-H a --hostfile /nonexistent p", "hostfile: /nonexistent: cannot be opened"},
    {"--hostfile /nonexistent p",
     "hostfile: /nonexistent: cannot be opened: No such file or directory"},
    {"--backend shm -H a,b p", "backend shm needs all ranks on one host, but they are on 2 (a, b)"},
    {"--secure --backend rdma -H a,b p", "data over RDMA is not encrypted; use --backend tcp"},
    {"--secure --backend none p", "--secure and backend none exclude each other"},
    {"--elastic 1 --backend none p", "--elastic and backend none exclude each other"},
    {"--elastic 1 --mpi pmi1 p", "--elastic and --mpi pmi1 exclude each other"},
    {"--elastic 1 --mpi pmix p", "--elastic and --mpi pmix exclude each other"},
    {"--elastic 1 --restarts 1 --pty p", "--elastic with --restarts and --pty exclude each other"},
    {"--elastic 1 --restarts 1 --container docker:x p",
     "--elastic with --restarts and --container exclude each other"},
    {"--elastic 1 --restarts 1 --evict-slow --spare-hosts h p",
     "--evict-slow and --elastic exclude each other"},
    {"-H a,b --elastic 1 --restarts 1 --spare-hosts c --backend rdma p",
     "--elastic with --restarts, --spare-hosts and RDMA needs to know how host c is wired"},
    {"-n 1 --elastic 2 p", "--elastic 2: the job has only 1 rank"},
    {"-n 2 --elastic 3 p", "--elastic 3: the job has only 2 ranks"},
    {"--backend shm --local net p", "backend shm and --local net exclude each other"},
    {"-n 4 --stdin 4 p", "--stdin 4: the job's ranks are 0 to 3"},
    {"-n 4 --pty=4 p", "--pty=4: the job's ranks are 0 to 3"},
    {"-n 4 --pty --stdin 1 p", "--pty gives standard input to rank 0: leave --stdin 1 out"},
    {"-n 4 --starting-port 65532 p", "4 ranks would listen up to port 65536"},
    {"-n 4 --starting-port 7000 --port 7002 p",
     "--port 7002 is among the ranks' ports, 7001 to 7004"},
    {"-H a --ssh-config /nonexistent p", "--ssh-config: cannot read /nonexistent: No such file"},
    {"--env-file /nonexistent p", "--env-file: /nonexistent: cannot be opened"},
    {"p a\xff", "argument 1 of p must be UTF-8"},
    {"p\xc0\x80", "the program's name must be UTF-8"},
    {"-x A=\xed\xa0\x80 p", "-x: A must be UTF-8"},
    {"--cwd /\xff p", "--cwd must be UTF-8"},
    {"-H a,b --spare-hosts c p",
     "--spare-hosts is for jobs that start again after a host was lost, or whose hosts are looked "
     "at: add --restarts N or --check quick"},
    {"-H a,b --restarts 1 --evict-slow p",
     "--evict-slow lets a spare host take the place of a slow one in a restart: add --restarts N "
     "and --spare-hosts"},
    {"-H a,b --restarts 1 --spare-hosts c,b.net p",
     "--spare-hosts: host b.net is also one of the job's hosts (--hosts)"},
    {"-H a,u@b --restarts 1 --spare-hosts v@b p", "--spare-hosts: host b is also one of"},
    {"-H a:2,b:4 --restarts 1 --spare-hosts c:1 p",
     "--spare-hosts: host c has 1 slot, but each of the job's hosts has 2 ranks or more"},
    {"-H a --restarts 1 --spare-hosts c,,d p", "--spare-hosts: entry 2 ('')"},
    {"-x MLAUNCH_STALL=soon p", "MLAUNCH_STALL: 'soon' is not a whole number of seconds"},
    {"-x MLAUNCH_STALL=0 p", "MLAUNCH_STALL: '0' is not a whole number of seconds from 1 to "},
    {"-x MLAUNCH_STALL= p", "MLAUNCH_STALL: '' is not a whole number of seconds"},
    {"-n 4 --pty --stdin all p", "--pty gives standard input to rank 0: leave --stdin all out"},
    {"-n 2 --starting-port 7000 --port 7001 p", "--port 7001 is among the ranks' ports, 7001 to"},
    {"-n 2 p : --cwd /\xff q", "--cwd must be UTF-8"},
    {"-n 2 p : q a b\xff", "argument 2 of q must be UTF-8"},
    {"--tuning /nonexistent p", "/nonexistent"},
};

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
        struct plan *p;
        struct fault why = {0};
        int rc = make(&p, refused[i].line, no_environment, &why);

        if (rc != ML_ERR_ARGUMENT || !strstr(why.text, refused[i].sentence))
            fail_msg("%s\n  gave %d: %s\n  expected: %s", refused[i].line, rc, why.text,
                     refused[i].sentence);
        assert_null(p);
    }
}

static void test_numbering(void **state)
{
    struct plan *p = made("-H x,a:2,b:2 -n 2 --map-by host p : -n 3 q r");

    (void)state;
    assert_int_equal(p->where->size, 5);
    assert_int_equal(p->where->host_count, 3);
    assert_int_equal(p->app_count, 2);
    assert_int_equal(p->apps[1].ranks, 3);
    assert_string_equal(p->apps[1].argv[1], "r");
    assert_int_equal(p->where->ranks[1].app, 0);
    assert_int_equal(p->where->ranks[2].app, 1);
    assert_int_equal(p->where->ranks[3].host, 0);
    assert_int_equal(p->where->ranks[3].local_rank, 1);
    assert_int_equal(p->where->ranks[4].local_rank, 1);
    unmake(p);

    p = made("-H a:2,b:2 -n 1 p");
    assert_int_equal(p->where->host_count, 1);
    assert_int_equal(p->list->count, 2);
    unmake(p);

    p = made("p : q"); /* here, without -n, one each */
    assert_int_equal(p->where->size, 2);
    assert_int_equal(p->where->ranks[1].app, 1);
    unmake(p);
}

static void expect_backend(const char *line, const char *backend)
{
    struct plan *p = made(line);

    assert_string_equal(p->backend, backend);
    unmake(p);
}

static char hostfile[] = "/tmp/test_plan.XXXXXX";

static void write_hostfile(const char *text)
{
    FILE *f = fopen(hostfile, "w");

    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static int last_level;
static char last_text[512];

static void keep(enum log_level level, const char *text, void *arg)
{
    (void)arg;
    last_level = (int)level;
    snprintf(last_text, sizeof(last_text), "%s", text);
}

static int make_hostfile(struct plan **p, const char *options, struct fault *why)
{
    char line[256];

    snprintf(line, sizeof(line), "--hostfile %s%s prog", hostfile, options);
    return make(p, line, no_environment, why);
}

static void test_backend(void **state)
{
    struct fault why;
    struct plan *p;

    (void)state;
    expect_backend("-n 2 p", "shm");
    expect_backend("-n 2 --local net p", "tcp");
    expect_backend("-H a,b p", "tcp");
    expect_backend("-H a:2,b:2 -n 2 p", "shm");
    expect_backend("-n 2 --backend tcp p", "tcp");
    expect_backend("-n 2 --backend ring p", "tcp");
    expect_backend("-H a,b --backend none p", "none");
    expect_backend("-H a,b --secure p", "tcp");
    expect_backend("-n 2 --secure p", "shm");
    write_hostfile("{\"backend\": \"ring\", \"hosts\": [{\"ssh\": \"a\"}]}");
    assert_int_equal(make_hostfile(&p, "", &why), 0);
    assert_string_equal(p->backend, "tcp");
    assert_null(p->backend_reason);
    unmake(p);
    assert_int_equal(make_hostfile(&p, " --backend auto", &why), 0);
    assert_string_equal(p->backend, "shm");
    assert_string_equal(p->backend_reason, "all ranks are on one host");
    unmake(p);
#if HAVE_RDMA
    write_hostfile("{\"backend\": \"jaccl\", \"hosts\": [{\"ssh\": \"a\"}]}");
    assert_int_equal(make_hostfile(&p, "", &why), 0);
    assert_string_equal(p->backend, "rdma");
    unmake(p);
    /* Without a stated wiring, devices are found when the host is reached; a row without any is
     * wrong. */
    assert_int_equal(make_hostfile(&p, " --local net", &why), 0);
    assert_string_equal(p->backend, "rdma");
    unmake(p);
    write_hostfile("{\"backend\": \"jaccl\", \"hosts\": [{\"ssh\": \"a\", \"rdma\": [null]}]}");
    assert_int_equal(make_hostfile(&p, " --local net", &why), ML_ERR_ARGUMENT);
    assert_non_null(strstr(why.text, "names no RDMA device of host a"));
    write_hostfile(
        "{\"backend\": \"jaccl\", \"hosts\": [{\"ssh\": \"a\", \"rdma\": [null, \"m\"]}, "
        "{\"ssh\": \"b\", \"rdma\": [[], null]}]}");
    assert_int_equal(make_hostfile(&p, "", &why), ML_ERR_ARGUMENT);
    assert_non_null(strstr(why.text, "hosts[1] (b) names no RDMA device towards hosts[0] (a)"));
#endif
    write_hostfile("{\"backend\": \"mpi\", \"hosts\": [{\"ssh\": \"a\"}]}");
    assert_int_equal(make_hostfile(&p, "", &why), ML_ERR_ARGUMENT);
    assert_non_null(strstr(why.text, "'mpi' is not auto, rdma (jaccl), tcp (ring), shm or none"));
}

/* A complete matrix is used, or a warning says why not; of an incomplete one only -v speaks. */
static void test_wiring(void **state)
{
    struct fault why;
    struct plan *p;

    (void)state;
    log_open("mlaunch", LOG_INFO);
    log_to(keep, NULL);
    write_hostfile(
        "[{\"ssh\": \"a\", \"rdma\": [null, \"m\"]}, {\"ssh\": \"b\", \"rdma\": [\"m\", null]}]");
    assert_int_equal(make_hostfile(&p, "", &why), 0);
#if HAVE_RDMA
    assert_string_equal(p->backend, "rdma");
    assert_int_equal(last_level, LOG_INFO);
    assert_string_equal(last_text, "backend rdma: the hostfile's RDMA wiring is complete");
#else
    assert_string_equal(p->backend, "tcp");
    assert_int_equal(last_level, LOG_WARN);
    assert_non_null(strstr(last_text, "built without RDMA: using tcp"));
#endif
    unmake(p);
    assert_int_equal(make_hostfile(&p, " --secure", &why), 0);
    assert_string_equal(p->backend, "tcp");
    assert_true(p->job.secure);
    assert_int_equal(last_level, LOG_WARN);
    unmake(p);
    write_hostfile(
        "[{\"ssh\": \"a\", \"rdma\": [null, \"m\"]}, {\"ssh\": \"b\", \"rdma\": [[], null]}]");
    assert_int_equal(make_hostfile(&p, "", &why), 0);
    assert_int_equal(last_level, LOG_INFO);
    assert_string_equal(last_text, "backend tcp: the hosts have no complete RDMA wiring");
    unmake(p);
    log_to(NULL, NULL);
    log_open("mlaunch", LOG_WARN);
}

/* "ac b d": the hosts in use, and the spare ones in the order in which they would be taken, by the
 * first letters of their names. */
static void expect_hosts(const struct plan *p, const char *expected)
{
    char got[64] = "";
    size_t at = 0;

    for (int i = 0; i < p->where->host_count + p->where->spare_count; i++) {
        if (i == p->where->host_count)
            got[at++] = ' ';
        got[at++] = plan_host(p, i)->name[0];
    }
    assert_string_equal(got, expected);
}

static void test_spares(void **state)
{
    struct plan *p = made("-H a:1,b:2 --restarts 1 --spare-hosts c:1,d:2 --spare-hosts e p");
    struct fault why;

    (void)state;
    assert_int_equal(p->where->size, 3);
    expect_hosts(p, "ab cde");
    assert_false(plan_spares_take(p, 1, 0)); /* in the first run */
    plan_spares_renew(p);
    assert_true(plan_spares_take(p, 1, 0)); /* c has too few slots */
    expect_hosts(p, "ad ceb");
    assert_true(plan_spares_take(p, 0, 0));
    expect_hosts(p, "cd eba");
    assert_true(plan_spares_take(p, 1, 0));
    expect_hosts(p, "ce bad");
    assert_false(plan_spares_take(p, 1, 0)); /* all have been tried */
    plan_spares_renew(p);
    assert_true(plan_spares_take(p, 1, 0)); /* the lost one may be back */
    expect_hosts(p, "cb ade");
    assert_int_equal(p->where->ranks[2].host, 1);
    unmake(p);

    p = made("-H a:2,b:2 --restarts 1 --oversubscribe --spare-hosts c:1 p");
    plan_spares_renew(p);
    assert_true(plan_spares_take(p, 0, 0));
    expect_hosts(p, "cb a");
    unmake(p);

    p = made("-H a:2,b:2 --elastic 1 --restarts 1 --spare-hosts c:1 p");
    plan_spares_renew(p);
    assert_false(plan_spares_take(p, 0, 0));
    assert_true(plan_spares_take(p, 0, 1)); /* for a part of the ranks */
    expect_hosts(p, "cb a");
    assert_int_equal(plan_spares_room(p, 0), 1);
    unmake(p);

    write_hostfile("a slots=2\nb slots=2 max_slots=2\nu@c slots=2\n");
    assert_int_equal(make_hostfile(&p, " --restarts 1 --spare-hosts d,b", &why), 0);
    assert_int_equal(p->where->size, 4);
    expect_hosts(p, "ac db");
    assert_int_equal(plan_host(p, 3)->max_slots, 2); /* as the file says */
    unmake(p);
    assert_int_equal(make_hostfile(&p, " -H c --restarts 1 --spare-hosts b,d", &why), 0);
    expect_hosts(p, "c bd");
    assert_string_equal(plan_host(p, 0)->user, "u");
    unmake(p);
    assert_int_equal(make_hostfile(&p, " --restarts 1 --spare-hosts a,b,c", &why), ML_ERR_ARGUMENT);
    assert_non_null(strstr(why.text, "--spare-hosts names all hosts ("));
}

/* A stated wiring must say how the spare hosts are wired. */
static void test_spares_wiring(void **state)
{
    struct fault why;
    struct plan *p;

    (void)state;
#if HAVE_RDMA
    write_hostfile("[{\"ssh\": \"a\", \"rdma\": [null, \"m\", \"m\"]},"
                   " {\"ssh\": \"b\", \"rdma\": [\"m\", null, \"m\"]},"
                   " {\"ssh\": \"c\", \"rdma\": [\"m\", \"m\", null]}]");
    assert_int_equal(make_hostfile(&p, " --restarts 1 --spare-hosts b", &why), 0);
    assert_string_equal(p->backend, "rdma");
    expect_hosts(p, "ac b");
    unmake(p);
    assert_int_equal(make_hostfile(&p, " --restarts 1 --spare-hosts d", &why), ML_ERR_ARGUMENT);
    assert_non_null(strstr(why.text, "not how host d is wired to host a: add that, or use"));
    assert_int_equal(
        make_hostfile(&p, " --restarts 1 --spare-hosts d --rdma-device m --backend rdma", &why), 0);
    unmake(p);
    assert_int_equal(make_hostfile(&p, " --restarts 1 --spare-hosts d --backend tcp", &why), 0);
    unmake(p);
    p = made("-H a,b --restarts 1 --spare-hosts c --backend rdma p"); /* the wiring is found */
    unmake(p);
    p = made("-H a,b --elastic 1 --restarts 1 --spare-hosts c --backend rdma --rdma-device m p");
    unmake(p);
#else
    (void)why;
    (void)p;
#endif
}

/* The place of a lost host gets the wiring of the one that comes, in both directions. */
static void test_spares_moved(void **state)
{
#if HAVE_RDMA
    struct fault why;
    struct plan *p;
    json_t *matrix;
    char *text;

    write_hostfile("[{\"ssh\": \"a\", \"rdma\": [null, \"ab\", \"ac\"]},"
                   " {\"ssh\": \"b\", \"rdma\": [\"ba\", null, \"bc\"]},"
                   " {\"ssh\": \"c\", \"rdma\": [\"ca\", \"cb\", null]}]");
    assert_int_equal(make_hostfile(&p, " --elastic 1 --restarts 1 --spare-hosts c", &why), 0);
    matrix = topology_stated(p);
    plan_spares_renew(p);
    assert_true(plan_spares_take(p, 1, 1));
    topology_stated_move(matrix, p, 1);
    text = json_dumps(matrix, JSON_COMPACT);
    assert_string_equal(text, "[[null,[\"ac\"]],[[\"ca\"],null]]");
    free(text);
    json_decref(matrix);
    unmake(p);
#endif
    (void)state;
}

static void test_spares_allocation(void **state)
{
    static char *environment[] = {(char *)"SLURM_JOB_ID=7", (char *)"SLURM_JOB_NODELIST=n[1-3]",
                                  (char *)"SLURM_TASKS_PER_NODE=2(x3)", NULL};
    struct fault why;
    struct plan *p;

    (void)state;
    assert_int_equal(make(&p, "--restarts 1 --spare-hosts n2 p", environment, &why), 0);
    assert_int_equal(p->where->size, 4);
    assert_int_equal(p->where->host_count, 2);
    assert_string_equal(plan_host(p, 1)->name, "n3");
    assert_string_equal(plan_host(p, 2)->name, "n2");
    assert_string_equal(plan_host(p, 2)->node, "n2");
    unmake(p);
    assert_int_equal(make(&p, "-H n1 --restarts 1 --spare-hosts n3 p", environment, &why), 0);
    assert_string_equal(plan_host(p, 1)->node, "n3");
    unmake(p);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(
            make(&p, i ? "-H n1 --restarts 1 --spare-hosts x p" : "--restarts 1 --spare-hosts x p",
                 environment, &why),
            ML_ERR_ARGUMENT);
        assert_non_null(strstr(why.text, "--spare-hosts: host x is outside the allocation (Slurm "
                                         "job 7)"));
    }
}

static void test_addresses(void **state)
{
    struct fault why;
    struct plan *p;

    (void)state;
    write_hostfile(
        "[{\"ssh\": \"a\", \"ips\": [\"127.0.0.1\"]}, {\"ssh\": \"b\", \"ips\": [\"10.0.0.2\"]}]");
    assert_int_equal(make_hostfile(&p, "", &why), ML_ERR_ARGUMENT);
    assert_non_null(
        strstr(why.text, "hosts[0] (a): ips: 127.0.0.1 is a loopback address, at which b cannot"));
    assert_int_equal(make_hostfile(&p, " --backend none", &why), 0);
    unmake(p);
    write_hostfile(
        "[{\"ssh\": \"a\", \"ips\": [\"127.0.0.1\"]}, {\"ssh\": \"b\", \"ips\": [\"127.0.0.1\"]}]");
    assert_int_equal(make_hostfile(&p, "", &why), 0);
    unmake(p);
}

static void test_environment(void **state)
{
    char *environment[] = {(char *)"HF_TOKEN=t",        (char *)"HF_HOME=/h",
                           (char *)"MLAUNCH_ALGO=ring", (char *)"MLAUNCH_RANK=9",
                           (char *)"MLAUNCH_STALL=7",   NULL};
    struct fault why;
    struct plan *p;

    (void)state;
    assert_int_equal(
        make(&p, "-x HF_* -x A=1 -x A=2 -x HF_HOME=/x -x MLAUNCH_* p", environment, &why), 0);
    assert_string_equal(environment_find(p->apps[0].env, "HF_TOKEN"), "t");
    assert_string_equal(environment_find(p->apps[0].env, "HF_HOME"), "/x");
    assert_string_equal(environment_find(p->apps[0].env, "A"), "2");
    assert_null(environment_find(p->apps[0].env, "MLAUNCH_RANK"));
    assert_string_equal(environment_find(p->list->hosts[0].env, "MLAUNCH_ALGO"), "ring");
    assert_int_equal(p->job.stall_ms, 7000);
    unmake(p);

    assert_int_equal(make(&p, "-x MLAUNCH_STALL=3 p", environment, &why), 0);
    assert_int_equal(p->job.stall_ms, 3000);
    assert_false(p->job.flight_recorder);
    unmake(p);

    assert_int_equal(make(&p, "--stall 5 p", environment, &why), 0);
    assert_int_equal(p->job.stall_ms, 5000);
    assert_true(p->job.flight_recorder);
    unmake(p);

    log_to(keep, NULL);
    assert_int_equal(make(&p, "-x NOT_THERE p", environment, &why), 0);
    log_to(NULL, NULL);
    assert_int_equal(last_level, LOG_WARN);
    assert_non_null(strstr(last_text, "NOT_THERE is not set here, so -x NOT_THERE passes nothing"));
    assert_null(p->apps[0].env[0]);
    unmake(p);

    /* MLAUNCH_STALL of the hostfile wins over that of the caller. */
    write_hostfile("{\"envs\": [\"MLAUNCH_STALL=5\"], \"hosts\": [{\"ssh\": \"a\"}]}");
    {
        char line[64];

        snprintf(line, sizeof(line), "--hostfile %s p", hostfile);
        assert_int_equal(make(&p, line, environment, &why), 0);
    }
    assert_int_equal(p->job.stall_ms, 5000);
    assert_string_equal(environment_find(p->list->hosts[0].env, "MLAUNCH_STALL"), "5");
    unmake(p);
}

static void test_env_file(void **state)
{
    struct fault why;
    struct plan *p;
    char line[128];

    (void)state;
    snprintf(line, sizeof(line), "-x B=x --env-file %s p", hostfile);
    write_hostfile("# comment\r\n\n  A=1 2 \r\nB=f\nC=\"q\" # no comment\nD=\n");
    assert_int_equal(make(&p, line, no_environment, &why), 0);
    assert_string_equal(environment_find(p->apps[0].env, "A"), "1 2");
    assert_string_equal(environment_find(p->apps[0].env, "B"), "x");
    assert_string_equal(environment_find(p->apps[0].env, "C"), "\"q\" # no comment");
    assert_string_equal(environment_find(p->apps[0].env, "D"), "");
    unmake(p);
    write_hostfile("A=1\nexport B\n");
    assert_int_equal(make(&p, line, no_environment, &why), ML_ERR_ARGUMENT);
    assert_non_null(
        strstr(why.text, " line 2: a line is NAME=VALUE, as no shell reads it: leave out"));
    write_hostfile("MLAUNCH_SIZE=1\n");
    assert_int_equal(make(&p, line, no_environment, &why), ML_ERR_ARGUMENT);
    assert_non_null(strstr(why.text, " line 1: MLAUNCH_SIZE is set by mlaunch"));
}

static void test_rest(void **state)
{
    struct plan *p =
        made("-n 2 --stdin all --output /out --timeout 4 --grace 0.5 --on-failure continue "
             "--restarts 2 --starting-port 7000 --cwd sub p");
    char cwd[1024];

    (void)state;
    assert_int_equal(p->job.stdin_mode, STDIN_ALL);
    assert_int_equal(p->output, OUTPUT_DIR);
    assert_string_equal(p->options->output, "/out");
    assert_int_equal(p->options->timeout_ms, 4000);
    assert_int_equal(p->job.grace_ms, 500);
    assert_int_equal(p->job.restarts, 2);
    assert_int_equal(p->job.port, 7000);
    assert_int_equal(p->job.stall_ms, 30000);
    assert_true(p->job.compat);
    snprintf(cwd, sizeof(cwd), "%s/sub", p->cwd);
    assert_string_equal(p->apps[0].cwd, cwd);
    unmake(p);

    p = made("-n 2 p");
    assert_int_equal(p->output, OUTPUT_LABEL);
    unmake(p);
    p = made("p");
    assert_int_equal(p->output, OUTPUT_RAW);
    unmake(p);
    p = made("-n 2 --output raw --stdin 1 --no-compat p");
    assert_int_equal(p->output, OUTPUT_RAW);
    assert_int_equal(p->job.stdin_mode, STDIN_RANK);
    assert_int_equal(p->job.stdin_rank, 1);
    assert_false(p->job.compat);
    assert_int_equal(p->job.buffer, BUFFER_LINE);
    unmake(p);
    p = made("-n 2 --pty=1 --buffer full p");
    assert_int_equal(p->job.stdin_rank, 1);
    assert_int_equal(p->job.buffer, BUFFER_FULL);
    unmake(p);
    p = made("-n 2 --stdin none --pty p");
    assert_int_equal(p->job.stdin_mode, STDIN_NONE);
    unmake(p);
}

/* --tuning's algorithms come behind the caller's, of which the first that fits decides. */
static void test_tuning(void **state)
{
    char *mine[] = {(char *)"MLAUNCH_ALGO=barrier:tree", NULL};
    char line[128];
    struct fault why;
    struct plan *p;

    (void)state;
    write_hostfile("all_reduce:ring ranks=2\nall_reduce:tree ranks=3\n");
    snprintf(line, sizeof(line), "-n 2 --tuning %s p", hostfile);
    assert_int_equal(make(&p, line, no_environment, &why), 0);
    assert_string_equal(environment_find(p->list->hosts[0].env, "MLAUNCH_ALGO"), "all_reduce:ring");
    unmake(p);
    assert_int_equal(make(&p, line, mine, &why), 0);
    assert_string_equal(environment_find(p->list->hosts[0].env, "MLAUNCH_ALGO"),
                        "barrier:tree,all_reduce:ring");
    unmake(p);
    snprintf(line, sizeof(line), "-n 2 --backend none --tuning %s p", hostfile);
    assert_int_equal(make(&p, line, no_environment, &why), 0); /* nobody would use it */
    assert_true(!p->list->hosts[0].env || !environment_find(p->list->hosts[0].env, "MLAUNCH_ALGO"));
    unmake(p);
    write_hostfile("all_reduce:ring ranks=\n");
    snprintf(line, sizeof(line), "-n 2 --tuning %s p", hostfile);
    assert_int_equal(make(&p, line, no_environment, &why), ML_ERR_ARGUMENT);
    assert_non_null(strstr(why.text, "'ranks=' is not ranks=N, hosts=N or backend=shm|tcp|rdma"));
}

/* Which calls the ranks record, whatever the caller's environment says. */
static void test_record(void **state)
{
    static const struct {
        const char *line, *value;
    } cases[] = {
        {"--record /r p", "all"},
        {"--trace /t p", "all"},
        {"--compare-hashes /h p", "hashes"},
        {"--compare-hashes /h --record /r p", "hashes"},
        {"p", "last"},
    };
    char *mine[] = {(char *)"MLAUNCH_RECORD=last", NULL};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct fault why;
        struct plan *p;

        if (make(&p, cases[i].line, mine, &why))
            fail_msg("%s: %s", cases[i].line, why.text);
        assert_string_equal(environment_find(p->list->hosts[0].env, "MLAUNCH_RECORD"),
                            cases[i].value);
        unmake(p);
    }
}

/* Programs are staged for other hosts alone, once each, and those of ranks that there are. */
static void test_stage(void **state)
{
    struct fault why;
    struct plan *p;

    (void)state;
    p = made("--stage -n 2 sh");
    assert_int_equal(p->files.count, 0);
    assert_int_equal(p->apps[0].file, -1);
    unmake(p);
    p = made("-H a,b --stage -n 1 sh : -n 1 sh");
    assert_int_equal(p->files.count, 1);
    assert_int_equal(p->apps[0].file, 0);
    assert_int_equal(p->apps[1].file, 0);
    assert_true(p->files.is_hashed);
    unmake(p);
    p = made("-H a --stage --dry-run sh");
    assert_int_equal(p->files.count, 1);
    assert_false(p->files.is_hashed); /* nothing will be copied */
    unmake(p);
    p = made("-H a --stage mlaunch-bench"); /* each host has its own */
    assert_int_equal(p->files.count, 0);
    unmake(p);
    assert_int_equal(make(&p, "-H a --stage no-such-program-here", no_environment, &why),
                     ML_ERR_REFUSED);
    assert_non_null(strstr(why.text, "no-such-program-here"));
    assert_null(p);
}

/* A directory that was removed has no name for other hosts; absolute paths need none. */
static void test_lost_directory(void **state)
{
    char directory[] = "/tmp/mlaunch-test.XXXXXX", before[4096];
    struct fault why;
    struct plan *p;

    (void)state;
    assert_non_null(getcwd(before, sizeof(before)));
    assert_non_null(mkdtemp(directory));
    assert_int_equal(chdir(directory), 0);
    assert_int_equal(rmdir(directory), 0);
    assert_int_equal(make(&p, "--cwd sub p", no_environment, &why), ML_ERR_ARGUMENT);
    assert_non_null(strstr(why.text, "--cwd sub is relative to this directory, which was removed"));
    p = made("--cwd /sub p");
    assert_string_equal(p->cwd, "");
    assert_string_equal(p->apps[0].cwd, "/sub");
    unmake(p);
    assert_int_equal(chdir(before), 0);
}

static int setup(void **state)
{
    int fd = mkstemp(hostfile);

    (void)state;
    return fd < 0 ? -1 : close(fd);
}

static int teardown(void **state)
{
    (void)state;
    return unlink(hostfile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_placement),      cmocka_unit_test(test_refused),
        cmocka_unit_test(test_numbering),      cmocka_unit_test(test_backend),
        cmocka_unit_test(test_wiring),         cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_environment),    cmocka_unit_test(test_env_file),
        cmocka_unit_test(test_rest),           cmocka_unit_test(test_spares),
        cmocka_unit_test(test_spares_wiring),  cmocka_unit_test(test_spares_allocation),
        cmocka_unit_test(test_spares_moved),   cmocka_unit_test(test_tuning),
        cmocka_unit_test(test_record),         cmocka_unit_test(test_stage),
        cmocka_unit_test(test_lost_directory),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
