/* SPDX-License-Identifier: MIT */
#include "launcher/input/plan/plan_debug.h"

#include "common/text/printable.h"
#include "launcher/base/process/mpir.h"
#include "launcher/base/text/command_words.h"
#include "launcher/base/text/program_path.h"
#include "launcher/base/text/string_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The server listens on the host's loopback address alone, on a free port that it prints. */
static const char server[] = "gdbserver --once localhost:0";

/* Gives its ranks the last of the wraps. */
static int wrap_apply(struct plan *p, const char *option, struct fault *why)
{
    const struct rank_wrap *w = &p->wraps[p->wrap_count - 1];

    if (rank_set_check(&w->ranks, p->where->size, why))
        return fault_wrap(why, "%s", option);
    for (int r = 0; r < p->where->size; r++) {
        if (!rank_set_has(&w->ranks, r))
            continue;
        if (p->where->ranks[r].wrap)
            return fault_set(why, ML_ERR_ARGUMENT,
                             "%s: rank %d has been named before: one --wrap or --gdb is for a rank",
                             option, r);
        p->where->ranks[r].wrap = w;
    }
    return 0;
}

static int wraps_settle(struct plan *p, const struct options *o, struct fault *why)
{
    for (size_t i = 0; i < o->wraps.count; i++) {
        if (rank_wrap_parse(&p->wraps[p->wrap_count], o->wraps.items[i], why))
            return fault_wrap(why, "--wrap");
        p->wrap_count++;
        if (wrap_apply(p, "--wrap", why))
            return why->code;
    }
    return 0;
}

static bool has_tmux(void)
{
    char *path = NULL;
    bool is_there = program_path_find(&path, "tmux", NULL) == 0;

    free(path);
    return is_there;
}

/* With a terminal and tmux a window for each rank, which waits stopped for its debugger. Otherwise
 * a gdbserver for each. */
static int gdb_settle(struct plan *p, const struct options *o, struct fault *why)
{
    struct rank_wrap *w = &p->wraps[p->wrap_count];

    if (!o->gdb)
        return 0;
    p->gdb = isatty(STDIN_FILENO) && isatty(STDERR_FILENO) && !o->detach && has_tmux() ? GDB_WINDOWS
                                                                                       : GDB_SERVER;
    if (rank_set_parse(&p->gdb_ranks, o->gdb, strlen(o->gdb), why) ||
        rank_set_check(&p->gdb_ranks, p->where->size, why))
        return fault_wrap(why, "--gdb");
    if (p->gdb == GDB_SERVER) {
        char text[sizeof(server) + 8];

        snprintf(text, sizeof(text), "all:%s", server);
        if (rank_wrap_parse(w, text, why))
            return why->code;
        w->ranks = p->gdb_ranks;
        p->wrap_count++;
        return wrap_apply(p, "--gdb", why);
    }
    for (int r = 0; r < p->where->size; r++) {
        if (rank_set_has(&p->gdb_ranks, r) && p->where->ranks[r].wrap)
            return fault_set(why, ML_ERR_ARGUMENT,
                             "--gdb: rank %d has a --wrap: one of the two is for a rank", r);
        p->where->ranks[r].is_held = rank_set_has(&p->gdb_ranks, r);
    }
    return 0;
}

static bool has_host(const struct plan *p, const char *name)
{
    for (int i = 0; i < p->where->host_count + p->where->spare_count; i++) {
        if (strcmp(plan_host(p, i)->name, name) == 0)
            return true;
    }
    return false;
}

static int chaos_settle(struct plan *p, const struct options *o, struct fault *why)
{
    if (!o->chaos)
        return 0;
    p->chaos = calloc(1, sizeof(*p->chaos));
    if (!p->chaos)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (chaos_plan_parse(p->chaos, o->chaos, why))
        return fault_wrap(why, "--chaos");
    for (int i = 0; i < p->chaos->count; i++) {
        const struct chaos_action *a = &p->chaos->actions[i];

        if (a->kind != CHAOS_CUT && rank_set_check(&a->ranks, p->where->size, why))
            return fault_wrap(why, "--chaos");
        if (a->kind == CHAOS_CUT && !has_host(p, a->host))
            return fault_set(why, ML_ERR_ARGUMENT,
                             "--chaos: host %s is not one of the job's (%s, as --dry-run shows)",
                             a->host, p->list->source);
    }
    return 0;
}

int plan_debug_settle(struct plan *p, const struct options *o, struct fault *why)
{
    int rc;

    p->wraps = calloc(o->wraps.count + 1, sizeof(*p->wraps)); /* one for --gdb */
    if (!p->wraps)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    rc = wraps_settle(p, o, why);
    if (!rc)
        rc = gdb_settle(p, o, why);
    if (!rc)
        rc = chaos_settle(p, o, why);
    for (int r = 0; !rc && mpir_is_debugged() && r < p->where->size; r++)
        p->where->ranks[r].is_held = true;
    return rc;
}

void plan_debug_print(const struct plan *p)
{
    for (int r = 0; r < p->where->size; r++) {
        if (p->where->ranks[r].wrap) {
            printable_print("rank %d runs under:", r);
            for (char **word = p->where->ranks[r].wrap->words; *word; word++) {
                putchar(' ');
                command_words_quote(stdout, *word);
            }
            putchar('\n');
        } else if (p->where->ranks[r].is_held) {
            printable_print("rank %d waits for its debugger\n", r);
        }
    }
    if (p->chaos)
        printable_print("chaos: %d action%s\n", p->chaos->count, p->chaos->count == 1 ? "" : "s");
}
