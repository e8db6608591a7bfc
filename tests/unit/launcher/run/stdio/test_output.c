/* SPDX-License-Identifier: MIT */
/*
 * test_output.c: what several ranks and mlaunch write becomes standard output and error, or files:
 * labels, bytes as they are, what is acknowledged, a reader that is slow, gone or a terminal. A
 * test plays its scene first, in which descriptors 1 and 2 belong to the output, and judges then.
 */
#include "launcher/run/stdio/output.h"

#include "common/log.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <event2/event.h>
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
#include <sys/mman.h>
#include <termios.h>
#include <unistd.h>

#include <cmocka.h>

enum { PATIENCE_MS = 60000 /* ends a hang */, HOSTS = 2, RANKS = 4, TEXT = 4096 };

/* Ranks 0 and 1 are on the first host, 2 and 3 on the second. */
static int host_of(int rank)
{
    return rank / 2;
}

static struct {
    struct event_base *base;
    struct output *output;
    struct options options;
    struct roster where;
    struct plan plan;
    struct host hosts[HOSTS];
    struct host_list list;
    struct planned_rank ranks[RANKS];
    int saved[2];         /* the test's own standard output and error */
    int file[2];          /* where they go in the scene */
    size_t credit[HOSTS]; /* bytes that were acknowledged */
    size_t sent[HOSTS];   /* what should be */
    int failures;
    struct fault failed; /* the last one */
    bool late;           /* something did not happen in PATIENCE_MS */
} s;

static void on_credit(int host, uint32_t bytes, void *arg)
{
    (void)arg;
    s.credit[host] += bytes;
}

static void on_failed(const struct fault *why, void *arg)
{
    (void)arg;
    s.failures++;
    s.failed = *why;
}

/* The log is parted, as that of a job in the background is: what goes into which part. */
enum { PARTS = 50, PART = 1000 };

static struct {
    int count;
    int files[PARTS];
    off_t sizes[PARTS]; /* when the next part was begun */
    pthread_t thread;
} parted;

static void on_written(void *arg)
{
    off_t size = lseek(STDOUT_FILENO, 0, SEEK_END);

    (void)arg;
    if (parted.count == 0 || parted.count == PARTS || size < PART)
        return;
    parted.thread = pthread_self();
    parted.sizes[parted.count - 1] = size;
    parted.files[parted.count] = memfd_create("part", MFD_CLOEXEC);
    dup2(parted.files[parted.count], STDOUT_FILENO);
    dup2(parted.files[parted.count], STDERR_FILENO);
    parted.count++;
}

static void on_late(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what, (void)arg;
    s.late = true;
}

/* Runs the loop until `is_true`, or for PATIENCE_MS. */
static void until(bool (*is_true)(void))
{
    const struct timeval limit = {PATIENCE_MS / 1000, 0};
    struct event *late = evtimer_new(s.base, on_late, NULL);

    evtimer_add(late, &limit);
    while (!is_true() && !s.late)
        event_base_loop(s.base, EVLOOP_ONCE);
    event_free(late);
}

static bool is_written(void)
{
    return output_is_idle(s.output);
}

static bool is_acknowledged(void)
{
    return memcmp(s.credit, s.sent, sizeof(s.sent)) == 0;
}

static bool has_failed(void)
{
    return s.failures > 0;
}

static int memory_file(void)
{
    return memfd_create("output", MFD_CLOEXEC);
}

static void fresh(void)
{
    static int used[HOSTS] = {0, 1};

    memset(&s, 0, sizeof(s));
    s.list = (struct host_list){.hosts = s.hosts, .count = HOSTS};
    for (int i = 0; i < RANKS; i++)
        s.ranks[i] = (struct planned_rank){.host = host_of(i), .local_rank = i % 2};
    s.hosts[0].name = (char *)"a";
    s.hosts[1].name = (char *)"b";
    s.where = (struct roster){.hosts = used, .host_count = HOSTS, .ranks = s.ranks, .size = RANKS};
    s.plan = (struct plan){.options = &s.options, .list = &s.list, .where = &s.where};
}

/* From now on descriptors 1 and 2 are `out` and `err`. */
static void begin(int out, int err)
{
    const struct output_events events = {on_credit, on_failed, on_written, NULL};
    struct fault why;

    s.base = event_base_new();
    fflush(NULL);
    s.file[0] = out;
    s.file[1] = err;
    for (int i = 0; i < 2; i++) {
        s.saved[i] = fcntl(i + 1, F_DUPFD_CLOEXEC, 3);
        dup2(s.file[i], i + 1);
    }
    if (output_open(&s.output, s.base, &s.plan, "1n-x", NULL, NULL, &events, &why)) {
        dup2(s.saved[1], STDERR_FILENO);
        dprintf(STDERR_FILENO, "# cannot open: %s\n", why.text);
        _exit(1);
    }
}

static void give(int rank, int stream, const char *bytes, size_t size)
{
    s.sent[host_of(rank)] += agent_output_cost(size);
    output_write(s.output, host_of(rank), rank, stream, bytes, size);
}

static void out(int rank, const char *text)
{
    give(rank, 1, text, strlen(text));
}

static void err(int rank, const char *text)
{
    give(rank, 2, text, strlen(text));
}

/* Ends the scene: descriptors 1 and 2 are the test's again. */
static void end(void)
{
    output_close(s.output);
    for (int i = 0; i < 2; i++) {
        dup2(s.saved[i], i + 1);
        close(s.saved[i]);
    }
    event_base_free(s.base);
    assert_false(s.late);
}

static void finish(void)
{
    output_finish(s.output);
    until(is_written);
    until(is_acknowledged);
    end();
}

static void expect_file(int fd, const char *expected)
{
    char text[TEXT];
    ssize_t size = pread(fd, text, sizeof(text) - 1, 0);

    assert_true(size >= 0);
    text[size] = '\0';
    assert_string_equal(text, expected);
    close(fd);
}

/* Two files: each stream goes to its own, mlaunch's lines to the second. */
static void test_labels(void **state)
{
    (void)state;
    fresh();
    begin(memory_file(), memory_file());
    out(0, "one\ntw");
    out(3, "three\n");
    err(1, "wrong\n");
    output_say(s.output, "host %s is slow", "b");
    out(0, "o\n");
    out(2, "unfinished");
    give(2, 1, NULL, 0);
    err(0, "also");
    finish();
    expect_file(s.file[0], "[0] one\n[3] three\n[0] two\n[2] unfinished\n");
    expect_file(s.file[1], "[1] wrong\nmlaunch: host b is slow\n[0] also\n");
    assert_int_equal(s.failures, 0);
}

/* One file for both, such as a terminal's or a log's: all in the order in which it came. */
static void test_one_file(void **state)
{
    int file = memory_file();

    (void)state;
    fresh();
    begin(file, file);
    for (int i = 0; i < RANKS; i++) {
        out(i, "out\n");
        output_say(s.output, "%d", i);
        err(i, "err\n");
    }
    finish();
    expect_file(file, "[0] out\nmlaunch: 0\n[0] err\n[1] out\nmlaunch: 1\n[1] err\n"
                      "[2] out\nmlaunch: 2\n[2] err\n[3] out\nmlaunch: 3\n[3] err\n");
}

/* Who begins a new file in on_written gets all in order, and nothing comes to one that has ended:
 * it is called on the thread that writes. */
static void test_parts(void **state)
{
    enum { LINES = 20000 };
    int file = memory_file();
    off_t all = 0;

    (void)state;
    fresh();
    s.plan.output = OUTPUT_RAW;
    parted.files[0] = file;
    parted.count = 1;
    begin(file, file);
    for (int i = 0; i < LINES; i++) {
        out(0, "0123456789abcde\n");
        event_base_loop(s.base, EVLOOP_NONBLOCK);
    }
    finish();
    assert_true(parted.count > 1);
    assert_false(pthread_equal(parted.thread, pthread_self()));
    for (int i = 0; i < parted.count; i++) {
        off_t size = lseek(parted.files[i], 0, SEEK_END);

        if (i + 1 < parted.count)
            assert_int_equal(size, parted.sizes[i]);
        all += size;
        close(parted.files[i]);
    }
    parted.count = 0;
    assert_int_equal(all, 16 * LINES);
}

/* Every byte as it is, zeros too, and no newline that the rank has not written. */
static void test_raw(void **state)
{
    char bytes[16];
    int file = memory_file();

    (void)state;
    fresh();
    s.plan.output = OUTPUT_RAW;
    begin(file, memory_file());
    give(1, 1, "a\0b", 3);
    out(0, "\r\n\x1b[1mc");
    give(0, 1, NULL, 0);
    err(0, "e");
    finish();
    assert_int_equal(pread(file, bytes, sizeof(bytes), 0), 10);
    assert_memory_equal(bytes, "a\0b\r\n\x1b[1mc", 10);
    close(file);
    expect_file(s.file[1], "e");
}

static void test_time(void **state)
{
    int day, n = 0, m = 0;
    char text[TEXT] = "", *second;
    int file = memory_file();

    (void)state;
    fresh();
    s.options.timestamp = true;
    begin(file, file);
    out(2, "x\n");
    output_say(s.output, "y");
    finish();
    assert_true(pread(file, text, sizeof(text) - 1, 0) > 0);
    close(file);
    second = strchr(text, '\n');
    assert_non_null(second);
    sscanf(text, "%*4d-%*2d-%2dT%*2d:%*2d:%*2d.%*3d%*3d:%*2d [2] x%n", &day, &n);
    sscanf(second, " %*4d-%*2d-%2dT%*2d:%*2d:%*2d.%*3d%*3d:%*2d mlaunch: y%n", &day, &m);
    if (!n || !m)
        fail_msg("no times: %s", text);
}

/* Files for the ranks; mlaunch's lines, and they alone, stay on standard error. */
static void test_files(void **state)
{
    char directory[] = "/tmp/test_output.XXXXXX", path[96], words[64], named[96] = "";
    const char *file;

    (void)state;
    assert_non_null(mkdtemp(directory));
    fresh();
    s.plan.output = OUTPUT_DIR;
    s.options.output = directory;
    begin(memory_file(), memory_file());
    out(1, "one");
    err(1, "bad\nworse\n");
    output_say(s.output, "x");
    file = output_last_words(s.output, 1, words, sizeof(words));
    snprintf(named, sizeof(named), "%s", file ? file : "none");
    finish();
    expect_file(s.file[0], "");
    expect_file(s.file[1], "mlaunch: x\n");
    assert_string_equal(words, "bad\nworse");
    snprintf(path, sizeof(path), "%s/rank.1.err", directory);
    assert_string_equal(named, path);
    expect_file(open(path, O_RDONLY | O_CLOEXEC), "bad\nworse\n");
    snprintf(path, sizeof(path), "%s/rank.1.out", directory);
    expect_file(open(path, O_RDONLY | O_CLOEXEC), "one");
    for (int i = 0; i < 2 * RANKS; i++) {
        snprintf(path, sizeof(path), "%s/rank.%d.%s", directory, i / 2, i % 2 ? "err" : "out");
        unlink(path);
    }
    assert_int_equal(rmdir(directory), 0);
}

/* The last words are those of this run. */
static void test_restart(void **state)
{
    char before[64], after[64];
    const char *file;

    (void)state;
    fresh();
    begin(memory_file(), memory_file());
    err(0, "old\n");
    file = output_last_words(s.output, 0, before, sizeof(before));
    output_restart(s.output);
    output_last_words(s.output, 0, after, sizeof(after));
    finish();
    assert_null(file);
    assert_string_equal(before, "old");
    assert_string_equal(after, "");
}

/* What an agent says cannot change the user's terminal. */
static void test_say_escapes(void **state)
{
    char text[TEXT] = "";

    (void)state;
    fresh();
    begin(memory_file(), memory_file());
    output_say(s.output, "a\x1b[2Jb\x07\xff");
    finish();
    assert_true(pread(s.file[1], text, sizeof(text) - 1, 0) > 0);
    close(s.file[1]);
    assert_memory_equal(text, "mlaunch: a", 10);
    assert_null(strpbrk(text, "\x1b\x07\xff"));
}

/* The other end of what the output writes to. */
static struct {
    char *bytes;
    size_t size;
    const char *awaited;
} seen;

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    char *more = realloc(seen.bytes, seen.size + (64 << 10) + 1);
    ssize_t n;

    (void)what, (void)arg;
    if (!more)
        return;
    seen.bytes = more;
    n = read(fd, seen.bytes + seen.size, 64 << 10);
    seen.size += n > 0 ? (size_t)n : 0;
    seen.bytes[seen.size] = '\0';
}

static struct event *watch(int fd)
{
    struct event *e = event_new(s.base, fd, EV_READ | EV_PERSIST, on_readable, NULL);

    free(seen.bytes);
    memset(&seen, 0, sizeof(seen));
    event_add(e, NULL);
    return e;
}

static bool is_seen(void)
{
    return seen.bytes && strstr(seen.bytes, seen.awaited);
}

static void until_seen(const char *text)
{
    seen.awaited = text;
    until(is_seen);
}

static bool has_error_line(void)
{
    return lseek(s.file[1], 0, SEEK_END) > 0;
}

/* A reader that takes nothing stops neither the loop nor the other stream, and the hosts get no
 * more than was written. Once it reads, all arrives, in the order in which it was written. */
static void test_slow_reader(void **state)
{
    enum { BLOCK = 64 << 10, BLOCKS = 32 };
    static char block[BLOCK];
    size_t waiting, waiting_at_end, early;
    struct event *reader;
    bool was_idle;
    int ends[2];

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    fresh();
    s.plan.output = OUTPUT_RAW;
    begin(ends[1], memory_file());
    for (int i = 0; i < BLOCKS; i++) {
        memset(block, 'a' + i % 26, BLOCK);
        give(i % RANKS, 1, block, BLOCK);
    }
    err(0, "meanwhile\n");
    until(has_error_line);
    was_idle = is_written();
    waiting = output_waiting(s.output);
    early = s.credit[0] + s.credit[1];
    reader = watch(ends[0]);
    output_finish(s.output);
    until(is_written);
    until(is_acknowledged);
    waiting_at_end = output_waiting(s.output);
    while (seen.size < BLOCK * BLOCKS && !s.late)
        on_readable(ends[0], 0, NULL);
    event_free(reader);
    end();
    assert_false(was_idle);
    assert_true(waiting >= BLOCK * (BLOCKS / 2));
    assert_true(early < BLOCK * (BLOCKS / 2));
    assert_int_equal(waiting_at_end, 0);
    assert_int_equal(seen.size, BLOCK * BLOCKS);
    for (size_t i = 0; i < seen.size; i++)
        assert_int_equal(seen.bytes[i], 'a' + (int)(i / BLOCK % 26));
    close(ends[0]), close(ends[1]), close(s.file[1]);
}

/* Closing drops what a reader has not taken, and does not wait for it. */
static void test_close_blocked(void **state)
{
    static char block[1 << 20];
    int ends[2];

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    fresh();
    begin(ends[1], ends[1]);
    give(0, 1, block, sizeof(block));
    output_finish(s.output);
    end();
    assert_int_equal(s.failures, 0);
    close(ends[0]), close(ends[1]);
}

/* The first failure is reported once; what follows is dropped and still acknowledged, so that the
 * ranks can end. The other stream goes on. */
static void failing(int file, int code, const char *sentence)
{
    fresh();
    begin(file, memory_file());
    out(0, "x\n");
    until(has_failed);
    out(0, "y\n");
    out(2, "y\n");
    err(1, "z\n");
    finish();
    assert_int_equal(s.failures, 1);
    assert_int_equal(s.failed.code, code);
    assert_string_equal(s.failed.text, sentence);
    expect_file(s.file[1], "[1] z\n");
    close(file);
}

static void test_failures(void **state)
{
    int ends[2];

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    close(ends[0]);
    failing(ends[1], ML_ERR_PEER, "the reader of standard output is gone");
    failing(open("/dev/full", O_WRONLY | O_CLOEXEC), ML_ERR_SYSTEM,
            "cannot write standard output: No space left on device");
}

static void play_failure(void)
{
    output_fold_others(s.output, 0);
    for (int i = RANKS - 1; i >= 0; i--)
        err(i, i == 0 ? "mine\n" : i == 3 ? "other\n" : "Traceback\n");
    until(is_acknowledged); /* also what is held back */
    for (int i = 1; i < RANKS; i++)
        give(i, 2, NULL, 0);
    finish();
}

static void test_fold(void **state)
{
    (void)state;
    fresh();
    begin(memory_file(), memory_file());
    play_failure();
    expect_file(s.file[1], "[0] mine\n[1] Traceback\n[3] other\n"
                           "mlaunch: rank 2 wrote the same to standard error as rank 1\n");
    log_open("mlaunch", LOG_INFO); /* -v: all */
    fresh();
    begin(memory_file(), memory_file());
    play_failure();
    log_open("mlaunch", LOG_WARN);
    expect_file(s.file[1], "[3] other\n[2] Traceback\n[1] Traceback\n[0] mine\n");
}

/* Whose the last bytes are on standard error. */
static void test_ends_with(void **state)
{
    size_t half, whole, own, after_own, last;

    (void)state;
    fresh();
    begin(memory_file(), memory_file());
    err(1, "abc");
    half = output_ends_with(s.output, 1);
    out(2, "elsewhere\n");
    err(1, "d\n");
    whole = output_ends_with(s.output, 1);
    output_say(s.output, "x");
    own = output_ends_with(s.output, -1);
    after_own = output_ends_with(s.output, 1);
    err(0, "unfinished");
    err(1, "n\n");
    give(0, 2, NULL, 0); /* writes the unfinished line behind the other */
    last = output_ends_with(s.output, 1);
    finish();
    assert_int_equal(half, 3);
    assert_int_equal(whole, 5);
    assert_int_equal(own, strlen("mlaunch: x\n"));
    assert_int_equal(after_own, 0);
    assert_int_equal(last, 0);
    expect_file(s.file[1], "[1] abcd\nmlaunch: x\n[1] n\n[0] unfinished\n");
}

/* While nobody reads standard error, lines of -v don't fill the memory; errors still come. */
static void test_behind(void **state)
{
    struct event *reader;
    bool was_behind, is_behind_at_end;
    const char *cut;
    char text[900];
    int ends[2];

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    fresh();
    log_open("mlaunch", LOG_INFO);
    begin(memory_file(), ends[1]);
    for (int i = 0; i < 10000 && !output_is_behind(s.output); i++)
        log_at(LOG_INFO, "%s", text);
    was_behind = output_is_behind(s.output);
    for (int i = 0; i < 10; i++)
        log_at(LOG_INFO, "late");
    log_at(LOG_ERROR, "the end");
    reader = watch(ends[0]);
    until_seen("the end\n");
    until(is_written);
    is_behind_at_end = output_is_behind(s.output);
    event_free(reader);
    end();
    log_open("mlaunch", LOG_WARN);
    assert_true(was_behind);
    assert_false(is_behind_at_end);
    assert_null(strstr(seen.bytes, "late"));
    cut = strstr(seen.bytes, "some lines of -v are left out");
    assert_non_null(cut);
    assert_null(strstr(cut + 1, "some lines of -v"));
    assert_non_null(strstr(cut, "mlaunch: error: the end\n"));
    close(ends[0]), close(ends[1]), close(s.file[0]);
}

/* Bytes arrive at the master as they were written. */
static int raw_terminal(int *master)
{
    struct termios modes;
    int slave;

    *master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(*master >= 0);
    assert_int_equal(grantpt(*master), 0);
    assert_int_equal(unlockpt(*master), 0);
    slave = open(ptsname(*master), O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(slave >= 0);
    assert_int_equal(tcgetattr(slave, &modes), 0);
    cfmakeraw(&modes);
    tcsetattr(slave, TCSANOW, &modes);
    return slave;
}

/* The rank with a terminal has no label and no second stream; behind its prompt a line of another
 * rank begins anew. */
static void test_pty_rank(void **state)
{
    int file = memory_file();

    (void)state;
    fresh();
    s.options.pty = true;
    s.options.pty_rank = 1;
    begin(file, file);
    out(1, "$ ");
    out(0, "x\n");
    err(2, "y\n");
    out(1, "a\r\n\x1b[1m");
    finish();
    expect_file(file, "$ \n[0] x\n[2] y\na\r\n\x1b[1m");
}

/* … and what it writes begins anew behind another rank's prompt. */
static void test_pty_rank_behind_prompt(void **state)
{
    struct event *reader;
    int master, slave;

    (void)state;
    slave = raw_terminal(&master);
    fresh();
    s.options.pty = true;
    s.options.pty_rank = 1;
    begin(slave, slave);
    reader = watch(master);
    out(0, "half");
    until_seen("[0] half");
    out(1, "$ ");
    until_seen("$ ");
    event_free(reader);
    finish();
    assert_string_equal(seen.bytes, "[0] half\n$ ");
    close(master), close(slave);
}

/* A line about progress goes before anything else is written. A prompt appears at once; what
 * follows it has a label only if something was written or typed between. */
static void test_terminal(void **state)
{
    struct event *reader;
    bool has_terminal;
    int master, slave;

    (void)state;
    slave = raw_terminal(&master);
    fresh();
    begin(slave, slave);
    reader = watch(master);
    has_terminal = output_has_terminal(s.output);
    output_progress(s.output, "connecting");
    output_progress(s.output, "starting");
    out(1, "x\n");
    out(0, "name? ");
    until_seen("[0] name? ");
    output_on_typed_line(s.output);
    out(0, "hi\nagain? ");
    until_seen("again? ");
    out(0, "yes\nthen? ");
    until_seen("then? ");
    out(1, "y\n");
    output_progress(s.output, "ending");
    output_progress(s.output, NULL);
    output_say(s.output, "over");
    until_seen("over\n");
    event_free(reader);
    finish();
    assert_true(has_terminal);
    assert_string_equal(seen.bytes,
                        "connecting\r\x1b[Kstarting\r\x1b[K[1] x\n[0] name? [0] hi\n"
                        "[0] again? yes\n[0] then? \n[1] y\nending\r\x1b[Kmlaunch: over\n");
    close(master), close(slave);
}

/* Not a terminal: a line about progress would stay in a log. */
static void test_no_progress(void **state)
{
    bool has_terminal;

    (void)state;
    fresh();
    begin(memory_file(), memory_file());
    has_terminal = output_has_terminal(s.output);
    output_progress(s.output, "connecting");
    finish();
    assert_false(has_terminal);
    expect_file(s.file[1], "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_labels),      cmocka_unit_test(test_one_file),
        cmocka_unit_test(test_parts),       cmocka_unit_test(test_raw),
        cmocka_unit_test(test_time),        cmocka_unit_test(test_files),
        cmocka_unit_test(test_restart),     cmocka_unit_test(test_say_escapes),
        cmocka_unit_test(test_slow_reader), cmocka_unit_test(test_close_blocked),
        cmocka_unit_test(test_failures),    cmocka_unit_test(test_fold),
        cmocka_unit_test(test_ends_with),   cmocka_unit_test(test_behind),
        cmocka_unit_test(test_pty_rank),    cmocka_unit_test(test_pty_rank_behind_prompt),
        cmocka_unit_test(test_terminal),    cmocka_unit_test(test_no_progress),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
