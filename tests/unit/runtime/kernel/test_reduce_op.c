/* SPDX-License-Identifier: MIT */
/* Compares runtime/kernel/reduce_op.c with a plain reference that works on one element at a time
 * and shares no code with it. */
#include "runtime/kernel/reduce_op.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { LONGEST = 67, ELEMENT = 8, GUARD = 64 };

/* The bits of one element as an integer, and back. */
static uint64_t element_get(const void *p, size_t i, size_t size)
{
    uint64_t u = 0;

    memcpy(&u, (const char *)p + i * size, size);
    return u;
}

static void element_put(void *p, size_t i, size_t size, uint64_t bits)
{
    memcpy((char *)p + i * size, &bits, size);
}

/* A small binary format with `digits` bits of mantissa and the exponent's bias, as a double; and
 * back. */
static double decode(uint16_t h, int digits, int bias)
{
    int top = (0x7fff >> digits), exponent = (h & 0x7fff) >> digits;
    int mantissa = h & ((1 << digits) - 1);
    double value;

    if (exponent == top)
        value = mantissa ? NAN : INFINITY;
    else if (exponent == 0)
        value = ldexp(mantissa, 1 - bias - digits);
    else
        value = ldexp(mantissa + (1 << digits), exponent - bias - digits);
    return h & 0x8000 ? -value : value;
}

static uint16_t encode(double value, int digits, int bias)
{
    int infinity = (0x7fff >> digits) << digits, exponent, bits;
    uint16_t sign = signbit(value) ? 0x8000 : 0;

    if (isinf(value))
        return (uint16_t)(sign | infinity);
    if (value == 0)
        return sign;
    exponent = ilogb(value) < 1 - bias ? 1 - bias : ilogb(value);
    /* The default rounding mode is the right one: to nearest, ties to even. */
    bits = (int)nearbyint(ldexp(fabs(value), digits - exponent));
    bits += (exponent + bias - 1) << digits;
    return (uint16_t)(sign | (bits > infinity ? infinity : bits));
}

/* What float32 gives for numbers; callers treat NaNs. */
static float float_reference(float a, float b, int op)
{
    volatile float r;

    switch (op) {
    case ML_SUM:
        r = a + b;
        break;
    case ML_PROD:
        r = a * b;
        break;
    case ML_MIN:
        r = b < a ? b : a;
        break;
    default:
        r = b > a ? b : a;
    }
    return r;
}

/* The left operand's NaN wins and is made quiet; a NaN that arises is the CPU's own (here: that of
 * 0 * inf). */
static uint64_t small_reference(uint64_t a, uint64_t b, int op, int digits, int bias)
{
    uint64_t infinity = (uint64_t)(0x7fff >> digits) << digits, quiet = 1ull << (digits - 1);
    float result;

    if ((a & 0x7fff) > infinity)
        return a | quiet;
    if ((b & 0x7fff) > infinity)
        return b | quiet;
    result = float_reference((float)decode((uint16_t)a, digits, bias),
                             (float)decode((uint16_t)b, digits, bias), op);
    if (isnan(result))
        return infinity | quiet | (signbit(result) ? 0x8000 : 0);
    return encode(result, digits, bias);
}

static uint32_t float32_reference(uint32_t a, uint32_t b, int op)
{
    float x, y, r;
    uint32_t bits;

    memcpy(&x, &a, 4);
    memcpy(&y, &b, 4);
    if (isnan(x))
        return a | 0x400000;
    if (isnan(y))
        return b | 0x400000;
    r = float_reference(x, y, op);
    memcpy(&bits, &r, 4);
    return bits;
}

static uint64_t float64_reference(uint64_t a, uint64_t b, int op)
{
    double x, y;
    volatile double r;
    uint64_t bits;

    memcpy(&x, &a, 8);
    memcpy(&y, &b, 8);
    if (isnan(x))
        return a | 0x8000000000000;
    if (isnan(y))
        return b | 0x8000000000000;
    r = op == ML_SUM    ? x + y
        : op == ML_PROD ? x * y
        : op == ML_MIN  ? (y < x ? y : x)
        : y > x         ? y
                        : x;
    memcpy(&bits, (const void *)&r, 8);
    return bits;
}

static uint64_t complex_reference(uint64_t a, uint64_t b, int op)
{
    uint32_t re = (uint32_t)a, im = (uint32_t)(a >> 32);
    uint32_t re2 = (uint32_t)b, im2 = (uint32_t)(b >> 32), x, y;

    if (op == ML_SUM) {
        x = float32_reference(re, re2, ML_SUM);
        y = float32_reference(im, im2, ML_SUM);
    } else {
        uint32_t right = float32_reference(im, im2, ML_PROD);

        /* x - y is x + -y, except that a NaN keeps its sign. */
        if ((right & 0x7fffffff) <= 0x7f800000)
            right ^= 0x80000000;
        x = float32_reference(float32_reference(re, re2, ML_PROD), right, ML_SUM);
        y = float32_reference(float32_reference(re, im2, ML_PROD),
                              float32_reference(im, re2, ML_PROD), ML_SUM);
    }
    return (uint64_t)y << 32 | x;
}

static uint64_t bool_reference(bool a, bool b, int op)
{
    switch (op) {
    case ML_XOR:
        return a != b;
    case ML_PROD:
    case ML_MIN:
    case ML_AND:
        return a && b;
    default:
        return a || b;
    }
}

static uint64_t integer_reference(uint64_t a, uint64_t b, int op, size_t size, bool is_signed)
{
    unsigned shift = 64 - 8 * (unsigned)size;
    bool less; /* b < a */

    if (is_signed)
        less = (int64_t)(b << shift) < (int64_t)(a << shift);
    else
        less = b < a;
    switch (op) {
    case ML_SUM:
        return (a + b) << shift >> shift;
    case ML_PROD:
        return (a * b) << shift >> shift;
    case ML_MIN:
        return less ? b : a;
    case ML_MAX:
        return less ? a : b;
    case ML_AND:
        return a & b;
    case ML_OR:
        return a | b;
    default:
        return a ^ b;
    }
}

static uint64_t reference(uint64_t a, uint64_t b, int type, int op)
{
    switch (type) {
    case ML_BOOL:
        return bool_reference(a != 0, b != 0, op);
    case ML_FLOAT16:
        return small_reference(a, b, op, 10, 15);
    case ML_BFLOAT16:
        return small_reference(a, b, op, 7, 127);
    case ML_FLOAT32:
        return float32_reference((uint32_t)a, (uint32_t)b, op);
    case ML_FLOAT64:
        return float64_reference(a, b, op);
    case ML_COMPLEX64:
        return complex_reference(a, b, op);
    default:
        return integer_reference(a, b, op, reduce_type_size(type),
                                 type >= ML_INT8 && type <= ML_INT64);
    }
}

static uint64_t random_bits(void)
{
    static uint64_t state = 20240229;

    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 0x2545f4914f6cdd1d;
}

static const uint16_t special16[] = {
    0,      0x8000, 1,      0x8001, 0x03ff, 0x0400, 0x3c00, 0xbc00, 0x3c01, 0x7bff, 0xfbff, 0x7c00,
    0xfc00, 0x7e00, 0xfe01, 0x7c01, 0xfd55, 0x7f80, 0xff80, 0x7f81, 0xffc1, 0x7f7f, 0x0080, 0x3f80,
};
static const uint32_t special32[] = {
    0,          0x80000000, 1,          0x807fffff, 0x00800000, 0x3f800000,
    0xbf800001, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000,
    0xffc01234, 0x7f800001, 0xffa00002, 0x34000000, 0x7fffffff,
};
static const uint64_t special64[] = {
    0,
    0x8000000000000000,
    1,
    0x000fffffffffffff,
    0x0010000000000000,
    0x3ff0000000000000,
    0xbff0000000000001,
    0x7fefffffffffffff,
    0xffefffffffffffff,
    0x7ff0000000000000,
    0xfff0000000000000,
    0x7ff8000000000000,
    0xfff8000000001234,
    0x7ff0000000000001,
    0xfff4000000000002,
    0x3ca0000000000000,
    0x7fffffffffffffff,
};
#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* The i-th test value: first the special ones, then random ones. */
static uint64_t value_of_interest(size_t i, int type)
{
    size_t size = reduce_type_size(type);

    if (type == ML_COMPLEX64)
        return (uint64_t)value_of_interest(i / 5, ML_FLOAT32) << 32 |
               value_of_interest(i, ML_FLOAT32);
    if (size == 2 && i < LENGTH(special16))
        return special16[i];
    if (size == 4 && i < LENGTH(special32))
        return special32[i];
    if (size == 8 && i < LENGTH(special64))
        return special64[i];
    return random_bits() >> (64 - 8 * size);
}

static void compare(const void *out, const void *a, const void *b, size_t count, int type, int op,
                    const char *what)
{
    size_t size = reduce_type_size(type);

    for (size_t i = 0; i < count; i++) {
        uint64_t x = element_get(a, i, size), y = element_get(b, i, size);
        uint64_t is = element_get(out, i, size), expected = reference(x, y, type, op);

        if (is != expected)
            fail_msg("%s: %s %s, element %zu of %zu: %#llx, %#llx give %#llx, expected %#llx", what,
                     reduce_type_name(type), reduce_op_name(op), i, count, (unsigned long long)x,
                     (unsigned long long)y, (unsigned long long)is, (unsigned long long)expected);
    }
}

/* Runs `check` for each kernel that this machine can run. */
static void each_kernel(void (*check)(reduce_fn *f, int type, int op))
{
    for (int cpu = 0; cpu < REDUCE_CPUS; cpu++)
        for (int type = 0; type < REDUCE_TYPES; type++)
            for (int op = 0; op < REDUCE_OPS; op++)
                if (reduce_op_for(cpu, type, op))
                    check(reduce_op_for(cpu, type, op), type, op);
}

static void check_special_values(reduce_fn *f, int type, int op)
{
    enum { VALUES = 64 };
    uint64_t a[VALUES * VALUES], b[VALUES * VALUES], out[VALUES * VALUES];
    size_t size = reduce_type_size(type), i;

    for (i = 0; i < (size_t)VALUES * VALUES; i++) {
        element_put(a, i, size, value_of_interest(i / VALUES, type));
        element_put(b, i, size, value_of_interest(i % VALUES, type));
    }
    f(out, a, b, i);
    compare(out, a, b, i, type, op, "values");
}

static void test_special_values(void **state)
{
    (void)state;
    each_kernel(check_special_values);
}

static void check_every_small_value(reduce_fn *f, int type, int op)
{
    enum { ALL = 1 << 16 };
    static uint16_t a[ALL], b[ALL], out[ALL];

    if (reduce_type_size(type) != 2)
        return;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < ALL; i++) {
            a[i] = (uint16_t)i;
            b[i] = round == 0 ? 0x8000 : (uint16_t)random_bits(); /* a + -0 is a */
        }
        f(out, a, b, ALL);
        compare(out, a, b, ALL, type, op, "every value");
    }
}

static void test_every_small_value(void **state)
{
    (void)state;
    each_kernel(check_every_small_value);
}

/* Checks one count with one offset of each buffer from an aligned address; in place too. The bytes
 * around must not change. */
static void check_place(reduce_fn *f, int type, int op, size_t count, size_t offset)
{
    char a_room[GUARD + LONGEST * ELEMENT], b_room[GUARD + LONGEST * ELEMENT];
    char room[GUARD + LONGEST * ELEMENT + GUARD], before[sizeof(room)];
    size_t size = reduce_type_size(type);
    char *a = a_room + offset, *b = b_room + 3 * offset % 16, *out = room + GUARD + 5 * offset % 16;

    for (int alias = 0; alias < 3; alias++) { /* out: its own, a's, b's */
        for (size_t i = 0; i < count; i++) {
            element_put(a, i, size, value_of_interest(random_bits() % 40, type));
            element_put(b, i, size, value_of_interest(random_bits() % 40, type));
        }
        memset(room, 0x5a, sizeof(room));
        if (alias)
            memcpy(out, alias == 1 ? a : b, count * size);
        memcpy(before, room, sizeof(room));
        f(out, alias == 1 ? out : a, alias == 2 ? out : b, count);
        compare(out, a, b, count, type, op, "places");
        memcpy(before + (out - room), out, count * size);
        assert_memory_equal(room, before, sizeof(room));
    }
}

static void check_places(reduce_fn *f, int type, int op)
{
    for (size_t count = 0; count <= LONGEST; count++)
        for (size_t offset = 0; offset < 16; offset += count < 8 ? 1 : 5)
            check_place(f, type, op, count, offset);
}

static void test_places(void **state)
{
    (void)state;
    each_kernel(check_places);
}

static void test_pairs(void **state)
{
    (void)state;
    for (int type = -1; type <= REDUCE_TYPES; type++)
        for (int op = -1; op <= REDUCE_OPS; op++) {
            bool exists = type >= 0 && type < REDUCE_TYPES && op >= 0 && op < REDUCE_OPS;
            bool is_float = type >= ML_FLOAT16;
            bool expected =
                exists && !(is_float && op >= ML_AND) && !(type == ML_COMPLEX64 && op > ML_PROD);

            assert_int_equal(reduce_op_is_valid(type, op), expected);
            assert_int_equal(reduce_op(type, op) != NULL, expected);
        }
}

static void test_names(void **state)
{
    static const size_t sizes[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 8};

    (void)state;
    for (int type = 0; type < REDUCE_TYPES; type++)
        assert_int_equal(reduce_type_size(type), sizes[type]);
    assert_int_equal(reduce_type_size(-1), 0);
    assert_int_equal(reduce_type_size(REDUCE_TYPES), 0);
    assert_string_equal(reduce_type_name(ML_BFLOAT16), "bfloat16");
    assert_string_equal(reduce_type_name(ML_COMPLEX64), "complex64");
    assert_string_equal(reduce_type_name(-1), "?");
    assert_string_equal(reduce_op_name(ML_SUM), "sum");
    assert_string_equal(reduce_op_name(ML_XOR), "xor");
    assert_string_equal(reduce_op_name(REDUCE_OPS), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),          cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_special_values), cmocka_unit_test(test_every_small_value),
        cmocka_unit_test(test_places),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
