/* SPDX-License-Identifier: MIT */
/*
 * pmi_command.c: the commands of PMI-1, as MPICH's client (src/pmi/simple/simple_pmi.c) sends them
 * and reads the answers. A client has one command under way; it may abort at any time.
 */
#include "common/text/number.h"
#include "common/text/printable.h"
#include "common/text/utf8.h"
#include "launcher/agent/mpi/pmi_state.h"
#include "launcher/agent/mpi/pmi_store.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { SPAWNS_MOST = 1 << 20 };

static int number_of(const struct pmi_line *line, const char *key, int least, int most, int other)
{
    const char *text = pmi_line_get(line, key);
    int64_t n;

    return text && number_parse(text, least, most, &n) ? (int)n : other;
}

/* The value of a key that the command needs; "" where it is missing, which no table holds. */
static const char *value_of(const struct pmi_line *line, const char *key)
{
    const char *value = pmi_line_get(line, key);

    return value ? value : "";
}

/* MPI itself ends such a program, without a reason. */
static void second_note(struct pmi_client *c)
{
    c->pmi->events.on_note(c->index,
                           "starts a second MPI program, and can be only one: start a job for each",
                           c->pmi->events.arg);
}

static void take_init(struct pmi_client *c, const struct pmi_line *line)
{
    if (c->pmi->is_elastic) {
        pmi_client_fail(c, "runs an MPI program, which cannot go on without one of its ranks: "
                           "leave --elastic out");
        return;
    }
    if (c->state != PMI_SILENT || c->has_pmix)
        second_note(c);
    if (number_of(line, "pmi_version", 0, INT_MAX, 0) != 1) {
        c->pmi->events.on_note(c->index,
                               "speaks another version of PMI than 1, which is what mlaunch serves",
                               c->pmi->events.arg);
        pmi_client_send(c, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1");
        return;
    }
    c->state = PMI_IN_USE;
    pmi_client_send(c, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0");
}

/* MPICH 4.0 keeps vallen_max - kvsname_max - keylen_max - 30 bytes of a value. It cuts longer ones
 * into pieces, whose sizes it computes differently on both sides if that number is odd. */
static void take_get_maxes(struct pmi_client *c, const struct pmi_line *line)
{
    (void)line;
    pmi_client_send(c, "cmd=maxes kvsname_max=%d keylen_max=%d vallen_max=%d", PMI_NAME, PMI_KEY,
                    PMI_VALUE);
}

static void take_get_appnum(struct pmi_client *c, const struct pmi_line *line)
{
    (void)line;
    pmi_client_send(c, "cmd=appnum appnum=%d", c->app);
}

static void take_get_my_kvsname(struct pmi_client *c, const struct pmi_line *line)
{
    (void)line;
    pmi_client_send(c, "cmd=my_kvsname kvsname=%s", c->pmi->name);
}

static void take_get_universe_size(struct pmi_client *c, const struct pmi_line *line)
{
    (void)line;
    pmi_client_send(c, "cmd=universe_size size=%d", c->pmi->size);
}

static void take_get(struct pmi_client *c, const struct pmi_line *line)
{
    const char *key = value_of(line, "key"), *value;

    if (strcmp(value_of(line, "kvsname"), c->pmi->name) != 0) {
        pmi_client_send(c, "cmd=get_result rc=-1 msg=kvs_not_found value=unknown");
        return;
    }
    value = strcmp(key, "PMI_process_mapping") == 0 && c->pmi->mapping[0]
                ? c->pmi->mapping
                : pmi_store_get(c->pmi->store, key);
    if (value)
        pmi_client_send(c, "cmd=get_result rc=0 msg=success value=%s", value);
    else
        pmi_client_send(c, "cmd=get_result rc=-1 msg=key_not_found value=unknown");
}

static void take_put(struct pmi_client *c, const struct pmi_line *line)
{
    const char *key = value_of(line, "key"), *value = pmi_line_get(line, "value");
    struct fault why;

    if (strcmp(value_of(line, "kvsname"), c->pmi->name) != 0) {
        pmi_client_send(c, "cmd=put_result rc=-1 msg=kvs_not_found");
    } else if (!*key || !value || strlen(key) > PMI_KEY || strlen(value) > PMI_VALUE_SENT) {
        pmi_client_send(c, "cmd=put_result rc=-1 msg=invalid_key_or_value");
    } else if ((c->put_size += strlen(key) + strlen(value) + 2) > c->pmi->put_limit) {
        pmi_client_fail(c, "put more than %zu bytes for other ranks (PMI)", c->pmi->put_limit);
    } else if (pmi_store_put(c->pmi->store, key, value, &why)) {
        pmi_client_fail(c, "cannot be served: %s", why.text);
    } else {
        pmi_client_send(c, "cmd=put_result rc=0 msg=success");
    }
}

static void take_barrier_in(struct pmi_client *c, const struct pmi_line *line)
{
    (void)line;
    pmi_barrier_enter(c);
}

static void take_finalize(struct pmi_client *c, const struct pmi_line *line)
{
    (void)line;
    pmi_client_send(c, "cmd=finalize_ack");
    if (c->state == PMI_IN_USE)
        c->state = PMI_FINALIZED;
}

/* There is no answer: the rank waits to be ended. If its socket were closed, MPI_Abort would
 * return, and the rank might exit with status 0. */
static void take_abort(struct pmi_client *c, const struct pmi_line *line)
{
    int status = number_of(line, "exitcode", INT_MIN, INT_MAX, 1);

    c->state = PMI_DEAF;
    event_del(c->event);
    c->pmi->events.on_abort(c->index, status, c->pmi->events.arg);
}

static void name_ask(struct pmi_client *c, const struct pmi_line *line, const char *what,
                     const char *port)
{
    const char *service = value_of(line, "service");

    c->wait = PMI_WAITS_FOR_NAME;
    if (!*service || !utf8_is_valid(service) || (port && (!*port || !utf8_is_valid(port))))
        pmi_command_answer_name(c, false, NULL);
    else
        c->pmi->events.on_name(c->index, what, service, port, c->pmi->events.arg);
}

static void take_publish_name(struct pmi_client *c, const struct pmi_line *line)
{
    c->name_answer = "publish_result";
    name_ask(c, line, "publish", value_of(line, "port"));
}

static void take_unpublish_name(struct pmi_client *c, const struct pmi_line *line)
{
    c->name_answer = "unpublish_result";
    name_ask(c, line, "unpublish", NULL);
}

static void take_lookup_name(struct pmi_client *c, const struct pmi_line *line)
{
    c->name_answer = "lookup_result";
    name_ask(c, line, "lookup", NULL);
}

void pmi_command_answer_name(struct pmi_client *c, bool is_done, const char *port)
{
    bool is_publish = strcmp(c->name_answer, "publish_result") == 0;
    bool is_found = strcmp(c->name_answer, "lookup_result") == 0 && port;

    c->wait = PMI_WAITS_FOR_NOTHING;
    if (is_done)
        pmi_client_send(c, "cmd=%s%s%s info=ok rc=0 msg=success", c->name_answer,
                        is_found ? " port=" : "", is_found ? port : "");
    else
        pmi_client_send(c, "cmd=%s info=failed rc=1 msg=%s", c->name_answer,
                        is_publish ? "key_already_present" : "service_not_found");
}

static void take_pmix(struct pmi_client *c, const struct pmi_line *line)
{
    const char *python = pmi_line_get(line, "python");

    if (!c->pmi->events.on_pmix || c->state == PMI_IN_USE) {
        pmi_client_fail(c, "asked for PMIx, which it cannot get");
        return;
    }
    if (!python && (c->has_pmix || c->state == PMI_FINALIZED))
        second_note(c);
    c->wait = PMI_WAITS_FOR_PMIX;
    c->is_python = python != NULL;
    c->pmi->events.on_pmix(c->index, python, c->pmi->events.arg);
}

void pmi_command_answer_pmix(struct pmi_client *c, const char *const *variables)
{
    int count = 0;

    c->wait = PMI_WAITS_FOR_NOTHING;
    while (variables && variables[count])
        count++;
    c->has_pmix |= count > 0 && !c->is_python;
    pmi_client_send(c, "cmd=mlaunch_pmix rc=%d count=%d", variables ? 0 : 1, count);
    for (int i = 0; i < count; i++)
        pmi_client_send(c, "%s", variables[i]);
}

static const struct command {
    const char *name;
    bool is_first; /* it is valid before init */
    void (*take)(struct pmi_client *c, const struct pmi_line *line);
} commands[] = {
    {"init", true, take_init},
    {"get_maxes", false, take_get_maxes},
    {"get_appnum", false, take_get_appnum},
    {"get_my_kvsname", false, take_get_my_kvsname},
    {"get_universe_size", false, take_get_universe_size},
    {"get", false, take_get},
    {"put", false, take_put},
    {"barrier_in", false, take_barrier_in},
    {"publish_name", false, take_publish_name},
    {"unpublish_name", false, take_unpublish_name},
    {"lookup_name", false, take_lookup_name},
    {"finalize", false, take_finalize},
    {"abort", true, take_abort},
    {"mlaunch_pmix", true, take_pmix}, /* the shim's (runtime/shim_mpi.c), and no one else's */
};

static void command_refuse(struct pmi_client *c, const char *name)
{
    char shown[PMI_LINE];

    snprintf(shown, sizeof(shown), "%s", name);
    printable_mend(shown, "");
    pmi_client_fail(c, "sent a PMI command that mlaunch does not know: '%.100s'", shown);
}

static void command_run(struct pmi_client *c, const struct pmi_line *line, const char *name)
{
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        const struct command *k = &commands[i];

        if (strcmp(k->name, name) != 0)
            continue;
        if (c->wait != PMI_WAITS_FOR_NOTHING && k->take != take_abort)
            pmi_client_fail(c, "sent the PMI command %s before the answer to the last one", name);
        else if (!k->is_first && c->state == PMI_SILENT)
            pmi_client_fail(c, "sent the PMI command %s before init", name);
        else
            k->take(c, line);
        return;
    }
    command_refuse(c, name);
}

/* One of the lines from mcmd=spawn to endcmd, of which there is a block for each program to be
 * spawned. Only the numbers of the blocks are read: the answer to the last is that nothing can be
 * spawned. The other lines are not parsed, because arguments may hold blanks. */
static void spawn_take(struct pmi_client *c, const char *text)
{
    int64_t n;

    if (strncmp(text, "totspawns=", 10) == 0 && number_parse(text + 10, 0, SPAWNS_MOST, &n))
        c->spawns = (int)n;
    if (strncmp(text, "spawnssofar=", 12) == 0 && number_parse(text + 12, 0, SPAWNS_MOST, &n))
        c->spawns_at = (int)n;
    if (strcmp(text, "endcmd") != 0)
        return;
    c->is_in_spawn = false;
    if (c->spawns_at < c->spawns)
        return; /* one more block follows */
    c->pmi->events.on_note(c->index,
                           "called MPI_Comm_spawn, which fails: mlaunch starts all processes of a "
                           "job at once, different programs separated by ':'",
                           c->pmi->events.arg);
    pmi_client_send(c, "cmd=spawn_result rc=-1");
}

void pmi_command_take(struct pmi_client *c, char *text)
{
    struct pmi_line line;
    struct fault why;
    const char *name;

    if (c->is_in_spawn) {
        spawn_take(c, text);
        return;
    }
    if (pmi_line_parse(&line, text, &why)) {
        pmi_client_fail(c, "sent an invalid PMI command: %s", why.text);
        return;
    }
    name = pmi_line_get(&line, "cmd");
    if (name) {
        command_run(c, &line, name);
    } else if (strcmp(value_of(&line, "mcmd"), "spawn") == 0 && c->state == PMI_IN_USE &&
               c->wait == PMI_WAITS_FOR_NOTHING) {
        c->is_in_spawn = true;
        c->spawns = c->spawns_at = 1;
    } else {
        command_refuse(c, value_of(&line, "mcmd"));
    }
}
