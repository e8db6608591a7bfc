/* SPDX-License-Identifier: MIT */
#include "common/outer_launcher.h"

#include "common/text/number.h"

#include <limits.h>
#include <stddef.h>
#include <stdlib.h>

/* The variables that hold how many processes there are, and the number of this one. */
static const struct variables {
    const char *name, *needed, *size, *rank;
} launchers[] = {
    /* Inside salloc and sbatch there is no step, or one of a single task. */
    {"srun", "SLURM_STEP_ID", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID"},
    {"mpirun", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
    {"mpiexec", "PMI_SIZE", "PMI_SIZE", "PMI_RANK"},
};

static int number_of(const char *variable)
{
    const char *text = getenv(variable);
    int64_t n;

    return text && number_parse(text, 0, INT_MAX, &n) ? (int)n : 0;
}

bool outer_launcher_find(struct outer_launcher *out)
{
    if (getenv("MLAUNCH_RANK")) /* the agent has set OMPI_COMM_WORLD_SIZE */
        return false;
    for (size_t i = 0; i < sizeof(launchers) / sizeof(*launchers); i++) {
        const struct variables *v = &launchers[i];
        int size = number_of(v->size);

        if (!getenv(v->needed) || size < 2)
            continue;
        *out = (struct outer_launcher){v->name, v->size, size, number_of(v->rank) == 0};
        /* The shell of `srun -n 4 --pty bash`: the other three have ended at once. */
        return !(i == 0 && out->is_first && getenv("SLURM_PTY_PORT"));
    }
    return false;
}
