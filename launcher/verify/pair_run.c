/* SPDX-License-Identifier: MIT */
#include "launcher/verify/pair_run.h"

#include "common/status.h"
#include "common/text/parsed_json.h"
#include "launcher/query/query_field.h"
#include "launcher/text/string_list.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OUTPUT_MOST = 64 << 10 };

static const char myself[] = "/proc/self/exe";

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
                      const struct query_command *c, const char *const *words, struct fault *why)
{
    static const char *const first[] = {"mlaunch", "bench", "--json",    "-n", "2",
                                        "--ppn",   "1",     "--timeout", "30"};
    int rc = 0;

    for (size_t i = 0; i < sizeof(first) / sizeof(*first) && !rc; i++)
        rc = string_list_add(l, first[i], why);
    for (; *words && !rc; words++)
        rc = string_list_add(l, *words, why);
    if (!rc)
        rc = options_add(l, c->passed, why);
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

static int run_begin(struct pair_run *r, const struct query_command *c, const char *const *words,
                     struct fault *why)
{
    struct string_list l = {0};
    char program[PATH_MAX] = "";
    int rc = words_make(&l, r, c, words, why);

    r->out = memfd_create("out", MFD_CLOEXEC);
    r->err = memfd_create("err", MFD_CLOEXEC);
    if (!rc && (r->out < 0 || r->err < 0 || readlink(myself, program, sizeof(program) - 1) < 0))
        rc = fault_os(why, ML_ERR_SYSTEM, errno, "cannot run mlaunch bench");
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

/* The first line that says "error:", or else the first one, without what stands before the
 * sentence. */
static void error_keep(struct pair_run *r, char *text)
{
    static const char mark[] = "error: ", name[] = "mlaunch: ";
    char *at = strstr(text, mark);

    if (at)
        at += strlen(mark);
    else
        at = text + (strncmp(text, name, strlen(name)) == 0 ? strlen(name) : 0);
    at[strcspn(at, "\n")] = '\0';
    snprintf(r->error, sizeof(r->error), "%.255s", *at ? at : "it has printed nothing");
}

static void run_conclude(struct pair_run *r)
{
    char *text = malloc(OUTPUT_MOST);
    size_t size = text ? output_read(r->out, text) : 0;
    json_t *root = size ? parsed_json(text, size, 0, NULL) : NULL;
    json_t *result = json_array_get(json_object_get(root, "results"), 0);

    r->us = query_field_number(result, "time_us_med");
    r->gigabytes = query_field_number(result, "algbw_GBps");
    snprintf(r->backend, sizeof(r->backend), "%.7s", query_field_text(root, "backend"));
    r->error[0] = '\0';
    if (!(r->us > 0)) {
        if (text)
            output_read(r->err, text);
        error_keep(r, text ? text : (char[]){""});
    }
    json_decref(root);
    free(text);
}

int pair_run_all(struct pair_run *runs, size_t count, const struct query_command *c,
                 const char *const *words, struct fault *why)
{
    int rc = 0;

    for (size_t i = 0; i < count; i++) {
        runs[i].pid = 0;
        runs[i].out = runs[i].err = -1;
    }
    for (size_t i = 0; i < count && !rc; i++)
        rc = run_begin(&runs[i], c, words, why);
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
