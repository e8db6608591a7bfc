/* SPDX-License-Identifier: MIT */
#include "runtime/group/wait_note.h"

#include "runtime/group/group.h"
#include "runtime/group/link.h"
#include "runtime/group/world.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { NAMED = 16, TEXT = 512, PATH = PATH_MAX + 64 };

static void wait_note_path(char path[PATH], const struct group *g)
{
    snprintf(path, PATH, "%s/rank.%d.waiting.%u", g->world->dir, g->world->rank, (unsigned)g->id);
}

static size_t wait_note_append(char text[TEXT], size_t at, const char *more)
{
    int n = snprintf(text + at, TEXT - at, "%s", more);

    return n < 0 || (size_t)n >= TEXT - at ? TEXT - 1 : at + (size_t)n;
}

void wait_note_leave(const struct group *g, const char *signature)
{
    char path[PATH], text[TEXT], number[32];
    size_t at = wait_note_append(text, 0, signature);
    int fd;

    if (g->call.seq) {
        snprintf(number, sizeof(number), ", call %u", (unsigned)g->call.seq);
        at = wait_note_append(text, at, number);
    }
    at =
        wait_note_append(text, at, g->active_count == 1 ? ", waits for rank" : ", waits for ranks");
    for (int i = 0; i < g->active_count && i < NAMED; i++) {
        snprintf(number, sizeof(number), "%s %d", i ? "," : "", g->members[g->active[i]->peer]);
        at = wait_note_append(text, at, number);
    }
    if (g->active_count > NAMED)
        at = wait_note_append(text, at, " …");
    wait_note_path(path, g);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return;
    (void)!write(fd, text, at);
    close(fd);
}

void wait_note_remove(const struct group *g)
{
    char path[PATH];

    wait_note_path(path, g);
    unlink(path);
}
