/* SPDX-License-Identifier: MIT */
#include "launcher/wire/protocol/agent_report.h"

#include "common/net/host_table.h"
#include "common/status.h"
#include "common/text/parsed_json.h"
#include "launcher/wire/protocol/agent_protocol.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

/* The object that a frame holds, for the caller to release. NULL: there is none, as *why says. */
static json_t *report_load(const char *name, const struct frame *f, struct fault *why)
{
    json_error_t e;
    json_t *root = reported_json((const char *)f->payload, f->size, &e);

    if (json_is_object(root))
        return root;
    fault_set(why, ML_ERR_REFUSED, "its agent sent a malformed %s: %s", name,
              root ? "no object" : e.text);
    json_decref(root);
    return NULL;
}

/* Releases an object whose members are malformed; one that is NULL has been refused before. */
static int report_refuse(json_t *root, const char *name, struct fault *why)
{
    if (root)
        fault_set(why, ML_ERR_REFUSED, "its agent sent a malformed %s", name);
    json_decref(root);
    return ML_ERR_REFUSED;
}

static void text_copy(char *out, size_t size, const char *text)
{
    snprintf(out, size, "%s", text ? text : "");
}

int hello_report_parse(struct hello_report *out, const struct frame *f, struct fault *why)
{
    const char *build, *arch, *address = "", *guess = "";
    json_int_t pid = 0;
    json_t *root = report_load("HELLO", f, why);

    if (!root || json_unpack(root, "{s:s, s:s, s?s, s?s, s?I}", "build", &build, "arch", &arch,
                             "address", &address, "guess", &guess, "pid", &pid))
        return report_refuse(root, "HELLO", why);
    text_copy(out->build, sizeof(out->build), build);
    text_copy(out->arch, sizeof(out->arch), arch);
    text_copy(out->address, sizeof(out->address), address);
    text_copy(out->guess, sizeof(out->guess), guess);
    out->pid = pid;
    json_decref(root);
    return 0;
}

int refused_report_parse(struct refused_report *out, const struct frame *f, struct fault *why)
{
    const char *text;
    int status = STATUS_OURS;
    json_t *root = report_load("REFUSED", f, why);

    if (!root || json_unpack(root, "{s:s, s?i}", "text", &text, "status", &status))
        return report_refuse(root, "REFUSED", why);
    text_copy(out->text, sizeof(out->text), text);
    out->status = status > 0 && status < 256 ? status : STATUS_OURS;
    json_decref(root);
    return 0;
}

static int rank_check(int rank, int ranks, struct fault *why)
{
    return rank < 0 || rank >= ranks
               ? fault_set(why, ML_ERR_REFUSED, "its agent names rank %d of %d", rank, ranks)
               : 0;
}

int started_report_parse(struct started_report *out, const struct frame *f, int ranks,
                         struct fault *why)
{
    const char *binding = NULL;
    json_int_t pid;
    json_t *root = report_load("STARTED", f, why);
    int rc;

    if (!root ||
        json_unpack(root, "{s:i, s:I, s?s}", "rank", &out->rank, "pid", &pid, "binding", &binding))
        return report_refuse(root, "STARTED", why);
    out->pid = pid;
    out->binding = NULL;
    rc = rank_check(out->rank, ranks, why);
    if (!rc && pid <= 0)
        rc = fault_set(why, ML_ERR_REFUSED, "its agent sent a STARTED without a valid pid");
    if (!rc && binding)
        out->binding = strdup(binding);
    json_decref(root);
    return rc;
}

/* Sums over a job's ranks must not overflow. */
static bool usage_is_valid(json_int_t value)
{
    return value >= 0 && value < (json_int_t)1 << 50;
}

static int counted_parse(struct exited_report *out, json_t *counted, struct fault *why)
{
    json_int_t calls, bytes, wait, kept;

    if (!counted || json_is_null(counted))
        return 0;
    if (json_unpack(counted, "{s:I, s:I, s:I, s:I}", "calls", &calls, "bytes", &bytes, "wait_ms",
                    &wait, "kept_waiting", &kept) ||
        !usage_is_valid(calls) || !usage_is_valid(bytes) || !usage_is_valid(wait) ||
        !usage_is_valid(kept))
        return fault_set(why, ML_ERR_REFUSED,
                         "its agent sent an EXITED without valid counts of calls");
    out->has_counted = true;
    out->counted = (struct rank_counted){calls, bytes, wait, kept};
    return 0;
}

int exited_report_parse(struct exited_report *out, const struct frame *f, int ranks,
                        struct fault *why)
{
    int core = 0, consequence = 0, ended_by_us = 0;
    const char *error = NULL, *core_file = NULL, *lost = NULL, *message = NULL, *cause = NULL;
    json_int_t pid = 0, elapsed = 0, user = 0, system = 0, peak = 0;
    json_t *root = report_load("EXITED", f, why);
    int rc;

    memset(out, 0, sizeof(*out));
    out->status = -1;
    if (!root ||
        json_unpack(
            root,
            "{s:i, s?I, s?i, s?i, s?b, s?b, s?b, s?s, s?s, s?s, s?s, s?s, s?{s:I, s:I, s:I, s:I}}",
            "rank", &out->rank, "pid", &pid, "status", &out->status, "signal", &out->signal, "core",
            &core, "consequence", &consequence, "ended_by_us", &ended_by_us, "error", &error,
            "core_file", &core_file, "lost", &lost, "message", &message, "cause", &cause, "usage",
            "elapsed_ms", &elapsed, "user_ms", &user, "system_ms", &system, "peak_bytes", &peak))
        return report_refuse(root, "EXITED", why);
    rc = rank_check(out->rank, ranks, why);
    if (!rc && (out->signal < 0 || out->signal > 127 ||
                (!out->signal && (out->status < 0 || out->status > 255))))
        rc = fault_set(why, ML_ERR_REFUSED, "its agent sent an EXITED without a valid status");
    if (!rc && (!usage_is_valid(elapsed) || !usage_is_valid(user) || !usage_is_valid(system) ||
                !usage_is_valid(peak)))
        rc = fault_set(why, ML_ERR_REFUSED, "its agent sent an EXITED without a valid usage");
    if (!rc) {
        out->pid = pid;
        out->core = core;
        out->consequence = consequence;
        out->ended_by_us = ended_by_us;
        text_copy(out->error, sizeof(out->error), error);
        text_copy(out->core_file, sizeof(out->core_file), core_file);
        text_copy(out->lost, sizeof(out->lost), lost);
        text_copy(out->message, sizeof(out->message), message);
        text_copy(out->cause, sizeof(out->cause), cause);
        out->usage = (struct rank_usage){
            .elapsed_ms = elapsed, .user_ms = user, .system_ms = system, .peak_bytes = peak};
        rc = counted_parse(out, json_object_get(root, "counted"), why);
    }
    json_decref(root);
    return rc;
}

int aborted_report_parse(struct aborted_report *out, const struct frame *f, int ranks,
                         struct fault *why)
{
    const char *text = NULL;
    int fault = 0;
    json_t *root = report_load("ABORTED", f, why);

    if (!root || json_unpack(root, "{s:i, s:i, s?s, s?b}", "rank", &out->rank, "status",
                             &out->status, "why", &text, "fault", &fault))
        return report_refuse(root, "ABORTED", why);
    text_copy(out->why, sizeof(out->why), text);
    out->is_fault = fault;
    json_decref(root);
    return rank_check(out->rank, ranks, why);
}

static enum log_level level_parse(const json_t *level)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};

    if (json_is_integer(level)) {
        json_int_t n = json_integer_value(level);

        return n >= LOG_ERROR && n <= LOG_DEBUG ? (enum log_level)n : LOG_WARN;
    }
    for (int i = 0; json_is_string(level) && i <= LOG_DEBUG; i++) {
        if (strcmp(json_string_value(level), names[i]) == 0)
            return (enum log_level)i;
    }
    return LOG_WARN;
}

int note_report_parse(struct note_report *out, const struct frame *f, struct fault *why)
{
    const char *text;
    json_t *root = report_load("NOTE", f, why), *level = NULL;
    int names_host = 0, is_stall = 0;

    if (!root || json_unpack(root, "{s?o, s:s, s?b, s?b}", "level", &level, "text", &text,
                             "names_host", &names_host, "stall", &is_stall))
        return report_refuse(root, "NOTE", why);
    out->level = level_parse(level);
    text_copy(out->text, sizeof(out->text), text);
    out->names_host = names_host;
    out->is_stall = is_stall;
    json_decref(root);
    return 0;
}

int ready_report_parse(struct ready_report *out, const struct frame *f,
                       void (*on_warning)(const char *text, void *arg), void *arg,
                       struct fault *why)
{
    const char *coordinator = "", *keeper = "";
    json_t *root = report_load("READY", f, why), *warnings = NULL, *warning;
    int is_pmix = 0, needs_pmix = 0, taken = 0;
    size_t i;

    if (!root || json_unpack(root, "{s?s, s?s, s?o, s?b, s?b, s?i}", "coordinator", &coordinator,
                             "keeper", &keeper, "warnings", &warnings, "pmix", &is_pmix,
                             "needs_pmix", &needs_pmix, "ports_taken", &taken))
        return report_refuse(root, "READY", why);
    out->is_pmix = is_pmix;
    out->needs_pmix = needs_pmix;
    out->ports_taken = taken & ((1 << JOB_PORTS) - 1);
    text_copy(out->coordinator, sizeof(out->coordinator), coordinator);
    text_copy(out->keeper, sizeof(out->keeper), keeper);
    json_array_foreach(warnings, i, warning)
    {
        if (json_is_string(warning))
            on_warning(json_string_value(warning), arg);
    }
    json_decref(root);
    return 0;
}

int done_report_parse(struct done_report *out, const struct frame *f,
                      void (*on_survivor)(int64_t pid, const char *text, void *arg), void *arg,
                      struct fault *why)
{
    json_t *root = report_load("DONE", f, why), *survivor;
    size_t i;

    if (!root)
        return ML_ERR_REFUSED;
    if (json_unpack(root, "{s:{s:i, s:i, s:i}}", "crowded", "threads", &out->threads, "ranks",
                    &out->ranks, "processors", &out->processors))
        *out = (struct done_report){0};
    json_array_foreach(json_object_get(root, "survivors"), i, survivor)
    {
        const char *text = "";
        json_int_t pid = 0;

        if (!json_unpack(survivor, "{s:I, s?s}", "pid", &pid, "text", &text))
            on_survivor(pid, text, arg);
    }
    json_decref(root);
    return 0;
}

int want_report_parse(int *wanted, int *count, const struct frame *f, int files, struct fault *why)
{
    json_t *root = report_load("WANT", f, why), *list = json_object_get(root, "files"), *entry;
    int rc = 0, last = -1;
    size_t i;

    if (!json_is_array(list))
        return report_refuse(root, "WANT", why);
    *count = 0;
    json_array_foreach(list, i, entry)
    {
        json_int_t index = json_is_integer(entry) ? json_integer_value(entry) : -1;

        if (index <= last || index >= files) {
            rc = fault_set(why, ML_ERR_REFUSED, "its agent wants a file that does not exist");
            break;
        }
        last = wanted[(*count)++] = (int)index;
    }
    json_decref(root);
    return rc;
}

int place_report_parse(char directory[PATH_MAX], bool *is_kept, const struct frame *f,
                       struct fault *why)
{
    json_t *root = report_load("PLACE", f, why);
    const char *text = json_string_value(json_object_get(root, "directory"));
    const json_t *kept = json_object_get(root, "kept");

    if (!text || !json_is_boolean(kept) || text[0] != '/' || strlen(text) >= PATH_MAX)
        return report_refuse(root, "PLACE", why);
    snprintf(directory, PATH_MAX, "%s", text);
    *is_kept = json_is_true(kept);
    json_decref(root);
    return 0;
}

int lost_report_parse(struct lost_report *out, const struct frame *f, struct fault *why)
{
    const char *name = f->type == AGENT_KILLED  ? "KILLED"
                       : f->type == AGENT_ASKED ? "ASKED"
                                                : "LOST";
    const char *found, *coordinator = "";
    int leaving = 0, by_slurm = 0;
    json_t *root = report_load(name, f, why);

    if (!root || json_unpack(root, "{s:s, s?s, s?b, s?b}", "text", &found, "cut_off", &coordinator,
                             "leaving", &leaving, "by_slurm", &by_slurm))
        return report_refuse(root, name, why);
    text_copy(out->text, sizeof(out->text), found);
    text_copy(out->coordinator, sizeof(out->coordinator), coordinator);
    out->is_leaving = leaving;
    out->by_slurm = by_slurm;
    json_decref(root);
    return 0;
}

int unreached_report_parse(struct unreached_report *out, const struct frame *f, int ranks,
                           struct fault *why)
{
    json_t *root = report_load("UNREACHED", f, why);
    json_int_t generation, number;
    const char *text;

    if (!root ||
        json_unpack(root, "{s:i, s:i, s:I, s:I, s:s}", "rank", &out->rank, "peer", &out->peer,
                    "generation", &generation, "membership", &number, "text", &text) ||
        generation < 0 || number < 0 || out->rank < 0 || out->rank >= ranks || out->peer < 0 ||
        out->peer >= ranks)
        return report_refuse(root, "UNREACHED", why);
    out->of = (struct report_membership){generation, number};
    text_copy(out->text, sizeof(out->text), text);
    json_decref(root);
    return 0;
}

int alone_report_parse(struct alone_report *out, const struct frame *f, int ranks,
                       struct fault *why)
{
    json_t *root = report_load("ALONE", f, why);
    const char *text;

    if (!root || json_unpack(root, "{s:i, s:s}", "rank", &out->rank, "text", &text) ||
        out->rank < 0 || out->rank >= ranks)
        return report_refuse(root, "ALONE", why);
    text_copy(out->text, sizeof(out->text), text);
    json_decref(root);
    return 0;
}

int keeper_report_parse(struct keeper_report *out, const struct frame *f, struct fault *why)
{
    json_t *root = report_load("KEEPS", f, why);
    const char *address, *text;

    if (!root || json_unpack(root, "{s:s, s:s}", "keeper", &address, "text", &text) ||
        strlen(address) >= sizeof(out->address))
        return report_refuse(root, "KEEPS", why);
    text_copy(out->address, sizeof(out->address), address);
    text_copy(out->text, sizeof(out->text), text);
    json_decref(root);
    return 0;
}

int repaired_report_parse(struct repaired_report *out, const struct frame *f, int ranks,
                          struct fault *why)
{
    json_t *root = report_load("REPAIRED", f, why), *list;
    json_int_t generation, number;
    bool ascend = true;

    if (!root ||
        json_unpack(root, "{s:I, s:I, s:i, s:o}", "generation", &generation, "membership", &number,
                    "count", &out->count, "members", &list) ||
        generation < 0 || number < 1 || out->count < 1 || out->count > ranks ||
        host_table_read_numbers(&out->members, list, out->count, ranks))
        return report_refuse(root, "REPAIRED", why);
    for (int i = 1; i < out->count; i++)
        ascend &= out->members[i] > out->members[i - 1];
    if (!ascend) {
        free(out->members);
        return report_refuse(root, "REPAIRED", why);
    }
    out->now = (struct report_membership){generation, number};
    json_decref(root);
    return 0;
}

int coordinates_report_parse(char *out, size_t size, const struct frame *f, struct fault *why)
{
    json_t *root = report_load("COORDINATES", f, why);
    const char *address;

    if (!root || json_unpack(root, "{s:s}", "coordinator", &address) || !*address ||
        strlen(address) >= size)
        return report_refuse(root, "COORDINATES", why);
    text_copy(out, size, address);
    json_decref(root);
    return 0;
}
