/* SPDX-License-Identifier: MIT */
#include "launcher/tools/verify/pair_run.h"

#include "common/status.h"
#include "common/text/object_field.h"
#include "common/text/parsed_json.h"
#include "launcher/base/process/install_path.h"
#include "launcher/base/text/string_list.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OUTPUT_MOST = 64 << 10 };

/* The options by which verify itself has found the hosts, but not --hosts. */
static int options_add(struct string_list *l, char *const *passed, struct fault *why)
{
    int rc = 0;

    for (; passed && *passed && !rc; passed++) {
        if (strcmp(*passed, "-H") == 0 || strcmp(*passed, "--hosts") == 0)
            passed++; /* its value */
        else if (strncmp(*passed, "-H", 2) != 0 && strncmp(*passed, "--hosts=", 8) != 0)
            rc = string_list_add(l, *passed, why);
    }
    return rc;
}

static int hosts_add(struct string_list *l, const struct host *a, const struct host *b,
                     struct fault *why)
{
    char *text = NULL;
    int rc = string_format(&text, why, "%s%s%s,%s%s%s", a->user ? a->user : "", a->user ? "@" : "",
                           a->name, b->user ? b->user : "", b->user ? "@" : "", b->name);

    if (!rc)
        rc = string_list_add(l, "--hosts", why);
    if (!rc)
        rc = string_list_add(l, text, why);
    free(text);
    return rc;
}

static int words_make(struct string_list *l, const struct pair_run *r,
                      const struct query_command *c, struct fault *why)
{
    char sizes[32];
    const char *const words[] = {"mlaunch", "bench",     "link",       "--json",    "--ppn",
                                 "1",       "--timeout", "30",         "--backend", r->backend,
                                 "--sizes", sizes,       "--duration", "0.05"};
    int rc = 0;

    snprintf(sizes, sizeof(sizes), "8,%s", r->bytes);
    for (size_t i = 0; i < sizeof(words) / sizeof(*words) && !rc; i++)
        rc = string_list_add(l, words[i], why);
    if (!rc)
        rc = options_add(l, c->line.borrowed.items, why);
    if (!rc)
        rc = hosts_add(l, &c->hosts->hosts[r->a], &c->hosts->hosts[r->b], why);
    return rc;
}

/* In the child. It ends with this process, whatever ends that. */
static void child_become(const struct pair_run *r, const char *program, char **words)
{
    int null = open("/dev/null", O_RDONLY);

    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(r->out, STDOUT_FILENO) >= 0 &&
        dup2(r->err, STDERR_FILENO) >= 0)
        execv(program, words);
    _exit(STATUS_NOT_EXECUTABLE);
}

static int run_begin(struct pair_run *r, const struct query_command *c, struct fault *why)
{
    struct string_list l = {0};
    char program[PATH_MAX];
    int rc = words_make(&l, r, c, why);

    r->out = memfd_create("out", MFD_CLOEXEC);
    r->err = memfd_create("err", MFD_CLOEXEC);
    if (!rc && (r->out < 0 || r->err < 0))
        rc = fault_os(why, ML_ERR_SYSTEM, errno, "cannot run mlaunch bench");
    if (!rc)
        rc = install_path_find(program, INSTALL_MLAUNCH, why);
    if (!rc) {
        fflush(stdout);
        r->pid = fork();
        if (r->pid == 0)
            child_become(r, program, l.items);
        if (r->pid < 0)
            rc = fault_os(why, ML_ERR_SYSTEM, errno, "cannot run mlaunch bench");
    }
    string_list_clear(&l);
    return rc;
}

static size_t output_read(int fd, char text[OUTPUT_MOST])
{
    ssize_t n = fd >= 0 ? pread(fd, text, OUTPUT_MOST - 1, 0) : 0;

    text[n > 0 ? n : 0] = '\0';
    return n > 0 ? (size_t)n : 0;
}

/* Whether the line is mlaunch's, and more than a warning or the heading of a table. */
static bool is_verdict(const char *line)
{
    static const char name[] = "mlaunch: ", warning[] = "warning: ";
    size_t length = strcspn(line, "\n");

    return strncmp(line, name, strlen(name)) == 0 && line[length - 1] != ':' &&
           strncmp(line + strlen(name), warning, strlen(warning)) != 0;
}

/* The first line that says "error:"; or else the first verdict, since warnings of ranks that have
 * waited for long, and a table of where the ranks are, may come before it; or else the first line.
 * Without what precedes the sentence. */
static void error_keep(struct pair_run *r, char *text)
{
    static const char mark[] = "error: ", name[] = "mlaunch: ";
    char *at = strstr(text, mark);

    if (at) {
        at += strlen(mark);
    } else {
        at = text;
        while (*at && !is_verdict(at))
            at += strcspn(at, "\n") + (strchr(at, '\n') != NULL);
        if (!*at)
            at = text;
        at += strncmp(at, name, strlen(name)) == 0 ? strlen(name) : 0;
    }
    at[strcspn(at, "\n")] = '\0';
    snprintf(r->error, sizeof(r->error), "%.255s", *at ? at : "it has printed nothing");
}

/* The row's rail; a new one if there is none yet. NULL: there are too many. */
static struct pair_rail *rail_find(struct pair_run *r, json_t *row)
{
    const json_t *number = json_object_get(row, "rail");
    int rail = json_is_integer(number) ? (int)json_integer_value(number) : -1;

    for (int i = 0; i < r->count; i++)
        if (r->rails[i].rail == rail)
            return &r->rails[i];
    if (r->count == RDMA_RAILS + 1)
        return NULL;
    r->rails[r->count] = (struct pair_rail){.rail = rail};
    snprintf(r->rails[r->count].ports[0], PAIR_PORT, "%s", object_field_text(row, "from_port"));
    snprintf(r->rails[r->count].ports[1], PAIR_PORT, "%s", object_field_text(row, "to_port"));
    return &r->rails[r->count++];
}

static void row_keep(struct pair_run *r, json_t *row)
{
    json_t *latency = json_object_get(row, "latency_us");
    struct pair_rail *rail = rail_find(r, row);

    r->errors += object_field_whole(row, "errors");
    if (!rail)
        return;
    if (rail->us <= 0) { /* the short one comes first */
        rail->us = object_field_number(latency, "typical");
        rail->p99_us = object_field_number(latency, "p99");
        return;
    }
    rail->there = object_field_number(json_object_get(row, "there_GBps"), "typical");
    rail->back = object_field_number(json_object_get(row, "back_GBps"), "typical");
    rail->both = object_field_number(json_object_get(row, "both_GBps"), "typical");
}

/* True if the rows were all there and make sense: they come from another machine. */
static bool rails_check(struct pair_run *r)
{
    /* With several rails, each is judged by itself, and not all together. */
    if (r->count > 1 && r->rails[0].rail < 0)
        memmove(r->rails, r->rails + 1, (size_t)--r->count * sizeof(*r->rails));
    for (int i = 0; i < r->count; i++) {
        const struct pair_rail *rail = &r->rails[i];

        if (!(rail->us > 0 && rail->p99_us > 0 && rail->there > 0 && rail->back > 0))
            return false;
    }
    return r->count > 0;
}

static void run_conclude(struct pair_run *r)
{
    char *text = malloc(OUTPUT_MOST);
    size_t size = text ? output_read(r->out, text) : 0, i;
    json_t *root = size ? parsed_json(text, size, 0, NULL) : NULL, *row;

    r->count = 0;
    r->errors = 0;
    r->error[0] = '\0';
    json_array_foreach(json_object_get(root, "results"), i, row)
    {
        row_keep(r, row);
    }
    if (!rails_check(r)) {
        r->count = 0;
        if (text)
            output_read(r->err, text);
        error_keep(r, text ? text : (char[]){""});
    }
    json_decref(root);
    free(text);
}

int pair_run_all(struct pair_run *runs, size_t count, const struct query_command *c,
                 struct fault *why)
{
    int rc = 0;

    for (size_t i = 0; i < count; i++) {
        runs[i].pid = 0;
        runs[i].out = runs[i].err = -1;
    }
    for (size_t i = 0; i < count && !rc; i++)
        rc = run_begin(&runs[i], c, why);
    for (size_t i = 0; i < count; i++) {
        if (runs[i].pid > 0) {
            while (waitpid(runs[i].pid, NULL, 0) < 0 && errno == EINTR)
                ;
            run_conclude(&runs[i]);
        }
        if (runs[i].out >= 0)
            close(runs[i].out);
        if (runs[i].err >= 0)
            close(runs[i].err);
    }
    return rc;
}
