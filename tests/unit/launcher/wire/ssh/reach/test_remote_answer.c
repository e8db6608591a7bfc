/* SPDX-License-Identifier: MIT */
/* test_remote_answer.c: what ssh -G prints becomes a configuration. */
#include "launcher/wire/ssh/reach/remote_answer.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define HEAD "host h\nuser u\nhostname x.example\nport 5\n"

static struct remote_config *config_new(void)
{
    struct remote_config *c = calloc(1, sizeof(*c));

    assert_non_null(c);
    c->name = strdup("h");
    return c;
}

static struct remote_config *read_text(const char *text, const char *defaults)
{
    struct remote_config *c = config_new();
    struct fault why = {0};

    if (remote_answer_read(c, text, defaults, &why))
        fail_msg("%s", why.text);
    return c;
}

static void refused(const char *text, const char *words)
{
    struct remote_config *c = config_new();
    struct fault why = {0};

    assert_int_equal(remote_answer_read(c, text, NULL, &why), ML_ERR_ARGUMENT);
    if (!strstr(why.text, words))
        fail_msg("\"%s\" is not in: %s", words, why.text);
    remote_config_destroy(c);
}

static void test_values(void **state)
{
    struct remote_config *c = read_text(HEAD "addressfamily inet\nproxycommand nc \"a b\" %h\n"
                                             "newkeyword 7\nidentitiesonly yes\ncanonicaldomains\n",
                                        NULL);

    (void)state;
    assert_string_equal(c->option[REMOTE_HOSTNAME], "x.example");
    assert_string_equal(c->option[REMOTE_USER], "u");
    assert_int_equal(c->port, 5);
    assert_string_equal(c->option[REMOTE_ADDRESS_FAMILY], "inet");
    assert_string_equal(c->option[REMOTE_PROXY_COMMAND], "nc \"a b\" %h");
    assert_string_equal(c->option[REMOTE_IDENTITIES_ONLY], "yes");
    assert_null(c->option[REMOTE_PROXY_JUMP]);
    assert_false(c->has_default_identities);
    remote_config_destroy(c);
}

static void test_algorithms(void **state)
{
    struct remote_config *c = read_text(HEAD "ciphers a,b\nmacs c\n", NULL);

    (void)state;
    assert_null(c->option[REMOTE_CIPHERS]);
    remote_config_destroy(c);
    c = read_text(HEAD "ciphers a,b\nmacs c\n", "host d\nciphers a,b\nmacs c,d\n");
    assert_null(c->option[REMOTE_CIPHERS]);
    assert_string_equal(c->option[REMOTE_MACS], "c");
    remote_config_destroy(c);
}

/* ssh -G has no quotes around names of files: those that are there tell where one ends. */
static void test_files(void **state)
{
    char dir[] = "/tmp/test remote answer.XXXXXX", text[1000], path[100];
    struct remote_config *c;
    int fd;

    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/known hosts", dir);
    fd = open(path, O_CREAT | O_WRONLY, 0600);
    assert_true(fd >= 0);
    close(fd);
    snprintf(text, sizeof(text),
             HEAD "identityfile /a b/%%r\nidentityfile ~/c\nuserknownhostsfile /x %s /y\n"
                  "globalknownhostsfile none\nrevokedhostkeys %s\ncertificatefile /d e\n",
             path, path);
    c = read_text(text, NULL);
    assert_int_equal(c->identities.count, 2);
    assert_string_equal(c->identities.items[0], "/a b/u");
    assert_int_not_equal(c->identities.items[1][0], '~');
    assert_false(c->has_default_identities);
    assert_int_equal(c->known_hosts.count, 3);
    assert_string_equal(c->known_hosts.items[0], "/x");
    assert_string_equal(c->known_hosts.items[1], path);
    assert_string_equal(c->known_hosts.items[2], "/y");
    assert_int_equal(c->revoked.count, 1);
    assert_string_equal(c->revoked.items[0], path);
    assert_string_equal(c->certificates.items[0], "/d e");
    remote_config_destroy(c);
    unlink(path);
    rmdir(dir);
}

static void test_default_identities(void **state)
{
    struct remote_config *c =
        read_text(HEAD "identityfile ~/.ssh/id_rsa\nidentityfile ~/.ssh/id_ecdsa\n"
                       "identityfile ~/.ssh/id_ecdsa_sk\nidentityfile ~/.ssh/id_ed25519\n",
                  NULL);

    (void)state;
    assert_true(c->has_default_identities);
    remote_config_destroy(c);
    c = read_text(HEAD "identityfile ~/.ssh/id_rsa\n", NULL);
    assert_false(c->has_default_identities);
    remote_config_destroy(c);
}

static void test_refused(void **state)
{
    (void)state;
    refused("", "says no HostName, User or Port");
    refused("usage: ssh [-46AaCf]\n", "says no HostName, User or Port");
    refused("hostname x\nuser u\nport 0\n", "\"port 0\", which is no port");
    refused("hostname x\nuser u\nport 65536\n", "which is no port");
    refused(HEAD "proxyusefdpass yes\n", "\"proxyusefdpass yes\"");
    refused(HEAD "identityfile %y\n", "the token %y");
    remote_config_destroy(read_text(HEAD "sessiontype none\nproxyusefdpass no\n", NULL));
}

static void test_tokens(void **state)
{
    struct remote_config *c = read_text(HEAD "hostkeyalias k\n", NULL);
    struct fault why;
    char *made;

    (void)state;
    assert_int_equal(remote_config_expand(&made, c, "nc %h %p %r %n %k %%", &why), 0);
    assert_string_equal(made, "nc x.example 5 u h k %");
    free(made);
    assert_int_equal(remote_config_expand(&made, c, "x%", &why), ML_ERR_ARGUMENT);
    unsetenv("NO_SUCH_VARIABLE");
    assert_int_equal(remote_config_expand(&made, c, "${NO_SUCH_VARIABLE}", &why), ML_ERR_ARGUMENT);
    assert_non_null(strstr(why.text, "${NO_SUCH_VARIABLE} is not set"));
    remote_config_destroy(c);
}

static void test_without_ssh(void **state)
{
    struct remote_config *c = config_new();
    struct fault why = {0};

    (void)state;
    assert_int_equal(remote_answer_none(c, NULL, 0, &why), 0);
    assert_string_equal(c->option[REMOTE_HOSTNAME], "h");
    assert_string_equal(c->option[REMOTE_USER], remote_config_local_user());
    assert_int_equal(c->port, 22);
    assert_int_equal(c->known_hosts.count, 4);
    assert_true(c->has_default_identities);
    remote_config_destroy(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),      cmocka_unit_test(test_algorithms),
        cmocka_unit_test(test_files),       cmocka_unit_test(test_default_identities),
        cmocka_unit_test(test_refused),     cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_without_ssh),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
