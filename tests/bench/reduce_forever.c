/* SPDX-License-Identifier: MIT */
/* reduce_forever.c: a rank of tests/bench/large_jobs: prints "up" after its first all_reduce, and
 * continues with all_reduces of 8 bytes until it is ended. */
#include <mlaunch.h>

#include <stdio.h>

int main(void)
{
    ml_group *w;
    double in = 1, out;
    int rc = ml_init(&w);

    for (long i = 0; !rc; i++) {
        rc = ml_all_reduce(w, &in, &out, 1, ML_FLOAT64, ML_SUM);
        if (!rc && out != ml_size(w))
            ml_abort(3, "wrong sum");
        if (!rc && i == 0) {
            puts("up");
            fflush(stdout);
        }
    }
    fprintf(stderr, "%s\n", ml_error());
    return 1;
}
