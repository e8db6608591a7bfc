/* SPDX-License-Identifier: MIT */
#include "runtime/group/wait_note.h"

#include "common/clock.h"
#include "common/failure_times.h"
#include "common/text/text_json.h"
#include "coordinator/protocol.h"
#include "runtime/group/group.h"
#include "runtime/group/link.h"
#include "runtime/group/world.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { NAMED = 16, MEMBERS_NAMED = 1024, MESSAGES_NAMED = 3, TEXT = 384, PATH = PATH_MAX + 64 };

static void wait_note_path(char path[PATH], const struct world *w, uint32_t group)
{
    snprintf(path, PATH, "%s/rank.%d.waiting.%u", w->dir, w->rank, (unsigned)group);
}

static __attribute__((format(printf, 3, 4))) size_t wait_note_append(char text[TEXT], size_t at,
                                                                     const char *format, ...)
{
    va_list arguments;
    int n;

    va_start(arguments, format);
    n = vsnprintf(text + at, TEXT - at, format, arguments);
    va_end(arguments);
    return n < 0 || (size_t)n >= TEXT - at ? TEXT - 1 : at + (size_t)n;
}

/* "all_reduce of 1000 float32 (sum), call 7, for rank 5", "init, call 1" */
static void wait_note_collective(char text[TEXT], const struct group *g, const char *signature)
{
    size_t at = wait_note_append(text, 0, "%s, call %u", signature, (unsigned)g->call.seq);

    if (g->active_count)
        at = wait_note_append(text, at, ", for %s", g->active_count == 1 ? "rank" : "ranks");
    for (int i = 0; i < g->active_count && i < NAMED; i++)
        at = wait_note_append(text, at, "%s %d", i ? "," : "", g->members[g->active[i]->peer]);
    if (g->active_count > NAMED)
        wait_note_append(text, at, " …");
}

/* "recv of 8 bytes from rank 5, send of 4 bytes to rank 2": what is under way. */
static void wait_note_messages(char text[TEXT], const struct group *g)
{
    char tagged[WAIT_NOTE_TAG];
    int named = wait_note_tag(tagged, g, true);
    size_t at = wait_note_append(text, 0, "%s", tagged);

    for (int i = 0; i < g->active_count; i++) {
        const struct link *l = g->active[i];

        for (const struct message_op *t = l->recvs; t && named < MESSAGES_NAMED; t = t->next)
            if (!message_op_listens(t))
                at = wait_note_append(text, at, "%srecv of %zu bytes from rank %d",
                                      named++ ? ", " : "", t->size, g->members[l->peer]);
        for (const struct message_op *t = l->sends; t && named < MESSAGES_NAMED; t = t->next)
            at = wait_note_append(text, at, "%ssend of %zu bytes to rank %d", named++ ? ", " : "",
                                  t->size, g->members[l->peer]);
    }
}

/* The group's ranks, unless it is the world. */
static void wait_note_members(json_t *note, const struct group *g)
{
    json_t *list;

    if (g->id == COORD_WORLD || g->size > MEMBERS_NAMED)
        return;
    list = json_array();
    for (int i = 0; i < g->size; i++)
        json_array_append_new(list, json_integer(g->members[i]));
    json_object_set_new(note, "members", list);
}

static json_t *wait_note_peers(const struct group *g, bool is_receiving)
{
    json_t *list = json_array();

    for (int i = 0; i < g->active_count && json_array_size(list) < NAMED; i++) {
        const struct link *l = g->active[i];

        if (is_receiving ? l->recvs && !link_waits_for_any(l) : l->sends != NULL)
            json_array_append_new(list, json_integer(g->members[l->peer]));
    }
    return list;
}

void wait_note_site(char out[WAIT_NOTE_SITE], const struct group *g)
{
    const char *site = g->words.site ? g->words.site : "";
    size_t length = strlen(site);
    bool is_long = length >= WAIT_NOTE_SITE;

    if (is_long)
        site += length - (WAIT_NOTE_SITE - sizeof("..."));
    snprintf(out, WAIT_NOTE_SITE, "%s%s", is_long ? "..." : "", site);
}

bool wait_note_tag(char out[WAIT_NOTE_TAG], const struct group *g, bool names_rank)
{
    const struct awaited_tag *a = &g->awaited;
    char tag[24] = "any tag", from[24] = "";

    out[0] = 0;
    if (!a->waits)
        return false;
    if (a->tag != ML_ANY)
        snprintf(tag, sizeof(tag), "tag %d", a->tag);
    if (a->from == ML_ANY)
        snprintf(from, sizeof(from), " from any rank");
    else if (names_rank)
        snprintf(from, sizeof(from), " from rank %d", g->members[a->from]);
    snprintf(out, WAIT_NOTE_TAG, "%s of %s%s", a->probes ? "probe" : "recv_tag", tag, from);
    return true;
}

/* Takes `said` over. */
static void wait_note_write(const struct world *w, uint32_t group, json_t *said)
{
    char path[PATH], *note = json_dumps(said, JSON_COMPACT);
    int fd;

    json_decref(said);
    wait_note_path(path, w, group);
    fd = note ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600) : -1;
    if (fd >= 0) {
        (void)!write(fd, note, strlen(note));
        close(fd);
    }
    free(note);
}

void wait_note_leave(const struct group *g, const char *signature)
{
    char text[TEXT + WAIT_NOTE_SITE + 16] = "", site[WAIT_NOTE_SITE];
    size_t at;
    json_t *said;

    if (g->call.seq)
        wait_note_collective(text, g, signature);
    else
        wait_note_messages(text, g);
    wait_note_site(site, g);
    at = strlen(text);
    if (site[0])
        snprintf(text + at, sizeof(text) - at, ", called at %s", site);
    said =
        json_pack("{s:o, s:s, s:s, s:o, s:I, s:I, s:o, s:o, s:I}", "text", text_json(text), "name",
                  g->words.name, "algorithm", g->words.algorithm ? g->words.algorithm : "", "place",
                  text_json(site), "group", (json_int_t)g->id, "call", (json_int_t)g->call.seq,
                  "receives_from", wait_note_peers(g, true), "sends_to", wait_note_peers(g, false),
                  "since", (json_int_t)time(NULL));
    wait_note_members(said, g);
    wait_note_write(g->world, g->id, said);
}

static json_t *wait_note_of_call(uint32_t group, const struct waiting_call *c)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:O, s:[], s:I}", "text", c->text, "name",
                     c->name, "algorithm", "", "place", "", "group", (json_int_t)group, "call",
                     (json_int_t)c->seq, "receives_from", c->peers, "sends_to", "since",
                     (json_int_t)time(NULL));
}

void wait_note_leave_call(const struct group *g, const struct waiting_call *c)
{
    json_t *said = wait_note_of_call(g->id, c);

    if (g->is_window)
        json_object_set_new(said, "window", json_true());
    wait_note_members(said, g);
    wait_note_write(g->world, g->id, said);
}

void wait_note_leave_init(const struct world *w)
{
    char text[48];
    struct waiting_call c = {"init", text, w->generation, json_array()};

    snprintf(text, sizeof(text), "init, call %u", (unsigned)w->generation);
    wait_note_write(w, COORD_WORLD, wait_note_of_call(COORD_WORLD, &c));
    json_decref(c.peers);
}

static void note_remove(const struct world *w, uint32_t group)
{
    char path[PATH];

    wait_note_path(path, w, group);
    unlink(path);
}

void wait_note_remove(const struct group *g)
{
    note_remove(g->world, g->id);
}

void wait_note_remove_init(const struct world *w)
{
    note_remove(w, COORD_WORLD);
}

int64_t wait_noted_deadline(struct wait_noted *n, int64_t deadline_ms)
{
    if (!n->due_ms)
        n->due_ms = clock_ms() + WAITING_AFTER_MS;
    return n->is_left || (deadline_ms >= 0 && deadline_ms < n->due_ms) ? deadline_ms : n->due_ms;
}

static bool wait_noted_is_due(const struct wait_noted *n)
{
    return !n->is_left && n->due_ms && clock_ms() >= n->due_ms;
}

bool wait_noted_look(struct wait_noted *n, const struct group *g)
{
    if (!wait_noted_is_due(n))
        return false;
    wait_note_leave(g, g->words.name);
    n->is_left = true;
    return true;
}

bool wait_noted_look_call(struct wait_noted *n, const struct group *g, const struct waiting_call *c)
{
    if (!wait_noted_is_due(n))
        return false;
    wait_note_leave_call(g, c);
    n->is_left = true;
    return true;
}

void wait_noted_end(const struct wait_noted *n, const struct group *g)
{
    if (n->is_left)
        wait_note_remove(g);
}
