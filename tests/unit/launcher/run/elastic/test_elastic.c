/* SPDX-License-Identifier: MIT */
/*
 * test_elastic.c: what is decided on each event in each state of a job, and on each event after
 * each other one. The job has the ranks 0 and 1 on host a, 2 on b and 3 on c, and one spare host.
 * It runs with --elastic 2 --restarts 2 --keep 2, and the coordinator is on host a.
 *
 * A row says the actions in their order, as action_write() has them, or why the event cannot happen
 * there: a text in parentheses.
 */
#include "launcher/run/elastic/elastic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { HOSTS = 3, RANKS = 4, MOST_RANKS = 8, TEXT = 1024, A = 0, B = 1, C = 2 };

struct scene {
    struct live_host hosts[HOSTS];
    struct live_rank ranks[MOST_RANKS];
    struct lives l;
    struct elastic_job job;
    int spares;
};

/* --- the states ------------------------------------------------------------------------------- */

static void scene_open(struct scene *s)
{
    static const int host_of[RANKS] = {A, A, B, C};

    memset(s, 0, sizeof(*s));
    for (int i = 0; i < HOSTS; i++)
        s->hosts[i].life = HOST_STARTED;
    for (int i = 0; i < RANKS; i++)
        s->ranks[i].host = host_of[i];
    s->l = (struct lives){.least = 2,
                          .restarts = 2,
                          .hosts = s->hosts,
                          .ranks = s->ranks,
                          .host_count = HOSTS,
                          .size = RANKS,
                          .left = RANKS,
                          .coordinator_host = A,
                          .has_met = true};
    s->job.is_running = true;
    s->spares = 1;
}

static void coming_start(struct scene *s, int host)
{
    lives_host(&s->l, host, HOST_EVENT_START);
    s->hosts[host].is_coming = false;
    for (int i = 0; i < s->l.size; i++)
        if (s->ranks[i].host == host)
            lives_rank(&s->l, i, RANK_EVENT_KNOWN);
}

static void rank_add(struct scene *s)
{
    s->ranks[s->l.size] = (struct live_rank){.life = RANK_ADDED, .host = B, .is_left_out = true};
    s->l.size++;
    s->l.left++;
    s->l.coming++;
}

/* As round_elastic.c carries it out, as far as the rules can see. */
static void action_apply(struct scene *s, const struct elastic_action *a)
{
    switch (a->act) {
    case ELASTIC_REPLACE:
        s->ranks[a->rank].fast = a->ms ? s->ranks[a->rank].fast + 1 : 0;
        s->ranks[a->rank].restarts++;
        lives_rank(&s->l, a->rank, a->ms ? RANK_EVENT_PAUSE : RANK_EVENT_REPLACE);
        break;
    case ELASTIC_AWAIT:
        s->ranks[a->rank].restarts++;
        lives_rank(&s->l, a->rank, RANK_EVENT_REPLACE);
        break;
    case ELASTIC_END:
        lives_rank(&s->l, a->rank, RANK_EVENT_END);
        break;
    case ELASTIC_LEAVE:
        lives_rank(&s->l, a->rank, RANK_EVENT_LEAVE);
        break;
    case ELASTIC_COUNT_DEAD:
        s->l.dead += a->number;
        break;
    case ELASTIC_FORGET:
        s->job.has_failed = false;
        break;
    case ELASTIC_BLAME_HOST:
    case ELASTIC_BLAME_SHRUNK:
        s->job.has_failed = true;
        break;
    case ELASTIC_NEEDLESS:
        for (int i = 0; i < s->l.size; i++)
            lives_rank(&s->l, i, RANK_EVENT_NEEDLESS);
        break;
    case ELASTIC_END_JOB:
        s->job.is_running = false;
        break;
    case ELASTIC_MOVE:
        s->l.coordinator_host = a->host;
        s->l.coordinator = COORDINATOR_MOVES;
        break;
    case ELASTIC_OPEN_PLACE:
        break; /* event_happen() */
    case ELASTIC_TAKE_SPARE:
        s->spares--;
        /* fall through */
    case ELASTIC_AWAIT_JOIN:
        lives_host(&s->l, a->host, HOST_EVENT_COME);
        break;
    case ELASTIC_LEAVE_EMPTY:
        s->hosts[a->host].is_coming = false;
        break;
    case ELASTIC_ANNOUNCE:
        lives_host(&s->l, a->host, HOST_EVENT_ANNOUNCE);
        coming_start(s, a->host);
        break;
    case ELASTIC_ADMIT:
        rank_add(s);
        break;
    default:
        break;
    }
}

/* --- what is written -------------------------------------------------------------------------- */

static const char *const names[ELASTIC_ACTS] = {
    [ELASTIC_REPLACE] = "replace",
    [ELASTIC_AWAIT] = "await",
    [ELASTIC_END] = "end",
    [ELASTIC_VACATE] = "vacate",
    [ELASTIC_LEAVE] = "leave",
    [ELASTIC_COUNT_DEAD] = "dead",
    [ELASTIC_SAY_GOES_ON] = "may-go-on",
    [ELASTIC_SAY_WENT_ON] = "went-on",
    [ELASTIC_SAY_UNMET] = "unmet",
    [ELASTIC_SAY_ENDS] = "ends",
    [ELASTIC_SAY_AWAITS] = "say-join",
    [ELASTIC_OPEN_PLACE] = "free",
    [ELASTIC_FORGET] = "forget",
    [ELASTIC_BLAME_HOST] = "blame",
    [ELASTIC_BLAME_SHRUNK] = "shrunk",
    [ELASTIC_NEEDLESS] = "needless",
    [ELASTIC_END_JOB] = "end-job",
    [ELASTIC_TELL_GONE] = "gone",
    [ELASTIC_MOVE] = "move",
    [ELASTIC_TAKE_SPARE] = "spare",
    [ELASTIC_AWAIT_JOIN] = "join",
    [ELASTIC_LEAVE_EMPTY] = "empty",
    [ELASTIC_KILL] = "kill",
    [ELASTIC_CUT_LIMIT] = "limit",
    [ELASTIC_ANNOUNCE] = "announce",
    [ELASTIC_WAIT] = "wait",
    [ELASTIC_KEEPERS] = "keepers",
    [ELASTIC_ADMIT] = "admit",
    [ELASTIC_REFUSE] = "refuse",
};

static const char *const reasons[] = {
    [ELASTIC_NONE] = "",
    [ELASTIC_LOSS] = "",
    [ELASTIC_NO_SLOT] = " slots",
    [ELASTIC_UNFILLED] = " unfilled",
    [ELASTIC_NOT_RUNNING] = " not-running",
    [ELASTIC_NOT_MET] = " not-met",
    [ELASTIC_HOSTS_COME] = " hosts-come",
    [ELASTIC_HAS_ENDED] = " has-ended",
    [ELASTIC_IS_LEAVING] = " is-leaving",
    [ELASTIC_TOO_FEW] = " too-few",
};

/* "replace 2 in 1000", "spare c", "may-go-on:3". */
static void action_write(char out[TEXT], const struct elastic_action *a)
{
    char *at = out + strlen(out), *end = out + TEXT;

    assert_non_null(names[a->act]);
    at += snprintf(at, (size_t)(end - at), "%s%s", at == out ? "" : ", ", names[a->act]);
    if (a->number)
        at += snprintf(at, (size_t)(end - at), ":%d", a->number);
    if (a->rank >= 0)
        at += snprintf(at, (size_t)(end - at), " %d", a->rank);
    if (a->host >= 0)
        at += snprintf(at, (size_t)(end - at), " %c", 'a' + a->host);
    if (a->ms && a->act != ELASTIC_CUT_LIMIT)
        at += snprintf(at, (size_t)(end - at), " in %d", a->ms);
    snprintf(at, (size_t)(end - at), "%s", reasons[a->reason]);
}

/* --- the events ------------------------------------------------------------------------------- */

enum happening {
    RANK_DIES,
    HOST_LOST,
    HOST_SILENT,
    NEWCOMER_DIES,
    SPARE_COMES,
    SPARE_FAILS,
    GROW,
    SHRINK,
    STOP,
    AGENT_RETURNS,
    KEEPER_LOST,
    HAPPENINGS
};

/* The last rank that runs, or the last process that is no member yet; -1: there is none. */
static int rank_find(const struct scene *s, enum rank_life life)
{
    for (int i = s->l.size - 1; i >= 0; i--)
        if (s->ranks[i].life == life && lives_host_goes_on(s->hosts[s->ranks[i].host].life))
            return i;
    return -1;
}

/* The last host in that state; -1: there is none. */
static int host_find(const struct scene *s, enum host_life life, bool is_coming)
{
    for (int i = HOSTS - 1; i >= 0; i--)
        if (s->hosts[i].life == life && s->hosts[i].is_coming == is_coming)
            return i;
    return -1;
}

/* Whom it strikes, -1: nobody; and what changes before the rules are asked. */
static bool event_begin(struct scene *s, enum happening what, struct elastic_event *e)
{
    static bool asked[MOST_RANKS];

    *e = (struct elastic_event){.host = -1, .rank = -1};
    switch (what) {
    case RANK_DIES:
    case NEWCOMER_DIES:
        e->kind = ELASTIC_RANK_ENDS;
        e->rank = rank_find(s, what == RANK_DIES ? RANK_RUNS : RANK_COMES);
        e->blame = BLAME_CAUSE;
        e->by_kill = true;
        s->job.has_failed |= e->rank >= 0;
        return e->rank >= 0;
    case HOST_LOST:
        e->kind = ELASTIC_HOST_LOST;
        e->host = host_find(s, HOST_STARTED, false);
        if (e->host >= 0)
            lives_host(&s->l, e->host, HOST_EVENT_END);
        return e->host >= 0;
    case HOST_SILENT:
        e->kind = ELASTIC_HOST_SILENT;
        e->host = host_find(s, HOST_STARTED, false);
        if (e->host >= 0)
            lives_host(&s->l, e->host, HOST_EVENT_CUT);
        return e->host >= 0;
    case SPARE_COMES:
        e->kind = ELASTIC_HOST_READY;
        e->host = host_find(s, HOST_OPENING, true);
        if (e->host >= 0)
            s->hosts[e->host].life = HOST_PREPARED;
        return e->host >= 0;
    case SPARE_FAILS:
        e->kind = ELASTIC_HOST_FAILS;
        e->host = host_find(s, HOST_OPENING, true);
        if (e->host >= 0)
            lives_host(&s->l, e->host, HOST_EVENT_END);
        return e->host >= 0;
    case GROW:
        e->kind = ELASTIC_GROW;
        return true;
    case SHRINK:
        e->kind = ELASTIC_SHRINK;
        for (int i = 0; i < MOST_RANKS; i++)
            asked[i] = i == 3;
        e->is_asked = asked;
        return true;
    case STOP:
        e->kind = ELASTIC_STOP;
        return s->job.is_running;
    case AGENT_RETURNS:
        e->kind = ELASTIC_HOST_RETURNS;
        e->host = host_find(s, HOST_GIVEN_UP, true);
        return e->host >= 0;
    default:
        e->kind = ELASTIC_KEEPER_LOST;
        e->host = host_find(s, HOST_STARTED, false);
        return e->host >= 0;
    }
}

/* The event happens. out: the actions; "-": there are none; or why it cannot happen. */
static void event_happen(struct scene *s, enum happening what, char out[TEXT])
{
    static const char *const impossible[HAPPENINGS] = {
        [RANK_DIES] = "(no member runs)",      [HOST_LOST] = "(no host has ranks)",
        [HOST_SILENT] = "(no host has ranks)", [NEWCOMER_DIES] = "(no newcomer)",
        [SPARE_COMES] = "(no host comes)",     [SPARE_FAILS] = "(no host comes)",
        [STOP] = "(it is to end already)",     [AGENT_RETURNS] = "(no host was given up)",
        [KEEPER_LOST] = "(no host has ranks)",
    };
    struct elastic_action actions[ELASTIC_FEW + 3 * MOST_RANKS];
    struct elastic_event e;
    int count;

    out[0] = '\0';
    if (!event_begin(s, what, &e)) {
        assert_non_null(impossible[what]);
        snprintf(out, TEXT, "%s", impossible[what]);
        return;
    }
    if (e.host >= 0 && s->spares)
        e.spare_room = 9;
    count = elastic_decide(&s->l, &s->job, &e, actions);
    assert_in_range(count, 0, elastic_room(&s->l, &e));
    for (int i = 0; i < count; i++) {
        action_write(out, &actions[i]);
        action_apply(s, &actions[i]);
        if (actions[i].act == ELASTIC_OPEN_PLACE)
            s->hosts[e.host].is_coming = true;
    }
    if (count == 0)
        snprintf(out, TEXT, "-");
}

/* Host c is given up while its agent works. */
static void host_give_up(struct scene *s)
{
    struct elastic_event e = {
        .kind = ELASTIC_HOST_GIVEN_UP, .host = C, .rank = -1, .spare_room = 9};
    struct elastic_action actions[ELASTIC_FEW + 3 * MOST_RANKS];
    int count;

    lives_host(&s->l, C, HOST_EVENT_GIVE_UP);
    count = elastic_decide(&s->l, &s->job, &e, actions);
    for (int i = 0; i < count; i++)
        action_apply(s, &actions[i]);
    s->hosts[C].is_coming = true;
}

enum state { CALM, REPAIRING, COORDINATOR_LOST, ALL_DEAD, STATES };

static void state_make(struct scene *s, enum state state)
{
    char text[TEXT];

    scene_open(s);
    if (state == REPAIRING) /* after the death of rank 3 */
        event_happen(s, RANK_DIES, text);
    if (state == COORDINATOR_LOST) {
        struct elastic_event e = {
            .kind = ELASTIC_HOST_LOST, .host = A, .rank = -1, .spare_room = 9};
        struct elastic_action actions[ELASTIC_FEW + 3 * MOST_RANKS];
        int count;

        lives_host(&s->l, A, HOST_EVENT_END);
        count = elastic_decide(&s->l, &s->job, &e, actions);
        for (int i = 0; i < count; i++)
            action_apply(s, &actions[i]);
        s->hosts[A].is_coming = true;
    }
    for (int i = 0; i < RANKS && state == ALL_DEAD; i++)
        event_happen(s, RANK_DIES, text);
}

/* The state in which the event can happen. */
static void base_make(struct scene *s, enum happening first)
{
    char text[TEXT];

    state_make(s, first == NEWCOMER_DIES ? REPAIRING : CALM);
    if (first == SPARE_COMES || first == SPARE_FAILS)
        event_happen(s, HOST_LOST, text);
    if (first == AGENT_RETURNS)
        host_give_up(s);
}

/* --- what is expected ------------------------------------------------------------------------- */

static const char *const in_state[STATES][HAPPENINGS] = {
    [CALM] =
        {
            [RANK_DIES] = "replace 3",
            [HOST_LOST] = "await 3, blame c, gone c, free c, spare c",
            [HOST_SILENT] = "limit c",
            [NEWCOMER_DIES] = "(no newcomer)",
            [SPARE_COMES] = "(no host comes)",
            [SPARE_FAILS] = "(no host comes)",
            [GROW] = "admit",
            [SHRINK] = "leave 3, dead:1, may-go-on:3",
            [STOP] = "end-job",
            [AGENT_RETURNS] = "(no host was given up)",
            [KEEPER_LOST] = "keepers c",
        },
    [REPAIRING] =
        {
            [RANK_DIES] = "replace 2",
            [HOST_LOST] = "await 3, blame c, gone c, free c, spare c",
            [HOST_SILENT] = "limit c",
            [NEWCOMER_DIES] = "replace 3 in 1000",
            [SPARE_COMES] = "(no host comes)",
            [SPARE_FAILS] = "(no host comes)",
            [GROW] = "admit",
            [SHRINK] = "leave 3, dead:1, may-go-on:3",
            [STOP] = "end-job",
            [AGENT_RETURNS] = "(no host was given up)",
            [KEEPER_LOST] = "keepers c",
        },
    [COORDINATOR_LOST] =
        {
            [RANK_DIES] = "replace 3",
            [HOST_LOST] = "end 3, blame c, dead:1, may-go-on:3, gone c, vacate 3",
            [HOST_SILENT] = "limit c",
            [NEWCOMER_DIES] = "(no newcomer)",
            [SPARE_COMES] = "wait a",
            [SPARE_FAILS] =
                "empty a, end 0, vacate 0, end 1, vacate 1, dead:2, may-go-on:2 unfilled",
            [GROW] = "refuse hosts-come",
            [SHRINK] = "refuse:1 too-few",
            [STOP] = "end-job",
            [AGENT_RETURNS] = "(no host was given up)",
            [KEEPER_LOST] = "keepers c",
        },
    [ALL_DEAD] =
        {
            [RANK_DIES] = "(no member runs)",
            [HOST_LOST] = "end 3, blame c, dead:1",
            [HOST_SILENT] = "limit c",
            [NEWCOMER_DIES] = "vacate 3, end 3, dead:1",
            [SPARE_COMES] = "(no host comes)",
            [SPARE_FAILS] = "(no host comes)",
            [GROW] = "refuse not-running",
            [SHRINK] = "refuse not-running",
            [STOP] = "(it is to end already)",
            [AGENT_RETURNS] = "(no host was given up)",
            [KEEPER_LOST] = "keepers c",
        },
};

/* The second event, after the first. */
static const char
    *const after[HAPPENINGS][HAPPENINGS] =
        {
            [RANK_DIES] =
                {
                    [RANK_DIES] = "replace 2",
                    [HOST_LOST] = "await 3, blame c, gone c, free c, spare c",
                    [HOST_SILENT] = "limit c",
                    [NEWCOMER_DIES] = "replace 3 in 1000",
                    [SPARE_COMES] = "(no host comes)",
                    [SPARE_FAILS] = "(no host comes)",
                    [GROW] = "admit",
                    [SHRINK] = "leave 3, dead:1, may-go-on:3",
                    [STOP] = "end-job",
                    [AGENT_RETURNS] = "(no host was given up)",
                    [KEEPER_LOST] = "keepers c",
                },
            [HOST_LOST] =
                {
                    [RANK_DIES] = "replace 2",
                    [HOST_LOST] = "end 2, blame b, dead:1, may-go-on:3, gone b, vacate 2",
                    [HOST_SILENT] = "limit b",
                    [NEWCOMER_DIES] = "(no newcomer)",
                    [SPARE_COMES] = "announce c",
                    [SPARE_FAILS] = "empty c, end 3, vacate 3, dead:1, may-go-on:3 unfilled",
                    [GROW] = "refuse hosts-come",
                    [SHRINK] = "end 3, vacate 3, dead:1, may-go-on:3",
                    [STOP] = "end-job",
                    [AGENT_RETURNS] = "(no host was given up)",
                    [KEEPER_LOST] = "keepers b",
                },
            [HOST_SILENT] =
                {
                    [RANK_DIES] = "replace 3",
                    [HOST_LOST] = "await 2, blame b, gone b, free b, spare b",
                    [HOST_SILENT] = "limit b",
                    [NEWCOMER_DIES] = "(no newcomer)",
                    [SPARE_COMES] = "(no host comes)",
                    [SPARE_FAILS] = "(no host comes)",
                    [GROW] = "admit",
                    [SHRINK] = "leave 3, dead:1, may-go-on:3",
                    [STOP] = "end-job",
                    [AGENT_RETURNS] = "(no host was given up)",
                    [KEEPER_LOST] = "keepers b",
                },
            [NEWCOMER_DIES] =
                {
                    [RANK_DIES] = "replace 2",
                    [HOST_LOST] = "end 3, blame c, dead:1, may-go-on:3, gone c, vacate 3",
                    [HOST_SILENT] = "limit c",
                    [NEWCOMER_DIES] = "(no newcomer)",
                    [SPARE_COMES] = "(no host comes)",
                    [SPARE_FAILS] = "(no host comes)",
                    [GROW] = "admit",
                    [SHRINK] = "end 3, vacate 3, dead:1, may-go-on:3",
                    [STOP] = "end-job",
                    [AGENT_RETURNS] = "(no host was given up)",
                    [KEEPER_LOST] = "keepers c",
                },
            [SPARE_COMES] =
                {
                    [RANK_DIES] = "replace 2",
                    [HOST_LOST] = "end 3, blame c, dead:1, may-go-on:3, gone c, vacate 3",
                    [HOST_SILENT] = "limit c",
                    [NEWCOMER_DIES] = "replace 3 in 1000",
                    [SPARE_COMES] = "(no host comes)",
                    [SPARE_FAILS] = "(no host comes)",
                    [GROW] = "admit",
                    [SHRINK] = "leave 3, dead:1, may-go-on:3",
                    [STOP] = "end-job",
                    [AGENT_RETURNS] = "(no host was given up)",
                    [KEEPER_LOST] = "keepers c",
                },
            [SPARE_FAILS] =
                {
                    [RANK_DIES] = "replace 2",
                    [HOST_LOST] = "end 2, blame b, dead:1, may-go-on:2, gone b, vacate 2",
                    [HOST_SILENT] = "limit b",
                    [NEWCOMER_DIES] = "(no newcomer)",
                    [SPARE_COMES] = "(no host comes)",
                    [SPARE_FAILS] = "(no host comes)",
                    [GROW] = "admit",
                    [SHRINK] = "refuse 3 has-ended",
                    [STOP] = "end-job",
                    [AGENT_RETURNS] = "(no host was given up)",
                    [KEEPER_LOST] = "keepers b",
                },
            [GROW] =
                {
                    [RANK_DIES] = "replace 3",
                    [HOST_LOST] = "await 3, blame c, gone c, free c, spare c",
                    [HOST_SILENT] = "limit c",
                    [NEWCOMER_DIES] = "(no newcomer)",
                    [SPARE_COMES] = "(no host comes)",
                    [SPARE_FAILS] = "(no host comes)",
                    [GROW] = "admit",
                    [SHRINK] = "leave 3, dead:1, may-go-on:4",
                    [STOP] = "end-job",
                    [AGENT_RETURNS] = "(no host was given up)",
                    [KEEPER_LOST] = "keepers c",
                },
            [SHRINK] =
                {
                    [RANK_DIES] = "replace 2",
                    [HOST_LOST] = "end 3, gone c, vacate 3",
                    [HOST_SILENT] = "limit c",
                    [NEWCOMER_DIES] = "(no newcomer)",
                    [SPARE_COMES] = "(no host comes)",
                    [SPARE_FAILS] = "(no host comes)",
                    [GROW] = "admit",
                    [SHRINK] = "refuse 3 is-leaving",
                    [STOP] = "end-job",
                    [AGENT_RETURNS] = "(no host was given up)",
                    [KEEPER_LOST] = "keepers c",
                },
            [STOP] =
                {
                    [RANK_DIES] = "vacate 3, end 3, dead:1",
                    [HOST_LOST] = "end 3, blame c, dead:1",
                    [HOST_SILENT] = "limit c",
                    [NEWCOMER_DIES] = "(no newcomer)",
                    [SPARE_COMES] = "(no host comes)",
                    [SPARE_FAILS] = "(no host comes)",
                    [GROW] = "refuse not-running",
                    [SHRINK] = "refuse not-running",
                    [STOP] = "(it is to end already)",
                    [AGENT_RETURNS] = "(no host was given up)",
                    [KEEPER_LOST] = "keepers c",
                },
            [AGENT_RETURNS] =
                {
                    [RANK_DIES] = "replace 2",
                    [HOST_LOST] = "await 2, blame b, gone b, free b, spare b",
                    [HOST_SILENT] = "limit b",
                    [NEWCOMER_DIES] = "(no newcomer)",
                    [SPARE_COMES] = "(no host comes)",
                    [SPARE_FAILS] = "(no host comes)",
                    [GROW] = "refuse hosts-come",
                    [SHRINK] = "end 3, vacate 3, dead:1, may-go-on:3",
                    [STOP] = "end-job",
                    [AGENT_RETURNS] = "kill c",
                    [KEEPER_LOST] = "keepers b",
                },
            [KEEPER_LOST] =
                {
                    [RANK_DIES] = "replace 3",
                    [HOST_LOST] = "await 3, blame c, gone c, free c, spare c",
                    [HOST_SILENT] = "limit c",
                    [NEWCOMER_DIES] = "(no newcomer)",
                    [SPARE_COMES] = "(no host comes)",
                    [SPARE_FAILS] = "(no host comes)",
                    [GROW] = "admit",
                    [SHRINK] = "leave 3, dead:1, may-go-on:3",
                    [STOP] = "end-job",
                    [AGENT_RETURNS] = "(no host was given up)",
                    [KEEPER_LOST] = "keepers c",
                },
};

static void test_states(void **state)
{
    (void)state;
    for (int i = 0; i < STATES; i++)
        for (int k = 0; k < HAPPENINGS; k++) {
            struct scene s;
            char text[TEXT];

            state_make(&s, (enum state)i);
            event_happen(&s, (enum happening)k, text);
            if (!in_state[i][k])
                fail_msg("no row for state %d, event %d: %s", i, k, text);
            if (strcmp(text, in_state[i][k]) != 0)
                fail_msg("state %d, event %d:\n  %s\nexpected:\n  %s", i, k, text, in_state[i][k]);
        }
}

static void test_pairs(void **state)
{
    (void)state;
    for (int i = 0; i < HAPPENINGS; i++)
        for (int k = 0; k < HAPPENINGS; k++) {
            struct scene s;
            char first[TEXT], text[TEXT];

            base_make(&s, (enum happening)i);
            event_happen(&s, (enum happening)i, first);
            assert_true(first[0] != '('); /* the first can happen */
            event_happen(&s, (enum happening)k, text);
            if (!after[i][k])
                fail_msg("no row for event %d after %d: %s", k, i, text);
            if (strcmp(text, after[i][k]) != 0)
                fail_msg("event %d after %d (%s):\n  %s\nexpected:\n  %s", k, i, first, text,
                         after[i][k]);
        }
}

/* The actions of one event. */
static void expect(struct scene *s, struct elastic_event e, const char *expected)
{
    struct elastic_action actions[ELASTIC_FEW + 3 * MOST_RANKS];
    char text[TEXT] = "";
    int count = elastic_decide(&s->l, &s->job, &e, actions);

    for (int i = 0; i < count; i++)
        action_write(text, &actions[i]);
    assert_string_equal(text, expected);
}

/* Without --elastic the first failure ends the job, but with --on-failure continue only a lost
 * host does. */
static void test_not_elastic(void **state)
{
    const struct elastic_event dies = {
        .kind = ELASTIC_RANK_ENDS, .host = C, .rank = 3, .blame = BLAME_CAUSE};
    const struct elastic_event lost = {.kind = ELASTIC_HOST_LOST, .host = C, .rank = -1};
    struct scene s;

    (void)state;
    scene_open(&s);
    s.l.least = s.l.restarts = 0;
    s.job.has_failed = true;
    expect(&s, dies, "vacate 3, end 3, end-job");
    expect(&s, lost, "end 3, blame c, end-job");
    s.l.goes_on = true;
    expect(&s, dies, "vacate 3, end 3");
    expect(&s, lost, "end 3, blame c, end-job");
}

/* A rank that ends well, or by its own error, is not replaced. */
static void test_ends(void **state)
{
    struct elastic_event e = {.kind = ELASTIC_RANK_ENDS, .host = C, .rank = 3};
    struct scene s;

    (void)state;
    scene_open(&s);
    expect(&s, e, "vacate 3, end 3");
    s.job.has_failed = true;
    e.blame = BLAME_CONSEQUENCE; /* it does not repair */
    expect(&s, e, "vacate 3, end 3, end-job");
    e.by_kill = true;
    expect(&s, e, "replace 3");
    e = (struct elastic_event){.kind = ELASTIC_RANK_ENDS,
                               .host = C,
                               .rank = 3,
                               .blame = BLAME_CAUSE,
                               .was_unstarted = true};
    expect(&s, e, "vacate 3, end 3, end-job");
}

static void test_below_least(void **state)
{
    const struct elastic_event dies = {
        .kind = ELASTIC_RANK_ENDS, .host = C, .rank = 3, .blame = BLAME_CAUSE};
    struct scene s;

    (void)state;
    scene_open(&s);
    s.l.restarts = 0;
    s.l.least = 4;
    s.job.has_failed = true;
    expect(&s, dies, "vacate 3, end 3, dead:1, ends:3, end-job");
    expect(&s, (struct elastic_event){.kind = ELASTIC_REPAIRED, .host = -1, .rank = -1, .count = 3},
           "shrunk:3, end-job");
    expect(&s, (struct elastic_event){.kind = ELASTIC_REPAIRED, .host = -1, .rank = -1, .count = 4},
           "forget");
}

/* Before all have called ml_init. */
static void test_unmet(void **state)
{
    const struct elastic_event unmet = {.kind = ELASTIC_UNMET, .host = -1, .rank = -1};
    struct scene s;

    (void)state;
    scene_open(&s);
    s.l.restarts = 0;
    s.l.has_met = false;
    s.job.has_failed = true;
    expect(&s,
           (struct elastic_event){
               .kind = ELASTIC_RANK_ENDS, .host = C, .rank = 3, .blame = BLAME_CAUSE},
           "vacate 3, end 3, dead:1, unmet:3");
    expect(&s, unmet, "end-job");
    s.job.has_failed = false; /* whoever fails first says more */
    expect(&s, unmet, "");
    expect(&s, (struct elastic_event){.kind = ELASTIC_GROW, .host = -1, .rank = -1},
           "refuse not-met");
}

/* A spare host with too few slots takes a part; one that joins is waited for. */
static void test_places(void **state)
{
    struct elastic_event lost = {.kind = ELASTIC_HOST_LOST, .host = A, .rank = -1, .spare_room = 1};
    struct scene s;

    (void)state;
    scene_open(&s);
    s.l.coordinator_host = B;
    s.hosts[A].life = HOST_GONE;
    expect(&s, lost,
           "await 0, await 1, blame a, gone a, free a, spare a, end 1, vacate 1, dead:1, "
           "may-go-on:3 slots");
    lost.spare_room = 0;
    s.hosts[A].joins = true;
    expect(&s, lost, "await 0, await 1, blame a, gone a, free a, say-join a, join a");
    s.hosts[A].is_coming = true;
    lost.kind = ELASTIC_HOST_FAILS;
    expect(&s, lost, "join a in 1000");
    lost.may_return = true;
    expect(&s, lost, "join a");
}

/* The pauses grow while no process becomes a member, and only if it ended soon. */
static void test_pauses(void **state)
{
    static const int pauses[] = {1000, 2000, 4000, 8000, 16000, 30000, 30000};
    struct elastic_event e = {
        .kind = ELASTIC_RANK_ENDS, .host = C, .rank = 3, .blame = BLAME_CAUSE};
    struct elastic_action actions[ELASTIC_FEW];
    struct scene s;

    (void)state;
    scene_open(&s);
    s.l.restarts = 99;
    lives_rank(&s.l, 3, RANK_EVENT_REPLACE);
    for (size_t i = 0; i < sizeof(pauses) / sizeof(*pauses); i++) {
        assert_int_equal(elastic_decide(&s.l, &s.job, &e, actions), 1);
        assert_int_equal(actions[0].ms, pauses[i]);
        action_apply(&s, &actions[0]);
        lives_rank(&s.l, 3, RANK_EVENT_KNOWN);
    }
    e.ran_ms = 10000;
    assert_int_equal(elastic_decide(&s.l, &s.job, &e, actions), 1);
    assert_int_equal(actions[0].ms, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_states),      cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_not_elastic), cmocka_unit_test(test_ends),
        cmocka_unit_test(test_below_least), cmocka_unit_test(test_unmet),
        cmocka_unit_test(test_places),      cmocka_unit_test(test_pauses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
