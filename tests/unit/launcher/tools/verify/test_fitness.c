/* SPDX-License-Identifier: MIT */
/* test_fitness.c: which hosts `--check quick` calls unfit, and for which of several reasons. The
 * test says what is found of the hosts. */
#include "launcher/tools/verify/fitness.h"

#include "launcher/tools/verify/verify_groups.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { HOSTS = 4, MOST = 6 }; /* the last host is a spare one */

struct found {
    int host;
    enum finding_kind kind;
    const char *text;
};

/* `from` cannot connect to `to`. */
struct cut {
    int from, to;
};

static const struct scene {
    const char *backend;
    struct found found[MOST];
    int found_count;
    struct cut cuts[MOST];
    int cut_count;
    const char *expected; /* "HOST TEXT" of each, with a word for what it is */
} * scene;

int verify_hosts_open(struct verify *v, struct fault *why)
{
    (void)why;
    v->survey.hosts = calloc(HOSTS, sizeof(*v->survey.hosts));
    v->failed = calloc(HOSTS, sizeof(json_t *));
    assert_true(v->survey.hosts && v->failed);
    for (int i = 0; i < HOSTS; i++) {
        v->survey.hosts[i].is_known = true;
        v->failed[i] = json_array();
    }
    return 0;
}

int verify_hosts_ask(struct verify *v, struct fault *why)
{
    (void)why;
    for (int i = 0; i < scene->cut_count; i++)
        json_array_append_new(
            v->failed[scene->cuts[i].from],
            json_pack("{s:i, s:s}", "host", scene->cuts[i].to, "error", "No route to host"));
    return 0;
}

void verify_hosts_judge(struct verify *v)
{
    for (int i = 0; i < scene->found_count; i++) {
        const struct found *f = &scene->found[i];

        v->survey.hosts[f->host].is_known &= f->kind != FINDING_UNREACHED;
        verify_add(v, f->kind, f->host, "%s", f->text);
    }
    for (int i = 0; i < scene->cut_count; i++) {
        const struct cut *c = &scene->cuts[i];

        finding_add(&v->findings, FINDING_CONNECT, verify_name(v, c->from), verify_name(v, c->to),
                    "cut %d-%d", c->from, c->to);
    }
}

void verify_hosts_close(struct verify *v)
{
    for (int i = 0; i < HOSTS; i++)
        json_decref(v->failed[i]);
    free(v->failed);
    free(v->survey.hosts);
    finding_clear(&v->findings);
}

static void test_choice(void **state)
{
    static const struct scene table[] = {
        {.backend = "tcp", .expected = ""},
        {.backend = "tcp",
         .found = {{1, FINDING_FAR, "far"}, {3, FINDING_NO_TMP, "no /tmp"}},
         .found_count = 2,
         .expected = "1 slow: far\n3 unfit: no /tmp\n"},
        /* What keeps the job from running is worse than what slows it down; else the first. */
        {.backend = "tcp",
         .found = {{0, FINDING_SLOW, "slow"},
                   {0, FINDING_NO_TMP, "no /tmp"},
                   {0, FINDING_NO_SHM, "no /dev/shm"},
                   {0, FINDING_FAR, "far"}},
         .found_count = 4,
         .expected = "0 unfit: no /tmp\n"},
        {.backend = "tcp",
         .found = {{2, FINDING_UNREACHED, "gone"}},
         .found_count = 1,
         .cuts = {{0, 2}, {1, 2}, {3, 2}},
         .cut_count = 3,
         .expected = "2 lost: gone\n"},
        /* What this job does not need. */
        {.backend = "tcp",
         .found = {{1, FINDING_VERBS, "no libibverbs"}, {1, FINDING_NOFILE, "few files"}},
         .found_count = 2,
         .expected = ""},
        {.backend = "rdma",
         .found = {{1, FINDING_VERBS, "no libibverbs"}},
         .found_count = 1,
         .expected = "1 unfit: no libibverbs\n"},
        {.backend = "none",
         .found = {{1, FINDING_NO_SHM, "no /dev/shm"}},
         .found_count = 1,
         .expected = ""},
        /* The host with the most peers that it cannot reach, or that cannot reach it. */
        {.backend = "tcp",
         .cuts = {{0, 1}, {1, 2}, {3, 1}},
         .cut_count = 3,
         .expected = "1 unfit: cut 3-1\n"},
        {.backend = "tcp",
         .cuts = {{0, 1}, {0, 2}, {0, 3}},
         .cut_count = 3,
         .expected = "0 unfit: cut 0-3\n"},
        /* The last one of two that have as many, which may be a spare host. */
        {.backend = "tcp", .cuts = {{0, 3}}, .cut_count = 1, .expected = "3 unfit: cut 0-3\n"},
        {.backend = "tcp",
         .cuts = {{0, 1}, {2, 3}},
         .cut_count = 2,
         .expected = "1 unfit: cut 0-1\n3 unfit: cut 2-3\n"},
        /* A host that is left out for another reason is to blame for its connections, too. */
        {.backend = "tcp",
         .found = {{0, FINDING_NO_TMP, "no /tmp"}},
         .found_count = 1,
         .cuts = {{0, 1}, {0, 2}},
         .cut_count = 2,
         .expected = "0 unfit: no /tmp\n"},
    };
    struct host hosts[HOSTS] = {{.name = "a"}, {.name = "b"}, {.name = "c"}, {.name = "d"}};
    struct host_list list = {.hosts = hosts, .count = HOSTS};
    int order[HOSTS] = {0, 1, 2, 3};
    struct options options = {0};

    (void)state;
    for (size_t k = 0; k < sizeof(table) / sizeof(table[0]); k++) {
        struct roster where = {.hosts = order, .host_count = HOSTS - 1, .spare_count = 1};
        struct plan p = {.options = &options, .list = &list, .where = &where};
        char said[512] = "";
        struct fault why;
        json_t *unfit, *one;
        size_t i;

        scene = &table[k];
        snprintf(p.backend, sizeof(p.backend), "%s", scene->backend);
        unfit = fitness_find(&p, &why);
        assert_non_null(unfit);
        json_array_foreach(unfit, i, one)
        {
            bool is_slow = json_is_true(json_object_get(one, "is_slow"));
            bool is_lost = json_is_true(json_object_get(one, "is_lost"));

            snprintf(said + strlen(said), sizeof(said) - strlen(said), "%d %s: %s\n",
                     (int)json_integer_value(json_object_get(one, "host")),
                     is_lost   ? "lost"
                     : is_slow ? "slow"
                               : "unfit",
                     json_string_value(json_object_get(one, "text")));
        }
        json_decref(unfit);
        if (strcmp(said, scene->expected) != 0)
            fail_msg("%d: %snot %s", (int)k, said, scene->expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
