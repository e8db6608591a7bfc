/* SPDX-License-Identifier: MIT */
#include "tests/standin/fabric_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { CONTEXTS_MOST = 8, SLOT = 1, PATH = 512 };

static const char profile[] = "[network]\nseed = %d\n[kind one]\n[kind two]\nports = 2\n"
                              "[kind ib]\nlink_layer = InfiniBand\n"
                              "[device a/r0]\nkind = one\ngids = ::1 10.0.0.1\nnetdev = lo\n"
                              "[device b/r0]\nkind = one\ngids = ::2\n"
                              "[device a/r1]\nkind = two\ngids = ::1\ngids2 = ::2\n"
                              "[device c/r0]\nkind = one\ngids = ::3\n"
                              "[device a/i0]\nkind = ib\nlid = 5\n"
                              "[device b/i0]\nkind = ib\nlid = 9\n"
                              "[wire 1]\nends = a/r0:1 b/r0:1\n"
                              "[switch s]\nports = a/r1:1 a/r1:2 c/r0:1\n"
                              "[wire ib]\nends = a/i0:1 b/i0:1\n";

static struct network {
    char dir[64];
    pid_t pid;
    int input, control, errors;
    struct context contexts[CONTEXTS_MOST]; /* number 0: free */
} net;

union message got;
static int got_fd; /* that came with it */

/* --- the fabric ------------------------------------------------------------------------------- */

int dial(const char *name, int type)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    snprintf(at.sun_path, sizeof(at.sun_path), "%s/%s", net.dir, name);
    if (connect(fd, (struct sockaddr *)&at, sizeof(at)))
        fail_msg("%s: %s", at.sun_path, strerror(errno));
    return fd;
}

void network_begin(int seed)
{
    int input[2], output[2], file = memfd_create("profile", 0);
    char program[PATH], path[64], ready[16];

    /* Where there is a disk below /tmp, each network's thousand files would take a second. */
    net = (struct network){.errors = memfd_create("errors", MFD_CLOEXEC)};
    snprintf(net.dir, sizeof(net.dir), "%s/standin-fabric.XXXXXX",
             access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
    assert_non_null(getenv("BUILD"));
    assert_non_null(mkdtemp(net.dir));
    snprintf(program, sizeof(program), "%s/rdma/standin/standin-fabric", getenv("BUILD"));
    snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    assert_true(dprintf(file, profile, seed) > 0);
    assert_int_equal(pipe2(input, O_CLOEXEC) | pipe2(output, O_CLOEXEC), 0);
    net.pid = fork();
    assert_true(net.pid >= 0);
    if (net.pid == 0) {
        dup2(input[0], STDIN_FILENO);
        dup2(output[1], STDOUT_FILENO);
        dup2(net.errors, STDERR_FILENO);
        execl(program, program, path, net.dir, NULL);
        _exit(127);
    }
    close(file);
    close(input[0]);
    close(output[1]);
    net.input = input[1];
    assert_int_equal(read(output[0], ready, sizeof(ready)), strlen("ready\n"));
    close(output[0]);
    net.control = dial("control", SOCK_STREAM);
}

int network_end(int signal)
{
    int status = -1;

    for (int i = 0; i < CONTEXTS_MOST; i++)
        if (net.contexts[i].number)
            context_close(&net.contexts[i]);
    if (signal)
        kill(net.pid, signal);
    else
        close(net.input);
    waitpid(net.pid, &status, 0);
    if (signal)
        close(net.input);
    close(net.control);
    close(net.errors);
    return status == 0 && rmdir(net.dir) == 0 ? 0 : -1;
}

int control_descriptor(void)
{
    return net.control;
}

void tell(const char *command, const char *answer)
{
    char line[1024];
    size_t size = 0;

    assert_int_equal(dprintf(net.control, "%s\n", command), strlen(command) + 1);
    while (size < sizeof(line) - 1 && read(net.control, &line[size], 1) == 1 && line[size] != '\n')
        size++;
    line[size] = '\0';
    if (strncmp(line, answer, strlen(answer)) != 0)
        fail_msg("%s: %s, where %s was expected", command, line, answer);
}

void expect_file(const char *name, const char *text)
{
    char path[PATH], line[128] = "";
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", net.dir, name);
    f = fopen(path, "re");
    if (f && !fgets(line, sizeof(line), f))
        line[0] = '\0';
    if (f)
        fclose(f);
    line[strcspn(line, "\n")] = '\0';
    if (strcmp(line, text) != 0)
        fail_msg("%s has '%s', where '%s' was expected", name, line, text);
}

void expect_said(const char *who, const char *what)
{
    char all[8192], *line, *save;
    ssize_t size = pread(net.errors, all, sizeof(all) - 1, 0);

    all[size > 0 ? size : 0] = '\0';
    for (line = strtok_r(all, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        if (strstr(line, who) && strstr(line, what))
            return;
    fail_msg("nothing is said about %s that has: %s", who, what);
}

/* --- messages --------------------------------------------------------------------------------- */

void hello(int fd, uint32_t version, const int *fds, size_t count)
{
    struct fabric_hello h = {FABRIC_HELLO, version};
    struct iovec part = {&h, sizeof(h)};
    union {
        char bytes[CMSG_SPACE(2 * sizeof(int))];
        struct cmsghdr head;
    } control = {0};
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};

    if (count) {
        m.msg_control = control.bytes;
        m.msg_controllen = CMSG_SPACE(count * sizeof(int));
        control.head = (struct cmsghdr){CMSG_LEN(count * sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.head), fds, count * sizeof(int));
    }
    assert_int_equal(sendmsg(fd, &m, MSG_NOSIGNAL), sizeof(h));
}

ssize_t receive(int fd)
{
    struct pollfd p = {fd, POLLIN, 0};
    struct iovec part = {&got, sizeof(got)};
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr head;
    } control = {0};
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof(control.bytes)};
    ssize_t n;

    assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
    n = recvmsg(fd, &m, MSG_CMSG_CLOEXEC);
    got_fd = -1;
    if (n > 0 && CMSG_FIRSTHDR(&m))
        memcpy(&got_fd, CMSG_DATA(&control.head), sizeof(int));
    return n < 0 ? 0 : n;
}

void expect(const struct context *x, uint32_t kind)
{
    static const size_t sizes[] = {
        [FABRIC_DEVICE] = sizeof(got.device), [FABRIC_SEGMENT] = sizeof(got.segment),
        [FABRIC_LOST] = sizeof(got.segment),  [FABRIC_FREE] = sizeof(got.free),
        [FABRIC_ARENA] = sizeof(got.arena),   [FABRIC_GONE] = sizeof(got.gone),
        [FABRIC_PORT] = sizeof(got.news)};
    size_t size = (size_t)receive(x->fd);

    if (size == 0 || got.kind != kind)
        fail_msg("context %u got %u, where %u was expected", x->number, size ? got.kind : 0, kind);
    assert_int_equal(size, sizes[kind]);
    assert_int_equal(got_fd >= 0, kind == FABRIC_ARENA);
}

void expect_event(const struct context *x, enum ibv_event_type event, enum ibv_port_state state)
{
    expect(x, FABRIC_PORT);
    assert_int_equal(got.news.event, event);
    assert_int_equal(got.news.number, 1);
    assert_int_equal(got.news.port.attr.state, state);
}

void put(const struct context *x, const void *message, size_t size)
{
    assert_int_equal(send(x->fd, message, size, MSG_NOSIGNAL), size);
}

void put_segment(const struct context *x, const struct fabric_segment *s)
{
    put(x, s, sizeof(*s));
}

void put_free(const struct context *x, uint32_t context, uint32_t slot)
{
    struct fabric_free f = {FABRIC_FREE, context, slot};

    put(x, &f, sizeof(f));
}

void expect_passed(const struct context *from, const struct context *to,
                   const struct fabric_segment *s)
{
    put_segment(from, s);
    expect(to, FABRIC_SEGMENT);
}

void expect_lost(const struct context *x, const struct fabric_segment *s)
{
    put_segment(x, s);
    expect(x, FABRIC_LOST);
    assert_int_equal(got.segment.to_qp, s->to_qp);
    assert_int_equal(got.segment.slot, s->slot);
}

/* --- contexts --------------------------------------------------------------------------------- */

static char *arena_map(int fd)
{
    char *bytes = mmap(NULL, FABRIC_ARENA_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    assert_true(bytes != MAP_FAILED);
    return bytes;
}

struct context *context_open(const char *name)
{
    struct context *x = net.contexts;

    while (x->number)
        assert_true(++x < net.contexts + CONTEXTS_MOST);
    x->fd = dial(name, SOCK_SEQPACKET);
    x->arena = memfd_create("arena", MFD_CLOEXEC);
    assert_int_equal(ftruncate(x->arena, FABRIC_ARENA_SIZE), 0);
    x->bytes = arena_map(x->arena);
    hello(x->fd, FABRIC_VERSION, &x->arena, 1);
    expect(x, FABRIC_DEVICE);
    x->device = got.device;
    x->number = got.device.context;
    return x;
}

void context_close(struct context *x)
{
    close(x->fd);
    close(x->arena);
    munmap(x->bytes, FABRIC_ARENA_SIZE);
    x->number = 0;
}

struct fabric_segment segment_of(const struct context *from, const struct context *to)
{
    return (struct fabric_segment){
        .kind = FABRIC_SEGMENT,
        .type = FABRIC_SEND,
        .qp_type = IBV_QPT_RC,
        .port = 1,
        .slot = SLOT,
        .length = 100,
        .packets = 1,
        .from_qp = from->number << FABRIC_CONTEXT_SHIFT | 1,
        .to_qp = to->number << FABRIC_CONTEXT_SHIFT | 1,
        .to = to->device.ports[0].gids[0],
    };
}

void greet(const struct context *from, const struct context *to)
{
    struct fabric_segment s = segment_of(from, to);
    char *bytes;

    snprintf(from->bytes + (size_t)SLOT * FABRIC_SLOT_SIZE, FABRIC_SLOT_SIZE, "hello %u",
             to->number);
    put_segment(from, &s);
    expect(to, FABRIC_ARENA);
    assert_int_equal(got.arena.context, from->number);
    bytes = arena_map(got_fd);
    close(got_fd);
    expect(to, FABRIC_SEGMENT);
    assert_string_equal(bytes + (size_t)SLOT * FABRIC_SLOT_SIZE,
                        from->bytes + (size_t)SLOT * FABRIC_SLOT_SIZE);
    munmap(bytes, FABRIC_ARENA_SIZE);
    assert_int_equal(got.segment.from_context, from->number);
    assert_memory_equal(&got.segment.from, &from->device.ports[0].gids[0], sizeof(union ibv_gid));
}

void contexts_meet(struct context **a, struct context **b)
{
    *a = context_open("a/dev/uverbs0.socket");
    *b = context_open("b/dev/uverbs0.socket");
    greet(*a, *b);
    greet(*b, *a);
    greet(*a, *a);
}

void flush(const struct context *x)
{
    struct fabric_segment to_itself = segment_of(x, x);

    expect_passed(x, x, &to_itself);
}
