/* SPDX-License-Identifier: MIT */
#include "launcher/base/container/container_program.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char *const podman_fixed[] = {"--rm",
                                           "--pid=host",
                                           "--ipc=host",
                                           "--network=host",
                                           "--uts=host",
                                           "--entrypoint=",
                                           "--security-opt=label=disable",
                                           "--ulimit=nofile={files}",
                                           "--ulimit=nproc={processes}",
                                           "--ulimit=memlock={locked}",
                                           "--label=mlaunch.job={job}",
                                           "--name={name}",
                                           NULL};
static const char *const podman_removal[] = {"rm", "--force", "--ignore", "--time=0", NULL};
static const char *const docker_removal[] = {"rm", "--force", NULL};
static const char *const podman_refused[] = {"--pid",
                                             "--ipc",
                                             "--network",
                                             "--net",
                                             "--name",
                                             "--uts",
                                             "--detach",
                                             "-d",
                                             "--tty",
                                             "-t",
                                             "-it",
                                             "-ti",
                                             "--cgroups=disabled",
                                             NULL};
static const char *const no_words[] = {NULL};
/* With "--dev /dev" bwrap makes a /dev/shm of the container's own; these come behind it. */
static const char *const bwrap_fixed[] = {"--dev-bind", "/dev",      "/dev", "--bind", "/proc",
                                          "/proc",      "--ro-bind", "/sys", "/sys",   "--bind",
                                          "/tmp",       "/tmp",      NULL};
static const char *const bwrap_own[] = {"/dev", "/proc", "/sys", "/tmp", NULL};
static const char *const bwrap_refused[] = {"--unshare-all", "--unshare-pid", "--unshare-ipc",
                                            "--unshare-net", "--as-pid-1",    NULL};
static const char *const apptainer_refused[] = {"--pid", "-p",           "--ipc", "-i", "--net",
                                                "-n",    "--containall", "-C",    NULL};
static const char *const common_own[] = {"/dev", "/proc", "/sys", "/tmp", NULL};
static const char *const charliecloud_refused[] = {"-t", "--private-tmp", NULL};

/* clang-format off */
static const struct container_program programs[] = {
    {.name = "podman", .verb = "run", .is_apart = true, .has_user_namespaces = true,
     .fixed = podman_fixed, .mount = "--volume", .device = "--device", .own = no_words,
     .refused = podman_refused, .removal = podman_removal},
    {.name = "docker", .verb = "run", .is_apart = true,
     .fixed = podman_fixed, .mount = "--volume", .device = "--device", .own = no_words,
     .refused = podman_refused, .removal = docker_removal},
    {.name = "apptainer", .verb = "exec", .fixed = no_words, .mount = "--bind", .own = common_own,
     .refused = apptainer_refused},
    {.name = "singularity", .verb = "exec", .fixed = no_words, .mount = "--bind",
     .own = common_own, .refused = apptainer_refused},
    {.name = "ch-run", .fixed = no_words, .mount = "--bind", .end = "--", .own = common_own,
     .writable = "-w", .refused = charliecloud_refused},
    {.name = "bwrap", .is_behind = true, .is_mount_two = true, .fixed = bwrap_fixed,
     .mount = "--bind", .end = "--", .own = bwrap_own, .refused = bwrap_refused},
};
/* clang-format on */
enum { PROGRAMS = sizeof(programs) / sizeof(programs[0]) };

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static int words_count(char *const *words)
{
    int count = 0;

    while (words[count])
        count++;
    return count;
}

int container_program_verb(const struct container_program *p, char *const *words)
{
    for (int i = 1; p->verb && words[i]; i++)
        if (strcmp(words[i], p->verb) == 0)
            return i;
    return p->verb ? -1 : 0;
}

/* Whether `word` is the option, alone or as OPTION=VALUE. */
static bool is_option(const char *word, const char *option)
{
    size_t length = strlen(option);

    return strncmp(word, option, length) == 0 &&
           (word[length] == '\0' || (word[length] == '=' && option[1] == '-'));
}

/* What is shared anyway may be said. */
static bool is_shared(const char *word, const char *next)
{
    const char *value = strchr(word, '=');

    return strcmp(value ? value + 1 : next ? next : "", "host") == 0;
}

static int refused_check(const struct container_program *p, char *const *words, struct fault *why)
{
    for (int i = container_program_verb(p, words) + 1; words[i]; i++)
        for (const char *const *r = p->refused; *r; r++)
            if (is_option(words[i], *r) && !is_shared(words[i], words[i + 1]))
                return fault_set(why, ML_ERR_ARGUMENT,
                                 "%s of %s does not fit: ranks share processes, memory and network "
                                 "with their host and with each other, and mlaunch gives each "
                                 "container its name, streams and /tmp; leave it out",
                                 words[i], p->name);
    return 0;
}

int container_program_find(const struct container_program **out, char *const *words,
                           struct fault *why)
{
    const struct container_program *p = NULL;
    int verb;

    for (int i = 0; i < PROGRAMS && !p; i++)
        if (strcmp(base_name(words[0]), programs[i].name) == 0)
            p = &programs[i];
    if (!p)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "%s is none of the programs whose options mlaunch knows: podman, docker, "
                         "apptainer, singularity, ch-run, bwrap",
                         words[0]);
    verb = container_program_verb(p, words);
    if (verb < 0)
        return fault_set(why, ML_ERR_ARGUMENT, "%s lacks the word %s: '%s %s IMAGE'", p->name,
                         p->verb, p->name, p->verb);
    if (words_count(words) <= verb + 1)
        return fault_set(why, ML_ERR_ARGUMENT, "it names no image: '%s%s%s %s'", p->name,
                         p->verb ? " " : "", p->verb ? p->verb : "",
                         p->is_behind ? "--ro-bind DIR /" : "IMAGE");
    if (refused_check(p, words, why))
        return why->code;
    *out = p;
    return 0;
}

/* What the last mount at "/" mounts there, or NULL. `option`: by which, or any. */
static const char *root_of(char *const *words, const char *option)
{
    const char *found = NULL;

    for (int i = 1; words[i] && words[i + 1] && words[i + 2]; i++)
        if (strstr(words[i], "bind") && strcmp(words[i + 2], "/") == 0)
            found = !option || strcmp(words[i], option) == 0 ? words[i + 1] : NULL;
    return found;
}

const char *container_program_image(const struct container_program *p, char *const *words)
{
    const char *root = p->is_behind ? root_of(words, NULL) : words[words_count(words) - 1];

    return root ? root : p->name;
}

const char *container_program_directory(const struct container_program *p, char *const *words)
{
    const char *image = p->is_behind ? root_of(words, "--ro-bind") : words[words_count(words) - 1];
    struct stat st;

    if (!image || (!p->is_behind && !p->writable) || stat(image, &st) || !S_ISDIR(st.st_mode) ||
        strcmp(image, "/") == 0)
        return NULL;
    for (int i = 1; p->writable && words[i]; i++)
        if (strcmp(words[i], p->writable) == 0 || strcmp(words[i], "--write") == 0)
            return NULL;
    return image;
}
