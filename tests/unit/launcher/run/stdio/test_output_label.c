/* SPDX-License-Identifier: MIT */
/* test_output_label.c: how streams are cut into lines that are whole, labelled, continued after a
 * pause, and split if too long. */
#include "launcher/run/stdio/output_label.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* The output goes to a memory file. */
struct scene {
    struct output_label *label;
    struct output_buffer buffer;
    struct output_file file;
    struct side_thread thread;
    char *text;
};

static void on_failed(int err, const struct output_file *file, void *arg)
{
    (void)arg;
    fail_msg("%s: %s", file->name, strerror(err));
}

static void scene_open(struct scene *s, bool with_rank, bool with_time)
{
    struct fault why;

    memset(s, 0, sizeof(*s));
    assert_int_equal(output_label_create(&s->label, 8, with_rank, with_time, &why), 0);
    s->buffer.bytes = malloc(OUTPUT_BUFFER);
    s->buffer.on_failed = on_failed;
    s->buffer.thread = &s->thread;
    s->file.name = "memory";
    s->file.is_terminal = true;
    s->file.fd = memfd_create("output", 0);
    assert_true(s->file.fd >= 0);
}

static void scene_close(struct scene *s)
{
    output_label_destroy(s->label);
    free(s->buffer.bytes);
    free(s->text);
    close(s->file.fd);
}

/* Rank r's stdout is stream 2 * r. */
static void put(struct scene *s, int rank, const char *bytes, size_t size)
{
    output_label_write(s->label, &s->buffer, &s->file, 2 * rank, rank, 1700000000123456789, bytes,
                       size);
}

static void say(struct scene *s, int rank, const char *text)
{
    put(s, rank, text, strlen(text));
}

static void show(struct scene *s, int rank)
{
    output_label_show(s->label, &s->buffer, &s->file, 2 * rank, rank);
}

static void finish(struct scene *s, int rank)
{
    output_label_end(s->label, &s->buffer, &s->file, 2 * rank, rank);
}

static const char *written(struct scene *s)
{
    off_t size;

    output_file_flush(&s->buffer);
    size = lseek(s->file.fd, 0, SEEK_END);
    free(s->text);
    s->text = calloc(1, (size_t)size + 1);
    assert_int_equal(pread(s->file.fd, s->text, (size_t)size, 0), size);
    return s->text;
}

static void test_whole_lines(void **state)
{
    struct scene s;

    (void)state;
    scene_open(&s, true, false);
    say(&s, 0, "a");
    say(&s, 1, "one\ntwo\nthr");
    say(&s, 0, "b\n");
    assert_true(output_label_holds_any(s.label));
    say(&s, 1, "ee\n\n");
    assert_false(output_label_holds_any(s.label));
    assert_string_equal(written(&s), "[1] one\n[1] two\n[0] ab\n[1] three\n[1] \n");
    scene_close(&s);
}

static void test_shown_and_continued(void **state)
{
    struct scene s;

    (void)state;
    scene_open(&s, true, false);
    say(&s, 0, "name? ");
    show(&s, 0);
    assert_string_equal(written(&s), "[0] name? ");
    say(&s, 0, "bob");
    show(&s, 0);
    say(&s, 0, "\nnext\n");
    assert_string_equal(written(&s), "[0] name? bob\n[0] next\n");
    say(&s, 0, "half");
    show(&s, 0);
    say(&s, 1, "other\n");
    say(&s, 0, " rest\n");
    assert_string_equal(written(&s), "[0] name? bob\n[0] next\n[0] half\n[1] other\n[0]  rest\n");
    scene_close(&s);
}

/* A prompt is due at the first silence; a line that was cut by a full buffer only after some
 * more. */
static void test_due(void **state)
{
    static const char full[5000] = {[0 ... 4998] = 'x'};
    struct scene s;
    bool again = false;
    int silences = 1;

    (void)state;
    scene_open(&s, true, false);
    assert_false(output_label_is_due(s.label, &s.file, 0, &again));
    say(&s, 0, "name? ");
    assert_true(output_label_is_due(s.label, &s.file, 0, &again));
    assert_false(again);
    say(&s, 0, full);
    while (!output_label_is_due(s.label, &s.file, 0, &again) && silences < 100)
        silences++;
    assert_int_equal(silences, 20);
    assert_true(again);
    say(&s, 0, "y\n");
    assert_false(output_label_is_due(s.label, &s.file, 0, &again));
    scene_close(&s);
}

/* Where nobody waits, only what a '\r' has ended is due. */
static void test_due_in_file(void **state)
{
    struct scene s;
    bool again = false;

    (void)state;
    scene_open(&s, true, false);
    s.file.is_terminal = false;
    say(&s, 0, "step 1: ");
    assert_false(output_label_is_due(s.label, &s.file, 0, &again));
    show(&s, 0);
    say(&s, 1, "other\n");
    say(&s, 0, "done\n");
    say(&s, 0, "10%\r20%\r3");
    assert_true(output_label_is_due(s.label, &s.file, 0, &again));
    assert_false(again);
    show(&s, 0);
    assert_string_equal(written(&s), "[1] other\n[0] step 1: done\n[0] 10%\r[0] 20%\r");
    say(&s, 0, "0%");
    assert_false(output_label_is_due(s.label, &s.file, 0, &again));
    say(&s, 1, "other\n");
    say(&s, 0, "\n");
    say(&s, 0, "last");
    finish(&s, 0);
    assert_string_equal(written(&s), "[1] other\n[0] step 1: done\n[0] 10%\r[0] 20%\r\n"
                                     "[1] other\n[0] 30%\n[0] last\n");
    scene_close(&s);
}

/* Behind a '\r' the label is put again, but once, and not before a newline. */
static void test_return(void **state)
{
    struct scene s;

    (void)state;
    scene_open(&s, true, false);
    say(&s, 0, "\r10%\r");
    say(&s, 0, "\r20%");
    say(&s, 0, "\r\nend\r");
    say(&s, 0, "\n");
    assert_string_equal(written(&s), "[0] \r[0] 10%\r\r[0] 20%\r\n[0] end\r\n");
    say(&s, 0, "30%\r");
    show(&s, 0);
    say(&s, 0, "40%");
    say(&s, 1, "x\n");
    say(&s, 0, "\r50%");
    show(&s, 0);
    finish(&s, 0);
    assert_string_equal(written(&s), "[0] \r[0] 10%\r\r[0] 20%\r\n[0] end\r\n[0] 30%\r\n"
                                     "[1] x\n[0] 40%\r[0] 50%\n");
    scene_close(&s);
}

static void test_two_shown(void **state)
{
    struct scene s;

    (void)state;
    scene_open(&s, true, false);
    say(&s, 0, "a");
    say(&s, 1, "b");
    show(&s, 0);
    show(&s, 1);
    finish(&s, 1);
    finish(&s, 0);
    assert_string_equal(written(&s), "[0] a\n[1] b\n");
    scene_close(&s);
}

static void test_end(void **state)
{
    struct scene s;

    (void)state;
    scene_open(&s, true, false);
    say(&s, 0, "no end");
    finish(&s, 0);
    finish(&s, 0);
    finish(&s, 1);
    assert_string_equal(written(&s), "[0] no end\n");
    say(&s, 0, "a descendant's\n"); /* it may come after the rank's own end */
    assert_string_equal(written(&s), "[0] no end\n[0] a descendant's\n");
    scene_close(&s);
}

static void test_time(void **state)
{
    struct scene s;

    (void)state;
    setenv("TZ", "UTC", 1);
    tzset();
    scene_open(&s, false, true);
    say(&s, 0, "x\n");
    assert_string_equal(written(&s), "2023-11-14T22:13:20.123+00:00 x\n");
    scene_close(&s);
}

static void test_too_long(void **state)
{
    size_t size = 2 * LABEL_LINE_MAX + 5, xs = 0;
    char *long_line = malloc(size + 1);
    const char *text;
    struct scene s;

    (void)state;
    memset(long_line, 'x', size);
    long_line[size] = '\n';
    scene_open(&s, true, false);
    put(&s, 0, long_line, size + 1);
    text = written(&s);
    assert_int_equal(strspn(text + 4, "x"), LABEL_LINE_MAX);
    text += 4 + LABEL_LINE_MAX;
    assert_memory_equal(text, "\n[0] … x", strlen("\n[0] … x"));
    text = strrchr(s.text, '[');
    assert_string_equal(text, "[0] … xxxxx\n");
    for (text = s.text; *text; text++)
        xs += *text == 'x';
    assert_int_equal(xs, size);
    free(long_line);
    scene_close(&s);
}

/* Random pieces of numbered lines of 4 ranks, with random pauses: everything that a rank wrote
 * comes out in order, and without pauses every line is whole. */
static void check_random(unsigned seed, bool with_pauses)
{
    char *source[4], *at[4], seen[4][20000];
    struct scene s;
    char *rest = NULL;

    srandom(seed);
    scene_open(&s, true, false);
    for (int r = 0; r < 4; r++) {
        size_t size = 0;

        source[r] = at[r] = calloc(1, 20000);
        for (int i = 0; i < 300; i++)
            size += (size_t)snprintf(source[r] + size, 20000 - size, "%d-%d%.*s\n", r, i,
                                     (int)(random() % 30), "..............................");
        seen[r][0] = 0;
    }
    for (int left = 4; left > 0;) {
        int r = (int)(random() % 4);
        size_t size = strlen(at[r]), take = (size_t)(random() % 100) + 1;

        if (size == 0)
            continue;
        take = take < size ? take : size;
        put(&s, r, at[r], take);
        at[r] += take;
        left -= take == size;
        if (with_pauses && random() % 3 == 0)
            show(&s, (int)(random() % 4));
    }
    written(&s);
    for (char *line = strtok_r(s.text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        int r = line[1] - '0';
        size_t length = strlen(line);

        assert_true(line[0] == '[' && r >= 0 && r < 4 && line[2] == ']' && line[3] == ' ');
        if (!with_pauses)
            assert_true(line[4] == line[1] && line[5] == '-');
        assert_true(strlen(seen[r]) + length < sizeof(seen[r]));
        memcpy(seen[r] + strlen(seen[r]), line + 4, length - 3);
    }
    for (int r = 0; r < 4; r++) {
        char *to = source[r];

        for (const char *from = source[r]; *from; from++) {
            if (*from != '\n')
                *to++ = *from;
        }
        *to = 0;
        assert_string_equal(seen[r], source[r]);
        free(source[r]);
    }
    scene_close(&s);
}

static void test_random(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < 50; seed++) {
        check_random(seed, false);
        check_random(seed, true);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_lines), cmocka_unit_test(test_shown_and_continued),
        cmocka_unit_test(test_due),         cmocka_unit_test(test_due_in_file),
        cmocka_unit_test(test_return),      cmocka_unit_test(test_two_shown),
        cmocka_unit_test(test_end),         cmocka_unit_test(test_time),
        cmocka_unit_test(test_too_long),    cmocka_unit_test(test_random),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
