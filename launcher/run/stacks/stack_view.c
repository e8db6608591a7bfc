/* SPDX-License-Identifier: MIT */
#include "launcher/run/stacks/stack_view.h"

#include "common/text/object_field.h"
#include "common/text/text_json.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { FRAME = 512, FRAMES_MOST = 64 };

/* A line of a stack, in pieces that point into it. */
struct stack_frame {
    const char *name, *file; /* the function's; its source's or its library's */
    int name_length, file_length;
    bool has_source;
};

/* What follows the last '/'. */
static void base_cut(const char **file, int *length)
{
    const char *last = memrchr(*file, '/', (size_t)*length);

    if (last) {
        *length -= (int)(last + 1 - *file);
        *file = last + 1;
    }
}

/* 'File "/x/dataloader.py", line 88 in read' */
static bool python_parse(struct stack_frame *f, const char *text, int *line)
{
    const char *end = strstr(text, "\", line ");
    int at = 0;

    if (strncmp(text, "File \"", 6) != 0 || !end || end < text + 6 ||
        sscanf(end, "\", line %9d in %n", line, &at) != 1 || at == 0)
        return false;
    *f = (struct stack_frame){.name = end + at,
                              .name_length = (int)strlen(end + at),
                              .file = text + 6,
                              .file_length = (int)(end - text - 6),
                              .has_source = true};
    return true;
}

/* True of the package mlaunch, through which a program calls the library. */
static bool python_is_ours(const struct stack_frame *f)
{
    static const char *const ours[] = {
        "/mlaunch/__init__.py",  "/mlaunch/_argument.py", "/mlaunch/_buffer.py",
        "/mlaunch/_call.py",     "/mlaunch/_group.py",    "/mlaunch/_library.py",
        "/mlaunch/_operator.py", "/mlaunch/_window.py",   "/mlaunch/elastic.py",
        "/mlaunch/gpu.py",       "/mlaunch/torch.py",     "/mlaunch/transfer.py"};

    for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++) {
        int length = (int)strlen(ours[i]);

        if (f->file_length >= length &&
            strncmp(f->file + f->file_length - length, ours[i], (size_t)length) == 0)
            return true;
    }
    return false;
}

static void python_view(struct stack_view *v, json_t *lines)
{
    char text[FRAME];
    json_t *one;
    size_t i;

    json_array_foreach(lines, i, one)
    {
        const char *said = json_string_value(one);
        struct stack_frame f;
        int line;

        if (!said || i >= FRAMES_MOST || !python_parse(&f, said, &line))
            continue;
        snprintf(text, sizeof(text), "%.*s:%d in %.*s", f.file_length, f.file, line, f.name_length,
                 f.name);
        json_array_append_new(v->frames, text_json(text));
        if (v->place[0] || python_is_ours(&f))
            continue;
        base_cut(&f.file, &f.file_length);
        snprintf(v->place, sizeof(v->place), "in %.*s:%d %.*s", f.file_length, f.file, line,
                 f.name_length, f.name);
    }
}

/* As glibc is built. */
static bool is_libc_source(const char *file)
{
    static const char *const folders[] = {"../sysdeps/", "./nptl/", "./libio/"};

    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
        if (strncmp(file, folders[i], strlen(folders[i])) == 0)
            return true;
    }
    return false;
}

/* Functions of the C library, even if their source is known, are called by the names that programs
 * use (read, not __GI___libc_read). */
static void libc_settle(struct stack_frame *f)
{
    static const char *const prefixes[] = {"__GI_", "__libc_", "__"};
    bool is_libc = (f->name_length > 2 && strncmp(f->name, "__", 2) == 0) ||
                   (f->has_source && f->file && is_libc_source(f->file));

    for (size_t i = 0; is_libc && i < sizeof(prefixes) / sizeof(*prefixes); i++) {
        int length = (int)strlen(prefixes[i]);

        if (f->name_length > length && strncmp(f->name, prefixes[i], (size_t)length) == 0) {
            f->name += length;
            f->name_length -= length;
        }
    }
    for (; is_libc && f->name_length > 1 && f->name[0] == '_'; f->name_length--)
        f->name++;
    if (is_libc && f->has_source) {
        f->has_source = false;
        f->file = "libc";
        f->file_length = 4;
    }
}

/* "#1  0x00007f8f in compute (n=3) at prog.c:41", "#0  read () from /lib/libc.so.6" */
static bool native_parse(struct stack_frame *f, const char *text)
{
    const char *name = text + 1, *end, *from;

    if (text[0] != '#')
        return false;
    name += strspn(name, "0123456789");
    name += strspn(name, " ");
    if (strncmp(name, "0x", 2) == 0) {
        name += strcspn(name, " ");
        name += strspn(name, " ");
    }
    if (strncmp(name, "in ", 3) == 0)
        name += 3;
    end = strstr(name, " (");
    from = strstr(name, " from ");
    *f = (struct stack_frame){.name = name};
    for (const char *at = strstr(name, " at "); at; at = strstr(at + 1, " at ")) {
        f->file = at + 4;
        f->has_source = true;
    }
    if (!end)
        end = f->has_source ? f->file - 4 : name + strlen(name);
    f->name_length = (int)(end - name);
    if (!f->has_source && from)
        f->file = from + 6;
    f->file_length = f->file ? (int)strlen(f->file) : 0;
    libc_settle(f);
    if (f->file)
        base_cut(&f->file, &f->file_length);
    return f->name_length > 0;
}

static void native_write(char *out, size_t size, const struct stack_frame *f, const char *before)
{
    if (f->has_source)
        snprintf(out, size, "%s%.*s %.*s", before, f->file_length, f->file, f->name_length,
                 f->name);
    else
        snprintf(out, size, "%s%.*s%s%.*s%s", before, f->name_length, f->name, f->file ? " (" : "",
                 f->file_length, f->file ? f->file : "", f->file ? ")" : "");
}

static bool is_name(const struct stack_frame *f, const char *prefix)
{
    size_t length = strlen(prefix);

    return (size_t)f->name_length >= length && strncmp(f->name, prefix, length) == 0;
}

/* MPI's functions, as C and Fortran call them; those of torch's and gloo's own C++. */
static bool is_foreign_call(const struct stack_frame *f)
{
    static const char *const names[] = {"MPI_", "PMPI_", "mpi_", "pmpi_", "c10d::", "gloo::"};

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (is_name(f, names[i]))
            return true;
    return false;
}

/* The outermost of these, which the program has called; -1: none. */
static int foreign_call_find(const struct stack_frame *f, int count)
{
    for (int i = count - 1; i >= 0; i--)
        if (is_foreign_call(&f[i]))
            return i;
    return -1;
}

/* "in MPI_Allreduce, called at prog.c:41 step" */
static void foreign_call_write(char *out, size_t size, const struct stack_frame *f, int at,
                               int count)
{
    struct stack_frame call = f[at];
    int length;

    if (is_name(&call, "PMPI_")) {
        call.name++;
        call.name_length--;
    }
    length = snprintf(out, size, "in %.*s", call.name_length, call.name);
    if (length >= 0 && (size_t)length < size && at + 1 < count && !is_name(&f[at + 1], "??"))
        native_write(out + length, size - (size_t)length, &f[at + 1],
                     f[at + 1].has_source ? ", called at " : ", called by ");
}

/* The frame that a user looks for: who calls the library, the innermost one with its source, the
 * innermost one of the program itself, or the innermost. */
static int native_choose(const struct stack_frame *f, int count)
{
    for (int i = count - 1; i > 0; i--) {
        if (is_name(&f[i - 1], "ml_"))
            return i;
    }
    for (int i = 0; i < count; i++) {
        if (f[i].has_source)
            return i;
    }
    for (int i = 0; i < count; i++) {
        if (!f[i].file && !is_name(&f[i], "??"))
            return i;
    }
    return 0;
}

/* The main thread is gdb's "Thread 1", and the first one of eu-stack. */
static int native_frames(struct stack_frame f[FRAMES_MOST], json_t *lines)
{
    bool is_main = true;
    int count = 0, titles = 0;
    json_t *one;
    size_t i;

    json_array_foreach(lines, i, one)
    {
        const char *line = json_string_value(one);

        if (line && strncmp(line, "TID ", 4) == 0)
            is_main = titles++ == 0;
        else if (line && strncmp(line, "Thread ", 7) == 0)
            is_main = strncmp(line, "Thread 1 ", 9) == 0;
        else if (line && is_main && count < FRAMES_MOST)
            count += native_parse(&f[count], line);
    }
    return count;
}

/* True of the functions of Python's interpreter. */
static bool is_interpreter(const struct stack_frame *f)
{
    static const char *const names[] = {
        "_Py",     "Py",         "pymain_",           "pyrun_",   "cfunction_", "method_vectorcall",
        "run_mod", "vectorcall", "run_eval_code_obj", "slot_tp_", NULL};

    for (int i = 0; names[i]; i++) {
        if (is_name(f, names[i]))
            return true;
    }
    return false;
}

static void frames_write(struct stack_view *v, const struct stack_frame *f, int from, int count)
{
    char text[FRAME];

    for (int i = from; i < count; i++) {
        native_write(text, sizeof(text), &f[i], "");
        json_array_append_new(v->frames, text_json(text));
    }
}

/* A Python script's lines are known only to its interpreter, whose own functions tell nobody
 * anything: they are counted. */
static void native_view(struct stack_view *v, json_t *lines)
{
    struct stack_frame f[FRAMES_MOST];
    int count = native_frames(f, lines), from = 0, to = count, call;
    char text[FRAME];
    size_t used;

    while (from < count && !is_interpreter(&f[from]))
        from++;
    while (to > from && !is_interpreter(&f[to - 1]))
        to--;
    frames_write(v, f, 0, from);
    if (from < to) {
        snprintf(text, sizeof(text),
                 "Python, %d frame%s (import mlaunch in the script shows lines)", to - from,
                 to - from > 1 ? "s" : "");
        json_array_append_new(v->frames, text_json(text));
    }
    frames_write(v, f, to, count);
    call = foreign_call_find(f, from);
    v->below_call = call > 0 ? (size_t)call : 0;
    if (call >= 0)
        foreign_call_write(v->place, sizeof(v->place), f, call, from);
    else if (from > 0)
        native_write(v->place, sizeof(v->place), &f[native_choose(f, from)], "in ");
    used = strlen(v->place);
    if (from < to)
        snprintf(v->place + used, sizeof(v->place) - used,
                 from ? ", called by Python" : "in Python");
}

/* The first line is what the process does; stack_linux.c writes it. */
static void kernel_view(struct stack_view *v, json_t *lines)
{
    const char *first = json_string_value(json_array_get(lines, 0));

    json_array_extend(v->frames, lines);
    if (first)
        snprintf(v->place, sizeof(v->place), "%s", first);
}

void stack_view_make(struct stack_view *v, const json_t *process)
{
    json_t *lines = json_object_get(process, "stack");

    v->frames = json_array();
    v->below_call = 0;
    v->place[0] = '\0';
    python_view(v, json_object_get(process, "python"));
    if (json_array_size(v->frames) > 0)
        return;
    if (strcmp(object_field_text(process, "by"), "kernel") == 0)
        kernel_view(v, lines);
    else
        native_view(v, lines);
}

void stack_view_clear(struct stack_view *v)
{
    json_decref(v->frames);
    v->frames = NULL;
}

static bool waits_for_child(const json_t *process)
{
    struct stack_view v;
    const char *first;
    bool waits;

    stack_view_make(&v, process);
    first = json_string_value(json_array_get(v.frames, 0));
    waits =
        first && (strstr(first, "wait4") || strstr(first, "waitid") || strstr(first, "waitpid"));
    stack_view_clear(&v);
    return waits;
}

json_t *stack_view_choose(json_t *stacks)
{
    json_t *process;
    size_t i;

    json_array_foreach(stacks, i, process)
    {
        if (json_array_size(json_object_get(process, "python")) > 0)
            return process;
    }
    json_array_foreach(stacks, i, process)
    {
        if (!waits_for_child(process))
            return process;
    }
    return json_array_get(stacks, 0);
}
