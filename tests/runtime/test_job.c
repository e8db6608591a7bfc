/* SPDX-License-Identifier: MIT */
#include "tests/runtime/test_job.h"

#include "common/clock.h"
#include "common/net/job_file.h"
#include "coordinator/service/server.h"

#include <dirent.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>

static const uint8_t secret[AUTH_SECRET] = "thirty-two bytes of test secret";

void require_text(const char *file, int line, const char *text, const char *part)
{
    if (strstr(text, part))
        return;
    fprintf(stderr, "%s:%d: rank %s: \"%s\" is not in \"%s\"\n", file, line, getenv("MLAUNCH_RANK"),
            part, text);
    _exit(RANK_FAILED);
}

int64_t job_now_ms(void)
{
    return clock_ms();
}

int64_t job_processor_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void job_be_busy(int ms)
{
    int64_t end = clock_ms() + ms;

    while (clock_ms() < end)
        continue;
}

void job_meet(const struct job *j)
{
    job_meet_left(j, j->config.size);
}

void job_meet_left(const struct job *j, int count)
{
    int size = j->config.size;
    int until = __atomic_fetch_add(&j->seen->met, 1, __ATOMIC_ACQ_REL) / size * size + count;

    while (__atomic_load_n(&j->seen->met, __ATOMIC_ACQUIRE) < until)
        sched_yield();
}

void job_meet_absent(const struct job *j, int count)
{
    __atomic_fetch_add(&j->seen->met, count, __ATOMIC_ACQ_REL);
}

void job_dir(const struct job *j, int host, char path[PATH_MAX])
{
    if (snprintf(path, PATH_MAX, "%s/%s.%d", j->root, j->id, host) >= PATH_MAX)
        abort();
}

/* --- the coordinator's process --------------------------------------------------------------- */

struct exit_note {
    int rank;
    pid_t pid;
    char text[128];
};

struct service {
    struct server *server;
    int notes;
};

static void on_abort(int rank, int status, const char *why, void *arg)
{
    struct job_seen *seen = arg;

    seen->abort_rank = rank;
    seen->abort_status = status;
    snprintf(seen->why, sizeof(seen->why), "%s", why);
}

static void on_stall(const char *text, void *arg)
{
    struct job_seen *seen = arg;

    snprintf(seen->stall, sizeof(seen->stall), "%s", text);
    seen->stalls++;
}

static void on_refused(const char *text, void *arg)
{
    struct job_seen *seen = arg;

    (void)text;
    seen->refused++;
}

static void on_note(evutil_socket_t fd, short what, void *arg)
{
    struct service *s = arg;
    struct exit_note note;

    (void)what;
    if (read(fd, &note, sizeof(note)) == (ssize_t)sizeof(note))
        server_rank_exited(s->server, note.rank, note.pid, note.text);
    else
        _exit(0); /* the test is over */
}

static void serve(struct job *j, int notes, int answer)
{
    struct event_base *base = event_base_new();
    struct server_events events = {
        .on_abort = on_abort, .on_stall = on_stall, .on_refused = on_refused, .arg = j->seen};
    char names[JOB_RANKS][16];
    const char *name_of[JOB_RANKS];
    struct server_config config = {.job = j->id,
                                   .secret = secret,
                                   .size = j->config.size,
                                   .hosts = j->config.hosts,
                                   .host_of = j->host_of,
                                   .host_names = name_of,
                                   .stall_ms = j->config.stall_ms,
                                   .replaces = j->config.replace_ms > 0,
                                   .replace_ms = j->config.replace_ms,
                                   .bind_ip = "127.0.0.1"};
    struct service s = {.notes = notes};
    char where[ADDRESS_TEXT] = "";
    struct fault why = {0};

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGPIPE, SIG_IGN); /* libevent writes to sockets that ranks have closed */
    for (int i = 0; i < j->config.hosts; i++) {
        snprintf(names[i], sizeof(names[i]), "host%d", i);
        name_of[i] = names[i];
    }
    if (server_open(&s.server, base, &config, &events, &why) != 0) {
        fprintf(stderr, "%s\n", why.text);
        _exit(1);
    }
    address_format(server_address(s.server), where);
    if (write(answer, where, sizeof(where)) != (ssize_t)sizeof(where))
        _exit(1);
    close(answer);
    event_add(event_new(base, notes, EV_READ | EV_PERSIST, on_note, &s), NULL);
    event_base_dispatch(base);
    _exit(1);
}

static void start_coordinator(struct job *j, char where[ADDRESS_TEXT])
{
    int notes[2], answer[2];

    assert_int_equal(pipe2(notes, O_CLOEXEC), 0);
    assert_int_equal(pipe2(answer, O_CLOEXEC), 0);
    j->coordinator = fork();
    assert_true(j->coordinator >= 0);
    if (j->coordinator == 0) {
        close(notes[1]);
        close(answer[0]);
        serve(j, notes[0], answer[1]);
    }
    close(notes[0]);
    close(answer[1]);
    assert_int_equal(read(answer[0], where, ADDRESS_TEXT), ADDRESS_TEXT);
    close(answer[0]);
    j->exits = notes[1];
}

/* --- the job --------------------------------------------------------------------------------- */

static void write_job_files(const struct job *j, const char *coordinator)
{
    for (int host = 0; host < j->config.hosts; host++) {
        struct job_file f = {.host_rank = host,
                             .hosts = j->config.hosts,
                             .size = j->config.size,
                             .local_net = j->config.local_net,
                             .secure = j->config.secure,
                             .elastic = j->config.elastic,
                             .bind_ip = "127.0.0.1",
                             .init_timeout_ms = j->config.init_timeout_ms,
                             .stall_ms = j->config.stall_ms,
                             .starting_port = j->config.starting_port,
                             .agent_pid = getpid(),
                             .guard_pid = getpid(),
                             .command = "test"};
        struct fault why = {0};
        char path[PATH_MAX];

        snprintf(f.job, sizeof(f.job), "%s", j->id);
        snprintf(f.host, sizeof(f.host), "host%d", host);
        snprintf(f.backend, sizeof(f.backend), "%s", j->config.backend);
        snprintf(f.coordinator, sizeof(f.coordinator), "%s", coordinator);
        job_dir(j, host, path);
        assert_int_equal(mkdir(path, 0700), 0);
        if (job_file_write(path, &f, secret, &why) != 0)
            fail_msg("%s", why.text);
    }
}

void job_open(struct job *j, const struct job_config *config)
{
    static int count;
    const char *temporary = getenv("TMPDIR");
    char coordinator[ADDRESS_TEXT];

    memset(j, 0, sizeof(*j));
    j->config = *config;
    if (!j->config.hosts)
        j->config.hosts = 1;
    if (!j->config.backend)
        j->config.backend = "shm";
    if (!j->config.init_timeout_ms)
        j->config.init_timeout_ms = 30000;
    for (int i = 0; i < config->size; i++)
        j->host_of[i] = i * j->config.hosts / config->size;
    snprintf(j->id, sizeof(j->id), "test%d-%d", (int)getpid(), count++);
    snprintf(j->root, sizeof(j->root), "%s/mlaunch-%s-XXXXXX", temporary ? temporary : "/tmp",
             j->id);
    assert_non_null(mkdtemp(j->root));
    j->seen =
        mmap(NULL, sizeof(*j->seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(j->seen, MAP_FAILED);
    start_coordinator(j, coordinator);
    write_job_files(j, coordinator);
}

void job_spawn(struct job *j, int rank, rank_fn *fn)
{
    job_spawn_again(j, rank, 0, fn);
}

void job_spawn_again(struct job *j, int rank, int number, rank_fn *fn)
{
    char dir[PATH_MAX], text[16];

    fflush(NULL);
    j->pids[rank] = fork();
    assert_true(j->pids[rank] >= 0);
    if (j->pids[rank] > 0)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(j->exits);
    job_dir(j, j->host_of[rank], dir);
    snprintf(text, sizeof(text), "%d", rank);
    setenv("MLAUNCH_RANK", text, 1);
    setenv("MLAUNCH_JOB_DIR", dir, 1);
    snprintf(text, sizeof(text), "%d", number);
    setenv("MLAUNCH_RESTART", text, 1);
    fn(j, rank);
    exit(0);
}

static void tell_coordinator(struct job *j, int rank, int status)
{
    struct exit_note note = {.rank = rank, .pid = j->pids[rank]};

    if (WIFSIGNALED(status))
        snprintf(note.text, sizeof(note.text),
                 "was killed by signal %d (%s) on host host%d (pid %d)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)), j->host_of[rank], (int)note.pid);
    else
        snprintf(note.text, sizeof(note.text), "exited with status %d on host host%d (pid %d)",
                 WEXITSTATUS(status), j->host_of[rank], (int)note.pid);
    assert_int_equal(write(j->exits, &note, sizeof(note)), sizeof(note));
}

int job_wait(struct job *j, int rank)
{
    int64_t deadline = clock_ms() + JOB_WAIT_MS;
    int status = 0, pidfd = -1;
    struct pollfd p;
    pid_t pid = j->pids[rank];

    /* Not waitpid alone, so that a rank that hangs becomes a failure. */
    pidfd = (int)syscall(434 /* pidfd_open */, pid, 0);
    p = (struct pollfd){.fd = pidfd, .events = POLLIN};
    if (pidfd >= 0 && poll(&p, 1, clock_left_ms(deadline)) == 0) {
        fprintf(stderr, "rank %d (pid %d) hangs\n", rank, (int)pid);
        kill(pid, SIGABRT);
    }
    close(pidfd);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    tell_coordinator(j, rank, status);
    j->pids[rank] = 0;
    return status;
}

void job_run(struct job *j, rank_fn *fn)
{
    int failed = 0;

    for (int i = 0; i < j->config.size; i++)
        job_spawn(j, i, fn);
    for (int i = 0; i < j->config.size; i++)
        failed += job_wait(j, i) != 0;
    assert_int_equal(failed, 0);
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

/* /dev/shm holds nothing but the files that the agent removes: no shared memory. */
static void check_leftovers(const struct job *j)
{
    DIR *d = opendir("/dev/shm");
    struct dirent *e;

    while (d && (e = readdir(d))) {
        if (!strstr(e->d_name, j->id))
            continue;
        /* The record of a rank's calls, what it keeps, and the counters and the bell of one that
         * did not end by ml_finalize. */
        if (!strstr(e->d_name, ".calls.") && !strstr(e->d_name, ".keep.") &&
            !strstr(e->d_name, ".counters.") && !strstr(e->d_name, ".bell."))
            fail_msg("/dev/shm/%s was left behind", e->d_name);
        unlinkat(dirfd(d), e->d_name, 0);
    }
    closedir(d);
}

void job_close(struct job *j)
{
    int status;

    close(j->exits);
    assert_int_equal(waitpid(j->coordinator, &status, 0), j->coordinator);
    assert_int_equal(status, 0);
    check_leftovers(j);
    nftw(j->root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    munmap(j->seen, sizeof(*j->seen));
}

void job_do(const struct job_config *config, rank_fn *fn)
{
    struct job j;

    job_open(&j, config);
    job_run(&j, fn);
    job_close(&j);
}

bool job_has_broken_mark(const struct job *j, int rank)
{
    char path[PATH_MAX];

    job_dir(j, j->host_of[rank], path);
    snprintf(path + strlen(path), 64, "/rank.%d.broken", rank);
    return access(path, F_OK) == 0;
}

void job_remove_segments(const struct job *j)
{
    DIR *shm = opendir("/dev/shm");
    struct dirent *e;

    assert_non_null(shm);
    while ((e = readdir(shm)))
        if (strstr(e->d_name, j->id))
            unlinkat(dirfd(shm), e->d_name, 0);
    closedir(shm);
}
