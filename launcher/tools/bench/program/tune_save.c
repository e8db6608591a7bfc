/* SPDX-License-Identifier: MIT */
#include "launcher/tools/bench/program/tune.h"

#include "launcher/base/text/result_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The line to add, and how an older one of the same kind begins and continues. */
struct tuned_line {
    const struct bench_options *options;
    const struct bench_setup *setup;
    const char *value;
    char jobs[64];
};

static void line_write(FILE *to, const struct tuned_line *l)
{
    fprintf(to, "%s%s # mlaunch %s, %.10s, memory %s", l->value, l->jobs, l->setup->version,
            l->setup->date, l->setup->memory);
    if (bench_options_kind_reduces(l->options->kind))
        fprintf(to, ", %s of %s", bench_options_op_name(l->options->op),
                bench_options_type_name(l->options->type));
    fputc('\n', to);
}

static bool line_is_replaced(const char *text, const struct tuned_line *l)
{
    const char *name = bench_options_kind_name(l->options->kind);
    size_t length = strlen(name), value = strcspn(text, " \t\n#");

    return strncmp(text, name, length) == 0 && text[length] == ':' &&
           strncmp(text + value, l->jobs, strlen(l->jobs)) == 0;
}

static bool line_is_comment(const char *text)
{
    text += strspn(text, " \t\r\n");
    return !*text || *text == '#';
}

/* Copies the lines of `from`, which may be NULL, with the new one before the first value. */
static void lines_write(FILE *to, FILE *from, const struct tuned_line *l)
{
    char *text = NULL;
    size_t room = 0;
    bool is_written = false;

    while (from && getline(&text, &room, from) >= 0) {
        if (!is_written && !line_is_comment(text)) {
            line_write(to, l);
            is_written = true;
        }
        if (line_is_replaced(text, l))
            continue;
        fputs(text, to);
        if (!strchr(text, '\n'))
            fputc('\n', to);
    }
    if (!is_written)
        line_write(to, l);
    free(text);
}

int tune_save(const char *path, const struct bench_options *o, const struct bench_setup *s,
              const char *value, struct fault *why)
{
    struct tuned_line l = {.options = o, .setup = s, .value = value};
    struct result_file f;
    FILE *old = fopen(path, "r");
    int rc;

    if (!old && errno != ENOENT)
        return fault_os(why, ML_ERR_SYSTEM, errno, "--save: cannot read %.200s", path);
    snprintf(l.jobs, sizeof(l.jobs), " ranks=%d hosts=%d backend=%s", s->ranks, s->host_count,
             s->backend);
    rc = result_file_open(&f, "--save", path, why);
    if (!rc) {
        lines_write(f.file, old, &l);
        rc = result_file_close(&f, why);
    }
    if (old)
        fclose(old);
    return rc;
}
