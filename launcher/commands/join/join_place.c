/* SPDX-License-Identifier: MIT */
#include "launcher/commands/join/join_place.h"

#include "common/text/number.h"
#include "launcher/base/text/environment.h"
#include "launcher/base/text/text_file.h"

#include <stdio.h>
#include <string.h>

enum { HOSTS_MOST = 65536 };

/* The variables of a system; NULL: it has none, and the command line has to say it. */
struct join_system {
    const char *word, *name;
    const char *index;
    const char *index_instead; /* if there is none of `index` */
    const char *hosts;         /* with '*' for the name of a task */
    const char *head;          /* the first of a list, if it is one */
    const char *main;          /* the index of the host that is to be the head, if it is not 0 */
};

/* The first one whose variables are there counts. Those that others run on top of are the last. */
static const struct join_system systems[] = {
    {.word = "lws",
     .name = "LeaderWorkerSet",
     .index = "LWS_WORKER_INDEX",
     .hosts = "LWS_GROUP_SIZE",
     .head = "LWS_LEADER_ADDRESS"},
    {.word = "volcano",
     .name = "Volcano",
     .index = "VC_TASK_INDEX",
     .index_instead = "VK_TASK_INDEX",
     .hosts = "VC_*_NUM",
     .head = "VC_*_HOSTS"},
    {.word = "kubeflow",
     .name = "Kubeflow",
     .index = "PET_NODE_RANK",
     .index_instead = "RANK",
     .hosts = "PET_NNODES",
     .head = "MASTER_ADDR"},
    {.word = "skypilot",
     .name = "SkyPilot",
     .index = "SKYPILOT_NODE_RANK",
     .hosts = "SKYPILOT_NUM_NODES",
     .head = "SKYPILOT_NODE_IPS"},
    {.word = "aws-batch",
     .name = "AWS Batch",
     .index = "AWS_BATCH_JOB_NODE_INDEX",
     .hosts = "AWS_BATCH_JOB_NUM_NODES",
     .head = "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS",
     .main = "AWS_BATCH_JOB_MAIN_NODE_INDEX"},
    {.word = "dstack",
     .name = "dstack",
     .index = "DSTACK_NODE_RANK",
     .hosts = "DSTACK_NODES_NUM",
     .head = "DSTACK_MASTER_NODE_IP"},
    {.word = "lightning",
     .name = "Lightning",
     .index = "NODE_RANK",
     .hosts = "NUM_NODES",
     .head = "MASTER_ADDR"},
    {.word = "indexed-job", .name = "an Indexed Job", .index = "JOB_COMPLETION_INDEX"},
    {.word = NULL},
};

/* --- variables -------------------------------------------------------------------------------- */

/* Whether `text`, NAME=VALUE, has a name such as "VC_*_HOSTS". */
static bool is_of_pattern(const char *text, const char *pattern)
{
    size_t before = strcspn(pattern, "*"), after = strlen(pattern) - before - 1;
    size_t name = strcspn(text, "=");

    return name > before + after && strncmp(text, pattern, before) == 0 &&
           strncmp(text + name - after, pattern + before + 1, after) == 0;
}

/* The value of a variable, and its own name. NULL: there is none. ML_ERR_ARGUMENT: there are
 * several, of several tasks. */
static int variable_find(const char **value, char name[64], const char *pattern,
                         char *const *environment, struct fault *why)
{
    *value = NULL;
    if (!pattern)
        return 0;
    snprintf(name, 64, "%s", pattern);
    if (!strchr(pattern, '*')) {
        *value = environment_find(environment, pattern);
        return 0;
    }
    for (; *environment; environment++) {
        if (!is_of_pattern(*environment, pattern))
            continue;
        if (*value)
            return fault_set(why, ML_ERR_ARGUMENT,
                             "--from: there are several variables %s, of several tasks; --head, "
                             "--index and --hosts say which hosts are meant",
                             pattern);
        snprintf(name, 64, "%.*s", (int)strcspn(*environment, "="), *environment);
        *value = strchr(*environment, '=') + 1;
    }
    return 0;
}

static const char *index_variable(const struct join_system *s, char *const *environment)
{
    if (environment_find(environment, s->index))
        return s->index;
    return s->index_instead && environment_find(environment, s->index_instead) ? s->index_instead
                                                                               : NULL;
}

/* A system that says how many hosts there are is known by that, too. */
static bool is_here(const struct join_system *s, char *const *environment)
{
    bool has_count = !s->hosts || strchr(s->hosts, '*') || environment_find(environment, s->hosts);

    return has_count && index_variable(s, environment);
}

/* *out is NULL without --from. */
static int system_find(const struct join_system **out, const char *from, char *const *environment,
                       struct fault *why)
{
    bool is_auto = from && strcmp(from, "auto") == 0;
    const struct join_system *s = systems;

    *out = NULL;
    if (!from)
        return 0;
    while (s->word && (is_auto ? !is_here(s, environment) : strcmp(s->word, from) != 0))
        s++;
    if (!s->word && is_auto)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--from auto: none of the systems that are known has set its variables "
                         "here; --head, --index and --hosts say what is needed");
    if (!s->word)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--from: '%.40s' is not auto, lws, volcano, kubeflow, skypilot, "
                         "aws-batch, dstack, lightning or indexed-job",
                         from);
    if (!index_variable(s, environment))
        return fault_set(why, ML_ERR_ARGUMENT, "--from %s: the variable %s is not set", from,
                         s->index);
    *out = s;
    return 0;
}

/* --- places ----------------------------------------------------------------------------------- */

static int missing(const char *name, struct fault *why)
{
    return fault_set(why, ML_ERR_ARGUMENT,
                     "join needs --%s, as in mlaunch join --head HOST:PORT --index I --hosts N "
                     "--key-file FILE -- PROGRAM",
                     name);
}

static int number_take(int *out, const char *by, const char *text, int min, int max,
                       struct fault *why)
{
    char shown[TEXT_SHOWN];
    int64_t number;

    if (!number_parse(text, min, max, &number))
        return fault_set(why, ML_ERR_ARGUMENT, "%s: '%s' is not a number from %d to %d", by,
                         text_show(shown, text), min, max);
    *out = (int)number;
    return 0;
}

static int hosts_take(struct join_place *p, const struct join_words *words,
                      const struct join_system *s, char *const *environment, struct fault *why)
{
    const char *text = words->hosts;
    int rc = 0;

    snprintf(p->hosts_by, sizeof(p->hosts_by), "--hosts");
    if (!text && s)
        rc = variable_find(&text, p->hosts_by, s->hosts, environment, why);
    if (rc)
        return rc;
    return text ? number_take(&p->hosts, p->hosts_by, text, 1, HOSTS_MOST, why)
                : missing("hosts", why);
}

/* Where another host than index 0 is to be the head, that becomes index 0. */
static int index_move(struct join_place *p, const struct join_system *s, char *const *environment,
                      struct fault *why)
{
    const char *text = environment_find(environment, s->main);
    int head = 0, rc = text ? number_take(&head, s->main, text, 0, p->hosts - 1, why) : 0;

    if (p->index == head)
        p->index = 0;
    else if (p->index < head)
        p->index++;
    return rc;
}

static int index_take(struct join_place *p, const struct join_words *words,
                      const struct join_system *s, char *const *environment, struct fault *why)
{
    bool is_found = !words->index && s;
    const char *by = is_found ? index_variable(s, environment) : "--index";
    const char *text = is_found && by ? environment_find(environment, by) : words->index;
    int rc;

    if (!text)
        return missing("index", why);
    snprintf(p->index_by, sizeof(p->index_by), "%s", by);
    rc = number_take(&p->index, p->index_by, text, 0, p->hosts - 1, why);
    return !rc && is_found && s->main ? index_move(p, s, environment, why) : rc;
}

/* Lists are separated by commas, blanks or lines. */
static int head_by_variable(struct join_place *p, const struct join_system *s,
                            char *const *environment, struct fault *why)
{
    const char *text;
    int rc = variable_find(&text, p->head_by, s->head, environment, why);
    size_t size = text ? strcspn(text, ", \t\n") : 0;

    if (!rc && size >= sizeof(p->head))
        rc = fault_set(why, ML_ERR_ARGUMENT, "%s: no name of a host is that long", p->head_by);
    if (!rc && text)
        snprintf(p->head, sizeof(p->head), "%.*s", (int)size, text);
    return rc;
}

/* With --from the option may have the port alone. */
static int head_take(struct join_place *p, const struct join_words *words,
                     const struct join_system *s, char *const *environment, struct fault *why)
{
    int rc = 0;

    snprintf(p->head_by, sizeof(p->head_by), "--head");
    p->port = JOIN_PORT;
    if (!words->head && !s)
        return missing("head", why);
    if (words->head &&
        (!uplink_address_split(words->head, p->head, &p->port) || !p->port || (!p->head[0] && !s)))
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--head needs HOST:PORT or [IPv6]:PORT, and not '%.80s'", words->head);
    if (!p->head[0])
        rc = head_by_variable(p, s, environment, why);
    if (!rc && !p->head[0] && p->index != 0)
        rc = missing("head", why);
    return rc;
}

int join_place_find(struct join_place *out, const struct join_words *words,
                    char *const *environment, struct fault *why)
{
    const struct join_system *s;
    int rc = system_find(&s, words->from, environment, why);

    *out = (struct join_place){0};
    if (!rc && s)
        snprintf(out->system, sizeof(out->system), "%s", s->name);
    if (!rc)
        rc = hosts_take(out, words, s, environment, why);
    if (!rc)
        rc = index_take(out, words, s, environment, why);
    if (!rc)
        rc = head_take(out, words, s, environment, why);
    return rc;
}
