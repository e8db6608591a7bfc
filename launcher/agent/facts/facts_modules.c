/* SPDX-License-Identifier: MIT */
#include "launcher/agent/facts/facts_modules.h"

#include "common/clock.h"
#include "common/text/text_json.h"
#include "launcher/base/process/stream_child.h"
#include "launcher/base/text/program_path.h"

#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

enum { MODULES_MOST = 64, WAIT_MS = 20000, OUTPUT_MOST = 16 << 10 };

/* A line for each module. Not every module is a distribution of that name, or of any. */
static const char script[] = "import sys, importlib.util as u, importlib.metadata as m\n"
                             "try: of = m.packages_distributions()\n"
                             "except AttributeError: of = {}\n"
                             "for n in sys.argv[1:]:\n"
                             "    try:\n"
                             "        if not u.find_spec(n): raise ImportError('there is none')\n"
                             "        try: v = m.version((of.get(n) or [n])[0])\n"
                             "        except m.PackageNotFoundError: v = 'of no version'\n"
                             "        print('+' + v)\n"
                             "    except Exception as e: print('-' + str(e).split('\\n')[0])\n";

/* What the child prints until it ends, at most `size` - 1 bytes. */
static void output_read(int fd, char *text, size_t size)
{
    int64_t deadline = clock_ms() + WAIT_MS;
    size_t used = 0;

    while (used < size - 1) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        ssize_t n = 0;

        if (poll(&p, 1, clock_left_ms(deadline)) > 0)
            n = read(fd, text + used, size - 1 - used);
        if (n <= 0)
            break;
        used += (size_t)n;
    }
    text[used] = '\0';
}

/* Puts the next line, without its sign, into the object, and returns where the one after it
 * begins. */
static char *line_take(char *line, json_t *one, const char *otherwise)
{
    char *end = strchr(line, '\n');

    if (end && (*line == '+' || *line == '-')) {
        *end = '\0';
        json_object_set_new(one, *line == '+' ? "version" : "error", text_json(line + 1));
        return end + 1;
    }
    json_object_set_new(one, "error", text_json(otherwise));
    return line + strlen(line);
}

json_t *facts_modules_read(const json_t *names)
{
    char python[] = "python3", option[] = "-c", code[sizeof(script)];
    char *argv[MODULES_MOST + 4] = {python, option, code}, *path = NULL, *line;
    char *text = calloc(1, OUTPUT_MOST);
    json_t *list = json_array(), *name;
    struct stream_child child = {0};
    struct fault why = {0};
    size_t i, count = 0;
    int rc;

    memcpy(code, script, sizeof(script));
    json_array_foreach(names, i, name)
    {
        if (json_is_string(name) && count < MODULES_MOST)
            argv[3 + count++] = (char *)(uintptr_t)json_string_value(name);
    }
    rc = count ? program_path_find(&path, python, &why) : 0;
    if (path)
        argv[0] = path;
    if (count && !rc && text)
        rc = stream_child_start(&child, argv, environ, false, &why);
    if (child.pid)
        output_read(child.fd, text, OUTPUT_MOST);
    stream_child_end(&child);
    line = text;
    for (i = 0; i < count && text; i++) {
        json_t *one = json_pack("{so}", "module", text_json(argv[3 + i]));

        line = line_take(line, one, rc ? why.text : "python3 has failed");
        json_array_append_new(list, one);
    }
    free(path);
    free(text);
    return list;
}
