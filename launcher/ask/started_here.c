/* SPDX-License-Identifier: MIT */
#include "launcher/ask/started_here.h"

#include "common/text/object_field.h"
#include "launcher/ask/register_hosts.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

bool started_here_is_asked(const struct query_command *c, const struct register_found *f)
{
    return f->lives && job_register_is_asked(f, c->job) &&
           register_hosts_has(c->hosts, c->options, f);
}

bool started_here_is_restarting(const struct register_list *here, const char *job)
{
    for (size_t i = 0; i < here->count; i++) {
        const struct register_found *f = &here->found[i];

        if (f->lives && f->entry.state == REGISTER_RESTARTING && job_register_is_asked(f, job))
            return true;
    }
    return false;
}

void started_here_drop_idle(const struct register_list *here, json_t *said)
{
    json_t *jobs = json_object_get(said, "jobs");

    for (size_t k = json_array_size(jobs); k > 0; k--) {
        const json_t *job = json_array_get(jobs, k - 1);

        if (object_field_whole(job, "ranks_alive") == 0 && *object_field_text(job, "job") &&
            started_here_is_restarting(here, object_field_text(job, "job")))
            json_array_remove(jobs, k - 1);
    }
}

bool started_here_is_live(const json_t *job)
{
    const char *state = json_string_value(json_object_get(job, "state"));

    return state && (strcmp(state, "live") == 0 || strcmp(state, "stopped") == 0);
}

bool started_here_is_silent(const struct query_command *c, const struct register_found *f)
{
    json_t *job;
    size_t k;

    if (!started_here_is_asked(c, f))
        return false;
    for (int i = 0; i < c->hosts->count; i++) {
        json_array_foreach(json_object_get(c->answers[i].said, "jobs"), k, job)
        {
            if (started_here_is_live(job) &&
                strcmp(object_field_text(job, "job"), f->entry.file.job) == 0)
                return false;
        }
    }
    return true;
}

bool started_here_explain(struct fault *out, const struct register_list *here, const char *job,
                          const char *verb)
{
    const struct register_found *f = NULL;
    char state[REGISTER_STATE_TEXT];

    if (register_hosts_only(&f, here, job, out) || !f)
        return false;
    register_entry_state(&f->entry, state);
    fault_set(out, ML_ERR_ARGUMENT,
              "job %.40s has no ranks to %s: its mlaunch, process %lld, says that it is %s", job,
              verb, (long long)f->entry.file.agent_pid, state);
    return true;
}

int64_t started_here_age_s(const struct register_found *f)
{
    int64_t age_s = time(NULL) - f->entry.file.started_at;

    return age_s > 0 ? age_s : 0;
}

void started_here_hosts(const struct register_found *f, char *out, size_t size)
{
    size_t used = 0, i;
    json_t *one;

    out[0] = '\0';
    json_array_foreach(f->entry.hosts, i, one)
    {
        const char *name = object_field_text(one, "name");

        if (used + strlen(name) + sizeof(",...") > size) {
            snprintf(out + used, size - used, "%s...", used ? "," : "");
            return;
        }
        used += (size_t)snprintf(out + used, size - used, "%s%s", used ? "," : "", name);
    }
}

void started_here_user(char *out, size_t size)
{
    const struct passwd *user = getpwuid(geteuid());

    if (user)
        snprintf(out, size, "%s", user->pw_name);
    else
        snprintf(out, size, "%u", (unsigned)geteuid());
}
