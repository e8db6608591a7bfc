/* SPDX-License-Identifier: MIT */
#include "launcher/agent/container/container.h"

#include "launcher/agent/container/container_door.h"
#include "launcher/agent/container/container_files.h"
#include "launcher/agent/rank/spawn.h"
#include "launcher/agent/rank/variable_list.h"
#include "launcher/base/container/container_command.h"
#include "launcher/base/container/container_removal.h"
#include "launcher/base/text/command_words.h"
#include "launcher/base/text/string_list.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#define RDMA_DEVICES "/dev/infiniband"

enum { NAME_MOST = 300, STATUS_OF_PROGRAM = 125 /* podman's and docker's: no container started */ };

struct container {
    struct container_config config;
    const struct container_program *program;
    struct string_list words;
    struct container_files files;
    struct container_door *door;
    const char *image;
};

/* "mlaunch-JOB.HOST.XXXXXX-RANK": the job directory's name is this agent's alone. */
static void name_write(char out[NAME_MOST], const struct container *c, int index)
{
    const char *directory = strrchr(c->config.job_dir, '/');

    snprintf(out, NAME_MOST, "mlaunch-%s-%d", directory ? directory + 1 : c->config.job_dir,
             c->config.job->ranks[index].rank);
}

static int removal_open(const struct container *c, struct fault *why)
{
    char **command;
    int rc;

    if (!c->program->is_apart)
        return 0;
    rc = container_command_removal(&command, c->program, c->words.items, why);
    if (rc)
        return rc;
    rc = container_removal_open(c->config.job_dir, command, why);
    strings_free(command);
    return rc;
}

int container_open(struct container **out, const struct container_config *config, struct fault *why)
{
    struct container *c = calloc(1, sizeof(*c));
    int rc;

    if (!c)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    c->config = *config;
    rc = command_words_split(&c->words, config->job->options.container, why);
    if (!rc)
        rc = container_program_find(&c->program, c->words.items, why);
    if (!rc)
        rc = container_files_copy(&c->files, config->job_dir, config->has_shim, config->has_bench,
                                  why);
    if (!rc)
        rc = container_door_open(&c->door, config->base, config->job_dir, config->job->rank_count,
                                 why);
    if (!rc)
        rc = removal_open(c, why);
    if (rc) {
        container_close(c);
        return fault_wrap(why, "--container");
    }
    c->image = container_program_image(c->program, c->words.items);
    *out = c;
    return 0;
}

void container_close(struct container *c)
{
    if (!c)
        return;
    container_door_close(c->door);
    string_list_clear(&c->words);
    free(c);
}

const char *container_shim(const struct container *c)
{
    return c->files.shim;
}

const char *container_modules(const struct container *c)
{
    return c->files.modules;
}

const char *container_bench(const struct container *c)
{
    return c->files.bench;
}

bool container_is_apart(const struct container *c)
{
    return c->program->is_apart;
}

pid_t container_process(const struct container *c, int index)
{
    return container_door_process(c->door, index);
}

/* Those that need no option to be in the container are checked too: bwrap and ch-run make none in
 * an image that cannot be written, and their own words for that name neither host nor image. */
static int directory_check(const struct container *c, const char *image, const char *directory,
                           struct fault *why)
{
    char path[2 * PATH_MAX];
    struct stat st;

    snprintf(path, sizeof(path), "%s%s", image, directory);
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return 0;
    return fault_set(why, ML_ERR_SYSTEM,
                     "the image %s has no directory %s, which %s mounts from the host: make it "
                     "there%s",
                     image, directory, c->program->name,
                     strcmp(directory, "/tmp") == 0 ? "" : ", or choose another with --cwd");
}

static int image_check(const struct container *c, const char *cwd, struct fault *why)
{
    const char *image = container_program_directory(c->program, c->words.items);
    const char *const places[] = {c->config.job_dir, cwd};
    int rc = 0;

    if (!image)
        return 0;
    for (const char *const *own = c->program->own; *own && !rc; own++)
        rc = directory_check(c, image, *own, why);
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && !rc; i++)
        if (container_command_mounts(c->program, places[i]))
            rc = directory_check(c, image, places[i], why);
    return rc;
}

static bool is_users(const char *const *variables, const char *variable)
{
    size_t length = strcspn(variable, "=") + 1;

    while (*variables && strncmp(*variables, variable, length) != 0)
        variables++;
    return *variables != NULL;
}

/* entry_answer.h describes the file. PATH is left to the image unless the user has set it. */
static int program_write(const struct container *c, int index, const struct spawn *s,
                         struct fault *why)
{
    const struct job_spec *job = c->config.job;
    const struct job_app *app = &job->apps[job->ranks[index].app];
    char path[PATH_MAX], namespace[64] = "";
    int count = 0, rc = 0, length;
    FILE *to;

    length = snprintf(path, sizeof(path), "%s/", c->config.job_dir);
    snprintf(path + length, sizeof(path) - (size_t)length, ENTRY_FILE, index);
    to = fopen(path, "wxe");
    if (!to)
        return fault_os(why, ML_ERR_SYSTEM, errno, "cannot write %s", path);
    while (s->argv[count])
        count++;
    (void)!readlink(ENTRY_NAMESPACE, namespace, sizeof(namespace) - 1);
    fprintf(to, "%s%c%s%c%d%c", s->cwd, 0, namespace, 0, count, 0);
    for (int i = 0; i < count; i++) {
        const char *word = i ? s->argv[i] : s->program;

        fwrite(word, 1, strlen(word) + 1, to);
    }
    for (char *const *e = s->env; *e; e++)
        if (!variable_list_is(*e, "PATH") || is_users(job->env, *e) || is_users(app->env, *e))
            fwrite(*e, 1, strlen(*e) + 1, to);
    if (ferror(to) | fclose(to))
        rc = fault_os(why, ML_ERR_SYSTEM, errno, "cannot write %s", path);
    return rc;
}

/* The container's program itself has nothing preloaded, and the agent's PATH. ch-run wants to know
 * the user's name. */
static int environment_make(struct container_rank *out, const struct spawn *s, struct fault *why)
{
    const struct passwd *user = getpwuid(geteuid());
    struct variable_list l = {0};

    for (char *const *e = s->env; *e; e++)
        if (!variable_list_is(*e, "LD_PRELOAD"))
            variable_list_append(&l, "%s", *e);
    variable_list_set(&l, "PATH=%s", s->path);
    if (user)
        variable_list_set_default(&l, "USER=%s", user->pw_name);
    if (l.failed) {
        variable_list_truncate(&l, 0);
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    out->env = l.list;
    return 0;
}

static int command_make(const struct container *c, int index, struct container_rank *out,
                        const struct spawn *s, struct fault *why)
{
    char name[NAME_MOST], number[16];
    const char *const run[] = {c->files.entry, c->config.job_dir, number, NULL};
    const struct container_mounts mounts = {c->config.job_dir, s->cwd,
                                            access(RDMA_DEVICES, F_OK) == 0 ? RDMA_DEVICES : NULL};
    struct container_identity identity = {.job = c->config.job->job,
                                          .name = name,
                                          .user = geteuid(),
                                          .group = getegid(),
                                          .files = s->limits->files};

    name_write(name, c, index);
    snprintf(number, sizeof(number), "%d", index);
    getrlimit(RLIMIT_NPROC, &identity.processes);
    getrlimit(RLIMIT_MEMLOCK, &identity.locked);
    return container_command_create(&out->argv, c->program, c->words.items, &mounts, &identity, run,
                                    why);
}

/* The container's program reads no input; its messages go where the rank's do. */
static int streams_move(struct container *c, int index, struct spawn *s, struct fault *why)
{
    const int streams[ENTRY_STREAMS] = {s->in, s->out, s->err};
    int rc = container_door_keep(c->door, index, streams, s->kept, why);

    if (rc)
        return rc;
    s->kept = -1;
    if (!s->is_terminal)
        s->in = STDIN_FILENO; /* the agent's is /dev/null */
    return 0;
}

int container_rank_prepare(struct container *c, int index, struct spawn *s,
                           struct container_rank *out, struct fault *why)
{
    char name[NAME_MOST];
    const char *path = getenv("PATH");
    int rc = image_check(c, s->cwd, why);

    s->path = path ? path : "/usr/local/bin:/usr/bin:/bin";
    name_write(name, c, index);
    if (!rc)
        rc = program_write(c, index, s, why);
    if (!rc)
        rc = environment_make(out, s, why);
    if (!rc)
        rc = command_make(c, index, out, s, why);
    if (!rc && c->program->is_apart)
        rc = container_removal_add(c->config.job_dir, name, why);
    if (!rc)
        rc = streams_move(c, index, s, why);
    if (rc)
        return rc;
    s->argv = (const char *const *)out->argv;
    s->program = s->argv[0];
    s->env = out->env;
    return 0;
}

void container_rank_release(struct container_rank *r)
{
    strings_free(r->argv);
    strings_free(r->env);
    *r = (struct container_rank){0};
}

static void answer_describe(const struct container *c, int index, const struct entry_answer *a,
                            char *text, size_t size)
{
    const struct job_spec *job = c->config.job;
    const char *program = job->apps[job->ranks[index].app].argv[0];
    struct utsname here = {0};

    uname(&here);
    switch ((enum entry_step)a->step) {
    case ENTRY_DIRECTORY:
        snprintf(text, size, "the image %s: cannot change to the directory %s: %s", c->image,
                 a->found, strerror(a->error));
        return;
    case ENTRY_ABSENT:
        snprintf(text, size,
                 "the image %s has no program %s: it is neither at such a path nor in "
                 "PATH inside",
                 c->image, a->found[0] ? a->found : program);
        return;
    case ENTRY_PROCESSOR:
        snprintf(text, size,
                 "the image %s is for another processor: %s is no program for this host's, %s",
                 c->image, a->found, here.machine);
        return;
    case ENTRY_LOADER:
        snprintf(text, size, "the image %s lacks %s, without which %s cannot start", c->image,
                 a->found, program);
        return;
    case ENTRY_LIBC:
        snprintf(text, size,
                 "the image %s has no glibc, which mlaunch's library needs: %s is started by %s. "
                 "Take an image with glibc, or --backend none for a program that makes no calls of "
                 "mlaunch",
                 c->image, program, a->found);
        return;
    case ENTRY_OTHER:
        break;
    }
    snprintf(text, size, "the image %s: cannot execute %s: %s", c->image, program,
             strerror(a->error));
}

void container_rank_ended(struct container *c, int index, int status, bool is_in_order, char *text,
                          size_t size)
{
    const struct entry_answer *answer;
    char name[NAME_MOST];

    text[0] = '\0';
    container_door_end(c->door, index);
    answer = container_door_answer(c->door, index);
    if (answer)
        answer_describe(c, index, answer, text, size);
    else if (status >= 0 && !container_door_process(c->door, index) && WIFEXITED(status) &&
             WEXITSTATUS(status) != 0)
        snprintf(text, size,
                 "%s has started no container of the image %s (status %d); what it wrote says why",
                 c->words.items[0], c->image, WEXITSTATUS(status));
    name_write(name, c, index);
    if (c->program->is_apart && is_in_order &&
        (status < 0 || (WIFEXITED(status) && container_door_process(c->door, index))))
        container_removal_drop(c->config.job_dir, name);
}
