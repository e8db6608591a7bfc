/* SPDX-License-Identifier: MIT */
#include "launcher/agent/rank/core_file.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct core_text {
    char *out;
    size_t size, length; /* length may exceed size: the text was too long */
};

static void text_append(struct core_text *t, const char *more)
{
    size_t n = strlen(more);

    if (t->length + n < t->size)
        memcpy(t->out + t->length, more, n + 1);
    t->length += n;
}

static void text_append_char(struct core_text *t, char c)
{
    char more[] = {c, '\0'};

    text_append(t, more);
}

static void text_append_plain(struct core_text *t, char c)
{
    if (strchr("*?[\\", c))
        text_append(t, "\\");
    text_append_char(t, c);
}

/* Replaces a letter of core(5), with * if its value is unknown after the process's end. */
static void text_append_specifier(struct core_text *t, char specifier, pid_t pid, int signal)
{
    char number[24];
    long value;

    switch (specifier) {
    case '%':
        text_append(t, "%");
        return;
    case 'p':
    case 'i':
        value = pid;
        break;
    case 'u':
        value = (long)getuid();
        break;
    case 'g':
        value = (long)getgid();
        break;
    case 's':
        value = signal;
        break;
    default:
        text_append(t, "*");
        return;
    }
    snprintf(number, sizeof(number), "%ld", value);
    text_append(t, number);
}

bool core_file_pattern(char *out, size_t size, const char *pattern, bool uses_pid, pid_t pid,
                       int signal, const char *cwd)
{
    struct core_text t = {out, size, 0};
    bool has_pid = false;

    if (pattern[0] == '|' || pattern[0] == '@' || pattern[0] == '\0')
        return false;
    if (pattern[0] != '/') {
        for (const char *c = cwd; *c; c++)
            text_append_plain(&t, *c);
        text_append(&t, "/");
    }
    for (const char *c = pattern; *c; c++) {
        if (*c != '%') {
            text_append_plain(&t, *c);
        } else if (c[1]) {
            c++;
            has_pid |= *c == 'p';
            text_append_specifier(&t, *c, pid, signal);
        }
    }
    if (uses_pid && !has_pid) {
        text_append(&t, ".");
        text_append_specifier(&t, 'p', pid, signal);
    }
    return t.length < size;
}

static void line_read(const char *path, char *out, int size)
{
    FILE *f = fopen(path, "re");

    out[0] = '\0';
    if (!f)
        return;
    if (fgets(out, size, f))
        out[strcspn(out, "\n")] = '\0';
    fclose(f);
}

bool core_file_find(char *out, size_t size, pid_t pid, int signal, const char *cwd)
{
    char pattern[256], uses_pid[16], wanted[1024];
    struct stat st;
    time_t newest = 0;
    glob_t found;

    line_read("/proc/sys/kernel/core_pattern", pattern, sizeof(pattern));
    line_read("/proc/sys/kernel/core_uses_pid", uses_pid, sizeof(uses_pid));
    if (!core_file_pattern(wanted, sizeof(wanted), pattern, uses_pid[0] == '1', pid, signal, cwd) ||
        glob(wanted, GLOB_NOSORT, NULL, &found) != 0)
        return false;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        if (stat(found.gl_pathv[i], &st) == 0 && st.st_mtime >= newest) {
            newest = st.st_mtime;
            snprintf(out, size, "%s", found.gl_pathv[i]);
        }
    }
    globfree(&found);
    return newest > 0;
}
