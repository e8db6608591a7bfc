/* SPDX-License-Identifier: MIT */
#include "launcher/ask/register_hosts.h"

#include "common/log.h"
#include "common/text/object_field.h"
#include "launcher/base/text/string_list.h"
#include "launcher/input/hosts/host_list_parse.h"
#include "launcher/input/hosts/host_name.h"
#include "launcher/input/plan/plan_hosts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_named(const struct options *o)
{
    return o->hosts || o->hostfile;
}

static bool is_wanted(const struct register_found *f, const char *job)
{
    return f->lives && job_register_is_asked(f, job);
}

static const char *reach_of(const struct register_found *f, const char *name)
{
    return object_field_text(f->entry.reach, name);
}

static bool is_same(const char *option, const char *value)
{
    return strcmp(option ? option : "", value) == 0;
}

/* Whether the options reach the entry's hosts, together with its SSH configuration, if that is
 * there still and the user has given none. */
static bool is_reached(const struct options *o, const struct register_found *f)
{
    const char *config = reach_of(f, "ssh_config");

    return (o->ssh_config ? is_same(o->ssh_config, config)
                          : !*config || access(config, R_OK) == 0) &&
           is_same(o->agent, reach_of(f, "agent")) &&
           is_same(o->agent_command, reach_of(f, "agent_command"));
}

static int option_adopt(char **option, const char *value, struct fault *why)
{
    return *option || !*value ? 0 : string_copy(option, value, why);
}

int register_hosts_reach(struct options *o, const struct register_found *f, struct fault *why)
{
    int rc = option_adopt(&o->ssh_config, reach_of(f, "ssh_config"), why);

    if (!rc)
        rc = option_adopt(&o->agent, reach_of(f, "agent"), why);
    return rc ? rc : option_adopt(&o->agent_command, reach_of(f, "agent_command"), why);
}

static bool has_host(const struct host_list *l, const struct host *h)
{
    bool is_local = !h->port && host_name_is_local(h->name) && host_name_is_own_user(h->user);

    for (int i = 0; i < l->count; i++) {
        if ((is_local && l->hosts[i].is_local) || host_name_is_same(h->name, l->hosts[i].name))
            return true;
    }
    return false;
}

/* "user@name", with brackets around an IPv6 address. */
static int host_text(char **out, const json_t *one, struct fault *why)
{
    const char *name = object_field_text(one, "name"), *user = object_field_text(one, "user");
    bool is_v6 = strchr(name, ':');

    return string_format(out, why, "%s%s%s%s%s", user, *user ? "@" : "", is_v6 ? "[" : "", name,
                         is_v6 ? "]" : "");
}

static int host_add(struct host_list *l, const json_t *one, const char *ssh_config,
                    struct fault *why)
{
    struct host h = {0};
    char *text = NULL;
    int rc = host_text(&text, one, why);

    if (!rc)
        rc = host_list_parse_host(&h, text, why);
    h.port = (int)object_field_whole(one, "port");
    if (!rc && *ssh_config)
        rc = string_copy(&h.ssh_config, ssh_config, why);
    if (!rc && !has_host(l, &h))
        rc = host_list_add(l, &h, why);
    host_list_clear_host(&h);
    free(text);
    return rc;
}

/* Adds the hosts of the entry, up to one that cannot be a host's name. */
static int entry_add(struct host_list *l, const struct register_found *f, struct fault *why)
{
    json_t *one;
    size_t i;

    json_array_foreach(f->entry.hosts, i, one)
    {
        int rc = host_add(l, one, reach_of(f, "ssh_config"), why);

        if (rc == ML_ERR_MEMORY)
            return rc;
        if (rc) {
            log_info("%s: %s", f->path, why->text);
            return 0;
        }
    }
    return 0;
}

/* Whether the list has the machine of a host that has joined: "name#1" is another one of that name,
 * on the same machine for all that is known. */
static bool has_joined(const struct host_list *l, const struct host *joined)
{
    char name[256];
    const struct host plain = {.name = name};

    snprintf(name, sizeof(name), "%.*s", (int)strcspn(joined->name, "#"), joined->name);
    return has_host(l, joined) || has_host(l, &plain);
}

/* Adds those that have joined its job, which its mlaunch asks. */
static int joined_add(struct host_list *l, const struct register_found *f, struct fault *why)
{
    json_t *one;
    size_t i;

    json_array_foreach(json_object_get(f->entry.door, "hosts"), i, one)
    {
        struct host h = {.join_index = (int)object_field_whole(one, "index")};
        int rc = string_copy(&h.name, object_field_text(one, "name"), why);

        if (!rc)
            rc = string_copy(&h.door, object_field_text(f->entry.door, "path"), why);
        if (!rc && !has_joined(l, &h))
            rc = host_list_add(l, &h, why);
        host_list_clear_host(&h);
        if (rc)
            return rc;
    }
    return 0;
}

/* The entry that says what starts its agents, or which, if the user has said nothing; NULL: there
 * is none. That would count for all agents, also this machine's: it is taken only for the one job
 * that is asked about. */
static const struct register_found *guide_find(const struct register_list *here, const char *job)
{
    const struct register_found *guide = NULL;
    size_t wanted = 0;

    for (size_t i = 0; i < here->count; i++) {
        const struct register_found *f = &here->found[i];

        if (!is_wanted(f, job))
            continue;
        wanted++;
        if (*reach_of(f, "agent") || *reach_of(f, "agent_command"))
            guide = f;
    }
    return *job && wanted == 1 ? guide : NULL;
}

int register_hosts_find(struct host_list **out, int *named, struct options *o,
                        const struct register_list *here, const char *job, struct fault *why)
{
    bool is_asked = is_named(o);
    const struct register_found *guide = is_asked ? NULL : guide_find(here, job);
    bool is_free = !o->ssh_config && !o->agent && !o->agent_command;
    struct host_list *list = NULL;
    int rc = 0;

    if (guide && is_free)
        rc = register_hosts_reach(o, guide, why);
    if (!rc && guide && is_free && o->agent_command)
        rc = host_list_create(&list, "the job's hosts", why);
    else if (!rc)
        rc = plan_hosts_find(&list, o, environ, why);
    if (rc)
        return rc;
    *named = list->count;
    for (size_t i = 0; i < here->count && !rc && !is_asked; i++) {
        const struct register_found *f = &here->found[i];

        if (!is_wanted(f, job))
            continue;
        if (is_reached(o, f))
            rc = entry_add(list, f, why);
        else
            log_info("the hosts of job %s are not asked: they are reached with other options",
                     f->entry.file.job);
        if (!rc)
            rc = joined_add(list, f, why);
    }
    if (rc)
        host_list_destroy(list);
    else
        *out = list;
    return rc;
}

int register_hosts_only(const struct register_found **out, const struct register_list *here,
                        const char *job, struct fault *why)
{
    char ids[512] = "";
    size_t used = 0;
    int count = 0;

    *out = NULL;
    for (size_t i = 0; i < here->count; i++) {
        if (!is_wanted(&here->found[i], job))
            continue;
        count++;
        *out = &here->found[i];
        if (used < sizeof(ids))
            used += (size_t)snprintf(ids + used, sizeof(ids) - used, "%s%s", used ? ", " : "",
                                     here->found[i].entry.file.job);
    }
    if (count < 2)
        return 0;
    return fault_set(why, ML_ERR_ARGUMENT, "%d jobs have the name %.40s: %s; give the id of one",
                     count, job, ids);
}

bool register_hosts_has(const struct host_list *l, const struct options *o,
                        const struct register_found *f)
{
    json_t *one;
    size_t i;

    if (!is_named(o))
        return true;
    json_array_foreach(f->entry.hosts, i, one)
    {
        const struct host h = {.name = (char *)object_field_text(one, "name")};

        if (has_host(l, &h))
            return true;
    }
    return false;
}

int register_hosts_text(char **out, const struct register_found *f, struct fault *why)
{
    char *all = NULL;
    json_t *one;
    int rc = 0;
    size_t i;

    json_array_foreach(f->entry.hosts, i, one)
    {
        char *text = NULL, *longer = NULL;

        rc =
            object_field_whole(one, "port")
                ? fault_set(why, ML_ERR_STATE,
                            "job %s: host %s has a port of its own: give --hostfile as the job had "
                            "it",
                            f->entry.file.job, object_field_text(one, "name"))
                : host_text(&text, one, why);
        if (!rc)
            rc = string_format(&longer, why, "%s%s%s", all ? all : "", all ? "," : "", text);
        free(text);
        if (rc)
            break;
        free(all);
        all = longer;
    }
    if (rc)
        free(all);
    else
        *out = all;
    return rc;
}
