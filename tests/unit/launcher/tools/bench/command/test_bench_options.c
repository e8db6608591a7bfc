/* SPDX-License-Identifier: MIT */
/* test_bench_options.c: operations, types and sizes in all spellings, and what is refused. */
#include "launcher/tools/bench/command/bench_options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { WORDS = 16 };

/* Words are separated by blanks. */
static int parse(struct bench_options *o, const char *line, struct fault *why)
{
    static char copy[8192]; /* what is parsed points into it */
    char *words[WORDS + 1] = {(char *)"bench"}, *rest = copy;
    int count = 1;

    snprintf(copy, sizeof(copy), "%s", line);
    while (count < WORDS && (words[count] = strsep(&rest, " ")))
        count++;
    words[count] = NULL;
    return bench_options_parse(o, count, words, why);
}

static struct bench_options parsed(const char *line)
{
    struct bench_options o = {0};
    struct fault why = {0};

    if (parse(&o, line, &why))
        fail_msg("%s: %s", line, why.text);
    return o;
}

static void refused(const char *line, const char *sentence)
{
    struct bench_options o;
    struct fault why = {0};

    assert_int_equal(parse(&o, line, &why), ML_ERR_ARGUMENT);
    if (!strstr(why.text, sentence))
        fail_msg("%s: %s", line, why.text);
}

static void test_operations(void **state)
{
    (void)state;
    assert_int_equal(parsed("all_gather").kind, BENCH_ALL_GATHER);
    assert_int_equal(parsed("allreduce").kind, BENCH_ALL_REDUCE);
    assert_int_equal(parsed("AllReduce").kind, BENCH_ALL_REDUCE);
    assert_int_equal(parsed("all-to-all").kind, BENCH_ALL_TO_ALL);
    assert_int_equal(parsed("all_reduce_perf").kind, BENCH_ALL_REDUCE);
    assert_int_equal(parsed("alltoall_perf").kind, BENCH_ALL_TO_ALL);
    assert_int_equal(parsed("osu_allgather").kind, BENCH_ALL_GATHER);
    assert_int_equal(parsed("osu_bcast").kind, BENCH_BROADCAST);
    assert_int_equal(parsed("osu_latency").kind, BENCH_LAT);
    assert_int_equal(parsed("bandwidth").kind, BENCH_BW);
    assert_int_equal(parsed("osu_reduce_scatter").kind, BENCH_REDUCE_SCATTER);
    assert_int_equal(parsed("scatter").kind, BENCH_SCATTER);
    assert_int_equal(parsed("put").kind, BENCH_PUT);
    assert_int_equal(parsed("ib_write_bw").kind, BENCH_PUT);
    assert_int_equal(parsed("osu_get_latency").kind, BENCH_GET);
    assert_int_equal(parsed("ib_atomic_lat").kind, BENCH_ATOMIC);
    assert_int_equal(parsed("atomic -b 16").size_count, 1);
    assert_int_equal(parsed("atomic").sizes[0], 8);
    refused("gathr", "unknown operation gathr (did you mean gather?); bench measures one of");
    refused("osu_", "unknown operation osu_;");
    refused("_perf", "unknown operation _perf;");
    refused("", "unexpected argument ''");
    refused("lat bw", "second operation bw;");
    refused("all_reduce_all_reduce_all_reduce_all_reduce",
            "unknown operation all_reduce_all_reduce");
}

static void test_types(void **state)
{
    (void)state;
    assert_int_equal(parsed("--type float16").type, ML_FLOAT16);
    assert_int_equal(parsed("--type fp32").type, ML_FLOAT32);
    assert_int_equal(parsed("-d float").type, ML_FLOAT32);
    assert_int_equal(parsed("-d double").type, ML_FLOAT64);
    assert_int_equal(parsed("-d half").type, ML_FLOAT16);
    assert_int_equal(parsed("-d bf16").type, ML_BFLOAT16);
    assert_int_equal(parsed("-o MAX").op, ML_MAX);
    refused("-d floats", "-d: 'floats' is not a type");
    refused("--op xor", "--op xor is not for float32, but for integers and bool");
    refused("reduce --op and -d bf16", "--op and is not for bfloat16");
    refused("--op min --type complex64", "--op min is not for complex64");
    parsed("--op prod --type complex64");
    parsed("--op xor --type bool");
    parsed("broadcast --op xor"); /* nothing is reduced */
}

static void test_sizes(void **state)
{
    struct bench_options o = parsed("--sizes 7,7B,1k,1K,1KB,1kb,1KiB,1kib,3MiB,1G,0");
    const int64_t sizes[] = {7, 7, 1024, 1024, 1024, 1024, 1024, 1024, 3 << 20, 1 << 30, 0};

    (void)state;
    assert_int_equal(o.size_count, 11);
    assert_memory_equal(o.sizes, sizes, sizeof(sizes));
    for (const char *const *text =
             (const char *const[]){"K", "B", "KiB", "iB", "7iB", "1Ki", "1KK", "-1", "2000G",
                                   "99999999999999999999999999", NULL};
         *text; text++) {
        char line[64];

        snprintf(line, sizeof(line), "--sizes=%s", *text);
        refused(line, "is not a list of sizes");
    }
    refused("--sizes=", "--sizes needs a value: --sizes LIST");

    o = parsed("-b 8 -e 1M -f 8"); /* 8 times a power of 8 does not meet it */
    assert_int_equal(o.size_count, 7);
    assert_int_equal(o.sizes[5], 262144);
    assert_int_equal(o.sizes[6], 1 << 20);
    o = parsed("-b 8 -e 64");
    assert_int_equal(o.size_count, 4);
    o = parsed("-b 8 -e 8");
    assert_int_equal(o.size_count, 1);
}

static void test_files(void **state)
{
    struct bench_options o = parsed("--plot a/b.svg");

    (void)state;
    assert_string_equal(o.plot, "a/b.svg");
    o = parsed("--tune --save x");
    assert_string_equal(o.save, "x");
    refused("--plot x.png", "--plot: 'x.png' is not a file's name that ends in .svg");
    refused("--plot .svg", "ends in .svg");
    refused("--save x", "--save writes what --tune finds");
    refused("--tune --sizes 8,8", "ascending");
    refused("--sises 8", "unknown option --sises; did you mean --sizes?");
}

static void test_link(void **state)
{
    struct bench_options o = parsed("link");

    (void)state;
    assert_int_equal(o.kind, BENCH_LINK);
    assert_true(o.size_count == 2 && o.sizes[0] == 8 && o.sizes[1] == 1 << 20);
    assert_true(o.check && o.rounds == 1 && o.duration_s == 0.1 && !o.is_verbose);
    o = parsed("link --rounds 3 --duration 0.5 --verbose --no-check -b 1K -e 4K --svg x.svg");
    assert_true(!o.check && o.rounds == 3 && o.duration_s == 0.5 && o.is_verbose);
    assert_int_equal(o.size_count, 3);
    assert_string_equal(o.plot, "x.svg");
    assert_false(parsed("lat").check);
    refused("lat --rounds 2", "--rounds is for mlaunch bench link only");
    o = parsed("transfer");
    assert_true(o.check && !o.is_zero_copy && o.transfers == 3 && o.size_count == 1);
    assert_int_equal(o.sizes[0], 100 << 20);
    o = parsed("transfer --mode zerocopy --count 7 --size 1M --check none");
    assert_true(!o.check && o.is_zero_copy && o.transfers == 7 && o.sizes[0] == 1 << 20);
    assert_true(parsed("transfer --check hash --size 1").check);
    assert_true(parsed("transfer --check md5 --size 1").check);
    assert_false(parsed("transfer --check=none").check);
    assert_false(parsed("transfer --no-check").check);
    assert_true(parsed("all_reduce --check").check);
    refused("transfer --check=sha1", "'sha1' is not hash, none or md5");
    refused("transfer --mode gpu", "'gpu' is not copy or zerocopy");
    refused("transfer --count 0", "--count: '0' is not a whole number from 1");
    refused("transfer --sizes 0", "at least one byte");
    refused("transfer --stress 3", "neither --stress nor --tune nor --plot");
    refused("--mode copy", "--mode is for mlaunch bench transfer only");
    refused("lat --check md5", "is for mlaunch bench transfer only");
    refused("--no-check", "--no-check is for mlaunch bench link and transfer only");
    refused("link --stress 2", "neither --stress nor --tune");
    refused("link --rounds 0", "--rounds: '0' is not");
    refused("link --duration nan", "--duration: 'nan' is not");
    refused("link --duration 1x", "--duration: '1x' is not");
    refused("link --duration -1", "--duration: '-1' is not");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operations), cmocka_unit_test(test_types),
        cmocka_unit_test(test_sizes),      cmocka_unit_test(test_files),
        cmocka_unit_test(test_link),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
