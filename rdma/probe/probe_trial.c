/* SPDX-License-Identifier: MIT */
#include "rdma/probe/probe_trial.h"

#include "common/text/parsed_json.h"
#include "rdma/probe/describe.h"
#include "rdma/probe/trial_candidates.h"
#include "rdma/verbs/device.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    LOOK_MS = 5000,  /* for a device to be described */
    SLACK_MS = 1500, /* after the trial, for its results to come */
    QUESTION_MOST = 64 << 20,
};

/* --- in the child ------------------------------------------------------------------------------
 */

/* Gives each active port its queue pair. Adds its number, or why there is none, to the port's
 * report. */
static void ports_open(struct wire_trial **w, struct ibv_context *context, const char *device,
                       json_t *report)
{
    struct fault why;
    json_t *port;
    size_t i;
    int rc = wire_trial_open(w, context, device, &why);

    if (rc) {
        json_object_set_new(report, "error", json_string(why.text));
        return;
    }
    json_array_foreach(json_object_get(report, "ports"), i, port)
    {
        int number = (int)json_integer_value(json_object_get(port, "port"));
        uint32_t pair;

        if (!json_is_true(json_object_get(port, "is_active")))
            continue;
        if (wire_trial_add_port(*w, number, &pair, &why) == 0)
            json_object_set_new(port, "queue_pair", json_integer(pair));
        else
            json_object_set_new(port, "untried", json_string(why.text));
    }
}

/* Waits for a byte from the parent: then the question is in `file`, which all processes share.
 * NULL: the parent has ended, or there is no question. The caller's. */
static json_t *question_read(int fd, int file)
{
    off_t size;
    char byte, *text;
    json_t *question;

    if (read(fd, &byte, 1) != 1)
        return NULL;
    size = lseek(file, 0, SEEK_END);
    text = size > 0 ? mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, file, 0) : MAP_FAILED;
    if (text == MAP_FAILED)
        return NULL;
    question = parsed_json(text, (size_t)size, 0, NULL);
    munmap(text, (size_t)size);
    return question;
}

/* Adds its result to each try, and sends them to the parent. */
static void tries_send(const struct trial_candidates *c, int fd)
{
    json_t *answer;

    for (int i = 0; i < c->count; i++) {
        const struct wire_trial_target *t = &c->targets[i];
        json_t *try = json_array_get(c->tries, (size_t)t->row);
        int error = __atomic_load_n(&t->error, __ATOMIC_ACQUIRE);

        json_object_set_new(try, "carries", json_boolean(wire_trial_is_linked(t)));
        json_object_set_new(try, "whole", json_boolean(wire_trial_is_whole(t)));
        if (error)
            json_object_set_new(try, "error", json_string(strerror(error)));
    }
    answer = json_pack("{s:O}", "tries", c->tries);
    probe_child_send(fd, answer);
    json_decref(answer);
}

struct child_arg {
    const struct probe_choice *choice;
    char *const *named; /* NULL-terminated; the user's */
    int file;           /* where the question will be */
};

/* What is wrong with this device, or with a port of it that the user has named; NULL: nothing. */
static json_t *named_check(const char *device, const struct child_arg *a)
{
    for (char *const *name = a->named; *name; name++) {
        char its[PORT_NAME_DEVICE];
        json_t *report;
        int port;

        if (!port_name_split(*name, its, &port) || strcmp(its, device) != 0)
            continue;
        report = probe_check(*name, a->choice);
        if (json_object_get(report, "error"))
            return report;
        json_decref(report);
    }
    return NULL;
}

static void child_run(const char *name, int fd, const void *arg)
{
    static struct trial_candidates c;
    const struct child_arg *a = arg;
    json_t *report = named_check(name, a);
    struct trial_question question;
    struct ibv_context *context = NULL;
    struct wire_trial *w = NULL;
    struct fault why;

    if (!report) {
        report = device_open(&context, name, &why) ? json_pack("{s:s}", "error", why.text)
                                                   : describe_device(context);
        if (context)
            ports_open(&w, context, name, report);
    }
    probe_child_send(fd, report);
    trial_question_read(&question, question_read(fd, a->file));
    if (w) {
        trial_candidates_find(&c, &question, name);
        wire_trial_run(w, c.targets, c.count, question.tag, question.wait_ms, fd);
    } else {
        c.tries = json_array();
    }
    tries_send(&c, fd);
    if (w)
        wire_trial_run(w, c.targets, c.count, question.tag, -1, fd);
    _exit(0); /* the kernel frees everything faster than we could */
}

/* --- in the parent -----------------------------------------------------------------------------
 */

static void answers_print(struct probe_child *children, int count, int deadline_ms)
{
    probe_children_print(children, count, deadline_ms, JSON_COMPACT);
    fflush(stdout);
}

/* Copies the next line of stdin, the question, to the file. False: there is none. *wait_ms: how
 * long the trial may take. */
static bool question_copy(int file, int *wait_ms)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t size = getline(&line, &room, stdin);
    json_t *question =
        size > 0 && size < QUESTION_MOST ? parsed_json(line, (size_t)size, 0, NULL) : NULL;
    bool good = question && write(file, line, (size_t)size) == size;

    *wait_ms = trial_question_wait_ms(question);
    json_decref(question);
    free(line);
    return good;
}

int probe_trial(struct probe_child *children, int count, char *const *named,
                const struct probe_choice *c)
{
    struct child_arg arg = {
        .choice = c, .named = named, .file = memfd_create("question", MFD_CLOEXEC)};
    int wait_ms;

    if (arg.file < 0) {
        fprintf(stderr, "mlaunch-probe: memfd_create: %s\n", strerror(errno));
        return 1;
    }
    for (int i = 0; i < count; i++)
        probe_child_start(&children[i], child_run, &arg);
    answers_print(children, count, LOOK_MS);
    if (question_copy(arg.file, &wait_ms)) {
        for (int i = 0; i < count; i++)
            if (children[i].fd >= 0 && write(children[i].fd, "?", 1) != 1)
                continue; /* its answer will be missing */
        answers_print(children, count, wait_ms + SLACK_MS);
        while (getchar() != EOF)
            ; /* meanwhile the children answer other hosts' datagrams */
    }
    for (int i = 0; i < count; i++)
        probe_child_end(&children[i]);
    close(arg.file);
    return 0;
}
