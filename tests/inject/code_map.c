/* SPDX-License-Identifier: MIT */
#include "tests/inject/code_map.h"

#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { RANGES = 2000, FRAMES = 64 };

struct code_range {
    uintptr_t start, size;
    char owner;
};

static struct {
    struct code_range ranges[RANGES];
    int count;
    uintptr_t base; /* where the program is loaded */
} map;

/* The unwinder itself may need memory, at its first use in a process. */
static __thread bool is_looking __attribute__((tls_model("initial-exec")));

static int program_note(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    (void)arg;
    map.base = info->dlpi_addr;
    return 1; /* the program is the first object */
}

/* The whole file, by system calls that fail_calls.c does not see. */
static size_t file_read(const char *path, char *text, size_t most)
{
    long fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC), n;
    size_t size = 0;

    if (fd < 0)
        return 0;
    while (size < most && (n = syscall(SYS_read, fd, text + size, most - size)) > 0)
        size += (size_t)n;
    syscall(SYS_close, fd);
    return size;
}

void code_map_read(void)
{
    static char text[RANGES * 40 + 1];
    const char *path = getenv("MLAUNCH_TEST_FAIL_CODE");
    char *at = text;

    if (!path)
        return;
    text[file_read(path, text, sizeof(text) - 1)] = '\0';
    while (map.count < RANGES && *at) {
        struct code_range *r = &map.ranges[map.count];

        r->start = strtoul(at, &at, 16);
        r->size = strtoul(at, &at, 16);
        r->owner = '?';
        if (at[0] == ' ')
            r->owner = at[1];
        at = strchr(at, '\n');
        if (!at)
            break;
        at++;
        map.count++;
    }
    dl_iterate_phdr(program_note, NULL);
    (void)code_map_place(); /* now, when no call is counted yet */
}

bool code_map_is_there(void)
{
    return map.count > 0;
}

static char owner_of(uintptr_t at)
{
    for (int i = 0; i < map.count; i++) {
        if (at - map.ranges[i].start < map.ranges[i].size)
            return map.ranges[i].owner;
    }
    return '?';
}

struct code_place code_map_place(void)
{
    struct code_place place = {.owner = '?', .path = 14695981039346656037U}; /* FNV-1a */
    void *frames[FRAMES];
    int count;

    if (is_looking)
        return place;
    is_looking = true;
    count = backtrace(frames, FRAMES);
    is_looking = false;
    for (int i = 0; i < count; i++) {
        uintptr_t at = (uintptr_t)frames[i] - map.base - 1; /* in the call, not behind it */
        char owner = owner_of(at);

        if (owner == '?')
            continue;
        place.path = (place.path ^ at) * 1099511628211U;
        if (place.owner == '?') {
            place.owner = owner;
            place.where = at;
        }
        if (owner == 't')
            break; /* what the test calls is one call, from wherever in the test */
    }
    return place;
}

int code_map_stack(uintptr_t where[], int most)
{
    void *frames[FRAMES];
    int count = backtrace(frames, FRAMES), kept = 0;

    for (int i = 0; i < count && kept < most; i++) {
        uintptr_t at = (uintptr_t)frames[i] - map.base - 1;

        if (owner_of(at) != '?')
            where[kept++] = at;
    }
    return kept;
}

const void *code_map_address(const struct code_place *place)
{
    return (const void *)(map.base + place->where);
}
