/* SPDX-License-Identifier: MIT */
/* test_rank_environment.c: mlaunch(1)'s "ENVIRONMENT", variable by variable. */
#include "launcher/agent/rank/rank_environment.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *inherited[] = {"PATH=/bin",         "MINE=1",
                                  "BOTH=caller",       "PMI_RANK=7",
                                  "PMI_MINE=kept",     "OMPI_COMM_WORLD_RANK=7",
                                  "OMPI_MCA_btl=self", "SLURM_PROCID=3",
                                  "SLURM_JOB_ID=12",   "MLAUNCH_RANK=7",
                                  "MLAUNCH_EAGER=1",   "MLAUNCH_STALL=5",
                                  "MLAUNCH_ALGO=ring", "MASTER_PORT=1",
                                  "malformed",         NULL};
static const char *host_env[] = {"BOTH=hostfile", "FROM=hostfile", NULL};
static const char *app_env[] = {"FROM=option", "RANK=99", "MLAUNCH_RANK=99", NULL};
static const char *names[] = {"a", "b"};
static const char *addresses[] = {"10.0.0.1", "fe80::2"};
static int host_of[] = {0, 0, 1};
static struct job_rank rank_1 = {.rank = 1, .local_rank = 1, .app = 0};

struct fixture {
    struct job_spec job;
    struct job_app app;
    struct rank_environment_config config;
};

static struct fixture plain(void)
{
    struct fixture f = {.job = {.job = "j1",
                                .restart = 4,
                                .size = 3,
                                .hosts = 2,
                                .host = 0,
                                .host_names = names,
                                .host_of = host_of,
                                .addresses = addresses,
                                .backend = "tcp",
                                .options.compat = true,
                                .bind_ip = "",
                                .peer = "",
                                .env = host_env,
                                .rank_count = 2},
                        .app = {.env = app_env, .cwd = ""},
                        .config = {.inherited = inherited,
                                   .job_dir = "/tmp/mlaunch-0/j1.0.x",
                                   .coordinator = "10.0.0.1:4000",
                                   .shim = "/lib/libmlaunch.so.0",
                                   .cwd = "/srv"}};

    return f;
}

static struct rank_environment *created(struct fixture *f)
{
    struct rank_environment *e = NULL;
    struct fault why = {0};

    f->config.job = &f->job;
    f->config.app = &f->app;
    if (rank_environment_create(&e, &f->config, &why))
        fail_msg("%s", why.text);
    assert_non_null(rank_environment_of(e, &rank_1, NULL, -1, -1, NULL));
    return e;
}

static void is(struct rank_environment *e, const char *name, const char *value)
{
    const char *got = rank_environment_get(e, name);

    if (!got || strcmp(got, value) != 0)
        fail_msg("%s is \"%s\", not \"%s\"", name, got ? got : "(unset)", value);
}

static void is_unset(struct rank_environment *e, const char *name)
{
    const char *got = rank_environment_get(e, name);

    if (got)
        fail_msg("%s is \"%s\", not unset", name, got);
}

static void identity(void **state)
{
    struct fixture f = plain();
    struct rank_environment *e = created(&f);
    static const char *const expected[][2] = {
        {"MLAUNCH_RANK", "1"},
        {"MLAUNCH_SIZE", "3"},
        {"MLAUNCH_LOCAL_RANK", "1"},
        {"MLAUNCH_LOCAL_SIZE", "2"},
        {"MLAUNCH_HOST_RANK", "0"},
        {"MLAUNCH_HOSTS", "2"},
        {"MLAUNCH_JOB", "j1"},
        {"MLAUNCH_RESTART", "4"},
        {"TORCHELASTIC_RESTART_COUNT", "4"},
        {"MLAUNCH_COORDINATOR", "10.0.0.1:4000"},
        {"MLAUNCH_BACKEND", "tcp"},
        {"MLAUNCH_JOB_DIR", "/tmp/mlaunch-0/j1.0.x"},
        {"RANK", "1"},
        {"WORLD_SIZE", "3"},
        {"LOCAL_RANK", "1"},
        {"LOCAL_WORLD_SIZE", "2"},
        {"GROUP_RANK", "0"},
        {"MASTER_ADDR", "10.0.0.1"},
        {"MLX_RANK", "1"},
        {"MLX_WORLD_SIZE", "3"},
        {"JACCL_RANK", "1"},
        {"OMPI_COMM_WORLD_RANK", "1"},
        {"OMPI_COMM_WORLD_SIZE", "3"},
        {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
        {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
        {"OMPI_COMM_WORLD_NODE_RANK", "1"},
        {"PWD", "/srv"},
        {"LD_PRELOAD", "/lib/libmlaunch.so.0"},
        {"ASAN_OPTIONS", "verify_asan_link_order=0"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
        is(e, expected[i][0], expected[i][1]);
    is_unset(e, "MLX_IBV_DEVICES");
    is_unset(e, "MLAUNCH_EAGER");
    rank_environment_destroy(e);
}

static void order_and_scrub(void **state)
{
    struct fixture f = plain();
    struct rank_environment *e = created(&f);

    (void)state;
    is(e, "PATH", "/bin");
    is(e, "MINE", "1");
    is(e, "BOTH", "hostfile");
    is(e, "FROM", "option");
    is(e, "PMI_MINE", "kept");
    is(e, "OMPI_MCA_btl", "self");
    is(e, "SLURM_JOB_ID", "12");
    is(e, "MLAUNCH_STALL", "5");
    is(e, "MLAUNCH_ALGO", "ring");
    is_unset(e, "PMI_RANK");
    is_unset(e, "SLURM_PROCID");
    assert_string_not_equal(rank_environment_get(e, "MASTER_PORT"), "1");
    rank_environment_destroy(e);
}

static void pmix(void **state)
{
    static const char *const variables[] = {"PMIX_RANK=1", "PMIX_NAMESPACE=j1-4", NULL};
    struct fixture f = plain();
    struct rank_environment *e;

    (void)state;
    f.config.serves_pmix = true;
    f.config.segments = "/dev/shm/x.mpi";
    e = created(&f);
    is(e, "JSM_JSRUN_PORT", "0");
    is(e, "OMPI_MCA_btl_vader_backing_directory", "/dev/shm/x.mpi");
    is_unset(e, "PMIX_RANK");
    assert_non_null(rank_environment_of(e, &rank_1, NULL, -1, -1, variables));
    is(e, "PMIX_RANK", "1");
    is(e, "PMIX_NAMESPACE", "j1-4");
    rank_environment_destroy(e);
    f.config.serves_pmix = false; /* Open MPI's variables only where it is served */
    e = created(&f);
    is_unset(e, "JSM_JSRUN_PORT");
    is_unset(e, "OMPI_MCA_btl_vader_backing_directory");
    rank_environment_destroy(e);
}

static void no_name_twice(void **state)
{
    struct fixture f = plain();
    struct rank_environment *e = created(&f);
    char **list = rank_environment_of(e, &rank_1, NULL, -1, -1, NULL);

    (void)state;
    for (int i = 0; list[i]; i++) {
        size_t length = strcspn(list[i], "=") + 1;

        for (int j = i + 1; list[j]; j++) {
            if (strncmp(list[i], list[j], length) == 0)
                fail_msg("%s and %s", list[i], list[j]);
        }
    }
    rank_environment_destroy(e);
}

static void no_compat(void **state)
{
    struct fixture f = plain();
    struct rank_environment *e;

    (void)state;
    f.job.options.compat = false;
    e = created(&f);
    is(e, "MLAUNCH_RANK", "1");
    is(e, "RANK", "99"); /* the user's, then */
    is_unset(e, "WORLD_SIZE");
    is_unset(e, "MASTER_PORT");
    is_unset(e, "MLX_RANK");
    is_unset(e, "OMPI_COMM_WORLD_RANK");
    rank_environment_destroy(e);
}

static void injection_comes_behind(void **state)
{
    static const char *users[] = {"LD_PRELOAD=/mine.so", "ASAN_OPTIONS=a=1:b=2",
                                  "MASTER_PORT=29500", NULL};
    struct fixture f = plain();
    struct rank_environment *e;

    (void)state;
    f.app.env = users;
    e = created(&f);
    is(e, "LD_PRELOAD", "/mine.so:/lib/libmlaunch.so.0");
    is(e, "ASAN_OPTIONS", "a=1:b=2:verify_asan_link_order=0");
    is(e, "MASTER_PORT", "29500");
    rank_environment_destroy(e);

    f = plain();
    f.config.shim = NULL;
    f.config.is_musl = true;
    e = created(&f);
    is_unset(e, "LD_PRELOAD");
    is_unset(e, "ASAN_OPTIONS");
    is_unset(e, "LD_LIBRARY_PATH");
    rank_environment_destroy(e);
}

static void musl_finds_the_library(void **state)
{
    static const char *users[] = {"LD_LIBRARY_PATH=/mine", NULL};
    struct fixture f = plain();
    struct rank_environment *e = created(&f);

    (void)state;
    is_unset(e, "LD_LIBRARY_PATH");
    rank_environment_destroy(e);
    f.config.is_musl = true;
    e = created(&f);
    is(e, "LD_LIBRARY_PATH", "/lib");
    is(e, "LD_PRELOAD", "/lib/libmlaunch.so.0");
    rank_environment_destroy(e);
    f.app.env = users;
    f.config.libraries = "/staged";
    e = created(&f);
    is(e, "LD_LIBRARY_PATH", "/mine:/staged:/lib");
    rank_environment_destroy(e);
}

static void eager_has_room_for_a_pid(void **state)
{
    struct fixture f = plain();
    struct rank_environment *e;

    (void)state;
    f.job.options.eager = true;
    e = created(&f);
    assert_non_null(rank_environment_pid_text(e));
    snprintf(rank_environment_pid_text(e), 12, "%d", 2147483647);
    is(e, "MLAUNCH_EAGER", "2147483647");
    rank_environment_destroy(e);
}

static void master_of_each_kind(void **state)
{
    struct fixture f = plain();
    struct rank_environment *e;

    (void)state;
    f.config.coordinator = "[fe80::1%eth0]:4000";
    f.config.ibv_devices = "/x/ibv_devices.json";
    e = created(&f);
    is(e, "MASTER_ADDR", "fe80::1%eth0");
    is(e, "MLX_IBV_DEVICES", "/x/ibv_devices.json");
    is(e, "JACCL_IBV_DEVICES", "/x/ibv_devices.json");
    assert_int_equal(strncmp(rank_environment_get(e, "JACCL_COORDINATOR"), "[fe80::1%eth0]:", 15),
                     0);
    rank_environment_destroy(e);

    f = plain(); /* --backend none on the second host */
    f.config.coordinator = "";
    f.job.backend = "none";
    f.job.host = 1;
    e = created(&f);
    is(e, "MASTER_ADDR", "10.0.0.1");
    rank_environment_destroy(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(identity),
        cmocka_unit_test(order_and_scrub),
        cmocka_unit_test(pmix),
        cmocka_unit_test(no_name_twice),
        cmocka_unit_test(no_compat),
        cmocka_unit_test(injection_comes_behind),
        cmocka_unit_test(musl_finds_the_library),
        cmocka_unit_test(eager_has_room_for_a_pid),
        cmocka_unit_test(master_of_each_kind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
