/* SPDX-License-Identifier: MIT */
/* test_top_view.c: keys, the cursor, and what is on a terminal of some height. */
#include "launcher/tools/top/top_view.h"

#include "launcher/tools/top/top_picture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/launcher/tools/top/said.h"

enum { PAGE = 4, HEIGHT = PAGE + 2 };

struct fixture {
    struct top_host host;
    struct top_view view;
    struct top_rows rows;
};

/* The rows of view, as the live view makes them. */
static void renew(struct fixture *f)
{
    struct fault why;

    top_rows_clear(&f->rows);
    assert_int_equal(top_rows_make(&f->rows, &f->host, 1, &f->view.choice, &why), 0);
    top_view_settle(&f->view, &f->rows, PAGE);
}

static enum top_action press(struct fixture *f, int key)
{
    enum top_action action = top_view_key(&f->view, key, &f->rows, PAGE);

    if (action == TOP_FOLD)
        renew(f);
    return action;
}

/* Rows: 0 titles, 1 host, 2 blank, 3 titles, 4 job, 5 to 8 ranks 0 to 3 of "old", 9 job "new". */
static int fixture_make(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    f->host.name = "alpha";
    said_twice(&f->host,
               SAID(SAID_JOB("new", "", 2, "") "," SAID_JOB(
                   "old", "", 10,
                   SAID_RANK(0, 1, 1, "") "," SAID_RANK(1, 1, 1, "") "," SAID_RANK(
                       2, 1, 1, "") "," SAID_RANK(3, 1, 1, ""))),
               SAID(SAID_JOB("new", "", 2, "") "," SAID_JOB(
                   "old", "", 10,
                   SAID_RANK(0, 1.1, 1, "") "," SAID_RANK(1, 1.2, 1, "") "," SAID_RANK(
                       2, 1.3, 1, "") "," SAID_RANK(3, 1.4, 1, ""))));
    renew(f);
    *state = f;
    return 0;
}

static int fixture_free(void **state)
{
    struct fixture *f = *state;

    top_rows_clear(&f->rows);
    top_choice_clear(&f->view.choice);
    top_host_clear(&f->host);
    free(f);
    return 0;
}

static void test_moves(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(f->view.cursor, 4); /* the first job */
    press(f, TOP_KEY_UP);
    assert_int_equal(f->view.cursor, 1); /* titles and blank lines are passed over */
    press(f, TOP_KEY_DOWN);
    assert_int_equal(f->view.cursor, 4);
    press(f, TOP_KEY_END);
    assert_int_equal(f->view.cursor, 9);
    assert_int_equal(f->view.first, 6);
    press(f, TOP_KEY_PAGE_UP);
    assert_int_equal(f->view.cursor, 5);
    assert_int_equal(f->view.first, 5);
    press(f, TOP_KEY_HOME);
    assert_int_equal(f->view.cursor, 0);
    assert_int_equal(f->view.first, 0);
    press(f, TOP_KEY_UP);
    assert_int_equal(f->view.cursor, 0);
}

/* The cursor stays on its rank when the order changes, and near it when it is gone. */
static void test_follows(void **state)
{
    struct fixture *f = *state;

    press(f, TOP_KEY_DOWN);
    assert_string_equal(f->view.place, "rank 0 of old");
    press(f, 's'); /* by processor time: 3 2 1 0 */
    assert_int_equal(f->view.choice.column, TOP_BY_CPU);
    assert_int_equal(f->view.cursor, 8);
    press(f, '<');
    assert_int_equal(f->view.cursor, 5);
    press(f, 'r');
    assert_int_equal(f->view.cursor, 9); /* "new" first, then the ranks from 3 to 0 */
    top_host_fail(&f->host, "lost");
    renew(f);
    assert_int_equal(f->view.cursor, 1);
}

static void test_folds(void **state)
{
    struct fixture *f = *state;
    size_t all = f->rows.count;

    assert_int_equal(press(f, ' '), TOP_FOLD);
    assert_int_equal(f->rows.count, all - 4);
    assert_int_equal(f->view.cursor, 4);
    press(f, '\n');
    assert_int_equal(f->rows.count, all);
    press(f, TOP_KEY_DOWN);
    press(f, TOP_KEY_DOWN);
    press(f, ' '); /* a rank: its host */
    assert_int_equal(f->rows.count, all - 3);
    assert_int_equal(f->rows.rows[f->view.cursor].kind, TOP_ROW_PART);
    press(f, ' ');
    assert_int_equal(f->rows.count, all);
    press(f, 'f');
    assert_int_equal(f->rows.count, all - 3);
    press(f, 'f');
    assert_int_equal(f->rows.count, all);
    press(f, 'H');
    assert_int_equal(f->rows.count, all - 1);
}

static void test_kills(void **state)
{
    struct fixture *f = *state;

    press(f, TOP_KEY_DOWN);
    assert_int_equal(press(f, 'k'), TOP_DRAW);
    assert_int_equal(f->view.mode, TOP_MODE_KILL);
    assert_int_equal(press(f, 'n'), TOP_DRAW);
    assert_int_equal(f->view.mode, TOP_MODE_ROWS);
    press(f, 'k');
    assert_int_equal(press(f, 'q'), TOP_DRAW); /* a no, not the end of the view */
    press(f, 'k');
    assert_int_equal(press(f, 'y'), TOP_KILL);
    assert_string_equal(f->view.kill, "old");
    press(f, TOP_KEY_HOME);
    press(f, 'k');
    assert_int_equal(f->view.mode, TOP_MODE_ROWS);
    assert_string_equal(f->view.message, "move to a job or one of its ranks, then k ends it");
    assert_int_equal(press(f, 'q'), TOP_QUIT);
}

static void draw(struct fixture *f, struct top_picture *p)
{
    struct top_moment m = {2000000000, "now", 1, &f->view.choice};

    top_picture_draw(p, &f->view, &f->rows, &m);
}

static void test_picture(void **state)
{
    struct fixture *f = *state;
    struct top_picture p = {0};
    struct fault why;

    assert_int_equal(top_picture_resize(&p, HEIGHT, &why), 0);
    assert_int_equal(top_picture_page(HEIGHT), PAGE);
    press(f, TOP_KEY_END);
    draw(f, &p);
    assert_string_equal(p.lines[0].text, "now, every 1 s: 1 of 1 hosts, 2 jobs, 4 ranks");
    assert_memory_equal(p.lines[1].text, " RANK HOST", 10); /* the titles stay in sight */
    assert_memory_equal(p.lines[4].text, "- new 0/4", 9);
    assert_int_equal(p.lines[4].style, TOP_STYLE_CURSOR);
    assert_memory_equal(p.lines[5].text, "q quit", 6);
    press(f, TOP_KEY_RIGHT);
    draw(f, &p);
    assert_memory_equal(p.lines[4].text, "4", 1);
    press(f, 'k');
    draw(f, &p);
    assert_string_equal(p.lines[5].text, "end job new on all its hosts? y or n");
    press(f, 'n');
    press(f, '?');
    draw(f, &p);
    assert_memory_equal(p.lines[1].text, "q          quit", 15);
    for (size_t height = 0; height < HEIGHT; height++) { /* however small */
        assert_int_equal(top_picture_resize(&p, height, &why), 0);
        press(f, height % 2 ? '?' : 'n');
        draw(f, &p);
    }
    top_picture_clear(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_moves, fixture_make, fixture_free),
        cmocka_unit_test_setup_teardown(test_follows, fixture_make, fixture_free),
        cmocka_unit_test_setup_teardown(test_folds, fixture_make, fixture_free),
        cmocka_unit_test_setup_teardown(test_kills, fixture_make, fixture_free),
        cmocka_unit_test_setup_teardown(test_picture, fixture_make, fixture_free),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
