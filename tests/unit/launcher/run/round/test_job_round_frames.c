/* SPDX-License-Identifier: MIT */
/* test_job_round_frames.c: what becomes of a run after what its agents send, by a script
 * (script_round.h). */
#include "launcher/run/round/job_round.h"

#include "common/status.h"
#include "launcher/run/round/job_round_frames.h"
#include "launcher/run/state/job_round_state.h"
#include "launcher/wire/protocol/agent_protocol.h"
#include "tests/fuzz/launcher/script_round.h"

#include <event2/event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define HELLO                                                                                      \
    "16{\"build\":\"@\",\"arch\":\"x86_64\",\"pid\":7,\"address\":\"10.0.0.2\",\"guess\":\"\"}\n"
#define ALL_HELLO "0" HELLO "1" HELLO "2" HELLO
#define DEVICES   "29{\"devices\":[]}\n"

enum { HOSTS = 3 };

/* The hosts that have failed before the start, of a run with the rdma backend. */
static void expect_failed(const char *script, const char *failed)
{
    struct event_base *base = event_base_new();
    struct job_round *r =
        script_round_run(base, SCRIPT_RDMA, NULL, (const uint8_t *)script, strlen(script));
    char names[HOSTS + 1] = "";
    struct job_round_result result;

    for (int i = 0; i < HOSTS; i++)
        if (job_round_host_failed(r, i))
            names[strlen(names)] = (char)('a' + i);
    job_round_result(r, &result);
    job_round_destroy(r);
    event_base_free(base);
    assert_string_equal(names, failed);
    assert_false(result.has_run);
    assert_int_equal(result.status, STATUS_OURS);
}

/* A host that fails in the survey ends the run once the others have answered, not later: those
 * that the script ends afterwards have not failed. */
static void test_survey(void **state)
{
    (void)state;
    expect_failed(ALL_HELLO "029{\"error\":\"no probe\"}\n1" DEVICES "2" DEVICES "x1late\nx2late\n",
                  "a");
    expect_failed(ALL_HELLO "1" DEVICES "2" DEVICES "029{\"error\":\"no probe\"}\nx1late\n", "a");
    expect_failed(ALL_HELLO "x0gone\n1" DEVICES "2" DEVICES "x1late\nx2late\n", "a");
    expect_failed(ALL_HELLO "x0gone\nx1gone\n2" DEVICES "x2late\n", "ab");
}

static void test_connecting(void **state)
{
    (void)state;
    expect_failed("0" HELLO "1" HELLO "x2no route\nx0late\n", "c");
    expect_failed("0" HELLO "129{}\nx2no route\n", "bc");
}

static void on_rank_end(int rank, int status, void *arg)
{
    char *text = arg;
    size_t at = strlen(text);

    snprintf(text + at, 64 - at, "%d:%d ", rank, status);
}

/* The results of independent hosts, in the order in which they come; a has the ranks 0 and 1. */
static void expect_results(const char *script, const char *expected)
{
    struct event_base *base = event_base_new();
    char text[64] = "";
    const struct rank_results results = {on_rank_end, text};
    struct job_round *r =
        script_round_run(base, SCRIPT_TCP, &results, (const uint8_t *)script, strlen(script));
    struct job_round_result result;

    job_round_report(r);
    job_round_result(r, &result);
    job_round_destroy(r);
    event_base_free(base);
    assert_string_equal(text, expected);
    assert_int_equal(result.status, 0);
    assert_false(result.has_failed);
}

/* What fails on a host is its own result, whatever state the others are in. */
static void test_independent(void **state)
{
    (void)state;
    expect_results("x2no route\nx0gone\nx1gone\n", "3:125 0:125 1:125 2:125 ");
    expect_results("1" HELLO "x1gone\n0" HELLO "x2no route\nx0gone\n", "2:125 3:125 0:125 1:125 ");
}

#define RUNNING                                                                                    \
    ALL_HELLO "017{\"coordinator\":\"10.0.0.2:4000\"}\n117{}\n217{}\n"                             \
              "019{\"rank\":0,\"pid\":8}\n019{\"rank\":1,\"pid\":9}\n"                             \
              "119{\"rank\":2,\"pid\":8}\n219{\"rank\":3,\"pid\":8}\n"
#define REPAIRED   "037{\"generation\":1,\"membership\":1,\"count\":3,\"members\":[0,1,2]}\n"
#define DIES(rank) "21{\"rank\":" #rank ",\"pid\":8,\"signal\":9}\n"
#define ENDS(rank) "21{\"rank\":" #rank ",\"pid\":8,\"status\":0}\n"
#define ALL_DONE   "026{}\n126{}\n226{}\n"

/* The status of a run with --elastic 2, or of one without. */
static void expect_status(enum script_job job, const char *script, int status)
{
    struct event_base *base = event_base_new();
    struct job_round *r =
        script_round_run(base, job, NULL, (const uint8_t *)script, strlen(script));
    struct job_round_result result;

    job_round_report(r);
    job_round_result(r, &result);
    assert_int_equal(result.status, status);
    assert_int_equal(result.has_failed, status != 0);
    job_round_destroy(r);
    event_base_free(base);
}

/* Rank 3 dies, on host c, and the others end well. */
static void test_outlived(void **state)
{
    static const char death[] =
        RUNNING "2" DIES(3) REPAIRED "0" ENDS(0) "0" ENDS(1) "1" ENDS(2) ALL_DONE;

    (void)state;
    expect_status(SCRIPT_ELASTIC, death, 0);
    expect_status(SCRIPT_TCP, death, 137);
    expect_status(SCRIPT_ELASTIC,
                  RUNNING "x2gone\n" REPAIRED "0" ENDS(0) "0" ENDS(1) "1" ENDS(2) "026{}\n126{}\n",
                  0);
    expect_status(SCRIPT_ELASTIC, RUNNING "2" DIES(3) "1" DIES(2) "0" DIES(1) "0" ENDS(0) ALL_DONE,
                  137);
    /* Too few have come to the next world, or the program does not repair. */
    expect_status(SCRIPT_ELASTIC,
                  RUNNING "037{\"generation\":1,\"membership\":1,\"count\":1,\"members\":[0]}\n"
                          "0" ENDS(0) "0" ENDS(1) "1" ENDS(2) "2" ENDS(3) ALL_DONE,
                  STATUS_OURS);
    expect_status(SCRIPT_ELASTIC,
                  RUNNING
                  "2" DIES(3) "021{\"rank\":0,\"pid\":8,\"status\":1,\"consequence\":true}\n"
                              "0" ENDS(1) "1" ENDS(2) ALL_DONE,
                  137);
}

enum host_action __real_lives_host(struct lives *l, int host, enum host_event event);
enum host_action __wrap_lives_host(struct lives *l, int host, enum host_event event);

static bool is_c_cut_off;

/* Linked in place of lives_host(): notes what has become of host c, until its channel ends. */
enum host_action __wrap_lives_host(struct lives *l, int host, enum host_event event)
{
    enum host_action action = __real_lives_host(l, host, event);

    if (host == 2 && event != HOST_EVENT_END)
        is_c_cut_off = l->hosts[host].life == HOST_CUT_OFF;
    return action;
}

/* Whether host c is taken to be cut off from the coordinator, until its channel ends. */
static bool is_cut_off(const char *script)
{
    struct event_base *base = event_base_new();
    struct job_round *r =
        script_round_run(base, SCRIPT_ELASTIC, NULL, (const uint8_t *)script, strlen(script));

    job_round_destroy(r);
    event_base_free(base);
    return is_c_cut_off;
}

#define CUT_OFF(address) "225{\"text\":\"closed\",\"cut_off\":\"" address "\"}\n"
#define MOVED_ON         "x0gone\n138{\"coordinator\":\"10.0.0.3:5000\"}\n"

/* The coordinator was on host a, and is on host b then. */
static void test_cut_off(void **state)
{
    (void)state;
    assert_true(is_cut_off(RUNNING CUT_OFF("10.0.0.2:4000") "x2gone\n"));
    assert_true(is_cut_off(RUNNING MOVED_ON CUT_OFF("10.0.0.3:5000") "x2gone\n"));
    assert_false(is_cut_off(RUNNING CUT_OFF("10.0.0.2:4000") MOVED_ON "x2gone\n"));
    assert_false(is_cut_off(RUNNING MOVED_ON CUT_OFF("10.0.0.2:4000") "x2gone\n"));
}

/* How many pairs of hosts are taken not to reach each other at the end of the script. */
static int broken_pairs(const char *script)
{
    struct event_base *base = event_base_new();
    struct job_round *r =
        script_round_run(base, SCRIPT_ELASTIC, NULL, (const uint8_t *)script, strlen(script));
    int count = r->world.broken.count;

    job_round_destroy(r);
    event_base_free(base);
    return count;
}

#define UNREACHED(membership)                                                                      \
    "42{\"rank\":2,\"peer\":3,\"generation\":1,\"membership\":" #membership                        \
    ",\"text\":\"no way\"}\n"
#define LEFT "0" ENDS(0) "0" ENDS(1) "1" ENDS(2) "2" ENDS(3) ALL_DONE

/* Ranks 2 and 3, on the hosts b and c, do not reach each other, which b's agent says, before or
 * after the coordinator's says that the members have changed. */
static void test_unreached(void **state)
{
    (void)state;
    assert_int_equal(broken_pairs(RUNNING "1" UNREACHED(0) LEFT), 1);
    assert_int_equal(broken_pairs(RUNNING "1" UNREACHED(0) REPAIRED LEFT), 0);
    assert_int_equal(broken_pairs(RUNNING REPAIRED "1" UNREACHED(0) LEFT), 0);
    assert_int_equal(broken_pairs(RUNNING REPAIRED "1" UNREACHED(1) LEFT), 1);
    assert_int_equal(broken_pairs(RUNNING "1" UNREACHED(1) REPAIRED LEFT), 1);
    /* The coordinator's agent says it for the ranks of all hosts, and no other. */
    assert_int_equal(broken_pairs(RUNNING "0" UNREACHED(0) LEFT), 1);
    assert_int_equal(broken_pairs(RUNNING "2" UNREACHED(0) LEFT), 0);
}

/* Every cell of the table: frames that are not taken change nothing, and are refused or ignored as
 * it says; none is ignored to which its agent awaits an answer. */
static void test_cells(void **state)
{
    static const uint8_t answered[] = {AGENT_WANT, AGENT_FILE_CREDIT, AGENT_PLACE,
                                       AGENT_SYNC, AGENT_OUTPUT,      AGENT_FOLDED};
    struct live_host facts = {.life = HOST_OPENING}, before;
    char name[] = "a";
    struct host listed = {.name = name};
    struct job_round r = {.lives = {.hosts = &facts}};
    struct job_round_host h = {.round = &r, .facts = &facts, .host = &listed};
    uint8_t nothing[1] = {0};
    struct frame f = {.payload = nothing};

    (void)state;
    r.hosts = &h;
    for (int type = AGENT_HELLO; type <= AGENT_UNMET; type++)
        for (int life = 0; life < HOST_LIVES; life++) {
            char cell = job_round_frames_cell((uint8_t)type, (enum host_life)life);
            struct fault why;
            int rc;

            if (!cell || !strchr("trfgd-", cell))
                fail_msg("frame %d in state %d: '%c'", type, life, cell);
            for (size_t i = 0; i < sizeof(answered); i++)
                assert_true(type != answered[i] || cell == 't' || cell == 'r' || cell == '-');
            if (cell == 't')
                continue;
            facts.life = (enum host_life)life;
            before = facts;
            f.type = (uint8_t)type;
            rc = job_round_frames_on_frame(0, &f, &r, &why);
            assert_int_equal(rc != 0, cell == 'r' || cell == '-');
            assert_memory_equal(&facts, &before, sizeof(facts));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_survey),      cmocka_unit_test(test_connecting),
        cmocka_unit_test(test_independent), cmocka_unit_test(test_outlived),
        cmocka_unit_test(test_cut_off),     cmocka_unit_test(test_unreached),
        cmocka_unit_test(test_cells),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
