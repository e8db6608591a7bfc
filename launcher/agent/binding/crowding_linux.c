/* SPDX-License-Identifier: MIT */
#include "launcher/agent/binding/crowding_linux.h"

#include "launcher/agent/host/descendants_linux.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

enum { THREADS_READ_MOST = 4096, TIMES = 2 };

/* Whether a thread runs, or would if there were a processor for it. */
static bool is_running(pid_t pid, const char *thread)
{
    char path[300], line[256] = "";
    const char *state;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/task/%s/stat", (int)pid, thread);
    f = fopen(path, "re");
    if (!f)
        return false;
    if (!fgets(line, sizeof(line), f))
        line[0] = '\0';
    fclose(f);
    state = strrchr(line, ')'); /* behind the name, which may hold anything */
    return state && strncmp(state, ") R", 3) == 0;
}

static int running_threads(pid_t pid, int *left)
{
    char path[64];
    struct dirent *entry;
    int running = 0;
    DIR *dir;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    dir = opendir(path);
    while (dir && *left > 0 && (entry = readdir(dir)))
        if (entry->d_name[0] != '.') {
            running += is_running(pid, entry->d_name);
            (*left)--;
        }
    if (dir)
        closedir(dir);
    return running;
}

void crowding_tick(struct crowding *c, int ranks, int processors)
{
    struct process_list all = {0};
    int left = THREADS_READ_MOST, threads = 0;

    c->ticks++;
    if (ranks == 0 || c->ticks < 2 || (c->ticks & (c->ticks - 1)) || descendants_find(&all, NULL))
        return;
    for (size_t i = 0; i < all.count; i++)
        threads += running_threads(all.list[i].pid, &left);
    process_list_free(&all);
    /* Ranks of one thread each were asked for, and half a thread too many is no harm. */
    if (threads * 2 < processors * 3 || threads < ranks * 2)
        return;
    c->crowded++;
    if (threads > c->threads) {
        c->threads = threads;
        c->ranks = ranks;
        c->processors = processors;
    }
}

bool crowding_is_lasting(const struct crowding *c)
{
    return c->crowded >= TIMES;
}
