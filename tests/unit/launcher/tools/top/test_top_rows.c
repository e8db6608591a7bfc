/* SPDX-License-Identifier: MIT */
/* test_top_rows.c: hosts and jobs as sorted and folded rows, and their texts. */
#include "launcher/tools/top/top_rows.h"

#include "launcher/tools/top/top_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/launcher/tools/top/said.h"

enum { HOSTS = 2 };

/* Two hosts with a job on both, rank 0 of which waits for rank 1, and a younger one on the second
 * alone. */
static int hosts_make(void **state)
{
    struct top_host *h = calloc(HOSTS, sizeof(*h));

    assert_non_null(h);
    h[0].name = "alpha";
    h[1].name = "beta";
    said_twice(&h[0],
               SAID(SAID_JOB("old", "train", 10,
                             SAID_RANK(0, 1, 9000, SAID_WAIT) "," SAID_RANK(2, 1, 5000, ""))),
               SAID(SAID_JOB("old", "train", 10,
                             SAID_RANK(0, 1.1, 9000, SAID_WAIT) "," SAID_RANK(2, 1.9, 5000, ""))));
    said_twice(
        &h[1],
        SAID(SAID_JOB("old", "train", 10,
                      SAID_RANK(1, 1, 7000, "") "," SAID_RANK(
                          3, 1, 1000, "")) "," SAID_JOB("new", "", 2, SAID_RANK(0, 1, 1, ""))),
        SAID(SAID_JOB("old", "train", 10,
                      SAID_RANK(1, 1.5, 7000, "") "," SAID_RANK(
                          3, 1.3, 1000, "")) "," SAID_JOB("new", "", 2, SAID_RANK(0, 2, 1, ""))));
    *state = h;
    return 0;
}

static int hosts_free(void **state)
{
    struct top_host *h = *state;

    for (int i = 0; i < HOSTS; i++)
        top_host_clear(&h[i]);
    free(h);
    return 0;
}

/* The rows as a letter each, with the numbers of the ranks: "T title, H host, J job, ! wait". */
static void expect(const struct top_host *hosts, const struct top_choice *choice,
                   const char *wanted)
{
    char text[256] = "";
    struct top_rows rows;
    struct fault why;
    size_t n = 0;

    assert_int_equal(top_rows_make(&rows, hosts, HOSTS, choice, &why), 0);
    for (size_t i = 0; i < rows.count; i++) {
        const struct top_row *r = &rows.rows[i];

        if (r->kind == TOP_ROW_JOB)
            n += (size_t)snprintf(text + n, sizeof(text) - n, "J:%s ", r->whole->first->id);
        else if (r->kind == TOP_ROW_RANK)
            n += (size_t)snprintf(text + n, sizeof(text) - n, "%lld ", r->rank->rank);
        else if (r->kind == TOP_ROW_PART)
            n += (size_t)snprintf(text + n, sizeof(text) - n, "+%s ", r->host->name);
        else
            n += (size_t)snprintf(text + n, sizeof(text) - n, "%c ", "TH-T?!"[r->kind]);
    }
    assert_string_equal(text, wanted);
    top_rows_clear(&rows);
}

static void test_sorting(void **state)
{
    const struct top_host *hosts = *state;

    expect(hosts, &(struct top_choice){0}, "T H H - T J:old ! 0 1 2 3 J:new 0 ");
    expect(hosts, &(struct top_choice){.is_reversed = true}, "T H H - T J:new 0 J:old ! 3 2 1 0 ");
    expect(hosts, &(struct top_choice){.column = TOP_BY_CPU}, "T H H - T J:old ! 2 1 3 0 J:new 0 ");
    expect(hosts, &(struct top_choice){.column = TOP_BY_MEMORY},
           "T H H - T J:old ! 0 1 2 3 J:new 0 ");
    expect(hosts, &(struct top_choice){.column = TOP_BY_MEMORY, .is_reversed = true},
           "T H H - T J:new 0 J:old ! 3 2 1 0 ");
}

static void test_folding(void **state)
{
    const struct top_host *hosts = *state;
    struct top_choice c = {.hides_hosts = true};
    struct fault why;

    assert_int_equal(string_list_add(&c.folded_hosts, "alpha", &why), 0);
    expect(hosts, &c, "T - T J:old ! +alpha 1 3 J:new 0 ");
    assert_int_equal(string_list_add(&c.folded_jobs, "old", &why), 0);
    expect(hosts, &c, "T - T J:old J:new 0 ");
    top_choice_clear(&c);
}

/* The line of the only row of that kind, or of the first, so long after the last answer. */
static void late_line_of(char out[TOP_TEXT], const struct top_host *hosts, enum top_row_kind kind,
                         const struct top_choice *choice, int late_s)
{
    struct top_moment m = {.now_ns = (2 + late_s) * (int64_t)1000000000,
                           .clock = "now",
                           .every_s = 1,
                           .choice = choice};
    struct top_widths widths;
    struct top_rows rows;
    struct fault why;
    size_t i = 0;

    assert_int_equal(top_rows_make(&rows, hosts, HOSTS, choice, &why), 0);
    top_widths_find(&widths, &rows);
    while (i < rows.count && rows.rows[i].kind != kind)
        i++;
    assert_in_range(i, 0, rows.count - 1);
    top_text_row(out, &rows.rows[i], &widths, &m);
    top_rows_clear(&rows);
}

static void line_of(char out[TOP_TEXT], const struct top_host *hosts, enum top_row_kind kind,
                    const struct top_choice *choice)
{
    late_line_of(out, hosts, kind, choice, 0);
}

/* A host that is slow says nothing else. */
static void test_slow(void **state)
{
    struct top_choice c = {0};
    char text[TOP_TEXT];

    late_line_of(text, *state, TOP_ROW_HOST, &c, 4);
    assert_null(strstr(text, "last answer"));
    late_line_of(text, *state, TOP_ROW_HOST, &c, 5);
    assert_non_null(strstr(text, "    2 last answer 5 s ago"));
}

static void test_texts(void **state)
{
    struct top_choice c = {0};
    char text[TOP_TEXT];
    struct fault why;

    line_of(text, *state, TOP_ROW_JOB, &c);
    assert_string_equal(text, "- old 4/4                    180   21K       0    25 "
                              "(train) live 10s u: prog x");
    line_of(text, *state, TOP_ROW_RANK, &c);
    assert_string_equal(text, "    0 alpha         70 S      10    9K       0   100 "
                              "waits 5s in recv of 8 bytes from rank 1");
    line_of(text, *state, TOP_ROW_TEXT, &c);
    assert_string_equal(text, "  ! 0 waits in recv of 8 bytes from rank 1");
    assert_int_equal(string_list_add(&c.folded_hosts, "alpha", &why), 0);
    line_of(text, *state, TOP_ROW_PART, &c);
    assert_string_equal(text, "    + alpha                  100   14K       0    50 "
                              "2 ranks, 1 waits");
    top_choice_clear(&c);
}

/* A host that is lost is shown even where hosts are hidden, and takes its ranks with it. */
static void test_lost(void **state)
{
    struct top_host *hosts = *state;
    struct top_choice c = {.hides_hosts = true};
    char text[TOP_TEXT];

    top_host_fail(&hosts[1], "connection \033[2Jlost");
    expect(hosts, &c, "T H - T J:old ! 0 2 ");
    line_of(text, hosts, TOP_ROW_HOST, &c);
    assert_string_equal(text, "beta     connection ?[2Jlost");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_sorting, hosts_make, hosts_free),
        cmocka_unit_test_setup_teardown(test_folding, hosts_make, hosts_free),
        cmocka_unit_test_setup_teardown(test_texts, hosts_make, hosts_free),
        cmocka_unit_test_setup_teardown(test_slow, hosts_make, hosts_free),
        cmocka_unit_test_setup_teardown(test_lost, hosts_make, hosts_free),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
