/* SPDX-License-Identifier: MIT */
/* test_service.c: the whole server over a model that stands in for a real one, and its clients on
 * the loopback interface: good ones, those that leave, and hostile ones. */
#include "examples/llm/http/http.h"
#include "examples/llm/http/http_head.h"
#include "examples/llm/serve/service.h"
#include "tests/unit/examples/llm/serve/fake_model.h"

#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
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
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* The clients are in the server's process here, so a client's new socket may have the number that a
 * connection had which the server has just closed, and whose event it still takes out of epoll. */
__attribute__((visibility("default"))) const char *
__tsan_default_suppressions(void);            /* NOLINT(bugprone-reserved-identifier) */
const char *__tsan_default_suppressions(void) /* NOLINT(bugprone-reserved-identifier) */
{
    return "race:epoll_ctl\n";
}

enum { CONTEXT = 2048, PATIENCE_MS = 20000, ANSWER_ROOM = 1 << 20 };

static struct {
    struct service_config config;
    pthread_t thread;
    int status;
    char error[512];
} server;

static void *server_run(void *arg)
{
    (void)arg;
    server.status = service_run(&server.config, server.error, sizeof(server.error));
    return NULL;
}

/* A port that was free a moment ago. */
static uint16_t free_port(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(a);
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    getsockname(fd, (struct sockaddr *)&a, &length);
    close(fd);
    return ntohs(a.sin_port);
}

static int dial(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons(server.config.port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0)
        return fd;
    close(fd);
    return -1;
}

static void say(int fd, const char *text)
{
    size_t length = strlen(text);

    while (length) {
        ssize_t n = send(fd, text, length, MSG_NOSIGNAL);

        if (n <= 0)
            return;
        text += n;
        length -= (size_t)n;
    }
}

/* Reads until the server closes, or `until` has come; returns what came, which stays valid until
 * the next call. */
static const char *hear(int fd, const char *until)
{
    static char text[ANSWER_ROOM];
    struct pollfd p = {fd, POLLIN, 0};
    size_t length = 0;
    ssize_t n;

    text[0] = '\0';
    while (length + 1 < sizeof(text) && (!until || !strstr(text, until)) &&
           poll(&p, 1, PATIENCE_MS) == 1) {
        n = recv(fd, text + length, sizeof(text) - 1 - length, 0);
        if (n <= 0)
            break;
        length += (size_t)n;
        text[length] = '\0';
    }
    return text;
}

static const char *ask(const char *request)
{
    const char *answer;
    int fd = dial();

    assert_true(fd >= 0);
    say(fd, request);
    answer = hear(fd, NULL);
    close(fd);
    return answer;
}

/* A POST with this body; the answer ends with the connection. */
static char *post_text(const char *path, const char *body)
{
    static char text[8192];

    snprintf(text, sizeof(text),
             "POST %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
             "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
             path, strlen(body), body);
    return text;
}

static const char *get(const char *path)
{
    char text[256];

    snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
             path);
    return ask(text);
}

static bool has(const char *path, const char *what)
{
    return strstr(get(path), what) != NULL;
}

static void wait_until(const char *path, const char *what)
{
    for (int i = 0; i < PATIENCE_MS / 5 && !has(path, what); i++)
        usleep(5000);
    if (!has(path, what))
        fail_msg("%s never has %s: %s", path, what, get(path));
}

static void server_start(struct fake model, uint32_t most)
{
    static struct link_speed links[2];

    fake = model;
    fake_clear();
    server.config = (struct service_config){
        .lead = fake_lead(),
        .path = "/models/tiny.gguf",
        .links = links,
        .host = "127.0.0.1",
        .port = free_port(),
        .queue_most = most,
    };
    assert_int_equal(pthread_create(&server.thread, NULL, server_run, NULL), 0);
    for (int fd = -1, i = 0; fd < 0 && i < PATIENCE_MS; i++) {
        fd = dial();
        if (fd >= 0)
            close(fd);
        usleep(1000);
    }
    wait_until("/health", "\"ok\":true");
}

static int server_wait(void)
{
    pthread_join(server.thread, NULL);
    return server.status;
}

static int server_stop(void)
{
    kill(getpid(), SIGTERM);
    return server_wait();
}

static const struct {
    const char *request; /* a path to get, or a whole request */
    int status;
    const char *has;
} plain[] = {
    {"/health", 200,
     "\"world_size\":2,\"rank\":0,\"model\":\"tiny\",\"queue_max\":4,\"queue_size\":0"},
    {"/queue", 200, "{\"size\":0,\"max\":4}"},
    {"/v1/models", 200, "\"id\":\"tiny\",\"object\":\"model\""},
    {"/metrics", 200, "\nllm_queue_limit 4\n"},
    {"/status.json", 200, "\"host\":\"b\",\"role\":\"worker\",\"state\":\"ok\""},
    {"/dashboard", 200, "Content-Security-Policy: default-src 'none'"},
    {"/health?x=1", 200, "\"ok\":true"},
    {"/", 302, "Location: /dashboard"},
    {"/none", 404, "there is no /none; there are /health, "},
    {"/v1/models/tiny", 200, "\"id\":\"tiny\""},
    {"/v1/models/other", 404, "there is no such model here"},
    {"/v1/chat/completions", 405, "Allow: POST"},
    {"HEAD /health HTTP/1.1\r\nConnection: close\r\n\r\n", 200, "Content-Length: "},
    {"DELETE /health HTTP/1.1\r\nConnection: close\r\n\r\n", 405, "/health takes GET"},
    {"POST /v1/completions HTTP/1.1\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}", 415,
     "Content-Type: application/json"},
    {"POST /v1/completions HTTP/1.1\r\nConnection: close\r\nContent-Type: text/plain\r\n"
     "Content-Length: 2\r\n\r\n{}",
     415, "must be JSON"},
    {"POST /v1/completions HTTP/1.1\r\nConnection: close\r\n"
     "Content-Type: application/json; charset=utf-8\r\nContent-Length: 2\r\n\r\n{}",
     400, "prompt is missing"},
    {"POST /v1/completions HTTP/1.1\r\nConnection: close\r\nContent-Type: application/json\r\n"
     "Content-Length: -1\r\n\r\n",
     400, ""},
    {"NONSENSE\r\n\r\n", 400, ""},
};

static void pages_and_refusals(void **state)
{
    (void)state;
    server_start((struct fake){.slots = 1, .context = CONTEXT}, 4);
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
        const char *answer =
            plain[i].request[0] == '/' ? get(plain[i].request) : ask(plain[i].request);
        char status[32];

        snprintf(status, sizeof(status), "HTTP/1.1 %d ", plain[i].status);
        if ((strncmp(answer, status, strlen(status)) != 0 &&
             strncmp(answer, "HTTP/1.0 400", 12) != 0) ||
            !strstr(answer, plain[i].has))
            fail_msg("%s: %s", plain[i].request, answer);
    }
    assert_int_equal(server_stop(), 0);
}

static void answers_come_whole_and_in_pieces(void **state)
{
    char expected[64], quoted[80], text[64] = "";
    const char *answer, *at;

    (void)state;
    server_start((struct fake){.slots = 2, .context = CONTEXT}, 4);
    answer = ask(post_text("/v1/chat/completions",
                           "{\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}],"
                           "\"max_tokens\":20}"));
    fake_answer("user:hello\n", 20, expected);
    snprintf(quoted, sizeof(quoted), "\"content\":\"%s\"}", expected);
    assert_non_null(strstr(answer, quoted));
    assert_non_null(strstr(answer, "\"finish_reason\":\"length\""));
    assert_non_null(strstr(answer, "\"usage\":{\"prompt_tokens\":11,\"completion_tokens\":20,"
                                   "\"total_tokens\":31,"));
    assert_non_null(strstr(answer, "\"tokens_per_sec\":"));

    answer = ask(post_text("/v1/completions", "{\"prompt\":\"raw\",\"max_tokens\":20,"
                                              "\"stream\":true,"
                                              "\"stream_options\":{\"include_usage\":true}}"));
    fake_answer("raw", 20, expected);
    for (at = answer; (at = strstr(at, "\"text\":\"")); at++)
        strncat(text, at + 8, strcspn(at + 8, "\""));
    assert_string_equal(text, expected);
    assert_non_null(strstr(answer, "Content-Type: text/event-stream"));
    assert_non_null(strstr(answer, "\"choices\":[],\"usage\":{\"prompt_tokens\":3,"));
    assert_non_null(strstr(answer, "data: [DONE]\n\n"));
    assert_true(has("/metrics", "llm_requests_total{code=\"200\"} 2\n"));
    assert_true(has("/metrics", "llm_answer_tokens_total 40\n"));
    assert_true(has("/metrics", "llm_token_seconds_count 38\n"));
    assert_int_equal(server_stop(), 0);
}

/* The texts of the choice `index` in the events of a stream, or in a whole answer. */
static const char *choice_text(const char *answer, int index)
{
    static char text[256];
    char begin[64];

    text[0] = '\0';
    snprintf(begin, sizeof(begin), "{\"index\":%d,\"text\":\"", index);
    for (const char *at = answer; (at = strstr(at, begin)); at++)
        strncat(text, at + strlen(begin), strcspn(at + strlen(begin), "\""));
    return text;
}

static int times(const char *answer, const char *what)
{
    int n = 0;

    while ((answer = strstr(answer, what))) {
        answer++;
        n++;
    }
    return n;
}

/* Texts and tokens in one request, each answered twice: all have the answer that each has alone. */
static void several_prompts_and_choices(void **state)
{
    static const char *const prompts[] = {"one", "AB", "three"};
    char body[256], expected[64];
    const char *answer;

    (void)state;
    server_start((struct fake){.slots = 2, .context = CONTEXT, .step_us = 100}, 4);
    for (int is_stream = 0; is_stream < 2; is_stream++) {
        snprintf(body, sizeof(body),
                 "{\"prompt\":[\"one\",[65,66],\"three\"],\"n\":2,\"max_tokens\":20,"
                 "\"stream\":%s,\"stream_options\":{\"include_usage\":true}}",
                 is_stream ? "true" : "false");
        answer = ask(post_text("/v1/completions", body));
        for (int i = 0; i < 6; i++) {
            fake_answer(prompts[i / 2], 20, expected);
            assert_string_equal(choice_text(answer, i), expected);
        }
        assert_int_equal(times(answer, "\"finish_reason\":\"length\""), 6);
        assert_int_equal(times(answer, "\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":120,"
                                       "\"total_tokens\":130,"),
                         1);
        assert_int_equal(times(answer, "data: [DONE]\n\n"), is_stream);
    }
    answer = ask(post_text("/v1/chat/completions",
                           "{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"n\":3,"
                           "\"max_tokens\":5,\"stream\":true}"));
    for (int i = 0; i < 3; i++) {
        char first[80];

        snprintf(first, sizeof(first), "{\"index\":%d,\"delta\":{\"role\":\"assistant\"", i);
        assert_int_equal(times(answer, first), 1);
    }
    assert_int_equal(times(answer, "data: [DONE]\n\n"), 1);
    assert_true(has("/metrics", "llm_requests_total{code=\"200\"} 3\n"));
    assert_int_equal(server_stop(), 0);
}

/* A request waits for room for all of its choices. A client that leaves frees all of them. */
static void choices_that_have_no_room(void **state)
{
    int streaming;

    (void)state;
    server_start((struct fake){.slots = 2, .context = CONTEXT, .step_us = 2000}, 4);
    assert_non_null(strstr(ask(post_text("/v1/completions", "{\"prompt\":\"x\",\"n\":7}")),
                           "\"message\":\"the request asks for 7 answers; this server takes 6 at "
                           "most at a time\",\"type\":\"invalid_request_error\",\"param\":\"n\""));
    assert_non_null(strstr(ask(post_text("/v1/completions", "{\"prompt\":[\"x\",[1,257]]}")),
                           "token 257 is not in the vocabulary of 257 tokens"));
    streaming = dial();
    say(streaming, post_text("/v1/completions", "{\"prompt\":\"x\",\"max_tokens\":2000,"
                                                "\"stream\":true,\"n\":4}"));
    hear(streaming, "data: ");
    wait_until("/queue", "\"size\":2");
    assert_memory_equal(ask(post_text("/v1/completions", "{\"prompt\":\"x\",\"n\":3}")),
                        "HTTP/1.1 429 ", 13);
    assert_memory_equal(
        ask(post_text("/v1/completions", "{\"prompt\":\"x\",\"n\":3,\"stream\":true}")),
        "HTTP/1.1 429 ", 13);
    close(streaming);
    wait_until("/queue", "\"size\":0");
    wait_until("/health", "\"slots_busy\":0");
    assert_true(has("/metrics", "llm_requests_left_total 1\n"));
    assert_int_equal(server_stop(), 0);
}

/* The stand-in says letters and spaces alone, so all but spaces is the shortest way to the end. */
static void an_answer_in_json_is_an_object(void **state)
{
    const char *answer, *text;

    (void)state;
    server_start((struct fake){.slots = 1, .context = CONTEXT}, 4);
    answer = ask(post_text("/v1/completions", "{\"prompt\":\"x\",\"max_tokens\":50,"
                                              "\"response_format\":{\"type\":\"json_object\"}}"));
    text = choice_text(answer, 0);
    text += strspn(text, " ");
    assert_int_equal(*text, '{');
    text += 1 + strspn(text + 1, " ");
    assert_string_equal(text, "}");
    assert_non_null(strstr(answer, "\"finish_reason\":\"stop\""));
    assert_int_equal(server_stop(), 0);
}

static void what_does_not_fit_is_refused(void **state)
{
    static char body[4096];
    char prompt[2100];

    (void)state;
    server_start((struct fake){.slots = 1, .context = CONTEXT}, 4);
    memset(prompt, 'x', 2099);
    prompt[2099] = '\0';
    snprintf(body, sizeof(body), "{\"prompt\":\"%s\"}", prompt);
    assert_non_null(strstr(ask(post_text("/v1/completions", body)),
                           "exceed_context_size_error\",\"param\":\"prompt\",\"code\":400,"
                           "\"n_prompt_tokens\":2049,\"n_ctx\":2048"));
    prompt[2040] = '\0'; /* 8 tokens are left */
    snprintf(body, sizeof(body), "{\"prompt\":\"%s\",\"max_tokens\":100}", prompt);
    assert_non_null(strstr(ask(post_text("/v1/completions", body)), "\"completion_tokens\":8,"));
    assert_non_null(
        strstr(ask(post_text("/v1/completions", "{\"prompt\":\"\"}")), "the prompt is empty"));
    assert_non_null(strstr(
        ask(post_text("/v1/chat/completions", "{\"messages\":[{\"role\":\"user\",\"content\":"
                                              "\"unrenderable\"}]}")),
        "no template"));
    assert_int_equal(server_stop(), 0);
}

/* The processor's time that the server's loop has had. */
static double loop_ms(void)
{
    struct timespec t;
    clockid_t clock;

    assert_int_equal(pthread_getcpuclockid(server.thread, &clock), 0);
    assert_int_equal(clock_gettime(clock, &t), 0);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Sends a body as long as one may be, with as many `pieces` as it has room for, and returns the
 * answer. */
static const char *ask_much(const char *path, const char *begin, const char *piece, const char *end)
{
    enum { SIZE = HTTP_BODY_MOST };
    size_t used = strlen(begin), length = strlen(piece), room;
    char *body = malloc(SIZE + 1), head[200];
    const char *answer;
    int fd = dial();

    assert_non_null(body);
    room = (SIZE - 1 - used - strlen(end)) / length * length;
    for (size_t i = 0; i < used + room; i++) {
        if (i < used)
            body[i] = begin[i];
        else
            body[i] = piece[(i - used) % length];
    }
    snprintf(body + used + room, SIZE + 1 - used - room, "%s", end);
    snprintf(head, sizeof(head),
             "POST %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
             "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
             path, strlen(body));
    say(fd, head);
    say(fd, body);
    answer = hear(fd, NULL);
    close(fd);
    free(body);
    return answer;
}

/* Whatever a client sends, the loop goes on for all others. */
static void long_bodies_are_read_beside_the_loop(void **state)
{
    static const struct {
        const char *path, *begin, *piece, *end, *answer;
    } cases[] = {
        {"/v1/completions", "{\"prompt\":[0", ",0", "]}", "exceed_context_size_error"},
        {"/v1/completions", "{\"prompt\":\"", "\\u0041", "\"}", "exceed_context_size_error"},
        {"/v1/completions", "{\"prompt\":\"x\",\"stop\":[\"a\"", ",\"a\"", "]}", "are the most"},
        {"/v1/completions", "{\"prompt\":\"x\",\"other\":[1", ",[]", "]", "is not JSON"},
        {"/v1/completions", "{\"prompt\":\"x\",\"logit_bias\":{\"0\":1", ",\"1\":1", "}}",
         "logit_bias is not supported"},
        {"/v1/chat/completions", "{\"messages\":[{}", ",{\"role\":\"user\",\"content\":\"x\"}",
         "]}", "are the most"},
        {"/v1/chat/completions", "{\"messages\":[{\"role\":\"user\",\"content\":\"", "word ",
         "\"}]}", "exceed_context_size_error"},
    };
    double begin, transport_ms;

    (void)state;
    server_start((struct fake){.slots = 1, .context = CONTEXT}, 4);
    /* What as many bytes take the loop on their way from the socket, here and now. */
    begin = loop_ms();
    ask_much("/v1/completions", "{\"prompt\":\"x\"", " ", "}");
    transport_ms = loop_ms() - begin;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *answer;

        begin = loop_ms();
        answer = ask_much(cases[i].path, cases[i].begin, cases[i].piece, cases[i].end);
        if (!strstr(answer, cases[i].answer))
            fail_msg("%s%s: %.200s", cases[i].begin, cases[i].piece, answer);
        if (loop_ms() - begin > 2 * transport_ms + 50)
            fail_msg("%s%s took the loop %.0f ms, and blanks %.0f ms", cases[i].begin,
                     cases[i].piece, loop_ms() - begin, transport_ms);
    }
    assert_int_equal(server_stop(), 0);
}

/* The answer comes although the client has not sent all of it when the server knows. */
static void a_body_beyond_the_limit_is_refused(void **state)
{
    char *body = malloc(HTTP_BODY_MOST + 2), head[200];
    int fd;

    (void)state;
    server_start((struct fake){.slots = 1, .context = CONTEXT}, 4);
    memset(body, ' ', HTTP_BODY_MOST + 1);
    memcpy(body, "{\"prompt\":\"x\"}", 14);
    for (int more = 0; more < 2; more++) {
        body[HTTP_BODY_MOST + more] = '\0';
        fd = dial();
        snprintf(head, sizeof(head),
                 "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                 "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n",
                 HTTP_BODY_MOST + more);
        say(fd, head);
        say(fd, body);
        assert_memory_equal(hear(fd, NULL), more ? "HTTP/1.1 413 " : "HTTP/1.1 200 ", 13);
        close(fd);
        body[HTTP_BODY_MOST] = ' ';
    }
    free(body);
    assert_int_equal(server_stop(), 0);
}

/* 20 at once: one slot and four places; each is answered, and the counts add up. */
static void a_full_queue_says_so(void **state)
{
    int fds[20], answered = 0, refused = 0;

    (void)state;
    server_start((struct fake){.slots = 1, .context = CONTEXT, .step_us = 1000}, 4);
    for (int i = 0; i < 20; i++) {
        fds[i] = dial();
        say(fds[i], post_text("/v1/completions", "{\"prompt\":\"x\",\"max_tokens\":100}"));
    }
    wait_until("/queue", "\"size\":4");
    for (int i = 0; i < 20; i++) {
        const char *answer = hear(fds[i], NULL);

        if (strncmp(answer, "HTTP/1.1 200 ", 13) == 0) {
            answered++;
        } else {
            refused++;
            assert_memory_equal(answer, "HTTP/1.1 429 ", 13);
            assert_non_null(strstr(answer, "\r\nRetry-After: "));
            assert_non_null(strstr(answer, "rate_limit_error"));
        }
        close(fds[i]);
    }
    assert_int_equal(answered, 5);
    assert_int_equal(refused, 15);
    wait_until("/queue", "\"size\":0");
    assert_int_equal(server_stop(), 0);
}

/* One slot is taken; others wait. Whoever leaves frees what it had, and disturbs nobody. */
static void clients_that_leave_are_noticed(void **state)
{
    static const char long_one[] = "{\"prompt\":\"x\",\"max_tokens\":2000,\"stream\":true}";
    static const char short_one[] = "{\"prompt\":\"y\",\"max_tokens\":10}";
    int streaming, queued, patient;

    (void)state;
    server_start((struct fake){.slots = 1, .context = CONTEXT, .step_us = 2000}, 4);
    streaming = dial();
    say(streaming, post_text("/v1/completions", long_one));
    hear(streaming, "data: ");
    queued = dial();
    say(queued, post_text("/v1/completions", short_one));
    say(queued, "G"); /* one byte of a next request */
    patient = dial();
    say(patient, post_text("/v1/completions", short_one));
    wait_until("/queue", "\"size\":2");
    close(queued);
    wait_until("/queue", "\"size\":1");
    assert_true(has("/health", "\"slots_busy\":1"));
    close(streaming);
    assert_non_null(strstr(hear(patient, NULL), "\"completion_tokens\":10"));
    close(patient);
    wait_until("/health", "\"slots_busy\":0");
    assert_true(has("/metrics", "llm_requests_left_total 2\n"));
    assert_int_equal(server_stop(), 0);
}

static void a_client_that_leaves_during_its_prompt_is_noticed(void **state)
{
    static char body[3000];
    char prompt[2000];
    unsigned rows;
    int fd;

    (void)state;
    server_start((struct fake){.slots = 1, .context = CONTEXT, .step_us = 50000}, 4);
    memset(prompt, 'x', sizeof(prompt) - 1);
    prompt[sizeof(prompt) - 1] = '\0';
    snprintf(body, sizeof(body), "{\"prompt\":\"%s\"}", prompt);
    fd = dial();
    say(fd, post_text("/v1/completions", body));
    wait_until("/health", "\"slots_busy\":1");
    close(fd);
    wait_until("/health", "\"slots_busy\":0");
    rows = fake_rows();
    assert_true(rows < 1900);
    assert_int_equal(server_stop(), 0);
}

/* A reader that takes nothing is cut when too much waits for it; the others are answered. */
static void a_reader_that_takes_nothing_is_bounded(void **state)
{
    int small = 4096, slow = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    (void)state;
    server_start((struct fake){.slots = 2, .context = FAKE_CONTEXT_MOST, .step_us = 20}, 4);
    setsockopt(slow, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    a.sin_port = htons(server.config.port);
    assert_int_equal(connect(slow, (struct sockaddr *)&a, sizeof(a)), 0);
    say(slow, post_text("/v1/chat/completions",
                        "{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"stream\":true}"));
    wait_until("/metrics", "llm_requests_total{code=\"200\"} 1\n");
    assert_non_null(strstr(ask(post_text("/v1/completions", "{\"prompt\":\"y\"}")),
                           "\"completion_tokens\":16"));
    wait_until("/metrics", "llm_requests_left_total 1\n");
    wait_until("/health", "\"slots_busy\":0");
    close(slow);
    assert_int_equal(server_stop(), 0);
}

/* Its own answer may be cut: a connection that is closed with bytes unread is reset. */
static void bytes_while_streaming_harm_nobody_else(void **state)
{
    char more[4096];
    int fd;

    (void)state;
    server_start((struct fake){.slots = 1, .context = CONTEXT, .step_us = 500}, 4);
    fd = dial();
    say(fd, post_text("/v1/completions", "{\"prompt\":\"x\",\"max_tokens\":200,\"stream\":true}"));
    hear(fd, "data: ");
    memset(more, 'G', sizeof(more) - 1);
    more[sizeof(more) - 1] = '\0';
    for (int i = 0; i < 16; i++)
        say(fd, more);
    hear(fd, NULL);
    close(fd);
    assert_non_null(strstr(ask(post_text("/v1/completions", "{\"prompt\":\"y\"}")),
                           "\"completion_tokens\":16"));
    assert_int_equal(server_stop(), 0);
}

static void connections_are_bounded(void **state)
{
    int fds[300];

    (void)state;
    server_start((struct fake){.slots = 1, .context = CONTEXT}, 4);
    for (int i = 0; i < 300; i++) {
        fds[i] = dial();
        assert_true(fds[i] >= 0); /* the kernel accepts those that wait */
    }
    wait_until("/metrics", "\nllm_connections 256\n"); /* the oldest give way to this one */
    for (int i = 0; i < 300; i++)
        close(fds[i]);
    wait_until("/metrics", "\nllm_connections 1\n");
    assert_int_equal(server_stop(), 0);
}

static void one_connection_serves_many_requests(void **state)
{
    char text[256], body[70000], head[200];
    int fd;

    (void)state;
    server_start((struct fake){.slots = 1, .context = CONTEXT}, 4);
    fd = dial();
    for (int i = 0; i < 3; i++) {
        const char *small = "{\"prompt\":\"x\",\"stream\":true}";

        snprintf(
            text, sizeof(text),
            "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            "Content-Length: %zu\r\n\r\n%s",
            strlen(small), small);
        say(fd, text);
        assert_non_null(strstr(hear(fd, "[DONE]\n\n\r\n0\r\n\r\n"), "[DONE]"));
    }
    /* After a stream, a body that is longer than what may come during one. */
    memset(body, ' ', sizeof(body) - 1);
    body[sizeof(body) - 1] = '\0';
    memcpy(body, "{\"prompt\":\"x\"}", 14);
    snprintf(
        head, sizeof(head),
        "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "Content-Length: %zu\r\n\r\n",
        strlen(body));
    say(fd, head);
    say(fd, body);
    assert_non_null(strstr(hear(fd, "first_token_seconds"), "\"completion_tokens\":16"));
    close(fd);
    assert_int_equal(server_stop(), 0);
}

static void a_lost_rank_is_told_to_everyone(void **state)
{
    int streaming, waiting, queued, status;
    const char *answer;

    (void)state;
    server_start(
        (struct fake){.slots = 1, .context = CONTEXT, .step_us = 2000, .fail_at_step = 200}, 4);
    streaming = dial();
    say(streaming,
        post_text("/v1/completions", "{\"prompt\":\"x\",\"max_tokens\":2000,\"stream\":true}"));
    hear(streaming, "data: ");
    waiting = dial();
    say(waiting, post_text("/v1/completions", "{\"prompt\":\"y\",\"max_tokens\":2000}"));
    queued = dial();
    say(queued, post_text("/v1/completions", "{\"prompt\":\"y\",\"stream\":true}"));
    answer = hear(streaming, NULL);
    assert_non_null(strstr(answer, "data: {\"error\":{\"message\":\"rank 1 on host b was killed by "
                                   "SIGKILL\",\"type\":\"unavailable_error\",\"param\":null,"
                                   "\"code\":503}}\n\n"));
    assert_null(strstr(answer, "[DONE]"));
    for (int i = 0; i < 2; i++) {
        answer = hear(i ? queued : waiting, NULL);
        assert_memory_equal(answer, "HTTP/1.1 503 ", 13);
        assert_non_null(strstr(answer, "Retry-After: 3\r\n"));
        assert_non_null(strstr(answer, "rank 1 on host b was killed by SIGKILL"));
    }
    status = server_wait();
    assert_int_equal(status, 1);
    close(streaming);
    close(waiting);
    close(queued);
}

static void a_signal_cuts_what_runs(void **state)
{
    const char *answer;
    int fd;

    (void)state;
    server_start((struct fake){.slots = 1, .context = CONTEXT, .step_us = 2000}, 4);
    fd = dial();
    say(fd, post_text("/v1/completions", "{\"prompt\":\"x\",\"max_tokens\":2000,\"stream\":true}"));
    hear(fd, "data: ");
    assert_int_equal(server_stop(), 0);
    answer = hear(fd, NULL);
    assert_non_null(strstr(answer, "the server is stopping"));
    assert_null(strstr(answer, "[DONE]"));
    assert_int_equal(fake_ends(), 1);
    close(fd);
    assert_int_equal(dial(), -1);
}

static void a_port_that_is_taken_is_an_error(void **state)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    socklen_t length = sizeof(a);

    (void)state;
    server_start((struct fake){.slots = 1, .context = CONTEXT}, 4);
    server_stop();
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    listen(fd, 1);
    getsockname(fd, (struct sockaddr *)&a, &length);
    server.config.port = ntohs(a.sin_port);
    fake_clear();
    assert_int_equal(service_run(&server.config, server.error, sizeof(server.error)), 2);
    assert_non_null(strstr(server.error, "Address already in use; choose another one with --port"));
    assert_int_equal(fake_ends(), 1); /* the other ranks were let go */
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_and_refusals),
        cmocka_unit_test(answers_come_whole_and_in_pieces),
        cmocka_unit_test(several_prompts_and_choices),
        cmocka_unit_test(choices_that_have_no_room),
        cmocka_unit_test(an_answer_in_json_is_an_object),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(long_bodies_are_read_beside_the_loop),
        cmocka_unit_test(a_body_beyond_the_limit_is_refused),
        cmocka_unit_test(a_full_queue_says_so),
        cmocka_unit_test(clients_that_leave_are_noticed),
        cmocka_unit_test(a_client_that_leaves_during_its_prompt_is_noticed),
        cmocka_unit_test(a_reader_that_takes_nothing_is_bounded),
        cmocka_unit_test(bytes_while_streaming_harm_nobody_else),
        cmocka_unit_test(connections_are_bounded),
        cmocka_unit_test(one_connection_serves_many_requests),
        cmocka_unit_test(a_lost_rank_is_told_to_everyone),
        cmocka_unit_test(a_signal_cuts_what_runs),
        cmocka_unit_test(a_port_that_is_taken_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
