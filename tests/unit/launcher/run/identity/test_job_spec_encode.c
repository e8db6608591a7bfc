/* SPDX-License-Identifier: MIT */
/* test_job_spec_encode.c: what JOB has for each host, above all the addresses. */
#include "launcher/run/identity/job_spec_encode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <cmocka.h>

static char *no_texts[] = {NULL};
static char *argv[] = {"prog", "arg", NULL};
static char *app_env[] = {"A=1", NULL};

/* Two hosts of one rank each. */
struct scene {
    struct host hosts[2];
    struct host_list list;
    int used[2];
    struct planned_rank ranks[2];
    struct app app;
    struct options options;
    struct roster where;
    struct plan plan;
    struct job_identity identity;
    const char *addresses[2];
};

static void scene_set(struct scene *s)
{
    struct fault why;

    memset(s, 0, sizeof(*s));
    s->hosts[0] = (struct host){.name = "here", .is_local = true, .ips = no_texts, .env = no_texts};
    s->hosts[1] = (struct host){.name = "b", .ips = no_texts, .env = no_texts};
    s->list = (struct host_list){.hosts = s->hosts, .count = 2};
    s->used[1] = 1;
    s->ranks[1].host = 1;
    s->app = (struct app){.argv = argv, .env = app_env, .ranks = 2};
    s->where = (struct roster){.hosts = s->used, .host_count = 2, .ranks = s->ranks, .size = 2};
    s->plan = (struct plan){.options = &s->options,
                            .list = &s->list,
                            .where = &s->where,
                            .apps = &s->app,
                            .app_count = 1,
                            .backend = "tcp",
                            .cwd = "/w",
                            .job = {.grace_ms = 5000}};
    s->addresses[0] = "";
    s->addresses[1] = "10.0.0.2";
    assert_int_equal(job_identity_make(&s->identity, "1ngk8fs-q4z7cd", 0, &why), 0);
}

static json_t *object_of(char *text)
{
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);

    assert_non_null(root);
    job_spec_encode_destroy(text);
    return root;
}

static json_t *shared_of(struct scene *s)
{
    json_t *hosts = job_spec_encode_hosts(&s->plan, s->addresses);
    struct fault why;
    char *text;

    if (job_spec_encode_shared(&text, &s->plan, &s->identity, hosts, NULL, STDIN_RANK, NULL, &why))
        fail_msg("%s", why.text);
    json_decref(hosts);
    return object_of(text);
}

static json_t *own_of(struct scene *s, int host)
{
    struct fault why;
    char *text;

    if (job_spec_encode(&text, &s->plan, host, s->addresses, &why))
        fail_msg("%s", why.text);
    return object_of(text);
}

/* Both, as an agent has them. */
static json_t *message_of(struct scene *s, int host)
{
    json_t *root = shared_of(s), *own = own_of(s, host);

    assert_int_equal(json_object_update(root, own), 0);
    json_decref(own);
    return root;
}

static void assert_addresses(struct scene *s, int host, const char *bind_ip, const char *peer)
{
    json_t *m = message_of(s, host);

    assert_string_equal(json_string_value(json_object_get(m, "bind_ip")), bind_ip);
    assert_string_equal(json_string_value(json_object_get(m, "peer")), peer);
    json_decref(m);
}

static void test_members(void **state)
{
    struct scene s;
    json_t *m;

    (void)state;
    scene_set(&s);
    m = message_of(&s, 1);
    assert_string_equal(json_string_value(json_object_get(m, "job")), s.identity.id);
    assert_int_equal(strlen(json_string_value(json_object_get(m, "secret"))), 64);
    assert_int_equal(json_integer_value(json_object_get(m, "size")), 2);
    assert_int_equal(json_integer_value(json_object_get(m, "host")), 1);
    assert_string_equal(json_string_value(json_object_get(m, "host_name")), "b");
    assert_int_equal(json_array_size(json_object_get(m, "ranks")), 1);
    assert_string_equal(json_string_value(json_object_get(m, "command")), "prog arg");
    assert_null(json_object_get(m, "wiring"));
    json_decref(m);
}

/* What is in SHARED is nobody's own, and the other way round. */
static void test_parts(void **state)
{
    static const char *const own[] = {"host",     "host_name", "bind_ip", "peer",
                                      "host_cwd", "env",       "ranks"};
    struct scene s;
    json_t *shared, *m;

    (void)state;
    scene_set(&s);
    shared = shared_of(&s);
    m = own_of(&s, 1);
    assert_int_equal(json_object_size(m), sizeof(own) / sizeof(*own));
    for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++) {
        assert_non_null(json_object_get(m, own[i]));
        assert_null(json_object_get(shared, own[i]));
    }
    json_decref(shared);
    json_decref(m);
}

/* This machine gets no copies of its own files. */
static void test_files(void **state)
{
    struct staged_file file = {.name = "prog", .beside = -1};
    struct scene s;
    json_t *here, *there;

    (void)state;
    scene_set(&s);
    s.hosts[0].launch_method = LAUNCH_METHOD_LOCAL;
    s.hosts[1].launch_method = LAUNCH_METHOD_SSH;
    s.plan.files.files = &file;
    s.plan.files.count = 1;
    here = message_of(&s, 0);
    there = message_of(&s, 1);
    assert_true(json_is_null(json_object_get(here, "files")));
    assert_null(json_object_get(json_array_get(json_object_get(here, "apps"), 0), "file"));
    assert_int_equal(json_array_size(json_object_get(there, "files")), 1);
    assert_non_null(json_object_get(json_array_get(json_object_get(there, "apps"), 0), "file"));
    json_decref(here);
    json_decref(there);
}

static void test_addresses(void **state)
{
    static char *ips[] = {"192.168.7.1", NULL};
    struct scene s;

    (void)state;
    scene_set(&s);
    assert_addresses(&s, 0, "", "10.0.0.2"); /* the agent finds its own address by the route to b */
    assert_addresses(&s, 1, "10.0.0.2", ""); /* where SSH reached it */
    s.hosts[0].ips = ips;
    assert_addresses(&s, 0, "192.168.7.1", "10.0.0.2");
    assert_addresses(&s, 1, "10.0.0.2", "192.168.7.1");
    s.addresses[1] = "127.0.0.1"; /* through a tunnel: of no use to other hosts */
    assert_addresses(&s, 1, "", "192.168.7.1");
    s.plan.where->host_count = 1;
    s.plan.where->size = 1;
    s.hosts[0].ips = no_texts;
    assert_addresses(&s, 0, "", "");
}

static void test_not_text(void **state)
{
    static char *odd[] = {"prog", "caf\xe9", NULL};
    struct scene s;
    struct fault why;
    json_t *hosts;
    char *text;

    (void)state;
    scene_set(&s);
    s.app.argv = odd;
    hosts = job_spec_encode_hosts(&s.plan, s.addresses);
    assert_non_null(hosts);
    assert_int_equal(
        job_spec_encode_shared(&text, &s.plan, &s.identity, hosts, NULL, STDIN_NONE, NULL, &why),
        ML_ERR_ARGUMENT);
    json_decref(hosts);
    assert_non_null(strstr(why.text, "UTF-8"));
}

/* The command is cut off for ps, but not in the middle of a character. */
static void test_long_command(void **state)
{
    char word[400];
    char *words[] = {"x", word, NULL};
    struct scene s;
    json_t *m;

    (void)state;
    for (size_t i = 0; i + 2 < sizeof(word); i += 2)
        memcpy(word + i, "é", 3);
    scene_set(&s);
    s.app.argv = words;
    m = message_of(&s, 0);
    assert_true(json_string_length(json_object_get(m, "command")) > 200);
    json_decref(m);
}

static void test_identity(void **state)
{
    struct job_identity a, b;
    char id[JOB_ID_SIZE], other[JOB_ID_SIZE];
    struct fault why;

    (void)state;
    assert_int_equal(job_identity_name(id, &why), 0);
    assert_int_equal(job_identity_name(other, &why), 0);
    assert_int_equal(strlen(id), 14);
    assert_int_equal(strspn(id, "0123456789abcdefghijklmnopqrstuvwxyz-"), 14);
    assert_string_not_equal(id, other);
    assert_int_equal(job_identity_make(&a, id, 0, &why), 0);
    assert_int_equal(job_identity_make(&b, id, 1, &why), 0);
    assert_string_equal(a.id, b.id);
    assert_memory_not_equal(a.secret, b.secret, sizeof(a.secret));
    job_identity_wipe(&a);
    memset(&b, 0, sizeof(b));
    assert_memory_equal(a.secret, b.secret, sizeof(a.secret));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members),  cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_not_text), cmocka_unit_test(test_long_command),
        cmocka_unit_test(test_identity), cmocka_unit_test(test_parts),
        cmocka_unit_test(test_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
