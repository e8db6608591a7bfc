/* SPDX-License-Identifier: MIT */
/*
 * test_secure.c: two ranks on two hosts, and something on the network between them. Here that is a
 * process which passes bytes on between the two, records them, and may change them. It gets the
 * connection because this program has a connect() of its own, which the library uses too.
 * TEST_TIER=quick
 */
#include "tests/runtime/test_job.h"

#include "common/net/frame.h"
#include "common/net/job_file.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cmocka.h>

enum {
    MESSAGES = 40,
    SIZE = 1000, /* bytes of each */
    HEADER = 32,
    OPENING = 24,
    RECORD = 21 + HEADER + SIZE + 17,
    TAPE = 1 << 18,
};

static const char secret_text[] = "this is not for the network's eyes";
static const struct job_config plain = {.size = 2, .hosts = 2, .backend = "tcp"};
static const struct job_config secure = {.size = 2, .hosts = 2, .backend = "tcp", .secure = true};

enum mischief { NOTHING, FLIP, LEAVE_OUT, REPEAT, SWAP, CUT };

/* What is done to the bytes [at, at + length) that follow the handshake, in one direction. SWAP:
 * they change places with the same number that follow. CUT: the connection ends there. */
struct deed {
    enum mischief what;
    int from; /* rank whose data it is done to */
    size_t at, length;
};

/* One direction of the connection. */
struct flow {
    int frames; /* the handshake's, still to come */
    int bytes;  /* the same, behind them: the decision */
    size_t rest, head_size;
    unsigned char head[FRAME_HEADER];
    size_t offset; /* the next byte after the handshake */
    unsigned char kept[2 * RECORD];
    size_t kept_size;
};

/* Shared by the ranks, the process between them and the test. */
static struct between {
    struct sockaddr_in to; /* where rank 0 wanted to connect */
    uint16_t port, coordinator;
    struct deed deed;
    struct flow flows[2]; /* what rank 0 and rank 1 send */
    unsigned char tape[2][TAPE];
    size_t tape_size[2];
} * between;

__attribute__((visibility("default"))) int connect(int fd, const struct sockaddr *to,
                                                   socklen_t size)
{
    struct sockaddr_in here;

    if (!between || to->sa_family != AF_INET)
        return (int)syscall(SYS_connect, fd, to, size);
    memcpy(&here, to, sizeof(here));
    if (ntohs(here.sin_port) != between->coordinator) {
        between->to = here;
        here.sin_port = htons(between->port);
    }
    return (int)syscall(SYS_connect, fd, &here, sizeof(here));
}

/* --- the process between the ranks ----------------------------------------------------------- */

/* Skips the handshake. True: `byte` belongs to what follows it. */
static bool is_after_handshake(struct flow *f, unsigned char byte)
{
    if (!f->frames)
        return f->bytes-- <= 0;
    if (f->head_size < FRAME_HEADER) {
        f->head[f->head_size++] = byte;
        f->rest = (size_t)f->head[2] << 8 | f->head[3];
    } else {
        f->rest--;
    }
    if (f->head_size == FRAME_HEADER && !f->rest) {
        f->head_size = 0;
        f->frames--;
    }
    return false;
}

static size_t put_kept(struct flow *f, unsigned char *out)
{
    memcpy(out, f->kept, f->kept_size);
    return f->kept_size;
}

/* What becomes of one byte: stores it in `out`, or others, or none. Returns how many; -1: the
 * connection ends here. */
static int pass(struct flow *f, const struct deed *d, unsigned char byte, unsigned char *out)
{
    size_t at, length = d->length;
    int n = 0;

    out[n++] = byte;
    if (!is_after_handshake(f, byte))
        return n;
    at = f->offset++ - d->at; /* huge before it */
    switch (d->what) {
    case FLIP:
        out[0] ^= at == 0 ? 0x10 : 0;
        break;
    case LEAVE_OUT:
        return at < length ? 0 : n;
    case REPEAT:
        if (at < length)
            f->kept[f->kept_size++] = byte;
        if (at == length - 1)
            n += (int)put_kept(f, out + n);
        break;
    case SWAP:
        if (at < length) {
            f->kept[f->kept_size++] = byte;
            return 0;
        }
        if (at == 2 * length - 1)
            n += (int)put_kept(f, out + n);
        break;
    case CUT:
        return at == 0 ? -1 : n;
    case NOTHING:
        break;
    }
    return n;
}

/* Passes on what has come from one rank. False: the connection has ended. */
static bool pass_all(int rank, int in, int out)
{
    static unsigned char bytes[4096], passed[sizeof(bytes) + 2 * RECORD];
    static const struct deed none;
    const struct deed *d = between->deed.from == rank ? &between->deed : &none;
    ssize_t came = recv(in, bytes, sizeof(bytes), 0);
    size_t size = 0;
    bool goes_on = came > 0;

    for (ssize_t i = 0; i < came && goes_on; i++) {
        int n = pass(&between->flows[rank], d, bytes[i], passed + size);

        if (between->tape_size[rank] < TAPE)
            between->tape[rank][between->tape_size[rank]++] = bytes[i];
        goes_on = n >= 0;
        size += n > 0 ? (size_t)n : 0;
    }
    if (size && send(out, passed, size, MSG_NOSIGNAL) != (ssize_t)size)
        return false;
    return goes_on;
}

static void be_between(int listener)
{
    struct pollfd p[2] = {{.events = POLLIN}, {.events = POLLIN}};

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(JOB_WAIT_MS / 1000);
    p[0].fd = accept(listener, NULL, NULL);
    p[1].fd = socket(AF_INET, SOCK_STREAM, 0);
    if (p[0].fd < 0 || syscall(SYS_connect, p[1].fd, &between->to, sizeof(between->to)) != 0)
        _exit(1);
    for (;;) {
        poll(p, 2, -1);
        for (int i = 0; i < 2; i++)
            if (p[i].revents && !pass_all(i, p[i].fd, p[1 - i].fd))
                _exit(0);
    }
}

/* --- the ranks -------------------------------------------------------------------------------- */

static unsigned char byte_of(int message, int i)
{
    return (unsigned char)(message * 37 + i * 11 + i / 256);
}

static void fill(unsigned char *buf, int message)
{
    for (int i = 0; i < SIZE; i++)
        buf[i] = byte_of(message, i);
    memcpy(buf + 100, secret_text, sizeof(secret_text));
}

static bool is_filled(const unsigned char *buf, int message)
{
    unsigned char want[SIZE];

    fill(want, message);
    return memcmp(buf, want, SIZE) == 0;
}

static void begin(struct job *j, int rank, ml_group **w)
{
    uint8_t secret[AUTH_SECRET];
    struct job_file f;
    struct fault why;
    char dir[PATH_MAX];

    job_dir(j, j->host_of[rank], dir);
    REQUIRE(job_file_read(dir, &f, secret, &why) == 0);
    between->coordinator = (uint16_t)atoi(strrchr(f.coordinator, ':') + 1);
    REQUIRE(setenv("MLAUNCH_EAGER", "0", 1) == 0); /* rank 0 connects */
    REQUIRE(ml_init(w) == 0);
}

/* One rank sends messages, the other receives them, and answers. */
static int talk(ml_group *w, int rank, int from)
{
    unsigned char buf[SIZE];
    int rc = 0;

    for (int i = 0; i < MESSAGES && !rc; i++) {
        fill(buf, i);
        if (rank != from)
            memset(buf, 0, sizeof(buf));
        rc = rank == from ? ml_send(w, buf, SIZE, 1 - from) : ml_recv(w, buf, SIZE, from);
        if (!rc && !is_filled(buf, i)) {
            fprintf(stderr, "rank %d: message %d has other bytes\n", rank, i);
            return 1;
        }
    }
    if (!rc)
        rc = rank == from ? ml_recv(w, buf, SIZE, 1 - from) : ml_send(w, buf, SIZE, from);
    return rc;
}

static void talk_well(struct job *j, int rank)
{
    ml_group *w;

    begin(j, rank, &w);
    REQUIRE(talk(w, rank, 0) == 0);
    REQUIRE(ml_finalize() == 0);
}

/* On a plain connection nothing is noticed, which shows that the process between changes it. */
static void talk_wrong(struct job *j, int rank)
{
    ml_group *w;
    int rc;

    begin(j, rank, &w);
    rc = talk(w, rank, 0);
    REQUIRE(rank == 0 || rc == 1);
    _exit(0);
}

static void talk_broken(struct job *j, int rank)
{
    char sentence[128];
    int from = between->deed.from, rc;
    ml_group *w;

    begin(j, rank, &w);
    rc = talk(w, rank, from);
    if (between->deed.what == CUT) {
        REQUIRE(rc == ML_ERR_PEER);
        REQUIRE_TEXT(ml_error(), "has closed its tcp link to rank");
    } else {
        REQUIRE(rc == ML_ERR_LINK);
        snprintf(sentence, sizeof(sentence),
                 "the data of rank %d on host host%d was changed on its way to rank %d on host "
                 "host%d",
                 from, from, 1 - from, 1 - from);
        REQUIRE_TEXT(ml_error(), sentence);
    }
    REQUIRE(ml_finalize() == 0);
}

/* --- tests ------------------------------------------------------------------------------------ */

static void run(const struct job_config *config, struct deed deed, rank_fn *fn)
{
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), status;
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(here);
    struct job j;
    pid_t pid;

    memset(between, 0, sizeof(*between));
    between->deed = deed;
    between->flows[0].frames = 2; /* HELLO, PROOF */
    between->flows[1].frames = 1; /* CHALLENGE */
    between->flows[1].bytes = 1;
    assert_int_equal(bind(listener, (struct sockaddr *)&here, size), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&here, &size), 0);
    between->port = ntohs(here.sin_port);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        be_between(listener);
    close(listener);
    job_open(&j, config);
    job_run(&j, fn);
    job_close(&j);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static bool is_on_tape(int rank)
{
    return memmem(between->tape[rank], between->tape_size[rank], secret_text,
                  sizeof(secret_text)) != NULL;
}

static void test_secrecy(void **state)
{
    (void)state;
    run(&plain, (struct deed){NOTHING, 0, 0, 0}, talk_well);
    assert_true(is_on_tape(0) && is_on_tape(1));
    assert_true(between->flows[0].offset == (size_t)MESSAGES * (HEADER + SIZE));
    run(&secure, (struct deed){NOTHING, 0, 0, 0}, talk_well);
    assert_false(is_on_tape(0) || is_on_tape(1));
    assert_true(between->flows[0].offset == OPENING + (size_t)MESSAGES * RECORD);
    assert_true(between->flows[1].offset == OPENING + RECORD);
}

static void test_plain_is_not_safe(void **state)
{
    (void)state;
    run(&plain, (struct deed){FLIP, 0, 3 * (HEADER + SIZE) + HEADER + 5, 0}, talk_wrong);
}

static void test_changes(void **state)
{
    static const struct deed deeds[] = {
        {FLIP, 0, 0, 0},                          /* the opening */
        {FLIP, 0, OPENING, 0},                    /* the length of the first record */
        {FLIP, 0, OPENING + 20, 0},               /* its proof */
        {FLIP, 0, OPENING + 21 + 3, 0},           /* the header of the message */
        {FLIP, 0, OPENING + 21 + HEADER + 9, 0},  /* its payload */
        {FLIP, 0, OPENING + RECORD - 1, 0},       /* the proof of the record */
        {FLIP, 0, OPENING + 20 * RECORD + 99, 0}, /* a later one */
        {FLIP, 1, OPENING + 99, 0},               /* the other direction */
        {LEAVE_OUT, 0, 0, OPENING},
        {LEAVE_OUT, 0, OPENING, RECORD},
        {LEAVE_OUT, 0, OPENING + 7 * RECORD, RECORD},
        {LEAVE_OUT, 0, OPENING + 7 * RECORD + 100, 1},
        {LEAVE_OUT, 1, OPENING + 7 * RECORD, 2 * RECORD},
        {REPEAT, 0, OPENING, RECORD},
        {REPEAT, 0, OPENING + 7 * RECORD, RECORD},
        {REPEAT, 1, OPENING + 7 * RECORD, 1},
        {SWAP, 0, OPENING + 7 * RECORD, RECORD},
        {SWAP, 1, OPENING, RECORD},
        {CUT, 0, OPENING + 5, 0},
        {CUT, 0, OPENING + 7 * RECORD, 0},
        {CUT, 1, OPENING + 7 * RECORD + 100, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(deeds) / sizeof(*deeds); i++) {
        printf("# change %zu\n", i);
        run(&secure, deeds[i], talk_broken);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_secrecy),
        cmocka_unit_test(test_plain_is_not_safe),
        cmocka_unit_test(test_changes),
    };

    between =
        mmap(NULL, sizeof(*between), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (between == MAP_FAILED)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
