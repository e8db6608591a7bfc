/* SPDX-License-Identifier: MIT */
/*
 * llm_kernels_x86.h: the kernels in x86's vectors of 256 bits, for the file that includes it,
 * llm_kernels_avx2.c or llm_kernels_avx512.c. The latter defines KERNEL_VNNI. One instruction then
 * does what takes three with AVX2 (products of bytes, added up by fours), and there are 32
 * registers. Vectors of 512 bits would be no faster: memory is the limit.
 *
 * A tile is R rows of the matrix times C vectors. What is read of a row is used for C vectors, what
 * is read of a vector for R rows, and the R * C sums are in registers. R, C and the type are
 * constants wherever tile_sum is called, so the compiler makes a function for each of them.
 *
 * For a single vector, memory is the limit, and it is fast only if it is read in one stream. So
 * what a tile will need is fetched some rows in advance, in the order of the file. How far in
 * advance and how many rows a tile has were measured: rows of 1024 numbers in Q8_0 come at 93 % of
 * the speed of plain reading, with two rows and 8 KiB; four rows, fetched four rows in advance, had
 * 77 %. (Rows of 3072 numbers: 87 and 70 %.) Q4_0 and the K types are no faster with fewer rows.
 *
 * Instructions multiply unsigned bytes by signed ones. So a row's q has a constant added to it that
 * makes it unsigned, and that constant times the sum of the vector's four q is the product's
 * beginning (`fours` has it, times -8). AVX2's sum of two products has only 16 bits, too few for
 * Q8_0; there, the row's sign is moved to the vector's bytes.
 */
#ifndef LLM_COMPUTE_LLM_KERNELS_X86_H
#define LLM_COMPUTE_LLM_KERNELS_X86_H

#include "block_values.h"
#include "exponential.h"
#include "llm_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <math.h>

#if defined(KERNEL_VNNI)
#define KERNEL_TARGET __attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512vl,avx512vnni")))
enum { TILE_ROWS = 4 };
#else
#define KERNEL_TARGET __attribute__((target("avx2,fma,f16c")))
enum { TILE_ROWS = 2 };
#endif
#define KERNEL_INLINE KERNEL_TARGET static inline __attribute__((always_inline))
enum {
    TILE_VECTORS = 4,
    TILE_MOST = 4,
    LANES = 8,
    PARTS_MOST = 8,
    CACHE_LINE = 64,
    ROWS_AHEAD = 8192, /* quantized rows: what is fetched in advance, in bytes */
    ROW_AHEAD = 2048,  /* the same of rows of floats */
};

#if defined(__clang__)
#define UNROLLED _Pragma("clang loop unroll(full)")
#else
#define UNROLLED _Pragma("GCC unroll 16")
#endif

/* --- a block of 32 numbers ---------------------------------------------------------------------
 */

/* The scales of what is read of a row at a time: 32 numbers, or of the K types 256. */
struct row_scales {
    float scale[2 * PARTS_MOST];
    float minimum[PARTS_MOST];
};

KERNEL_INLINE __m256 half_everywhere(const uint8_t *at)
{
    return _mm256_cvtph_ps(_mm_set1_epi16((short)bits16_at(at)));
}

KERNEL_INLINE __m256 eight_scales(__m128i bytes_as_unsigned, __m256 factor)
{
    return _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes_as_unsigned)), factor);
}

/* block_values_scales for all eight parts at once: a byte for each. */
KERNEL_INLINE void q4_k_scales(const uint8_t *block, struct row_scales *out)
{
    const uint32_t low6 = 0x3f3f3f3f, low4 = 0x0f0f0f0f, low2 = 0x03030303;
    uint32_t packed[3];
    uint64_t s, t;

    memcpy(packed, block + Q4_K_SCALES, sizeof(packed));
    s = (packed[0] & low6) | (uint64_t)((packed[2] & low4) | (packed[0] >> 6 & low2) << 4) << 32;
    t = (packed[1] & low6) | (uint64_t)((packed[2] >> 4 & low4) | (packed[1] >> 6 & low2) << 4)
                                 << 32;
    _mm256_storeu_ps(out->scale,
                     eight_scales(_mm_cvtsi64_si128((long long)s), half_everywhere(block)));
    _mm256_storeu_ps(out->minimum, eight_scales(_mm_cvtsi64_si128((long long)t),
                                                half_everywhere(block + Q4_K_MINIMUM)));
}

KERNEL_INLINE void q6_k_scales(const uint8_t *block, struct row_scales *out)
{
    __m128i s = _mm_loadu_si128((const __m128i *)(block + Q6_K_SCALES));
    __m256 d = half_everywhere(block + Q6_K_SCALE);

    _mm256_storeu_ps(out->scale, _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(s)), d));
    _mm256_storeu_ps(
        out->scale + LANES,
        _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(s, 8))), d));
}

/* The scale of each lane, which has four of the 32 products. */
KERNEL_INLINE __m256 part_scale(const enum gguf_type type, const uint8_t *block,
                                const struct row_scales *s, int part)
{
    if (type == GGUF_Q4_K)
        return _mm256_broadcast_ss(&s->scale[part]);
    if (type == GGUF_Q6_K)
        return _mm256_set_m128(_mm_broadcast_ss(&s->scale[2 * part + 1]),
                               _mm_broadcast_ss(&s->scale[2 * part]));
    return half_everywhere(block);
}

KERNEL_INLINE __m256i load_bytes(const uint8_t *at)
{
    return _mm256_loadu_si256((const __m256i *)at);
}

/* The row's 32 numbers: unsigned, but signed those of Q8_0 in AVX2. */
KERNEL_INLINE __m256i part_numbers(const enum gguf_type type, const uint8_t *block, int part)
{
    const __m256i low4 = _mm256_set1_epi8(15);
    __m256i low, upper;

    if (type == GGUF_Q8_0) {
#if defined(KERNEL_VNNI)
        return _mm256_xor_si256(load_bytes(block + 2), _mm256_set1_epi8(-128));
#else
        return load_bytes(block + 2);
#endif
    }
    if (type == GGUF_Q4_0) {
        __m128i both = _mm_loadu_si128((const __m128i *)(block + 2));

        return _mm256_and_si256(_mm256_set_m128i(_mm_srli_epi16(both, 4), both), low4);
    }
    if (type == GGUF_Q4_K) {
        low = load_bytes(block + Q4_K_VALUES + part / 2 * 32);
        return _mm256_and_si256(part % 2 ? _mm256_srli_epi16(low, 4) : low, low4);
    }
    low = load_bytes(block + part / 4 * 64 + part % 2 * 32);
    low = _mm256_and_si256(part % 4 / 2 ? _mm256_srli_epi16(low, 4) : low, low4);
    upper = load_bytes(block + Q6_K_UPPER + part / 4 * 32);
    upper = _mm256_and_si256(_mm256_srli_epi16(upper, 2 * (part % 4)), _mm256_set1_epi8(3));
    return _mm256_or_si256(low, _mm256_slli_epi16(upper, 4));
}

/* What the products of four begin with. */
KERNEL_INLINE __m256i part_beginning(const enum gguf_type type, const int32_t *fours)
{
    __m256i f;

    if (type == GGUF_Q4_K)
        return _mm256_setzero_si256();
    f = _mm256_loadu_si256((const __m256i *)fours);
    if (type == GGUF_Q4_0)
        return f;
    if (type == GGUF_Q6_K)
        return _mm256_slli_epi32(f, 2);
#if defined(KERNEL_VNNI)
    return _mm256_slli_epi32(f, 4);
#else
    return _mm256_setzero_si256();
#endif
}

KERNEL_INLINE __m256i part_products(const enum gguf_type type, __m256i beginning, __m256i w,
                                    __m256i x)
{
#if defined(KERNEL_VNNI)
    (void)type;
    return _mm256_dpbusd_epi32(beginning, w, x);
#else
    __m256i pairs;

    if (type == GGUF_Q8_0)
        pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(x, w));
    else
        pairs = _mm256_maddubs_epi16(w, x);
    return _mm256_add_epi32(beginning, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
#endif
}

/* --- tiles of quantized rows -------------------------------------------------------------------
 */

KERNEL_INLINE float lanes_sum(__m256 v)
{
    __m128 sum = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));

    sum = _mm_add_ps(sum, _mm_movehl_ps(sum, sum));
    return _mm_cvtss_f32(_mm_add_ss(sum, _mm_movehdup_ps(sum)));
}

/* Adds the products of one part: 32 columns, of which `column` is the first. */
KERNEL_INLINE void tile_add_part(const enum gguf_type type, const int rows, const int vectors,
                                 const uint8_t *block, size_t stride, const struct row_scales *s,
                                 int part, const struct activation *a, size_t column,
                                 __m256 sums[TILE_MOST][TILE_MOST])
{
    __m256i w[TILE_MOST];
    __m256 scale[TILE_MOST];

    UNROLLED
    for (int r = 0; r < rows; r++) {
        w[r] = part_numbers(type, block + r * stride, part);
        scale[r] = part_scale(type, block + r * stride, &s[r], part);
    }
    UNROLLED
    for (int v = 0; v < vectors; v++) {
        size_t at = column + (size_t)v * a->columns;
        __m256i x = _mm256_loadu_si256((const __m256i *)(a->q + at));
        __m256i beginning = part_beginning(type, a->fours + at / 4);
        __m256 x_scale = _mm256_broadcast_ss(a->scale + at / BLOCK_VALUES);

        UNROLLED
        for (int r = 0; r < rows; r++)
            sums[r][v] =
                _mm256_fmadd_ps(_mm256_cvtepi32_ps(part_products(type, beginning, w[r], x)),
                                _mm256_mul_ps(scale[r], x_scale), sums[r][v]);
    }
}

/* Adds the products of a block of 256 numbers of a K type */
KERNEL_INLINE void tile_add_super(const enum gguf_type type, const int rows, const int vectors,
                                  const uint8_t *block, size_t stride, const struct activation *a,
                                  size_t column, __m256 sums[TILE_MOST][TILE_MOST])
{
    struct row_scales s[TILE_MOST];

    UNROLLED
    for (int r = 0; r < rows; r++) {
        if (type == GGUF_Q4_K)
            q4_k_scales(block + r * stride, &s[r]);
        else
            q6_k_scales(block + r * stride, &s[r]);
    }
    for (int half = 0; half < 2; half++) {
        UNROLLED
        for (int part = 0; part < 4; part++)
            tile_add_part(type, rows, vectors, block, stride, s, half * 4 + part, a,
                          column + (size_t)(half * 4 + part) * BLOCK_VALUES, sums);
    }
    if (type != GGUF_Q4_K)
        return;
    UNROLLED
    for (int v = 0; v < vectors; v++) {
        __m256 x = _mm256_loadu_ps(a->sum + (column + (size_t)v * a->columns) / BLOCK_VALUES);

        UNROLLED
        for (int r = 0; r < rows; r++)
            sums[r][v] = _mm256_fnmadd_ps(_mm256_loadu_ps(s[r].minimum), x, sums[r][v]);
    }
}

/* Asks for all cache lines of `size` bytes. */
KERNEL_INLINE void memory_fetch(const uint8_t *at, const int size)
{
    UNROLLED
    for (int i = 0; i < size; i += CACHE_LINE)
        _mm_prefetch((const char *)at + i, _MM_HINT_T0);
    _mm_prefetch((const char *)at + size - 1, _MM_HINT_T0);
}

/* How far ahead of a tile of `rows` rows memory is fetched: about ROWS_AHEAD, in whole rows. */
KERNEL_INLINE size_t tile_ahead(size_t rows, size_t stride)
{
    size_t ahead = (ROWS_AHEAD + stride / 2) / stride;

    return stride * (ahead > rows ? ahead : rows);
}

/* y[v * y_stride + r] of `rows` rows from `row` on and `vectors` vectors from number `vector`
 * on. */
KERNEL_INLINE void tile_sum(const enum gguf_type type, const int rows, const int vectors,
                            const uint8_t *row, size_t stride, size_t ahead,
                            const struct activation *a, size_t vector, float *y, size_t y_stride)
{
    const int bytes = type == GGUF_Q8_0   ? Q8_0_BYTES
                      : type == GGUF_Q4_0 ? Q4_0_BYTES
                      : type == GGUF_Q4_K ? Q4_K_BYTES
                                          : Q6_K_BYTES;
    const int columns = type == GGUF_Q4_K || type == GGUF_Q6_K ? BLOCK_SUPER : BLOCK_VALUES;
    __m256 sums[TILE_MOST][TILE_MOST];
    size_t column = vector * a->columns, end = column + a->columns;
    const uint8_t *later = row + ahead;

    UNROLLED
    for (int r = 0; r < rows; r++) {
        UNROLLED
        for (int v = 0; v < vectors; v++)
            sums[r][v] = _mm256_setzero_ps();
    }
    for (; column < end; column += columns, row += bytes, later += rows * bytes) {
        if (vectors == 1)
            memory_fetch(later, rows * bytes);
        if (columns == BLOCK_SUPER)
            tile_add_super(type, rows, vectors, row, stride, a, column, sums);
        else
            tile_add_part(type, rows, vectors, row, stride, NULL, 0, a, column, sums);
    }
    UNROLLED
    for (int r = 0; r < rows; r++) {
        UNROLLED
        for (int v = 0; v < vectors; v++)
            y[v * y_stride + r] = lanes_sum(sums[r][v]);
    }
}

/* Defines multiply_TYPE: the matrix in tiles of TILE_VECTORS vectors; the vectors that are left, in
 * tiles of `single` rows and one vector; the last rows one by one. */
#define QUANTIZED_MULTIPLY(type, single)                                                           \
    KERNEL_TARGET static void multiply_##type(const struct llm_matrix *m,                          \
                                              const struct activation *a, float *y, size_t stride) \
    {                                                                                              \
        uint32_t tiled = a->count / TILE_VECTORS * TILE_VECTORS, r;                                \
        size_t ahead = tile_ahead((single), m->stride);                                            \
                                                                                                   \
        for (r = 0; r + TILE_MOST <= m->rows; r += TILE_MOST)                                      \
            for (uint32_t v = 0; v < tiled; v += TILE_VECTORS)                                     \
                for (uint32_t k = r; k < r + TILE_MOST; k += TILE_ROWS)                            \
                    tile_sum(GGUF_##type, TILE_ROWS, TILE_VECTORS, m->data + k * m->stride,        \
                             m->stride, ahead, a, v, y + v * stride + k, stride);                  \
        for (r = 0; r + TILE_MOST <= m->rows; r += TILE_MOST)                                      \
            for (uint32_t v = tiled; v < a->count; v++)                                            \
                for (uint32_t k = r; k < r + TILE_MOST; k += (single))                             \
                    tile_sum(GGUF_##type, single, 1, m->data + k * m->stride, m->stride, ahead, a, \
                             v, y + v * stride + k, stride);                                       \
        for (; r < m->rows; r++)                                                                   \
            for (uint32_t v = 0; v < a->count; v++)                                                \
                tile_sum(GGUF_##type, 1, 1, m->data + r * m->stride, m->stride, ahead, a, v,       \
                         y + v * stride + r, stride);                                              \
    }
QUANTIZED_MULTIPLY(Q8_0, 2)
QUANTIZED_MULTIPLY(Q4_0, 4)
QUANTIZED_MULTIPLY(Q4_K, 4)
QUANTIZED_MULTIPLY(Q6_K, 2)

/* --- rows of floats ----------------------------------------------------------------------------
 */

KERNEL_INLINE __m256 eight_floats(const enum gguf_type type, const uint8_t *row, uint32_t i)
{
    if (type == GGUF_F32)
        return _mm256_loadu_ps((const float *)(const void *)(row + 4 * (size_t)i));
    row += 2 * (size_t)i;
    if (type == GGUF_F16)
        return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)row));
    return _mm256_castsi256_ps(
        _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)row)), 16));
}

KERNEL_INLINE void float_tile_sum(const enum gguf_type type, const int rows, const int vectors,
                                  const uint8_t *row, size_t stride, uint32_t columns,
                                  const float *x, size_t x_stride, float *y, size_t y_stride)
{
    const uint32_t each = type == GGUF_F32 ? 4 : 2;
    __m256 sums[TILE_MOST][TILE_MOST];
    uint32_t i = 0;

    UNROLLED
    for (int r = 0; r < rows; r++) {
        UNROLLED
        for (int v = 0; v < vectors; v++)
            sums[r][v] = _mm256_setzero_ps();
    }
    for (; i + LANES <= columns; i += LANES) {
        __m256 w[TILE_MOST];

        UNROLLED
        for (int r = 0; r < rows; r++)
            w[r] = eight_floats(type, row + r * stride, i);
        UNROLLED
        for (int v = 0; v < vectors; v++) {
            __m256 numbers = _mm256_loadu_ps(x + v * x_stride + i);

            UNROLLED
            for (int r = 0; r < rows; r++)
                sums[r][v] = _mm256_fmadd_ps(w[r], numbers, sums[r][v]);
        }
    }
    for (int r = 0; r < rows; r++) {
        float last[LANES];

        block_values_row(type, row + r * stride + i * (size_t)each, columns - i, last);
        for (int v = 0; v < vectors; v++) {
            float sum = lanes_sum(sums[r][v]);

            for (uint32_t k = i; k < columns; k++)
                sum += last[k - i] * x[v * x_stride + k];
            y[v * y_stride + r] = sum;
        }
    }
}

/* One row times one vector. */
KERNEL_INLINE float float_row_sum(const enum gguf_type type, const uint8_t *row, uint32_t columns,
                                  const float *x)
{
    const uint32_t each = type == GGUF_F32 ? 4 : 2;
    __m256 sums[TILE_MOST];
    float last[LANES], sum;
    uint32_t i = 0;

    UNROLLED
    for (int k = 0; k < TILE_MOST; k++)
        sums[k] = _mm256_setzero_ps();
    for (; i + TILE_MOST * LANES <= columns; i += TILE_MOST * LANES) {
        _mm_prefetch((const char *)row + i * (size_t)each + ROW_AHEAD, _MM_HINT_T0);
        if (type == GGUF_F32)
            _mm_prefetch((const char *)row + i * (size_t)each + ROW_AHEAD + 64, _MM_HINT_T0);
        UNROLLED
        for (uint32_t k = 0; k < TILE_MOST; k++)
            sums[k] = _mm256_fmadd_ps(eight_floats(type, row, i + k * LANES),
                                      _mm256_loadu_ps(x + i + k * LANES), sums[k]);
    }
    for (; i + LANES <= columns; i += LANES)
        sums[0] = _mm256_fmadd_ps(eight_floats(type, row, i), _mm256_loadu_ps(x + i), sums[0]);
    sum =
        lanes_sum(_mm256_add_ps(_mm256_add_ps(sums[0], sums[1]), _mm256_add_ps(sums[2], sums[3])));
    block_values_row(type, row + i * (size_t)each, columns - i, last);
    for (uint32_t k = i; k < columns; k++)
        sum += last[k - i] * x[k];
    return sum;
}

#define FLOAT_MULTIPLY(type)                                                                       \
    KERNEL_TARGET static void multiply_##type(const struct llm_matrix *m,                          \
                                              const struct activation *a, float *y, size_t stride) \
    {                                                                                              \
        uint32_t tiles = a->count / TILE_VECTORS * TILE_VECTORS, r = 0;                            \
                                                                                                   \
        for (; tiles && r + TILE_ROWS <= m->rows; r += TILE_ROWS)                                  \
            for (uint32_t v = 0; v < tiles; v += TILE_VECTORS)                                     \
                float_tile_sum(GGUF_##type, TILE_ROWS, TILE_VECTORS, m->data + r * m->stride,      \
                               m->stride, m->columns, a->x + v * a->stride, a->stride,             \
                               y + v * stride + r, stride);                                        \
        if (tiles == a->count && r == m->rows)                                                     \
            return;                                                                                \
        for (uint32_t k = 0; k < m->rows; k++)                                                     \
            for (uint32_t v = k < r ? tiles : 0; v < a->count; v++)                                \
                y[v * stride + k] = float_row_sum(GGUF_##type, m->data + k * m->stride,            \
                                                  m->columns, a->x + v * a->stride);               \
    }
FLOAT_MULTIPLY(F32)
FLOAT_MULTIPLY(F16)
FLOAT_MULTIPLY(BF16)

static void x86_multiply(const struct llm_matrix *m, const struct activation *a, float *y,
                         size_t stride)
{
    switch (m->type) {
    case GGUF_F32:
        multiply_F32(m, a, y, stride);
        break;
    case GGUF_F16:
        multiply_F16(m, a, y, stride);
        break;
    case GGUF_BF16:
        multiply_BF16(m, a, y, stride);
        break;
    case GGUF_Q8_0:
        multiply_Q8_0(m, a, y, stride);
        break;
    case GGUF_Q4_0:
        multiply_Q4_0(m, a, y, stride);
        break;
    case GGUF_Q4_K:
        multiply_Q4_K(m, a, y, stride);
        break;
    case GGUF_Q6_K:
        multiply_Q6_K(m, a, y, stride);
        break;
    }
}

/* --- vectors -----------------------------------------------------------------------------------
 */

KERNEL_INLINE void block_quantize(const float *x, int8_t *q, float *scale, float *sum,
                                  int32_t *fours)
{
    const __m256 no_sign = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff));
    /* The packing below works on halves of registers; this puts the fours in order again. */
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    __m256 v[4], most = _mm256_setzero_ps(), inverse;
    __m256i n[4], bytes, sums;
    __m128 top;
    float greatest;

    UNROLLED
    for (int i = 0; i < 4; i++) {
        v[i] = _mm256_loadu_ps(x + i * LANES);
        most = _mm256_max_ps(_mm256_and_ps(v[i], no_sign), most);
    }
    top = _mm_max_ps(_mm256_castps256_ps128(most), _mm256_extractf128_ps(most, 1));
    top = _mm_max_ps(top, _mm_movehl_ps(top, top));
    top = _mm_max_ss(top, _mm_movehdup_ps(top));
    greatest = _mm_cvtss_f32(top);
    inverse = _mm256_set1_ps(greatest > 0 ? 127 / greatest : 0);
    UNROLLED
    for (int i = 0; i < 4; i++)
        n[i] = _mm256_cvtps_epi32(_mm256_mul_ps(v[i], inverse));
    bytes = _mm256_packs_epi16(_mm256_packs_epi32(n[0], n[1]), _mm256_packs_epi32(n[2], n[3]));
    bytes = _mm256_permutevar8x32_epi32(bytes, order);
    _mm256_storeu_si256((__m256i *)q, bytes);
    sums =
        _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_set1_epi8(1), bytes), _mm256_set1_epi16(-8));
    _mm256_storeu_si256((__m256i *)fours, sums);
    *scale = greatest / 127;
    *sum = *scale * lanes_sum(_mm256_cvtepi32_ps(sums)) * -0.125f;
}

KERNEL_TARGET static void x86_quantize(struct activation *a)
{
    uint32_t blocks = a->columns / BLOCK_VALUES;

    for (size_t v = 0; v < a->count; v++)
        for (size_t b = v * blocks; b < (v + 1) * blocks; b++)
            block_quantize(a->x + v * a->stride + (b - v * blocks) * BLOCK_VALUES,
                           a->q + b * BLOCK_VALUES, &a->scale[b], &a->sum[b], a->fours + b * 8);
}

KERNEL_TARGET static void x86_scores(const float *q, const uint16_t *keys, uint32_t size,
                                     uint32_t count, float factor, float *out)
{
    const uint8_t *row = (const uint8_t *)keys;

    for (uint32_t i = 0; i < count; i++, row += size * sizeof(*keys))
        out[i] = factor * float_row_sum(GGUF_F16, row, size, q);
}

/* Eight times `eights` numbers of z. */
KERNEL_INLINE void mix_columns(const int eights, const float *weights, const uint16_t *values,
                               uint32_t size, uint32_t count, float factor, float *z)
{
    __m256 sums[LANES];

    UNROLLED
    for (int k = 0; k < eights; k++)
        sums[k] = _mm256_setzero_ps();
    for (uint32_t i = 0; i < count; i++, values += size) {
        __m256 weight = _mm256_broadcast_ss(weights + i);

        UNROLLED
        for (int k = 0; k < eights; k++)
            sums[k] = _mm256_fmadd_ps(
                weight, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(values + k * LANES))),
                sums[k]);
    }
    UNROLLED
    for (int k = 0; k < eights; k++)
        _mm256_storeu_ps(z + k * LANES, _mm256_mul_ps(sums[k], _mm256_set1_ps(factor)));
}

KERNEL_TARGET static void x86_mix(const float *weights, const uint16_t *values, uint32_t size,
                                  uint32_t count, float factor, float *z)
{
    uint32_t k = 0;

    for (; k + LANES * 8 <= size; k += LANES * 8)
        mix_columns(8, weights, values + k, size, count, factor, z + k);
    for (; k + LANES <= size; k += LANES)
        mix_columns(1, weights, values + k, size, count, factor, z + k);
    for (; k < size; k++) {
        float sum = 0;

        for (size_t i = 0; i < count; i++)
            sum += weights[i] * float_of_half(values[i * size + k]);
        z[k] = sum * factor;
    }
}

KERNEL_TARGET static void x86_narrow(uint16_t *out, const float *in, uint32_t count)
{
    uint32_t i = 0;

    for (; i + LANES <= count; i += LANES)
        _mm_storeu_si128((__m128i *)(out + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT));
    for (; i < count; i++)
        out[i] = half_of_float(in[i]);
}

/* What the including file calls its kernels. */
#define X86_KERNELS(label)                                                                         \
    {                                                                                              \
        .name = (label), .quantize = x86_quantize, .multiply = x86_multiply, .scores = x86_scores, \
        .soften = x86_soften, .mix = x86_mix, .gate = x86_gate, .narrow = x86_narrow,              \
    }
#endif
#endif
