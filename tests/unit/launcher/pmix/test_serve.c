/* SPDX-License-Identifier: MIT */
/*
 * test_serve.c: mlaunch-pmix between libpmix, whose server is a stand-in here, and its agent, which
 * is the test: what ranks ask for goes to the agent or the other host, and comes back to those who
 * have asked; what makes no sense is refused. The job has ranks 0 and 1 here, 2 and 3 on host b.
 */
#include "launcher/pmix/serve.h"

#include "common/text/parsed_json.h"
#include "launcher/pmix/forwarder.h"
#include "launcher/pmix/job_info.h"
#include "launcher/wire/protocol/pmix_protocol.h"

#include <arpa/inet.h>
#include <pmix_server.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define JOB                                                                                        \
    "{\"space\":\"job-0\",\"dir\":\"/nowhere\",\"size\":4,\"hosts\":2,\"host\":0,"                 \
    "\"app_count\":1,\"names\":[\"a\",\"b\"],\"host_of\":[0,0,1,1],\"ranks\":[0,1],"               \
    "\"apps\":[0,0]}"

enum { FENCES_MOST = 8, HERE = 0, THERE = 1 /* hosts */ };

static struct served_job job;
static int agent; /* its end of the socket */
static struct frame_reader *reader;

/* --- the stand-in for libpmix's server -------------------------------------------------------- */

static pmix_server_module_t *server;
static pmix_status_t server_status = PMIX_SUCCESS, modex_status = PMIX_SUCCESS;
static pmix_dmodex_response_fn_t modex_answer; /* the last request's */
static void *modex_arg;
static pmix_rank_t modex_rank;

pmix_status_t __wrap_PMIx_server_init(pmix_server_module_t *module, pmix_info_t info[],
                                      size_t count);
void __wrap_PMIx_Register_event_handler(pmix_status_t codes[], size_t code_count,
                                        pmix_info_t info[], size_t info_count,
                                        pmix_notification_fn_t on_event,
                                        pmix_hdlr_reg_cbfunc_t done, void *arg);
pmix_status_t __wrap_PMIx_server_dmodex_request(const pmix_proc_t *proc,
                                                pmix_dmodex_response_fn_t answer, void *arg);

pmix_status_t __wrap_PMIx_server_init(pmix_server_module_t *module, pmix_info_t info[],
                                      size_t count)
{
    (void)info;
    assert_true(count > 0);
    server = module;
    return server_status;
}

void __wrap_PMIx_Register_event_handler(pmix_status_t codes[], size_t code_count,
                                        pmix_info_t info[], size_t info_count,
                                        pmix_notification_fn_t on_event,
                                        pmix_hdlr_reg_cbfunc_t done, void *arg)
{
    (void)codes, (void)code_count, (void)info, (void)info_count, (void)done, (void)arg;
    assert_non_null(on_event);
}

pmix_status_t __wrap_PMIx_server_dmodex_request(const pmix_proc_t *proc,
                                                pmix_dmodex_response_fn_t answer, void *arg)
{
    assert_string_equal(proc->nspace, job.space);
    modex_rank = proc->rank;
    modex_answer = answer;
    modex_arg = arg;
    return modex_status;
}

/* The stand-in for job_info.c, which tells libpmix about the job. */
int job_info_register(const struct served_job *j, struct fault *why)
{
    (void)why;
    assert_int_equal(j->rank_count, 2);
    return 0;
}

json_t *job_info_environment(const struct served_job *j, int index, struct fault *why)
{
    (void)why;
    return json_pack("[s]", j->ranks[index].rank ? "RANK=1" : "RANK=0");
}

/* What libpmix is told. */
static struct {
    int calls;
    pmix_status_t status;
    char bytes[64];
    size_t size;
    const char *key;
    pmix_rank_t owner;
    pmix_data_type_t type;
} told;

static void on_answer(pmix_status_t status, const char *bytes, size_t size, void *arg,
                      pmix_release_cbfunc_t release, void *release_arg)
{
    assert_ptr_equal(arg, &told);
    told.calls++;
    told.status = status;
    told.size = size;
    assert_true(size <= sizeof(told.bytes));
    if (size)
        memcpy(told.bytes, bytes, size);
    if (release)
        release(release_arg);
}

static void on_done(pmix_status_t status, void *arg)
{
    assert_ptr_equal(arg, &told);
    told.calls++;
    told.status = status;
}

static void on_found(pmix_status_t status, pmix_pdata_t data[], size_t count, void *arg)
{
    assert_ptr_equal(arg, &told);
    told.calls++;
    told.status = status;
    told.size = 0;
    if (count == 0)
        return;
    assert_int_equal(count, 1);
    told.owner = data[0].proc.rank;
    told.type = data[0].value.type;
    told.size =
        told.type == PMIX_STRING ? strlen(data[0].value.data.string) : data[0].value.data.bo.size;
    assert_true(told.size <= sizeof(told.bytes));
    memcpy(told.bytes,
           told.type == PMIX_STRING ? data[0].value.data.string : data[0].value.data.bo.bytes,
           told.size);
}

static void expect_told(int calls, pmix_status_t status, const char *bytes)
{
    assert_int_equal(told.calls, calls);
    assert_int_equal(told.status, status);
    assert_int_equal(told.size, strlen(bytes));
    assert_memory_equal(told.bytes, bytes, told.size);
    memset(&told, 0, sizeof(told));
}

/* --- the stand-in for the agent --------------------------------------------------------------- */

/* False: nothing was sent to it. */
static bool frame_next(struct frame *f)
{
    struct fault why = {0};
    char bytes[4096];
    int rc;

    while ((rc = frame_reader_next(reader, f, &why)) == 0) {
        ssize_t n = recv(agent, bytes, sizeof(bytes), MSG_DONTWAIT);

        if (n <= 0)
            return false;
        assert_int_equal(frame_reader_feed(reader, bytes, (size_t)n, &why), 0);
    }
    assert_int_equal(rc, 1);
    return true;
}

static bool agent_hears_nothing(void)
{
    struct frame f;

    return !frame_next(&f);
}

static void handle(void)
{
    struct fault why = {0};

    if (serve_queue(&why))
        fail_msg("%s", why.text);
}

static struct frame frame_hear(int type)
{
    struct frame f;

    assert_true(frame_next(&f));
    assert_int_equal(f.type, type);
    return f;
}

static void expect_json(int type, const char *text)
{
    struct frame f = frame_hear(type);
    json_t *came = parsed_json((const char *)f.payload, f.size, 0, NULL);
    json_t *expected = json_loads(text, 0, NULL);

    assert_non_null(expected);
    if (!json_equal(came, expected))
        fail_msg("%.*s instead of %s", (int)f.size, (const char *)f.payload, text);
    json_decref(came);
    json_decref(expected);
}

/* A PASS to host b: its words after the host's number, and what follows them. Returns the number of
 * the question. */
static uint32_t expect_pass(uint32_t kind, uint32_t rank, const char *bytes)
{
    struct frame f = frame_hear(HELPER_PASS);
    uint32_t words[4];

    assert_true(f.size >= sizeof(words));
    memcpy(words, f.payload, sizeof(words));
    assert_int_equal(ntohl(words[0]), THERE);
    assert_int_equal(ntohl(words[1]), kind);
    assert_int_equal(ntohl(words[3]), rank);
    assert_int_equal(f.size - sizeof(words), strlen(bytes));
    assert_memory_equal(f.payload + sizeof(words), bytes, strlen(bytes));
    return ntohl(words[2]);
}

static int say(int type, const void *payload, size_t size, struct fault *why)
{
    struct frame f = {.type = (uint8_t)type, .size = (uint32_t)size};
    int rc;

    f.payload = malloc(size + 1); /* not a byte more, for ASan */
    assert_non_null(f.payload);
    if (size)
        memcpy(f.payload, payload, size);
    f.payload[size] = '\0';
    why->text[0] = '\0';
    rc = serve_frame(&f, why);
    free(f.payload);
    return rc;
}

static void expect_refused(int type, const void *payload, size_t size, const char *text)
{
    struct fault why;

    assert_int_equal(say(type, payload, size, &why), ML_ERR_REFUSED);
    assert_string_equal(why.text, text);
    assert_true(agent_hears_nothing());
}

/* `words`: in host byte order. */
static size_t pack(char out[128], const uint32_t *words, int count, const void *bytes, size_t size)
{
    for (int i = 0; i < count; i++) {
        uint32_t word = htonl(words[i]);

        memcpy(out + 4 * i, &word, 4);
    }
    if (size)
        memcpy(out + 4 * count, bytes, size);
    return 4 * (size_t)count + size;
}

static void say_words(int type, const uint32_t *words, int count, const char *bytes)
{
    struct fault why;
    char payload[128];

    if (say(type, payload, pack(payload, words, count, bytes, strlen(bytes)), &why))
        fail_msg("%s", why.text);
}

#define SAY(TYPE, BYTES, ...)                                                                      \
    say_words(TYPE, (const uint32_t[]){__VA_ARGS__},                                               \
              sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), BYTES)

static pmix_proc_t proc_of(const char *space, pmix_rank_t rank)
{
    pmix_proc_t p;

    PMIX_LOAD_PROCID(&p, space, rank);
    return p;
}

static int setup(void **state)
{
    struct fault why = {0};
    int pair[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    agent = pair[1];
    assert_int_equal(frame_reader_create(&reader, FRAME_LIMIT, &why), 0);
    assert_int_equal(served_job_parse(&job, JOB, strlen(JOB), &why), 0);
    assert_int_equal(serve_open(&job, pair[0], &why), 0);
    return 0;
}

/* In a process of its own, as one process has one server. */
static void test_no_server(void **state)
{
    static const char text[] = "libpmix cannot start its server: ";
    struct fault why = {0};
    int status;
    pid_t child;

    (void)state;
    child = fork();
    if (child == 0) {
        server_status = PMIX_ERR_INIT;
        status = serve_open(&job, agent, &why);
        _exit(status == ML_ERR_SYSTEM && strncmp(why.text, text, strlen(text)) == 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void test_announce(void **state)
{
    struct fault why = {0};

    (void)state;
    assert_int_equal(serve_announce(&why), 0);
    expect_json(HELPER_READY, "{\"env\":[[\"RANK=0\"],[\"RANK=1\"]]}");
}

/* --- fences ----------------------------------------------------------------------------------- */

static pmix_status_t fence_start(char *bytes, size_t size)
{
    const pmix_proc_t all = proc_of(job.space, PMIX_RANK_WILDCARD);

    return server->fence_nb(&all, 1, NULL, 0, bytes, size, on_answer, &told);
}

static uint32_t expect_fence(const char *bytes)
{
    struct frame f = frame_hear(HELPER_FENCE);
    uint32_t number;

    assert_int_equal(f.size, 4 + strlen(bytes));
    memcpy(&number, f.payload, 4);
    assert_memory_equal(f.payload + 4, bytes, strlen(bytes));
    return ntohl(number);
}

static void test_fences(void **state)
{
    uint32_t first, second;

    (void)state;
    assert_int_equal(fence_start((char *)(uintptr_t) "mine", 4), PMIX_SUCCESS);
    assert_true(agent_hears_nothing()); /* it is the main thread that tells */
    handle();
    first = expect_fence("mine");
    assert_int_equal(fence_start(NULL, 0), PMIX_SUCCESS);
    handle();
    second = expect_fence("");
    assert_int_equal(second, first + 1);
    SAY(HELP_FENCED, "of all", second);
    expect_told(1, PMIX_SUCCESS, "of all");
    SAY(HELP_FENCED, "", first);
    expect_told(1, PMIX_SUCCESS, "");
}

static void test_fence_of_others(void **state)
{
    pmix_proc_t procs[4];

    (void)state;
    for (pmix_rank_t i = 0; i < 4; i++)
        procs[i] = proc_of(job.space, i);
    assert_int_equal(server->fence_nb(procs, 3, NULL, 0, NULL, 0, on_answer, &told),
                     PMIX_ERR_NOT_SUPPORTED);
    procs[3] = proc_of("job-1", 3);
    assert_int_equal(server->fence_nb(procs, 4, NULL, 0, NULL, 0, on_answer, &told),
                     PMIX_ERR_NOT_SUPPORTED);
    procs[3] = proc_of(job.space, 3);
    assert_int_equal(server->fence_nb(procs, 4, NULL, 0, NULL, 0, on_answer, &told), PMIX_SUCCESS);
    handle();
    SAY(HELP_FENCED, "", expect_fence(""));
    expect_told(1, PMIX_SUCCESS, "");
}

static void test_fences_most(void **state)
{
    uint32_t numbers[FENCES_MOST];

    (void)state;
    for (int i = 0; i < FENCES_MOST; i++) {
        assert_int_equal(fence_start(NULL, 0), PMIX_SUCCESS);
        handle();
        numbers[i] = expect_fence("");
    }
    assert_int_equal(fence_start(NULL, 0), PMIX_SUCCESS);
    handle();
    expect_told(1, PMIX_ERR_OUT_OF_RESOURCE, "");
    assert_true(agent_hears_nothing());
    for (int i = FENCES_MOST - 1; i >= 0; i--)
        SAY(HELP_FENCED, "", numbers[i]);
    expect_told(FENCES_MOST, PMIX_SUCCESS, "");
}

static void test_fence_refused(void **state)
{
    static const char text[] = "the agent answers a fence that is not under way";
    uint32_t number;
    char payload[128];

    (void)state;
    assert_int_equal(fence_start(NULL, 0), PMIX_SUCCESS);
    handle();
    number = expect_fence("");
    expect_refused(HELP_FENCED, NULL, 0, text);
    expect_refused(HELP_FENCED, "\0\0\1", 3, text);
    expect_refused(HELP_FENCED, "\0\0\0\0", 4, text);
    expect_refused(HELP_FENCED, "\xff\xff\xff\xff", 4, text);
    SAY(HELP_FENCED, "", number);
    expect_told(1, PMIX_SUCCESS, "");
    expect_refused(HELP_FENCED, payload, pack(payload, &number, 1, NULL, 0), text); /* again */
    assert_int_equal(told.calls, 0);
}

/* --- what ranks have put ---------------------------------------------------------------------- */

static pmix_status_t want(const char *space, pmix_rank_t rank)
{
    const pmix_proc_t proc = proc_of(space, rank);

    return server->direct_modex(&proc, NULL, 0, on_answer, &told);
}

static void test_wanted(void **state)
{
    uint32_t first, second;

    (void)state;
    assert_int_equal(want(job.space, 3), PMIX_SUCCESS);
    assert_int_equal(want(job.space, 2), PMIX_SUCCESS);
    handle();
    first = expect_pass(FORWARDER_MODEX, 3, "");
    second = expect_pass(FORWARDER_MODEX, 2, "");
    SAY(HELP_PASSED, "put", THERE, FORWARDER_ANSWER, second, 0);
    expect_told(1, PMIX_SUCCESS, "put");
    /* Answers to no question, and by another host, are ignored. */
    SAY(HELP_PASSED, "put", THERE, FORWARDER_ANSWER, second, 0);
    SAY(HELP_PASSED, "put", HERE, FORWARDER_ANSWER, first, 0);
    SAY(HELP_PASSED, "put", THERE, FORWARDER_ANSWER, 0, 0);
    assert_int_equal(told.calls, 0);
    SAY(HELP_PASSED, "put", THERE, FORWARDER_ANSWER, first, 1); /* it is not known */
    expect_told(1, PMIX_ERR_NOT_FOUND, "");
    assert_int_equal(want(job.space, 1), PMIX_ERR_NOT_FOUND); /* libpmix has it itself */
    assert_int_equal(want(job.space, 4), PMIX_ERR_NOT_FOUND);
    assert_int_equal(want(job.space, PMIX_RANK_WILDCARD), PMIX_ERR_NOT_FOUND);
    assert_int_equal(want("job-1", 3), PMIX_ERR_NOT_FOUND);
    handle();
    assert_true(agent_hears_nothing());
}

static void test_asked(void **state)
{
    (void)state;
    SAY(HELP_PASSED, "", THERE, FORWARDER_MODEX, 70, 1);
    assert_int_equal(modex_rank, 1);
    assert_true(agent_hears_nothing());
    modex_answer(PMIX_SUCCESS, (char *)(uintptr_t) "mine", 4, modex_arg);
    handle();
    assert_int_equal(expect_pass(FORWARDER_ANSWER, 0, "mine"), 70);
    SAY(HELP_PASSED, "", THERE, FORWARDER_MODEX, 71, 0);
    modex_answer(PMIX_ERR_NOT_FOUND, NULL, 0, modex_arg);
    handle();
    assert_int_equal(expect_pass(FORWARDER_ANSWER, 1, ""), 71);
    SAY(HELP_PASSED, "", THERE, FORWARDER_MODEX, 72, 3); /* a rank of the host that asks */
    assert_int_equal(expect_pass(FORWARDER_ANSWER, 1, ""), 72);
    modex_status = PMIX_ERR_NOMEM;
    SAY(HELP_PASSED, "", THERE, FORWARDER_MODEX, 73, 1);
    modex_status = PMIX_SUCCESS;
    assert_int_equal(expect_pass(FORWARDER_ANSWER, 1, ""), 73);
}

static void test_passed_refused(void **state)
{
    static const char text[] = "the agent's PASSED is malformed";
    static const uint32_t kinds[] = {0, FORWARDER_AWAIT + 1, UINT32_MAX};
    char payload[128];
    size_t size;

    (void)state;
    size = pack(payload, (const uint32_t[]){THERE, FORWARDER_ANSWER, 1, 0}, 4, NULL, 0);
    for (size_t i = 0; i < size; i++)
        expect_refused(HELP_PASSED, payload, i, text);
    size = pack(payload, (const uint32_t[]){2, FORWARDER_ANSWER, 1, 0}, 4, NULL, 0);
    expect_refused(HELP_PASSED, payload, size, text);
    size = pack(payload, (const uint32_t[]){UINT32_MAX, FORWARDER_MODEX, 1, 0}, 4, NULL, 0);
    expect_refused(HELP_PASSED, payload, size, text);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        size = pack(payload, (const uint32_t[]){THERE, kinds[i], 1, 0}, 4, "name", 5);
        expect_refused(HELP_PASSED, payload, size, text);
    }
}

/* --- names ------------------------------------------------------------------------------------ */

static pmix_status_t publish(const char *name, pmix_data_type_t type, const char *value)
{
    const pmix_proc_t proc = proc_of(job.space, 1);
    pmix_info_t info;

    memset(&info, 0, sizeof(info));
    PMIX_LOAD_KEY(info.key, name);
    info.value.type = type;
    if (type == PMIX_STRING)
        info.value.data.string = (char *)(uintptr_t)value;
    else
        info.value.data.bo =
            (pmix_byte_object_t){.bytes = (char *)(uintptr_t)value, .size = strlen(value)};
    return server->publish(&proc, &info, 1, on_done, &told);
}

static pmix_status_t lookup(const char *first, const char *second, bool waits)
{
    const pmix_proc_t proc = proc_of(job.space, 0);
    char *keys[] = {(char *)(uintptr_t)first, (char *)(uintptr_t)second, NULL};
    pmix_info_t info;

    memset(&info, 0, sizeof(info));
    PMIX_LOAD_KEY(info.key, PMIX_WAIT);
    return server->lookup(&proc, keys, &info, waits, on_found, &told);
}

static pmix_status_t unpublish(const char *name)
{
    const pmix_proc_t proc = proc_of(job.space, 1);
    char *keys[] = {(char *)(uintptr_t)name, NULL};

    return server->unpublish(&proc, keys, NULL, 0, on_done, &told);
}

static void test_names(void **state)
{
    (void)state;
    assert_int_equal(publish("port", PMIX_STRING, "10.0.0.1"), PMIX_SUCCESS);
    handle();
    expect_told(1, PMIX_SUCCESS, "");
    assert_int_equal(publish("port", PMIX_STRING, "10.0.0.2"), PMIX_SUCCESS);
    handle();
    expect_told(1, PMIX_EXISTS, "");
    assert_int_equal(lookup("port", NULL, false), PMIX_SUCCESS);
    handle();
    assert_int_equal(told.owner, 1);
    assert_int_equal(told.type, PMIX_STRING);
    expect_told(1, PMIX_SUCCESS, "10.0.0.1");
    assert_int_equal(unpublish("port"), PMIX_SUCCESS);
    assert_int_equal(unpublish("port"), PMIX_SUCCESS);
    assert_int_equal(lookup("port", NULL, false), PMIX_SUCCESS);
    handle();
    expect_told(3, PMIX_ERR_NOT_FOUND, "");
}

/* Who waits for a name has its answer once another host publishes it. */
static void test_awaited_name(void **state)
{
    (void)state;
    assert_int_equal(lookup("late", NULL, true), PMIX_SUCCESS);
    handle();
    assert_int_equal(told.calls, 0);
    SAY(HELP_PASSED, "lat", THERE, FORWARDER_AWAIT, 80, 0); /* another one */
    {
        static const char bytes[] = "late\0bvalue";
        const uint32_t words[] = {THERE, FORWARDER_PUBLISH, 81, 2};
        char payload[128];
        struct fault why;

        assert_int_equal(
            say(HELP_PASSED, payload, pack(payload, words, 4, bytes, sizeof(bytes) - 1), &why), 0);
    }
    assert_int_equal(expect_pass(FORWARDER_ANSWER, 0, ""), 81);
    assert_int_equal(told.owner, 2);
    assert_int_equal(told.type, PMIX_BYTE_OBJECT);
    expect_told(1, PMIX_SUCCESS, "value");
    SAY(HELP_PASSED, "late", THERE, FORWARDER_LOOKUP, 82, 0);
    {
        struct frame f = frame_hear(HELPER_PASS);

        assert_int_equal(f.size, 16 + 4 + 1 + 5);
        assert_memory_equal(f.payload + 16, "\0\0\0\2bvalue", 10);
    }
    /* A name without a value, and one without its end. */
    SAY(HELP_PASSED, "bare", THERE, FORWARDER_PUBLISH, 83, 2);
    assert_int_equal(expect_pass(FORWARDER_ANSWER, 0, ""), 83);
    assert_int_equal(lookup("bare", NULL, false), PMIX_SUCCESS);
    handle();
    expect_told(1, PMIX_ERR_NOT_FOUND, "");
}

static void test_names_refused(void **state)
{
    const pmix_proc_t proc = proc_of(job.space, 1);
    pmix_info_t info[2];
    char *none[] = {NULL};

    (void)state;
    memset(info, 0, sizeof(info));
    PMIX_LOAD_KEY(info[0].key, "one");
    PMIX_LOAD_KEY(info[1].key, "two");
    info[0].value.type = info[1].value.type = PMIX_STRING;
    info[0].value.data.string = info[1].value.data.string = (char *)(uintptr_t) "x";
    assert_int_equal(server->publish(&proc, info, 2, on_done, &told), PMIX_ERR_NOT_SUPPORTED);
    assert_int_equal(server->publish(&proc, info, 0, on_done, &told), PMIX_ERR_NOT_SUPPORTED);
    assert_int_equal(publish("", PMIX_STRING, "x"), PMIX_ERR_NOT_SUPPORTED);
    info[0].value.type = PMIX_INT;
    assert_int_equal(server->publish(&proc, info, 1, on_done, &told), PMIX_ERR_NOT_SUPPORTED);
    info[0].value.type = PMIX_BYTE_OBJECT;
    info[0].value.data.bo = (pmix_byte_object_t){.bytes = NULL, .size = SIZE_MAX};
    assert_int_equal(server->publish(&proc, info, 1, on_done, &told), PMIX_ERR_NOT_SUPPORTED);
    assert_int_equal(lookup("one", "two", false), PMIX_ERR_NOT_SUPPORTED);
    assert_int_equal(lookup("", NULL, false), PMIX_ERR_NOT_SUPPORTED);
    assert_int_equal(lookup(NULL, NULL, false), PMIX_ERR_NOT_SUPPORTED);
    assert_int_equal(server->unpublish(&proc, none, NULL, 0, on_done, &told),
                     PMIX_ERR_NOT_SUPPORTED);
    assert_int_equal(server->unpublish(&proc, NULL, NULL, 0, on_done, &told),
                     PMIX_ERR_NOT_SUPPORTED);
    handle();
    assert_int_equal(told.calls, 0);
}

/* --- ranks ------------------------------------------------------------------------------------ */

static void test_connect(void **state)
{
    pmix_proc_t procs[] = {proc_of(job.space, 0), proc_of("job-1", 0)};

    (void)state;
    assert_int_equal(server->connect(procs, 2, NULL, 0, on_done, &told), PMIX_ERR_NOT_SUPPORTED);
    assert_int_equal(server->connect(procs, 1, NULL, 0, on_done, &told), PMIX_SUCCESS);
    assert_int_equal(told.calls, 0);
    handle();
    expect_told(1, PMIX_SUCCESS, "");
}

static void test_abort(void **state)
{
    pmix_proc_t proc = proc_of(job.space, 1);

    (void)state;
    assert_int_equal(server->abort(&proc, NULL, 7, "text", NULL, 0, on_done, &told), PMIX_SUCCESS);
    handle();
    expect_json(HELPER_ABORT, "{\"rank\":1,\"status\":7}");
    proc.rank = 3; /* it is another host's */
    assert_int_equal(server->abort(&proc, NULL, 7, "text", NULL, 0, on_done, &told), PMIX_SUCCESS);
    handle();
    assert_true(agent_hears_nothing());
    assert_int_equal(told.calls, 0); /* the job's end ends it */
}

static void test_spawn(void **state)
{
    const pmix_proc_t proc = proc_of(job.space, 0);

    (void)state;
    assert_int_equal(server->spawn(&proc, NULL, 0, NULL, 0, NULL, NULL), PMIX_ERR_NOT_SUPPORTED);
    handle();
    assert_non_null(strstr((const char *)frame_hear(HELPER_NOTE).payload, "MPI_Comm_spawn"));
}

static void test_frames_refused(void **state)
{
    static const char malformed[] = "the agent's ENDED is malformed";

    (void)state;
    expect_refused(HELP_JOB, JOB, strlen(JOB), "the agent sent an unexpected frame");
    expect_refused(0, NULL, 0, "the agent sent an unexpected frame");
    expect_refused(HELP_ENDED, NULL, 0, malformed);
    expect_refused(HELP_ENDED, "\0\0\0\1\0\0\0", 7, malformed);
    expect_refused(HELP_ENDED, "\0\0\0\1\0\0\0\1\0", 9, malformed);
    expect_refused(HELP_ENDED, "\0\0\0\2\0\0\0\1", 8, malformed); /* host b's */
    expect_refused(HELP_ENDED, "\xff\xff\xff\xff\0\0\0\1", 8, malformed);
}

/* Rank 0 has not called MPI_Init, and ends while rank 1 waits there. What ranks did before the end
 * of one is taken in first. */
static void test_absent_rank(void **state)
{
    pmix_proc_t proc = proc_of(job.space, 1);

    (void)state;
    assert_int_equal(server->client_connected(&proc, NULL, NULL, NULL), PMIX_OPERATION_SUCCEEDED);
    SAY(HELP_ENDED, "", 0, 1);
    expect_json(HELPER_FAULT, "{\"rank\":0,\"text\":\"has ended, and other ranks wait for it in "
                              "MPI_Init, which it has not called\"}");
    /* One fault ends the job, and is the only one that is told. */
    SAY(HELP_ENDED, "", 1, 1);
    assert_true(agent_hears_nothing());
}

static void test_agent_gone(void **state)
{
    struct fault why = {0};

    (void)state;
    close(agent);
    assert_int_equal(fence_start(NULL, 0), PMIX_SUCCESS);
    assert_int_equal(serve_queue(&why), ML_ERR_PEER);
    frame_reader_destroy(reader);
}

/* One process has one server: the tests follow each other with it, and those that end the job come
 * last. */
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_server),      cmocka_unit_test(test_announce),
        cmocka_unit_test(test_fences),         cmocka_unit_test(test_fence_of_others),
        cmocka_unit_test(test_fences_most),    cmocka_unit_test(test_fence_refused),
        cmocka_unit_test(test_wanted),         cmocka_unit_test(test_asked),
        cmocka_unit_test(test_passed_refused), cmocka_unit_test(test_names),
        cmocka_unit_test(test_awaited_name),   cmocka_unit_test(test_names_refused),
        cmocka_unit_test(test_connect),        cmocka_unit_test(test_abort),
        cmocka_unit_test(test_spawn),          cmocka_unit_test(test_frames_refused),
        cmocka_unit_test(test_absent_rank),    cmocka_unit_test(test_agent_gone),
    };

    return cmocka_run_group_tests_name("serve", tests, setup, NULL);
}
