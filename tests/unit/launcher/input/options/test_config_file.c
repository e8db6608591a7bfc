/* SPDX-License-Identifier: MIT */
/* test_config_file.c: INI files: what is accepted, what is refused at which line, and which value
 * wins. */
#include "launcher/input/options/config_file.h"
#include "launcher/input/options/options_load.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char directory[] = "/tmp/test_config_file.XXXXXX";
static char one[64], two[64], three[64];

static int setup(void **state)
{
    (void)state;
    if (!mkdtemp(directory))
        return -1;
    snprintf(one, sizeof(one), "%s/one.ini", directory);
    snprintf(two, sizeof(two), "%s/two.ini", directory);
    snprintf(three, sizeof(three), "%s/three.ini", directory);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    unlink(one);
    unlink(two);
    unlink(three);
    return rmdir(directory);
}

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

#define LONG_LINE                                                                                  \
    "[defaults]\nhosts = "                                                                         \
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"                 \
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" \
    "aaaaaaaa"                                                                                     \
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" \
    "aaaaaaaa\n"

static const struct {
    const char *text, *sentence; /* after the file's name */
} refused[] = {
    {"np = 4\n", " line 1: comes before any section; options go below [defaults]"},
    {"[defaults]\nnp\n", " line 2: is neither [section] nor key = value"},
    {"[defaults\nnp = 4\n", " line 1: is neither [section] nor key = value"},
    {"[defaults]\n\n# x\ntimout = 4\n", " line 4: unknown option timout; did you mean timeout?"},
    {"[defaults]\nnodes = 2\n", " line 2: nodes is srun's: the hosts are those of -H"},
    {"[defaults]\nntasks = 4\n", " line 2: unknown option ntasks; here it is called np"},
    {"[defaults]\nconfig = x\n", " line 2: config goes on the command line"},
    {"[defaults]\nhelp = yes\n", " line 2: help goes on the command line"},
    {"[default]\nnp = 4\n", " line 2: unknown section [default]; there are [defaults]"},
    {"[profiles x]\nnp = 4\n", " line 2: unknown section [profiles x]; there are [defaults]"},
    {"[profile other]\nnpp = 4\n", " line 2: unknown option npp; did you mean np?"},
    {"[ssh]\nconnect-timout = 4\n",
     " line 2: unknown key connect-timout in [ssh]; there are connect-timeout"},
    {"[ssh]\nnp = 4\n", " line 2: unknown key np in [ssh]"},
    {"[ssh]\nconnect-timeout = 0\n", " line 2: connect-timeout: '0' is not a whole number from 1"},
    {"[rdma]\nmtu = 4k\n", " line 2: mtu: '4k' is not a whole number from 256 to 4096"},
    {"[rdma]\ngid-indx = 4\n", " line 2: unknown key gid-indx in [rdma]; there are device, port"},
    {"[rdma]\nnp = 4\n", " line 2: unknown key np in [rdma]"},
    {"[defaults]\nnp = four\n", " line 2: np: 'four' is not a whole number"},
    {"[defaults]\n  np = 4\n  grace = x\n", " line 3: grace: 'x' is not a number of seconds"},
    {"[defaults]\noversubscribe = perhaps\n",
     " line 2: oversubscribe: 'perhaps' is neither true nor false"},
    {"[defaults]\nhosts =\n", " line 2: hosts: the value is empty"},
    {"[defaults]\nenv = MLAUNCH_RANK=3\n", " line 2: env: MLAUNCH_RANK is set by mlaunch"},
    {LONG_LINE, " line 2: the line is longer than 197 bytes"},
    {"[profile aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa]\nnp = 4\n",
     " line 2: the section's name is longer"},
};

static int parse(struct options **o, const char *system_config, const char *user_config,
                 char *const *environment, char *const *argv, struct fault *why)
{
    struct options_source from = {0, argv, environment, system_config, user_config};

    while (argv[from.argc])
        from.argc++;
    *o = NULL;
    return options_load_from(o, &from, why);
}

static char *const plain[] = {(char *)"mlaunch", (char *)"prog", NULL};

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
        struct options *o;
        struct fault why = {0};
        int rc;

        write_file(one, refused[i].text);
        rc = parse(&o, one, NULL, NULL, plain, &why);
        if (rc != ML_ERR_ARGUMENT || !strstr(why.text, refused[i].sentence) ||
            strncmp(why.text, one, strlen(one)) != 0)
            fail_msg("%s\n  gave %d: %s\n  expected: %s%s", refused[i].text, rc, why.text, one,
                     refused[i].sentence);
        assert_null(o);
    }
}

static void test_values(void **state)
{
    struct options *o;
    struct fault why;

    (void)state;
    write_file(
        one, "\xef\xbb\xbf; comment\r\n[defaults]\r\nnp = 3\r\n   grace=0.5 ; inline\r\n"
             "oversubscribe = yes\r\nenv = A=1\r\nenv = B=x=y\r\nhosts: a,b:2\r\nverbose = 2\r\n"
             "repeat-hosts = 5\r\n[ssh]\r\nconnect-timeout = 3\r\nconfig = /c\r\n"
             "[rdma]\r\ndevice = mlx5_1\r\nport = 2\r\ngid-index = 0\r\nmtu = 1024\r\nqp = uc\r\n");
    assert_int_equal(parse(&o, one, NULL, NULL, plain, &why), 0);
    assert_int_equal(o->apps[0].np, 3);
    assert_int_equal(o->job.grace_ms, 500);
    assert_true(o->oversubscribe);
    assert_string_equal(o->apps[0].env.items[0], "A=1");
    assert_string_equal(o->apps[0].env.items[1], "B=x=y");
    assert_string_equal(o->hosts, "a,b:2");
    assert_int_equal(o->verbose, 2);
    assert_int_equal(o->ppn, 5);
    assert_int_equal(o->ssh_connect_timeout_s, 3);
    assert_string_equal(o->ssh_config, "/c");
    assert_string_equal(o->rdma_device, "mlx5_1");
    assert_int_equal(o->job.rdma.port, 2);
    assert_int_equal(o->job.rdma.gid_index, 0);
    assert_int_equal(o->job.rdma.mtu, 1024);
    assert_int_equal(o->job.rdma.qp, 2);
    options_destroy(o);
}

/* The order: system, user and --config file, then profiles, the environment, the command line. */
static void test_order(void **state)
{
    char *environment[] = {(char *)"MLAUNCH_OPT_RESTARTS=5", NULL};
    char *argv[] = {(char *)"mlaunch", (char *)"--config", three,          (char *)"--profile=p",
                    (char *)"--port",  (char *)"6",        (char *)"prog", NULL};
    struct options *o;
    struct fault why;

    (void)state;
    write_file(
        one,
        "[profile p]\ninit-timeout = 4\nrestarts = 4\nport = 4\n"
        "[defaults]\nppn = 1\ntimeout = 1\ngrace = 1\ninit-timeout = 1\nrestarts = 1\nport = 1\n");
    write_file(two,
               "[defaults]\ntimeout = 2\ngrace = 2\ninit-timeout = 2\nrestarts = 2\nport = 2\n");
    write_file(three, "[defaults]\ngrace = 3\ninit-timeout = 3\nrestarts = 3\nport = 3\n");
    assert_int_equal(parse(&o, one, two, environment, argv, &why), 0);
    assert_int_equal(o->ppn, 1);
    assert_int_equal(o->timeout_ms, 2000);
    assert_int_equal(o->job.grace_ms, 3000);
    assert_int_equal(o->job.init_timeout_ms, 4000);
    assert_int_equal(o->job.restarts, 5);
    assert_int_equal(o->job.port, 6);
    options_destroy(o);
}

static void test_profile(void **state)
{
    char *argv[] = {(char *)"mlaunch", (char *)"--profile", (char *)"bigg", (char *)"prog", NULL};
    char *environment[] = {(char *)"MLAUNCH_OPT_PROFILE=big", NULL};
    struct options *o;
    struct fault why;

    (void)state;
    write_file(one, "[profile small]\nnp = 2\n[profile big]\nnp = 64\n");
    assert_int_equal(parse(&o, one, NULL, NULL, argv, &why), ML_ERR_ARGUMENT);
    assert_string_equal(why.text,
                        "--profile bigg: no configuration file has it; did you mean big?");
    assert_int_equal(parse(&o, NULL, NULL, NULL, argv, &why), ML_ERR_ARGUMENT);
    assert_string_equal(why.text, "--profile bigg: no configuration file has a [profile bigg]");
    assert_int_equal(parse(&o, one, NULL, NULL, plain, &why), 0);
    assert_int_equal(o->apps[0].np, 0);
    options_destroy(o);
    assert_int_equal(parse(&o, one, NULL, environment, plain, &why), 0);
    assert_int_equal(o->apps[0].np, 64);
    options_destroy(o);
}

/* The files that are optional, and that of --config, which is not. */
static void test_missing(void **state)
{
    char *argv[] = {(char *)"mlaunch", (char *)"--config", (char *)"/nonexistent", (char *)"p",
                    NULL};
    struct options *o;
    struct fault why;

    (void)state;
    assert_int_equal(parse(&o, "/nonexistent/a", "/nonexistent/b", NULL, plain, &why), 0);
    options_destroy(o);
    assert_int_equal(parse(&o, NULL, NULL, NULL, argv, &why), ML_ERR_ARGUMENT);
    assert_string_equal(
        why.text, "configuration file: /nonexistent: cannot be opened: No such file or directory");
}

static void test_user_path(void **state)
{
    char *path;
    struct fault why;

    (void)state;
    setenv("HOME", "/h/me", 1);
    setenv("XDG_CONFIG_HOME", "/xdg", 1);
    assert_int_equal(config_file_user_path(&path, &why), 0);
    assert_string_equal(path, "/xdg/mlaunch/mlaunch.ini");
    free(path);
    setenv("XDG_CONFIG_HOME", ".", 1); /* never the current directory */
    assert_int_equal(config_file_user_path(&path, &why), 0);
    assert_string_equal(path, "/h/me/.config/mlaunch/mlaunch.ini");
    free(path);
    setenv("HOME", "", 1);
    assert_int_equal(config_file_user_path(&path, &why), 0);
    assert_true(!path || path[0] == '/');
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused), cmocka_unit_test(test_values),
        cmocka_unit_test(test_order),   cmocka_unit_test(test_profile),
        cmocka_unit_test(test_missing), cmocka_unit_test(test_user_path),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
