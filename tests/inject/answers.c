/* SPDX-License-Identifier: MIT */
/*
 * answers: a rank that calls much of the library and compares every result. Prints ROWS lines,
 * which are the same in every run. Exits with 3 after an error of the library, which it prints,
 * with 4 and the word WRONG after a wrong result, and with 5 if its lines can't be written.
 */
#include "common/mlaunch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHORT = 3, LONG = 300 * 1000, ROWS = 400, ROUNDS = 2 };

#define TRY(call)                                                                                  \
    do {                                                                                           \
        if ((call) < 0) {                                                                          \
            fprintf(stderr, "%s\n", ml_error());                                                   \
            return 3;                                                                              \
        }                                                                                          \
    } while (0)
#define EXPECT(what)                                                                               \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            fprintf(stderr, "WRONG in line %d: %s\n", __LINE__, #what);                            \
            return 4;                                                                              \
        }                                                                                          \
    } while (0)

static int add(ml_group *g, int *v, int count)
{
    int rank = ml_rank(g), size = ml_size(g);

    for (int i = 0; i < count; i++)
        v[i] = i + rank;
    TRY(ml_all_reduce(g, v, v, (size_t)count, ML_INT32, ML_SUM));
    for (int i = 0; i < count; i++)
        EXPECT(v[i] == size * i + size * (size - 1) / 2);
    return 0;
}

static int pass_on(ml_group *g, int *out, int *in, int count)
{
    int rank = ml_rank(g), size = ml_size(g), from = (rank + size - 1) % size;

    for (int i = 0; i < count; i++)
        out[i] = 7 * i + rank;
    TRY(ml_sendrecv(g, out, (size_t)count * sizeof(int), (rank + 1) % size, in,
                    (size_t)count * sizeof(int), from));
    for (int i = 0; i < count; i++)
        EXPECT(in[i] == 7 * i + from);
    TRY(ml_broadcast(g, out, (size_t)count * sizeof(int), 0));
    for (int i = 0; i < count; i++)
        EXPECT(out[i] == 7 * i);
    return 0;
}

static int start_both(ml_group *g, int *v)
{
    int rank = ml_rank(g), size = ml_size(g), sum = rank;
    ml_request *first, *second;

    v[0] = 5;
    TRY(ml_start_all_reduce(g, &sum, &sum, 1, ML_INT32, ML_SUM, &first));
    if (ml_start_broadcast(g, v, sizeof(*v), 0, &second)) {
        fprintf(stderr, "%s\n", ml_error());
        ml_wait(first);
        return 3;
    }
    if (ml_wait(first)) {
        fprintf(stderr, "%s\n", ml_error());
        ml_wait(second);
        return 3;
    }
    TRY(ml_wait(second));
    EXPECT(sum == size * (size - 1) / 2 && v[0] == 5);
    return 0;
}

static int use(ml_group *g, int *v, int *w)
{
    int status;

    for (int i = 0; i < ROUNDS; i++) {
        if ((status = add(g, v, SHORT)) || (status = add(g, v, LONG)) ||
            (status = pass_on(g, v, w, SHORT)) || (status = pass_on(g, v, w, LONG)))
            return status;
    }
    return start_both(g, v);
}

static int run(ml_group *world, int *mine)
{
    void *v, *w;
    ml_group *half;
    int status;

    TRY(ml_alloc(LONG * sizeof(int), &v));
    TRY(ml_alloc(LONG * sizeof(int), &w));
    status = use(world, v, w);
    if (status)
        return status;
    status = use(world, mine, w);
    if (status)
        return status;
    TRY(ml_split(world, ml_rank(world) % 2, 0, &half));
    status = use(half, v, w);
    ml_group_free(half);
    ml_free(w);
    ml_free(v);
    return status;
}

int main(void)
{
    ml_group *world;
    int *mine, status, rank;
    char row[101];

    TRY(ml_init(&world));
    rank = ml_rank(world);
    mine = malloc(LONG * sizeof(int));
    if (!mine) {
        fprintf(stderr, "no memory for the test's own numbers\n");
        return 5;
    }
    status = run(world, mine);
    free(mine);
    if (status)
        return status;
    TRY(ml_finalize());
    memset(row, 'a' + rank, sizeof(row) - 1);
    row[sizeof(row) - 1] = '\0';
    for (int i = 0; i < ROWS; i++)
        printf("rank %d row %d %s\n", rank, i, row);
    if (fclose(stdout)) {
        fprintf(stderr, "the rows can't be written\n");
        return 5;
    }
    return 0;
}
