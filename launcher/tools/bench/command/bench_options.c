/* SPDX-License-Identifier: MIT */
#include "launcher/tools/bench/command/bench_options.h"

#include "launcher/base/text/nearest.h"
#include "launcher/input/options/option_value.h"
#include "launcher/tools/bench/command/bench_words.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { CHECK_PLAIN, CHECK_HASH, CHECK_NONE };
enum { FACTOR_MOST = 1 << 20, ROUNDS_MOST = 1000000, COLUMNS_MOST = 65535 };
#define DURATION_LEAST 0.001 /* seconds */
#define DURATION_MOST  3600
static const int64_t size_most = (int64_t)1 << 40;

/* clang-format off */
static const char *const kind_names[] = {
    [BENCH_ALL_REDUCE] = "all_reduce", [BENCH_ALL_GATHER] = "all_gather",
    [BENCH_REDUCE_SCATTER] = "reduce_scatter", [BENCH_REDUCE] = "reduce",
    [BENCH_GATHER] = "gather", [BENCH_SCATTER] = "scatter", [BENCH_ALL_TO_ALL] = "all_to_all",
    [BENCH_BROADCAST] = "broadcast", [BENCH_BARRIER] = "barrier", [BENCH_SENDRECV] = "sendrecv",
    [BENCH_LAT] = "lat", [BENCH_BW] = "bw", [BENCH_PUT] = "put", [BENCH_GET] = "get",
    [BENCH_ATOMIC] = "atomic", [BENCH_TRANSFER] = "transfer", [BENCH_LINK] = "link",
    [BENCH_LINK + 1] = NULL};
static const struct bench_alias kind_aliases[] = {
    {"bcast", BENCH_BROADCAST}, {"latency", BENCH_LAT}, {"bandwidth", BENCH_BW},
    {"reduce_scatter_block", BENCH_REDUCE_SCATTER},
    {"put_latency", BENCH_PUT}, {"put_bw", BENCH_PUT}, {"ib_write_lat", BENCH_PUT},
    {"ib_write_bw", BENCH_PUT}, {"get_latency", BENCH_GET}, {"get_bw", BENCH_GET},
    {"ib_read_lat", BENCH_GET}, {"ib_read_bw", BENCH_GET}, {"fop_latency", BENCH_ATOMIC},
    {"fetch_add", BENCH_ATOMIC}, {"ib_atomic_lat", BENCH_ATOMIC}, {"ib_atomic_bw", BENCH_ATOMIC},
    {NULL, 0}};
static const char *const type_names[] = {"bool",     "int8",    "int16",   "int32",     "int64",
                                         "uint8",    "uint16",  "uint32",  "uint64",    "float16",
                                         "bfloat16", "float32", "float64", "complex64", NULL};
static const struct bench_alias type_aliases[] = {
    {"float", ML_FLOAT32}, {"single", ML_FLOAT32}, {"fp32", ML_FLOAT32}, {"f32", ML_FLOAT32},
    {"double", ML_FLOAT64}, {"fp64", ML_FLOAT64}, {"f64", ML_FLOAT64},
    {"half", ML_FLOAT16}, {"fp16", ML_FLOAT16}, {"f16", ML_FLOAT16}, {"bf16", ML_BFLOAT16},
    {"int", ML_INT32}, {NULL, 0}};
static const size_t type_sizes[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 8};
static const char *const op_names[] = {"sum", "prod", "min", "max", "and", "or", "xor", NULL};
static const struct bench_alias op_aliases[] = {{"product", ML_PROD}, {NULL, 0}};
/* clang-format on */

const char *bench_options_kind_name(enum bench_kind kind)
{
    return kind_names[kind];
}

const char *bench_options_type_name(ml_type type)
{
    return type_names[type];
}

size_t bench_options_type_size(ml_type type)
{
    return type_sizes[type];
}

const char *bench_options_op_name(ml_op op)
{
    return op_names[op];
}

bool bench_options_kind_reduces(enum bench_kind kind)
{
    return kind == BENCH_ALL_REDUCE || kind == BENCH_REDUCE_SCATTER || kind == BENCH_REDUCE;
}

bool bench_options_kind_is_one_sided(enum bench_kind kind)
{
    return kind == BENCH_PUT || kind == BENCH_GET || kind == BENCH_ATOMIC;
}

static int value_refuse(const char *value, const char *want, struct fault *why)
{
    return fault_set(why, ML_ERR_ARGUMENT, "'%.100s' is not %s", value, want);
}

static int set_size(void *to, const struct option *spec, const char *value, struct fault *why)
{
    return bench_words_size(value, strlen(value), size_most, option_value_field(to, spec))
               ? 0
               : value_refuse(value, "a size such as 8, 64K or 1M", why);
}

static int set_sizes(void *to, const struct option *spec, const char *value, struct fault *why)
{
    struct bench_options *o = &((struct bench_reading *)to)->options;

    (void)spec;
    o->size_count = 0;
    for (const char *at = value;; at++) {
        size_t length = strcspn(at, ",");

        if (o->size_count == BENCH_SIZES)
            return fault_set(why, ML_ERR_ARGUMENT, "more than %d sizes", BENCH_SIZES);
        if (!bench_words_size(at, length, size_most, &o->sizes[o->size_count++]))
            return value_refuse(value, "a list of sizes such as 8,1024,64K", why);
        at += length;
        if (!*at)
            return 0;
    }
}

static int set_type(void *to, const struct option *spec, const char *value, struct fault *why)
{
    int i = bench_words_find(type_names, type_aliases, value);

    if (i < 0)
        return value_refuse(value, "a type such as int32, float16, bfloat16 or float32", why);
    *(ml_type *)option_value_field(to, spec) = (ml_type)i;
    return 0;
}

static int set_op(void *to, const struct option *spec, const char *value, struct fault *why)
{
    int i = bench_words_find(op_names, op_aliases, value);

    if (i < 0)
        return value_refuse(value, "sum, prod, min, max, and, or or xor", why);
    *(ml_op *)option_value_field(to, spec) = (ml_op)i;
    return 0;
}

static int set_check(void *to, const struct option *spec, const char *value, struct fault *why)
{
    struct bench_reading *r = to;
    int of_transfer = CHECK_PLAIN;
    struct option alone = *spec;
    int rc = 0;

    alone.field = 0;
    if (strcmp(value, spec->otherwise) != 0)
        rc = option_value_choice(&of_transfer, &alone, value, why);
    r->options.check = true;
    if (of_transfer != CHECK_PLAIN) {
        r->is_unchecked = of_transfer == CHECK_NONE;
        r->of_transfer = "check with a value";
    }
    return rc;
}

/* What only transfer has. */
static int set_of_transfer(void *to, const struct option *spec, const char *value,
                           struct fault *why)
{
    ((struct bench_reading *)to)->of_transfer = spec->name;
    return (spec->choices ? option_value_choice : option_value_number)(to, spec, value, why);
}

/* What only link has. */
static int set_of_link(void *to, const struct option *spec, const char *value, struct fault *why)
{
    ((struct bench_reading *)to)->of_link = spec->name;
    return (spec->argument ? option_value_number : option_value_flag)(to, spec, value, why);
}

static int set_duration(void *to, const struct option *spec, const char *value, struct fault *why)
{
    struct bench_reading *r = to;
    char *end;
    double seconds = strtod(value, &end);

    if (end == value || *end || !(seconds >= DURATION_LEAST && seconds <= DURATION_MOST))
        return value_refuse(value, "a number of seconds from 0.001 to 3600", why);
    r->options.duration_s = seconds;
    r->of_link = spec->name;
    return 0;
}

static int set_form(void *to, const struct option *spec, const char *value, struct fault *why)
{
    struct bench_options *o = &((struct bench_reading *)to)->options;
    enum bench_form form = strcmp(spec->name, "csv") == 0 ? BENCH_CSV : BENCH_JSON;

    (void)value;
    if (o->form != BENCH_TABLE && o->form != form)
        return fault_set(why, ML_ERR_ARGUMENT, "--json and --csv exclude each other");
    o->form = form;
    return 0;
}

/* Not copied: the words outlive the options. */
static int set_path(void *to, const struct option *spec, const char *value, struct fault *why)
{
    (void)why;
    *(const char **)option_value_field(to, spec) = value;
    return 0;
}

static int set_plot(void *to, const struct option *spec, const char *value, struct fault *why)
{
    size_t length = strlen(value);

    if (length < 5 || strcasecmp(value + length - 4, ".svg") != 0)
        return value_refuse(value, "a file's name that ends in .svg, the only form of a plot", why);
    return set_path(to, spec, value, why);
}

const char *const bench_memory_names[] = {"plain", "alloc", "cuda"};
static const struct named_value memories[] = {
    {"plain", BENCH_PLAIN}, {"alloc", BENCH_ALLOC}, {"cuda", BENCH_CUDA}, {NULL, 0}};
static const struct named_value modes[] = {{"copy", 0}, {"zerocopy", 1}, {NULL, 0}};
/* md5 is the name that hash once had. */
static const struct named_value checks[] = {
    {"hash", CHECK_HASH}, {"none", CHECK_NONE}, {"md5", CHECK_HASH}, {NULL, 0}};

#define OF(member)                          .field = offsetof(struct bench_reading, member)
#define NUMBER(set_it, least, most, member) .set = set_it, .min = least, .max = most, OF(member)

/* clang-format off */
const struct option bench_options_table[] = {
    {NULL, NULL, 'b', "SIZE", "the first size (8)", .set = set_size, OF(first)},
    {NULL, NULL, 'e', "SIZE", "the last size (64M)", .set = set_size, OF(last)},
    {NULL, NULL, 'f', "N", "each size is N (2) times the one before",
     NUMBER(option_value_number, 2, FACTOR_MOST, factor)},
    {"sizes", NULL, 0, "LIST", "these sizes: 8,1024,64K", .set = set_sizes},
    {"type", NULL, 'd', "TYPE", "float32 (default), float16, bfloat16, int32, ...",
     .set = set_type, OF(options.type)},
    {"op", NULL, 'o', "OP", "sum (default), prod, min, max, and, or, xor",
     .set = set_op, OF(options.op)},
    {"memory", NULL, 0, "plain|alloc|cuda",
     "buffers of malloc (default), of ml_alloc, or on NVIDIA GPUs",
     .set = option_value_choice, .choices = memories, OF(options.memory)},
    {"check", NULL, 0, "[hash|none]",
     "compare the results with the right ones; status 1 if they differ; for transfer hash "
     "(default) or none",
     .set = set_check, .choices = checks, .otherwise = "results"},
    {"check-bits", NULL, 0, NULL,
     "reductions: end with a hash of results whose bits depend on the order of the operands",
     .set = option_value_flag, OF(options.check_bits)},
    {"mode", NULL, 0, "copy|zerocopy",
     "transfer: from the program's own memory (default) or from the pool's",
     .set = set_of_transfer, .choices = modes, OF(options.is_zero_copy)},
    {"count", NULL, 0, "N", "transfer: N of each size (default 3)",
     NUMBER(set_of_transfer, 1, ROUNDS_MOST, options.transfers)},
    {"csv", NULL, 0, NULL, "for programs", .set = set_form},
    {"json", NULL, 0, NULL, "for programs", .set = set_form},
    {"stress", NULL, 0, "ROUNDS", "ROUNDS iterations a size, each printed, outliers flagged",
     NUMBER(option_value_number, 1, ROUNDS_MOST, options.stress)},
    {"plot", NULL, 0, "FILE.svg", "a picture too, on rank 0's host",
     .set = set_plot, OF(options.plot)},
    {"svg", NULL, 0, "FILE.svg", "the same; for link a picture of all pairs",
     .set = set_plot, OF(options.plot)},
    {"rounds", NULL, 0, "N", "link: N rounds for each pair and size",
     NUMBER(set_of_link, 1, ROUNDS_MOST, options.rounds)},
    {"wide", NULL, 0, NULL, "link: all columns, also on a narrow terminal",
     .set = set_of_link, OF(options.is_wide)},
    {"duration", NULL, 0, "SECONDS", "link: of each of a round's four parts (default 0.1)",
     .set = set_duration},
    {"no-check", NULL, 0, NULL, "link, transfer: do not check what arrives",
     .set = option_value_flag, OF(is_unchecked)},
    {"tune", NULL, 0, NULL,
     "every algorithm of the operation at every size, and where each is the fastest",
     .set = option_value_flag, OF(options.tune)},
    {"save", NULL, 0, "FILE", "write that for mlaunch --tuning FILE",
     .set = set_path, OF(options.save)},
    {"vary", NULL, 0, "'SETTINGS'",
     "measure with each in turns, and say what is more than noise: 'MLAUNCH_ALGO=a|b', "
     "'-x FLAG=1|'",
     .scope = OPTION_COMMAND},
    {"runs", NULL, 0, "N", "how often each (default 5, the fewest)", .scope = OPTION_COMMAND},
    {"compare", NULL, 0, NULL,
     "no measurement: two files of --json, A and B, side by side; status 1 if B is slower by more "
     "than noise",
     .scope = OPTION_COMMAND},
    {"size", NULL, 0, "LIST", "", .set = set_sizes},
    /* These two mlaunch adds, which knows the terminal. */
    {"colour", NULL, 0, NULL, "", .set = set_of_link, OF(options.is_coloured)},
    {"columns", NULL, 0, "N", "", NUMBER(set_of_link, 0, COLUMNS_MOST, options.columns)},
    {"verbose", NULL, 0, NULL, "link: print every round",
     .set = set_of_link, OF(options.is_verbose)},
    {0}};
/* clang-format on */
static_assert(sizeof(bench_options_table) == (BENCH_OPTIONS + 1) * sizeof(struct option),
              "BENCH_OPTIONS is their number");

static int sizes_list(struct bench_reading *r, struct fault *why)
{
    struct bench_options *o = &r->options;
    bool has_range = r->first >= 0 || r->last >= 0 || r->factor;
    int64_t first = r->first >= 0 ? r->first : 8, last = r->last >= 0 ? r->last : 64 << 20;
    int factor = r->factor ? r->factor : 2;

    if (has_range && o->size_count)
        return fault_set(why, ML_ERR_ARGUMENT, "--sizes and -b, -e, -f exclude each other");
    if (o->kind == BENCH_BARRIER) {
        o->sizes[0] = 0;
        o->size_count = 1;
    }
    if (o->kind == BENCH_ATOMIC) {
        o->sizes[0] = sizeof(uint64_t);
        o->size_count = 1;
        o->type = ML_UINT64;
    }
    if (o->kind == BENCH_LINK && !has_range && !o->size_count) {
        o->sizes[o->size_count++] = 8;
        o->sizes[o->size_count++] = 1 << 20;
    }
    if (o->kind == BENCH_TRANSFER && !has_range && !o->size_count)
        o->sizes[o->size_count++] = 100 << 20;
    if (o->size_count)
        return 0;
    if (first > last)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "-b is larger than -e, so there is no size to measure");
    if (!first)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "-b must be greater than 0; for empty messages use --sizes 0");
    for (int64_t size = first; size < last && o->size_count < BENCH_SIZES; size *= factor)
        o->sizes[o->size_count++] = size;
    if (o->size_count < BENCH_SIZES)
        o->sizes[o->size_count++] = last; /* also where no factor leads to it */
    return 0;
}

/* The algorithms are listed in tune.c. */
static int tune_check(const struct bench_options *o, struct fault *why)
{
    if (o->form != BENCH_TABLE || o->stress || o->plot || o->check || o->check_bits)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--tune prints a table of its own: it goes with none of --csv, --json, "
                         "--stress, --plot, --check and --check-bits");
    if (o->kind != BENCH_ALL_REDUCE && o->kind != BENCH_ALL_GATHER &&
        o->kind != BENCH_REDUCE_SCATTER && o->kind != BENCH_REDUCE && o->kind != BENCH_BROADCAST)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--tune: %s has one algorithm only; all_reduce, all_gather, "
                         "reduce_scatter, reduce and broadcast have several",
                         bench_options_kind_name(o->kind));
    for (int i = 1; i < o->size_count; i++)
        if (o->sizes[i] <= o->sizes[i - 1])
            return fault_set(why, ML_ERR_ARGUMENT, "--tune needs sizes in ascending order");
    return 0;
}

/* What only link has, and what it has not. */
static int link_check(const struct bench_reading *r, struct fault *why)
{
    const struct bench_options *o = &r->options;

    if (o->kind != BENCH_LINK && o->kind != BENCH_TRANSFER && r->is_unchecked)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--no-check is for mlaunch bench link and transfer only: the others check "
                         "nothing without --check");
    if (o->kind != BENCH_LINK)
        return r->of_link ? fault_set(why, ML_ERR_ARGUMENT, "--%s is for mlaunch bench link only",
                                      r->of_link)
                          : 0;
    if (o->stress || o->tune)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "link has neither --stress nor --tune: --rounds N --verbose prints every "
                         "round");
    return 0;
}

/* What only transfer has, and what it has not. */
static int transfer_check(const struct bench_reading *r, struct fault *why)
{
    const struct bench_options *o = &r->options;

    if (o->kind != BENCH_TRANSFER)
        return r->of_transfer ? fault_set(why, ML_ERR_ARGUMENT,
                                          "--%s is for mlaunch bench transfer only", r->of_transfer)
                              : 0;
    if (o->stress || o->tune || o->plot)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "transfer has neither --stress nor --tune nor --plot: --count N makes N "
                         "transfers");
    for (int i = 0; i < o->size_count; i++)
        if (!o->sizes[i])
            return fault_set(why, ML_ERR_ARGUMENT, "a transfer has at least one byte");
    return 0;
}

static int bits_check(const struct bench_options *o, struct fault *why)
{
    if (o->check_bits && !bench_options_kind_reduces(o->kind))
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--check-bits is for all_reduce, reduce_scatter and reduce: %s combines "
                         "nothing",
                         bench_options_kind_name(o->kind));
    if (o->check_bits && o->form == BENCH_CSV)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--check-bits ends with a line of its own, which is no row of --csv: use "
                         "--json");
    return 0;
}

static int memory_check(const struct bench_options *o, struct fault *why)
{
    if (o->memory != BENCH_CUDA || (o->kind != BENCH_LINK && o->kind != BENCH_TRANSFER))
        return 0;
    return fault_set(why, ML_ERR_ARGUMENT, "--memory cuda is not for %s",
                     bench_options_kind_name(o->kind));
}

/* The library would refuse it in every rank. */
static int reduction_check(const struct bench_options *o, struct fault *why)
{
    bool is_complex = o->type == ML_COMPLEX64;
    bool is_float = is_complex || o->type == ML_FLOAT16 || o->type == ML_BFLOAT16 ||
                    o->type == ML_FLOAT32 || o->type == ML_FLOAT64;
    bool is_bits = o->op == ML_AND || o->op == ML_OR || o->op == ML_XOR;

    if (!bench_options_kind_reduces(o->kind) || !(is_bits ? is_float : is_complex) ||
        o->op == ML_SUM || o->op == ML_PROD)
        return 0;
    return fault_set(why, ML_ERR_ARGUMENT, "--op %s is not for %s%s", op_names[o->op],
                     type_names[o->type],
                     is_bits ? ", but for integers and bool: choose one with --type" : "");
}

static int kind_refuse(const char *word, bool is_second, struct fault *why)
{
    const char *near = is_second ? NULL : nearest_word(word, kind_names);

    return fault_set(
        why, ML_ERR_ARGUMENT,
        "%s %.100s%s%s%s; bench measures one of all_reduce, all_gather, reduce_scatter, reduce, "
        "gather, scatter, all_to_all, broadcast, barrier, sendrecv, lat, bw, put, get, atomic, "
        "transfer and link",
        is_second ? "second operation" : "unknown operation", word, near ? " (did you mean " : "",
        near ? near : "", near ? "?)" : "");
}

static int kind_find(struct bench_options *o, const struct string_list *words, struct fault *why)
{
    for (size_t i = 0; i < words->count; i++) {
        int kind = bench_words_find_operation(kind_names, kind_aliases, words->items[i]);

        if (kind < 0 || i > 0)
            return kind_refuse(words->items[i], i > 0 && kind >= 0, why);
        o->kind = (enum bench_kind)kind;
    }
    return 0;
}

void bench_options_begin(struct bench_reading *r)
{
    *r = (struct bench_reading){.options = {.type = ML_FLOAT32,
                                            .op = ML_SUM,
                                            .transfers = 3,
                                            .rounds = 1,
                                            .duration_s = 0.1},
                                .first = -1,
                                .last = -1};
}

int bench_options_end(struct bench_reading *r, const struct string_list *words, struct fault *why)
{
    struct bench_options *o = &r->options;
    int rc = kind_find(o, words, why);

    if (!rc)
        rc = sizes_list(r, why);
    if (!rc)
        rc = link_check(r, why);
    if (!rc)
        rc = transfer_check(r, why);
    if (!rc)
        rc = memory_check(o, why);
    if (!rc)
        rc = reduction_check(o, why);
    if (!rc)
        rc = bits_check(o, why);
    if (!rc && o->tune)
        rc = tune_check(o, why);
    if (!rc && o->save && !o->tune)
        rc = fault_set(why, ML_ERR_ARGUMENT, "--save writes what --tune finds: give both");
    if (!rc && o->plot && o->kind == BENCH_BARRIER)
        rc = fault_set(why, ML_ERR_ARGUMENT, "--plot draws by size, and a barrier has none");
    if (o->kind == BENCH_LINK || o->kind == BENCH_TRANSFER)
        o->check = !r->is_unchecked;
    return rc;
}

int bench_options_parse(struct bench_options *out, int argc, char *const *argv, struct fault *why)
{
    static const struct command_syntax syntax = {.name = "bench",
                                                 .own = bench_options_table,
                                                 .words = COMMAND_MIXED,
                                                 .words_most = SIZE_MAX};
    struct command_line line = {0};
    struct bench_reading r;
    int rc;

    bench_options_begin(&r);
    rc = command_line_read(&line, &syntax, &r, argc, argv, why);
    if (!rc)
        rc = bench_options_end(&r, &line.words, why);
    if (!rc)
        *out = r.options;
    command_line_clear(&line);
    return rc;
}
