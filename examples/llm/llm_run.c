/* SPDX-License-Identifier: MIT */
#include "llm_run.h"

#include "steps/step_worker.h"

#include <stdio.h>
#include <string.h>

enum { SENTENCE = 512 };

int llm_run_lost(int rc)
{
    fprintf(
        stderr, "llm: %s\n",
        rc == ML_ERR_ARGUMENT
            ? "a token is not in the vocabulary of the model, or a position is beyond its context"
            : ml_error());
    return rc == ML_ERR_ARGUMENT ? LLM_EXIT_USAGE : LLM_EXIT_LOST;
}

int llm_run_prompt(struct lead *l, const int32_t *tokens, size_t count, uint32_t first,
                   struct candidates *last, struct candidates *each)
{
    struct candidates found[LLM_MOST_ROWS];
    struct llm_row rows[LLM_MOST_ROWS];

    for (size_t begin = 0; begin < count; begin += LLM_MOST_ROWS) {
        uint32_t n = count - begin < LLM_MOST_ROWS ? (uint32_t)(count - begin) : LLM_MOST_ROWS;
        int rc;

        for (uint32_t i = 0; i < n; i++)
            rows[i] = (struct llm_row){
                .token = tokens[begin + i],
                .position = (int32_t)(first + begin + i),
                .want = each || begin + i + 1 == count,
            };
        rc = lead_rows(l, rows, n, found);
        if (rc)
            return rc;
        if (each)
            memcpy(each + begin, found, n * sizeof(*found));
        if (begin + n == count)
            *last = found[each ? n - 1 : 0];
    }
    return 0;
}

int llm_run_open(struct lead **out, ml_group *world, const char *path,
                 const struct lead_options *options, const char *program)
{
    char error[SENTENCE];

    if (lead_open(out, world, path, options, error, sizeof(error)) == 0)
        return 0;
    if (ml_rank(world) == 0)
        fprintf(stderr, "%s: %s\n", program, error);
    /* The first rank that ends lets mlaunch end the others, and rank 0 is to have said it by then.
     * If a rank is lost, this fails at once. */
    ml_barrier(world);
    return LLM_EXIT_USAGE;
}

int llm_run(const struct llm_options *o, uint32_t context, llm_run_fn *lead)
{
    struct lead_options options = {.slots = 1, .context = context};
    ml_group *world;
    struct lead *l;
    int rc, status;

    if (ml_init(&world))
        return llm_run_lost(ML_ERR_SYSTEM);
    status = llm_run_open(&l, world, o->model, &options, "llm");
    if (status) {
        ml_finalize();
        return status;
    }
    if (ml_rank(world) == 0) {
        status = lead(l, o);
        rc = status == LLM_EXIT_LOST ? 0 : lead_end(l);
    } else {
        rc = step_worker_run(l);
    }
    if (rc)
        status = llm_run_lost(rc);
    lead_close(l);
    if (ml_finalize() && !status)
        status = llm_run_lost(ML_ERR_SYSTEM);
    return status;
}
