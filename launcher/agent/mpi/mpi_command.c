/* SPDX-License-Identifier: MIT */
#include "launcher/agent/mpi/mpi_command.h"

#include "launcher/base/text/program_path.h"

#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ARGUMENTS_MOST = 16, HEAD = 256 };

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), size = strlen(end);

    return length >= size && strcmp(text + length - size, end) == 0;
}

/* The first line of a script, behind "#!"; "" if the file begins with anything else. */
static void interpreter_line(char line[HEAD], const char *file)
{
    /* Opening a FIFO or a terminal must neither wait nor do anything. */
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    ssize_t n = -1;

    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        n = read(fd, line, HEAD - 1);
    if (fd >= 0)
        close(fd);
    line[n > 2 && line[0] == '#' && line[1] == '!' ? n : 0] = '\0';
    line[strcspn(line, "\n")] = '\0';
}

/* Whether this word is Python, or a script for it; `line` is its interpreter_line(). */
static bool is_python(const char *word, const char *line)
{
    const char *name = base_name(word);

    if (strncmp(name, "python", 6) == 0 || strncmp(name, "ipython", 7) == 0 ||
        ends_with(name, ".py"))
        return true;
    return strstr(line, "python") != NULL;
}

static bool is_interpreter(const char *word, const char *line)
{
    static const char *const names[] = {"sh",   "bash", "dash",  "zsh", "ksh",     "perl",
                                        "ruby", "R",    "julia", "lua", "Rscript", "octave"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(base_name(word), names[i]) == 0)
            return true;
    }
    return line[0] != '\0' || is_python(word, line);
}

/* Looks at the first file that the pattern finds. */
static enum mpi_kind pattern_find(const char *pattern, const struct mpi_command_place *p,
                                  char library[64])
{
    enum mpi_kind kind = MPI_KIND_NONE;
    glob_t found;

    if (glob(pattern, 0, NULL, &found) == 0) {
        kind = mpi_program_of_file(found.gl_pathv[0], p->library_path, p->cwd, library);
        globfree(&found);
    }
    return kind;
}

/* Cuts off the last part of a path. False: there is none. */
static bool path_cut(char *path)
{
    char *slash = strrchr(path, '/');

    if (slash)
        *slash = '\0';
    return slash;
}

/* The module below PREFIX, if `file` is PREFIX/bin/python3. */
static enum mpi_kind prefix_find(const char *file, const struct mpi_command_place *p,
                                 char library[64])
{
    static const char *const places[] = {"lib*", "local/lib*"};
    enum mpi_kind kind = MPI_KIND_NONE;
    char prefix[PATH_MAX], pattern[PATH_MAX + 64];

    snprintf(prefix, sizeof(prefix), "%s", file);
    if (!path_cut(prefix) || !path_cut(prefix))
        return MPI_KIND_NONE;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && kind == MPI_KIND_NONE; i++) {
        snprintf(pattern, sizeof(pattern), "%s/%s/python3*/*-packages/mpi4py/MPI*.so", prefix,
                 places[i]);
        kind = pattern_find(pattern, p, library);
    }
    return kind;
}

/* Reads the first word of DIR/NAME. */
static bool word_read(char out[HEAD], const char *dir, const char *name)
{
    char path[PATH_MAX], format[16];
    FILE *f =
        snprintf(path, sizeof(path), "%s/%s", dir, name) < PATH_MAX ? fopen(path, "re") : NULL;
    bool is_read;

    snprintf(format, sizeof(format), "%%%d[^:\n\r \t]", HEAD - 1);
    is_read = f && fscanf(f, format, out) == 1;
    if (f)
        fclose(f);
    return is_read;
}

/* Which Python pyenv would start: that of PYENV_VERSION, of .python-version in the working
 * directory or above, or of its own file. */
static bool pyenv_version(char out[HEAD], const char *root, const struct mpi_command_place *p)
{
    char dir[PATH_MAX];

    if (p->python_version[0]) {
        snprintf(out, HEAD, "%.*s", (int)strcspn(p->python_version, ":"), p->python_version);
        return true;
    }
    snprintf(dir, sizeof(dir), "%s", p->cwd);
    do {
        if (word_read(out, dir, ".python-version"))
            return true;
    } while (path_cut(dir));
    return word_read(out, root, "version");
}

/* pyenv puts scripts into PATH, ROOT/shims/python3, that start one of ROOT/versions. */
static enum mpi_kind shim_find(const char *file, const struct mpi_command_place *p,
                               char library[64])
{
    char root[PATH_MAX], python[PATH_MAX + HEAD + 32], version[HEAD];
    enum mpi_kind kind = MPI_KIND_NONE;

    snprintf(root, sizeof(root), "%s", file);
    if (!path_cut(root) || strcmp(base_name(root), "shims") != 0 || !path_cut(root) ||
        !pyenv_version(version, root, p))
        return MPI_KIND_NONE;
    if (strcmp(version, "system") == 0)
        return prefix_find("/usr/bin/python3", p, library);
    for (size_t i = 0; i < 2 && kind == MPI_KIND_NONE; i++) {
        /* 3.11 stands for a 3.11.4 that is there. */
        snprintf(python, sizeof(python), "%s/versions/%s%s/bin/python3", root, version,
                 i ? ".*" : "");
        kind = prefix_find(python, p, library);
    }
    return kind;
}

/* Which MPI the module mpi4py needs, where Python would find it: a script says only at run time
 * whether it imports the module, perhaps through others. */
static enum mpi_kind python_find(const char *file, const struct mpi_command_place *p,
                                 char library[64])
{
    char path[PATH_MAX], pattern[PATH_MAX + 64];
    enum mpi_kind kind = MPI_KIND_NONE;

    for (const char *at = p->python_path; *at && kind == MPI_KIND_NONE;) {
        size_t length = strcspn(at, ":");

        snprintf(pattern, sizeof(pattern), "%.*s/mpi4py/MPI*.so", (int)length, at);
        kind = pattern_find(pattern, p, library);
        at += length + (at[length] == ':');
    }
    if (kind == MPI_KIND_NONE && p->home[0]) {
        snprintf(pattern, sizeof(pattern), "%s/.local/lib/python3*/site-packages/mpi4py/MPI*.so",
                 p->home);
        kind = pattern_find(pattern, p, library);
    }
    if (kind == MPI_KIND_NONE)
        kind = prefix_find(file, p, library);
    if (kind == MPI_KIND_NONE)
        kind = shim_find(file, p, library);
    if (kind == MPI_KIND_NONE && realpath(file, path))
        kind = prefix_find(path, p, library);
    return kind;
}

/* Finds what this word of the command, the program `file`, needs; changes file and line. */
static void word_find(struct mpi_command *out, const char *word, char file[PATH_MAX],
                      char line[HEAD], const struct mpi_command_place *p)
{
    out->kind = mpi_program_of_file(file, p->library_path, p->cwd, out->library);
    if (out->kind != MPI_KIND_NONE || !is_python(word, line))
        return;
    /* For a script, look at the interpreter of its #! line. */
    if (line[0] == '#' && line[2] == '/' && !strstr(line, "env ")) {
        line[2 + strcspn(line + 2, " \t")] = '\0';
        snprintf(file, PATH_MAX, "%s", line + 2);
    } else if ((line[0] || ends_with(word, ".py")) &&
               !program_path_of_rank(file, "python3", p->path, p->cwd)) {
        return;
    }
    out->kind = python_find(file, p, out->library);
    out->is_by_python = out->kind != MPI_KIND_NONE;
}

void mpi_command_find(struct mpi_command *out, const char *program, const char *const *argv,
                      const struct mpi_command_place *place)
{
    char file[PATH_MAX], line[HEAD];

    *out = (struct mpi_command){.kind = MPI_KIND_NONE};
    if (program_path_of_rank(file, program, place->path, place->cwd)) {
        interpreter_line(line, file);
        out->is_interpreter = is_interpreter(program, line);
        out->is_python = is_python(program, line);
        word_find(out, program, file, line, place);
        out->is_certain = out->kind != MPI_KIND_NONE && !out->is_interpreter;
    }
    for (int i = 1; i < ARGUMENTS_MOST && argv[i] && out->kind == MPI_KIND_NONE; i++) {
        if (argv[i][0] && argv[i][0] != '-' && !strchr(argv[i], '=') &&
            program_path_of_rank(file, argv[i], place->path, place->cwd)) {
            interpreter_line(line, file);
            word_find(out, argv[i], file, line, place);
        }
    }
}
