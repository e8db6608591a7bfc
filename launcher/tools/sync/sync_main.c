/* SPDX-License-Identifier: MIT */
/* sync_main.c: mlaunch-sync, which mlaunch becomes for `mlaunch sync`: gives all hosts the same
 * files. */
#include "common/clock.h"
#include "common/log.h"
#include "common/status.h"
#include "common/text/number.h"
#include "common/text/utf8.h"
#include "launcher/ask/query_command.h"
#include "launcher/base/process/program_main.h"
#include "launcher/input/options/options.h"
#include "launcher/input/plan/plan.h"
#include "launcher/tools/sync/sync_report.h"
#include "launcher/tools/sync/sync_session.h"
#include "launcher/tools/sync/sync_topology.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    PATHS_MOST = 400, /* each takes two descriptors on a host */
    STALL_S = 30,
    STALL_LIMIT_S = 1000000,
    TIMEOUT_MS = 15000, /* for a host to say how it is wired */
};

struct sync_run {
    struct query_command c;
    struct string_list exclude;
    struct sync_settings settings;
    struct sync_source source;
    struct sync_host *hosts;
    int count;
};

static bool has_flag(const struct sync_run *r, const char *name)
{
    return query_command_flag(&r->c, name) != NULL;
}

/* As for the calls of a job. */
static int stall_take(struct sync_run *r, struct fault *why)
{
    const char *value = getenv("MLAUNCH_STALL");
    int64_t s = STALL_S;

    if (value && !number_parse(value, 1, STALL_LIMIT_S, &s))
        return fault_set(why, ML_ERR_ARGUMENT,
                         "MLAUNCH_STALL is not a whole number of seconds from 1 to %d",
                         STALL_LIMIT_S);
    r->settings.stall_ms = (int)s * 1000;
    return 0;
}

static int settings_take(struct sync_run *r, struct fault *why)
{
    const char *to = query_command_flag(&r->c, "to");
    int rc = command_line_values(&r->exclude, &r->c.line, "exclude", why);

    if (rc)
        return rc;
    r->settings.is_git = has_flag(r, "git");
    r->settings.is_comparing = has_flag(r, "check") || has_flag(r, "dry-run") || r->settings.is_git;
    r->settings.is_checksum = has_flag(r, "checksum");
    r->settings.is_delete = has_flag(r, "delete");
    r->settings.exclude = r->exclude.items;
    r->settings.shows_progress = !r->c.json && r->c.verbose >= 0;
    if (r->c.line.words.count == 0)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "mlaunch sync: which files? mlaunch sync -H a,b PATH gives both hosts "
                         "what PATH is here");
    if (r->c.line.words.count > PATHS_MOST)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "mlaunch sync: %d PATHs are the most: name the directory that they are in",
                         PATHS_MOST);
    if (has_flag(r, "check") && has_flag(r, "dry-run"))
        return fault_set(why, ML_ERR_ARGUMENT,
                         "mlaunch sync: --check and --dry-run do not go together: both change "
                         "nothing, and --check has status 1 if something differs");
    if (to && !utf8_is_valid(to))
        return fault_set(why, ML_ERR_ARGUMENT, "mlaunch sync: --to must be UTF-8 text");
    for (size_t i = 0; i < r->exclude.count; i++)
        if (!utf8_is_valid(r->exclude.items[i]))
            return fault_set(why, ML_ERR_ARGUMENT, "mlaunch sync: --exclude must be UTF-8 text");
    return stall_take(r, why);
}

/* Without --to there is nothing to do on this machine. */
static int hosts_take(struct sync_run *r, struct fault *why)
{
    const struct host_list *list = r->c.hosts;
    bool has_target = has_flag(r, "to");
    int rc = 0;

    r->hosts = calloc((size_t)list->count + 1, sizeof(*r->hosts));
    if (!r->hosts)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (int i = 0; i < list->count && !rc; i++) {
        if (list->hosts[i].launch_method == LAUNCH_METHOD_LOCAL && !has_target) {
            log_info("host %s: is this machine", list->hosts[i].name);
            continue;
        }
        rc = sync_host_open(&r->hosts[r->count], &list->hosts[i], r->source.list.count, why);
        r->hosts[r->count++].place = i;
    }
    return rc;
}

static int source_take(struct sync_run *r, struct fault *why)
{
    const struct string_list *paths = &r->c.line.words;
    int rc = 0;

    for (size_t i = 0; i < paths->count && !rc; i++)
        rc = sync_source_add(&r->source, paths->items[i], query_command_flag(&r->c, "to"), why);
    if (!rc && r->settings.is_git)
        return sync_source_secret(&r->source, why);
    return rc ? rc : sync_source_scan(&r->source, r->exclude.items, r->settings.is_checksum, why);
}

static int session_run(struct sync_run *r, uint64_t *lost, struct fault *why)
{
    struct query_channel channel;
    int rc = query_command_channel(&channel, r->c.options, r->c.plan, why);

    if (rc || r->count == 0)
        return rc;
    if (!r->settings.is_comparing)
        rc = sync_topology_find(&r->settings.wiring, &r->c, why);
    if (rc)
        return rc;
    channel.config.with_copier = r->c.with_copier;
    r->settings.rdma = r->c.options->job.rdma;
    return sync_session_run(r->hosts, r->count, &r->source, &r->settings, &channel.config, lost,
                            why);
}

/* No host has got as far as comparing anything. */
static bool is_not_begun(const struct sync_run *r)
{
    for (int i = 0; i < r->count; i++)
        if (r->hosts[i].state != SYNC_HOST_LOST || r->hosts[i].address[0])
            return false;
    return r->count > 0;
}

static int sync_do(struct sync_run *r, int *status, struct fault *why)
{
    struct sync_outcome o = {.source = &r->source, .is_git = has_flag(r, "git")};
    int64_t begun_ms = clock_ms();
    int rc = settings_take(r, why);

    if (!rc)
        rc = source_take(r, why);
    if (!rc)
        rc = hosts_take(r, why);
    if (!rc)
        rc = session_run(r, &o.lost, why);
    if (rc)
        return rc;
    o.hosts = r->hosts;
    o.count = r->count;
    o.is_quiet = r->c.verbose < 0;
    o.ms = clock_ms() - begun_ms;
    o.purpose = has_flag(r, "dry-run")     ? SYNC_REHEARSES
                : r->settings.is_comparing ? SYNC_CHECKS
                                           : SYNC_COPIES;
    *status = sync_report_print(&o, r->c.json);
    if (is_not_begun(r))
        *status = STATUS_OURS;
    return 0;
}

static int sync_run(void *arg, int *status, struct fault *why)
{
    struct sync_run *r = arg;
    int rc = sync_do(r, status, why);

    for (int i = 0; i < r->count; i++)
        sync_host_close(&r->hosts[i]);
    free(r->hosts);
    json_decref(r->settings.wiring);
    sync_source_clear(&r->source);
    string_list_clear(&r->exclude);
    return rc;
}

static int sync_command_run(int argc, char **argv)
{
    static const struct option flags[] = {
        {.name = "to", .argument = "DIR", .help = "the directory on the hosts; else that of PATH"},
        {.name = "checksum", .help = "compare contents too, not only size and time"},
        {.name = "delete", .help = "delete on the hosts what is not here"},
        {.name = "exclude", .argument = "PATTERN", .help = "leave out; may be repeated"},
        {.name = "dry-run", .help = "say what differs, copy nothing"},
        {.name = "check", .help = "the same; status 1 if something differs"},
        {.name = "git", .help = "check that git has the same commit, and no changes"},
        {.name = "json", .help = "print the result as JSON"},
        {0}};
    static const struct option ways[] = {
        {.name = "backend",
         .argument = "auto|rdma|tcp",
         .help =
             "what carries the files from host to host: RDMA with rdma, and with auto (default) "
             "where a hostfile has the wiring; else TCP"},
        {0}};
    static const struct command_hint hints[] = {
        {"-a", "modes, times and links are always kept"},
        {"--archive", "modes, times and links are always kept"},
        {"-r", "directories are always copied with all that is in them"},
        {"--recursive", "directories are always copied with all that is in them"},
        {"-avz", "modes, times and links are always kept, and nothing is compressed"},
        {"-av", "modes, times and links are always kept"},
        {"--include", "all that no --exclude names is copied"},
        {"--exclude-from", "--exclude PATTERN, once for each"},
        {"--bwlimit", "it has no limit; RDMA's and TCP's own control share the line"},
        {"-z", "nothing is compressed"},
        {"--compress", "nothing is compressed"},
        {"-n", "here it is called --dry-run"},
        {"-c", "here it is called --checksum"},
        {"--progress", "it is shown if standard error is a terminal"},
        {NULL, NULL}};
    struct sync_run r = {
        .c = {.syntax = {.name = "sync",
                         .usage = "usage: mlaunch sync [OPTIONS] PATH...\n\n"
                                  "Gives all hosts the files and directories PATH of this\n"
                                  "machine, at the same place or in DIR. Each host gets\n"
                                  "them once and passes them on to the next. What a host\n"
                                  "has already is not copied again.",
                         .own = flags,
                         .hints = hints,
                         .borrowed = {sync_topology_options},
                         .reworded = ways,
                         .words_most = SIZE_MAX},
              .timeout_ms = TIMEOUT_MS,
              .with_copier = true}};

    return query_command_run(&r.c, argc, argv, sync_run, &r);
}

int main(int argc, char **argv)
{
    static const struct program_word words[] = {{"sync", sync_command_run}, {NULL, NULL}};

    return program_main_word(argc, argv, words);
}
