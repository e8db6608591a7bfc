/* SPDX-License-Identifier: MIT */
/* test_framework_variables.c: what programs for torchrun, MLX, JAX and mpirun find; their ports and
 * files. */
#include "launcher/agent/rank/framework_variables.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *names[] = {"a", "b"};
static const char *addresses[] = {"10.0.0.1", "fe80::2"};
static int host_of[] = {0, 0, 1};

static struct job_spec plain(void)
{
    return (struct job_spec){.job = "j1",
                             .restart = 1,
                             .options.restarts = 3,
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
                             .rank_count = 2};
}

static void is(const struct variable_list *l, const char *name, const char *value)
{
    const char *got = variable_list_get(l, name);

    if (!got || strcmp(got, value) != 0)
        fail_msg("%s is \"%s\", not \"%s\"", name, got ? got : "(unset)", value);
}

static void torchrun(void **state)
{
    static const struct job_rank rank = {.rank = 1, .local_rank = 1};
    struct job_spec job = plain();
    struct framework_config config = {.job = &job, .coordinator = "10.0.0.1:4000"};
    struct variable_list l = {0};

    (void)state;
    framework_variables_add(&l, &config);
    framework_variables_add_rank(&l, &job, &rank, "/tmp/j");
    is(&l, "RANK", "1");
    is(&l, "LOCAL_RANK", "1");
    is(&l, "ROLE_RANK", "1");
    is(&l, "ROLE_NAME", "default");
    is(&l, "GROUP_RANK", "0");
    is(&l, "WORLD_SIZE", "3");
    is(&l, "LOCAL_WORLD_SIZE", "2");
    is(&l, "ROLE_WORLD_SIZE", "3");
    is(&l, "GROUP_WORLD_SIZE", "2");
    is(&l, "MASTER_ADDR", "10.0.0.1");
    is(&l, "TORCHELASTIC_RUN_ID", "j1");
    is(&l, "TORCHELASTIC_RESTART_COUNT", "1");
    is(&l, "TORCHELASTIC_MAX_RESTARTS", "3");
    is(&l, "TORCHELASTIC_USE_AGENT_STORE", "False");
    is(&l, "TORCHELASTIC_ERROR_FILE", "/tmp/j/rank.1.error");
    variable_list_truncate(&l, 0);
}

/* NCCL's RAS has an address for each rank of a host; torch's flight recorder is asked for. What the
 * user has set stays. */
static void hang_evidence(void **state)
{
    struct job_spec job = plain();
    struct variable_list l = {0};
    unsigned found[2][4];

    (void)state;
    for (int i = 0; i < 2; i++) {
        const struct job_rank rank = {.rank = i, .local_rank = i};
        unsigned *a = found[i];

        framework_variables_add_rank(&l, &job, &rank, "/tmp/j");
        assert_int_equal(sscanf(variable_list_get(&l, "NCCL_RAS_ADDR"), "127.%u.%u.%u:%u", &a[0],
                                &a[1], &a[2], &a[3]),
                         4);
        assert_int_equal(a[3], 28028);
        assert_true(a[0] + a[1] > 0 && a[0] + a[1] < 510);
        assert_null(variable_list_get(&l, "TORCH_NCCL_DEBUG_INFO_PIPE_FILE"));
        assert_null(variable_list_get(&l, "TORCH_FR_BUFFER_SIZE"));
        variable_list_truncate(&l, 0);
    }
    assert_memory_not_equal(found[0], found[1], sizeof(found[0]));

    job.options.flight_recorder = true;
    framework_variables_add_rank(&l, &job, &(struct job_rank){.rank = 1}, "/tmp/j");
    is(&l, "TORCH_NCCL_DEBUG_INFO_PIPE_FILE", "/tmp/j/torch.");
    is(&l, "TORCH_FR_BUFFER_SIZE", "2000");
    is(&l, "TORCH_NCCL_TRACE_BUFFER_SIZE", "2000");
    variable_list_truncate(&l, 0);
    variable_list_append(&l, "NCCL_RAS_ADDR=localhost:1");
    variable_list_append(&l, "TORCH_NCCL_TRACE_BUFFER_SIZE=0");
    variable_list_append(&l, "TORCH_NCCL_DEBUG_INFO_PIPE_FILE=/x");
    framework_variables_add_rank(&l, &job, &(struct job_rank){.rank = 1}, "/tmp/j");
    is(&l, "NCCL_RAS_ADDR", "localhost:1");
    is(&l, "TORCH_NCCL_TRACE_BUFFER_SIZE", "0");
    is(&l, "TORCH_NCCL_DEBUG_INFO_PIPE_FILE", "/x");
    assert_null(variable_list_get(&l, "TORCH_FR_BUFFER_SIZE"));
    variable_list_truncate(&l, 0);
}

/* As JAX computes them: the port is 61440 and the low 12 bits of the job number / 4096. */
static void jax(void **state)
{
    struct job_spec job = plain();
    struct framework_config config = {.job = &job, .coordinator = "10.0.0.1:4000"};
    struct variable_list l = {0};
    unsigned number, port;
    char address[32];
    int ports[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        framework_variables_add(&l, &config);
        assert_int_equal(sscanf(variable_list_get(&l, "OMPI_MCA_orte_hnp_uri"),
                                "%u.0;tcp://%31[0-9.]:1", &number, address),
                         2);
        assert_string_equal(address, "10.0.0.1");
        assert_int_equal(number % 4096, 0);
        port = 61440 + number / 4096 % 4096;
        assert_int_equal(strtol(variable_list_get(&l, "JAX_COORDINATOR_PORT"), NULL, 10), port);
        ports[i] = (int)port;
        job.options.port = (int)port; /* --port happens to be there */
        variable_list_truncate(&l, 0);
    }
    assert_int_not_equal(ports[0], ports[1]);
    job.size = 1 << 20; /* more than there are ports */
    for (job.options.starting_port = 0; job.options.starting_port <= 1000;
         job.options.starting_port += 1000) {
        framework_variables_add(&l, &config);
        assert_in_range(strtol(variable_list_get(&l, "JAX_COORDINATOR_PORT"), NULL, 10), 61440,
                        65535);
        variable_list_truncate(&l, 0);
    }
    config.coordinator = "[fe80::1]:4000";
    framework_variables_add(&l, &config);
    assert_non_null(
        strstr(variable_list_get(&l, "OMPI_MCA_orte_hnp_uri"), ".0;tcp6://[fe80::1]:1"));
    variable_list_truncate(&l, 0);
}

static void ports_are_nobodys(void **state)
{
    struct job_spec job = plain();

    (void)state;
    for (int i = 0; i < 200; i++) {
        char id[16];
        int first, second;

        snprintf(id, sizeof(id), "job%d", i);
        job.job = id;
        job.options.port = job.options.starting_port = 0;
        first = framework_port(&job, 0);
        assert_in_range(first, 10000, 32767);
        job.options.port = first; /* --port happens to be there */
        second = framework_port(&job, 0);
        assert_int_not_equal(second, first);
        assert_int_not_equal(framework_port(&job, 1), first);
    }
    job.options.starting_port = 5000; /* ranks listen on 5001 … 5003 */
    job.options.port = 5004;
    assert_int_equal(framework_port(&job, 0), 5005);
}

/* MLX takes its ring before JACCL, so it must not find both. */
static void mlx_goes_the_jobs_way(void **state)
{
    static const struct {
        const char *backend;
        bool is_wired, has_ring, has_devices;
    } cases[] = {{"tcp", false, true, false},
                 {"tcp", true, true, false},
                 {"rdma", true, false, true},
                 {"none", true, false, true},
                 {"none", false, true, false}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct job_spec job = plain();
        char *ring, *devices;

        job.backend = cases[i].backend;
        if (cases[i].is_wired)
            job.wiring = json_loads("[[null, [\"m0\"]], [[\"m2\"], null]]", 0, NULL);
        ring = framework_ring_hosts(&job);
        devices = framework_ibv_devices(&job);
        assert_int_equal(ring != NULL, cases[i].has_ring);
        assert_int_equal(devices != NULL, cases[i].has_devices);
        free(ring);
        free(devices);
        json_decref(job.wiring);
    }
}

static void jaccl_ring(void **state)
{
    static const struct {
        const char *wiring;
        bool is_ring;
    } cases[] = {
        /* four hosts, each joined to both neighbours */
        {"[[null,[\"a\"],null,[\"b\"]], [[\"a\"],null,[\"b\"],null],"
         " [null,[\"a\"],null,[\"b\"]], [[\"a\"],null,[\"b\"],null]]",
         true},
        {"[[null,[\"a\"],[\"c\"],[\"b\"]], [[\"a\"],null,[\"b\"],[\"c\"]],"
         " [[\"c\"],[\"a\"],null,[\"b\"]], [[\"a\"],[\"c\"],[\"b\"],null]]",
         false},
        {"[[null,[\"a\"],null,null], [[\"a\"],null,[\"b\"],null],"
         " [null,[\"a\"],null,[\"b\"]], [null,null,[\"b\"],null]]",
         false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct job_spec job = plain();
        struct framework_config config = {
            .job = &job, .coordinator = "10.0.0.1:4000", .ibv_devices = "/tmp/j/ibv_devices.json"};
        struct variable_list l = {0};

        job.hosts = 4;
        job.wiring = json_loads(cases[i].wiring, 0, NULL);
        framework_variables_add(&l, &config);
        assert_int_equal(variable_list_get(&l, "JACCL_RING") != NULL, cases[i].is_ring);
        assert_int_equal(variable_list_get(&l, "MLX_JACCL_RING") != NULL, cases[i].is_ring);
        variable_list_truncate(&l, 0);
        json_decref(job.wiring);
    }
}

static void files_for_mlx(void **state)
{
    struct job_spec job = plain();
    char expected[200], *text;
    int port = framework_port(&job, 3);

    (void)state;
    text = framework_ring_hosts(&job);
    snprintf(expected, sizeof(expected), "[[\"10.0.0.1:%d\"],[\"10.0.0.1:%d\"],[\"[fe80::2]:%d\"]]",
             port, port + 1, port);
    assert_string_equal(text, expected);
    free(text);
    job.size = 1; /* no ring */
    assert_null(framework_ring_hosts(&job));
    job.size = 3;
    job.addresses = NULL;
    assert_null(framework_ring_hosts(&job));

    assert_null(framework_ibv_devices(&job));
    job.backend = "rdma";
    job.wiring = json_loads("[[null, [\"m0\", \"m1\"]], [[\"m2\"], null]]", 0, NULL);
    text = framework_ibv_devices(&job);
    assert_string_equal(text, "[[null,null,[\"m0\",\"m1\"]],[null,null,[\"m0\",\"m1\"]],"
                              "[\"m2\",\"m2\",null]]");
    free(text);
    json_decref((json_t *)(uintptr_t)job.wiring);

    /* They open devices, and know of no ports. */
    job.wiring =
        json_loads("[[null, [\"m0:1\", \"m1\", \"m0:2\"]], [[\"m2:1\", \"m2:2\"], null]]", 0, NULL);
    text = framework_ibv_devices(&job);
    assert_string_equal(text, "[[null,null,[\"m0\",\"m1\"]],[null,null,[\"m0\",\"m1\"]],"
                              "[\"m2\",\"m2\",null]]");
    free(text);
    json_decref((json_t *)(uintptr_t)job.wiring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(torchrun),
        cmocka_unit_test(hang_evidence),
        cmocka_unit_test(jax),
        cmocka_unit_test(ports_are_nobodys),
        cmocka_unit_test(mlx_goes_the_jobs_way),
        cmocka_unit_test(jaccl_ring),
        cmocka_unit_test(files_for_mlx),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
