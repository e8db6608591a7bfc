/* SPDX-License-Identifier: MIT */
#include "launcher/base/container/container_command.h"

#include "common/text/text_gaps.h"
#include "launcher/base/text/string_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NUMBERS = 64,
    GAPS = 6,
    PROCESSES_MOST =
        32768, /* podman lowers its own limit to this, and may not be able to raise it */
};

/* What the gaps of the fixed words stand for. */
struct gap_values {
    char files[NUMBERS], processes[NUMBERS], locked[NUMBERS];
    struct text_gap gaps[GAPS];
};

static const char *limit_write(char out[NUMBERS], const struct rlimit *limit, rlim_t most)
{
    char *at = out;

    for (int i = 0; i < 2; i++) {
        rlim_t own = i ? limit->rlim_max : limit->rlim_cur, value = own < most ? own : most;

        at += value == RLIM_INFINITY
                  ? snprintf(at, NUMBERS / 2, "%s-1", i ? ":" : "")
                  : snprintf(at, NUMBERS / 2, "%s%llu", i ? ":" : "", (unsigned long long)value);
    }
    return out;
}

static void values_fill(struct gap_values *v, const struct container_identity *i)
{
    const struct text_gap gaps[GAPS] = {
        {"{files}", limit_write(v->files, &i->files, RLIM_INFINITY)},
        {"{processes}", limit_write(v->processes, &i->processes, PROCESSES_MOST)},
        {"{locked}", limit_write(v->locked, &i->locked, RLIM_INFINITY)},
        {"{job}", i->job},
        {"{name}", i->name},
        {NULL, NULL},
    };

    memcpy(v->gaps, gaps, sizeof(gaps));
}

static bool is_below(const char *path, const char *directory)
{
    size_t length = strlen(directory);

    return strncmp(path, directory, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

bool container_command_mounts(const struct container_program *p, const char *directory)
{
    static const char *const systems[] = {"/bin",   "/boot", "/dev",  "/etc", "/lib", "/lib32",
                                          "/lib64", "/proc", "/sbin", "/sys", "/usr", NULL};

    for (const char *const *d = systems; *d; d++)
        if (is_below(directory, *d))
            return false;
    for (const char *const *d = p->own; *d; d++)
        if (is_below(directory, *d))
            return false;
    return strcmp(directory, "/") != 0;
}

static int mount_add(struct string_list *l, const struct container_program *p,
                     const char *directory, struct fault *why)
{
    char *both = NULL;
    int rc = string_list_add(l, p->mount, why);

    if (!rc && p->is_mount_two) {
        rc = string_list_add(l, directory, why);
        return rc ? rc : string_list_add(l, directory, why);
    }
    if (!rc)
        rc = string_format(&both, why, "%s:%s", directory, directory);
    if (!rc)
        rc = string_list_add(l, both, why);
    free(both);
    return rc;
}

static int user_add(struct string_list *l, const struct container_program *p,
                    const struct container_identity *i, struct fault *why)
{
    char text[64];

    if (!p->is_apart)
        return 0;
    if (p->has_user_namespaces && i->user != 0)
        return string_list_add(l, "--userns=keep-id", why);
    snprintf(text, sizeof(text), "--user=%u:%u", (unsigned)i->user, (unsigned)i->group);
    return string_list_add(l, text, why);
}

/* What mlaunch adds to the user's words. */
static int own_add(struct string_list *l, const struct container_program *p,
                   const struct container_mounts *m, const struct container_identity *identity,
                   struct fault *why)
{
    struct gap_values values;
    int rc = 0;

    values_fill(&values, identity);
    for (const char *const *word = p->fixed; *word && !rc; word++) {
        char *filled = text_gaps_fill(*word, values.gaps);

        rc = filled ? string_list_add(l, filled, why)
                    : fault_set(why, ML_ERR_MEMORY, "out of memory");
        free(filled);
    }
    if (!rc)
        rc = user_add(l, p, identity, why);
    if (!rc && container_command_mounts(p, m->job_dir))
        rc = mount_add(l, p, m->job_dir, why);
    if (!rc && strcmp(m->cwd, m->job_dir) != 0 && container_command_mounts(p, m->cwd))
        rc = mount_add(l, p, m->cwd, why);
    if (!rc && m->devices && p->device) {
        rc = string_list_add(l, p->device, why);
        if (!rc)
            rc = string_list_add(l, m->devices, why);
    }
    return rc;
}

/* The user's words up to and with the verb, or all of them if mlaunch's come behind. */
static int ahead_count(const struct container_program *p, char *const *words)
{
    int count = 0;

    if (!p->is_behind)
        return container_program_verb(p, words) + 1;
    while (words[count])
        count++;
    return count;
}

int container_command_create(char ***out, const struct container_program *p, char *const *words,
                             const struct container_mounts *mounts,
                             const struct container_identity *identity, const char *const *run,
                             struct fault *why)
{
    struct string_list l = {0};
    int ahead = ahead_count(p, words), rc = 0;

    for (int i = 0; i < ahead && !rc; i++)
        rc = string_list_add(&l, words[i], why);
    if (!rc)
        rc = own_add(&l, p, mounts, identity, why);
    if (!rc)
        rc = string_list_add_all(&l, words + ahead, why);
    if (!rc && p->end)
        rc = string_list_add(&l, p->end, why);
    for (; *run && !rc; run++)
        rc = string_list_add(&l, *run, why);
    if (!rc)
        rc = string_list_release(&l, out, why);
    string_list_clear(&l);
    return rc;
}

int container_command_removal(char ***out, const struct container_program *p, char *const *words,
                              struct fault *why)
{
    struct string_list l = {0};
    int rc = 0;

    for (int i = 0; p->removal && i < container_program_verb(p, words) && !rc; i++)
        rc = string_list_add(&l, words[i], why);
    for (const char *const *word = p->removal; word && *word && !rc; word++)
        rc = string_list_add(&l, *word, why);
    if (!rc)
        rc = string_list_release(&l, out, why);
    string_list_clear(&l);
    return rc;
}
