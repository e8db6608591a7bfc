/* SPDX-License-Identifier: MIT */
#include "launcher/tools/bench/command/bench_options.h"

#include "common/text/number.h"
#include "launcher/base/text/nearest.h"
#include "launcher/tools/bench/command/bench_words.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

/* The options read so far, before the sizes are listed. */
struct reading {
    struct bench_options *out;
    int64_t first, last, factor;
    bool has_range, is_unchecked;
    const char *of_link;     /* an option that only link has; or NULL */
    const char *of_transfer; /* the same */
};

static int value_refuse(const char *name, const char *value, const char *want, struct fault *why)
{
    return fault_set(why, ML_ERR_ARGUMENT, "%s: '%.100s' is not %s", name, value, want);
}

static int set_first(struct reading *r, const char *name, const char *value, struct fault *why)
{
    r->has_range = true;
    return bench_words_size(value, strlen(value), size_most, &r->first)
               ? 0
               : value_refuse(name, value, "a size such as 8, 64K or 1M", why);
}

static int set_last(struct reading *r, const char *name, const char *value, struct fault *why)
{
    r->has_range = true;
    return bench_words_size(value, strlen(value), size_most, &r->last)
               ? 0
               : value_refuse(name, value, "a size such as 8, 64K or 1M", why);
}

static int set_factor(struct reading *r, const char *name, const char *value, struct fault *why)
{
    r->has_range = true;
    return number_parse(value, 2, FACTOR_MOST, &r->factor)
               ? 0
               : value_refuse(name, value, "a factor of 2 or more", why);
}

static int set_sizes(struct reading *r, const char *name, const char *value, struct fault *why)
{
    struct bench_options *o = r->out;

    o->size_count = 0;
    for (const char *at = value;; at++) {
        size_t length = strcspn(at, ",");

        if (o->size_count == BENCH_SIZES)
            return fault_set(why, ML_ERR_ARGUMENT, "%s: more than %d sizes", name, BENCH_SIZES);
        if (!bench_words_size(at, length, size_most, &o->sizes[o->size_count++]))
            return value_refuse(name, value, "a list of sizes such as 8,1024,64K", why);
        at += length;
        if (!*at)
            return 0;
    }
}

static int set_type(struct reading *r, const char *name, const char *value, struct fault *why)
{
    int i = bench_words_find(type_names, type_aliases, value);

    if (i < 0)
        return value_refuse(name, value, "a type such as int32, float16, bfloat16 or float32", why);
    r->out->type = (ml_type)i;
    return 0;
}

static int set_op(struct reading *r, const char *name, const char *value, struct fault *why)
{
    int i = bench_words_find(op_names, op_aliases, value);

    if (i < 0)
        return value_refuse(name, value, "sum, prod, min, max, and, or or xor", why);
    r->out->op = (ml_op)i;
    return 0;
}

static int set_memory(struct reading *r, const char *name, const char *value, struct fault *why)
{
    r->out->uses_alloc = strcmp(value, "alloc") == 0;
    return r->out->uses_alloc || strcmp(value, "plain") == 0
               ? 0
               : value_refuse(name, value, "plain or alloc", why);
}

/* The values that --check may have; md5 is the name that hash once had. */
static bool is_check(const char *word)
{
    return strcmp(word, "hash") == 0 || strcmp(word, "md5") == 0 || strcmp(word, "none") == 0;
}

static int set_check(struct reading *r, const char *name, const char *value, struct fault *why)
{
    if (value && !is_check(value))
        return value_refuse(name, value, "hash or none", why);
    r->out->check = true;
    if (value) {
        r->is_unchecked = strcmp(value, "none") == 0;
        r->of_transfer = "--check with a value";
    }
    return 0;
}

static int set_tune(struct reading *r, const char *name, const char *value, struct fault *why)
{
    (void)name;
    (void)value;
    (void)why;
    r->out->tune = true;
    return 0;
}

static int set_no_check(struct reading *r, const char *name, const char *value, struct fault *why)
{
    (void)name;
    (void)value;
    (void)why;
    r->is_unchecked = true;
    return 0;
}

static int set_mode(struct reading *r, const char *name, const char *value, struct fault *why)
{
    r->of_transfer = name;
    r->out->is_zero_copy = strcmp(value, "zerocopy") == 0;
    return r->out->is_zero_copy || strcmp(value, "copy") == 0
               ? 0
               : value_refuse(name, value, "copy or zerocopy", why);
}

static int set_count(struct reading *r, const char *name, const char *value, struct fault *why)
{
    int64_t count;

    if (!number_parse(value, 1, ROUNDS_MOST, &count))
        return value_refuse(name, value, "a number of transfers", why);
    r->out->transfers = (int)count;
    r->of_transfer = name;
    return 0;
}

static int set_rounds(struct reading *r, const char *name, const char *value, struct fault *why)
{
    int64_t rounds;

    if (!number_parse(value, 1, ROUNDS_MOST, &rounds))
        return value_refuse(name, value, "a number of rounds", why);
    r->out->rounds = (int)rounds;
    r->of_link = name;
    return 0;
}

static int set_duration(struct reading *r, const char *name, const char *value, struct fault *why)
{
    char *end;
    double seconds = strtod(value, &end);

    if (end == value || *end || !(seconds >= DURATION_LEAST && seconds <= DURATION_MOST))
        return value_refuse(name, value, "a number of seconds from 0.001 to 3600", why);
    r->out->duration_s = seconds;
    r->of_link = name;
    return 0;
}

static int set_verbose(struct reading *r, const char *name, const char *value, struct fault *why)
{
    (void)value;
    (void)why;
    r->out->is_verbose = true;
    r->of_link = name;
    return 0;
}

static int set_colour(struct reading *r, const char *name, const char *value, struct fault *why)
{
    (void)value;
    (void)why;
    r->out->is_coloured = true;
    r->of_link = name;
    return 0;
}

static int set_wide(struct reading *r, const char *name, const char *value, struct fault *why)
{
    (void)value;
    (void)why;
    r->out->is_wide = true;
    r->of_link = name;
    return 0;
}

static int set_columns(struct reading *r, const char *name, const char *value, struct fault *why)
{
    int64_t columns;

    if (!number_parse(value, 0, COLUMNS_MOST, &columns))
        return value_refuse(name, value, "a number of columns", why);
    r->out->columns = (int)columns;
    r->of_link = name;
    return 0;
}

static int set_form(struct reading *r, const char *name, const char *value, struct fault *why)
{
    enum bench_form form = strcmp(name, "--csv") == 0 ? BENCH_CSV : BENCH_JSON;

    (void)value;
    if (r->out->form != BENCH_TABLE && r->out->form != form)
        return fault_set(why, ML_ERR_ARGUMENT, "--json and --csv exclude each other");
    r->out->form = form;
    return 0;
}

static int set_stress(struct reading *r, const char *name, const char *value, struct fault *why)
{
    int64_t rounds;

    if (!number_parse(value, 1, ROUNDS_MOST, &rounds))
        return value_refuse(name, value, "a number of rounds", why);
    r->out->stress = (int)rounds;
    return 0;
}

static int set_save(struct reading *r, const char *name, const char *value, struct fault *why)
{
    if (!*value)
        return value_refuse(name, value, "a file's name", why);
    r->out->save = value;
    return 0;
}

static int set_plot(struct reading *r, const char *name, const char *value, struct fault *why)
{
    size_t length = strlen(value);

    if (length < 5 || strcasecmp(value + length - 4, ".svg") != 0)
        return value_refuse(name, value, "a file's name that ends in .svg, the only form of a plot",
                            why);
    r->out->plot = value;
    return 0;
}

static const struct bench_option {
    const char *name;
    bool takes_value;
    int (*set)(struct reading *r, const char *name, const char *value, struct fault *why);
} option_table[] = {
    {"-b", true, set_first},
    {"-e", true, set_last},
    {"-f", true, set_factor},
    {"-d", true, set_type},
    {"-o", true, set_op},
    {"--sizes", true, set_sizes},
    {"--size", true, set_sizes},
    {"--mode", true, set_mode},
    {"--count", true, set_count},
    {"--type", true, set_type},
    {"--op", true, set_op},
    {"--check", false, set_check},
    {"--json", false, set_form},
    {"--csv", false, set_form},
    {"--stress", true, set_stress},
    {"--plot", true, set_plot},
    {"--tune", false, set_tune},
    {"--memory", true, set_memory},
    {"--save", true, set_save},
    {"--svg", true, set_plot},
    {"--rounds", true, set_rounds},
    {"--duration", true, set_duration},
    {"--verbose", false, set_verbose},
    {"--no-check", false, set_no_check},
    {"--wide", false, set_wide},
    {"--colour", false, set_colour}, /* these two mlaunch adds, which knows the terminal */
    {"--columns", true, set_columns},
    {NULL, false, NULL},
};

static bool is_named(const struct bench_option *s, const char *word)
{
    size_t length = strlen(s->name);

    return strncmp(word, s->name, length) == 0 &&
           (!word[length] || (word[length] == '=' && word[1] == '-'));
}

static const struct bench_option *option_of(const char *word)
{
    for (const struct bench_option *s = option_table; s->name; s++) {
        if (is_named(s, word))
            return s;
    }
    return NULL;
}

const char *bench_options_nearest(const char *word)
{
    struct nearest n = {.typed = word};

    for (const struct bench_option *s = option_table; s->name; s++)
        nearest_offer(&n, s->name);
    return nearest_slip(&n);
}

bool bench_options_has(const char *word, bool *takes_value)
{
    const struct bench_option *s = option_of(word);

    *takes_value = s && s->takes_value;
    return s != NULL;
}

static int option_read(struct reading *r, char *const **words, struct fault *why)
{
    const char *word = **words, *value = strchr(word, '=');
    const struct bench_option *s = option_of(word);

    if (!s)
        return fault_set(why, ML_ERR_ARGUMENT, "unknown option %.100s; see mlaunch bench --help",
                         word);
    if (s->set == set_check && !value && (*words)[1] && is_check((*words)[1])) {
        *words += 2;
        return set_check(r, s->name, (*words)[-1], why);
    }
    if (value && !s->takes_value && s->set != set_check)
        return fault_set(why, ML_ERR_ARGUMENT, "%s takes no value", s->name);
    if (value)
        value++;
    else if (s->takes_value && !(value = *++*words))
        return fault_set(why, ML_ERR_ARGUMENT, "%s needs a value", s->name);
    ++*words;
    return s->set(r, s->name, value, why);
}

static int sizes_list(struct reading *r, struct fault *why)
{
    struct bench_options *o = r->out;

    if (r->has_range && o->size_count)
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
    if (o->kind == BENCH_LINK && !r->has_range && !o->size_count) {
        o->sizes[o->size_count++] = 8;
        o->sizes[o->size_count++] = 1 << 20;
    }
    if (o->kind == BENCH_TRANSFER && !r->has_range && !o->size_count)
        o->sizes[o->size_count++] = 100 << 20;
    if (o->size_count)
        return 0;
    if (r->first > r->last)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "-b is larger than -e, so there is no size to measure");
    if (!r->first)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "-b must be greater than 0; for empty messages use --sizes 0");
    for (int64_t size = r->first; size < r->last && o->size_count < BENCH_SIZES; size *= r->factor)
        o->sizes[o->size_count++] = size;
    if (o->size_count < BENCH_SIZES)
        o->sizes[o->size_count++] = r->last; /* also where no factor leads to it */
    return 0;
}

/* The algorithms are listed in tune.c. */
static int tune_check(const struct bench_options *o, struct fault *why)
{
    if (o->form != BENCH_TABLE || o->stress || o->plot || o->check)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--tune prints a table of its own: it goes with none of --csv, --json, "
                         "--stress, --plot and --check");
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
static int link_check(const struct reading *r, struct fault *why)
{
    struct bench_options *o = r->out;

    if (o->kind != BENCH_LINK && o->kind != BENCH_TRANSFER && r->is_unchecked)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--no-check is for mlaunch bench link and transfer only: the others check "
                         "nothing without --check");
    if (o->kind != BENCH_LINK)
        return r->of_link ? fault_set(why, ML_ERR_ARGUMENT, "%s is for mlaunch bench link only",
                                      r->of_link)
                          : 0;
    if (o->stress || o->tune)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "link has neither --stress nor --tune: --rounds N --verbose prints every "
                         "round");
    o->check = !r->is_unchecked;
    return 0;
}

/* What only transfer has, and what it has not. */
static int transfer_check(const struct reading *r, struct fault *why)
{
    struct bench_options *o = r->out;

    if (o->kind != BENCH_TRANSFER)
        return r->of_transfer ? fault_set(why, ML_ERR_ARGUMENT,
                                          "%s is for mlaunch bench transfer only", r->of_transfer)
                              : 0;
    if (o->stress || o->tune || o->plot)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "transfer has neither --stress nor --tune nor --plot: --count N makes N "
                         "transfers");
    for (int i = 0; i < o->size_count; i++)
        if (!o->sizes[i])
            return fault_set(why, ML_ERR_ARGUMENT, "a transfer has at least one byte");
    o->check = !r->is_unchecked;
    return 0;
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
        "bench measures one of all_reduce, all_gather, reduce_scatter, reduce, gather, "
        "scatter, all_to_all, broadcast, barrier, sendrecv, lat, bw, put, get, atomic, transfer "
        "and link%s%.100s%s%s%s",
        is_second ? ", not two: " : ", not ", word, near ? "; did you mean " : "", near ? near : "",
        near ? "?" : "");
}

static int args_parse(struct reading *r, char *const *words, struct fault *why)
{
    bool has_kind = false;
    int rc = 0;

    while (!rc && *words) {
        int kind = bench_words_find_operation(kind_names, kind_aliases, *words);

        if (**words == '-') {
            rc = option_read(r, &words, why);
        } else if (kind < 0 || has_kind) {
            rc = kind_refuse(*words, has_kind && kind >= 0, why);
        } else {
            r->out->kind = (enum bench_kind)kind;
            has_kind = true;
            words++;
        }
    }
    return rc;
}

int bench_options_parse(struct bench_options *out, char *const *words, struct fault *why)
{
    struct bench_options o = {
        .type = ML_FLOAT32, .op = ML_SUM, .transfers = 3, .rounds = 1, .duration_s = 0.1};
    struct reading r = {.out = &o, .first = 8, .last = 64 << 20, .factor = 2};
    int rc = args_parse(&r, words, why);

    if (!rc)
        rc = sizes_list(&r, why);
    if (!rc)
        rc = link_check(&r, why);
    if (!rc)
        rc = transfer_check(&r, why);
    if (!rc)
        rc = reduction_check(&o, why);
    if (!rc && o.tune)
        rc = tune_check(&o, why);
    if (!rc && o.save && !o.tune)
        rc = fault_set(why, ML_ERR_ARGUMENT, "--save writes what --tune finds: give both");
    if (!rc && o.plot && o.kind == BENCH_BARRIER)
        rc = fault_set(why, ML_ERR_ARGUMENT, "--plot draws by size, and a barrier has none");
    if (!rc)
        *out = o;
    return rc;
}
