/* SPDX-License-Identifier: MIT */
/* test_job_spec_change.c: PLACED and GROW change a job that runs; what they may not say. */
#include "launcher/wire/protocol/job_spec_change.h"

#include "common/net/job_file.h"
#include "tests/unit/launcher/wire/protocol/good_job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* PLACED and GROW. */
static void grows(void **state)
{
    struct job_spec *m = NULL;
    struct fault why = {0};

    (void)state;
    assert_int_equal(job_spec_decode(&m, NULL, good, strlen(good), &why), 0);
    assert_int_equal(job_spec_change_grow(m, 3, 2, 0, &why),
                     ML_ERR_REFUSED); /* no such host yet, */
    assert_int_equal(job_spec_change_place(m, 3, "d", "", &why), ML_ERR_REFUSED);
    assert_int_equal(job_spec_change_place(m, -1, "d", "", &why), ML_ERR_REFUSED);
    assert_int_equal(job_spec_change_place(m, 2, "c", "10.0.0.3", &why),
                     0); /* and now there is one */
    assert_int_equal(m->hosts, 3);
    assert_string_equal(m->host_names[0], "a");
    assert_string_equal(m->host_names[2], "c");
    assert_string_equal(m->addresses[2], "10.0.0.3");
    assert_int_equal(job_spec_change_place(m, 0, "e", "", &why),
                     0); /* another host is in that place */
    assert_int_equal(m->hosts, 3);
    assert_string_equal(m->host_names[0], "e");
    assert_string_equal(m->addresses[0], "");
    assert_int_equal(job_spec_change_grow(m, 3, 2, 0, &why), 0);
    assert_int_equal(job_spec_change_grow(m, 3, 1, 0, &why), ML_ERR_REFUSED); /* twice, */
    assert_int_equal(job_spec_change_grow(m, 5, 1, 0, &why), ML_ERR_REFUSED); /* one is left out, */
    assert_int_equal(job_spec_change_grow(m, 4, 1, 1, &why), ML_ERR_REFUSED); /* no such program */
    assert_int_equal(job_spec_change_grow(m, 4, 1, 0, &why), 0);
    assert_int_equal(m->size, 5);
    assert_int_equal(m->host_of[3], 2);
    assert_int_equal(m->rank_count, 3);
    assert_int_equal(m->ranks[2].rank, 4);
    assert_int_equal(m->ranks[2].local_rank, 2);
    while (m->size < 3 + JOB_GROW_MOST)
        assert_int_equal(job_spec_change_grow(m, (uint32_t)m->size, 1, 0, &why), 0);
    assert_int_equal(job_spec_change_grow(m, (uint32_t)m->size, 1, 0, &why), ML_ERR_REFUSED);
    while (m->hosts < 2 + JOB_GROW_MOST)
        assert_int_equal(job_spec_change_place(m, m->hosts, "x", "", &why), 0);
    assert_int_equal(job_spec_change_place(m, m->hosts, "x", "", &why), ML_ERR_REFUSED);
    job_spec_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
