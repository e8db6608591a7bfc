/* SPDX-License-Identifier: MIT */
#include "launcher/tools/sync/sync_report.h"

#include "common/log.h"
#include "common/status.h"
#include "common/text/number.h"
#include "common/text/printable.h"
#include "common/text/text_json.h"
#include "launcher/base/tree/git_state.h"
#include "launcher/base/tree/sync_wire.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN = PATH_MAX + TREE_PATH_MOST };

/* Their words as they follow "/a/b: ", and as JSON has them. */
static const struct {
    uint8_t bit;
    const char *words, *name;
} differences[] = {
    {SYNC_IS_MISSING, "missing", "missing"},
    {SYNC_HAS_OTHER_KIND, "another kind of file", "kind"},
    {SYNC_HAS_OTHER_SIZE, "other size", "size"},
    {SYNC_HAS_OTHER_CONTENTS, "other contents", "contents"},
    {SYNC_HAS_OTHER_TIME, "other time", "time"},
    {SYNC_HAS_OTHER_MODE, "other mode", "mode"},
    {SYNC_IS_EXTRA, "not here", "extra"},
};
enum { DIFFERENCES = sizeof(differences) / sizeof(*differences) };

static void difference_print(const char *path, uint8_t bits, void *host)
{
    const char *comma = "";

    char shown[SHOWN];

    /* A name may hold a newline, and must not begin a line of ours. */
    snprintf(shown, sizeof(shown), "%s", path);
    printable_mend(shown, "");
    printable_print("host %s: %s: ", (const char *)host, shown);
    for (int i = 0; i < DIFFERENCES; i++)
        if (bits & differences[i].bit) {
            printf("%s%s", comma, differences[i].words);
            comma = ", ";
        }
    putchar('\n');
}

static void difference_add(const char *path, uint8_t bits, void *all)
{
    json_t *what = json_array();

    for (int i = 0; i < DIFFERENCES; i++)
        if (bits & differences[i].bit)
            json_array_append_new(what, json_string(differences[i].name));
    json_array_append_new(all, json_pack("{so so}", "path", text_json(path), "what", what));
}

static void differences_each(const struct sync_outcome *o, const struct sync_host *h,
                             void (*on_difference)(const char *path, uint8_t bits, void *arg),
                             void *arg)
{
    char path[SHOWN];

    for (uint32_t i = 0; i < o->source->list.count; i++) {
        const struct tree_entry *e = &o->source->list.entries[i];

        if (!h->differs[i])
            continue;
        sync_source_show(o->source, e->root, e->path, true, path, sizeof(path));
        on_difference(path, h->differs[i], arg);
    }
    for (size_t i = 0; i < h->extra_count; i++) {
        sync_source_show(o->source, h->extras[i].path, h->extras[i].below, true, path,
                         sizeof(path));
        on_difference(path, SYNC_IS_EXTRA, arg);
    }
}

/* Compares what git says there with what it says here; stores a sentence, or "". */
static void git_compare(const struct git_state *here, const json_t *there, char *text, size_t size)
{
    const char *commit = "", *change = "", *error = "";
    json_int_t changes = 0;

    text[0] = '\0';
    if (json_unpack((json_t *)(uintptr_t)there, "{ss sI ss ss}", "commit", &commit, "changes",
                    &changes, "change", &change, "error", &error))
        snprintf(text, size, "its agent sent a malformed report");
    else if (error[0])
        snprintf(text, size, "%s", error);
    else if (strcmp(commit, here->commit) != 0)
        snprintf(text, size, "is at commit %.12s, not %.12s", commit, here->commit);
    else if (changes > 0)
        snprintf(text, size, "%d file%s from the commit:%s%s", (int)changes,
                 changes == 1 ? " differs" : "s differ", change[0] == ' ' ? "" : " ", change);
    printable_mend(text, "");
}

/* Whether the working tree here is one that the others can be compared with. */
static bool git_here_is_good(const struct sync_outcome *o, int path, struct git_state *here)
{
    const struct sync_path *p = &o->source->paths[path];

    git_state_read(here, p->directory, p->name);
    printable_mend(here->error, "");
    printable_mend(here->change, "");
    if (here->error[0])
        log_error("%s/%s: %s", p->directory, p->name, here->error);
    else if (here->changes > 0)
        log_error("%s/%s: here %d file%s from the commit: %s", p->directory, p->name,
                  (int)here->changes, here->changes == 1 ? " differs" : "s differ", here->change);
    return !here->error[0] && here->changes == 0;
}

/* Prints what differs, or fills `all` if that is not NULL. Returns whether nothing does. */
static bool git_report(const struct sync_outcome *o, json_t *all)
{
    bool is_same = true;
    char path[SHOWN], text[512];

    for (int p = 0; p < o->source->count; p++) {
        struct git_state here;

        is_same &= git_here_is_good(o, p, &here);
        sync_source_show(o->source, p, o->source->paths[p].name, true, path, sizeof(path));
        for (int i = 0; i < o->count; i++) {
            const struct sync_host *h = &o->hosts[i];

            if (h->state == SYNC_HOST_LOST)
                continue;
            git_compare(&here, json_array_get(h->git, (size_t)p), text, sizeof(text));
            is_same &= !text[0];
            if (all)
                json_array_append_new(all, json_pack("{ss so so sb}", "host", h->host->name, "path",
                                                     text_json(path), "error", text_json(text),
                                                     "same", !text[0]));
            else if (text[0])
                printable_print("host %s: %s: %s\n", h->host->name, path, text);
        }
        if (!all && is_same && !o->is_quiet)
            printable_print("%s: commit %.12s, clean, on all hosts\n", path, here.commit);
    }
    return is_same;
}

static const char *host_state(const struct sync_outcome *o, const struct sync_host *h)
{
    if (h->state == SYNC_HOST_LOST)
        return "lost";
    if (h->failed)
        return "failed";
    return o->purpose != SYNC_COPIES && h->differing ? "differs" : "equal";
}

static json_t *host_json(const struct sync_outcome *o, const struct sync_host *h)
{
    json_t *one = json_pack("{ss ss}", "host", h->host->name, "state", host_state(o, h)), *all;

    if (h->state == SYNC_HOST_LOST) {
        json_object_set_new(one, "error", text_json(h->lost));
        return one;
    }
    json_object_set(one, "errors", h->failures);
    json_object_set_new(one, "failed", json_integer((json_int_t)h->failed));
    if (o->purpose != SYNC_COPIES) {
        all = json_array();
        differences_each(o, h, difference_add, all);
        json_object_set_new(one, "differences", all);
        return one;
    }
    json_object_set_new(one, "files", json_integer((json_int_t)h->files));
    json_object_set_new(one, "bytes", json_integer((json_int_t)h->bytes));
    json_object_set_new(one, "deleted", json_integer((json_int_t)h->deleted));
    return one;
}

static void report_print_json(const struct sync_outcome *o, bool *is_same)
{
    json_t *hosts = json_array();

    if (o->is_git) {
        *is_same = git_report(o, hosts);
    } else {
        for (int i = 0; i < o->count; i++)
            json_array_append_new(hosts, host_json(o, &o->hosts[i]));
    }
    text_json_print(json_pack("{sI sI sf so}", "entries", (json_int_t)o->source->list.count,
                              "bytes", (json_int_t)o->source->bytes, "seconds",
                              (double)o->ms / 1000, "hosts", hosts));
}

/* "3 files, 1.0 GB, to 4 hosts in 5.2 s (206.5 MB/s)" */
static void summary_print(const struct sync_outcome *o, int equal)
{
    char size[32], rate[32];
    uint64_t files = 0, bytes = 0, deleted = 0;

    for (int i = 0; i < o->count; i++) {
        const struct sync_host *h = &o->hosts[i];

        files = h->files > files ? h->files : files;
        bytes = h->bytes > bytes ? h->bytes : bytes;
        deleted += h->deleted;
    }
    if (o->count == 0) {
        puts("the only host is this machine, which has these files; name others with -H or "
             "--hostfile");
        return;
    }
    if (files == 0 && deleted == 0 && equal == o->count) {
        printf("%d host%s already equal\n", o->count, o->count == 1 ? " is" : "s are");
        return;
    }
    printf("%llu file%s, %s, to %d of %d hosts in %.1f s (%s/s)", (unsigned long long)files,
           files == 1 ? "" : "s", number_size(size, bytes), equal, o->count, (double)o->ms / 1000,
           number_size(rate, o->ms > 0 ? bytes * 1000 / (uint64_t)o->ms : bytes));
    if (deleted)
        printf(", %llu deleted", (unsigned long long)deleted);
    putchar('\n');
}

int sync_report_print(const struct sync_outcome *o, bool is_json)
{
    bool is_same = true, is_bad = o->lost > 0;
    int equal = 0;

    for (int i = 0; i < o->count; i++) {
        const struct sync_host *h = &o->hosts[i];

        is_bad |= h->state == SYNC_HOST_LOST || h->failed;
        is_same &= h->differing == 0;
        equal += h->state != SYNC_HOST_LOST && !h->failed;
        if (h->failed > json_array_size(h->failures))
            log_error("host %s: %llu files could not be copied there, of which %d are named",
                      h->host->name, (unsigned long long)h->failed,
                      (int)json_array_size(h->failures));
        if (!is_json && o->purpose != SYNC_COPIES && !o->is_git && h->state != SYNC_HOST_LOST)
            differences_each(o, h, difference_print, h->host->name);
    }
    if (is_json)
        report_print_json(o, &is_same);
    else if (o->is_git)
        is_same = git_report(o, NULL);
    else if (o->purpose == SYNC_COPIES && !o->is_quiet)
        summary_print(o, equal);
    else if (!o->is_quiet && is_same && !is_bad)
        printf("%d host%s equal\n", o->count, o->count == 1 ? " is" : "s are");
    return is_bad || (o->purpose == SYNC_CHECKS && !is_same) ? 1 : 0;
}
