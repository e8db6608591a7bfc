/* SPDX-License-Identifier: MIT */
#include "launcher/run/elastic/elastic.h"

#include "common/failure_times.h"
#include "launcher/run/elastic/restarts.h"

enum {
    AGAIN_MS = 1000, /* until a host that has joined again, and failed, is tried once more */
};

/* The actions so far, and what will be so once they are carried out. */
struct draft {
    const struct lives *l;
    const struct elastic_event *e;
    struct elastic_action *out;
    int count;
    int left, coming, dead;
    bool is_running, has_failed;
};

static struct elastic_action *act(struct draft *d, enum elastic_act act)
{
    struct elastic_action *a = &d->out[d->count++];

    *a = (struct elastic_action){.act = act, .host = -1, .rank = -1};
    return a;
}

static void act_host(struct draft *d, enum elastic_act what, int host)
{
    act(d, what)->host = host;
}

static void act_rank(struct draft *d, enum elastic_act what, int rank)
{
    act(d, what)->rank = rank;
}

static void say(struct draft *d, enum elastic_act what, enum elastic_reason reason, int number)
{
    struct elastic_action *a = act(d, what);

    a->reason = reason;
    a->number = number;
}

static bool has_ended(const struct draft *d, int rank)
{
    return d->l->ranks[rank].life == RANK_OVER;
}

static bool is_on(const struct draft *d, int rank, int host)
{
    return d->l->ranks[rank].host == host;
}

/* So many ranks are left that the job outlives those that have died. */
static bool may_go_on(const struct draft *d)
{
    return d->l->least && d->l->size - d->dead >= d->l->least && d->left > d->coming;
}

/* --- the job's end ---------------------------------------------------------------------------- */

static void job_end(struct draft *d)
{
    if (!d->is_running)
        return;
    act(d, ELASTIC_END_JOB);
    d->is_running = false;
}

/* Something has failed, without which the others may go on, or not. */
static void failure_settle(struct draft *d, bool others_may_go_on)
{
    if (d->has_failed && !(others_may_go_on && (d->l->goes_on || may_go_on(d))))
        job_end(d);
}

/* Only such are left as were to join the others, which have ended. */
static void coming_settle(struct draft *d)
{
    if (d->coming == 0 || d->coming < d->left || !d->is_running)
        return;
    act(d, ELASTIC_NEEDLESS);
    job_end(d);
}

static void forget(struct draft *d)
{
    if (d->l->least && d->is_running) {
        act(d, ELASTIC_FORGET);
        d->has_failed = false;
    }
}

/* So many ranks are lost for good. Those that were members no more have been missed by nobody: if
 * all others have ended well, so has the job. */
static void dead_settle(struct draft *d, int count, bool were_left_out, enum elastic_reason reason)
{
    int lives = d->l->size - (d->dead += count);

    act(d, ELASTIC_COUNT_DEAD)->number = count;
    if (!d->is_running)
        return;
    if (were_left_out && d->left == d->coming && lives >= d->l->least) {
        say(d, ELASTIC_SAY_WENT_ON, reason, lives);
        forget(d);
    } else if (may_go_on(d) && !d->l->has_met) {
        say(d, ELASTIC_SAY_UNMET, reason, lives);
    } else if (may_go_on(d)) {
        say(d, ELASTIC_SAY_GOES_ON, reason, lives);
    } else if (d->has_failed && !d->l->goes_on) {
        say(d, ELASTIC_SAY_ENDS, reason, lives);
    }
    failure_settle(d, true);
}

/* --- a rank ----------------------------------------------------------------------------------- */

static void rank_end(struct draft *d, int rank)
{
    if (has_ended(d, rank))
        return;
    act_rank(d, ELASTIC_END, rank);
    d->left--;
    d->coming -= lives_rank_is_coming(d->l->ranks[rank].life);
}

/* The job can do without the process: whatever has ended it was no error that it had itself. One
 * that was to become a member has lost nothing that was its own, and no program kills itself
 * because it has lost a peer. */
static bool is_outlived(const struct draft *d)
{
    const struct live_rank *r = &d->l->ranks[d->e->rank];
    bool was_coming = lives_rank_is_coming(r->life);

    return d->l->least &&
           (d->e->blame == BLAME_CAUSE ||
            (d->e->blame == BLAME_CONSEQUENCE && (was_coming || d->e->by_kill))) &&
           (!d->e->was_unstarted || r->restarts > 0);
}

/* Another process takes its place, which somebody is there to join. */
static bool is_replaced(const struct draft *d)
{
    const struct live_rank *r = &d->l->ranks[d->e->rank];
    int members = d->left - d->coming - !lives_rank_is_coming(r->life);

    return d->l->least && r->restarts < d->l->restarts && members > 0 && d->is_running &&
           lives_host_goes_on(d->l->hosts[r->host].life);
}

/* After a member's death at once; after that of a process that has not become one, and soon ended,
 * a pause that grows: a file or a service may be missing. */
static int replace_ms(const struct draft *d)
{
    const struct live_rank *r = &d->l->ranks[d->e->rank];
    bool is_fast = lives_rank_is_coming(r->life) && d->e->ran_ms < RESTARTS_FAST_MS;

    return restarts_pause_ms(is_fast ? r->fast + 1 : 0);
}

static void decide_rank_ends(struct draft *d)
{
    const int rank = d->e->rank;
    const struct live_rank *r = &d->l->ranks[rank];
    const bool is_missed = r->life != RANK_NEEDLESS && r->life != RANK_LEAVES;
    const enum blame blame = is_missed ? d->e->blame : BLAME_NONE;
    const bool outlived = is_missed && is_outlived(d);

    if (outlived && is_replaced(d)) {
        struct elastic_action *a = act(d, ELASTIC_REPLACE);

        a->rank = rank;
        a->ms = replace_ms(d);
        return;
    }
    act_rank(d, ELASTIC_VACATE, rank);
    rank_end(d, rank);
    if (outlived)
        dead_settle(d, 1, r->is_left_out || lives_rank_is_coming(r->life), ELASTIC_LOSS);
    else if (blame == BLAME_NONE && d->left == d->coming)
        forget(d);
    if (blame != BLAME_NONE || d->left == 0)
        failure_settle(d, outlived || !d->l->least);
    coming_settle(d);
}

/* --- a host ----------------------------------------------------------------------------------- */

/* The places may be filled: by a spare host, or by one that joins again, and newcomers can join
 * somebody. */
static bool has_successor(const struct draft *d, int host)
{
    bool has_company = false;

    for (int i = 0; i < d->l->size; i++)
        has_company |=
            !is_on(d, i, host) && !has_ended(d, i) && !lives_rank_is_coming(d->l->ranks[i].life);
    return d->l->least && d->l->restarts && has_company && d->is_running &&
           (d->l->hosts[host].joins || d->e->spare_room > 0);
}

/* Whether a host that takes the place gets the rank: when its host is lost, if a restart is left;
 * later that has been counted. */
static bool is_wanted(const struct lives *l, const struct elastic_event *e, int rank)
{
    const struct live_rank *r = &l->ranks[rank];

    if (r->host != e->host || r->life == RANK_OVER || r->life == RANK_LEAVES)
        return false;
    return e->kind == ELASTIC_HOST_CLEARED || e->kind == ELASTIC_HOST_FAILS ||
           r->restarts < l->restarts;
}

int elastic_wanted(const struct lives *l, const struct elastic_event *e)
{
    int count = 0;

    for (int i = 0; i < l->size; i++)
        count += is_wanted(l, e, i);
    return count;
}

/* The first host whose ranks run gets an empty coordinator, to which the ranks come in ml_repair.
 * Nothing has to be handed over, for mlaunch knows who lives. */
static void coordinator_move(struct draft *d)
{
    for (int i = 0; i < d->l->size; i++) {
        const struct live_rank *r = &d->l->ranks[i];

        if (r->life == RANK_RUNS && r->host != d->e->host &&
            lives_host_goes_on(d->l->hosts[r->host].life)) {
            act_host(d, ELASTIC_MOVE, r->host);
            return;
        }
    }
}

/* The spare host may have too few slots: the places of the rest stay empty. */
static void spare_take(struct draft *d)
{
    int room = d->e->spare_room, count = 0;
    bool were_left_out = true;

    act_host(d, ELASTIC_TAKE_SPARE, d->e->host);
    for (int i = 0; i < d->l->size; i++) {
        if (!is_wanted(d->l, d->e, i) || room-- > 0)
            continue;
        were_left_out &= d->l->ranks[i].is_left_out;
        act_rank(d, ELASTIC_END, i);
        act_rank(d, ELASTIC_VACATE, i);
        d->left--;
        d->coming--; /* which it was, or has become by ELASTIC_AWAIT */
        count++;
    }
    if (count > 0)
        dead_settle(d, count, were_left_out, ELASTIC_NO_SLOT);
}

static void places_leave(struct draft *d)
{
    bool were_left_out = true;
    int count = 0;

    act_host(d, ELASTIC_LEAVE_EMPTY, d->e->host);
    for (int i = 0; i < d->l->size; i++) {
        if (!is_on(d, i, d->e->host))
            continue;
        if (!has_ended(d, i)) {
            were_left_out &= d->l->ranks[i].is_left_out;
            rank_end(d, i);
            count++;
        }
        act_rank(d, ELASTIC_VACATE, i);
    }
    if (count > 0)
        dead_settle(d, count, were_left_out, ELASTIC_UNFILLED);
}

static void join_await(struct draft *d, int ms)
{
    struct elastic_action *a = act(d, ELASTIC_AWAIT_JOIN);

    a->host = d->e->host;
    a->ms = ms;
}

/* Who takes the places of a host at which nothing is left. */
static void places_give(struct draft *d)
{
    if (d->l->hosts[d->e->host].joins)
        join_await(d, 0);
    else if (d->l->restarts && d->e->spare_room > 0)
        spare_take(d);
    else
        places_leave(d);
}

/* Its ranks are awaited elsewhere, or have ended. Returns whether there are any; *awaited: whether
 * there are such of the former. */
static bool ranks_lose(struct draft *d, bool *awaited)
{
    const bool is_kept = has_successor(d, d->e->host);
    bool were_left_out = true;
    int count = 0;

    *awaited = false;
    for (int i = 0; i < d->l->size; i++) {
        const struct live_rank *r = &d->l->ranks[i];

        if (!is_on(d, i, d->e->host) || has_ended(d, i))
            continue;
        if (is_kept && is_wanted(d->l, d->e, i)) {
            act_rank(d, ELASTIC_AWAIT, i);
            d->coming += !lives_rank_is_coming(r->life);
            *awaited = true;
            continue;
        }
        were_left_out &= r->is_left_out || r->life == RANK_LEAVES;
        count += r->life != RANK_LEAVES; /* otherwise it has been counted */
        rank_end(d, i);
    }
    if (count > 0 || *awaited)
        act_host(d, ELASTIC_BLAME_HOST, d->e->host);
    d->has_failed |= count > 0 || *awaited;
    if (count > 0)
        dead_settle(d, count, were_left_out, ELASTIC_LOSS);
    return count > 0;
}

/* The agents of the others, and the coordinator, learn which places stay empty. */
static void places_vacate(struct draft *d, int from, int to)
{
    for (int i = 0; i < d->l->size; i++)
        if (is_on(d, i, d->e->host) && has_ended(d, i))
            act_rank(d, ELASTIC_VACATE, i);
    for (int i = from; i < to; i++)
        if (d->out[i].act == ELASTIC_END)
            act_rank(d, ELASTIC_VACATE, d->out[i].rank);
}

static void place_open(struct draft *d, enum elastic_reason reason)
{
    struct elastic_action *a = act(d, ELASTIC_OPEN_PLACE);

    a->host = d->e->host;
    a->reason = reason;
}

/* All ranks end with it. */
static void decide_host_missed(struct draft *d)
{
    for (int i = 0; i < d->l->size; i++)
        if (is_on(d, i, d->e->host))
            rank_end(d, i);
    act_host(d, ELASTIC_BLAME_HOST, d->e->host);
    d->has_failed = true;
    failure_settle(d, false);
}

static void decide_host_outlived(struct draft *d)
{
    const int host = d->e->host;
    const bool had_coordinator = host == d->l->coordinator_host;
    bool awaited, is_said = ranks_lose(d, &awaited);
    int ends = d->count; /* the actions so far say who has ended */
    bool has_told;

    if (!d->is_running)
        return;
    if (!had_coordinator)
        act_host(d, ELASTIC_TELL_GONE, host);
    else if (may_go_on(d))
        coordinator_move(d);
    has_told = d->count > ends;
    if (has_told)
        places_vacate(d, 0, ends);
    if (awaited)
        place_open(d, is_said ? ELASTIC_NONE : ELASTIC_LOSS);
    if (awaited && d->l->hosts[host].joins)
        act_host(d, ELASTIC_SAY_AWAITS, host);
    if (awaited && d->e->kind == ELASTIC_HOST_LOST)
        places_give(d); /* else once its agent has ended what is there */
    coming_settle(d);
    if (d->e->kind == ELASTIC_HOST_GIVEN_UP && !d->e->is_leaving)
        act_host(d, ELASTIC_KILL, host);
}

static void decide_host_lost(struct draft *d)
{
    if (d->l->least)
        decide_host_outlived(d);
    else
        decide_host_missed(d);
}

/* Its ranks have ended well; it may have been about to get the coordinator, which has not heard of
 * the end if the host was cut off from it. */
static void decide_host_done(struct draft *d)
{
    if (d->l->coordinator == COORDINATOR_MOVES && d->e->host == d->l->coordinator_host)
        coordinator_move(d);
    else if (d->l->hosts[d->e->host].life == HOST_CUT_OFF)
        act_host(d, ELASTIC_TELL_GONE, d->e->host);
}

/* A host that was to come fails, which the next one may not. */
static void decide_host_fails(struct draft *d)
{
    if (d->l->hosts[d->e->host].joins)
        join_await(d, d->e->may_return ? 0 : AGAIN_MS);
    else
        places_give(d);
    coming_settle(d);
}

static void decide_host_cleared(struct draft *d)
{
    places_give(d);
    coming_settle(d);
}

static void decide_host_silent(struct draft *d)
{
    struct elastic_action *a = act(d, ELASTIC_CUT_LIMIT);

    a->host = d->e->host;
    a->ms = HOST_LOST_MS;
}

static void decide_host_ready(struct draft *d)
{
    act_host(d, d->l->coordinator == COORDINATOR_MOVES ? ELASTIC_WAIT : ELASTIC_ANNOUNCE,
             d->e->host);
}

/* Whoever has its place keeps it. A channel that has ended says nothing any more. */
static void decide_host_returns(struct draft *d)
{
    if (d->l->hosts[d->e->host].life == HOST_GIVEN_UP)
        act_host(d, ELASTIC_KILL, d->e->host);
}

static void decide_keeper_lost(struct draft *d)
{
    act_host(d, ELASTIC_KEEPERS, d->e->host);
}

/* --- what is asked for ------------------------------------------------------------------------ */

static void refuse(struct draft *d, enum elastic_reason reason, int rank, int number)
{
    struct elastic_action *a = act(d, ELASTIC_REFUSE);

    a->reason = reason;
    a->rank = rank;
    a->number = number;
}

/* False: it is refused. */
static bool is_changeable(struct draft *d)
{
    if (!d->is_running)
        refuse(d, ELASTIC_NOT_RUNNING, -1, 0);
    else if (!d->l->has_met)
        refuse(d, ELASTIC_NOT_MET, -1, 0);
    return d->count == 0;
}

static void decide_grow(struct draft *d)
{
    if (!is_changeable(d))
        return;
    for (int i = 0; i < d->l->host_count; i++)
        if (d->l->hosts[i].is_coming || d->l->coordinator == COORDINATOR_MOVES) {
            refuse(d, ELASTIC_HOSTS_COME, -1, 0);
            return;
        }
    act(d, ELASTIC_ADMIT);
}

/* There is a process that can end. */
static bool has_process(const struct lives *l, int rank)
{
    const struct live_rank *r = &l->ranks[rank];

    return r->life != RANK_ADDED && r->life != RANK_PAUSES &&
           lives_host_goes_on(l->hosts[r->host].life);
}

static void rank_leave(struct draft *d, int rank)
{
    if (!has_process(d->l, rank)) {
        rank_end(d, rank);
        act_rank(d, ELASTIC_VACATE, rank);
        return;
    }
    act_rank(d, ELASTIC_LEAVE, rank);
    d->coming -= lives_rank_is_coming(d->l->ranks[rank].life);
}

static void decide_shrink(struct draft *d)
{
    int lives = 0, count = 0; /* whoever is to come may not: only members are left */

    if (!is_changeable(d))
        return;
    for (int i = 0; i < d->l->size; i++) {
        enum rank_life life = d->l->ranks[i].life;

        if (d->e->is_asked[i] && (life == RANK_OVER || life == RANK_LEAVES)) {
            refuse(d, life == RANK_OVER ? ELASTIC_HAS_ENDED : ELASTIC_IS_LEAVING, i, 0);
            return;
        }
        lives += life == RANK_RUNS && !d->e->is_asked[i];
    }
    if (lives < d->l->least) {
        refuse(d, ELASTIC_TOO_FEW, -1, lives);
        return;
    }
    for (int i = 0; i < d->l->size; i++)
        if (d->e->is_asked[i]) {
            rank_leave(d, i);
            count++;
        }
    dead_settle(d, count, false, ELASTIC_LOSS);
}

/* --- the world -------------------------------------------------------------------------------- */

static void decide_unmet(struct draft *d)
{
    if (d->l->least && !d->l->has_met)
        failure_settle(d, false);
}

static void decide_repaired(struct draft *d)
{
    if (d->e->count == d->l->size)
        forget(d);
    if (d->e->count >= d->l->least)
        return;
    act(d, ELASTIC_BLAME_SHRUNK)->number = d->e->count;
    d->has_failed = true;
    failure_settle(d, false);
}

static void decide_stop(struct draft *d)
{
    act(d, ELASTIC_END_JOB);
}

int elastic_room(const struct lives *l, const struct elastic_event *e)
{
    bool is_of_many = e->kind == ELASTIC_HOST_LOST || e->kind == ELASTIC_HOST_GIVEN_UP ||
                      e->kind == ELASTIC_HOST_CLEARED || e->kind == ELASTIC_HOST_FAILS ||
                      e->kind == ELASTIC_SHRINK;

    return ELASTIC_FEW + (is_of_many ? 3 * l->size : 0);
}

int elastic_decide(const struct lives *l, const struct elastic_job *job,
                   const struct elastic_event *e, struct elastic_action *out)
{
    static void (*const rules[ELASTIC_EVENTS])(struct draft * d) = {
        [ELASTIC_RANK_ENDS] = decide_rank_ends,
        [ELASTIC_HOST_LOST] = decide_host_lost,
        [ELASTIC_HOST_GIVEN_UP] = decide_host_lost,
        [ELASTIC_HOST_DONE] = decide_host_done,
        [ELASTIC_HOST_SILENT] = decide_host_silent,
        [ELASTIC_HOST_CLEARED] = decide_host_cleared,
        [ELASTIC_HOST_FAILS] = decide_host_fails,
        [ELASTIC_HOST_READY] = decide_host_ready,
        [ELASTIC_HOST_RETURNS] = decide_host_returns,
        [ELASTIC_KEEPER_LOST] = decide_keeper_lost,
        [ELASTIC_GROW] = decide_grow,
        [ELASTIC_SHRINK] = decide_shrink,
        [ELASTIC_UNMET] = decide_unmet,
        [ELASTIC_REPAIRED] = decide_repaired,
        [ELASTIC_STOP] = decide_stop,
    };
    struct draft d = {.l = l,
                      .e = e,
                      .out = out,
                      .left = l->left,
                      .coming = l->coming,
                      .dead = l->dead,
                      .is_running = job->is_running,
                      .has_failed = job->has_failed};

    rules[e->kind](&d);
    return d.count;
}
