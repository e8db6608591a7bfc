/* SPDX-License-Identifier: MIT */
/*
 * test_sync_session.c: what becomes of a run of mlaunch sync after what its hosts report, by a
 * script (script_channel.h): chains, new chains when one breaks, the window of the stream, and
 * reports that make no sense or come out of turn.
 */
#include "launcher/tools/sync/sync_session.h"

#include "launcher/base/tree/packed.h"
#include "launcher/base/tree/sync_wire.h"
#include "launcher/run/spread/sync_feed.h"
#include "launcher/wire/protocol/agent_protocol.h"
#include "tests/fuzz/launcher/script_channel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { HOSTS = 3, BIG = 5 << 20 /* bytes, more than the stream's window */ };

#define HELLO                                                                                      \
    "16{\"build\":\"@\",\"arch\":\"x86_64\",\"pid\":7,\"address\":\"10.0.0.2\",\"guess\":\"\"}\n"
/* The reports, each behind the host's number: AGENT_SYNC and enum sync_frame as a character. */
#define READY       "32 {\"address\":\"10.0.0.2:7000\"}\n"
#define LINKED(R)   "32!{\"round\":" #R "}\n"
#define LOOKED(R)   "32&{\"round\":" #R "}\n"
#define DONE(R)     "32){\"round\":" #R ",\"files\":1,\"bytes\":8,\"deleted\":0,\"failed\":0}\n"
#define CUT(R)      "32\"{\"round\":" #R ",\"text\":\"cut\"}\n"
#define CUT_NEXT(R) "32\"{\"round\":" #R ",\"to_next\":true,\"text\":\"cut\"}\n"
#define MISSING     "32$\0\0\0\1\1\n" /* SYNC_DIFFERS: the file */

#define BEGIN2    "0" HELLO "1" HELLO "0" READY "1" READY
#define BEGAN2    "a BEGIN; b BEGIN; a LINK 1 fed -1 1 10.0.0.2:7000; b LINK 1 0 -1 ; "
#define ROUND2(R) "0" LINKED(R) "1" LINKED(R) "0" MISSING "0" LOOKED(R) "1" LOOKED(R)

static char top[64], path[128];
static struct sync_source source;
static struct sync_settings settings;
static struct sync_host hosts[HOSTS];
static struct host names[HOSTS] = {{.name = "a"}, {.name = "b"}, {.name = "c"}};
static char seen[4096]; /* what was sent to the hosts, in order */
static size_t fed;      /* bytes of the stream, to all hosts */

static __attribute__((format(printf, 1, 2))) void note(const char *format, ...)
{
    size_t used = strlen(seen);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(seen + used, sizeof(seen) - used, format, arguments);
    va_end(arguments);
}

/* The frames of the stream as letters, one for blocks that follow each other. */
static void stream_note(const uint8_t *bytes, size_t size)
{
    static const char letters[] = "ELGFBfl."; /* from SYNC_ENTRIES on */
    struct frame_reader *reader;
    struct fault why;
    struct frame f;

    assert_int_equal(frame_reader_create(&reader, SYNC_FRAME_MOST, &why), 0);
    assert_int_equal(frame_reader_feed(reader, bytes, size, &why), 0);
    while (frame_reader_next(reader, &f, &why) == 1) {
        assert_in_range(f.type, SYNC_ENTRIES, SYNC_END);
        if (f.type != SYNC_BLOCK || seen[strlen(seen) - 1] != 'B')
            note("%c", letters[f.type - SYNC_ENTRIES]);
    }
    frame_reader_destroy(reader);
}

static void link_note(const uint8_t *payload, size_t size)
{
    json_t *order = json_loadb((const char *)payload, size, 0, NULL);
    int round, is_fed, previous, next;
    const char *address;

    assert_int_equal(json_unpack(order, "{si sb si si ss}", "round", &round, "is_fed", &is_fed,
                                 "previous", &previous, "next", &next, "address", &address),
                     0);
    note("LINK %d %s%d %d %s; ", round, is_fed ? "fed " : "", previous, next, address);
    json_decref(order);
}

static void on_send(int host, int type, const uint8_t *payload, size_t size)
{
    note("%c ", 'a' + host);
    if (type == LAUNCH_BYE) {
        note("BYE; ");
        return;
    }
    assert_int_equal(type, LAUNCH_SYNC);
    assert_true(size > 0);
    switch (payload[0]) {
    case SYNC_BEGIN:
        note("BEGIN; ");
        break;
    case SYNC_LINK:
        link_note(payload + 1, size - 1);
        break;
    default:
        assert_int_equal(payload[0], SYNC_FEED);
        note("FEED %d ", (int)packed_get(payload + 1, 4));
        stream_note(payload + 5, size - 5);
        note("; ");
        fed += size - 5;
    }
}

static void file_write(size_t size)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    for (size_t i = 0; i < size; i++)
        fputc('a', f);
    assert_int_equal(fclose(f), 0);
}

static void source_open(size_t size)
{
    struct fault why;

    file_write(size);
    source = (struct sync_source){0};
    assert_int_equal(sync_source_add(&source, top, NULL, &why), 0);
    assert_int_equal(sync_source_scan(&source, NULL, false, &why), 0);
    assert_int_equal(source.list.count, 2);
}

static int setup(void **state)
{
    (void)state;
    snprintf(top, sizeof(top), "/tmp/mlaunch-test.XXXXXX");
    assert_non_null(mkdtemp(top));
    snprintf(path, sizeof(path), "%s/file", top);
    source_open(8);
    settings = (struct sync_settings){.stall_ms = 60000};
    script_channel_watch(on_send);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    unlink(path);
    rmdir(top);
    sync_source_clear(&source);
    return 0;
}

/* Runs the script with that many hosts to the end of the session. `lost`: for each host why it is
 * lost, or NULL. */
static void run(const char *script, size_t size, int count, const char *const lost[],
                const char *expected)
{
    struct channel_config config = {0};
    uint64_t unread = 1;
    struct fault why;

    seen[0] = '\0';
    fed = 0;
    memset(hosts, 0, sizeof(hosts));
    for (int i = 0; i < count; i++) {
        assert_int_equal(sync_host_open(&hosts[i], &names[i], source.list.count, &why), 0);
        hosts[i].place = i;
    }
    script_channel_begin((const uint8_t *)script, size);
    assert_int_equal(sync_session_run(hosts, count, &source, &settings, &config, &unread, &why), 0);
    assert_int_equal(unread, 0);
    for (int i = 0; i < count; i++) {
        if (lost && lost[i])
            assert_string_equal(hosts[i].lost, lost[i]);
        else
            assert_string_equal(hosts[i].lost, "");
        assert_int_equal(hosts[i].state == SYNC_HOST_LOST, lost && lost[i]);
        sync_host_close(&hosts[i]);
    }
    if (expected)
        assert_string_equal(seen, expected);
}

#define RUN(COUNT, LOST, EXPECTED, SCRIPT) run(SCRIPT, sizeof(SCRIPT) - 1, COUNT, LOST, EXPECTED)
#define LOST(...)                          ((const char *const[]){__VA_ARGS__})

#define COPIED2 BEGAN2 "a FEED 1 EL; a FEED 1 GFBf.; a BYE; b BYE; "

/* mlaunch feeds the first host alone. */
static void test_chain(void **state)
{
    (void)state;
    RUN(2, NULL, COPIED2, BEGIN2 ROUND2(1) "0" DONE(1) "1" DONE(1));
    assert_int_equal(hosts[0].bytes, 8);
    assert_int_equal(hosts[0].differing, 1);
    assert_int_equal(hosts[1].differing, 0);
}

/* A host that listens nowhere is fed by mlaunch, and so begins a chain of its own. */
static void test_two_chains(void **state)
{
    (void)state;
    RUN(3, NULL,
        "a BEGIN; b BEGIN; c BEGIN; a LINK 1 fed -1 -1 ; b LINK 1 fed 0 2 10.0.0.2:7000; "
        "c LINK 1 1 -1 ; a FEED 1 EL; b FEED 1 EL; a FEED 1 G.; b FEED 1 G.; "
        "a BYE; b BYE; c BYE; ",
        "0" HELLO "1" HELLO "2" HELLO "0" READY "132 {}\n2" READY
        "0" LINKED(1) "1" LINKED(1) "2" LINKED(1) "0" LOOKED(1) "1" LOOKED(1) "2" LOOKED(
            1) "0" DONE(1) "1" DONE(1) "2" DONE(1));
}

static void test_ends_early(void **state)
{
    (void)state;
    settings.is_git = true;
    RUN(2, NULL, "a BEGIN; b BEGIN; a BYE; b BYE; ", BEGIN2);
    settings.is_git = false;
    settings.is_comparing = true;
    RUN(2, NULL, BEGAN2 "a FEED 1 EL; a BYE; b BYE; ", BEGIN2 ROUND2(1));
}

#define ALONE "b BEGIN; b LINK 1 fed -1 -1 ; b FEED 1 EL; b FEED 1 G.; b BYE; "

/* Nobody waits for a host that is lost before the chain is made. */
static void test_lost_before_chain(void **state)
{
    (void)state;
    RUN(2, LOST("no route", NULL), ALONE,
        "x0no route\n1" HELLO "1" READY "1" LINKED(1) "1" LOOKED(1) "1" DONE(1));
    RUN(2, LOST("no route", NULL), ALONE,
        "1" HELLO "1" READY "w\nx0no route\nw\n1" LINKED(1) "1" LOOKED(1) "1" DONE(1));
    RUN(2, LOST("no route", "nor here"), "", "x0no route\nx1nor here\n");
}

#define BEGIN3                                                                                     \
    "0" HELLO "1" HELLO "2" HELLO "0" READY "1" READY "2" READY                                    \
    "0" LINKED(1) "1" LINKED(1) "2" LINKED(1)

/* The others make a new chain without the host that has died in the middle; what it still says of
 * the old round, and what the others say, is ignored. */
static void test_lost_in_chain(void **state)
{
    (void)state;
    RUN(3, LOST(NULL, "gone", NULL),
        "a BEGIN; b BEGIN; c BEGIN; a LINK 1 fed -1 1 10.0.0.2:7000; b LINK 1 0 2 10.0.0.2:7000; "
        "c LINK 1 1 -1 ; a FEED 1 EL; a LINK 2 fed -1 2 10.0.0.2:7000; c LINK 2 0 -1 ; "
        "a FEED 2 EL; a FEED 2 G.; a BYE; c BYE; ",
        BEGIN3 "w\nx1gone\n0" CUT_NEXT(1) "2" CUT(1) "w\n0" LOOKED(1) "2" DONE(1) "0" LINKED(
            2) "2" LINKED(2) "0" LOOKED(2) "2" LOOKED(2) "0" DONE(2) "2" DONE(2));
}

/* What hosts have said of their files in a round that broke is forgotten. */
static void test_forgets(void **state)
{
    (void)state;
    RUN(2, NULL,
        BEGAN2 "a FEED 1 EL; a FEED 1 GFBf.; a LINK 2 fed -1 1 10.0.0.2:7000; b LINK 2 0 -1 ; "
               "a FEED 2 EL; a FEED 2 G.; a BYE; b BYE; ",
        BEGIN2 ROUND2(1) "w\n0" CUT_NEXT(1) "w\n0" LINKED(2) "1" LINKED(2) "0" LOOKED(2) "1" LOOKED(
            2) "0" DONE(2) "1" DONE(2));
}

#define REST(R) "0" LINKED(R) "1" LINKED(R) "0" LOOKED(R) "1" LOOKED(R) "0" DONE(R) "1" DONE(R)

/* A host that the one before it can't reach at all, or twice not to the end, is fed by mlaunch. */
static void test_unreachable(void **state)
{
    (void)state;
    RUN(2, NULL,
        BEGAN2 "a LINK 2 fed -1 -1 ; b LINK 2 fed 0 -1 ; a FEED 2 EL; b FEED 2 EL; a FEED 2 G.; "
               "b FEED 2 G.; a BYE; b BYE; ",
        BEGIN2 "w\n0" CUT_NEXT(1) "w\n" REST(2));
    RUN(2, NULL,
        BEGAN2 "a FEED 1 EL; a LINK 2 fed -1 1 10.0.0.2:7000; b LINK 2 0 -1 ; a FEED 2 EL; "
               "a LINK 3 fed -1 -1 ; b LINK 3 fed 0 -1 ; a FEED 3 EL; b FEED 3 EL; a FEED 3 G.; "
               "b FEED 3 G.; a BYE; b BYE; ",
        BEGIN2 "0" LINKED(1) "1" LINKED(1) "w\n0" CUT_NEXT(1) "w\n0" LINKED(2) "1" LINKED(
            2) "w\n0" CUT_NEXT(2) "w\n" REST(3));
}

/* A host whose own way from mlaunch breaks again and again is given up. */
static void test_given_up(void **state)
{
    (void)state;
    RUN(1, LOST("cut"), NULL,
        "0" HELLO "0" READY "w\n0" CUT(1) "w\n0" CUT(2) "w\n0" CUT(3) "w\n0" CUT(4));
    assert_non_null(strstr(seen, "a LINK 4 fed -1 -1 ; "));
}

/* The stream stops at its window, and continues with each CREDIT. A CREDIT of another size is none,
 * and one for more than was fed opens the window, not more. */
static void test_window(void **state)
{
    static const char before[] = BEGIN2 ROUND2(1);
    static const char good[] = "032#\0\x10\0\0\n032#~~~~\n"; /* 1 MiB, and too much */
    static const char bad[] = "032#\0\0\1\n032#\n032#\0\0\0\0\1\n";
    static char script[1024];
    size_t used = sizeof(before) - 1, first;

    (void)state;
    sync_source_clear(&source);
    source_open(BIG);
    memcpy(script, before, used);
    memcpy(script + used, bad, sizeof(bad) - 1);
    used += sizeof(bad) - 1;
    run(script, used, 2, LOST("the script is over", "the script is over"), NULL);
    first = fed;
    assert_in_range(first, SYNC_FEED_WINDOW - SYNC_FEED_ROOM + 1, SYNC_FEED_WINDOW);
    assert_null(strstr(seen, "f."));
    memcpy(script + used, good, sizeof(good) - 1);
    used += sizeof(good) - 1;
    run(script, used, 2, LOST("the script is over", "the script is over"), NULL);
    assert_non_null(strstr(seen, "f."));
    assert_in_range(fed, BIG, 2 * BIG);
}

/* Each ends one host; the other one goes on. */
static void expect_refused(const char *report, size_t size, const char *text)
{
    static const char before[] = BEGIN2 "w\n";
    static const char after[] = "w\n1" LINKED(2) "1" LOOKED(2) "1" DONE(2);
    static char script[2048];
    size_t used = 0;

    memcpy(script, before, sizeof(before) - 1);
    used = sizeof(before) - 1;
    memcpy(script + used, report, size);
    used += size;
    memcpy(script + used, after, sizeof(after) - 1);
    used += sizeof(after) - 1;
    run(script, used, 2, LOST(text, NULL),
        BEGAN2 "b LINK 2 fed -1 -1 ; b FEED 2 EL; b FEED 2 G.; b BYE; ");
}

#define REFUSED(TEXT, REPORT) expect_refused(REPORT, sizeof(REPORT) - 1, TEXT)
#define OUT_OF_TURN           "its agent sent a report out of turn"
#define MALFORMED             "its agent sent a malformed report"

static void test_out_of_turn(void **state)
{
    (void)state;
    REFUSED(OUT_OF_TURN, "0" READY);
    REFUSED(OUT_OF_TURN, "0" LOOKED(1));
    REFUSED(OUT_OF_TURN, "0" DONE(1));
    REFUSED(OUT_OF_TURN, "0" LINKED(1) "0" LINKED(1));
    REFUSED("its agent sent an unknown report", "032\n");
    REFUSED("its agent sent an unknown report", "032\x30\n");
    REFUSED("its agent sent a message of type 20 out of turn", "020\n");
    REFUSED("no room", "018{\"text\":\"no room\",\"status\":1}\n");
    RUN(1, LOST("its agent sent a message of type 32 out of turn"), "", "0" READY);
}

static void test_malformed(void **state)
{
    (void)state;
    REFUSED(MALFORMED, "032$\0\0\0\n");                   /* DIFFERS: 3 of its 5 bytes */
    REFUSED(MALFORMED, "032$\0\0\0\2\1\n");               /* an entry that there is not */
    REFUSED(MALFORMED, "032$\0\0\0\0\x40\n");             /* an extra without its path */
    REFUSED(MALFORMED, "032$\0\0\0\0\x40\0\0\n");         /* a path without bytes */
    REFUSED(MALFORMED, "032$\0\0\0\0\x40\0\3ab\n");       /* one that says more bytes than it has */
    REFUSED(MALFORMED, "032$\0\0\0\1\x40\0\1a\n");        /* below a PATH that there is not */
    REFUSED(MALFORMED, "032%\0\0\0\1\0\0\0\0\0\0\0\0\n"); /* PART without its hash */
    REFUSED(MALFORMED, "032%\0\0\0\1\0\0\0\0\0\4\0\0"     /* larger than the file */
                       "0123456789abcdef0123456789abcdef\n");
    REFUSED(MALFORMED, "032(\n");
    REFUSED(MALFORMED, "032({\"text\":1}\n");
    RUN(1, LOST(MALFORMED), "a BEGIN; ", "0" HELLO "032 [\n");
    RUN(1, LOST(MALFORMED), "a BEGIN; ", "0" HELLO "032 {\"address\":\"here\"}\n");
    RUN(1, LOST("no space"), "a BEGIN; ", "0" HELLO "032 {\"error\":\"no space\"}\n");
    RUN(1, LOST(MALFORMED), NULL,
        "0" HELLO "0" READY "0" LINKED(1) "0" LOOKED(1) "032){\"round\":1,\"files\":-1}\n");
}

/* A report about a round that can't be read is none, as is one of another round. */
static void test_ignored(void **state)
{
    (void)state;
    RUN(2, NULL, COPIED2,
        BEGIN2 "032!\n032!{\"round\":\"1\"}\n032\"{}\n0" CUT(7) "0" LINKED(0)
            ROUND2(1) "032'\0\0\1\n1" DONE(2) "0" DONE(1) "1" DONE(1));
}

/* What a host could not do is kept as one line, whatever is in it. */
static void test_failed(void **state)
{
    static const char script[] = BEGIN2 ROUND2(1) "032({\"text\":\"a\\nb\\u001b\"}\n0" DONE(1);
    struct channel_config config = {0};
    uint64_t unread;
    struct fault why;

    (void)state;
    seen[0] = '\0';
    memset(hosts, 0, sizeof(hosts));
    for (int i = 0; i < 2; i++)
        assert_int_equal(sync_host_open(&hosts[i], &names[i], source.list.count, &why), 0);
    script_channel_begin((const uint8_t *)script, sizeof(script) - 1);
    assert_int_equal(sync_session_run(hosts, 2, &source, &settings, &config, &unread, &why), 0);
    assert_int_equal(json_array_size(hosts[0].failures), 1);
    assert_string_equal(json_string_value(json_array_get(hosts[0].failures, 0)), "a?b?");
    for (int i = 0; i < 2; i++)
        sync_host_close(&hosts[i]);
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_chain),         TEST(test_two_chains),
        TEST(test_ends_early),    TEST(test_lost_before_chain),
        TEST(test_lost_in_chain), TEST(test_forgets),
        TEST(test_unreachable),   TEST(test_given_up),
        TEST(test_window),        TEST(test_out_of_turn),
        TEST(test_malformed),     TEST(test_ignored),
        TEST(test_failed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
