/* SPDX-License-Identifier: MIT */
/*
 * test_writer.c: the thread that writes the ranks' output, with the buffers of output_file.c before
 * a pipe: order, a pipe that is full, what is acknowledged, failures, and the end in a blocked
 * write.
 */
#include "launcher/run/stdio/writer.h"

#include "launcher/run/stdio/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { PATIENCE_MS = 20000, LINE = 16 };

/* A writer before a pipe. */
struct scene {
    struct writer *writer;
    struct output_buffer buffer;
    struct output_file file;
    int reader; /* the pipe's; -1: closed */

    pthread_mutex_t lock; /* for what follows, which the writer's thread notes */
    pthread_cond_t noted;
    size_t written[2]; /* bytes of each host that were acknowledged */
    int chunks, silences, failures, err;
    char failed_name[64];
};

static void on_chunk(const struct writer_chunk *c, void *arg)
{
    struct scene *s = arg;

    output_file_put(&s->buffer, &s->file, c->bytes, c->size);
}

static void on_flush(void *arg)
{
    output_file_flush(&((struct scene *)arg)->buffer);
}

static void on_written(const struct writer_chunk *list, void *arg)
{
    struct scene *s = arg;

    pthread_mutex_lock(&s->lock);
    for (; list; list = list->next) {
        s->chunks++;
        if (list->host >= 0)
            s->written[list->host] += list->size;
    }
    pthread_cond_signal(&s->noted);
    pthread_mutex_unlock(&s->lock);
}

static bool on_silence(void *arg)
{
    struct scene *s = arg;

    bool again;

    pthread_mutex_lock(&s->lock);
    again = ++s->silences < 2; /* asks for a second one, and no more */
    pthread_cond_signal(&s->noted);
    pthread_mutex_unlock(&s->lock);
    return again;
}

static void on_failed(int err, const struct output_file *f, void *arg)
{
    struct scene *s = arg;

    pthread_mutex_lock(&s->lock);
    s->failures++;
    s->err = err;
    snprintf(s->failed_name, sizeof(s->failed_name), "%s", f->name);
    pthread_cond_signal(&s->noted);
    pthread_mutex_unlock(&s->lock);
}

static int scene_open(void **state)
{
    static struct scene scene;
    struct scene *s = *state = &scene;
    const struct writer_ops ops = {on_chunk, on_flush, on_written, on_silence, s};
    struct fault why;
    int ends[2];

    memset(s, 0, sizeof(*s));
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    s->reader = ends[0];
    s->file.fd = ends[1];
    s->file.name = "the pipe";
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->noted, NULL);
    assert_int_equal(writer_open(&s->writer, &ops, &why), 0);
    s->buffer.bytes = malloc(OUTPUT_BUFFER);
    assert_non_null(s->buffer.bytes);
    s->buffer.on_failed = on_failed;
    s->buffer.arg = s;
    s->buffer.thread = writer_thread(s->writer);
    return 0;
}

/* Also after a failed assertion: the writer's thread uses the scene. */
static int scene_close(void **state)
{
    struct scene *s = *state;

    writer_close(s->writer);
    free(s->buffer.bytes);
    close(s->file.fd);
    if (s->reader >= 0)
        close(s->reader);
    pthread_cond_destroy(&s->noted);
    pthread_mutex_destroy(&s->lock);
    return 0;
}

static void push(struct scene *s, int host, const void *bytes, size_t size)
{
    struct writer_chunk *c = calloc(1, sizeof(*c) + size);
    struct fault why;

    assert_non_null(c);
    c->host = host;
    c->size = size;
    if (size)
        memcpy(c->bytes, bytes, size);
    assert_int_equal(writer_push(s->writer, c, &why), 0);
}

static void push_block(struct scene *s, int host, size_t size)
{
    char *bytes = malloc(size);

    assert_non_null(bytes);
    memset(bytes, 'x', size);
    push(s, host, bytes, size);
    free(bytes);
}

/* Waits until *number, which the writer's thread increments, is at least `least`. */
static void wait_for(struct scene *s, const int *number, int least)
{
    struct timespec until;
    int err = 0;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_MS / 1000;
    pthread_mutex_lock(&s->lock);
    while (*number < least && !err)
        err = pthread_cond_timedwait(&s->noted, &s->lock, &until);
    pthread_mutex_unlock(&s->lock);
    assert_int_equal(err, 0);
}

static void wait_idle(struct scene *s)
{
    const struct timespec moment = {.tv_nsec = 1000000};

    for (int i = 0; i < PATIENCE_MS && !writer_is_idle(s->writer); i++)
        nanosleep(&moment, NULL);
    assert_true(writer_is_idle(s->writer));
}

static size_t written(struct scene *s, int host)
{
    size_t n;

    pthread_mutex_lock(&s->lock);
    n = s->written[host];
    pthread_mutex_unlock(&s->lock);
    return n;
}

static void read_exactly(struct scene *s, char *to, size_t size)
{
    while (size > 0) {
        ssize_t n = read(s->reader, to, size);

        assert_true(n > 0);
        to += n;
        size -= (size_t)n;
    }
}

static void test_order(void **state)
{
    enum { LINES = 5000 };
    char line[LINE + 1], got[LINE + 1] = "";
    struct scene *s = *state;

    assert_false(writer_is_used(s->writer));
    assert_true(writer_is_idle(s->writer));
    for (int i = 0; i < LINES; i++) {
        snprintf(line, sizeof(line), "line %010d\n", i);
        push(s, 0, line, LINE);
    }
    assert_true(writer_is_used(s->writer));
    for (int i = 0; i < LINES; i++) {
        snprintf(line, sizeof(line), "line %010d\n", i);
        read_exactly(s, got, LINE);
        assert_string_equal(got, line);
    }
    wait_for(s, &s->chunks, LINES);
    assert_int_equal(written(s, 0), LINES * LINE);
}

/* A pipe takes less than is written to it at once: nothing is lost, and nothing that the reader has
 * not taken is acknowledged but what the pipe itself holds. */
static void test_full_pipe(void **state)
{
    enum { SIZE = 3 << 20 };
    char *got = malloc(SIZE);
    struct scene *s = *state;
    int held;

    assert_non_null(got);
    held = fcntl(s->file.fd, F_GETPIPE_SZ);
    push_block(s, 1, SIZE);
    push(s, 0, "end", 3);
    read_exactly(s, got, 1); /* it has begun */
    assert_false(writer_is_idle(s->writer));
    assert_int_equal(written(s, 1), 0);
    read_exactly(s, got, (size_t)(SIZE - 1 - held - 4096));
    assert_int_equal(written(s, 0), 0);
    read_exactly(s, got, (size_t)held + 4096);
    read_exactly(s, got, 3);
    assert_memory_equal(got, "end", 3);
    wait_for(s, &s->chunks, 2);
    assert_int_equal(written(s, 1), SIZE);
    assert_int_equal(written(s, 0), 3);
    assert_int_equal(s->failures, 0);
    free(got);
}

/* A descriptor that somebody else has made non-blocking is waited for. */
static void test_nonblocking(void **state)
{
    enum { SIZE = 1 << 20 };
    char *got = malloc(SIZE);
    struct scene *s = *state;

    assert_non_null(got);
    assert_int_equal(fcntl(s->file.fd, F_SETFL, O_NONBLOCK), 0);
    push_block(s, 0, SIZE);
    read_exactly(s, got, SIZE);
    wait_for(s, &s->chunks, 1);
    assert_int_equal(s->failures, 0);
    free(got);
}

/* Chunks of mlaunch itself are acknowledged to no host; even an empty chunk is passed on. */
static void test_acknowledged(void **state)
{
    struct scene *s = *state;

    push(s, -1, "own", 3);
    push(s, 1, NULL, 0);
    push(s, 1, "ab", 2);
    wait_for(s, &s->chunks, 3);
    assert_int_equal(written(s, 0), 0);
    assert_int_equal(written(s, 1), 2);
}

/* The queue is idle only once everything has been written and acknowledged. */
static void test_idle(void **state)
{
    struct scene *s = *state;
    char got;

    push(s, 0, "x", 1);
    wait_for(s, &s->chunks, 1);
    wait_idle(s);
    read_exactly(s, &got, 1);
    wait_for(s, &s->silences, 2); /* the first one asked for another */
    assert_int_equal(s->silences, 2);
    wait_idle(s);
}

/* A failure is reported once, by the file's name; then everything is dropped, but acknowledged: the
 * ranks must not wait for a reader that is gone. */
static void test_broken_pipe(void **state)
{
    struct scene *s = *state;

    close(s->reader);
    s->reader = -1;
    push(s, 0, "lost", 4);
    wait_for(s, &s->chunks, 1);
    push_block(s, 0, 1 << 20);
    wait_for(s, &s->chunks, 2);
    assert_int_equal(s->failures, 1);
    assert_int_equal(s->err, EPIPE);
    assert_string_equal(s->failed_name, "the pipe");
    assert_int_equal(written(s, 0), 4 + (1 << 20));
}

static void test_full_disk(void **state)
{
    struct scene *s = *state;

    close(s->file.fd);
    s->file.fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_true(s->file.fd >= 0);
    s->file.name = "/dev/full";
    push(s, 0, "lost", 4);
    wait_for(s, &s->chunks, 1);
    assert_int_equal(s->failures, 1);
    assert_int_equal(s->err, ENOSPC);
    assert_string_equal(s->failed_name, "/dev/full");
}

/* Closing ends a write that is blocked, and drops what is queued behind it. */
static void test_close(void **state)
{
    enum { SIZE = 1 << 20 };
    struct scene *s = *state;
    char got;

    for (int i = 0; i < 4; i++)
        push_block(s, 0, SIZE);
    read_exactly(s, &got, 1);
    writer_close(s->writer);
    s->writer = NULL;
    assert_int_equal(s->err, ECANCELED);
    assert_true(s->written[0] < (size_t)4 * SIZE);
}

/* A writer that has written everything loses nothing when it is closed. */
static void test_close_idle(void **state)
{
    struct scene *s = *state;
    char got[4] = "";

    push(s, 0, "all", 3);
    wait_for(s, &s->chunks, 1);
    writer_close(s->writer);
    s->writer = NULL;
    read_exactly(s, got, 3);
    assert_string_equal(got, "all");
}

/* The first chunk starts the thread, so there is none to end here. */
static void test_close_unused(void **state)
{
    struct scene *s = *state;

    assert_false(writer_is_used(s->writer));
}

#define SCENE_TEST(test) cmocka_unit_test_setup_teardown(test, scene_open, scene_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_order),        SCENE_TEST(test_full_pipe), SCENE_TEST(test_nonblocking),
        SCENE_TEST(test_acknowledged), SCENE_TEST(test_idle),      SCENE_TEST(test_broken_pipe),
        SCENE_TEST(test_full_disk),    SCENE_TEST(test_close),     SCENE_TEST(test_close_idle),
        SCENE_TEST(test_close_unused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
