/* SPDX-License-Identifier: MIT */
/* test_rank_command.c: a rank's command with --words and --wrap; the ports that {port} may be. */
#include "launcher/agent/rank/rank_command.h"

#include "launcher/wire/protocol/agent_protocol.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static const char *args[] = {"prog", "--node={host_rank}", "{head}:{port}", "{{x}", NULL};
static const char *plain[] = {"prog", "{port}", NULL};
static const char *no_env[] = {NULL};
static const char *wrap[] = {"strace", "-o", "{host}.{rank}", "{size}", NULL};
static const char **wraps[] = {wrap};
static struct job_app apps[] = {
    {.argv = args, .env = no_env, .has_words = true, .file = -1},
    {.argv = plain, .env = no_env, .file = -1},
};
static int host_of[] = {0, 0, 1};
static const char *host_names[] = {"a", "b"}, *addresses[] = {"10.0.0.9", ""};
static struct job_spec job = {.job = "j-1",
                              .size = 3,
                              .hosts = 2,
                              .host = 1,
                              .host_name = "b",
                              .host_of = host_of,
                              .host_names = host_names,
                              .bind_ip = "",
                              .apps = apps,
                              .app_count = 2,
                              .wraps = wraps,
                              .wrap_count = 1};

static void expect(const struct job_rank *rank, const char *coordinator, const char *expected)
{
    char **argv = rank_command_create(&job, rank, "/d/prog", "/", coordinator, 10015), text[256];
    size_t at = 0;

    assert_non_null(argv);
    text[0] = '\0';
    for (char **word = argv; *word; word++)
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%s|", *word);
    assert_string_equal(text, expected);
    rank_command_destroy(argv);
}

static void test_command(void **state)
{
    struct job_rank rank = {.rank = 2, .app = 0, .wrap = -1};

    (void)state;
    assert_true(rank_command_is_own(&job, &rank));
    expect(&rank, "10.0.0.1:77", "/d/prog|--node=1|10.0.0.1:10015|{x}|");
    expect(&rank, "", "/d/prog|--node=1|a:10015|{x}|");
    job.addresses = addresses;
    expect(&rank, "", "/d/prog|--node=1|10.0.0.9:10015|{x}|");
    job.addresses = NULL;
    expect(&rank, "[fd00::1]:77", "/d/prog|--node=1|[fd00::1]:10015|{x}|");
    rank.wrap = 0;
    expect(&rank, "10.0.0.1:77", "strace|-o|b.2|{size}|/d/prog|--node=1|10.0.0.1:10015|{x}|");
    rank.app = 1;
    expect(&rank, "", "strace|-o|b.2|{size}|/d/prog|{port}|");
    rank.wrap = -1;
    assert_false(rank_command_is_own(&job, &rank));
    rank_command_destroy(NULL);
}

/* Listens on a port that any may have. */
static int door_open(int port)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(fd, 1), 0);
    return fd;
}

static void test_ports(void **state)
{
    unsigned before, all = (1U << JOB_PORTS) - 1;
    int fd, index = 0;

    (void)state;
    for (int i = 0; i < JOB_PORTS; i++)
        for (int k = 0; k < i; k++)
            assert_int_not_equal(rank_command_port(&job, i), rank_command_port(&job, k));
    before = rank_command_ports_taken(&job);
    assert_int_not_equal(before, all); /* this machine has one of twelve free */
    while (before >> index & 1)
        index++;
    fd = door_open(rank_command_port(&job, index));
    assert_true(rank_command_ports_taken(&job) >> index & 1);
    assert_int_equal(rank_command_ports_taken(&job) & ~all, 0);
    apps[0].has_words = false; /* nobody needs one */
    assert_int_equal(rank_command_ports_taken(&job), 0);
    apps[0].has_words = true;
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_command),
                                       cmocka_unit_test(test_ports)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
