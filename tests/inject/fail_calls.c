/* SPDX-License-Identifier: MIT */
/*
 * fail_calls: a library to preload that lets one call of one program fail, as the system would.
 *
 *     MLAUNCH_TEST_FAIL="PART GROUP MODE N"  MLAUNCH_TEST_FAIL_LOG=FILE
 *
 * PART     mlaunch; guard or worker, the agent's two processes; rank0, rank1, …; or the name of
 *          another program
 * GROUP    malloc, fork, open, read, write, mmap, poll
 * MODE     fail: call N fails, once; after: call N and all later ones fail; eintr: call N is
 *          interrupted by a signal; short: every call moves at most N bytes; list: none fails, and
 *          of each stack the first calls of any group are lines in FILE: group, N, offset
 *
 * Calls are counted in each process from its start; the worker's from its fork on. Each call that
 * fails is a line in FILE: the call, its descriptor or -1, the module and offset that called, N.
 *
 * In a unit test's program ($MLAUNCH_TEST_FAIL_CODE, code_map.h) only the product's own calls
 * fail, each the first from N on; unit_end.c says how such a program ends.
 */
/* Each name and its *64 twin are two functions here. */
#undef _FILE_OFFSET_BITS
#include "tests/inject/code_map.h"
#include "tests/inject/unit_end.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

#define CALLER __builtin_return_address(0)
/* The real function, whatever library has it: libc or a sanitizer. */
#define NEXT(name)                                                                                 \
    static __typeof__(&name) next;                                                                 \
    if (!next)                                                                                     \
    next = (__typeof__(&name))(uintptr_t)dlsym(RTLD_NEXT, #name)

enum mode { MODE_NONE, MODE_FAIL, MODE_AFTER, MODE_EINTR, MODE_SHORT, MODE_LIST };

/* The process's own; set at the first call, when there is one thread. */
static struct {
    bool is_read;
    char part[32], group[16], log[PATH_MAX];
    enum mode mode;
    bool is_ours; /* calls of this process are counted */
    long n;
    atomic_long count;
} plan;

static enum mode mode_parse(const char *word)
{
    static const char *const words[] = {"", "fail", "after", "eintr", "short", "list"};

    for (int i = MODE_FAIL; i <= MODE_LIST; i++) {
        if (strcmp(word, words[i]) == 0)
            return (enum mode)i;
    }
    return MODE_NONE;
}

/* Which part this process is, at its start. */
static bool part_is(const char *part)
{
    const char *rank = getenv("MLAUNCH_RANK"), *name = program_invocation_short_name;

    if (strncmp(part, "rank", 4) == 0)
        return rank && strcmp(rank, part + 4) == 0;
    if (strcmp(part, "guard") == 0)
        return strcmp(name, "mlaunch-agent") == 0;
    return strcmp(name, part) == 0;
}

static void plan_read(void)
{
    const char *text = getenv("MLAUNCH_TEST_FAIL"), *log = getenv("MLAUNCH_TEST_FAIL_LOG");
    char mode[16] = "";

    if (!environ || !*program_invocation_short_name)
        return; /* a sanitizer begins before libc */
    plan.is_read = true;
    if (!text || !log ||
        sscanf(text, "%31s %15s %15s %ld", plan.part, plan.group, mode, &plan.n) != 4)
        return;
    snprintf(plan.log, sizeof(plan.log), "%s", log);
    plan.mode = mode_parse(mode);
    plan.is_ours = part_is(plan.part) && !getenv("MLAUNCH_TEST_FAIL_CODE");
}

/* Begins for a unit test's program once libraries are there: finding out who calls needs them. */
__attribute__((constructor)) static void unit_start(void)
{
    if (!plan.is_read)
        plan_read();
    if (!*plan.log || !part_is(plan.part))
        return;
    code_map_read();
    if (!code_map_is_there())
        return;
    unit_end_start(plan.log);
    plan.is_ours = true;
}

static void hit_write(const char *call, int fd, long n, const void *caller)
{
    char line[PATH_MAX + 100];
    Dl_info where = {0};

    dladdr(caller, &where);
    snprintf(line, sizeof(line), "%s %d %s %#lx %ld\n", call, fd,
             where.dli_fname ? where.dli_fname : "?",
             (unsigned long)((const char *)caller - (const char *)where.dli_fbase), n);
    unit_end_note(plan.log, line);
}

static bool is_group(const char *group)
{
    return plan.is_ours && (plan.mode == MODE_LIST || strcmp(plan.group, group) == 0);
}

/* The number of this call in its group, from 1. */
static long call_count(const char *group)
{
    static const char *const names[] = {"malloc", "fork", "open", "read", "write", "mmap", "poll"};
    static atomic_long counts[sizeof(names) / sizeof(*names)];
    int i = 0;

    if (plan.mode != MODE_LIST)
        return atomic_fetch_add(&plan.count, 1) + 1;
    while (strcmp(names[i], group) != 0)
        i++;
    return atomic_fetch_add(&counts[i], 1) + 1;
}

/* The first LISTED calls with the same stack are lines. A stack may push another one out of the
 * table; more of its calls are lines then. */
static void call_list(const char *group, long n)
{
    enum { STACKS = 1 << 16, LISTED = 2 };
    static struct {
        uint64_t path;
        int count;
    } table[STACKS];
    struct code_place place = code_map_place();
    uint64_t path = place.path + (uint64_t)*group + (uint64_t)group[1];
    char line[100];

    if (place.owner != 'p')
        return;
    if (table[path % STACKS].path != path)
        table[path % STACKS].count = 0;
    table[path % STACKS].path = path;
    if (++table[path % STACKS].count > LISTED)
        return;
    snprintf(line, sizeof(line), "%s %ld %#lx\n", group, n, (unsigned long)place.where);
    unit_end_note(plan.log, line);
}

/* In a unit test's program the first call of the product's from N on is the one: with threads, the
 * numbers of calls are not the same in each run. */
static bool is_number(long n, const void **caller)
{
    static atomic_bool was_hit;
    struct code_place place;

    if (!code_map_is_there() || plan.mode == MODE_SHORT)
        return plan.mode == MODE_SHORT || n == plan.n || (plan.mode == MODE_AFTER && n > plan.n);
    if (n < plan.n || atomic_load(&was_hit))
        return false;
    place = code_map_place();
    *caller = code_map_address(&place);
    return place.owner == 'p' && !atomic_exchange(&was_hit, true);
}

/* Is this the call that is to fail? Keeps errno otherwise. */
static bool is_hit(const char *group, enum mode mode, const char *call, int fd, const void *caller)
{
    int err = errno;
    bool is_it;
    long n;

    if (!plan.is_read)
        plan_read();
    errno = err;
    if (!is_group(group) || (plan.mode != mode && !(mode == MODE_FAIL && (plan.mode == MODE_AFTER ||
                                                                          plan.mode == MODE_LIST))))
        return false;
    n = call_count(group);
    if (plan.mode == MODE_LIST)
        call_list(group, n);
    is_it = plan.mode != MODE_LIST && is_number(n, &caller);
    if (is_it && (mode != MODE_SHORT || n == 1))
        hit_write(call, fd, n, caller);
    errno = err;
    return is_it;
}

static bool fails(const char *group, int error, const char *call, int fd, const void *caller)
{
    if (!is_hit(group, MODE_FAIL, call, fd, caller))
        return false;
    errno = error;
    return true;
}

/* Memory. */

void *malloc(size_t size)
{
    NEXT(malloc);
    return fails("malloc", ENOMEM, "malloc", -1, CALLER) ? NULL : next(size);
}

void *calloc(size_t count, size_t size)
{
    NEXT(calloc);
    return fails("malloc", ENOMEM, "calloc", -1, CALLER) ? NULL : next(count, size);
}

void *realloc(void *old, size_t size)
{
    NEXT(realloc);
    return fails("malloc", ENOMEM, "realloc", -1, CALLER) ? NULL : next(old, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    NEXT(aligned_alloc);
    return fails("malloc", ENOMEM, "aligned_alloc", -1, CALLER) ? NULL : next(alignment, size);
}

/* Here, because a sanitizer's own strdup does not call malloc. */
static char *text_copy(const char *text, size_t size, const char *call, const void *caller)
{
    static __typeof__(&malloc) next;
    char *copy;

    if (!next)
        next = (__typeof__(&malloc))(uintptr_t)dlsym(RTLD_NEXT, "malloc");
    copy = fails("malloc", ENOMEM, call, -1, caller) ? NULL : next(size + 1);
    if (copy) {
        memcpy(copy, text, size);
        copy[size] = '\0';
    }
    return copy;
}

char *strdup(const char *text)
{
    return text_copy(text, strlen(text), "strdup", CALLER);
}

char *strndup(const char *text, size_t most)
{
    return text_copy(text, strnlen(text, most), "strndup", CALLER);
}

/* Memory that is mapped, and the room for it. */

#define MMAP(name, offset_type)                                                                    \
    void *name(void *at, size_t size, int protection, int flags, int fd, offset_type offset)       \
    {                                                                                              \
        NEXT(name);                                                                                \
        return fails("mmap", ENOMEM, "mmap", fd, CALLER)                                           \
                   ? MAP_FAILED                                                                    \
                   : next(at, size, protection, flags, fd, offset);                                \
    }
MMAP(mmap, off_t)
MMAP(mmap64, off64_t)

int ftruncate64(int fd, off64_t size)
{
    NEXT(ftruncate64);
    return fails("mmap", ENOSPC, "ftruncate", fd, CALLER) ? -1 : next(fd, size);
}

int posix_fallocate64(int fd, off64_t offset, off64_t size)
{
    NEXT(posix_fallocate64);
    return fails("mmap", ENOSPC, "posix_fallocate", fd, CALLER) ? ENOSPC : next(fd, offset, size);
}

/* Processes and threads. */

/* In the agent, a child that does not execute a program at once is its worker. */
static pid_t child_count(pid_t pid, bool is_worker)
{
    if (pid == 0) {
        plan.is_ours = is_worker && strcmp(plan.part, "worker") == 0;
        atomic_store(&plan.count, 0);
    }
    return pid;
}

pid_t fork(void)
{
    static bool was_worker_made;
    bool is_worker =
        !was_worker_made && strcmp(program_invocation_short_name, "mlaunch-agent") == 0;

    NEXT(fork);
    if (fails("fork", EAGAIN, "fork", -1, CALLER))
        return -1;
    was_worker_made = true;
    return child_count(next(), is_worker);
}

/* fork, because a function that calls vfork must not return in the child. */
pid_t vfork(void)
{
    static __typeof__(&fork) next;

    if (!next)
        next = (__typeof__(&fork))(uintptr_t)dlsym(RTLD_NEXT, "fork");
    if (fails("fork", EAGAIN, "vfork", -1, CALLER))
        return -1;
    return child_count(next(), false);
}

int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *files,
                const posix_spawnattr_t *attributes, char *const argv[], char *const environment[])
{
    NEXT(posix_spawn);
    return fails("fork", EAGAIN, "posix_spawn", -1, CALLER)
               ? EAGAIN
               : next(pid, path, files, attributes, argv, environment);
}

int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *files,
                 const posix_spawnattr_t *attributes, char *const argv[], char *const environment[])
{
    NEXT(posix_spawnp);
    return fails("fork", EAGAIN, "posix_spawnp", -1, CALLER)
               ? EAGAIN
               : next(pid, file, files, attributes, argv, environment);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *of)
{
    NEXT(pthread_create);
    return fails("fork", EAGAIN, "pthread_create", -1, CALLER) ? EAGAIN
                                                               : next(thread, attributes, run, of);
}

/* Descriptors. */

static bool open_fails(const char *call, const void *caller)
{
    return fails("open", EMFILE, call, -1, caller);
}

/* The mode, which only these flags bring. */
#define OPEN_MODE(mode, flags)                                                                     \
    mode_t mode = 0;                                                                               \
    if ((flags) & (O_CREAT | __O_TMPFILE)) {                                                       \
        va_list rest;                                                                              \
        va_start(rest, flags);                                                                     \
        mode = va_arg(rest, mode_t);                                                               \
        va_end(rest);                                                                              \
    }

#define OPEN(name)                                                                                 \
    int name(const char *path, int flags, ...)                                                     \
    {                                                                                              \
        OPEN_MODE(mode, flags)                                                                     \
        NEXT(name);                                                                                \
        return open_fails("open", CALLER) ? -1 : next(path, flags, mode);                          \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                               \
    int name(int dir, const char *path, int flags, ...)                                            \
    {                                                                                              \
        OPEN_MODE(mode, flags)                                                                     \
        NEXT(name);                                                                                \
        return open_fails("openat", CALLER) ? -1 : next(dir, path, flags, mode);                   \
    }
OPENAT(openat)
OPENAT(openat64)

#define FOPEN(name)                                                                                \
    FILE *name(const char *path, const char *how)                                                  \
    {                                                                                              \
        NEXT(name);                                                                                \
        return open_fails("fopen", CALLER) ? NULL : next(path, how);                               \
    }
FOPEN(fopen)
FOPEN(fopen64)

int socket(int family, int type, int protocol)
{
    NEXT(socket);
    return open_fails("socket", CALLER) ? -1 : next(family, type, protocol);
}

int socketpair(int family, int type, int protocol, int pair[2])
{
    NEXT(socketpair);
    return open_fails("socketpair", CALLER) ? -1 : next(family, type, protocol, pair);
}

int accept4(int fd, struct sockaddr *from, socklen_t *size, int flags)
{
    NEXT(accept4);
    return open_fails("accept4", CALLER) ? -1 : next(fd, from, size, flags);
}

int pipe2(int ends[2], int flags)
{
    NEXT(pipe2);
    return open_fails("pipe2", CALLER) ? -1 : next(ends, flags);
}

int eventfd(unsigned value, int flags)
{
    NEXT(eventfd);
    return open_fails("eventfd", CALLER) ? -1 : next(value, flags);
}

int timerfd_create(int clock, int flags)
{
    NEXT(timerfd_create);
    return open_fails("timerfd_create", CALLER) ? -1 : next(clock, flags);
}

int epoll_create1(int flags)
{
    NEXT(epoll_create1);
    return open_fails("epoll_create1", CALLER) ? -1 : next(flags);
}

int memfd_create(const char *name, unsigned flags)
{
    NEXT(memfd_create);
    return open_fails("memfd_create", CALLER) ? -1 : next(name, flags);
}

int shm_open(const char *name, int flags, mode_t mode)
{
    NEXT(shm_open);
    return open_fails("shm_open", CALLER) ? -1 : next(name, flags, mode);
}

/* Reading and writing. */

/* An eventfd or a timer, whose reads and writes can't fail. */
static bool is_counter(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && (st.st_mode & S_IFMT) == 0;
}

/* Is this the end of a pipe that this process also reads? */
static bool is_own_pipe(int fd)
{
    struct stat st, other;

    if (fstat(fd, &st) || !S_ISFIFO(st.st_mode))
        return false;
    for (int i = 0; i < 256; i++) {
        if (fstat(i, &other) == 0 && other.st_dev == st.st_dev && other.st_ino == st.st_ino &&
            (fcntl(i, F_GETFL) & O_ACCMODE) == O_RDONLY)
            return true;
    }
    return false;
}

/* The byte by which libevent's handler wakes its loop for a signal, over a pipe or a pair of
 * sockets whose ends are both this process's: it can't fail, as nobody else can close an end. */
static bool is_wake_up(int fd, size_t size)
{
    struct ucred peer;
    socklen_t length = sizeof(peer);

    if (size != 1)
        return false;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0)
        return peer.pid == getpid();
    return is_own_pipe(fd);
}

static bool is_socket(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);
}

/* Can a call on this descriptor wait, so that a signal interrupts it? */
static bool can_wait(int fd, int flags)
{
    struct stat st;

    return !(flags & MSG_DONTWAIT) && !(fcntl(fd, F_GETFL) & O_NONBLOCK) && fstat(fd, &st) == 0 &&
           !S_ISREG(st.st_mode);
}

/* Up to PIPE_BUF bytes go into a pipe or a file as a whole, and a message through a socket of
 * messages. */
static bool can_be_short(int fd, size_t size)
{
    struct stat st;
    int type;
    socklen_t length = sizeof(type);

    if (fstat(fd, &st))
        return false;
    if (S_ISSOCK(st.st_mode))
        return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_STREAM;
    return (S_ISREG(st.st_mode) || S_ISFIFO(st.st_mode)) && size > PIPE_BUF;
}

static bool transfer_fails(const char *group, const char *call, int fd, int flags,
                           const void *caller)
{
    bool is_write = *group == 'w';
    int err = errno;

    if (!plan.is_read)
        plan_read();
    if (!is_group(group) || is_counter(fd))
        return false;
    if (plan.mode == MODE_EINTR) {
        bool is_it = can_wait(fd, flags) && is_hit(group, MODE_EINTR, call, fd, caller);

        errno = is_it ? EINTR : err;
        return is_it;
    }
    if (is_socket(fd))
        err = is_write ? EPIPE : ECONNRESET;
    else
        err = is_write ? ENOSPC : EIO;
    return fails(group, err, call, fd, caller);
}

/* How many bytes the call may move. */
static size_t transfer_size(const char *group, const char *call, int fd, size_t size,
                            const void *caller)
{
    if (plan.mode != MODE_SHORT || (size_t)plan.n >= size || !can_be_short(fd, size) ||
        !is_hit(group, MODE_SHORT, call, fd, caller))
        return size;
    return (size_t)plan.n;
}

/* The same for a vector: true if only *first may be moved. */
static bool vector_is_cut(const char *group, const char *call, int fd, const struct iovec *v,
                          size_t count, struct iovec *first, const void *caller)
{
    size_t size = 0, most;

    for (size_t i = 0; i < count; i++)
        size += v[i].iov_len;
    most = transfer_size(group, call, fd, size, caller);
    for (size_t i = 0; i < count && most < size; i++) {
        if (v[i].iov_len == 0)
            continue;
        first->iov_base = v[i].iov_base;
        first->iov_len = v[i].iov_len < most ? v[i].iov_len : most;
        return true;
    }
    return false;
}

ssize_t read(int fd, void *to, size_t size)
{
    NEXT(read);
    return transfer_fails("read", "read", fd, 0, CALLER)
               ? -1
               : next(fd, to, transfer_size("read", "read", fd, size, CALLER));
}

ssize_t pread64(int fd, void *to, size_t size, off64_t offset)
{
    NEXT(pread64);
    return transfer_fails("read", "pread", fd, 0, CALLER)
               ? -1
               : next(fd, to, transfer_size("read", "pread", fd, size, CALLER), offset);
}

ssize_t recv(int fd, void *to, size_t size, int flags)
{
    NEXT(recv);
    return transfer_fails("read", "recv", fd, flags, CALLER)
               ? -1
               : next(fd, to, transfer_size("read", "recv", fd, size, CALLER), flags);
}

ssize_t readv(int fd, const struct iovec *v, int count)
{
    struct iovec first;

    NEXT(readv);
    if (transfer_fails("read", "readv", fd, 0, CALLER))
        return -1;
    if (vector_is_cut("read", "readv", fd, v, (size_t)count, &first, CALLER))
        return next(fd, &first, 1);
    return next(fd, v, count);
}

ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
    NEXT(recvmsg);
    return transfer_fails("read", "recvmsg", fd, flags, CALLER) ? -1 : next(fd, m, flags);
}

ssize_t write(int fd, const void *from, size_t size)
{
    NEXT(write);
    return !is_wake_up(fd, size) && transfer_fails("write", "write", fd, 0, CALLER)
               ? -1
               : next(fd, from, transfer_size("write", "write", fd, size, CALLER));
}

ssize_t pwrite64(int fd, const void *from, size_t size, off64_t offset)
{
    NEXT(pwrite64);
    return transfer_fails("write", "pwrite", fd, 0, CALLER)
               ? -1
               : next(fd, from, transfer_size("write", "pwrite", fd, size, CALLER), offset);
}

ssize_t send(int fd, const void *from, size_t size, int flags)
{
    NEXT(send);
    return !is_wake_up(fd, size) && transfer_fails("write", "send", fd, flags, CALLER)
               ? -1
               : next(fd, from, transfer_size("write", "send", fd, size, CALLER), flags);
}

ssize_t writev(int fd, const struct iovec *v, int count)
{
    struct iovec first;

    NEXT(writev);
    if (transfer_fails("write", "writev", fd, 0, CALLER))
        return -1;
    if (vector_is_cut("write", "writev", fd, v, (size_t)count, &first, CALLER))
        return next(fd, &first, 1);
    return next(fd, v, count);
}

ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
    struct msghdr cut = *m;
    struct iovec first;

    NEXT(sendmsg);
    if (transfer_fails("write", "sendmsg", fd, flags, CALLER))
        return -1;
    if (vector_is_cut("write", "sendmsg", fd, m->msg_iov, m->msg_iovlen, &first, CALLER)) {
        cut.msg_iov = &first;
        cut.msg_iovlen = 1;
    }
    return next(fd, &cut, flags);
}

/* Waiting. */

int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    NEXT(poll);
    if (is_hit("poll", MODE_EINTR, "poll", -1, CALLER)) {
        errno = EINTR;
        return -1;
    }
    return fails("poll", ENOMEM, "poll", -1, CALLER) ? -1 : next(fds, count, timeout_ms);
}

int epoll_wait(int fd, struct epoll_event *events, int most, int timeout_ms)
{
    NEXT(epoll_wait);
    if (is_hit("poll", MODE_EINTR, "epoll_wait", fd, CALLER)) {
        errno = EINTR;
        return -1;
    }
    return next(fd, events, most, timeout_ms);
}
