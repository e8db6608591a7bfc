/* SPDX-License-Identifier: MIT */
#include "runtime/window/window_part.h"

#include "runtime/call/task_run.h"
#include "runtime/gpu/gpu_part.h"
#include "runtime/gpu/gpu_way.h"
#include "runtime/group/group.h"
#include "runtime/group/world.h"
#include "runtime/process/peer_memory_linux.h"
#include "runtime/transport/shm_rendezvous.h"

#include <stdlib.h>
#include <string.h>

/* What each rank tells the others. */
struct part_word {
    int64_t code; /* < 0: this rank has no part */
    uint64_t size;
    uint32_t has_memory, has_control; /* other processes can map it */
    struct alloc_file memory_file, control_file;
    struct alloc_place memory, control;
    uint32_t is_on_gpu, must_settle, has_place; /* the rest holds if CUDA IPC can open it */
    uint64_t giver;
    struct gpu_ipc_place place;
};

int window_control_create(struct window_control **out, int ranks, struct fault *why)
{
    void *memory;
    int rc = alloc_take(sizeof(**out) + (size_t)ranks, &memory, why);

    if (!rc)
        *out = memory;
    return rc;
}

static void part_describe(struct part_word *word, int code, void *memory, size_t size,
                          const struct gpu_part *gpu, struct window_control *control,
                          struct fault *no_place)
{
    memset(word, 0, sizeof(*word)); /* all of it is sent */
    word->code = code;
    word->size = size;
    if (code)
        return;
    if (gpu) {
        word->is_on_gpu = 1;
        word->must_settle = gpu_memory_must_settle(&gpu->memory);
        word->has_place = gpu_ipc_find(&gpu->memory, memory, size, &word->place, no_place);
        word->giver = shm_rendezvous_giver();
        return;
    }
    word->has_memory = size && alloc_find(memory, size, &word->memory_file, &word->memory);
    word->has_control = alloc_find(control, sizeof(*control), &word->control_file, &word->control);
}

/* Maps the part of a rank on this host, all of it or nothing. */
static bool part_map(struct window_part *p, const struct part_word *word)
{
    if (!word->has_control || (p->size && !word->has_memory) ||
        (p->size && (word->memory.offset > word->memory.block_size ||
                     p->size > word->memory.block_size - word->memory.offset)))
        return false;
    p->control = peer_memory_keep(&word->control_file, &word->control);
    if (!p->control || !p->size)
        return p->control;
    p->memory = peer_memory_keep(&word->memory_file, &word->memory);
    if (p->memory)
        return true;
    peer_memory_release(p->control, &word->control);
    p->control = NULL;
    return false;
}

static void part_unmap(struct window_part *p)
{
    if (p->memory)
        peer_memory_release(p->memory, &p->memory_place);
    if (p->control)
        peer_memory_release(p->control, &p->control_place);
    p->memory = NULL;
    p->control = NULL;
}

void window_parts_free(struct window_part *parts, const struct group *g)
{
    for (int i = 0; i < g->size && parts; i++)
        if (i != g->rank)
            part_unmap(&parts[i]);
    free(parts);
}

static int parts_check(const struct group *g, const struct part_word *words, struct fault *why)
{
    char who[GROUP_MEMBER_TEXT];

    for (int i = 0; i < g->size; i++)
        if (words[i].code)
            return fault_set(why, ML_ERR_MEMORY, "%s has no memory for its part of the window",
                             group_describe(g, i, who));
    return 0;
}

static int parts_exchange(struct group *g, enum call_kind kind, const void *in, void *out,
                          size_t size, struct fault *why)
{
    struct task t = {
        .kind = kind, .name = "window_create", .in = in, .out = out, .count = size, .root = -1};

    return task_run(g, &t, why);
}

/* Two ranks use each other's memory only if both can. */
static int parts_agree(struct group *g, struct window_part *parts, struct fault *why)
{
    size_t ranks = (size_t)g->size;
    unsigned char *can = malloc(2 * ranks), *could;
    int rc;

    if (!can)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    could = can + ranks;
    for (int i = 0; i < g->size; i++)
        can[i] = parts[i].control != NULL;
    rc = parts_exchange(g, CALL_ALL_TO_ALL, can, could, 1, why);
    for (int i = 0; i < g->size && !rc; i++)
        if (i != g->rank && !could[i])
            part_unmap(&parts[i]);
    free(can);
    return rc;
}

/* no_place: why this rank's part can't be opened by the ranks of its host, or code 0. */
static void parts_map(struct group *g, struct window_part *parts, const struct part_word *words,
                      const struct fault *no_place)
{
    for (int i = 0; i < g->size; i++) {
        parts[i].size = (size_t)words[i].size;
        parts[i].memory_place = words[i].memory;
        parts[i].control_place = words[i].control;
        parts[i].is_on_gpu = words[i].is_on_gpu != 0;
        parts[i].must_settle = words[i].must_settle != 0;
        if (i == g->rank || g->host_of[i] != g->host_of[g->rank] || g->world->job.local_net)
            continue;
        if (no_place->code)
            gpu_way_tell(g->members[g->rank], g->members[i], GPU_WAY_STAGED, no_place);
        parts[i].is_open = words[i].has_place != 0;
        parts[i].place = words[i].place;
        parts[i].giver = words[i].giver;
        part_map(&parts[i], &words[i]);
    }
}

int window_parts_find(struct window_part **out, struct group *g, int code, void *memory,
                      size_t size, const struct gpu_part *gpu, struct window_control *control,
                      struct fault *why)
{
    struct window_part *parts = calloc((size_t)g->size, sizeof(*parts));
    struct part_word *words = calloc((size_t)g->size, sizeof(*words)), mine;
    struct fault no_place = {0};
    int rc = 0;

    if (!parts || !words)
        rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
    part_describe(&mine, rc ? rc : code, memory, size, gpu, control, &no_place);
    if (!rc)
        rc = parts_exchange(g, CALL_ALL_GATHER, &mine, words, sizeof(mine), why);
    if (!rc && !code)
        rc = parts_check(g, words, why);
    if (!rc && !code) {
        parts_map(g, parts, words, &no_place);
        parts[g->rank].memory = memory;
        parts[g->rank].control = control;
        rc = parts_agree(g, parts, why);
    }
    free(words);
    if (rc || code) {
        if (parts)
            window_parts_free(parts, g);
        return rc ? rc : code;
    }
    *out = parts;
    return 0;
}
