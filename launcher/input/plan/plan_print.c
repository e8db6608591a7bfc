/* SPDX-License-Identifier: MIT */
/* plan_print.c: prints the plan for mlaunch --dry-run. */
#include "common/text/argument_words.h"
#include "common/text/printable.h"
#include "launcher/base/text/command_words.h"
#include "launcher/input/plan/plan.h"
#include "launcher/input/plan/plan_binding.h"
#include "launcher/input/plan/plan_debug.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Prints a word as a shell reads it, without characters that could control a terminal. */
static void print_word(const char *word)
{
    char *copy = strdup(word);

    if (copy)
        printable_mend(copy, "");
    command_words_quote(stdout, copy ? copy : "");
    free(copy);
}

static void print_words(const char *label, char *const *words)
{
    if (!words || !*words)
        return;
    fputs(label, stdout);
    for (; *words; words++) {
        putchar(' ');
        print_word(*words);
    }
    putchar('\n');
}

static void print_variables(const char *label, char *const *env)
{
    for (; env && *env; env++) {
        fputs(label, stdout);
        print_word(*env);
        putchar('\n');
    }
}

static void print_app(const struct plan *p, int index)
{
    const struct app *a = &p->apps[index];

    printable_print("program %d: %d rank%s:", index, a->ranks, a->ranks == 1 ? "" : "s");
    print_words("", a->argv);
    if (a->words) {
        fputs("    filled in for each rank:", stdout);
        for (int i = 0; i < ARGUMENT_WORDS; i++)
            if (a->words >> i & 1)
                printf(" %s", argument_word_names[i]);
        putchar('\n');
    }
    printable_print("    directory %s%s\n",
                    a->cwd    ? a->cwd
                    : *p->cwd ? p->cwd
                              : "home",
                    a->cwd || !*p->cwd ? "" : ", where it exists; else home");
    if (a->file >= 0)
        printable_print("    copied from %s (%llu bytes) to each host that is not this machine\n",
                        p->files.files[a->file].path,
                        (unsigned long long)p->files.files[a->file].size);
    for (int i = 0; i < p->files.count && a->file >= 0; i++)
        if (p->files.files[i].beside == a->file)
            printable_print("    with %s (%llu bytes) to each of them that lacks %s\n",
                            p->files.files[i].path, (unsigned long long)p->files.files[i].size,
                            p->files.files[i].name);
    print_variables("    environment ", a->env);
}

/* Prints the host's row of the wiring, towards the hosts in use and the spare ones. */
static void print_wiring(const struct plan *p, const struct host *h)
{
    for (int i = 0; i < p->where->host_count + p->where->spare_count; i++) {
        int to = p->where->hosts[i];

        if (host_list_has_wire(h, to)) {
            printable_print("    RDMA towards %s:", p->list->hosts[to].name);
            print_words("", h->rdma[to]);
        }
    }
}

/* "0-3, 8, 12-15" */
static void print_ranks(const struct plan *p, int host)
{
    const char *comma = " ";

    for (int r = 0; r < p->where->size; r++) {
        int first = r;

        if (p->where->ranks[r].host != host)
            continue;
        while (r + 1 < p->where->size && p->where->ranks[r + 1].host == host)
            r++;
        printable_print(first == r ? "%s%d" : "%s%d-%d", comma, first, r);
        comma = ", ";
    }
}

static void print_host(const struct plan *p, int index)
{
    const struct host *h = plan_host(p, index);
    bool is_spare = index >= p->where->host_count;

    if (is_spare)
        printable_print("spare host: %s", h->name);
    else
        printable_print("host %d: %s", index, h->name);
    printable_print(" (%s", host_list_launch_method(h->launch_method));
    if (h->user)
        printable_print(", user %s", h->user);
    if (h->port)
        printable_print(", port %d", h->port);
    if (h->slots)
        printable_print(", %d slot%s", h->slots, h->slots == 1 ? "" : "s");
    printable_print(is_spare ? ")" : "): ranks");
    print_ranks(p, index);
    putchar('\n');
    print_words("    addresses", h->ips);
    if (h->cwd)
        printable_print("    directory %s\n", h->cwd);
    print_variables("    environment ", h->env);
    print_wiring(p, h);
}

static const char *stdin_name(const struct plan *p, char text[32])
{
    snprintf(text, 32, "rank %d", p->job.stdin_rank);
    return p->job.stdin_mode == STDIN_NONE  ? "none"
           : p->job.stdin_mode == STDIN_ALL ? "all ranks"
                                            : text;
}

/* Prints what the user has chosen, and what is left open until the hosts are reached. */
static void print_rdma(const struct plan *p)
{
    bool is_stated = false;
    static const char *const kinds[] = {[RDMA_PAIRS_OFFERED] = "RC where it is offered, else UC",
                                        [RDMA_PAIRS_RC] = "RC",
                                        [RDMA_PAIRS_UC] = "UC"};
    char port[16], gid[16], mtu[16];

    for (int i = 0; i < p->where->host_count; i++)
        is_stated |= plan_host(p, i)->rdma != NULL;
    snprintf(port, sizeof(port), "%d", p->job.rdma.port);
    snprintf(gid, sizeof(gid), "%d", p->job.rdma.gid_index);
    snprintf(mtu, sizeof(mtu), "%d", p->job.rdma.mtu);
    printable_print("RDMA: devices: %s; port: %s; GID index: %s; MTU: %s; queue pairs: %s\n",
                    p->options->rdma_device ? p->options->rdma_device
                    : is_stated             ? "as the hostfile says"
                                            : "found at the start",
                    p->job.rdma.port ? port : "what fits each pair best",
                    p->job.rdma.gid_index >= 0 ? gid : "what fits each pair best",
                    p->job.rdma.mtu ? mtu : "the smaller of both ports'", kinds[p->job.rdma.qp]);
}

static void print_job(const struct plan *p)
{
    char text[32];

    printable_print("job: %d rank%s on %d host%s (%s)\n", p->where->size,
                    p->where->size == 1 ? "" : "s", p->where->host_count,
                    p->where->host_count == 1 ? "" : "s", p->list->source);
    printable_print("backend: %s%s%s%s%s%s\n", p->backend,
                    p->job.local_net ? ", also inside a host" : "",
                    p->job.secure ? ", encrypted" : "", p->backend_reason ? " (" : "",
                    p->backend_reason ? p->backend_reason : "", p->backend_reason ? ")" : "");
    printable_print("MPI programs: %s\n", plan_mpi_text(p, false));
    if (strcmp(p->backend, "rdma") == 0)
        print_rdma(p);
    printable_print("stdin: %s; output: %s%s%s\n", stdin_name(p, text),
                    p->output == OUTPUT_LABEL  ? "label"
                    : p->output == OUTPUT_RAW  ? "raw"
                    : p->output == OUTPUT_FOLD ? "fold"
                                               : p->options->output,
                    p->options->timestamp ? ", with the time" : "",
                    p->job.compat ? "" : "; no variables of other launchers");
    if (p->options->pty)
        printable_print("terminal: rank %d\n", p->options->pty_rank);
    printable_print("grace: %d.%03d s; init timeout: %d s; timeout: ", p->job.grace_ms / 1000,
                    p->job.grace_ms % 1000, p->job.init_timeout_ms / 1000);
    printable_print(p->options->timeout_ms ? "%d s\n" : "none\n", p->options->timeout_ms / 1000);
    printable_print("on failure: %s; restarts: %d\n",
                    p->options->on_failure == FAILURE_CONTINUE ? "continue" : "stop",
                    p->job.restarts);
    plan_binding_print(p);
    if (p->job.name)
        printable_print("name: %s\n", p->job.name);
    if (p->job.prolog)
        printable_print("prolog: %s\n", p->job.prolog);
    if (p->job.epilog)
        printable_print("epilog: %s\n", p->job.epilog);
    if (p->stage_env)
        printable_print("each host gets a copy of: %s\n", p->stage_env);
    if (p->options->stage_cache)
        printable_print("which is kept there in: %s\n", p->options->stage_cache);
    if (p->job.mount)
        printable_print("mount: %s\n", p->job.mount);
    if (p->job.container)
        printable_print("container: %s\n", p->job.container);
    if (p->job.port)
        printable_print("ports: coordinator %d", p->job.port);
    if (p->job.port && p->job.starting_port)
        printable_print(", ranks %d-%d", p->job.starting_port + 1,
                        p->job.starting_port + p->where->size);
    if (p->job.port)
        putchar('\n');
}

void plan_print(const struct plan *p)
{
    print_job(p);
    for (int i = 0; i < p->app_count; i++)
        print_app(p, i);
    for (int i = 0; i < p->where->host_count + p->where->spare_count; i++)
        print_host(p, i);
    for (int r = 0; r < p->where->size; r++)
        printable_print("rank %d: host %s, local rank %d, program %d\n", r,
                        plan_host(p, p->where->ranks[r].host)->name, p->where->ranks[r].local_rank,
                        p->where->ranks[r].app);
    plan_debug_print(p);
}
