/* SPDX-License-Identifier: MIT */
/*
 * pmix_main.c: mlaunch-pmix, which serves PMIx to a host's ranks, so that programs of Open MPI
 * start unmodified. It is a child of the agent, a process of its own because libpmix has threads,
 * and so that the agent needs no libpmix. The two speak over its standard input, a socket; once
 * that is closed it ends.
 */
#include "common/build_id.h"
#include "common/text/text_json.h"
#include "launcher/pmix/main_queue.h"
#include "launcher/pmix/published.h"
#include "launcher/pmix/serve.h"
#include "launcher/wire/protocol/pmix_protocol.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

extern char **environ;

enum { CHANNEL = STDIN_FILENO, JOB_WITHIN_MS = 10000, READ = 65536 };

/* The signals that end a job are for its ranks: this process ends after them. */
static void signals_ignore(void)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE};

    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        signal(signals[i], SIG_IGN);
}

/* Whether munged runs here. */
static bool munge_answers(void)
{
    static const struct sockaddr_un address = {AF_UNIX, "/run/munge/munge.socket.2"};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool answers = fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0;

    if (fd >= 0)
        close(fd);
    return answers;
}

/* munge proves to the server which user a process is of; without it processes only say so. Nothing
 * else is accepted beside it, or another user's process would choose that. Where libpmix has not
 * brought libmunge, it may be able to load it. */
static void security_choose(void)
{
    if (munge_answers())
        setenv("PMIX_MCA_psec", dlsym(RTLD_DEFAULT, "munge_encode") ? "munge" : "munge,native", 0);
}

/* Removes what an outer PMIx server has set: this process would take itself for its client. The
 * user's settings, PMIX_MCA_…, stay. */
static void environment_prepare(void)
{
    static const char prefix[] = "PMIX_", settings[] = "PMIX_MCA_";
    char name[128];

    for (char **entry = environ; *entry;) {
        size_t length = strcspn(*entry, "=");

        if (strncmp(*entry, prefix, strlen(prefix)) == 0 &&
            strncmp(*entry, settings, strlen(settings)) != 0 && length < sizeof(name)) {
            snprintf(name, sizeof(name), "%.*s", (int)length, *entry);
            unsetenv(name);
            entry = environ;
        } else {
            entry++;
        }
    }
    security_choose();
}

static int job_receive(struct served_job *job, struct frame_reader *reader, struct fault *why)
{
    struct frame f;
    int rc = frame_recv(CHANNEL, reader, &f, -1, why);

    if (rc)
        return rc;
    return f.type == HELP_JOB ? served_job_parse(job, (const char *)f.payload, f.size, why)
                              : fault_set(why, ML_ERR_REFUSED, "the agent sent no JOB");
}

/* Reads what has come. ML_ERR_PEER: the agent has closed the socket. */
static int frames_read(struct frame_reader *reader, struct fault *why)
{
    struct frame f;
    uint8_t *room;
    ssize_t n;
    int rc = frame_reader_room(reader, READ, &room, why);

    if (rc)
        return rc;
    n = read(CHANNEL, room, READ);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0)
        return ML_ERR_PEER;
    frame_reader_add(reader, (size_t)n);
    while ((rc = frame_reader_next(reader, &f, why)) == 1) {
        rc = serve_frame(&f, why);
        if (rc)
            return rc;
    }
    return rc;
}

static int loop_run(struct frame_reader *reader, struct fault *why)
{
    int rc = 0;

    while (!rc) {
        struct pollfd p[] = {{.fd = CHANNEL, .events = POLLIN},
                             {.fd = main_queue_fd(), .events = POLLIN}};

        if (poll(p, 2, published_wait_ms()) < 0)
            continue;
        rc = published_expire(why);
        if (!rc && p[1].revents)
            rc = serve_queue(why);
        if (!rc && p[0].revents)
            rc = frames_read(reader, why);
    }
    return rc;
}

static void failure_send(const struct fault *why)
{
    json_t *root = json_pack("{s:o}", "text", text_json(why->text));
    char *text = root ? json_dumps(root, JSON_COMPACT) : NULL;
    struct fault unsent;

    if (text)
        frame_send(CHANNEL, HELPER_FAILED, text, (uint32_t)strlen(text), -1, &unsent);
    free(text);
    json_decref(root);
}

int main(int argc, char **argv)
{
    struct frame_reader *reader = NULL;
    struct served_job job = {0};
    struct fault why = {0};
    int rc;

    if (argc > 1 && strcmp(argv[1], "--build") == 0) {
        puts(build_id);
        return 0;
    }
    signals_ignore();
    environment_prepare();
    rc = frame_reader_create(&reader, FRAME_LIMIT, &why);
    if (!rc)
        rc = job_receive(&job, reader, &why);
    if (!rc)
        rc = serve_open(&job, CHANNEL, &why);
    if (!rc)
        rc = serve_announce(&why);
    if (!rc)
        rc = loop_run(reader, &why);
    if (rc && rc != ML_ERR_PEER)
        failure_send(&why);
    /* Everything of libpmix lies in the job's directory, which the agent removes. */
    _exit(rc == ML_ERR_PEER ? 0 : 1);
}
