/* SPDX-License-Identifier: MIT */
#include "launcher/wire/ssh/reach/remote_ask.h"

#include "common/clock.h"
#include "common/text/printable.h"
#include "common/text/text_stream.h"
#include "launcher/base/process/stream_child.h"
#include "launcher/base/text/program_path.h"
#include "launcher/base/text/string_list.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ANSWER_MOST = 1 << 20 /* bytes of each stream; a hundred keywords take 10 KiB */ };

/* What a stream has brought, with a NUL behind it. */
struct heard {
    char *bytes;
    size_t size, room;
    bool has_ended;
};

/* Reads what a non-blocking descriptor has now. */
static int stream_read(struct heard *h, int fd, struct fault *why)
{
    while (!h->has_ended) {
        ssize_t n;

        if (h->room - h->size < 2) {
            size_t room = h->room ? 2 * h->room : 16384;
            char *more = room <= ANSWER_MOST ? realloc(h->bytes, room) : NULL;

            if (!more)
                return fault_set(why, ML_ERR_SYSTEM, "ssh -G prints too much, or memory ran out");
            h->bytes = more;
            h->room = room;
        }
        n = read(fd, h->bytes + h->size, h->room - h->size - 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        h->has_ended = n <= 0;
        h->size += n > 0 ? (size_t)n : 0;
        h->bytes[h->size] = '\0';
    }
    return 0;
}

/* Until the answer has ended. What Match exec has left running may keep standard error open. */
static int streams_read(struct heard heard[2], const struct stream_child *child,
                        const struct remote_wait *w, struct fault *why)
{
    int rc = 0;

    while (!rc && !heard[0].has_ended) {
        struct pollfd p[] = {{.fd = w->wake, .events = POLLIN},
                             {.fd = child->fd, .events = POLLIN},
                             {.fd = heard[1].has_ended ? -1 : child->errors, .events = POLLIN}};
        int left = clock_left_ms(w->deadline_ms), n = poll(p, 3, left);

        if (n < 0 && errno != EINTR)
            rc = fault_os(why, ML_ERR_SYSTEM, errno, "poll");
        else if (n > 0 && p[0].revents)
            rc = fault_set(why, ML_ERR_STATE, "closed while connecting");
        else if (n == 0 && left == 0)
            rc = fault_set(why, ML_ERR_TIMEOUT, "time-out");
        if (!rc && n > 0 && p[1].revents)
            rc = stream_read(&heard[0], child->fd, why);
        if (!rc && n > 0 && p[2].revents)
            rc = stream_read(&heard[1], child->errors, why);
    }
    return rc;
}

/* Divides what ssh -v has said: the files go to `files`, the complaints to `words`. */
static void words_divide(char *said, FILE *files, FILE *words)
{
    static const char reading[] = "debug1: Reading configuration data ";
    const char *between = "";
    char *save = NULL;

    for (char *line = strtok_r(said, "\r\n", &save); line; line = strtok_r(NULL, "\r\n", &save)) {
        if (strncmp(line, reading, sizeof(reading) - 1) == 0) {
            fprintf(files, "%s\n", line + sizeof(reading) - 1);
        } else if (strncmp(line, "debug", 5) != 0 && strncmp(line, "OpenSSH_", 8) != 0) {
            fprintf(words, "%s%s", between, line);
            between = "; ";
        }
    }
}

static int answer_judge(int status, char *words, struct fault *why)
{
    printable_mend(words, "");
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    if (WIFSIGNALED(status))
        return fault_set(why, ML_ERR_ARGUMENT, "ssh -G was ended by signal %d%s%.300s",
                         WTERMSIG(status), *words ? ": " : "", words);
    return fault_set(why, ML_ERR_ARGUMENT, "ssh refuses its configuration: %.400s%s",
                     *words ? words : "it does not say why",
                     strstr(words, "Bad owner or permissions")
                         ? ": others may write to it; run chmod go-w on it, or make it yours"
                         : "");
}

/* ssh -v names each command of Match exec when it starts it. */
static void lateness_explain(const struct heard *said, struct fault *why)
{
    static const char running[] = "debug1: Executing command: ";
    const char *last = NULL;
    char command[256];

    for (const char *at = said->bytes; at && (at = strstr(at, running)); at++)
        last = at + sizeof(running) - 1;
    if (!last) {
        fault_set(why, ML_ERR_TIMEOUT, "ssh -G has not said in time what its configuration is");
        return;
    }
    snprintf(command, sizeof(command), "%.*s", (int)strcspn(last, "\r\n"), last);
    printable_mend(command, "");
    fault_set(why, ML_ERR_TIMEOUT,
              "a command of Match exec in ssh_config has not ended in time: %s", command);
}

static int child_run(struct heard heard[2], int *status, char *const argv[],
                     const struct remote_wait *wait, struct fault *why)
{
    struct stream_child child;
    int rc = stream_child_start(&child, argv, environ, true, why);

    if (rc)
        return rc;
    rc = streams_read(heard, &child, wait, why);
    if (rc) {
        stream_child_end(&child);
    } else {
        rc = remote_wait_group(wait, child.pid, status, why);
        if (!rc)
            rc = stream_read(&heard[1], child.errors, why);
        close(child.fd);
        close(child.errors);
    }
    if (rc == ML_ERR_TIMEOUT)
        lateness_explain(&heard[1], why);
    return rc;
}

int remote_ask(char **text, char **files, const struct remote_question *q,
               const struct remote_wait *wait, struct fault *why)
{
    /* With a command, as it is for the agent: without one, ForkAfterAuthentication is an error. */
    const char *argv[16] = {NULL, "-G", "-v", "-T", "-o", "RemoteCommand=none"};
    struct heard heard[2] = {{0}, {0}};
    struct text_stream named, said;
    char *path, *words = NULL, port[16];
    int count = 6, status = -1, rc;
    FILE *to_files, *to_words;

    *files = *text = NULL;
    if (program_path_find(&path, "ssh", NULL))
        return fault_set(why, ML_ERR_REFUSED, "there is no ssh program in PATH");
    argv[0] = path;
    if (q->file)
        argv[count++] = "-F", argv[count++] = q->file;
    if (q->user)
        argv[count++] = "-l", argv[count++] = q->user;
    snprintf(port, sizeof(port), "%d", q->port);
    if (q->port)
        argv[count++] = "-p", argv[count++] = port;
    argv[count++] = "--";
    argv[count++] = q->name;
    argv[count++] = "true";
    rc = child_run(heard, &status, (char *const *)argv, wait, why);
    free(path);
    to_files = text_stream_open(&named);
    to_words = text_stream_open(&said);
    if (to_files && to_words && heard[1].bytes)
        words_divide(heard[1].bytes, to_files, to_words);
    *files = to_files ? text_stream_close(to_files, &named) : NULL;
    words = to_words ? text_stream_close(to_words, &said) : NULL;
    if (!rc && (!*files || !words || !heard[0].bytes))
        rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (!rc)
        rc = answer_judge(status, words, why);
    free(words);
    free(heard[1].bytes);
    *text = heard[0].bytes;
    if (rc) {
        free(*files);
        free(*text);
        *files = *text = NULL;
    }
    return rc;
}
