/* SPDX-License-Identifier: MIT */
/*
 * fuzz_allocation.c: lines as the environment in which a batch system describes an allocation. What
 * follows an empty line is the file of hosts, which a value @ names.
 */
#include "common/log.h"
#include "launcher/input/hosts/allocation.h"
#include "launcher/input/hosts/host_list_parse.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { VARIABLES = 16, ROOM = 8192 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void quiet(enum log_level level, const char *text, void *arg)
{
    (void)level, (void)text, (void)arg;
}

/* A path that a mutation made could name any file of this machine, or one without an end. */
static char *variable_of(char *line, const char *file, char *room, size_t size)
{
    char *equals = strchr(line, '=');

    if (!equals || equals[1] == '/' || strstr(equals, "../"))
        return NULL;
    if (strcmp(equals, "=@") != 0)
        return line;
    snprintf(room, size, "%.*s=%s", (int)(equals - line), line, file);
    return room;
}

static void match(char *const *environment)
{
    struct host_list *named;
    struct fault why;

    if (host_list_parse(&named, "--hosts", "n1,a,b", &why) ||
        allocation_match(named, environment, &why))
        abort();
    host_list_destroy(named);
}

static void read_it(char *const *environment)
{
    struct host_list *l = NULL;
    struct fault why = {0};

    if (allocation_read(&l, environment, &why)) {
        if (l || why.code >= 0 || !why.text[0])
            abort();
    } else if (l) {
        if (l->count < 1)
            abort();
        for (int i = 0; i < l->count; i++)
            if (!l->hosts[i].name || !*l->hosts[i].name || l->hosts[i].slots < 1)
                abort();
        host_list_destroy(l);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    const uint8_t *blank = memmem(data, size, "\n\n", 2);
    size_t head = blank ? (size_t)(blank - data) : size, left = blank ? size - head - 2 : 0;
    char *environment[VARIABLES + 1] = {NULL}, *text, *rest, *line, file[64];
    static char room[VARIABLES][ROOM];
    int count = 0;

    if (fd < 0)
        fd = memfd_create("hosts", MFD_CLOEXEC);
    text = rest = strndup((const char *)data, head);
    if (fd < 0 || !text || ftruncate(fd, 0) ||
        pwrite(fd, blank ? blank + 2 : data, left, 0) != (ssize_t)left)
        abort();
    log_to(quiet, NULL);
    snprintf(file, sizeof(file), "/proc/self/fd/%d", fd);
    while ((line = strsep(&rest, "\n")) && count < VARIABLES) {
        environment[count] = variable_of(line, file, room[count], ROOM);
        count += environment[count] != NULL;
    }
    read_it(environment);
    match(environment);
    free(text);
    return 0;
}
