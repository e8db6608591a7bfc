/* SPDX-License-Identifier: MIT */
/* test_agent_report.c: what agents say: understood, or refused with a message. */
#include "launcher/wire/protocol/agent_report.h"

#include "launcher/wire/protocol/agent_protocol.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct frame frame_of(const char *text)
{
    return (struct frame){.size = (uint32_t)strlen(text), .payload = (uint8_t *)(uintptr_t)text};
}

static void test_exited(void **state)
{
    struct frame f = frame_of("{\"rank\": 3, \"pid\": 12, \"signal\": 11, \"core\": true, "
                              "\"consequence\": false, \"ended_by_us\": true, \"news\": 1}");
    struct exited_report r;
    struct fault why;

    (void)state;
    assert_int_equal(exited_report_parse(&r, &f, 4, &why), 0);
    assert_int_equal(r.rank, 3);
    assert_int_equal(r.pid, 12);
    assert_int_equal(r.signal, 11);
    assert_true(r.core && r.ended_by_us && !r.consequence);
    assert_string_equal(r.error, "");
    f = frame_of("{\"rank\": 0, \"status\": 127, \"error\": \"exec: No such file\", "
                 "\"lost\": \"rank 1\"}");
    assert_int_equal(exited_report_parse(&r, &f, 4, &why), 0);
    assert_int_equal(r.status, 127);
    assert_string_equal(r.error, "exec: No such file");
    assert_string_equal(r.lost, "rank 1");
    assert_int_equal(r.usage.peak_bytes, 0);
    f = frame_of("{\"rank\": 0, \"pid\": 7, \"signal\": 9, \"cause\": \"it was full\", \"usage\": "
                 "{\"elapsed_ms\": 1, \"user_ms\": 2, \"system_ms\": 3, \"peak_bytes\": 4}}");
    assert_int_equal(exited_report_parse(&r, &f, 4, &why), 0);
    assert_string_equal(r.cause, "it was full");
    assert_true(r.usage.elapsed_ms == 1 && r.usage.user_ms == 2 && r.usage.system_ms == 3 &&
                r.usage.peak_bytes == 4);
}

static void test_started_bad(void **state)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"{\"rank\": 0}", "its agent sent a malformed STARTED"},
        {"{\"rank\": 4, \"pid\": 7}", "its agent names rank 4 of 4"},
        {"{\"rank\": 0, \"pid\": 0}", "its agent sent a STARTED without a valid pid"},
        {"{\"rank\": 0, \"pid\": -7}", "its agent sent a STARTED without a valid pid"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct frame f = frame_of(cases[i].text);
        struct started_report r;
        struct fault why;

        assert_int_equal(started_report_parse(&r, &f, 4, &why), ML_ERR_REFUSED);
        assert_non_null(strstr(why.text, cases[i].why));
    }
}

static void test_exited_bad(void **state)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"", "its agent sent a malformed EXITED"},
        {"[]", "its agent sent a malformed EXITED"},
        {"{\"rank\": 0, \"status\": 0", "its agent sent a malformed EXITED"},
        {"{\"rank\": \"0\", \"status\": 0}", "its agent sent a malformed EXITED"},
        {"{\"status\": 0}", "its agent sent a malformed EXITED"},
        {"{\"rank\": 4, \"status\": 0}", "its agent names rank 4 of 4"},
        {"{\"rank\": -1, \"status\": 0}", "its agent names rank -1 of 4"},
        {"{\"rank\": 0}", "without a valid status"},
        {"{\"rank\": 0, \"status\": 256}", "without a valid status"},
        {"{\"rank\": 0, \"signal\": 4000}", "without a valid status"},
        {"{\"rank\": 0, \"rank\": 1, \"status\": 0}", "its agent sent a malformed EXITED"},
        {"{\"rank\": 0, \"status\": 0, \"usage\": {}}", "its agent sent a malformed EXITED"},
        {"{\"rank\": 0, \"status\": 0, \"counted\": {\"calls\": 1, \"bytes\": 2, \"wait_ms\": -1, "
         "\"kept_waiting\": 0}}",
         "without valid counts of calls"},
        {"{\"rank\": 0, \"status\": 0, \"usage\": {\"elapsed_ms\": 1, \"user_ms\": 2, "
         "\"system_ms\": 3, \"peak_bytes\": -4}}",
         "without a valid usage"},
        {"{\"rank\": 0, \"status\": 0, \"usage\": {\"elapsed_ms\": 1, \"user_ms\": "
         "9223372036854775807, \"system_ms\": 3, \"peak_bytes\": 4}}",
         "without a valid usage"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct frame f = frame_of(cases[i].text);
        struct exited_report r;
        struct fault why = {0};

        assert_int_equal(exited_report_parse(&r, &f, 4, &why), ML_ERR_REFUSED);
        if (!strstr(why.text, cases[i].why))
            fail_msg("%s: %s", cases[i].text, why.text);
    }
}

/* A hostile host's report, of which mlaunch would otherwise make tens of millions of values. */
static void test_exited_endless(void **state)
{
    enum { SIZE = 16 << 20 };
    char *text = malloc(SIZE + 1);
    struct exited_report r;
    struct fault why;
    struct frame f;

    (void)state;
    assert_non_null(text);
    for (int i = 0; i < SIZE; i += 2)
        memcpy(text + i, i ? ",0" : "[0", 2);
    text[SIZE] = '\0';
    f = frame_of(text);
    assert_int_equal(exited_report_parse(&r, &f, 4, &why), ML_ERR_REFUSED);
    assert_string_equal(why.text, "its agent sent a malformed EXITED: it is too long");
    f.size = 4 << 20;
    assert_int_equal(exited_report_parse(&r, &f, 4, &why), ML_ERR_REFUSED);
    assert_string_equal(why.text, "its agent sent a malformed EXITED: it has too many values");
    free(text);
}

static void test_hello(void **state)
{
    struct frame f = frame_of("{\"build\": \"b1\", \"arch\": \"x86_64\", \"host\": \"h\", "
                              "\"pid\": 7, \"address\": \"10.0.0.2\"}");
    struct hello_report r;
    struct fault why;

    (void)state;
    assert_int_equal(hello_report_parse(&r, &f, &why), 0);
    assert_string_equal(r.build, "b1");
    assert_string_equal(r.arch, "x86_64");
    assert_string_equal(r.address, "10.0.0.2");
    f = frame_of("{\"build\": 1}");
    assert_int_equal(hello_report_parse(&r, &f, &why), ML_ERR_REFUSED);
}

static void test_note_levels(void **state)
{
    static const struct {
        const char *text;
        enum log_level level;
    } cases[] = {
        {"{\"level\": \"info\", \"text\": \"t\"}", LOG_INFO},
        {"{\"level\": \"error\", \"text\": \"t\"}", LOG_ERROR},
        {"{\"level\": 3, \"text\": \"t\"}", LOG_DEBUG},
        {"{\"level\": 77, \"text\": \"t\"}", LOG_WARN},
        {"{\"text\": \"t\"}", LOG_WARN},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct frame f = frame_of(cases[i].text);
        struct note_report r;
        struct fault why;

        assert_int_equal(note_report_parse(&r, &f, &why), 0);
        assert_int_equal(r.level, cases[i].level);
        assert_string_equal(r.text, "t");
    }
}

struct seen {
    size_t size;
    char text[100];
};

static void collect(const char *text, void *arg)
{
    struct seen *seen = arg;

    seen->size +=
        (size_t)snprintf(seen->text + seen->size, sizeof(seen->text) - seen->size, "%s", text);
}

static void collect_survivor(int64_t pid, const char *text, void *arg)
{
    struct seen *seen = arg;

    seen->size += (size_t)snprintf(seen->text + seen->size, sizeof(seen->text) - seen->size,
                                   "%d:%s;", (int)pid, text);
}

static void test_lists(void **state)
{
    struct frame f =
        frame_of("{\"coordinator\": \"10.0.0.1:77\", \"warnings\": [\"one\", 2, \"two\"]}");
    struct ready_report r;
    struct done_report done;
    struct fault why;
    struct seen seen = {0};

    (void)state;
    assert_int_equal(ready_report_parse(&r, &f, collect, &seen, &why), 0);
    assert_string_equal(r.coordinator, "10.0.0.1:77");
    assert_false(r.is_pmix || r.needs_pmix);
    assert_string_equal(seen.text, "onetwo");
    f = frame_of("{\"pmix\": true, \"needs_pmix\": true}");
    assert_int_equal(ready_report_parse(&r, &f, collect, &seen, &why), 0);
    assert_true(r.is_pmix && r.needs_pmix);
    assert_int_equal(r.ports_taken, 0);
    f = frame_of("{\"ports_taken\": 5}");
    assert_int_equal(ready_report_parse(&r, &f, collect, &seen, &why), 0);
    assert_int_equal(r.ports_taken, 5);
    f = frame_of("{\"ports_taken\": -1}"); /* no more than there are */
    assert_int_equal(ready_report_parse(&r, &f, collect, &seen, &why), 0);
    assert_int_equal(r.ports_taken, (1 << JOB_PORTS) - 1);
    f = frame_of("{\"survivors\": [{\"pid\": 3, \"text\": \"D\"}, 5, {\"pid\": 4}]}");
    memset(&seen, 0, sizeof(seen));
    assert_int_equal(done_report_parse(&done, &f, collect_survivor, &seen, &why), 0);
    assert_string_equal(seen.text, "3:D;4:;");
    assert_int_equal(done.threads, 0);
    f = frame_of("{\"survivors\": [], \"crowded\": {\"threads\": 9, \"ranks\": 2, "
                 "\"processors\": 4}}");
    assert_int_equal(done_report_parse(&done, &f, collect_survivor, &seen, &why), 0);
    assert_int_equal(done.threads, 9);
    assert_int_equal(done.ranks, 2);
    assert_int_equal(done.processors, 4);
    f = frame_of("{\"survivors\": [], \"crowded\": {\"threads\": 9}}");
    assert_int_equal(done_report_parse(&done, &f, collect_survivor, &seen, &why), 0);
    assert_int_equal(done.threads, 0);
}

static void test_lost(void **state)
{
    struct frame f = frame_of("{\"text\": \"its guard\"}");
    struct lost_report r;
    struct fault why;

    (void)state;
    assert_int_equal(lost_report_parse(&r, &f, &why), 0);
    assert_string_equal(r.text, "its guard");
    assert_string_equal(r.coordinator, "");
    assert_false(r.is_leaving);
    f = frame_of("{\"text\": \"the coordinator\", \"cut_off\": \"10.0.0.2:4000\"}");
    assert_int_equal(lost_report_parse(&r, &f, &why), 0);
    assert_string_equal(r.coordinator, "10.0.0.2:4000");
    f = frame_of("{\"text\": \"SIGTERM\", \"leaving\": true}");
    assert_int_equal(lost_report_parse(&r, &f, &why), 0);
    assert_true(r.is_leaving);
    f = frame_of("{\"text\": \"the coordinator\", \"cut_off\": 1}");
    assert_int_equal(lost_report_parse(&r, &f, &why), ML_ERR_REFUSED);
}

static void test_unreached(void **state)
{
    static const char *const bad[] = {
        "{}",
        "{\"rank\": 0, \"peer\": 1}",
        "{\"rank\": 0, \"peer\": 1, \"text\": \"\"}",
        "{\"rank\": 0, \"peer\": 1, \"generation\": -1, \"membership\": 0, \"text\": \"\"}",
        "{\"rank\": 0, \"peer\": 1, \"generation\": 0, \"membership\": -1, \"text\": \"\"}",
        "{\"rank\": -1, \"peer\": 1, \"generation\": 2, \"membership\": 1, \"text\": \"\"}",
        "{\"rank\": 4, \"peer\": 1, \"generation\": 2, \"membership\": 1, \"text\": \"\"}",
        "{\"rank\": 0, \"peer\": -1, \"generation\": 2, \"membership\": 1, \"text\": \"\"}",
        "{\"rank\": 0, \"peer\": 4, \"generation\": 2, \"membership\": 1, \"text\": \"\"}",
        "{\"rank\": 0, \"peer\": 1, \"generation\": 2, \"membership\": 1, \"text\": 1}",
    };
    struct frame f = frame_of(
        "{\"rank\": 3, \"peer\": 0, \"generation\": 2, \"membership\": 1, \"text\": \"no way\"}");
    struct unreached_report r;
    struct fault why;

    (void)state;
    assert_int_equal(unreached_report_parse(&r, &f, 4, &why), 0);
    assert_int_equal(r.rank, 3);
    assert_int_equal(r.peer, 0);
    assert_int_equal(r.of.generation, 2);
    assert_int_equal(r.of.number, 1);
    assert_string_equal(r.text, "no way");
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        f = frame_of(bad[i]);
        assert_int_equal(unreached_report_parse(&r, &f, 4, &why), ML_ERR_REFUSED);
    }
}

static void test_alone(void **state)
{
    static const char *const bad[] = {
        "{}",
        "{\"rank\": 0}",
        "{\"rank\": -1, \"text\": \"\"}",
        "{\"rank\": 4, \"text\": \"\"}",
        "{\"rank\": 0, \"text\": 1}",
    };
    struct frame f = frame_of("{\"rank\": 3, \"text\": \"no room\"}");
    struct alone_report r;
    struct fault why;

    (void)state;
    assert_int_equal(alone_report_parse(&r, &f, 4, &why), 0);
    assert_int_equal(r.rank, 3);
    assert_string_equal(r.text, "no room");
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        f = frame_of(bad[i]);
        assert_int_equal(alone_report_parse(&r, &f, 4, &why), ML_ERR_REFUSED);
    }
}

static void test_keeper(void **state)
{
    static const char *const bad[] = {
        "{}",
        "{\"keeper\": \"10.0.0.1:1\"}",
        "{\"text\": \"was killed\"}",
        "{\"keeper\": 1, \"text\": \"was killed\"}",
        ("{\"keeper\": \"0123456789012345678901234567890123456789012345678901234567890123\", "
         "\"text\": \"\"}"),
    };
    struct frame f = frame_of("{\"keeper\": \"10.0.0.1:1\", \"text\": \"was killed\"}");
    struct keeper_report r;
    struct fault why;

    (void)state;
    assert_int_equal(keeper_report_parse(&r, &f, &why), 0);
    assert_string_equal(r.address, "10.0.0.1:1");
    assert_string_equal(r.text, "was killed");
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        f = frame_of(bad[i]);
        assert_int_equal(keeper_report_parse(&r, &f, &why), ML_ERR_REFUSED);
    }
}

static void test_repaired(void **state)
{
    static const char *const bad[] = {
        "{}",
        "{\"generation\": 1, \"membership\": 0, \"count\": 1, \"members\": [0]}",
        "{\"generation\": 1, \"membership\": 1, \"count\": 0, \"members\": []}",
        "{\"generation\": 1, \"membership\": 1, \"count\": 5, \"members\": [0, 1, 2, 3, 3]}",
        "{\"generation\": 1, \"membership\": 1, \"count\": 2, \"members\": [0]}",
        "{\"generation\": 1, \"membership\": 1, \"count\": 1, \"members\": [4]}",
        "{\"generation\": 1, \"membership\": 1, \"count\": 1, \"members\": 0}",
        "{\"generation\": 1, \"membership\": 1, \"count\": 2, \"members\": [2, 1]}",
        "{\"generation\": 1, \"membership\": 1, \"count\": 2, \"members\": [1, 1]}",
    };
    struct frame f =
        frame_of("{\"generation\": 1, \"membership\": 7, \"count\": 2, \"members\": [0, 3]}");
    struct repaired_report r;
    struct fault why;

    (void)state;
    assert_int_equal(repaired_report_parse(&r, &f, 4, &why), 0);
    assert_int_equal(r.now.number, 7);
    assert_int_equal(r.count, 2);
    assert_int_equal(r.members[0], 0);
    assert_int_equal(r.members[1], 3);
    free(r.members);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        f = frame_of(bad[i]);
        assert_int_equal(repaired_report_parse(&r, &f, 4, &why), ML_ERR_REFUSED);
    }
}

static void test_want(void **state)
{
    static const char *const bad[] = {"{}",
                                      "{\"files\": 1}",
                                      "{\"files\": [3]}",
                                      "{\"files\": [-1]}",
                                      "{\"files\": [1, 1]}",
                                      "{\"files\": [1, 0]}",
                                      "{\"files\": [0, 1, 2, 2]}",
                                      "{\"files\": [\"0\"]}"};
    struct frame f = frame_of("{\"files\": [0, 2]}");
    int wanted[3] = {-1, -1, -1}, count = -1;
    struct fault why;

    (void)state;
    assert_int_equal(want_report_parse(wanted, &count, &f, 3, &why), 0);
    assert_int_equal(count, 2);
    assert_int_equal(wanted[1], 2);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        f = frame_of(bad[i]);
        assert_int_equal(want_report_parse(wanted, &count, &f, 3, &why), ML_ERR_REFUSED);
        assert_true(count <= 3);
    }
}

static void test_place(void **state)
{
    static const char *const bad[] = {"{}",
                                      "{\"directory\": 1}",
                                      "{\"directory\": \"\"}",
                                      "{\"directory\": \"env\"}",
                                      "{\"directory\": \"/tmp/env\"}",
                                      "{\"directory\": \"/tmp/env\", \"kept\": 1}"};
    struct frame f = frame_of("{\"directory\": \"/tmp/env\", \"kept\": true}");
    bool is_kept = false;
    char directory[PATH_MAX], text[PATH_MAX + 32];
    struct fault why;

    (void)state;
    assert_int_equal(place_report_parse(directory, &is_kept, &f, &why), 0);
    assert_true(is_kept);
    assert_string_equal(directory, "/tmp/env");
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        f = frame_of(bad[i]);
        assert_int_equal(place_report_parse(directory, &is_kept, &f, &why), ML_ERR_REFUSED);
    }
    snprintf(text, sizeof(text), "{\"directory\": \"/%0*d\", \"kept\": true}", PATH_MAX - 1, 0);
    f = frame_of(text);
    assert_int_equal(place_report_parse(directory, &is_kept, &f, &why), ML_ERR_REFUSED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_started_bad), cmocka_unit_test(test_exited),
        cmocka_unit_test(test_exited_bad),  cmocka_unit_test(test_exited_endless),
        cmocka_unit_test(test_hello),       cmocka_unit_test(test_note_levels),
        cmocka_unit_test(test_lists),       cmocka_unit_test(test_unreached),
        cmocka_unit_test(test_repaired),    cmocka_unit_test(test_lost),
        cmocka_unit_test(test_keeper),      cmocka_unit_test(test_want),
        cmocka_unit_test(test_alone),       cmocka_unit_test(test_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
