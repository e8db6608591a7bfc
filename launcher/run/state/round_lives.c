/* SPDX-License-Identifier: MIT */
#include "launcher/run/state/round_lives.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/text/text_json.h"
#include "launcher/run/elastic/keeper_order.h"
#include "launcher/run/spread/env_copy.h"
#include "launcher/run/stdio/events_file.h"
#include "launcher/run/stdio/input.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <string.h>

struct env_copy *round_lives_copy(const struct job_round_host *h)
{
    return h->copy ? h->copy : h->round->copy;
}

void round_lives_write_lost(const struct job_round_host *h, const char *event, const char *text)
{
    events_file_write(h->round->config.events, event, h->round->identity.id,
                      json_pack("{s:s, s:o}", "host", h->host->name, "text", text_json(text)));
}

void round_lives_keep(struct job_round *r, const struct job_round_host *h, const char *address)
{
    char text[KEEPERS_TEXT];
    struct fault why;

    if (r->plan->job.keep < 2)
        return;
    if (keeper_order_set(&r->world.keepers, (int)(h - r->hosts), address, &why))
        log_warn("%s", why.text); /* its copies are lost */
    for (int i = 0; i < r->plan->where->host_count; i++)
        if (lives_host_runs(r->lives.hosts[i].life) && keeper_order_find(r->world.keepers, i, text))
            agent_channel_send(r->hosts[i].channel, LAUNCH_KEEPER, text, strlen(text));
}

void round_lives_host(struct job_round_host *h, enum host_event event)
{
    struct job_round *r = h->round;
    const int host = (int)(h - r->hosts);

    switch (lives_host(&r->lives, host, event)) {
    case HOST_FORGET_COPY:
        env_copy_lose(round_lives_copy(h), host);
        break;
    case HOST_KEEP_NOTHING:
        if (host < r->plan->where->host_count) /* others do not know of it yet */
            round_lives_keep(r, h, "");
        break;
    case HOST_STAYS_AS_IT_IS:
        break;
    }
}

/* The rank is a member of the world, which it was not. */
static void rank_welcome(struct job_round *r, int rank)
{
    const char *host = r->hosts[r->lives.ranks[rank].host].host->name;
    bool is_first = rank >= r->ranks_began && r->lives.ranks[rank].restarts == 0;
    int64_t took_ms = clock_ms() - r->ranks[rank].died_ms;

    log_info("rank %d on host %s: %s, after %lld ms", rank, host,
             is_first ? "it is a member" : "its place is filled again", (long long)took_ms);
    events_file_write(
        r->config.events, is_first ? "grown" : "replaced", r->identity.id,
        json_pack("{s:i, s:s, s:I}", "rank", rank, "host", host, "ms", (json_int_t)took_ms));
}

void round_lives_rank(struct job_round *r, int rank, enum rank_event event)
{
    switch (lives_rank(&r->lives, rank, event)) {
    case RANK_CLOSE_INPUT:
        input_rank_ended(r->config.input, rank);
        break;
    case RANK_FINISH:
        r->ranks[rank].replace_ms = 0;
        input_rank_ended(r->config.input, rank);
        if (r->config.on_rank_changed)
            r->config.on_rank_changed(r->config.arg);
        break;
    case RANK_WELCOME:
        rank_welcome(r, rank);
        break;
    case RANK_STAYS_AS_IT_IS:
        break;
    }
}
