/* SPDX-License-Identifier: MIT */
#include "tests/unit/coordinator/fixture.h"

#include "common/clock.h"
#include "common/net/host_table.h"
#include "coordinator/host/agent_client.h"
#include "coordinator/host/host_relay.h"
#include "coordinator/protocol.h"

#include <arpa/inet.h>
#include <event2/event.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

const uint8_t fixture_secret[AUTH_SECRET] = {1, 2, 3};
const char *const fixture_names[FIXTURE_HOSTS] = {"a", "b", "c", "d"};

/* On the loop's thread. Each line is one packet, so that none is cut. */
static void report_send(struct fixture *f, const char *kind, const char *text)
{
    char line[1024];

    snprintf(line, sizeof(line), "%s %s", kind, text);
    assert_true(send(f->control[1], line, strlen(line), 0) > 0);
}

static void on_abort(int rank, int status, const char *why, void *arg)
{
    char text[256];

    snprintf(text, sizeof(text), "%d %d %s", rank, status, why);
    report_send(arg, "abort", text);
}

static void on_stall(const char *text, void *arg)
{
    report_send(arg, "stall", text);
}

static void on_refused(const char *text, void *arg)
{
    report_send(arg, "refused", text);
}

static void on_alone(int rank, const char *why, void *arg)
{
    char text[256];

    snprintf(text, sizeof(text), "%d %s", rank, why);
    report_send(arg, "alone", text);
}

static void on_unreached(int rank, int peer, struct server_membership of, const char *why,
                         void *arg)
{
    char text[256];

    snprintf(text, sizeof(text), "%d %d of %u.%u %s", rank, peer, (unsigned)of.generation,
             (unsigned)of.number, why);
    report_send(arg, "unreached", text);
}

static void on_lost(const char *text, void *arg)
{
    report_send(arg, "lost", text);
}

static void on_repaired(struct server_membership now, const int *ranks, int count, void *arg)
{
    char text[256];

    snprintf(text, sizeof(text), "%u:", (unsigned)now.number);
    for (int i = 0; i < count; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), " %d", ranks[i]);
    report_send(arg, "repaired", text);
}

struct fixture_choice fixture_choice = {.hosts = FIXTURE_HOSTS, .process_rank = -1};

static bool is_relayed; /* the tests that run now */

int fixture_relay(void **state)
{
    (void)state;
    is_relayed = true;
    return 0;
}

int fixture_relay_no_more(void **state)
{
    (void)state;
    is_relayed = false;
    return 0;
}

/* --- the agents of hosts, on the loop's thread ------------------------------------------------ */

static void agent_on_lost(const char *text, void *arg)
{
    struct fixture_agent *a = arg;

    (void)text;
    host_relay_lost(a->relay);
}

static void agent_on_to_ranks(const uint8_t *channels, uint32_t count, uint8_t type,
                              const void *payload, size_t size, void *arg)
{
    struct fixture_agent *a = arg;

    a->casts++;
    a->cast_bytes += (long)(count * sizeof(uint32_t) + size);
    host_relay_to_ranks(a->relay, channels, count, type, payload, size);
}

static void agent_on_rank_dropped(uint32_t channel, void *arg)
{
    struct fixture_agent *a = arg;

    host_relay_rank_dropped(a->relay, channel);
}

static void agent_on_drained(void *arg)
{
    struct fixture_agent *a = arg;

    host_relay_drained(a->relay);
}

static int process_rank(pid_t pid, void *arg)
{
    (void)arg;
    return pid == getpid() ? fixture_choice.process_rank : -1;
}

static void agent_start(struct fixture *f, int host)
{
    struct fixture_agent *a = &f->agents[host];
    const struct agent_client_events events = {.on_lost = agent_on_lost,
                                               .on_to_ranks = agent_on_to_ranks,
                                               .on_rank_dropped = agent_on_rank_dropped,
                                               .on_drained = agent_on_drained,
                                               .arg = a};
    const struct host_relay_config config = {.job = "job",
                                             .secret = fixture_secret,
                                             .size = f->size,
                                             .hosts = FIXTURE_HOSTS,
                                             .host_of = f->host_of,
                                             .host_names = fixture_names,
                                             .host = host,
                                             .directory = a->directory,
                                             .unread_most = fixture_choice.unread_most,
                                             .rank_of_process = process_rank,
                                             .on_refused = on_refused,
                                             .on_unreached = on_unreached,
                                             .on_alone = on_alone,
                                             .arg = f};
    struct fault why;

    snprintf(a->directory, sizeof(a->directory), "/tmp/mlaunch-test.XXXXXX");
    assert_non_null(mkdtemp(a->directory));
    assert_int_equal(agent_client_open(&a->client, f->base,
                                       fixture_choice.is_mute ? f->mute : f->address, "job",
                                       fixture_secret, host, 0, PATIENCE_MS, &events, &why),
                     0);
    assert_int_equal(host_relay_open(&a->relay, f->base, a->client, &config, &why), 0);
}

static void agent_stop(struct fixture_agent *a)
{
    char path[96];

    host_relay_close(a->relay);
    agent_client_close(a->client);
    if (a->directory[0]) {
        snprintf(path, sizeof(path), "%s/" COORD_SOCKET, a->directory);
        unlink(path);
        rmdir(a->directory);
    }
    a->client = NULL;
    a->relay = NULL;
    a->directory[0] = '\0';
}

/* Relayed ranks have linked theirs. */
static void agent_link(struct fixture *f, int host, const struct agent_client_events *events)
{
    struct fault why;

    f->linked = host;
    if (!f->agents[host].client)
        assert_int_equal(agent_client_open(&f->agents[host].client, f->base, f->address, "job",
                                           fixture_secret, host, 0, PATIENCE_MS, events, &why),
                         0);
}

/* Handles a line of fixture_tell(), or "quit". */
static void on_control(evutil_socket_t fd, short what, void *arg)
{
    struct fixture *f = arg;
    char line[512], command[16];
    struct agent_client_events link_events = {.on_lost = on_lost, .arg = f};
    int rank = 0, pid = 0, at = 0;
    ssize_t n = recv(fd, line, sizeof(line) - 1, 0);

    (void)what;
    if (n <= 0)
        return;
    line[n] = '\0';
    sscanf(line, "%15s %d %d %n", command, &rank, &pid, &at);
    if (strcmp(command, "exited") == 0)
        server_rank_exited(f->server, rank, pid, line + at);
    else if (strcmp(command, "tell") == 0)
        agent_client_exited(f->agents[f->linked].client, rank, pid, line + at);
    else if (strcmp(command, "gone") == 0)
        server_host_gone(f->server, rank, (uint32_t)pid);
    else if (strcmp(command, "rename") == 0)
        server_host_place(f->server, rank, line + at);
    else if (strcmp(command, "grow") == 0)
        server_grow(f->server, rank);
    else if (strcmp(command, "vacant") == 0)
        server_rank_vacant(f->server, rank);
    else if (strcmp(command, "leaves") == 0)
        server_rank_leaves(f->server, rank);
    else if (strcmp(command, "resume") == 0)
        server_resume(f->server);
    else if (strcmp(command, "waits") == 0)
        server_tell_waits(f->server);
    else if (strcmp(command, "link") == 0)
        agent_link(f, rank, &link_events);
    else if (strcmp(command, "quit") == 0)
        event_base_loopbreak(f->base);
    if (strcmp(command, "pause") == 0) {
        server_pause(f->server);
        report_send(f, "paused", "");
    }
    if (strcmp(command, "unlink") == 0)
        agent_stop(&f->agents[f->linked]);
    for (int i = 0; i < FIXTURE_HOSTS && strcmp(command, "quit") == 0; i++)
        agent_stop(&f->agents[i]);
}

static void *run_loop(void *arg)
{
    struct fixture *f = arg;

    event_base_dispatch(f->base);
    return NULL;
}

struct fixture *fixture_start(int size, int stall_ms)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct server_events events = {.on_abort = on_abort,
                                   .on_stall = on_stall,
                                   .on_refused = on_refused,
                                   .on_unreached = on_unreached,
                                   .on_alone = on_alone,
                                   .on_repaired = on_repaired,
                                   .arg = f};
    struct server_config config = {.job = "job",
                                   .secret = fixture_secret,
                                   .size = size,
                                   .most = size + 2,
                                   .hosts = 4,
                                   .host_of = f->host_of,
                                   .host_names = fixture_names,
                                   .directory = fixture_choice.directory,
                                   .stall_ms = stall_ms,
                                   .leavers_ms = fixture_choice.leavers_ms,
                                   .takes_over = fixture_choice.takes_over,
                                   .membership = fixture_choice.takes_over,
                                   .replaces = fixture_choice.replaces,
                                   .replace_ms = fixture_choice.replace_ms,
                                   .bind_ip = "127.0.0.1"};
    struct address mute;
    struct fault why;

    f->size = size;
    for (int i = 0; i < size; i++)
        f->host_of[i] = i % fixture_choice.hosts;
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, f->control), 0);
    f->base = event_base_new();
    assert_int_equal(server_open(&f->server, f->base, &config, &events, &why), 0);
    address_format(server_address(f->server), f->address);
    f->on_control = event_new(f->base, f->control[1], EV_READ | EV_PERSIST, on_control, f);
    event_add(f->on_control, NULL);
    assert_int_equal(address_listen("127.0.0.1", 0, 8, &f->mute_listener, &mute, &why), 0);
    address_format(&mute, f->mute);
    for (int i = 1; i < fixture_choice.hosts && is_relayed; i++)
        agent_start(f, i);
    assert_int_equal(pthread_create(&f->thread, NULL, run_loop, f), 0);
    return f;
}

void fixture_tell(struct fixture *f, const char *format, ...)
{
    char line[512];
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    assert_true(send(f->control[0], line, strlen(line), 0) > 0);
}

void fixture_stop(struct fixture *f)
{
    fixture_tell(f, "quit");
    pthread_join(f->thread, NULL);
    for (int i = 0; i < RANKS_MAX; i++)
        client_close(f->ranks[i]);
    server_close(f->server);
    event_free(f->on_control);
    event_base_free(f->base);
    close(f->mute_listener);
    close(f->control[0]);
    close(f->control[1]);
    free(f);
}

void expect_report(struct fixture *f, const char *expected)
{
    struct pollfd p = {.fd = f->control[0], .events = POLLIN};
    char line[1024] = "";

    if (poll(&p, 1, PATIENCE_MS) == 1)
        line[recv(p.fd, line, sizeof(line) - 1, 0)] = '\0';
    if (!strstr(line, expected))
        fail_msg("heard \"%s\" instead of \"%s\"", line, expected);
}

void expect_no_report(struct fixture *f)
{
    struct pollfd p = {.fd = f->control[0], .events = POLLIN};

    assert_int_equal(poll(&p, 1, 0), 0);
}

struct client *fixture_open_rank(struct fixture *f, int rank, uint32_t generation)
{
    const char *directory = is_relayed ? f->agents[f->host_of[rank]].directory : NULL;
    struct fault why = {0};
    struct client *c;

    if (client_open(&c, f->address, directory, "job", fixture_secret, rank, generation,
                    clock_ms() + PATIENCE_MS, &why))
        fail_msg("%s", why.text);
    return c;
}

void send_text(struct client *c, uint8_t type, const char *format, ...)
{
    char text[1024];
    struct fault why;
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    assert_int_equal(client_send(c, type, text, (uint32_t)strlen(text), &why), 0);
}

/* Waits for what client_poll() returns once there is a frame or the end of the connection. */
static int frame_await(struct client *c, struct frame *out, struct fault *why)
{
    int64_t deadline = clock_ms() + PATIENCE_MS;
    int rc;

    while ((rc = client_poll(c, out, why)) == 0) {
        struct pollfd p = {.fd = client_fd(c), .events = POLLIN};

        if (poll(&p, 1, clock_left_ms(deadline)) == 0)
            fail_msg("nothing came from the coordinator");
    }
    return rc;
}

void next_frame(struct client *c, struct frame *out)
{
    struct fault why;

    if (frame_await(c, out, &why) < 0)
        fail_msg("%s", why.text);
}

json_t *expect_frame(struct client *c, uint8_t type)
{
    struct frame f;

    next_frame(c, &f);
    if (f.type != type)
        fail_msg("frame %u instead of %u: %s", f.type, type, f.payload);
    return json_loadb((char *)f.payload, f.size, 0, NULL);
}

void expect_text(struct client *c, uint8_t type, const char *key, int number, const char *text)
{
    json_t *message = expect_frame(c, type);
    const char *got = json_string_value(json_object_get(message, "text"));

    assert_int_equal(json_integer_value(json_object_get(message, key)), number);
    if (!got || !strstr(got, text))
        fail_msg("\"%s\" instead of \"%s\"", got, text);
    json_decref(message);
}

void expect_left(struct client *c, int rank)
{
    json_t *message = expect_frame(c, COORD_LEFT);
    int *ranks;

    assert_int_equal(json_integer_value(json_object_get(message, "count")), 1);
    assert_int_equal(
        host_table_read_numbers(&ranks, json_object_get(message, "ranks"), 1, RANKS_MAX), 0);
    assert_int_equal(ranks[0], rank);
    free(ranks);
    json_decref(message);
}

void expect_closed(struct client *c)
{
    struct fault why;
    struct frame f;

    assert_int_equal(frame_await(c, &f, &why), ML_ERR_PEER);
}

void fixture_join(struct fixture *f, int rank, int timeout_ms)
{
    send_text(f->ranks[rank], COORD_JOIN, "{\"pid\": %d, \"timeout_ms\": %d}", HOST_PID + rank,
              timeout_ms);
}

struct fixture *fixture_start_joined(int size, int stall_ms)
{
    struct fixture *f = fixture_start(size, stall_ms);

    for (int i = 0; i < size; i++) {
        f->ranks[i] = fixture_open_rank(f, i, 1);
        fixture_join(f, i, PATIENCE_MS);
    }
    for (int i = 0; i < size; i++)
        json_decref(expect_frame(f->ranks[i], COORD_WELCOME));
    return f;
}

void fixture_close_rank(struct fixture *f, int rank)
{
    client_close(f->ranks[rank]);
    f->ranks[rank] = NULL;
}

void send_blobs(struct client *c, uint32_t group, uint32_t seq, int count, const char *const *text)
{
    uint8_t payload[4096], *end = payload + 12;
    uint32_t word[3] = {htonl(group), htonl(seq), htonl((uint32_t)count)};
    struct fault why;

    memcpy(payload, word, 12);
    for (int i = 0; i < count; i++) {
        uint32_t size = htonl((uint32_t)strlen(text[i]));

        memcpy(end, &size, 4);
        memcpy(end + 4, text[i], strlen(text[i]));
        end += 4 + strlen(text[i]);
    }
    assert_int_equal(client_send(c, COORD_EXCHANGE, payload, (uint32_t)(end - payload), &why), 0);
}

void expect_blobs(struct client *c, uint32_t seq, int count, const char *expected)
{
    char text[4096] = "";
    const uint8_t *at, *end;
    uint32_t word[3];
    struct frame f;

    next_frame(c, &f);
    assert_int_equal(f.type, COORD_EXCHANGED);
    memcpy(word, f.payload, 12);
    assert_int_equal(ntohl(word[1]), seq);
    assert_int_equal(ntohl(word[2]), count);
    end = f.payload + f.size;
    for (at = f.payload + 12; at < end;) {
        uint32_t size;

        memcpy(&size, at, 4);
        size = ntohl(size);
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%.*s,", (int)size, at + 4);
        at += 4 + size;
    }
    assert_string_equal(text, expected);
}
