/* SPDX-License-Identifier: MIT */
/* test_remote_config_file.c: what an ssh_config says of a host, as ssh(1) would understand it. */
#include "launcher/wire/ssh/remote_config_file.h"

#include "common/clock.h"

#include <pwd.h>
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

static char path[] = "/tmp/test_remote_config_file.XXXXXX";

static struct remote_wait soon = {.wake = -1}; /* a limit that ends hangs only */

static int setup(void **state)
{
    int fd = mkstemp(path);

    (void)state;
    soon.deadline_ms = clock_ms() + 600000;
    return fd < 0 ? -1 : close(fd);
}

static int teardown(void **state)
{
    (void)state;
    return unlink(path);
}

static void write_file(const char *text)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

/* Reads `text` as it concerns `name`. */
static struct remote_config *read_for(const char *name, const char *text)
{
    struct host host = {.name = (char *)name};
    struct remote_config *c = NULL;
    struct fault why = {0};

    write_file(text);
    if (remote_config_file_read(&c, &host, path, &soon, &why))
        fail_msg("%s", why.text);
    return c;
}

static void expect(const char *name, const char *text, enum remote_option option, const char *value)
{
    struct remote_config *c = read_for(name, text);

    if (value)
        assert_string_equal(c->option[option], value);
    else
        assert_null(c->option[option]);
    remote_config_destroy(c);
}

static void expect_refused(const char *text, const char *words)
{
    struct host host = {.name = "h"};
    struct remote_config *c = NULL;
    struct fault why = {0};

    write_file(text);
    assert_int_equal(remote_config_file_read(&c, &host, path, &soon, &why), ML_ERR_ARGUMENT);
    assert_null(c);
    if (!strstr(why.text, words))
        fail_msg("\"%s\" is not in: %s", words, why.text);
}

static void test_defaults(void **state)
{
    struct remote_config *c = read_for("h", "");

    (void)state;
    assert_string_equal(c->option[REMOTE_HOSTNAME], "h");
    assert_string_equal(c->option[REMOTE_USER], getpwuid(getuid())->pw_name);
    assert_int_equal(c->port, 22);
    assert_int_equal(c->identities.count, 0);
    assert_int_equal(c->known_hosts.count, 4);
    assert_string_equal(c->known_hosts.items[2], "/etc/ssh/ssh_known_hosts");
    remote_config_destroy(c);
}

static void test_host(void **state)
{
    static const struct {
        const char *name, *pattern;
        int matches;
    } cases[] = {
        {"node1", "node1", 1},  {"node1", "node?", 1}, {"node10", "node?", 0},
        {"node10", "node*", 1}, {"node", "node*", 1},  {"NODE", "node", 1},
        {"a", "b a", 1},        {"a", "* !a", 0},      {"a", "!a *", 0},
        {"b", "!a *", 1},       {"b", "!a", 0},        {"a.b.c", "*.b.*", 1},
        {"a.b", "*.b.*", 0},    {"abcbc", "a*bc", 1},  {"a", "\"a\"", 1},
        {"a", "\"a b\"", 0},    {"a[1]", "a[1]", 1},   {"a1", "a[1]", 0},
        {"[::1]", "::1", 1},    {"user@x", "x", 1},
    };
    char text[200];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        snprintf(text, sizeof(text), "Host %s\n Port 99\n", cases[i].pattern);
        expect(cases[i].name, text, REMOTE_PORT, cases[i].matches ? "99" : "22");
    }
}

static void test_first_value_counts(void **state)
{
    (void)state;
    expect("h", "Port 1\nHost h\nPort 2\n", REMOTE_PORT, "1");
    expect("h", "Host x\nPort 1\nHost h\nPort 2\nHost *\nPort 3\n", REMOTE_PORT, "2");
    /* The name is what the user wrote, whatever HostName says: libssh 0.10 gets this wrong. */
    expect("h", "Host h\nHostName 10.0.0.1\nHost h\nPort 7\n", REMOTE_PORT, "7");
    expect("h", "Host h\nHostName 10.0.0.1\nHost 10.*\nPort 7\n", REMOTE_PORT, "22");
    /* ProxyCommand and ProxyJump stand for one value. */
    expect("h", "ProxyJump j\nProxyCommand c\n", REMOTE_PROXY_COMMAND, NULL);
    expect("h", "ProxyCommand none\nProxyJump j\n", REMOTE_PROXY_JUMP, NULL);
}

static void test_syntax(void **state)
{
    (void)state;
    expect("h", "# Port 1\n\n   PORT=2\r\n", REMOTE_PORT, "2");
    expect("h", "port = 3", REMOTE_PORT, "3");
    expect("h", "\tPort\t4   \n", REMOTE_PORT, "4");
    expect("h", "HostKeyAlias \"a b\" # c\n", REMOTE_HOST_KEY_ALIAS, "a b");
    expect("h", "Host other # h\nPort 1\n", REMOTE_PORT, "22");
    expect("h", "Host other #h h\nPort 1\n", REMOTE_PORT, "22");
    expect("h", "Host \"#\" h # no\nPort 1\n", REMOTE_PORT, "1");
    expect("h", "Host h#\nPort 1\n", REMOTE_PORT, "22");
    expect("h", "Match host h # the twin\nPort 1\n", REMOTE_PORT, "1");
    expect("h", "ProxyCommand nc \"a b\" %h # c\n", REMOTE_PROXY_COMMAND, "nc \"a b\" %h # c");
    expect("h", "NoSuchThing yes\nPort 5\n", REMOTE_PORT, "5");
    expect_refused("Port\n", "line 1: Port has no value");
    expect_refused("\n\nPort 0\n", "\"0\" is no port");
    expect_refused("Port 65536\n", "no port");
    expect_refused("Host *\nMatch host\n", "line 2: Match host needs an argument");
    expect_refused("Match tagged x\n", "line 1: mlaunch does not know Match tagged");
    expect_refused("\nMatch \"a line b\" x\n", "line 2: mlaunch does not know Match a line b");
}

static void test_match(void **state)
{
    (void)state;
    expect("h", "Match all\nPort 1\n", REMOTE_PORT, "1");
    expect("h", "Match host h\nPort 1\n", REMOTE_PORT, "1");
    expect("h", "HostName x\nMatch host h\nPort 1\n", REMOTE_PORT, "22");
    expect("h", "HostName x\nMatch host y,x\nPort 1\n", REMOTE_PORT, "1");
    expect("h", "HostName x\nMatch originalhost h\nPort 1\n", REMOTE_PORT, "1");
    expect("h", "Match !originalhost h\nPort 1\n", REMOTE_PORT, "22");
    expect("h", "Match originalhost !h,*\nPort 1\n", REMOTE_PORT, "22");
    expect("h", "User bob\nMatch user bob host h\nPort 1\n", REMOTE_PORT, "1");
    expect("h", "User bob\nMatch user eve host h\nPort 1\n", REMOTE_PORT, "22");
    expect("h", "Match exec \"test %h = h\"\nPort 1\n", REMOTE_PORT, "1");
    expect("h", "Match !exec false host h\nPort 1\n", REMOTE_PORT, "1");
    expect("h", "Match host x exec \"touch /no/such/dir\"\nPort 1\n", REMOTE_PORT, "22");
    expect("h", "Match canonical\nPort 1\n", REMOTE_PORT, "22");
    expect("h", "Match final host h\nPort 1\n", REMOTE_PORT, "1");
}

static void test_tokens(void **state)
{
    struct remote_config *c;
    struct fault why;
    char *made;

    (void)state;
    expect("h", "HostName %h.example%%\n", REMOTE_HOSTNAME, "h.example%");
    setenv("TEST_REMOTE", "value", 1);
    c = read_for(
        "h", "HostName x\nUser u\nPort 5\nHostKeyAlias k\nIdentityFile /%n/%r\nIdentityFile ~/b\n"
             "UserKnownHostsFile /a/%k \"/b c\" ${TEST_REMOTE}\nGlobalKnownHostsFile none\n");
    assert_int_equal(c->identities.count, 2);
    assert_string_equal(c->identities.items[0], "/h/u");
    assert_int_not_equal(c->identities.items[1][0], '~');
    assert_int_equal(c->known_hosts.count, 3);
    assert_string_equal(c->known_hosts.items[0], "/a/k");
    assert_string_equal(c->known_hosts.items[1], "/b c");
    assert_string_equal(c->known_hosts.items[2], "value");
    assert_int_equal(remote_config_expand(&made, c, "nc %h %p", &why), 0);
    assert_string_equal(made, "nc x 5");
    free(made);
    assert_int_equal(remote_config_expand(&made, c, "%y", &why), ML_ERR_ARGUMENT);
    assert_int_equal(remote_config_expand(&made, c, "x%", &why), ML_ERR_ARGUMENT);
    assert_int_equal(remote_config_expand(&made, c, "${NO_SUCH_VARIABLE}", &why), ML_ERR_ARGUMENT);
    assert_non_null(strstr(why.text, "${NO_SUCH_VARIABLE} is not set"));
    remote_config_destroy(c);
}

static void test_hostfile_first(void **state)
{
    struct host host = {.name = "h", .user = "mine", .port = 77};
    struct remote_config *c;
    struct fault why;

    (void)state;
    write_file("User theirs\nPort 5\n");
    assert_int_equal(remote_config_file_read(&c, &host, path, &soon, &why), 0);
    assert_string_equal(c->option[REMOTE_USER], "mine");
    assert_int_equal(c->port, 77);
    remote_config_destroy(c);
    assert_int_equal(remote_config_file_read(&c, &host, "none", &soon, &why), 0);
    remote_config_destroy(c);
    assert_int_equal(remote_config_file_read(&c, &host, "/no/such/file", &soon, &why),
                     ML_ERR_ARGUMENT);
}

static void test_include_of_itself(void **state)
{
    char text[200];

    (void)state;
    snprintf(text, sizeof(text), "Include %s\n", path);
    expect_refused(text, "too many levels of Include");
}

/* As ssh does, which says so in the same words. */
static void test_what_others_may_write(void **state)
{
    char included[] = "/tmp/test_remote_config_included.XXXXXX", text[200];
    int fd = mkstemp(included);

    (void)state;
    assert_true(fd >= 0);
    snprintf(text, sizeof(text), "Include %s\n", included);
    assert_int_equal(write(fd, "Port 7\n", 7), 7);
    expect("h", text, REMOTE_PORT, "7");
    assert_int_equal(fchmod(fd, 0602), 0);
    expect_refused(text, "Bad owner or permissions on /tmp/test_remote_config_included");
    if (geteuid() == 0) { /* only root can give a file away */
        assert_int_equal(fchmod(fd, 0620), 0);
        expect("h", text, REMOTE_PORT, "7"); /* a group of root alone */
        assert_int_equal(fchown(fd, 0, 12345), 0);
        expect_refused(text, "Bad owner or permissions on /tmp/test_remote_config_included");
        assert_int_equal(fchmod(fd, 0600) | fchown(fd, 12345, 0), 0);
        expect_refused(text, "Bad owner or permissions on /tmp/test_remote_config_included");
    }
    close(fd);
    unlink(included);
    /* What -F names itself is the user's word. */
    write_file("Port 8\n");
    assert_int_equal(chmod(path, 0666), 0);
    expect("h", "Port 8\n", REMOTE_PORT, "8");
    assert_int_equal(chmod(path, 0600), 0);
}

static int exec_read(const struct remote_wait *wait, struct fault *why)
{
    struct host host = {.name = "h"};
    struct remote_config *c = NULL;

    write_file("Match exec \"sleep 1000 & sleep 1000\"\nPort 1\n");
    return remote_config_file_read(&c, &host, path, wait, why);
}

static void test_a_command_ends_with_the_wait(void **state)
{
    struct remote_wait wait = {.wake = eventfd(0, EFD_CLOEXEC), .deadline_ms = clock_ms() + 50};
    struct fault why = {0};

    (void)state;
    assert_true(wait.wake >= 0);
    assert_int_equal(exec_read(&wait, &why), ML_ERR_TIMEOUT);
    assert_non_null(strstr(why.text, "the command of Match exec has not ended in time: sleep"));
    wait.deadline_ms = soon.deadline_ms;
    assert_int_equal(eventfd_write(wait.wake, 1), 0);
    assert_int_equal(exec_read(&wait, &why), ML_ERR_STATE);
    close(wait.wake);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* both are reaped */
}

/* With 60 stars, trying every way to share the name out among them would not end. */
static void test_patterns(void **state)
{
    static const struct {
        const char *pattern, *name;
        bool matches;
    } cases[] = {
        {"*", "", true},         {"*", "abc", true},       {"a*", "abc", true},
        {"*c", "abcc", true},    {"*c", "abcd", false},    {"a*b*c", "aXbXbc", true},
        {"a*b*c", "acb", false}, {"*ab?", "aabab", false}, {"*ab?", "aababc", true},
        {"?", "", false},        {"a**", "a", true},       {"A*.Example", "a1.eXAMPLE", true},
        {"abc", "ab", false},    {"ab", "abc", false},     {"x,*b", "ab", true},
        {"!ab,*", "ab", false},  {"*,!a*", "abc", false},  {"", "a", false},
    };
    char stars[256] = "", name[121] = "", list[64];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        snprintf(list, sizeof(list), "%s", cases[i].pattern);
        if (remote_config_file_list_matches(list, cases[i].name) != cases[i].matches)
            fail_msg("%s and %s", cases[i].pattern, cases[i].name);
    }
    for (int i = 0; i < 60; i++) {
        memcpy(stars + (size_t)i * 2, "*a", 3);
        memcpy(name + (size_t)i * 2, "aa", 3);
    }
    memcpy(stars + 120, "b", 2);
    assert_false(remote_config_file_list_matches(stars, name));
    stars[120] = '\0';
    assert_true(remote_config_file_list_matches(stars, name));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_host),
        cmocka_unit_test(test_first_value_counts),
        cmocka_unit_test(test_syntax),
        cmocka_unit_test(test_match),
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_hostfile_first),
        cmocka_unit_test(test_include_of_itself),
        cmocka_unit_test(test_what_others_may_write),
        cmocka_unit_test(test_a_command_ends_with_the_wait),
        cmocka_unit_test(test_patterns),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
