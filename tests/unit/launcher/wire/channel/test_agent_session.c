/* SPDX-License-Identifier: MIT */
/*
 * test_agent_session.c: what agents say to their supervisor, by a script (script_channel.h): HELLO,
 * questions in rounds, and all that must end a channel.
 */
#include "launcher/wire/channel/agent_session.h"

#include "launcher/wire/protocol/agent_protocol.h"
#include "tests/fuzz/launcher/script_channel.h"

#include <event2/event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { HOSTS = 2 };

#define HELLO                                                                                      \
    "16{\"build\":\"@\",\"arch\":\"x86_64\",\"pid\":7,\"address\":\"10.0.0.2\",\"guess\":\"\"}\n"
#define ANSWER "29{\"text\":\"a\"}\n"

/* What has happened, in order. */
static char seen[1024];

static __attribute__((format(printf, 1, 2))) void note(const char *format, ...)
{
    size_t used = strlen(seen);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(seen + used, sizeof(seen) - used, format, arguments);
    va_end(arguments);
}

static struct agent_session *session;
static struct query_rounds after_hello; /* asked within the last on_hello, if count is not 0 */

static bool pauses; /* when host 0 has said HELLO */

static int on_hello(int host, const struct hello_report *hello, void *arg, struct fault *why)
{
    (void)arg, (void)why;
    note("hello %d %s; ", host, hello->address);
    if (pauses && host == 0)
        agent_session_pause(session, NULL, NULL);
    if (after_hello.count && agent_session_agent(session, 1 - host)->is_greeted)
        agent_session_ask_rounds(session, &after_hello);
    return 0;
}

static int on_frame(int host, const struct frame *f, void *arg, struct fault *why)
{
    (void)arg;
    if (f->type == AGENT_STARTED)
        return agent_session_refuse(f, why);
    note("frame %d %d; ", host, f->type);
    return 0;
}

static void on_end(int host, const char *text, void *arg)
{
    (void)arg;
    note("end %d %s; ", host, text);
}

static void on_rounds_end(void *arg)
{
    (void)arg;
    note("over; ");
}

static json_t *question(void *arg, int host, int round)
{
    (void)arg;
    note("ask %d.%d; ", host, round);
    return json_object();
}

static int take(void *arg, int host, int round, const json_t *said, struct fault *why)
{
    const char *text = json_string_value(json_object_get(said, "text"));

    (void)arg;
    if (!text)
        return fault_set(why, ML_ERR_REFUSED, "no text");
    note("answer %d.%d %s; ", host, round, text);
    return 0;
}

/* Runs the script to the end of all channels, and looks for `expected` in what happens. rounds: 0:
 * nothing is asked. */
static void expect(const char *script, int rounds, bool goes_on, const char *expected)
{
    const struct agent_session_events events = {.on_hello = on_hello,
                                                .on_frame = on_frame,
                                                .on_end = on_end,
                                                .on_rounds_end = on_rounds_end};
    const struct query_rounds questions = {rounds, goes_on, question, take, NULL};
    struct host hosts[HOSTS] = {{.name = "a"}, {.name = "b"}};
    struct channel_config config = {0};
    struct event_base *base = event_base_new();
    struct agent_session *s;
    struct fault why;

    assert_non_null(base);
    session = NULL;
    seen[0] = '\0';
    script_channel_begin((const uint8_t *)script, strlen(script));
    assert_int_equal(agent_session_open(&s, base, HOSTS, &config, &events, &why), 0);
    session = s;
    for (int i = 0; i < HOSTS; i++)
        assert_non_null(agent_session_reach(s, i, &hosts[i]));
    if (rounds)
        agent_session_ask_rounds(s, &questions);
    while (!agent_session_agent(s, 0)->has_ended || !agent_session_agent(s, 1)->has_ended)
        event_base_loop(base, EVLOOP_ONCE);
    assert_false(agent_session_is_asking(s));
    agent_session_close(s);
    event_base_free(base);
    if (!strstr(seen, expected))
        fail_msg("'%s' instead of '%s'", seen, expected);
}

#define ENDS "end 0 the script is over; end 1 the script is over; "

/* A host is asked when it has said HELLO; the next round begins when all have answered. */
static void test_rounds(void **state)
{
    (void)state;
    expect("0" HELLO "0" ANSWER "1" HELLO "1" ANSWER "1" ANSWER "0" ANSWER, 2, false,
           "hello 0 10.0.0.2; ask 0.0; answer 0.0 a; hello 1 10.0.0.2; ask 1.0; answer 1.0 a; "
           "ask 0.1; ask 1.1; answer 1.1 a; answer 0.1 a; over; " ENDS);
}

/* A supervisor that begins the rounds when the last agent has said HELLO asks each host once. */
static void test_rounds_after_hello(void **state)
{
    (void)state;
    after_hello = (struct query_rounds){2, false, question, take, NULL};
    expect("0" HELLO "1" HELLO "1" ANSWER "0" ANSWER "1" ANSWER "0" ANSWER, 0, false,
           "hello 0 10.0.0.2; hello 1 10.0.0.2; ask 0.0; ask 1.0; answer 1.0 a; answer 0.0 a; "
           "ask 0.1; ask 1.1; answer 1.1 a; answer 0.1 a; over; " ENDS);
    after_hello.count = 0;
}

static void on_send(int host, int type, const uint8_t *payload, size_t size)
{
    (void)payload, (void)size;
    if (type == LAUNCH_PAUSE)
        note("pause %d; ", host);
}

/* A pause is said to an agent that says HELLO while the others confirm it, too. */
static void test_late_hello(void **state)
{
    (void)state;
    pauses = true;
    script_channel_watch(on_send);
    expect("0" HELLO "1" HELLO, 0, false, "hello 1 10.0.0.2; pause 1; " ENDS);
    script_channel_watch(NULL);
    pauses = false;
}

/* The others answer the round in which a host fails, and the next one if it goes on. */
static void test_failures(void **state)
{
    (void)state;
    expect("0" HELLO "1" HELLO "029{\"error\":\"no \\u001b room\"}\n"
           "1" ANSWER "1" ANSWER,
           2, true,
           "hello 0 10.0.0.2; ask 0.0; hello 1 10.0.0.2; ask 1.0; end 0 no ? room; answer 1.0 a; "
           "ask 1.1; answer 1.1 a; over; end 1 the script is over; ");
    expect("0" HELLO "029{\"error\":\"\"}\n1" HELLO "1" ANSWER, 1, true,
           "end 0 its agent sent a malformed ANSWER; hello 1");
    expect("0" HELLO "1" HELLO "029{}\n1" ANSWER, 2, false,
           "hello 0 10.0.0.2; ask 0.0; hello 1 10.0.0.2; ask 1.0; end 0 no text; answer 1.0 a; "
           "over; end 1 the script is over; ");
    expect("x0it is gone\nx1so is this\n", 2, true, "end 0 it is gone; end 1 so is this; over; ");
}

static void test_refusals(void **state)
{
    (void)state;
    expect("020\n0" HELLO "021\n0" HELLO "119x\n", 0, false,
           "frame 0 20; hello 0 10.0.0.2; frame 0 21; frame 0 16; "
           "end 1 its agent sent a message of type 19 out of turn; end 0 the script is over; ");
    expect("0" HELLO "029[]\n1" HELLO, 1, true,
           "hello 0 10.0.0.2; ask 0.0; end 0 its agent sent a malformed ANSWER; hello 1 10.0.0.2; "
           "ask 1.0; end 1 the script is over; over; ");
}

static void test_builds(void **state)
{
    (void)state;
    expect("016{\"build\":\"0\",\"arch\":\"vax\",\"pid\":7,\"address\":\"\",\"guess\":\"\"}\n", 0,
           false, "end 0 its mlaunch-agent is build 0 for vax, this mlaunch is build ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rounds),     cmocka_unit_test(test_rounds_after_hello),
        cmocka_unit_test(test_late_hello), cmocka_unit_test(test_failures),
        cmocka_unit_test(test_refusals),   cmocka_unit_test(test_builds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
