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

enum { STATUS_FOUND = 1, TIMEOUT_MS = 60000 };

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
    const char *backend = query_command_flag(&v->c, "backend");

    v->survey.with_jobs = v->with_names = true;
    v->survey.sysfs = query_command_flag(&v->c, "sysfs");
    v->survey.program = query_command_flag(&v->c, "program");
    if (backend && strcmp(backend, "rdma") != 0 && strcmp(backend, "tcp") != 0)
        return fault_set(why, ML_ERR_ARGUMENT, "--backend: verify knows rdma and tcp");
    if (v->survey.sysfs && query_command_flag(&v->c, "fix"))
        return fault_set(why, ML_ERR_ARGUMENT, "--fix: recorded machines (--sysfs) have no jobs");
    if (v->survey.program) {
        int rc = caller_directory_find(&v->cwd, why);

        if (rc)
            return rc;
        v->survey.cwd = v->cwd;
    }
    return verify_hosts_open(v, why);
}

static int hosts_verify(struct verify *v, int *status, struct fault *why)
{
    int rc = verify_open(v, why);

    if (!rc && query_command_flag(&v->c, "fix"))
        rc = leftovers_fix(v, why);
    if (!rc)
        rc = verify_hosts_ask(v, why);
    if (rc)
        return rc;
    verify_hosts_judge(v);
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
    verify_hosts_close(v);
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
