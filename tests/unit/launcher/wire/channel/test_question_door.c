/* SPDX-License-Identifier: MIT */
/*
 * test_question_door.c: what callers get at mlaunch's door, over real sockets; the agents that are
 * asked follow a script (script_channel.h).
 */
#include "launcher/wire/channel/question_door.h"

#include "common/build_id.h"
#include "common/clock.h"
#include "launcher/wire/protocol/agent_protocol.h"
#include "tests/fuzz/launcher/script_channel.h"

#include <arpa/inet.h>
#include <event2/event.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

enum { HOSTS = 2, FRAME_MOST = 1 << 16, MOST = 256 };

#define HELLO                                                                                      \
    "16{\"build\":\"@\",\"arch\":\"x86_64\",\"pid\":7,\"address\":\"10.0.0.2\",\"guess\":\"\"}\n"
#define LIST "{\"what\":\"list\",\"job\":\"\"}"

static struct event_base *base;
static struct agent_session *session;
static struct question_door *door;
static char directory[] = "/tmp/mlaunch-test-door.XXXXXX";
static char path[64];
static char asked[256]; /* what the agents have been asked */

static void on_send(int host, int type, const uint8_t *payload, size_t size)
{
    size_t used = strlen(asked);

    if (type == LAUNCH_QUERY)
        snprintf(asked + used, sizeof(asked) - used, "%d %.*s; ", host, (int)size, payload);
}

static void on_end(int host, const char *text, void *arg)
{
    (void)host, (void)text, (void)arg;
}

static struct host hosts[HOSTS] = {{.name = "a"}, {.name = "b"}};

/* Host 1 is not reached. */
static void begin(const char *script)
{
    static const struct agent_session_events events = {.on_end = on_end};
    static struct channel_config config;
    struct fault why;

    asked[0] = '\0';
    base = event_base_new();
    assert_non_null(base);
    script_channel_watch(on_send);
    script_channel_begin((const uint8_t *)script, strlen(script));
    assert_int_equal(agent_session_open(&session, base, HOSTS, &config, &events, &why), 0);
    assert_non_null(agent_session_reach(session, 0, &hosts[0]));
    assert_int_equal(question_door_create(&door, base, &why), 0);
    assert_int_equal(question_door_open(door, path, &why), 0);
    question_door_serve(door, session, HOSTS);
    while (!agent_session_agent(session, 0)->is_greeted)
        event_base_loop(base, EVLOOP_ONCE);
}

static void session_end(void)
{
    question_door_serve(door, NULL, 0);
    agent_session_close(session);
    session = NULL;
}

static void end(void)
{
    if (session)
        session_end();
    question_door_destroy(door);
    event_base_free(base);
    assert_int_equal(access(path, F_OK), -1);
    script_channel_watch(NULL);
}

static int caller(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

static void say(int fd, int type, const void *payload, size_t size)
{
    struct fault why;

    assert_int_equal(frame_send(fd, (uint8_t)type, payload, (uint32_t)size, -1, &why), 0);
}

static void say_host(int fd, uint32_t host)
{
    host = htonl(host);
    say(fd, LAUNCH_DOOR, &host, sizeof(host));
}

static void ask(int fd, const char *question)
{
    say(fd, LAUNCH_QUERY, question, strlen(question));
}

/* The next frame, as its type and text; "end": the door has closed the connection. */
static const char *next(int fd)
{
    static char text[1024];
    struct pollfd p = {.fd = fd, .events = POLLIN};
    struct frame_reader *reader;
    struct frame f;
    struct fault why;
    uint8_t byte;

    while (poll(&p, 1, 0) == 0)
        event_base_loop(base, EVLOOP_ONCE);
    if (recv(fd, &byte, 1, MSG_PEEK) <= 0)
        return "end";
    assert_int_equal(frame_reader_create(&reader, FRAME_MOST, &why), 0);
    assert_int_equal(frame_recv(fd, reader, &f, clock_ms() + 10000, &why), 0);
    snprintf(text, sizeof(text), "%d %s", f.type, (const char *)f.payload);
    frame_reader_destroy(reader);
    return text;
}

static void expect(int fd, const char *expected)
{
    const char *got = next(fd);

    if (!strstr(got, expected))
        fail_msg("'%s' instead of '%s'", got, expected);
}

static void test_asks(void **state)
{
    int fd;

    (void)state;
    begin("0" HELLO "w\n029{\"jobs\":[7]}\nw\n029{\"jobs\":[8]}\nw\n");
    fd = caller();
    say_host(fd, 0);
    expect(fd, build_id);
    say(fd, LAUNCH_PING, NULL, 0);
    expect(fd, "27 ");
    ask(fd, LIST);
    expect(fd, "29 {\"jobs\":[7]}");
    ask(fd, "{\"what\":\"facts\"}");
    expect(fd, "29 {\"jobs\":[8]}");
    assert_string_equal(asked, "0 " LIST "; 0 {\"what\":\"facts\"}; ");
    close(fd);
    end();
}

static void test_refuses(void **state)
{
    static const char *const refused[] = {"{\"what\":\"kill\",\"job\":\"j\"}",
                                          "{\"what\":\"clean\"}",
                                          "{\"what\":\"devices\"}",
                                          "[]",
                                          "x",
                                          "{\"what\":7}",
                                          ""};
    int fd;

    (void)state;
    begin("0" HELLO "w\n");
    fd = caller();
    say_host(fd, 0);
    expect(fd, "16 ");
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
        ask(fd, refused[i]);
        expect(fd, "passes on no such question");
    }
    close(fd);
    assert_string_equal(asked, "");
    end();
}

static void test_not_there(void **state)
{
    static const uint32_t absent[] = {1, 2, INT32_MAX, UINT32_MAX};

    (void)state;
    begin("0" HELLO "w\n");
    for (size_t i = 0; i < sizeof(absent) / sizeof(*absent); i++) {
        int fd = caller();

        say_host(fd, absent[i]);
        expect(fd, "16 ");
        ask(fd, LIST);
        expect(fd, "no connection to its agent");
        close(fd);
    }
    end();
}

static void test_breaks_protocol(void **state)
{
    int fds[5];

    (void)state;
    begin("0" HELLO "w\nw\n");
    for (int i = 0; i < 5; i++)
        fds[i] = caller();
    ask(fds[0], LIST); /* before a host is named */
    expect(fds[0], "end");
    say(fds[1], LAUNCH_DOOR, "\0\0", 2);
    expect(fds[1], "end");
    say(fds[2], LAUNCH_KILL, NULL, 0);
    expect(fds[2], "end");
    assert_int_equal(write(fds[3], "GET / HTTP/1.0\r\n\r\n", 18), 18);
    expect(fds[3], "end");
    say_host(fds[4], 0);
    expect(fds[4], "16 ");
    ask(fds[4], LIST);
    ask(fds[4], LIST); /* before the answer */
    expect(fds[4], "end");
    for (int i = 0; i < 5; i++)
        close(fds[i]);
    end();
}

/* What a caller that has left has asked goes to nobody, not to the next one. */
static void test_leaves(void **state)
{
    int first, second;

    (void)state;
    begin("0" HELLO "w\nw1\n029{\"jobs\":[7]}\nw\n029{\"jobs\":[8]}\nw\n");
    first = caller();
    say_host(first, 0);
    expect(first, "16 ");
    ask(first, LIST);
    second = caller();
    say_host(second, 0);
    expect(second, "16 ");
    close(first);
    event_base_loop(base, EVLOOP_NONBLOCK);
    ask(second, "{\"what\":\"facts\"}");
    assert_non_null(agent_session_reach(session, 1, &hosts[1])); /* the script goes on */
    expect(second, "29 {\"jobs\":[8]}");
    close(second);
    end();
}

static void test_agent_ends(void **state)
{
    int fd;

    (void)state;
    begin("0" HELLO "w\nx0it died\nw\n");
    fd = caller();
    say_host(fd, 0);
    expect(fd, "16 ");
    ask(fd, LIST);
    expect(fd, "its agent has ended");
    ask(fd, LIST);
    expect(fd, "no connection to its agent");
    close(fd);
    end();
}

/* Between two runs of a job nobody is there to be asked. */
static void test_session_ends(void **state)
{
    int fd;

    (void)state;
    begin("0" HELLO "w\nw\n");
    fd = caller();
    say_host(fd, 0);
    expect(fd, "16 ");
    ask(fd, LIST);
    while (!*asked)
        event_base_loop(base, EVLOOP_ONCE);
    session_end();
    expect(fd, "its agent has ended");
    ask(fd, LIST);
    expect(fd, "no connection to its agent");
    close(fd);
    end();
}

/* Those beyond the most wait until another leaves. */
static void test_many(void **state)
{
    int fds[MOST + 1];
    struct pollfd last = {.events = POLLIN};

    (void)state;
    begin("0" HELLO "w\n");
    for (int i = 0; i <= MOST; i++) {
        fds[i] = caller();
        say_host(fds[i], 0);
        if (i < MOST)
            expect(fds[i], "16 ");
    }
    last.fd = fds[MOST];
    event_base_loop(base, EVLOOP_NONBLOCK);
    assert_int_equal(poll(&last, 1, 0), 0);
    close(fds[0]);
    expect(fds[MOST], "16 ");
    for (int i = 1; i <= MOST; i++)
        close(fds[i]);
    end();
}

static void test_cannot_open(void **state)
{
    char longer[256];
    struct question_door *d;
    struct fault why;

    (void)state;
    base = event_base_new();
    assert_int_equal(question_door_create(&d, base, &why), 0);
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    assert_int_equal(question_door_open(d, longer, &why), ML_ERR_SYSTEM);
    assert_non_null(strstr(why.text, "too long"));
    assert_int_equal(question_door_open(d, "/nowhere/door", &why), ML_ERR_SYSTEM);
    assert_non_null(strstr(why.text, "/nowhere/door"));
    question_door_destroy(d);
    event_base_free(base);
}

static int directory_make(void **state)
{
    (void)state;
    snprintf(path, sizeof(path), "%s/door", mkdtemp(directory));
    return 0;
}

static int directory_remove(void **state)
{
    (void)state;
    return rmdir(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_asks),         cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_not_there),    cmocka_unit_test(test_breaks_protocol),
        cmocka_unit_test(test_leaves),       cmocka_unit_test(test_agent_ends),
        cmocka_unit_test(test_session_ends), cmocka_unit_test(test_many),
        cmocka_unit_test(test_cannot_open),
    };

    return cmocka_run_group_tests(tests, directory_make, directory_remove);
}
