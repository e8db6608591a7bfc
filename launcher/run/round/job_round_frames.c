/* SPDX-License-Identifier: MIT */
#include "launcher/run/round/job_round_frames.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/net/host_table.h"
#include "common/status.h"
#include "common/text/text_json.h"
#include "launcher/run/rdma_topology/topology_survey.h"
#include "launcher/run/record/call_log.h"
#include "launcher/run/record/recording.h"
#include "launcher/run/round/host_arrival.h"
#include "launcher/run/round/host_reach.h"
#include "launcher/run/round/job_round_phases.h"
#include "launcher/run/round/job_round_steps.h"
#include "launcher/run/round/rank_frames.h"
#include "launcher/run/round/round_change.h"
#include "launcher/run/round/round_elastic.h"
#include "launcher/run/spread/env_copy.h"
#include "launcher/run/spread/file_feed.h"
#include "launcher/run/state/hang_watch.h"
#include "launcher/run/state/job_round_state.h"
#include "launcher/run/state/round_driver.h"
#include "launcher/run/state/round_lives.h"
#include "launcher/run/state/round_pause.h"
#include "launcher/run/stdio/events_file.h"
#include "launcher/run/stdio/input.h"
#include "launcher/run/stdio/output.h"
#include "launcher/run/stdio/progress_line.h"
#include "launcher/run/stdio/rank_summary.h"
#include "launcher/wire/channel/agent_session.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <arpa/inet.h>
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

/* Before the start: this host cannot take part. */
static void host_fail(struct job_round_host *h, enum channel_outlook outlook, const char *text)
{
    h->outlook = outlook;
    snprintf(h->reason, sizeof(h->reason), "%s", text);
    round_lives_host(h, HOST_EVENT_FAIL);
}

static void start_miss(struct job_round *r, struct job_round_host *h, const char *text)
{
    if (h->facts->life != HOST_FAILED)
        host_fail(h, h->channel ? agent_channel_outlook(h->channel) : CHANNEL_MAY_NOT_RETURN, text);
    round_lives_host(h, HOST_EVENT_MISS);
    progress_line_step(r->progress);
}

void job_round_frames_on_end(int host, const char *text, void *arg)
{
    struct job_round *r = arg;
    struct job_round_host *h = &r->hosts[host];
    enum host_life before = h->facts->life;

    if (before == HOST_OPENING && round_pause_opens_again(r, h)) {
        log_info("host %s: tried again after a pause: %s", h->host->name, text);
        return;
    }
    if (r->state <= JOB_ROUND_PREPARING) {
        start_miss(r, h, text);
    } else {
        round_lives_host(h, HOST_EVENT_END);
        if (host >= r->plan->where->host_count)
            round_change_host_gone(r, h, before == HOST_FAILED ? h->reason : text);
        else
            r->driver->on_end(r, h, before, text);
    }
    hang_watch_lost(r->hang, host);
    round_change_start(r);
    host_arrival_start(r);
    job_round_phases_advance(r);
}

/* Asks the agent for its time, if the times of its ranks' calls are wanted. Agents here have this
 * machine's clock. */
static void time_ask(const struct job_round *r, int host)
{
    if (r->config.recording && r->hosts[host].host->launch_method != LAUNCH_METHOD_LOCAL)
        agent_session_ask_time(r->session, host);
}

int job_round_frames_on_hello(int host, const struct hello_report *hello, void *arg,
                              struct fault *why)
{
    struct job_round *r = arg;
    struct job_round_host *h = &r->hosts[host];
    struct utsname here;

    uname(&here);
    if (strcmp(hello->arch, here.machine) != 0 && (r->plan->files.count > 0 || r->copy))
        return fault_set(why, ML_ERR_REFUSED,
                         "its processor is %s, this machine's is %s, so what %s copies from "
                         "here does not run there: install the program on each host instead",
                         hello->arch, here.machine, r->copy ? "--stage-env" : "--stage");
    progress_line_step(r->progress);
    /* Only SSH gives an address that is known to work. An agent that was started otherwise guesses
     * its own. */
    snprintf(h->address, sizeof(h->address), "%s",
             h->host->launch_method == LAUNCH_METHOD_SRUN ||
                     h->host->launch_method == LAUNCH_METHOD_COMMAND ||
                     h->host->launch_method == LAUNCH_METHOD_JOIN
                 ? hello->guess
                 : hello->address);
    round_lives_host(h, HOST_EVENT_HELLO);
    time_ask(r, host);
    log_info("host %s: connected, agent %lld", h->host->name, (long long)hello->pid);
    events_file_write(
        r->config.events, "connected", r->identity.id,
        json_pack("{s:s, s:I}", "host", h->host->name, "pid", (json_int_t)hello->pid));
    if (host >= r->plan->where->host_count)
        return round_change_host_greeted(r, why);
    return r->driver->on_hello(r, h, why);
}

static void on_warning(const char *text, void *arg)
{
    const struct job_round_host *h = arg;

    log_warn("host %s: %s", h->host->name, text);
}

static bool has_failed_host(const struct job_round *r)
{
    for (int i = 0; i < r->plan->where->host_count; i++)
        if (lives_host_has_failed(r->lives.hosts[i].life))
            return true;
    return false;
}

void job_round_frames_on_surveyed(void *arg)
{
    struct job_round *r = arg;
    struct fault why;
    int culprit = 0;

    if (r->state != JOB_ROUND_SURVEYING)
        return;
    if (has_failed_host(r)) {
        log_debug("job %s: not all hosts have answered", r->identity.id);
    } else if (topology_survey_conclude(r->wiring.survey, &culprit, &why)) {
        r->wiring.has_failed = true;
        r->hosts[culprit].status = STATUS_OURS;
        host_fail(&r->hosts[culprit], CHANNEL_MAY_NOT_RETURN, why.text);
    } else {
        json_decref(r->wiring.table);
        r->wiring.table = json_incref(topology_survey_wiring(r->wiring.survey));
    }
    job_round_phases_advance(r);
}

/* Sends the host what it may get now. Each sign that it takes files gives all hosts more time. */
static int files_send(struct job_round *r, struct job_round_host *h, struct fault *why)
{
    int rc = r->driver->is_preparing(r, h) ? file_feed_send(h->feed, why) : 0;

    if (!rc && r->driver->is_preparing(r, h)) /* still, for a send may find the channel's end */
        job_round_steps_await_ready(r);
    return rc;
}

static int on_want(struct job_round *r, struct job_round_host *h, const struct frame *f,
                   struct fault *why)
{
    int *wanted = calloc((size_t)r->plan->files.count + 1, sizeof(*wanted)), count = 0, rc;

    if (!wanted)
        rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
    else if (r->state < JOB_ROUND_PREPARING || h->feed ||
             h->host->launch_method == LAUNCH_METHOD_LOCAL)
        rc = fault_set(why, ML_ERR_REFUSED, "its agent sent an unexpected WANT");
    else
        rc = want_report_parse(wanted, &count, f, r->plan->files.count, why);
    if (!rc)
        rc = file_feed_create(&h->feed, &r->plan->files, h->channel, wanted, count, why);
    free(wanted);
    return rc ? rc : files_send(r, h, why);
}

static int on_file_credit(struct job_round *r, struct job_round_host *h, const struct frame *f,
                          struct fault *why)
{
    uint32_t bytes;

    if (f->size != sizeof(bytes) || !h->feed)
        return fault_set(why, ML_ERR_REFUSED, "its agent sent an unexpected FILE_CREDIT");
    memcpy(&bytes, f->payload, sizeof(bytes));
    if (file_feed_acknowledge(h->feed, ntohl(bytes), why))
        return why->code;
    return files_send(r, h, why);
}

static int on_place(struct job_round *r, struct job_round_host *h, const struct frame *f,
                    struct fault *why)
{
    const struct host *listed = h->host;
    char directory[PATH_MAX];
    struct env_copy_place place = {.host = listed,
                                   .channel = h->channel,
                                   .ip =
                                       listed->ips && listed->ips[0] ? listed->ips[0] : h->address,
                                   .directory = directory};
    int rc;

    if (!r->copy || r->state < JOB_ROUND_PREPARING)
        return fault_set(why, ML_ERR_REFUSED, "its agent sent an unexpected PLACE");
    rc = place_report_parse(directory, &place.is_kept, f, why);
    return rc ? rc : env_copy_place(round_lives_copy(h), (int)(h - r->hosts), &place, why);
}

/* Each sign that a host goes on gives all more time. */
static int on_sync(struct job_round *r, struct job_round_host *h, const struct frame *f,
                   struct fault *why)
{
    int rc = r->copy ? env_copy_take(round_lives_copy(h), (int)(h - r->hosts), f, why)
                     : fault_set(why, ML_ERR_REFUSED, "its agent sent an unexpected SYNC");

    if (!rc && r->driver->is_preparing(r, h))
        job_round_steps_await_ready(r);
    return rc;
}

void job_round_frames_on_copied(uint64_t lost, void *arg)
{
    struct job_round *r = arg;

    if (r->state != JOB_ROUND_PREPARING)
        return;
    if (lost > 0) {
        log_error("--stage-env: files in %s have changed while they were copied, or cannot be "
                  "read: start the job again when nobody writes there",
                  r->plan->stage_env);
        r->stop.is_wanted = true;
        job_round_phases_advance(r);
        return;
    }
    for (int i = 0; i < r->plan->where->host_count; i++) {
        env_copy_report(r->copy, i);
        agent_channel_send(r->hosts[i].channel, LAUNCH_STAGED, NULL, 0);
    }
    job_round_steps_await_ready(r);
}

void job_round_frames_on_pulse(void *arg)
{
    const struct job_round *r = arg;

    env_copy_pulse(r->copy);
    for (int i = 0; i < job_round_state_hosts(r); i++)
        env_copy_pulse(r->hosts[i].copy);
}

static int on_ready(struct job_round *r, struct job_round_host *h, const struct frame *f,
                    struct fault *why)
{
    struct ready_report ready;

    if (ready_report_parse(&ready, f, on_warning, h, why))
        return why->code;
    if (h == &r->hosts[r->lives.ranks[0].host] && !h->facts->is_coming)
        snprintf(r->agreed.coordinator, sizeof(r->agreed.coordinator), "%s", ready.coordinator);
    if (h - r->hosts < r->plan->where->host_count)
        round_lives_keep(r, h, ready.keeper);
    else
        snprintf(h->keeper, sizeof(h->keeper), "%s", ready.keeper);
    if (ready.is_pmix && r->agreed.pmix == PMIX_IS_ABSENT)
        r->agreed.pmix = PMIX_IS_SERVED;
    if (ready.needs_pmix)
        r->agreed.pmix = PMIX_IS_NEEDED;
    r->agreed.ports_taken |= (unsigned)ready.ports_taken;
    if (r->agreed.ports_taken == (1U << JOB_PORTS) - 1)
        return fault_set(why, ML_ERR_SYSTEM,
                         "{port}: each of the %d ports that it may be is taken there or on a host "
                         "before it; start the job again, which tries others, or move them by "
                         "--starting-port",
                         JOB_PORTS);
    if (h->feed)
        file_feed_report(h->feed, h->host->name);
    round_lives_host(h, HOST_EVENT_READY);
    if (h - r->hosts >= r->plan->where->host_count)
        return 0; /* mlaunch grow lets it come */
    r->driver->on_ready(r, h);
    return 0;
}

static int on_refused(struct job_round *r, struct job_round_host *h, const struct frame *f,
                      struct fault *why)
{
    struct refused_report refused;

    if (refused_report_parse(&refused, f, why))
        return why->code;
    h->status = refused.status;
    host_fail(h, refused.status == STATUS_OURS ? CHANNEL_MAY_NOT_RETURN : CHANNEL_STAYS_WRONG,
              refused.text);
    r->driver->on_refused(r, h);
    return 0;
}

static int on_note(struct job_round *r, struct job_round_host *h, const struct frame *f,
                   struct fault *why)
{
    struct note_report note;

    if (note_report_parse(&note, f, why))
        return why->code;
    if (!output_is_behind(r->config.output)) {
        log_at(note.level, "%s%s%s%s", note.names_host ? "" : "host ",
               note.names_host ? "" : h->host->name, note.names_host ? "" : ": ", note.text);
    } else if (!h->is_cut) {
        h->is_cut = true;
        log_warn("host %s: its agent says more than is read here; some of it is left out",
                 h->host->name);
    }
    if (note.is_stall && r->state == JOB_ROUND_RUNNING)
        hang_watch_stalled(r->hang);
    return 0;
}

/* LOST: the agent still works, but can no longer supervise its ranks. KILLED: `mlaunch kill` was
 * used; nothing has failed, but the job is over. */
static int on_lost(struct job_round *r, struct job_round_host *h, const struct frame *f,
                   struct fault *why)
{
    bool is_killed = f->type == AGENT_KILLED;
    struct lost_report lost;

    if (lost_report_parse(&lost, f, why))
        return why->code;
    if (r->state <= JOB_ROUND_PREPARING || lives_host_is_starting(h->facts->life)) {
        host_fail(h, CHANNEL_MAY_RETURN, lost.text);
        r->driver->on_refused(r, h);
        return 0;
    }
    r->driver->on_lost(r, h, &lost, is_killed);
    return 0;
}

static int on_asked(struct job_round *r, struct job_round_host *h, const struct frame *f,
                    struct fault *why)
{
    struct lost_report asked;

    (void)h;
    if (lost_report_parse(&asked, f, why))
        return why->code;
    if (r->state == JOB_ROUND_RUNNING)
        r->config.on_asked(asked.text, r->config.arg);
    return 0;
}

/* It comes from the coordinator for ranks that talk to it. */
static int on_alone(struct job_round *r, struct job_round_host *h, const struct frame *f,
                    struct fault *why)
{
    struct alone_report alone;
    const char *host;

    (void)h;
    if (alone_report_parse(&alone, f, r->plan->where->size, why))
        return why->code;
    host = r->hosts[r->lives.ranks[alone.rank].host].host->name;
    if (alone.text[0])
        log_warn("rank %d on host %s: what it keeps is kept in memory on one host only: %s",
                 alone.rank, host, alone.text);
    else
        log_info("rank %d on host %s: what it keeps is on two hosts again", alone.rank, host);
    events_file_write(r->config.events, "kept", r->identity.id,
                      json_pack("{s:i, s:s, s:i, s:o}", "rank", alone.rank, "host", host, "hosts",
                                alone.text[0] ? 1 : 2, "text", text_json(alone.text)));
    return 0;
}

/* The copies that it held are still there, but the ranks make them anew with the next one. */
static int on_keeper(struct job_round *r, struct job_round_host *h, const struct frame *f,
                     struct fault *why)
{
    struct keeper_report keeper;

    if (keeper_report_parse(&keeper, f, why))
        return why->code;
    log_warn("host %s: %s", h->host->name, keeper.text);
    events_file_write(r->config.events, "keeper", r->identity.id,
                      json_pack("{s:s, s:s, s:o}", "host", h->host->name, "address", keeper.address,
                                "text", text_json(keeper.text)));
    if (h - r->hosts >= r->plan->where->host_count)
        snprintf(h->keeper, sizeof(h->keeper), "%s", keeper.address);
    else if (keeper.address[0])
        round_lives_keep(r, h, keeper.address);
    else
        round_elastic_host(r, h, ELASTIC_KEEPER_LOST, NULL);
    return 0;
}

static int on_met(struct job_round *r, struct job_round_host *h, const struct frame *f,
                  struct fault *why)
{
    (void)f, (void)why;
    r->lives.has_met |= h == &r->hosts[r->lives.coordinator_host];
    return 0;
}

static int on_grew(struct job_round *r, struct job_round_host *h, const struct frame *f,
                   struct fault *why)
{
    uint32_t rank;

    if (f->size == sizeof(rank))
        memcpy(&rank, f->payload, sizeof(rank));
    if (f->size != sizeof(rank) || ntohl(rank) != (uint32_t)h->ranks_known ||
        h->ranks_known >= r->plan->where->size)
        return fault_set(why, ML_ERR_REFUSED, "its agent sent an unexpected GREW");
    h->ranks_known++;
    round_change_start(r);
    host_arrival_start(r); /* those that were announced before all knew their ranks */
    return 0;
}

static void on_survivor(int64_t pid, const char *text, void *arg)
{
    struct job_round_host *h = arg;

    h->is_littered = true;
    log_warn("host %s: process %lld could not be ended: %s", h->host->name, (long long)pid, text);
}

static int on_done(struct job_round *r, struct job_round_host *h, const struct frame *f,
                   struct fault *why)
{
    struct done_report done;

    if (done_report_parse(&done, f, on_survivor, h, why))
        return why->code;
    if (done.threads > r->crowd.report.threads) {
        r->crowd.report = done;
        r->crowd.host = h->host->name;
    }
    r->driver->on_done(r, h);
    round_lives_host(h, HOST_EVENT_DONE);
    host_arrival_start(r);
    return 0;
}

/*
 * What becomes of each frame in each state of the host that sends it, a column a state, in the
 * order of enum host_life: Opening, Connected, Prepared, Announced, Failed, Started, cut off (X),
 * Given up, Done, staYs, and without a channel, so that no frame comes: goNe, Missing.
 * doc/protocol.md has the same table.
 *
 *     t: taken. r: refused, which ends the channel. -: there is no channel.
 *     f: ignored, for the host takes no part, and its channel is ending
 *     g: ignored, for its ranks are members no more: their places may have been given away
 *     d: ignored, for its ranks have ended, and it keeps nothing for others any more
 *
 * No frame is ignored to which the agent awaits an answer.
 */
/* clang-format off */
#define FRAMES(ROW) \
    /*              OCPAFSXGDYNM */ \
    ROW(WANT,        "rtrrrrrrrr--", on_want) \
    ROW(FILE_CREDIT, "rtrrrrrrrr--", on_file_credit) \
    ROW(PLACE,       "rtrrrrrrrr--", on_place) \
    ROW(SYNC,        "rtrrrrrrrr--", on_sync) \
    ROW(READY,       "rtrrfrrrrr--", on_ready) \
    ROW(REFUSED,     "ttttfrrrrr--", on_refused) \
    ROW(STARTED,     "rrrrrtttrr--", rank_frames_on_started) \
    ROW(OUTPUT,      "rrrrrttttr--", rank_frames_on_output) \
    ROW(FOLDED,      "rrrrrttttr--", rank_frames_on_folded) \
    ROW(EXITED,      "rrrrrttgrr--", rank_frames_on_exited) \
    ROW(STDIN_CREDIT,"rrrrrttttr--", rank_frames_on_stdin_credit) \
    ROW(ABORTED,     "rrrrrttttr--", rank_frames_on_aborted) \
    ROW(NOTE,        "tttttttttt--", on_note) \
    ROW(LOST,        "ttttfttttr--", on_lost) \
    ROW(KILLED,      "ttttfttttr--", on_lost) \
    ROW(ASKED,       "rrrrrttttr--", on_asked) \
    ROW(COORDINATES, "rrrrrttgrr--", round_elastic_on_coordinates) \
    ROW(MET,         "rrrrrttttr--", on_met) \
    ROW(UNMET,       "rrrrrttttr--", round_elastic_on_unmet) \
    ROW(GREW,        "rrrrrttttr--", on_grew) \
    ROW(WIRED,       "rrttfttttr--", host_arrival_on_wired) \
    ROW(UNREACHED,   "rrrrrttttr--", host_reach_on_unreached) \
    ROW(ALONE,       "rrrrrttttr--", on_alone) \
    ROW(KEEPS,       "rrttfttgdr--", on_keeper) \
    ROW(REPAIRED,    "rrrrrttttr--", round_elastic_on_repaired) \
    ROW(DONE,        "rrrrrtttrr--", on_done) \
    ROW(CALLS,       "rrrrrtttrr--", rank_frames_on_calls)

#define ROW_CHECK(name, cells, handle) \
    _Static_assert(sizeof(cells) == HOST_LIVES + 1, #name " has one letter for each state");
FRAMES(ROW_CHECK)

static const struct frame_rule {
    enum agent_frame type;
    const char *name;
    const char *cells;
    int (*handle)(struct job_round *r, struct job_round_host *h, const struct frame *f,
                  struct fault *why);
} rules[] = {
#define ROW_FILL(name, cells, handle) {AGENT_##name, #name, cells, handle},
    FRAMES(ROW_FILL)
};
/* clang-format on */

static bool is_data(uint8_t type)
{
    return type == AGENT_OUTPUT || type == AGENT_FOLDED || type == AGENT_STDIN_CREDIT ||
           type == AGENT_FILE_CREDIT || type == AGENT_SYNC;
}

static int frame_take(struct job_round *r, struct job_round_host *h, const struct frame_rule *rule,
                      const struct frame *f, struct fault *why)
{
    int rc;

    if (!is_data(f->type))
        log_debug("host %s: its agent sent %s", h->host->name, rule->name);
    rc = rule->handle(r, h, f, why);
    if (!rc && r->growth.plan)
        round_change_start(r);
    if (!rc && !is_data(f->type))
        job_round_phases_advance(r);
    return rc;
}

char job_round_frames_cell(uint8_t type, enum host_life life)
{
    for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
        if (rules[i].type == type)
            return rules[i].cells[life];
    return 'r';
}

int job_round_frames_on_frame(int host, const struct frame *f, void *arg, struct fault *why)
{
    struct job_round *r = arg;
    struct job_round_host *h = &r->hosts[host];
    char cell = job_round_frames_cell((uint8_t)f->type, h->facts->life);

    for (size_t i = 0; i < sizeof(rules) / sizeof(*rules) && cell == 't'; i++)
        if (rules[i].type == f->type)
            return frame_take(r, h, &rules[i], f, why);
    if (cell == 'r' || cell == '-')
        return agent_session_refuse(f, why);
    log_debug("host %s: a frame of type %d is ignored, '%c'", h->host->name, f->type, cell);
    return 0;
}

/* While the ranks run: where they are. */
int job_round_frames_on_answer(int host, json_t *said, void *arg, struct fault *why)
{
    struct job_round *r = arg;

    (void)why;
    hang_watch_answer(r->hang, host, said);
    return 0;
}

/* The payload is empty, or the time that the PING had and the agent's. */
void job_round_frames_on_pong(int host, const struct frame *f, void *arg)
{
    struct job_round *r = arg;
    struct job_round_host *h = &r->hosts[host];
    int64_t times[2], now = clock_ns();

    if (f->size == sizeof(times)) {
        memcpy(times, f->payload, sizeof(times));
        if (times[0] > r->at.began_ns && times[0] <= now)
            clock_offset_add(&h->clock, times[0], now, times[1]);
        if (h->clock.trips < CLOCK_OFFSET_TRIPS && h->facts->life < HOST_DONE)
            time_ask(r, host);
    }
}
