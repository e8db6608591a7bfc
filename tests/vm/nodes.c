/* SPDX-License-Identifier: MIT */
/*
 * nodes.c: a rank that all-reduces for a while, sends to all others, and then prints on which
 * memory node it runs and where the pages of its shared memory and of its vectors lie: "segment 0x3
 * 1x2" is three pages on node 0, then two on node 1.
 */
#include "common/mlaunch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { COUNT = 1 << 20, ROUNDS = 20 };

static void give_up(const char *what)
{
    fprintf(stderr, "nodes: %s\n", what);
    exit(1);
}

/* Adds " NODExPAGES" for each stretch on one node. */
static void pages_tell(char *text, size_t room, const volatile unsigned char *at, size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), count = size / page, from = 0;
    void **pages = calloc(count, sizeof(*pages));
    int *nodes = calloc(count, sizeof(*nodes));

    if (!pages || !nodes)
        give_up("out of memory");
    for (size_t i = 0; i < count; i++) {
        pages[i] = (void *)(at + i * page);
        (void)at[i * page]; /* the kernel tells only about pages that are mapped */
    }
    if (syscall(SYS_move_pages, 0, count, pages, NULL, nodes, 0) != 0)
        give_up("move_pages failed");
    for (size_t i = 1; i <= count; i++) {
        if (i < count && nodes[i] == nodes[from])
            continue;
        snprintf(text + strlen(text), room - strlen(text), " %dx%zu", nodes[from], i - from);
        from = i;
    }
    free(pages);
    free(nodes);
}

static void segment_tell(char *text, size_t room)
{
    FILE *f = fopen("/proc/self/maps", "re");
    char line[512];
    int found = 0;

    while (f && fgets(line, sizeof(line), f)) {
        unsigned long begin, end;

        if (!strstr(line, "/dev/shm/mlaunch-") || strstr(line, ".counters.") ||
            strstr(line, ".calls.") || sscanf(line, "%lx-%lx", &begin, &end) != 2)
            continue;
        found++;
        pages_tell(text, room, (const volatile unsigned char *)begin, end - begin);
    }
    if (f)
        fclose(f);
    if (found != 1)
        give_up("not one segment in /proc/self/maps");
}

int main(void)
{
    ml_group *world;
    float *in = malloc(COUNT * sizeof(*in)), *out = malloc(COUNT * sizeof(*out));
    char segment[256] = "", vectors[256] = "";
    unsigned node = 0;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    if (!in || !out || ml_init(&world))
        give_up(ml_error());
    for (int i = 0; i < COUNT; i++)
        in[i] = 1;
    for (int i = 0; i < ROUNDS; i++)
        if (ml_all_reduce(world, in, out, COUNT, ML_FLOAT32, ML_SUM))
            give_up(ml_error());
    for (int i = 0; i < COUNT; i++)
        if (out[i] != (float)ml_size(world))
            give_up("a wrong sum");
    /* Each ring is made by the rank that writes it, before others look at its pages. */
    if (ml_all_to_all(world, in, out, sizeof(*in)) || ml_barrier(world))
        give_up(ml_error());
    if (syscall(SYS_getcpu, NULL, &node, NULL) != 0)
        give_up("getcpu failed");
    segment_tell(segment, sizeof(segment));
    /* Whole pages of it: what malloc puts before it is on another. */
    pages_tell(vectors, sizeof(vectors), (unsigned char *)in + page - (size_t)in % page,
               (COUNT - page) * sizeof(*in));
    printf("rank %d on node %u: segment%s; vector%s\n", ml_rank(world), node, segment, vectors);
    return ml_finalize() ? 1 : 0;
}
