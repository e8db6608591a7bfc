/* SPDX-License-Identifier: MIT */
#include "runtime/keep/keep_copy.h"

#include "common/mlaunch.h"
#include "common/net/address.h"
#include "common/net/job_file.h"
#include "runtime/group/coord_events.h"
#include "runtime/keep/keep_state.h"
#include "runtime/process/stdio_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* --- what is said ----------------------------------------------------------------------------- */

/* What this rank keeps is on its host alone, for that reason; NULL: it is on two. mlaunch ps finds
 * the first in a file of the job directory. */
static void alone_say(struct world *w, const char *why)
{
    struct keep_state *s = w->keep;
    char path[PATH_MAX + 32];
    int fd;

    if (s->said == (why ? KEEP_ALONE : KEEP_ON_TWO))
        return;
    snprintf(path, sizeof(path), "%s/rank.%d.alone", w->dir, w->rank);
    fd = why ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600) : -1;
    if (fd >= 0) {
        (void)!write(fd, why, strlen(why));
        close(fd);
    } else if (!why) {
        unlink(path); /* that of a process before this one, too */
    }
    if (why || s->said == KEEP_ALONE)
        coord_events_keeps_alone(w->coord_events, why ? why : "");
    s->said = why ? KEEP_ALONE : KEEP_ON_TWO;
}

/* --- the keepers ------------------------------------------------------------------------------ */

static void stream_close(struct keep_state *s)
{
    kept_stream_close(s->copies);
    s->copies = NULL;
}

/* The agent writes the file anew, under another inode, when the next host is another one. */
static bool job_file_is_new(const struct world *w, struct keep_state *s)
{
    char path[PATH_MAX + 16];
    struct stat st;

    snprintf(path, sizeof(path), "%s/job.json", w->dir);
    if (stat(path, &st) != 0 ||
        (st.st_ino == s->job_file.st_ino && st.st_mtim.tv_sec == s->job_file.st_mtim.tv_sec &&
         st.st_mtim.tv_nsec == s->job_file.st_mtim.tv_nsec))
        return false;
    s->job_file = st;
    return true;
}

static void keepers_renew(struct world *w, struct keep_state *s)
{
    uint8_t secret[AUTH_SECRET];
    struct fault ignored;
    struct job_file file;
    int held[STDIO_GUARD], rc;

    if (!job_file_is_new(w, s))
        return;
    stdio_guard_begin(held);
    rc = job_file_read(w->dir, &file, secret, &ignored);
    stdio_guard_end(held);
    sodium_memzero(secret, sizeof(secret));
    if (rc || strcmp(file.keeper, w->job.keeper) == 0)
        return;
    memcpy(w->job.keeper, file.keeper, sizeof(file.keeper));
    stream_close(s);
    s->is_alone = false;
    for (struct keep_name *one = s->names; one; one = one->next)
        one->is_copied = false;
}

/* The address of the keeper `at`, from 0. False: there is none. */
static bool keeper_address(const struct world *w, int at, char address[ADDRESS_TEXT])
{
    const char *text = w->job.keeper;
    size_t size;

    for (; at > 0 && *text; at--) {
        text += strcspn(text, " ");
        text += strspn(text, " ");
    }
    size = strcspn(text, " ");
    if (size == 0 || size >= ADDRESS_TEXT)
        return false;
    memcpy(address, text, size);
    address[size] = '\0';
    return true;
}

/* The connection to that keeper; NULL: there is none. */
static struct kept_stream *stream_to(struct world *w, int at)
{
    struct keep_state *s = w->keep;
    char address[ADDRESS_TEXT];
    struct fault why = {0};
    int held[STDIO_GUARD];

    if (s->copies && s->keeper == at)
        return s->copies;
    stream_close(s);
    if (!keeper_address(w, at, address))
        return NULL;
    stdio_guard_begin(held);
    if (kept_stream_connect(&s->copies, address, w->job.job, w->secret, w->rank, w->job.secure,
                            &why))
        s->copies = NULL;
    stdio_guard_end(held);
    s->keeper = at;
    if (at == 0)
        s->alone = why;
    return s->copies;
}

/* The one to which copies go. */
static struct kept_stream *stream_of(struct world *w)
{
    struct keep_state *s = keep_state_of(w);

    if (!s)
        return NULL;
    keepers_renew(w, s);
    if (s->is_alone)
        return NULL;
    s->is_alone = !stream_to(w, 0);
    return s->copies;
}

/* --- talking to one --------------------------------------------------------------------------- */

static bool ask_send(struct kept_stream *s, enum kept_what what, const struct keep_owner *o,
                     int slot, uint64_t size)
{
    struct kept_ask ask = {.what = what, .slot = (uint32_t)slot, .size = size};

    memcpy(ask.name, o->name, strlen(o->name)); /* keep_check has bounded it */
    return kept_stream_send(s, &ask, sizeof(ask));
}

/* False: the keeper is gone. */
static bool answer_get(struct kept_stream *s, struct kept_answer *answer)
{
    return kept_stream_receive(s, answer, sizeof(*answer), false);
}

static bool head_send(struct kept_stream *s, const struct keep_head *head)
{
    unsigned char page[KEPT_HEAD] = {0};

    memcpy(page, head, sizeof(*head));
    return kept_stream_send(s, page, sizeof(page));
}

/* What the keeper has in the slot. False: the keeper is gone. */
static bool slot_look(struct kept_stream *s, const struct keep_owner *o, int slot,
                      struct keep_slots *out)
{
    unsigned char page[KEPT_HEAD];
    struct kept_answer answer;

    out->state[slot] = KEEP_SLOT_NONE;
    if (!ask_send(s, KEPT_LOOK, o, slot, 0) || !answer_get(s, &answer))
        return false;
    if (answer.error)
        return true;
    if (!kept_stream_receive(s, page, sizeof(page), false))
        return false;
    if (keep_slot_head(o, page, answer.size, &out->head[slot]))
        out->state[slot] = KEEP_SLOT_WHOLE;
    return true;
}

/* --- sending ---------------------------------------------------------------------------------- */

/* Sends the version that is in the slot, unless the keeper has it. False: the keeper is gone. */
static bool slot_bring(struct kept_stream *s, const struct keep_owner *o, int slot)
{
    struct keep_slots there;
    struct kept_answer answer;
    struct keep_head head;
    int fd = keep_slot_open(o, slot, &head);
    bool goes_on = true;

    if (fd < 0)
        return true;
    goes_on = slot_look(s, o, slot, &there);
    if (goes_on && (there.state[slot] != KEEP_SLOT_WHOLE ||
                    memcmp(&there.head[slot], &head, sizeof(head)) != 0))
        goes_on = ask_send(s, KEPT_PUT, o, slot, head.size) && answer_get(s, &answer) &&
                  (answer.error || (kept_stream_copy_file(s, fd, head.size, KEPT_HEAD) &&
                                    head_send(s, &head) && answer_get(s, &answer)));
    close(fd);
    return goes_on;
}

/* A host that is next since, or before this process began, may lack the version before this one. */
static bool others_bring(struct world *w, struct kept_stream *s, const struct keep_owner *o,
                         int slot)
{
    struct keep_name *name = keep_state_name(w->keep, o->name);
    bool goes_on = true;

    if (!name || name->is_copied)
        return true;
    for (int i = 0; i < KEPT_SLOTS && goes_on; i++)
        goes_on = i == slot || slot_bring(s, o, i);
    name->is_copied = goes_on;
    return goes_on;
}

static void copy_lose(struct keep_copy *c)
{
    struct keep_state *s = c->world->keep;

    stream_close(s);
    s->is_alone = true;
    fault_set(&s->alone, ML_ERR_PEER, "the connection to the next host was lost");
    alone_say(c->world, s->alone.text);
    c->stream = NULL;
}

/* Nothing is said in a job that was never to have copies. */
static void none_say(struct world *w)
{
    const struct keep_state *s = w->keep;

    if (s && s->is_alone && w->job.keeper[0])
        alone_say(w, s->alone.text);
    else if (s && !w->job.keeper[0] && s->said != KEEP_UNKNOWN)
        alone_say(w, "no other host takes copies");
}

static void copy_begin(struct keep_copy *c)
{
    struct kept_answer answer;

    c->has_begun = true;
    c->stream = stream_of(c->world);
    if (!c->stream) {
        none_say(c->world);
        return;
    }
    if (!others_bring(c->world, c->stream, c->owner, c->slot) ||
        !ask_send(c->stream, KEPT_PUT, c->owner, c->slot, c->size) ||
        !answer_get(c->stream, &answer)) {
        copy_lose(c);
        return;
    }
    c->error = answer.error;
    if (c->error)
        c->stream = NULL;
}

void keep_copy_add(struct keep_copy *c, const void *piece, size_t size)
{
    if (!c->has_begun)
        copy_begin(c);
    if (c->stream && !kept_stream_send(c->stream, piece, size))
        copy_lose(c);
}

void keep_copy_drop(struct keep_copy *c)
{
    if (c->stream) /* which waits for the rest */
        stream_close(c->world->keep);
}

int keep_copy_end(struct keep_copy *c, const struct keep_head *head, struct fault *why)
{
    struct kept_answer answer;

    if (!c->has_begun) /* it has no bytes */
        copy_begin(c);
    if (c->stream) {
        if (head_send(c->stream, head) && answer_get(c->stream, &answer))
            c->error = answer.error;
        else
            copy_lose(c);
    }
    if (c->error == 0 && c->stream)
        alone_say(c->world, NULL);
    if (c->error == 0)
        return 0;
    alone_say(c->world, strerror(c->error));
    return fault_os(why, ML_ERR_SYSTEM, c->error,
                    "version %llu of \"%s\" is kept on host %s, but its copy cannot be on the next "
                    "host (--keep 2)",
                    (unsigned long long)head->stamp.version, c->owner->name, c->owner->host);
}

/* --- fetching --------------------------------------------------------------------------------- */

void keep_copy_look(struct world *w, const struct keep_owner *o, struct keep_slots *out)
{
    struct keep_state *state = keep_state_of(w);
    char ignored[ADDRESS_TEXT];
    bool is_found = false;

    *out = (struct keep_slots){0};
    if (state)
        keepers_renew(w, state);
    for (int at = 0; state && !is_found && keeper_address(w, at, ignored); at++) {
        struct kept_stream *s = at > 0 || !state->is_alone ? stream_to(w, at) : NULL;

        for (int i = 0; i < KEPT_SLOTS && s; i++) {
            if (!slot_look(s, o, i, out)) {
                stream_close(state);
                s = NULL;
                *out = (struct keep_slots){0};
            }
            is_found |= out->state[i] == KEEP_SLOT_WHOLE;
        }
        if (at == 0 && !s)
            state->is_alone = true;
    }
}

static bool next_bytes(void *into, size_t size, void *arg)
{
    return kept_stream_receive(arg, into, size, false);
}

bool keep_copy_fetch(struct world *w, const struct keep_owner *o, int slot)
{
    struct keep_state *state = w->keep;
    struct kept_answer answer;
    bool is_whole = false;

    if (!state || !state->copies)
        return false;
    if (ask_send(state->copies, KEPT_GET, o, slot, 0) && answer_get(state->copies, &answer) &&
        (answer.error != 0 ||
         keep_slot_take(o, slot, answer.size, next_bytes, state->copies, &is_whole)))
        return is_whole;
    stream_close(state);
    state->is_alone |= state->keeper == 0;
    return false;
}
