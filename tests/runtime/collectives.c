/* SPDX-License-Identifier: MIT */
/*
 * collectives [--long | --huge | --around SIZE | --diagonal ALGORITHMS… |
 * [--alloc] [--started] --random SEED CASES]: the program of one rank. It compares all collectives,
 * types and operations, with many sizes, in place and not, with a plain reference. With --around,
 * only with SIZE and its neighbours, in bytes; with --diagonal, only those of case_diagonal, once
 * with each of ALGORITHMS as MLAUNCH_ALGO; with --alloc, buffers are in memory of ml_alloc; with
 * --started, calls are made in both forms, blocking and started, beside others in flight. Each
 * failing case is a line on stderr, and rank 0 prints a summary; the status is 1 if anything failed
 * on any rank.
 */
#include "tests/runtime/collective_cases.h"
#include "tests/runtime/started_calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    const struct subject *subject;
    bool is_long;
    unsigned long cases, failures;
} run;

static void count_result(int rc)
{
    if (rc < 0)
        exit(1); /* the group is broken; the line is printed */
    run.cases++;
    run.failures += (unsigned long)rc;
}

/* Places to test: apart or in place for large sizes; both for others, and with --long all four,
 * else one of the rest. */
static bool is_chosen(enum case_place place, size_t count, int number)
{
    if (count > 100000)
        return place == (number % 2 ? PLACE_APART : PLACE_SAME);
    if (run.is_long || place == PLACE_APART || place == PLACE_SAME)
        return true;
    return place == (number % 2 ? PLACE_MISALIGNED : PLACE_MIXED);
}

static void reductions(ml_type type, ml_op op, size_t count)
{
    for (int call = CASE_ALL_REDUCE; call <= CASE_EXCLUSIVE_SCAN; call++)
        for (int place = PLACE_APART; place <= PLACE_MIXED; place++) {
            struct collective_case c = {(enum case_call)call,
                                        type,
                                        op,
                                        count,
                                        (int)(count % (size_t)run.subject->size),
                                        (enum case_place)place,
                                        (unsigned)op,
                                        0,
                                        false};

            if (!is_chosen(c.place, count, (int)type + (int)op + call))
                continue;
            count_result(case_run(run.subject, &c));
        }
    if (type >= ML_FLOAT16 && (count < 100000 || op == ML_SUM)) {
        struct collective_case c = {CASE_ALL_REDUCE, type, op, count, 0, PLACE_APART, 11, 0, false};

        count_result(case_same_bits(run.subject, &c));
    }
}

/* With operators of the program, which a transport may get in parts. */
static void operations(size_t element, size_t count)
{
    for (int call = CASE_ALL_REDUCE; call <= CASE_EXCLUSIVE_SCAN; call++)
        for (int place = PLACE_APART; place <= PLACE_MIXED; place++) {
            struct collective_case c = {.call = (enum case_call)call,
                                        .count = count,
                                        .root = (int)(element % (size_t)run.subject->size),
                                        .place = (enum case_place)place,
                                        .seed = (unsigned)count,
                                        .element = element};

            if (!is_chosen(c.place, count, call))
                continue;
            c.is_commutative = (place + call) % 2;
            count_result(case_run(run.subject, &c));
            c.is_commutative = !c.is_commutative;
            if (run.is_long || count <= 1000)
                count_result(case_run(run.subject, &c));
        }
}

static void movements(size_t size)
{
    for (int call = CASE_ALL_GATHER; call < CASE_CALLS; call++)
        for (int place = 0; place < PLACES; place++)
            for (int root = 0; root < run.subject->size; root += 1 + run.subject->size / 2) {
                struct collective_case c = {
                    (enum case_call)call, ML_UINT8, ML_SUM, size, root, (enum case_place)place,
                    (unsigned)(3 + root), 0,        false};

                count_result(case_run(run.subject, &c));
            }
}

static void every_case(void)
{
    static const size_t counts[] = {0, 1, 3, 1000, 5003};
    const size_t large = (1 << 20) + 7;

    for (int type = 0; type <= ML_COMPLEX64; type++)
        for (int op = 0; op <= ML_XOR; op++) {
            if (!case_is_valid((ml_type)type, (ml_op)op))
                continue;
            for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
                if (run.is_long || counts[i] <= 1000 || op == ML_SUM)
                    reductions((ml_type)type, (ml_op)op, counts[i]);
            if (run.is_long)
                reductions((ml_type)type, (ml_op)op, large);
        }
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        movements(counts[i]);
        operations(24, counts[i]);
    }
    movements(large);
    operations(1, 40);
    operations(3, 100001);
    operations(5000, 100);
    operations(300000, 2);
    if (!run.is_long) {
        reductions(ML_FLOAT32, ML_SUM, large);
        reductions(ML_UINT8, ML_XOR, large);
    }
}

static void random_cases(uint64_t seed, long cases)
{
    uint64_t state = seed;

    for (long i = 0; i < cases; i++) {
        struct collective_case c = case_random(&state, run.subject->size, 1 << 20);

        count_result(case_run(run.subject, &c));
    }
}

static void around_cases(size_t size)
{
    for (size_t i = size - 1; i <= size + 1; i++) {
        reductions(ML_UINT8, ML_SUM, i);
        movements(i);
    }
}

/* MLAUNCH_ALGO is read when a rank joins the job, so it leaves and joins again. */
static void diagonal_cases(struct subject *s, char *const *algorithms)
{
    for (int round = 0; algorithms[round]; round++) {
        setenv("MLAUNCH_ALGO", algorithms[round], 1);
        if (ml_finalize() || ml_init(&s->group)) {
            fprintf(stderr, "collectives: %s\n", ml_error());
            exit(1);
        }
        for (int i = 0; i < DIAGONAL_CASES; i++) {
            struct collective_case c = case_diagonal(i, round, s->size);

            count_result(case_run(s, &c));
        }
    }
}

/* Beyond 4 GiB, where a 32-bit count of bytes overflows. */
static void huge_cases(void)
{
    const size_t size = ((size_t)4 << 30) + 12345,
                 places[] = {0, size / 2, (size_t)3 << 30, size - 1};
    unsigned char *buf = malloc(size);
    unsigned ranks = (unsigned)run.subject->size, rank = (unsigned)run.subject->rank;
    int rc = buf ? 0 : -1;

    if (buf)
        memset(buf, 0, size);
    for (unsigned i = 0; buf && i < 4; i++)
        buf[places[i]] = (unsigned char)(rank == 0 ? i + 1 : 77);
    if (!rc)
        rc = ml_broadcast(run.subject->group, buf, size, 0);
    for (unsigned i = 0; !rc && i < 4; i++) {
        count_result(buf[places[i]] != i + 1);
        buf[places[i]] = (unsigned char)(rank + i);
    }
    if (!rc)
        rc = ml_all_reduce(run.subject->group, buf, buf, size, ML_UINT8, ML_SUM);
    for (unsigned i = 0; !rc && i < 4; i++)
        count_result(buf[places[i]] != (ranks * (ranks - 1) / 2 + ranks * i) % 256);
    if (rc)
        fprintf(stderr, "rank %u: beyond 4 GiB: %s\n", rank, buf ? ml_error() : "out of memory");
    free(buf);
    count_result(rc ? -1 : 0);
}

static const char *call_error(void)
{
    return ml_error();
}

int main(int argc, char **argv)
{
    struct subject s = {.all_reduce = ml_all_reduce,
                        .reduce_scatter = ml_reduce_scatter,
                        .reduce = ml_reduce,
                        .scan = ml_scan,
                        .exclusive_scan = ml_exclusive_scan,
                        .all_reduce_with = ml_all_reduce_with,
                        .reduce_scatter_with = ml_reduce_scatter_with,
                        .reduce_with = ml_reduce_with,
                        .scan_with = ml_scan_with,
                        .exclusive_scan_with = ml_exclusive_scan_with,
                        .all_gather = ml_all_gather,
                        .all_to_all = ml_all_to_all,
                        .all_gather_v = ml_all_gather_v,
                        .all_to_all_v = ml_all_to_all_v,
                        .broadcast = ml_broadcast,
                        .gather = ml_gather,
                        .scatter = ml_scatter,
                        .sendrecv = ml_sendrecv,
                        .barrier = ml_barrier,
                        .error = call_error};
    struct subject started;
    unsigned long failures;
    int rc = ml_init(&s.group);

    if (rc) {
        fprintf(stderr, "collectives: %s\n", ml_error());
        return 1;
    }
    s.rank = ml_rank(s.group);
    s.size = ml_size(s.group);
    run.subject = &s;
    run.is_long = argc == 2 && strcmp(argv[1], "--long") == 0;
    if (argc >= 5 && strcmp(argv[1], "--alloc") == 0) {
        s.alloc = ml_alloc;
        s.free = ml_free;
        argc--;
        argv++;
    }
    if (argc == 5 && strcmp(argv[1], "--started") == 0) {
        argc--;
        argv++;
        started = started_calls(&s, strtoull(argv[2], NULL, 10));
        run.subject = &started;
    }
    if (argc == 4 && strcmp(argv[1], "--random") == 0)
        random_cases(strtoull(argv[2], NULL, 10), strtol(argv[3], NULL, 10));
    else if (argc == 2 && strcmp(argv[1], "--huge") == 0)
        huge_cases();
    else if (argc == 3 && strcmp(argv[1], "--around") == 0)
        around_cases(strtoull(argv[2], NULL, 10));
    else if (argc > 2 && strcmp(argv[1], "--diagonal") == 0)
        diagonal_cases(&s, argv + 2);
    else
        every_case();

    run.failures += started_calls_end();
    rc = ml_all_reduce(s.group, &run.failures, &failures, 1, ML_UINT64, ML_SUM);
    if (rc || ml_finalize()) {
        fprintf(stderr, "collectives: %s\n", ml_error());
        return 1;
    }
    if (s.rank == 0)
        printf("%d ranks: %lu cases, %lu failures\n", s.size, run.cases, failures);
    return failures != 0;
}
