/* SPDX-License-Identifier: MIT */
#include "launcher/agent/mpi/pmix_helper.h"

#include "common/clock.h"
#include "common/failure_times.h"
#include "common/text/parsed_json.h"
#include "common/text/signal_text.h"
#include "launcher/base/process/install_path.h"
#include "launcher/base/process/last_words.h"
#include "launcher/base/process/stream_child.h"
#include "launcher/wire/protocol/frame_stream.h"
#include "launcher/wire/protocol/pmix_protocol.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum {
    VARIABLES_MOST = 64, /* a rank's: libpmix 4 sets 17 */
    NUMBER = 4,          /* bytes of a number */
    ASK_S = 2,
};

/* For hosts whose libpmix.so.2 is missing. */
#define PACKAGE_HINT "; libpmix is missing there, or broken (Debian's package is libpmix2)"

struct pmix_helper {
    struct pmix_helper_events events;
    struct stream_child child; /* pid 0: reaped */
    struct frame_stream *channel;
    struct last_words words;
    int status; /* as waitpid gives it, once it is reaped */
    bool is_ready, is_finished, is_lost;
    bool is_told;         /* on_lost has been called */
    bool is_silent;       /* on_silent has told of it */
    int64_t heard_ms;     /* when its last frame came */
    struct event *lost;   /* reports its end from the loop */
    struct event *ping;   /* asks it, once it is ready, whether it answers */
    int unanswered;       /* PINGs */
    struct event *asked;  /* the end of the wait of pmix_helper_ask(); pending: somebody waits */
    struct event *errors; /* reads what it prints */
    char failure[512];    /* what it has said about itself, or "" */
    int *ranks;
    int rank_count;
    json_t *ready;           /* owns the texts of `variables` */
    const char ***variables; /* per rank */
};

/* "rank 3", or "ranks 0-3,8"; ends with "…" where there are too many. */
static void ranks_describe(const struct pmix_helper *h, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "rank%s ", h->rank_count > 1 ? "s" : "");

    for (int i = 0, last; i < h->rank_count; i = last + 1) {
        last = i;
        while (last + 1 < h->rank_count && h->ranks[last + 1] == h->ranks[last] + 1)
            last++;
        if (used + 32 > size) {
            snprintf(text + used, size - used, "…");
            return;
        }
        used += (size_t)snprintf(text + used, size - used, "%s%d", i ? "," : "", h->ranks[i]);
        if (last > i)
            used += (size_t)snprintf(text + used, size - used, "-%d", h->ranks[last]);
    }
}

/* "was killed by signal 9 (Killed): WORDS". */
static void end_describe(struct pmix_helper *h, char *text, size_t size)
{
    char how[SIGNAL_TEXT + 64], words[300], killed[SIGNAL_TEXT], ranks[128];
    bool lacks_library;

    last_words_read(&h->words, h->child.errors);
    last_words_line(&h->words, words, sizeof(words));
    ranks_describe(h, ranks, sizeof(ranks));
    lacks_library = strstr(words, "libpmix") && strstr(words, "shared librar");
    if (WIFSIGNALED(h->status))
        snprintf(how, sizeof(how), "%s", signal_text_killed(killed, WTERMSIG(h->status)));
    else
        snprintf(how, sizeof(how), "has ended with status %d", WEXITSTATUS(h->status));
    if (h->failure[0])
        snprintf(text, size, "mlaunch-pmix, which serves %s by PMIx, has failed: %s%s%s", ranks,
                 h->failure, words[0] ? ": " : "", words);
    else
        snprintf(text, size, "mlaunch-pmix, which serves %s by PMIx, %s%s%s%s", ranks, how,
                 words[0] ? ": " : "", words, lacks_library ? PACKAGE_HINT : "");
}

/* Killed, as it may hang. It leaves nothing but files in the job directory. Its status stays its
 * own if its socket has ended because the process has. */
static void child_reap(struct pmix_helper *h)
{
    if (!h->child.pid)
        return;
    kill(h->child.pid, SIGKILL);
    while (waitpid(h->child.pid, &h->status, 0) < 0 && errno == EINTR)
        ;
    h->child.pid = 0;
}

/* False: nobody waits. */
static bool ask_end(struct pmix_helper *h)
{
    bool is_waited_for = event_pending(h->asked, EV_TIMEOUT, NULL);

    event_del(h->asked);
    return is_waited_for;
}

static void on_ask_late(evutil_socket_t fd, short what, void *arg)
{
    const struct pmix_helper *h = arg;

    (void)fd, (void)what;
    h->events.on_settled(h->events.arg);
}

static void on_lost(evutil_socket_t fd, short what, void *arg)
{
    struct pmix_helper *h = arg;
    const struct pmix_helper_events events = h->events;
    bool is_waited_for;
    char text[1024];

    (void)fd, (void)what;
    child_reap(h);
    end_describe(h, text, sizeof(text));
    h->is_told = true;
    is_waited_for = ask_end(h);
    events.on_lost(text, events.arg); /* may close it, if no rank has started */
    if (is_waited_for)
        events.on_settled(events.arg);
}

static void on_errors(evutil_socket_t fd, short what, void *arg)
{
    struct pmix_helper *h = arg;

    (void)what;
    if (!last_words_read(&h->words, fd))
        event_del(h->errors);
}

static void helper_lose(struct pmix_helper *h, const char *why)
{
    if (h->is_lost || h->is_finished)
        return;
    h->is_lost = true;
    if (why && !h->failure[0])
        snprintf(h->failure, sizeof(h->failure), "%s", why);
    event_active(h->lost, 0, 0);
}

static void on_end(const char *why, void *arg)
{
    helper_lose(arg, why);
}

/* "mlaunch-pmix (pid 12), which serves ranks 0-1 by PMIx, ..." */
static void silence_tell(struct pmix_helper *h, const char *what)
{
    char text[512], ranks[128];

    ranks_describe(h, ranks, sizeof(ranks));
    snprintf(text, sizeof(text), "mlaunch-pmix (pid %d), which serves %s by PMIx, %s",
             (int)h->child.pid, ranks, what);
    h->events.on_silent(text, h->events.arg);
}

static void ping_send(struct pmix_helper *h)
{
    h->unanswered++;
    frame_stream_send(h->channel, HELP_PING, NULL, 0);
}

static void on_ping(evutil_socket_t fd, short what, void *arg)
{
    struct pmix_helper *h = arg;
    char silent[160];

    (void)fd, (void)what;
    if (h->is_lost || h->is_finished)
        return;
    if (!h->is_silent && clock_ms() - h->heard_ms >= PMIX_SILENCE_MS + PMIX_PING_MS) {
        h->is_silent = true;
        snprintf(silent, sizeof(silent),
                 "has not answered for %g s: MPI_Init, MPI_Finalize and MPI_Abort wait for it; is "
                 "it stopped, or the host too busy?",
                 FAILURE_SECONDS(PMIX_SILENCE_MS));
        silence_tell(h, silent);
    }
    if (!h->is_silent) /* what is unread must not pile up */
        ping_send(h);
}

/* Each frame of it is a sign of life. */
static void helper_hear(struct pmix_helper *h)
{
    h->heard_ms = clock_ms();
    if (!h->is_silent)
        return;
    h->is_silent = false;
    silence_tell(h, "answers again");
}

static int index_of(const struct pmix_helper *h, json_int_t rank)
{
    for (int i = 0; i < h->rank_count; i++) {
        if (h->ranks[i] == rank)
            return i;
    }
    return -1;
}

/* A rank's variables, as an array that ends with NULL; the texts stay the JSON's. NULL: they are
 * malformed. */
static const char **variables_read(const json_t *list)
{
    size_t count = json_array_size(list);
    const char **out = count <= VARIABLES_MOST ? calloc(count + 1, sizeof(*out)) : NULL;

    for (size_t i = 0; out && i < count; i++) {
        out[i] = json_string_value(json_array_get(list, i));
        if (!out[i] || !strchr(out[i], '=') || out[i][0] == '=') {
            free(out);
            return NULL;
        }
    }
    return out;
}

static bool ready_take(struct pmix_helper *h, json_t *root)
{
    const json_t *env = json_object_get(root, "env");

    if (h->is_ready || json_array_size(env) != (size_t)h->rank_count)
        return false;
    for (int i = 0; i < h->rank_count; i++) {
        free(h->variables[i]);
        h->variables[i] = variables_read(json_array_get(env, (size_t)i));
        if (!h->variables[i])
            return false;
    }
    h->ready = json_incref(root);
    h->is_ready = true;
    evtimer_add(h->ping, &(struct timeval)FAILURE_TIMEVAL(PMIX_PING_MS));
    h->events.on_ready(h->events.arg);
    return true;
}

/* A frame with {rank} and more. */
static bool rank_frame_take(struct pmix_helper *h, int type, const json_t *root)
{
    const json_t *rank = json_object_get(root, "rank"), *status = json_object_get(root, "status");
    const char *text = json_string_value(json_object_get(root, "text"));
    int index = json_is_integer(rank) ? index_of(h, json_integer_value(rank)) : -1;

    if (index < 0 || (type == HELPER_ABORT ? !json_is_integer(status) : !text))
        return false;
    if (type == HELPER_ABORT)
        h->events.on_abort(index, (int)json_integer_value(status), h->events.arg);
    else if (type == HELPER_FAULT)
        h->events.on_fault(index, text, h->events.arg);
    else
        h->events.on_note(index, text, h->events.arg);
    return true;
}

static bool json_frame_take(struct pmix_helper *h, const struct frame *f)
{
    json_t *root = parsed_json((const char *)f->payload, f->size, 0, NULL);
    const char *text = json_string_value(json_object_get(root, "text"));
    bool is_valid = root != NULL;

    if (f->type == HELPER_READY)
        is_valid = is_valid && ready_take(h, root);
    else if (f->type == HELPER_FAILED)
        helper_lose(h, text);
    else
        is_valid = is_valid && rank_frame_take(h, f->type, root);
    json_decref(root);
    return is_valid;
}

static bool pong_take(struct pmix_helper *h, const struct frame *f)
{
    if (f->size || h->unanswered == 0)
        return false;
    if (--h->unanswered == 0 && ask_end(h))
        h->events.on_settled(h->events.arg);
    return true;
}

static bool frame_take(struct pmix_helper *h, const struct frame *f)
{
    uint32_t number;

    switch (f->type) {
    case HELPER_FENCE:
        if (f->size < NUMBER || !h->is_ready)
            return false;
        memcpy(&number, f->payload, NUMBER);
        h->events.on_exchange(ntohl(number), f->payload + NUMBER, f->size - NUMBER, h->events.arg);
        return true;
    case HELPER_PASS:
        if (f->size <= NUMBER || !h->is_ready)
            return false;
        memcpy(&number, f->payload, NUMBER);
        h->events.on_pass(ntohl(number), f->payload + NUMBER, f->size - NUMBER, h->events.arg);
        return true;
    case HELPER_READY:
    case HELPER_FAILED:
        return json_frame_take(h, f);
    case HELPER_ABORT:
    case HELPER_FAULT:
    case HELPER_NOTE:
        return h->is_ready && json_frame_take(h, f);
    case HELPER_PONG:
        return pong_take(h, f);
    default:
        return false;
    }
}

static void on_frame(const struct frame *f, void *arg)
{
    struct pmix_helper *h = arg;

    if (h->is_lost || h->is_finished)
        return;
    helper_hear(h);
    if (!frame_take(h, f))
        helper_lose(h, "it sent an invalid frame");
}

/* The agent's environment behind the mark by which `mlaunch clean` finds the job's processes, and
 * what the user says about security. */
int pmix_helper_start(struct stream_child *out, const char *dir, const char *security,
                      struct fault *why)
{
    char path[PATH_MAX], mark[PATH_MAX], psec[256], *argv[] = {path, NULL}, **env;
    size_t count = 0;
    int rc = install_path_find(path, INSTALL_PMIX, why);

    if (rc == ML_ERR_STATE)
        return rc;
    if (rc)
        return fault_set(why, rc,
                         "mlaunch-pmix, which serves programs of Open MPI and PMIx, is missing: "
                         "mlaunch was built without libpmix there (Debian's package is "
                         "libpmix-dev), or is not installed as a whole");
    while (environ[count])
        count++;
    env = calloc(count + 3, sizeof(*env));
    if (!env)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    snprintf(mark, sizeof(mark), "MLAUNCH_JOB_DIR=%s", dir);
    env[0] = mark;
    snprintf(psec, sizeof(psec), "PMIX_MCA_psec=%s", security);
    env[1] = security[0] ? psec : mark;
    memcpy(env + 2, environ, count * sizeof(*env));
    rc = stream_child_start(out, argv, env, true, why);
    free(env);
    return rc;
}

/* All but the channel; 0 or ML_ERR_MEMORY. */
static int helper_fill(struct pmix_helper *h, struct event_base *base, const int *ranks,
                       int rank_count, struct fault *why)
{
    h->rank_count = rank_count;
    h->ranks = calloc((size_t)rank_count, sizeof(*h->ranks));
    h->variables = calloc((size_t)rank_count, sizeof(*h->variables));
    h->lost = event_new(base, -1, 0, on_lost, h);
    h->ping = event_new(base, -1, EV_PERSIST, on_ping, h);
    h->asked = evtimer_new(base, on_ask_late, h);
    if (!h->ranks || !h->variables || !h->lost || !h->ping || !h->asked)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    memcpy(h->ranks, ranks, (size_t)rank_count * sizeof(*ranks));
    return 0;
}

int pmix_helper_open(struct pmix_helper **out, struct event_base *base, struct stream_child *child,
                     json_t *job, const int *ranks, int rank_count,
                     const struct pmix_helper_events *events, struct fault *why)
{
    struct pmix_helper *h = calloc(1, sizeof(*h));
    const struct frame_stream_events channel = {on_frame, on_end, NULL, h};
    int rc;

    if (!h || !job) {
        free(h);
        json_decref(job);
        stream_child_end(child);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    h->events = *events;
    h->child = *child;
    rc = helper_fill(h, base, ranks, rank_count, why);
    if (!rc)
        rc = frame_stream_open(&h->channel, base, h->child.fd, h->child.fd, &channel, why);
    if (rc) {
        json_decref(job);
        pmix_helper_close(h);
        return rc;
    }
    h->child.fd = -1; /* the stream's now */
    if (h->child.errors >= 0)
        h->errors = event_new(base, h->child.errors, EV_READ | EV_PERSIST, on_errors, h);
    if (h->errors)
        event_add(h->errors, NULL);
    frame_stream_send_json(h->channel, HELP_JOB, job);
    *out = h;
    return 0;
}

void pmix_helper_close(struct pmix_helper *h)
{
    if (!h)
        return;
    h->is_finished = true;
    frame_stream_close(h->channel);
    child_reap(h);
    if (h->child.fd >= 0)
        close(h->child.fd);
    if (h->errors)
        event_free(h->errors);
    if (h->child.errors >= 0)
        close(h->child.errors);
    if (h->lost)
        event_free(h->lost);
    if (h->ping)
        event_free(h->ping);
    if (h->asked)
        event_free(h->asked);
    for (int i = 0; h->variables && i < h->rank_count; i++)
        free(h->variables[i]);
    free(h->variables);
    json_decref(h->ready);
    free(h->ranks);
    free(h);
}

const char *const *pmix_helper_variables(const struct pmix_helper *h, int index)
{
    return h->variables[index];
}

void pmix_helper_exchanged(struct pmix_helper *h, uint32_t number, const void *bytes, size_t size)
{
    uint32_t word = htonl(number);

    if (!h->is_lost && !h->is_finished)
        frame_stream_send_parts(h->channel, HELP_FENCED, &word, sizeof(word), bytes, size);
}

void pmix_helper_passed(struct pmix_helper *h, int host, const void *bytes, size_t size)
{
    uint32_t word = htonl((uint32_t)host);

    if (!h->is_lost && !h->is_finished)
        frame_stream_send_parts(h->channel, HELP_PASSED, &word, sizeof(word), bytes, size);
}

void pmix_helper_rank_ended(struct pmix_helper *h, int index, bool has_succeeded)
{
    const uint32_t words[] = {htonl((uint32_t)h->ranks[index]), htonl(has_succeeded)};

    if (!h->is_lost && !h->is_finished)
        frame_stream_send(h->channel, HELP_ENDED, words, sizeof(words));
}

bool pmix_helper_ask(struct pmix_helper *h)
{
    if (!h->is_ready || h->is_told || h->is_finished || h->is_silent)
        return false;
    if (!event_pending(h->asked, EV_TIMEOUT, NULL))
        evtimer_add(h->asked, &(struct timeval){.tv_sec = ASK_S});
    if (!h->is_lost) /* else on_lost is due */
        ping_send(h);
    return true;
}

void pmix_helper_finish(struct pmix_helper *h)
{
    if (h->is_finished)
        return;
    h->is_finished = true;
    event_del(h->ping);
    event_del(h->asked);
    frame_stream_close(h->channel);
    h->channel = NULL;
    child_reap(h);
}

bool pmix_helper_has_finished(const struct pmix_helper *h)
{
    return h->is_finished;
}

bool pmix_helper_reaped(struct pmix_helper *h, pid_t pid, int status)
{
    if (!h->child.pid || pid != h->child.pid)
        return false;
    h->child.pid = 0;
    h->status = status; /* the end of its socket, with which it is lost, follows or has come */
    return true;
}
