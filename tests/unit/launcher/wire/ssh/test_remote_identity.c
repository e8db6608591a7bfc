/* SPDX-License-Identifier: MIT */
/* test_remote_identity.c: which key a certificate was made for, and the order of keys. */
#include "launcher/wire/ssh/remote_identity.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const char certificate[] =
    "AAAAIHNzaC1lZDI1NTE5LWNlcnQtdjAxQG9wZW5zc2guY29tAAAAIBbavIOdrbjuSVeS4m/Y1oSVdGSM"
    "S0+GxfyOh5vVtZZvAAAAIK4wbpP+51q8+URjsifAK/++9TMCoBKqVQ8i0QfAF+pGAAAAAAAAAAAAAAAB"
    "AAAAAWEAAAAFAAAAAWIAAAAAAAAAAP//////////AAAAAAAAAIIAAAAVcGVybWl0LVgxMS1mb3J3YXJk"
    "aW5nAAAAAAAAABdwZXJtaXQtYWdlbnQtZm9yd2FyZGluZwAAAAAAAAAWcGVybWl0LXBvcnQtZm9yd2Fy"
    "ZGluZwAAAAAAAAAKcGVybWl0LXB0eQAAAAAAAAAOcGVybWl0LXVzZXItcmMAAAAAAAAAAAAAADMAAAAL"
    "c3NoLWVkMjU1MTkAAAAgDhyJp4a6Y4ZNZy7lyrhE634cAA6JVYWSgE0PWhLJ3L4AAABTAAAAC3NzaC1l"
    "ZDI1NTE5AAAAQNmcjljCoPsDmX7sanLC961o8psLnL/MT7JnYhgxos1IHP6Ov6HMW9mZ3U8eVqBC2uIX"
    "5pXnjTOqp+VSmekXKAQ=";
static const char key[] = "AAAAC3NzaC1lZDI1NTE5AAAAIK4wbpP+51q8+URjsifAK/++9TMCoBKqVQ8i0QfAF+pG";
static const char other[] = "AAAAC3NzaC1lZDI1NTE5AAAAIJ7tJWdGpW5CrAeQCV3ktmiLMh9wLAhen0MkjJjBCaa0";

static void test_whose_a_certificate_is(void **state)
{
    char *cut = strdup(certificate);

    (void)state;
    assert_true(remote_identity_is_for(certificate, key));
    assert_false(remote_identity_is_for(certificate, other));
    assert_false(remote_identity_is_for(key, certificate));
    assert_false(remote_identity_is_for("", ""));
    assert_false(remote_identity_is_for(certificate, "AAAA"));
    assert_false(remote_identity_is_for("not base64!", key));
    for (size_t size = strlen(cut); size-- > 0;) {
        cut[size] = '\0';
        (void)remote_identity_is_for(cut, key);
        (void)remote_identity_is_for(certificate, cut);
    }
    free(cut);
}

static char dir[] = "/tmp/test_remote_identity.XXXXXX";

static char *write_file(const char *name, const char *type, const char *base64)
{
    char *path = NULL;
    FILE *f;

    assert_int_equal(string_format(&path, NULL, "%s/%s", dir, name), 0);
    f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "# a comment\n%s %s me@here\n", type, base64);
    assert_int_equal(fclose(f), 0);
    return path;
}

/* Without an agent: certificates of CertificateFile, then each file before its certificate. */
static void test_order(void **state)
{
    struct remote_config c = {.has_default_identities = true};
    struct remote_identities all;
    char *paths[3], *file;

    (void)state;
    assert_non_null(mkdtemp(dir));
    paths[0] = write_file("a.pub", "ssh-ed25519", key);
    paths[1] = write_file("a-cert.pub", "ssh-ed25519-cert-v01@openssh.com", certificate);
    paths[2] = write_file("named.cert", "ssh-ed25519-cert-v01@openssh.com", certificate);
    assert_int_equal(string_format(&file, NULL, "%s/a", dir), 0);
    assert_int_equal(string_list_add(&c.identities, file, NULL), 0);
    assert_int_equal(string_list_add(&c.identities, "none", NULL), 0);
    assert_int_equal(string_list_add(&c.identities, "/no/such/file", NULL), 0);
    assert_int_equal(string_list_add(&c.certificates, paths[2], NULL), 0);
    assert_int_equal(string_list_add(&c.certificates, "/no/such/file", NULL), 0);
    assert_int_equal(remote_identity_list(&all, &c, NULL, NULL), 0);
    assert_int_equal(all.count, 4);
    assert_string_equal(all.items[0].certificate, paths[2]);
    assert_null(all.items[0].file);
    assert_string_equal(all.items[1].file, file);
    assert_string_equal(all.items[1].public, key);
    assert_null(all.items[1].certificate);
    assert_string_equal(all.items[2].certificate, paths[1]);
    assert_string_equal(all.items[2].public, certificate);
    assert_string_equal(all.items[3].file, "/no/such/file");
    assert_null(all.items[3].public);
    assert_int_equal(all.items[3].agent_key, -1);
    remote_identity_clear(&all);
    string_list_clear(&c.identities);
    string_list_clear(&c.certificates);
    for (int i = 0; i < 3; i++) {
        unlink(paths[i]);
        free(paths[i]);
    }
    free(file);
    rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whose_a_certificate_is),
        cmocka_unit_test(test_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
