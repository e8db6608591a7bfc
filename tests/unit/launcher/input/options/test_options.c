/* SPDX-License-Identifier: MIT */
/* test_options.c: the command line and the environment. test_config_file.c tests files. */
#include "launcher/input/options/option_table.h"
#include "tests/unit/launcher/input/options/parse_line.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct options *parsed(const char *line)
{
    struct options *o;
    struct fault why = {0};

    if (parse_line(&o, line, NULL, &why))
        fail_msg("%s: %s", line, why.text);
    return o;
}

static const struct {
    const char *line, *sentence;
} refused[] = {
    {"--", "no program given"},
    {"-v", "no program given"},
    {"", "the program's name is empty"},
    {"--hostfil|x|prog", "unknown option --hostfil; did you mean --hostfile?"},
    {"--hots|a|prog", "did you mean --hosts"},
    {"--oversubscibe|prog", "did you mean --oversubscribe"},
    {"--repeat-host|2|prog", "did you mean --repeat-hosts"},
    {"--Timeout|2|prog", "did you mean --timeout"},
    {"--zzz=1|prog", "unknown option --zzz; mlaunch --help lists all"},
    {"-Z|prog", "unknown option -Z"},
    {"-vZ|prog", "unknown option -Z in '-vZ'"},
    {"--qp=ud|prog", "--qp: 'ud' is not auto, rc or uc"},
    {"--gid-index|256|prog", "--gid-index: '256' is not"},
    {"--backend|mpi|prog", "--backend: 'mpi' is not auto, tcp, ring, rdma, jaccl, shm or none"},
    {"-n", "-n needs a value: -n N"},
    {"--hosts", "--hosts needs a value: --hosts LIST"},
    {"-n|0|prog", "-n: '0' is not a whole number from 1 to 1048576"},
    {"-n|-1|prog", "-n: '-1' is not a whole number"},
    {"-n|4x|prog", "-n: '4x' is not a whole number"},
    {"-n||prog", "-n: '' is not a whole number"},
    {"-n|+4|prog", "-n: '+4' is not a whole number"},
    {"-n|99999999999999999999|prog", "is not a whole number"},
    {"--ppn=0|prog", "--ppn: '0' is not a whole number from 1"},
    {"--port|65536|prog", "--port: '65536' is not a whole number from 0 to 65535"},
    {"--timeout|soon|prog", "--timeout: 'soon' is not a time from 0 to"},
    {"--timeout|9999999999|prog", "--timeout: '9999999999' is not a time"},
    {"--timeout|0.5|prog", "--timeout: '0.5' is not a time"},
    {"--timeout|1w|prog", "such as 90, 90s, 15m or 2h"},
    {"--timeout|m|prog", "--timeout: 'm' is not a time"},
    {"--timeout|30000d|prog", "--timeout: '30000d' is not a time"},
    {"--init-timeout|0|prog", "--init-timeout: '0' is not a time from 1"},
    {"--grace|x|prog", "--grace: 'x' is not a number of seconds, such as 5, 0.5 or 2m"},
    {"--grace|1.|prog", "--grace: '1.' is not a number"},
    {"--grace|1.2345|prog", "--grace: '1.2345' is not a number"},
    {"--grace|-1|prog", "--grace: '-1' is not a number"},
    {"--restarts|-1|prog", "--restarts: '-1' is not a whole number from 0"},
    {"--elastic|0|prog", "--elastic: '0' is not a whole number from 1"},
    {"--local|disk|prog", "--local: 'disk' is not shm or net"},
    {"--on-failure|panic|prog", "--on-failure: 'panic' is not stop or continue"},
    {"--map-by|board|prog", "--map-by: 'board' is not slot, host, hwthread, core, l3cache"},
    {"--map-by|numa:PE=0|prog", "--map-by: 'numa:PE=0' is not slot"},
    {"--map-by|ppr:2|prog", "--map-by: 'ppr:2' is not slot"},
    {"--bind-to|board|prog", "--bind-to: 'board' is not none, hwthread, core, l3cache, socket"},
    {"--bind-to|core:0|prog", "--bind-to: '0' is not a whole number from 1 to 1024"},
    {"--bind-to|cpus:|prog", "--bind-to: '' is not a list of CPUs for each rank"},
    {"--bind-to|cpus:3-1|prog", "--bind-to: '3-1' is not a list of CPUs"},
    {"--bind-to|cpus:0,1024|prog", "--bind-to: '0,1024' is not a list of CPUs"},
    {"--mem-bind|near|prog",
     "--mem-bind: 'near' is not none, local, prefer, interleave, or a list"},
    {"--mem-bind|nodes:x|prog", "--mem-bind: 'x' is not a list of memory nodes"},
    {"--gpus-per-rank|17|prog", "--gpus-per-rank: '17' is not a whole number from 1 to 16"},
    {"--threads|0|prog", "--threads: '0' is not auto, or a whole number from 1 to 4096"},
    {"--cpus-per-rank|0|prog", "--cpus-per-rank: '0' is not a whole number from 1 to 1024"},
    {"--stdin|some|prog", "--stdin: 'some' is not none, all or a rank"},
    {"--stdin|-1|prog", "--stdin: '-1' is not none, all or a rank"},
    {"--output|lable|prog", "--output: 'lable': did you mean label?"},
    {"--output||prog", "--output: the value is empty"},
    {"--hosts||prog", "--hosts: the value is empty"},
    {"--oversubscribe=maybe|prog", "--oversubscribe: 'maybe' is neither true nor false"},
    {"--verbose=10|prog", "--verbose: '10' is not a whole number from 0 to 9"},
    {"-x|=1|prog", "-x: a variable's name is empty"},
    {"-x|A B=1|prog", "-x: the variable's name in 'A B=1' contains a blank"},
    {"-x|FOO,BAR=3|prog", "-x: 'FOO,BAR=3' is a list, but this option takes one variable"},
    {"--env|FOO,BAR|prog", "--env: 'FOO,BAR' is a list, but this option takes one variable"},
    {"-x|MLAUNCH_RANK=1|prog", "-x: MLAUNCH_RANK is set by mlaunch"},
    {"--env|MLAUNCH_JOB_DIR|prog", "--env: MLAUNCH_JOB_DIR is set by mlaunch"},
    {":|prog", "program 1 is missing; ':' separates two programs"},
    {"prog|:", "program 2 is missing; ':' separates two programs"},
    {"a|:|:|b", "program 2 is missing; ':' separates two programs"},
    {"a|:|-n|2", "program 2 is missing; ':' separates two programs"},
    {"a|:|--timeout|4|b", "--timeout applies to the whole job: put it before the first program"},
    {"a|:|--hosts=x|b", "--hosts applies to the whole job"},
    {"a|:|-v|b", "-v applies to the whole job"},
    {"a|:|--nosuch|b", "unknown option --nosuch"},
};

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
        struct options *o;
        struct fault why = {0};
        int rc = parse_line(&o, refused[i].line, NULL, &why);

        if (rc != ML_ERR_ARGUMENT || !strstr(why.text, refused[i].sentence))
            fail_msg("%s\n  gave %d: %s\n  expected: %s", refused[i].line, rc, why.text,
                     refused[i].sentence);
        assert_null(o);
    }
}

static void test_defaults(void **state)
{
    struct options *o = parsed("prog|-n|x");

    (void)state;
    assert_int_equal(o->action, OPTIONS_RUN);
    assert_int_equal(o->app_count, 1);
    assert_string_equal(o->apps[0].argv[0], "prog");
    assert_string_equal(o->apps[0].argv[1], "-n");
    assert_string_equal(o->apps[0].argv[2], "x");
    assert_null(o->apps[0].argv[3]);
    assert_int_equal(o->apps[0].np, 0);
    assert_null(o->hosts);
    assert_null(o->hostfile);
    assert_int_equal(o->backend, BACKEND_UNSET);
    assert_int_equal(o->job.grace_ms, 5000);
    assert_int_equal(o->job.init_timeout_ms, 60000);
    assert_int_equal(o->timeout_ms, 0);
    assert_int_equal(o->ssh_connect_timeout_s, 10);
    assert_false(o->no_compat);
    options_destroy(o);
}

static void test_every_option(void **state)
{
    struct options *o =
        parsed("-n|4|--ppn=2|-H|a,b|--oversubscribe|--backend|ring|--local=net|-xA=1|--env|B|"
               "--env-file|f|--no-compat|--cwd|/d|--stdin|all|--|prog");

    (void)state;
    assert_int_equal(o->apps[0].np, 4);
    assert_int_equal(o->ppn, 2);
    assert_string_equal(o->hosts, "a,b");
    assert_true(o->oversubscribe);
    assert_int_equal(o->backend, BACKEND_TCP);
    assert_int_equal(o->local, LOCAL_NET);
    assert_string_equal(o->apps[0].env.items[0], "A=1");
    assert_string_equal(o->apps[0].env.items[1], "B");
    assert_string_equal(o->apps[0].env_files.items[0], "f");
    assert_true(o->no_compat);
    assert_string_equal(o->apps[0].cwd, "/d");
    assert_string_equal(o->stdin_to, "all");
    options_destroy(o);

    o = parsed(
        "--output|out/|--timestamp|--timeout|9|--grace|0.25|--on-failure|continue|--restarts|3|"
        "--bind-to|numa|--map-by|host|--eager|--secure|--signal-children|--stop-signal|SIGUSR1|--"
        "stage|--stage-libs|--"
        "spare-hosts|a,|"
        "--spare-hosts|b:2|--await|3|--listen|[::1]:7|--key-file|k|--elastic|2|--replace-wait|3|"
        "prog");
    assert_int_equal(o->await, 3);
    assert_string_equal(o->listen, "[::1]:7");
    assert_string_equal(o->key_file, "k");
    assert_string_equal(o->output, "out/");
    assert_true(o->timestamp);
    assert_int_equal(o->timeout_ms, 9000);
    assert_int_equal(o->job.grace_ms, 250);
    assert_int_equal(o->on_failure, FAILURE_CONTINUE);
    assert_int_equal(o->job.restarts, 3);
    assert_int_equal(o->job.elastic, 2);
    assert_int_equal(o->job.replace_wait_ms, 3000);
    assert_string_equal(o->spare_hosts, "a,b:2");
    assert_int_equal(o->job.binding.to, BIND_NUMA);
    assert_int_equal(o->map_by, MAP_BY_HOST);
    assert_int_equal(o->job.binding.map, BIND_NONE);
    assert_true(o->job.eager);
    assert_true(o->job.secure);
    assert_true(o->job.signal_children);
    assert_int_equal(o->job.stop_signal, SIGUSR1);
    assert_true(o->stage);
    assert_true(o->stage_libs);
    options_destroy(o);

    o = parsed(
        "--map-by|ppr:2:socket:PE=3|--bind-to|cpus:0,1|--bind-to|core:4|--report-bindings|p");
    assert_int_equal(o->job.binding.map, BIND_SOCKET);
    assert_int_equal(o->job.binding.block, 2);
    assert_int_equal(o->cpus_per_rank, 3);
    assert_int_equal(o->job.binding.to, BIND_CORE);
    assert_int_equal(o->job.binding.each, 4);
    assert_true(o->job.binding.report);
    options_destroy(o);

    o = parsed(
        "--port|7000|--starting-port|8000|--init-timeout|5|--ssh-config|c|--agent|/a|--dry-run|"
        "--events|e|--hostfile|h|--repeat-hosts|7|--|prog");
    assert_int_equal(o->job.port, 7000);
    assert_int_equal(o->job.starting_port, 8000);
    assert_int_equal(o->job.init_timeout_ms, 5000);
    assert_string_equal(o->ssh_config, "c");
    assert_string_equal(o->agent, "/a");
    assert_true(o->dry_run);
    assert_string_equal(o->events, "e");
    assert_string_equal(o->hostfile, "h");
    assert_int_equal(o->ppn, 7);
    options_destroy(o);
}

static void test_forms(void **state)
{
    static const char *const four[] = {"-n4|p",   "-n|4|p", "--np|4|p", "--np=4|p",
                                       "-np|4|p", "-vn4|p", "-vn|4|p",  "-n|2|-n|4|p"};
    struct options *o;

    (void)state;
    for (size_t i = 0; i < sizeof(four) / sizeof(*four); i++) {
        o = parsed(four[i]);
        assert_int_equal(o->apps[0].np, 4);
        assert_string_equal(o->apps[0].argv[0], "p");
        options_destroy(o);
    }
    o = parsed("-v|--verbose|p");
    assert_int_equal(o->verbose, 2);
    options_destroy(o);
    o = parsed("-vvvvv|p");
    assert_int_equal(o->verbose, 2);
    options_destroy(o);
    o = parsed("--verbose=3|p");
    assert_int_equal(o->verbose, 2);
    options_destroy(o);
    o = parsed("-vq|p");
    assert_int_equal(o->verbose, -1);
    options_destroy(o);
    o = parsed("--oversubscribe|--oversubscribe=no|p");
    assert_false(o->oversubscribe);
    options_destroy(o);
    o = parsed("-H|a,b|-H|c:2|p"); /* adds */
    assert_string_equal(o->hosts, "a,b,c:2");
    options_destroy(o);
    o = parsed("-H|a,|--hosts=b,|p");
    assert_string_equal(o->hosts, "a,b,");
    options_destroy(o);
    o = parsed("--grace|0|--timeout|0|p");
    assert_int_equal(o->job.grace_ms, 0);
    options_destroy(o);
}

/* Words that look like options or subcommands but belong to the program. */
static void test_end_of_options(void **state)
{
    static const struct {
        const char *line, *program;
    } cases[] = {
        {"--|ps", "ps"}, {"run|x", "run"}, {"-n1|kill", "kill"},    {"--|--version", "--version"},
        {"--|-n", "-n"}, {"-", "-"},       {"prog|--help", "prog"}, {"prog|--|x", "prog"}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct options *o = parsed(cases[i].line);

        assert_int_equal(o->action, OPTIONS_RUN);
        assert_string_equal(o->apps[0].argv[0], cases[i].program);
        options_destroy(o);
    }
}

static void test_actions(void **state)
{
    static const struct {
        const char *line;
        enum options_action action;
    } cases[] = {{"--help", OPTIONS_HELP},       {"-h", OPTIONS_HELP},
                 {"-v|--help", OPTIONS_HELP},    {"-n|2|-h", OPTIONS_HELP},
                 {"--version", OPTIONS_VERSION}, {"-n|0|--version|x", OPTIONS_VERSION}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct options *o = parsed(cases[i].line);

        assert_int_equal(o->action, cases[i].action);
        options_destroy(o);
    }
}

static void test_programs(void **state)
{
    struct options *o = parsed("-n|2|-x|A=1|--timeout|3|a|1|:|-n|3|--cwd|/d|--|b|:|c|--|2");

    (void)state;
    assert_int_equal(o->app_count, 3);
    assert_int_equal(o->apps[0].np, 2);
    assert_int_equal(o->apps[1].np, 3);
    assert_int_equal(o->apps[2].np, 0);
    assert_int_equal(o->apps[0].env.count, 1);
    assert_int_equal(o->apps[1].env.count, 0);
    assert_null(o->apps[0].cwd);
    assert_string_equal(o->apps[1].cwd, "/d");
    assert_string_equal(o->apps[0].argv[1], "1");
    assert_string_equal(o->apps[1].argv[0], "b");
    assert_string_equal(o->apps[2].argv[1], "--");
    assert_int_equal(o->timeout_ms, 3000);
    options_destroy(o);
}

static void test_environment(void **state)
{
    char *environment[] = {(char *)"HOME=/",
                           (char *)"MLAUNCH_OPT_INIT_TIMEOUT=7",
                           (char *)"MLAUNCH_OPT_NP=3",
                           (char *)"MLAUNCH_OPT_OVERSUBSCRIBE=1",
                           (char *)"MLAUNCH_OPT_TIMEOUT=",
                           (char *)"MLAUNCH_OPT_GRACE=2",
                           NULL};
    char *unknown[] = {(char *)"MLAUNCH_OPT_TIMOUT=7", NULL};
    char *wrong[] = {(char *)"MLAUNCH_OPT_TIMEOUT=x", NULL};
    struct options *o;
    struct fault why;

    (void)state;
    assert_int_equal(parse_line(&o, "--grace|1|a|:|-n|5|b", environment, &why), 0);
    assert_int_equal(o->job.init_timeout_ms, 7000);
    assert_int_equal(o->apps[0].np, 3);
    assert_int_equal(o->apps[1].np, 5);
    assert_true(o->oversubscribe);
    assert_int_equal(o->timeout_ms, 0);
    assert_int_equal(o->job.grace_ms, 1000);
    options_destroy(o);
    assert_int_equal(parse_line(&o, "a", unknown, &why), ML_ERR_ARGUMENT);
    assert_string_equal(why.text,
                        "MLAUNCH_OPT_TIMOUT: unknown option timout; did you mean timeout?");
    assert_int_equal(parse_line(&o, "a", wrong, &why), ML_ERR_ARGUMENT);
    assert_non_null(strstr(why.text, "MLAUNCH_OPT_TIMEOUT: 'x' is not a time from 0"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_every_option),   cmocka_unit_test(test_forms),
        cmocka_unit_test(test_end_of_options), cmocka_unit_test(test_actions),
        cmocka_unit_test(test_programs),       cmocka_unit_test(test_environment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
