/* SPDX-License-Identifier: MIT */
#include "launcher/base/machine/register_entry.h"

#include "common/text/object_field.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { NAME_MOST = 255, HOSTS_MOST = 65536, PORT_MOST = 65535 };

static const char *const state_words[REGISTER_STATES] = {"starting", "running", "restarting",
                                                         "ending"};
static const char *const reach_names[] = {"ssh_config", "agent", "agent_command", NULL};

char *register_entry_text(const struct register_entry *e)
{
    json_t *object = job_file_object(&e->file);
    json_t *more =
        json_pack("{ss si si sO sO}", "state", state_words[e->state], "restart", e->restart,
                  "restarts", e->restarts, "host_list", e->hosts, "reach", e->reach);
    char *text = NULL;

    if (object && more && json_object_update(object, more) == 0 &&
        (!e->door || json_object_set(object, "door", e->door) == 0))
        text = json_dumps(object, JSON_COMPACT);
    json_decref(more);
    json_decref(object);
    return text;
}

static bool is_count(const json_t *value, int most)
{
    return json_is_integer(value) && json_integer_value(value) >= 0 &&
           json_integer_value(value) <= most;
}

static bool is_host(const json_t *host)
{
    const char *name = object_field_text(host, "name");

    return *name && *name != '-' && strlen(name) <= NAME_MOST &&
           strlen(object_field_text(host, "user")) <= NAME_MOST &&
           is_count(json_object_get(host, "port"), PORT_MOST);
}

static bool are_hosts(const json_t *hosts)
{
    const json_t *host;
    size_t i;

    json_array_foreach(hosts, i, host)
    {
        if (!is_host(host))
            return false;
    }
    return json_is_array(hosts) && json_array_size(hosts) <= HOSTS_MOST;
}

static bool is_joined_host(const json_t *host)
{
    const char *name = object_field_text(host, "name");

    return *name && *name != '-' && strlen(name) <= NAME_MOST &&
           is_count(json_object_get(host, "index"), HOSTS_MOST);
}

/* It may be missing. */
static bool is_door(const json_t *door)
{
    const json_t *hosts = json_object_get(door, "hosts"), *host;
    size_t i;

    json_array_foreach(hosts, i, host)
    {
        if (!is_joined_host(host))
            return false;
    }
    return !door || (*object_field_text(door, "path") && json_is_array(hosts) &&
                     json_array_size(hosts) <= HOSTS_MOST);
}

static bool is_reach(const json_t *reach)
{
    for (const char *const *name = reach_names; *name; name++) {
        const json_t *value = json_object_get(reach, *name);

        if (!json_is_string(value) || json_string_length(value) >= PATH_MAX)
            return false;
    }
    return true;
}

/* The name of the first member that is missing or malformed, or NULL. */
static const char *rest_take(struct register_entry *e, const json_t *object)
{
    const char *state = object_field_text(object, "state");
    const json_t *restart = json_object_get(object, "restart"),
                 *restarts = json_object_get(object, "restarts");
    int i = 0;

    while (i < REGISTER_STATES && strcmp(state, state_words[i]) != 0)
        i++;
    if (i == REGISTER_STATES)
        return "state";
    if (!is_count(restart, INT_MAX) || !is_count(restarts, INT_MAX))
        return "restart";
    if (e->file.agent_pid < 2 || e->file.agent_pid > INT_MAX)
        return "agent_pid";
    e->state = (enum register_state)i;
    e->restart = (int)json_integer_value(restart);
    e->restarts = (int)json_integer_value(restarts);
    e->hosts = json_object_get(object, "host_list");
    e->reach = json_object_get(object, "reach");
    e->door = json_object_get(object, "door");
    return !are_hosts(e->hosts)  ? "host_list"
           : !is_reach(e->reach) ? "reach"
           : !is_door(e->door)   ? "door"
                                 : NULL;
}

int register_entry_take(struct register_entry *out, const char *name, const json_t *object,
                        struct fault *why)
{
    struct register_entry e = {0};
    const char *bad;
    int rc = job_file_take(name, object, &e.file, why);

    if (rc)
        return rc;
    bad = rest_take(&e, object);
    if (bad)
        return fault_set(why, ML_ERR_SYSTEM, "%.220s: \"%s\" is missing or malformed", name, bad);
    json_incref(e.hosts);
    json_incref(e.reach);
    json_incref(e.door);
    *out = e;
    return 0;
}

void register_entry_clear(struct register_entry *e)
{
    json_decref(e->hosts);
    json_decref(e->reach);
    json_decref(e->door);
    *e = (struct register_entry){0};
}

const char *register_entry_state_word(enum register_state state)
{
    return state_words[state];
}

void register_entry_state(const struct register_entry *e, char out[REGISTER_STATE_TEXT])
{
    if (e->state == REGISTER_RESTARTING)
        snprintf(out, REGISTER_STATE_TEXT, "restarting %d of %d", e->restart, e->restarts);
    else
        snprintf(out, REGISTER_STATE_TEXT, "%s", state_words[e->state]);
}
