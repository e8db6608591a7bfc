/* SPDX-License-Identifier: MIT */
/*
 * test_remote_share.c: the ssh program is asked about hosts, and once for all that are alike. A
 * script in front of the real one counts how often. Left out where there is no ssh.
 */
#include "launcher/wire/ssh/reach/remote_share.h"

#include "common/clock.h"
#include "launcher/base/text/program_path.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { HOSTS = 12 };

static char dir[] = "/tmp/test_remote_share.XXXXXX", count_path[64], script[64], config[64];
static char *usual_path, *ssh;
static struct remote_wait soon = {.wake = -1}; /* a limit that ends hangs only */

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static int setup(void **state)
{
    char text[600];

    (void)state;
    if (!mkdtemp(dir))
        return -1;
    snprintf(count_path, sizeof(count_path), "%s/count", dir);
    snprintf(script, sizeof(script), "%s/ssh", dir);
    usual_path = strdup(getenv("PATH"));
    if (program_path_find(&ssh, "ssh", NULL))
        return 0;
    snprintf(text, sizeof(text), "#!/bin/sh\necho asked >> %s\nexec %s \"$@\"\n", count_path, ssh);
    write_file(script, text);
    chmod(script, 0700);
    snprintf(text, sizeof(text), "%s:%s", dir, usual_path);
    setenv("PATH", text, 1);
    soon.deadline_ms = clock_ms() + 600000;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    unlink(count_path);
    unlink(script);
    rmdir(dir);
    free(usual_path);
    free(ssh);
    return 0;
}

static int times_asked(void)
{
    FILE *f = fopen(count_path, "r");
    int lines = 0, c;

    while (f && (c = getc(f)) != EOF)
        lines += c == '\n';
    if (f)
        fclose(f);
    unlink(count_path);
    return lines;
}

/* Each test has a file of its own, as answers are kept by its name. */
static void configure(const char *text)
{
    static int number;

    snprintf(config, sizeof(config), "%s.%d", dir, number++);
    write_file(config, text);
    times_asked();
}

struct asked {
    pthread_t thread;
    struct host host;
    char name[16];
    struct remote_config *c;
    struct fault why;
    int rc;
};

static void *ask(void *arg)
{
    struct asked *a = arg;

    a->rc = remote_share_config(&a->c, &a->host, config, &soon, &a->why);
    return NULL;
}

/* node0 to node11, by a thread each. */
static void ask_all(struct asked asked[HOSTS])
{
    for (int i = 0; i < HOSTS; i++) {
        asked[i] = (struct asked){0};
        snprintf(asked[i].name, sizeof(asked[i].name), "node%d", i);
        asked[i].host.name = asked[i].name;
        assert_int_equal(pthread_create(&asked[i].thread, NULL, ask, &asked[i]), 0);
    }
    for (int i = 0; i < HOSTS; i++)
        pthread_join(asked[i].thread, NULL);
}

static void expect_all(const char *text, int times)
{
    struct asked asked[HOSTS];
    int asked_times;

    configure(text);
    ask_all(asked);
    asked_times = times_asked();
    for (int i = 0; i < HOSTS; i++) {
        if (asked[i].rc)
            fail_msg("%s: %s", asked[i].name, asked[i].why.text);
        assert_string_equal(asked[i].c->option[REMOTE_HOSTNAME], asked[i].name);
        assert_string_equal(asked[i].c->name, asked[i].name);
        assert_int_equal(asked[i].c->port, strcmp(asked[i].name, "node3") == 0 ? 7 : 22);
        remote_config_destroy(asked[i].c);
    }
    assert_int_equal(asked_times, times);
    unlink(config);
}

static void need_ssh(void)
{
    if (!ssh)
        skip();
}

static void test_once_for_all_that_are_alike(void **state)
{
    (void)state;
    need_ssh();
    expect_all("Host node3\n Port 7\nHost *\n User u\nMatch final all\n Compression no\n", 2);
    expect_all("Host node3\n Port 7\nHost node1*\n User u\n", 3);
}

static void test_each_where_it_is_doubtful(void **state)
{
    (void)state;
    need_ssh();
    expect_all("Match exec \"test %n = node3\"\n Port 7\n", HOSTS);
    expect_all("Host node3\n Port 7\nHost \"x\"\n", HOSTS);
    expect_all("Host node3\n Port 7\nHost *\n HostName %h\n", 2);
}

/* The answer of one host is not that of others where ssh has made something of its name. */
static void test_each_where_names_are_made(void **state)
{
    struct asked asked[HOSTS];
    char name[32];

    (void)state;
    need_ssh();
    configure("Host *\n HostName %h.example\n");
    ask_all(asked);
    for (int i = 0; i < HOSTS; i++) {
        assert_int_equal(asked[i].rc, 0);
        snprintf(name, sizeof(name), "node%d.example", i);
        assert_string_equal(asked[i].c->option[REMOTE_HOSTNAME], name);
        remote_config_destroy(asked[i].c);
    }
    assert_int_equal(times_asked(), HOSTS);
    unlink(config);
}

static void test_defaults_where_algorithms_are_set(void **state)
{
    struct asked one = {.host = {.name = (char *)"node0"}};

    (void)state;
    need_ssh();
    configure("Host node0\n HostKeyAlgorithms +ssh-rsa\n");
    ask(&one);
    assert_int_equal(one.rc, 0);
    assert_null(one.c->option[REMOTE_CIPHERS]);
    assert_non_null(strstr(one.c->option[REMOTE_HOST_KEY_ALGORITHMS], ",ssh-rsa"));
    assert_non_null(strstr(one.c->option[REMOTE_HOST_KEY_ALGORITHMS], "ssh-ed25519,"));
    remote_config_destroy(one.c);
    assert_int_equal(times_asked(), 2);
    unlink(config);
}

static void test_the_hostfile_comes_first(void **state)
{
    struct asked one = {
        .host = {.name = (char *)"[fe80::1%lo]", .user = (char *)"mine", .port = 9}};

    (void)state;
    need_ssh();
    configure("User theirs\nPort 5\n");
    ask(&one);
    assert_int_equal(one.rc, 0);
    assert_string_equal(one.c->option[REMOTE_USER], "mine");
    assert_string_equal(one.c->option[REMOTE_HOSTNAME], "fe80::1%lo");
    assert_int_equal(one.c->port, 9);
    remote_config_destroy(one.c);
    unlink(config);
}

static void expect_refused(const char *text, const char *words)
{
    struct asked one = {.host = {.name = (char *)"node0"}};

    configure(text);
    ask(&one);
    assert_int_equal(one.rc, ML_ERR_ARGUMENT);
    if (!strstr(one.why.text, words))
        fail_msg("\"%s\" is not in: %s", words, one.why.text);
    unlink(config);
}

static void test_what_ssh_refuses(void **state)
{
    struct asked one = {.host = {.name = (char *)"-oProxyCommand=x"}};

    (void)state;
    need_ssh();
    expect_refused("\nNoSuchThing yes\n", "line 2: Bad configuration option: nosuchthing");
    expect_refused("Port 0\n", "line 1: Bad ");
    expect_refused("Host *\n  Match host\n", "line 2");
    configure("");
    ask(&one);
    assert_int_not_equal(one.rc, 0);
    unlink(config);
    ask(&one); /* there is no such file any more */
    assert_int_not_equal(one.rc, 0);
}

static void test_a_command_ends_with_the_wait(void **state)
{
    struct asked one = {.host = {.name = (char *)"node0"}};
    struct remote_wait before = soon;
    int wake = eventfd(0, EFD_CLOEXEC);

    (void)state;
    need_ssh();
    configure("Match exec \"sleep 1000 & sleep 1000\"\nPort 1\n");
    soon.deadline_ms = clock_ms() + 100;
    ask(&one);
    assert_int_equal(one.rc, ML_ERR_TIMEOUT);
    assert_non_null(strstr(one.why.text,
                           "a command of Match exec in ssh_config has not ended in time: 'sleep"));
    soon = (struct remote_wait){wake, before.deadline_ms};
    assert_int_equal(eventfd_write(wake, 1), 0);
    ask(&one);
    soon = before;
    assert_int_equal(one.rc, ML_ERR_STATE);
    close(wake);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* both are reaped */
    unlink(config);
}

static void test_without_ssh(void **state)
{
    struct host host = {.name = (char *)"node0"};
    struct remote_config *c = NULL;
    struct fault why = {0};

    (void)state;
    configure("Port 7\n");
    setenv("PATH", "/no/such/dir", 1);
    assert_int_equal(remote_share_config(&c, &host, config, &soon, &why), ML_ERR_REFUSED);
    assert_non_null(strstr(why.text, "there is no ssh program here"));
    assert_int_equal(remote_share_config(&c, &host, "none", &soon, &why), 0);
    assert_string_equal(c->option[REMOTE_HOSTNAME], "node0");
    remote_config_destroy(c);
    unlink(config);
    setenv("PATH", usual_path, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_once_for_all_that_are_alike),
        cmocka_unit_test(test_each_where_it_is_doubtful),
        cmocka_unit_test(test_each_where_names_are_made),
        cmocka_unit_test(test_defaults_where_algorithms_are_set),
        cmocka_unit_test(test_the_hostfile_comes_first),
        cmocka_unit_test(test_what_ssh_refuses),
        cmocka_unit_test(test_a_command_ends_with_the_wait),
        cmocka_unit_test(test_without_ssh),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
