/* SPDX-License-Identifier: MIT */
/* verify.c: `mlaunch verify` looks whether the hosts are fit to run jobs. */
#include "common/status.h"
#include "common/text/object_field.h"
#include "common/text/printable.h"
#include "common/text/text_json.h"
#include "launcher/base/text/caller_directory.h"
#include "launcher/tools/verify/verify_command.h"
#include "launcher/tools/verify/verify_groups.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATUS_FOUND = 1, TIMEOUT_MS = 60000, PORT_MOST = 65535 };

enum verify_round { ROUND_FACTS, ROUND_LISTEN, ROUND_CONNECT, ROUNDS };

static json_t *round_question(void *arg, int host, int round)
{
    struct verify *v = arg;

    return round == ROUND_FACTS    ? fact_survey_question(&v->survey, host, round)
           : round == ROUND_LISTEN ? json_pack("{ss}", "what", "listen")
                                   : verify_reach_question(v, host);
}

static int port_take(struct verify *v, int host, const json_t *said, struct fault *why)
{
    const json_t *port = json_object_get(said, "port");

    if (!json_is_integer(port) || json_integer_value(port) < 1 ||
        json_integer_value(port) > PORT_MOST)
        return fault_set(why, ML_ERR_REFUSED, "its agent sent a malformed ANSWER: \"port\"");
    v->ports[host] = (int)json_integer_value(port);
    return 0;
}

static int round_take(void *arg, int host, int round, const json_t *said, struct fault *why)
{
    struct verify *v = arg;

    return round == ROUND_FACTS    ? fact_survey_take(&v->survey, host, round, said, why)
           : round == ROUND_LISTEN ? port_take(v, host, said, why)
                                   : verify_reach_take(v, host, said, why);
}

/* Removes what dead jobs have left, and says what that was. */
static int leftovers_fix(struct verify *v, struct fault *why)
{
    json_t *one;
    size_t k;
    int rc = query_command_ask(
        &v->c, json_pack("{ss ss sb}", "what", "clean", "job", "", "dry_run", 0), why);

    for (int i = 0; !rc && !v->c.json && i < v->c.hosts->count; i++) {
        json_array_foreach(json_object_get(v->c.answers[i].said, "removed"), k, one)
        {
            printable_print("fixed    left    host %s: %s %s%s of job %s is gone\n",
                            verify_name(v, i), object_field_text(one, "kind"),
                            object_field_text(one, "path"), object_field_text(one, "name"),
                            object_field_text(one, "job"));
        }
    }
    return rc;
}

static int hosts_ask(struct verify *v, struct fault *why)
{
    const struct query_rounds rounds = {.count = v->survey.sysfs ? 1 : ROUNDS,
                                        .goes_on = true,
                                        .question = round_question,
                                        .take = round_take,
                                        .arg = v};

    query_free(v->c.answers, v->c.hosts->count); /* the answers that leftovers_fix() got */
    v->c.answers = NULL;
    return query_command_ask_rounds(&v->c, &rounds, why);
}

static void hosts_judge(struct verify *v)
{
    verify_reach(v);
    if (!v->survey.sysfs)
        verify_limits(v);
    verify_same(v);
    verify_device(v);
    if (!v->survey.sysfs)
        verify_left(v);
}

/* With traffic, and the counters after it. */
static int traffic_judge(struct verify *v, struct fault *why)
{
    struct query_command c = v->c;
    struct fact_survey later = {.c = &c};
    int rc = verify_pairs(v, why);

    c.answers = NULL;
    if (!rc)
        rc = fact_survey_open(&later, why);
    if (!rc)
        rc = fact_survey_ask(&later, why);
    if (!rc)
        verify_counters(v, later.hosts);
    fact_survey_close(&later);
    query_free(c.answers, c.hosts->count);
    return rc;
}

static void json_print(const struct verify *v)
{
    json_t *hosts = json_array(), *root;

    for (int i = 0; i < v->c.hosts->count; i++)
        json_array_append_new(hosts, text_json(verify_name(v, i)));
    root = json_pack("{so so}", "hosts", hosts, "findings", finding_json(&v->findings));
    if (v->pairs)
        json_object_set(root, "links", v->pairs);
    text_json_print(root);
}

static void count_print(int count, const char *word)
{
    if (count > 0)
        printf(", %d %s%s", count, word, count == 1 ? "" : "s");
}

/* Returns the exit status. */
static int findings_report(const struct verify *v)
{
    int errors = finding_count(&v->findings, FINDING_ERROR);
    int warnings = finding_count(&v->findings, FINDING_WARNING), known = 0;

    for (int i = 0; i < v->c.hosts->count; i++)
        known += v->survey.hosts[i].is_known;
    if (v->c.json)
        json_print(v);
    else
        finding_print(&v->findings);
    if (!v->c.json && v->c.verbose >= 0) {
        printf("%s; examined %d of %d host%s", errors + warnings ? "not fit" : "fit", known,
               v->c.hosts->count, v->c.hosts->count == 1 ? "" : "s");
        count_print(errors, "error");
        count_print(warnings, "warning");
        count_print(finding_count(&v->findings, FINDING_NOTE), "note");
        putchar('\n');
    }
    return known == 0 ? STATUS_OURS : errors + warnings ? STATUS_FOUND : 0;
}

static int verify_open(struct verify *v, struct fault *why)
{
    size_t count = (size_t)v->c.hosts->count;
    const char *backend = query_command_flag(&v->c, "backend");

    v->survey.c = &v->c;
    v->survey.with_jobs = v->survey.with_files = true;
    v->survey.sysfs = query_command_flag(&v->c, "sysfs");
    v->survey.program = query_command_flag(&v->c, "program");
    if (backend && strcmp(backend, "rdma") != 0 && strcmp(backend, "tcp") != 0)
        return fault_set(why, ML_ERR_ARGUMENT, "--backend: verify knows rdma and tcp");
    v->ports = calloc(count, sizeof(*v->ports));
    v->failed = calloc(count, sizeof(json_t *));
    v->resolved = calloc(count, sizeof(json_t *));
    if (!v->ports || !v->failed || !v->resolved)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    if (v->survey.sysfs && query_command_flag(&v->c, "fix"))
        return fault_set(why, ML_ERR_ARGUMENT, "--fix: recorded machines (--sysfs) have no jobs");
    if (v->survey.program) {
        int rc = caller_directory_find(&v->cwd, why);

        if (rc)
            return rc;
        v->survey.cwd = v->cwd;
    }
    return fact_survey_open(&v->survey, why);
}

static void verify_close(struct verify *v)
{
    for (int i = 0; v->failed && i < v->c.hosts->count; i++)
        json_decref(v->failed[i]);
    for (int i = 0; v->resolved && i < v->c.hosts->count; i++)
        json_decref(v->resolved[i]);
    json_decref(v->pairs);
    free(v->cwd);
    free(v->failed);
    free(v->resolved);
    free(v->ports);
    finding_clear(&v->findings);
    fact_survey_close(&v->survey);
}

static int hosts_verify(struct verify *v, int *status, struct fault *why)
{
    int rc = verify_open(v, why);

    if (!rc && query_command_flag(&v->c, "fix"))
        rc = leftovers_fix(v, why);
    if (!rc)
        rc = hosts_ask(v, why);
    if (rc)
        return rc;
    hosts_judge(v);
    if (!v->survey.sysfs && !query_command_flag(&v->c, "quick"))
        rc = traffic_judge(v, why);
    if (rc)
        return rc;
    if (v->findings.is_short)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    *status = findings_report(v);
    return 0;
}

/* *status: what was found. */
static int verify_do(void *arg, int *status, struct fault *why)
{
    struct string_list modules = {0};
    struct verify *v = arg;
    int rc = command_line_values(&modules, &v->c.line, "module", why);

    v->survey.modules = &modules;
    if (!rc)
        rc = hosts_verify(v, status, why);
    verify_close(v);
    string_list_clear(&modules);
    return rc;
}

int verify_run(int argc, char **argv)
{
    static const struct option flags[] = {
        {.name = "quick", .help = "without traffic between the hosts"},
        {.name = "backend",
         .argument = "rdma|tcp",
         .help = "of this traffic (default: rdma between hosts with active ports)"},
        {.name = "program",
         .argument = "FILE",
         .help = "a program that must be the same everywhere, found as a job finds it"},
        {.name = "module",
         .argument = "NAME",
         .help = "a Python module that must have the same version everywhere; repeats"},
        {.name = "fix", .help = "remove what dead jobs have left, as mlaunch clean does"},
        {.name = "sysfs",
         .argument = "DIR",
         .help = "verify recorded machines: DIR/HOST/sys and DIR/HOST/proc on each host"},
        {.name = "json", .help = "the findings as JSON"},
        {0}};
    struct verify v = {
        .c = {.syntax = {.name = "verify",
                         .usage = "usage: mlaunch verify [OPTIONS]\n\n"
                                  "Looks whether the given hosts are fit to run jobs: reachable,\n"
                                  "with sufficient limits, equal, with RDMA devices in order, all\n"
                                  "pairs about equally fast, and without remains of dead jobs.\n"
                                  "Prints a line for each finding. Status 0: fit, 1: not fit.",
                         .own = flags},
              .timeout_ms = TIMEOUT_MS}};

    return query_command_run(&v.c, argc, argv, verify_do, &v);
}
