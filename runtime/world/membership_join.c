/* SPDX-License-Identifier: MIT */
/* membership_join.c: the coordinator decides who is a member (coordinator/next_world.h). Whoever
 * dies while the members connect is left out by another turn. */
#include "runtime/world/membership_join.h"

#include "common/clock.h"
#include "common/failure_times.h"
#include "common/net/host_table.h"
#include "coordinator/protocol.h"
#include "runtime/call/progress.h"
#include "runtime/group/coord_events.h"
#include "runtime/group/world.h"
#include "runtime/process/counters_file.h"
#include "runtime/world/group_join.h"

#include <jansson.h>
#include <poll.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    MOVED_MS = 10, /* between looks for another coordinator */
};

int membership_set_ids(struct world *w, const json_t *host_of, int size, int hosts)
{
    int *list, rc = host_table_read_numbers(&list, host_of, size, hosts);

    if (rc)
        return rc;
    if (!w->host_of)
        w->host_of = calloc((size_t)w->most, sizeof(*w->host_of));
    for (int i = w->size; i < size && w->host_of; i++)
        w->host_of[i] = list[i];
    if (w->host_of)
        w->size = size;
    free(list);
    return w->host_of ? 0 : ML_ERR_MEMORY;
}

/* There may be more ids than before. */
static int ids_note(struct world *w, const json_t *repaired)
{
    json_t *list = NULL;
    int size = 0;

    if (json_unpack((json_t *)repaired, "{s?i, s?o}", "size", &size, "host_of", &list))
        return ML_ERR_REFUSED;
    if (!list || size <= w->size)
        return 0;
    return size <= w->most ? membership_set_ids(w, list, size, w->hosts) : ML_ERR_REFUSED;
}

/* Several answers may come until the members are connected. */
static int newcomers_note(struct world *w, const json_t *repaired)
{
    json_t *list = NULL;
    int count = 0, *came, rc;

    if (json_unpack((json_t *)repaired, "{s?i, s?o}", "came_count", &count, "came", &list) ||
        count < 0 || count > w->size)
        return ML_ERR_REFUSED;
    if (count == 0)
        return 0;
    rc = host_table_read_numbers(&came, list, count, w->size);
    if (!rc && !w->has_come)
        w->has_come = calloc((size_t)w->most, sizeof(*w->has_come));
    for (int i = 0; i < count && !rc && w->has_come; i++)
        w->has_come[came[i]] = true;
    if (!rc)
        free(came);
    return rc ? rc : w->has_come ? 0 : ML_ERR_MEMORY;
}

/* Another thread may be reading the old name. */
static void name_replace(struct world *w, int host, char *name)
{
    char **kept = realloc(w->old_names.list, ((size_t)w->old_names.count + 1) * sizeof(*kept));

    if (kept)
        w->old_names.list = kept;
    if (kept && w->host_names[host])
        kept[w->old_names.count++] = w->host_names[host];
    w->host_names[host] = name;
}

/* Other hosts may be in the places of lost ones, and there may be more hosts than before. */
static int names_note(struct world *w, const json_t *repaired)
{
    json_t *list = NULL;
    const char **names;
    int hosts = 0, rc;

    if (json_unpack((json_t *)repaired, "{s?i, s?o}", "hosts", &hosts, "names", &list) ||
        (list && (hosts < w->hosts || hosts > w->hosts_most)))
        return ML_ERR_REFUSED;
    rc = list ? host_table_read_texts(&names, list, hosts) : 0;
    if (!list || rc)
        return rc;
    for (int i = 0; i < hosts && !rc; i++) {
        char *name;

        if (i < w->hosts && strcmp(names[i], w->host_names[i]) == 0)
            continue;
        name = strdup(names[i]);
        if (!name && i < w->hosts)
            continue; /* the old name stays */
        rc = name ? 0 : ML_ERR_MEMORY;
        name_replace(w, i, name);
        counters_file_host(w->counters, i, name);
        if (!rc && i == w->hosts)
            w->hosts++;
    }
    free(names);
    return rc;
}

/* REPAIRED. */
static int membership_parse(struct membership *out, const json_t *j, struct world *w,
                            struct fault *why)
{
    json_int_t membership, group;
    json_t *list;
    bool has_me = false;
    int *members = NULL, rc = ML_ERR_REFUSED, grown = names_note(w, j);

    *out = (struct membership){0};
    if (!grown)
        grown = ids_note(w, j);
    if (!grown &&
        json_unpack((json_t *)j, "{s:I, s:I, s:i, s:o}", "membership", &membership, "group", &group,
                    "count", &out->count, "members", &list) == 0 &&
        membership > 0 && membership <= UINT32_MAX && group > 0 && group <= INT32_MAX &&
        out->count > 0 && out->count <= w->size)
        rc = host_table_read_numbers(&members, list, out->count, w->size);
    for (int i = 0; i < out->count && !rc; i++) {
        has_me |= members[i] == w->rank;
        if (i > 0 && members[i] <= members[i - 1])
            rc = ML_ERR_REFUSED;
    }
    if (!rc && has_me)
        rc = newcomers_note(w, j);
    if (!rc && has_me) {
        out->number = (uint32_t)membership;
        out->group = (uint32_t)group;
        out->members = members;
        return 0;
    }
    free(members);
    if (rc == ML_ERR_MEMORY || grown == ML_ERR_MEMORY)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    return fault_set(why, ML_ERR_REFUSED, "the coordinator's answer to ml_repair is damaged");
}

int membership_reconnect(struct world *w, struct fault *why)
{
    int64_t deadline_ms = clock_ms() + w->job.init_timeout_ms;
    uint8_t secret[AUTH_SECRET];
    struct job_file file;
    struct client *c;
    int rc;

    while (coord_events_fd(w->coord_events) < 0) {
        rc = job_file_read(w->dir, &file, secret, why);
        sodium_memzero(secret, sizeof(secret));
        if (rc)
            return rc;
        if (clock_left_ms(deadline_ms) == 0)
            return fault_set(why, ML_ERR_TIMEOUT,
                             "the job's coordinator at %s is lost, and there is no other one after "
                             "%d s",
                             w->job.coordinator, w->job.init_timeout_ms / 1000);
        if (strcmp(file.coordinator, w->job.coordinator) == 0) {
            poll(NULL, 0, MOVED_MS);
            continue;
        }
        memcpy(w->job.coordinator, file.coordinator, sizeof(file.coordinator));
        /* If that one is lost, too, there will be another. */
        if (client_open(&c, w->job.coordinator, w->dir, w->job.job, w->secret, w->rank,
                        w->generation, deadline_ms, why) == 0)
            coord_events_move(w->coord_events, c);
    }
    return 0;
}

static int repair_send(struct world *w, struct fault *why)
{
    struct coord_events *e = w->coord_events;

    return coord_events_send(e, COORD_REPAIR,
                             json_pack("{s:I, s:i, s:I}", "pid", (json_int_t)getpid(), "timeout_ms",
                                       w->job.init_timeout_ms, "groups",
                                       (json_int_t)coord_events_groups_end(e)),
                             why);
}

static int membership_ask(struct world *w, struct group *old, bool asks, struct membership *out,
                          struct fault *why)
{
    struct coord_events *e = w->coord_events;
    json_t *answer = NULL;
    int rc = 0;

    if (asks) {
        coord_events_read(e, old);
        rc = membership_reconnect(w, why);
        if (!rc)
            rc = repair_send(w, why);
    }
    if (!rc && old)
        progress_settle(
            old); /* its thread has the group until the coordinator breaks it for this */
    if (!rc)
        rc = coord_events_await_repaired(e, old,
                                         clock_ms() + w->job.init_timeout_ms + MISSING_NAMED_MS,
                                         MISSING_NAMED_MS, &answer, why);
    if (!rc)
        rc = membership_parse(out, answer, w, why);
    json_decref(answer);
    return rc;
}

int membership_join(struct world *w, struct group *old, bool asks, struct membership *m,
                    struct group **made, struct fault *why)
{
    uint32_t membership = w->membership, id = w->world_id;
    int rc;

    do {
        free(m->members);
        m->members = NULL; /* there may be no answer to the next question */
        rc = membership_ask(w, old, asks, m, why);
        asks = true;
        if (!rc) {
            w->membership = m->number;
            w->world_id = m->group;
            rc = group_join(made, w, m->group, m->members, m->count, "repair",
                            clock_ms() + w->job.init_timeout_ms, why);
        }
    } while (rc == ML_ERR_PEER);
    if (rc) {
        w->membership = membership;
        w->world_id = id;
    }
    return rc;
}
