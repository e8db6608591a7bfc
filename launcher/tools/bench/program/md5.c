/* SPDX-License-Identifier: MIT */
#include "launcher/tools/bench/program/md5.h"

#include <stdint.h>
#include <string.h>

enum { BLOCK = 64, LENGTH = 8 /* bytes of the length at the end */ };

/* clang-format off */
static const uint32_t sines[BLOCK] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};
static const unsigned char shifts[4][4] = {
    {7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
/* clang-format on */

static uint32_t md5_word(const unsigned char *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static void md5_block(uint32_t state[4], const unsigned char *block)
{
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];

    for (unsigned i = 0; i < BLOCK; i++) {
        unsigned round = i / 16, shift = shifts[round][i % 4], word = i;
        uint32_t f = (b & c) | (~b & d), turned;

        if (round == 1) {
            f = (d & b) | (~d & c);
            word = 5 * i + 1;
        } else if (round == 2) {
            f = b ^ c ^ d;
            word = 3 * i + 5;
        } else if (round == 3) {
            f = c ^ (b | ~d);
            word = 7 * i;
        }
        f += a + sines[i] + md5_word(block + (size_t)(word % 16) * 4);
        turned = f << shift | f >> (32 - shift);
        a = d;
        d = c;
        c = b;
        b += turned;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
}

void md5_sum(unsigned char out[MD5_SIZE], const void *data, size_t size)
{
    uint32_t state[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
    const unsigned char *at = data;
    unsigned char end[2 * BLOCK] = {0};
    size_t whole = size / BLOCK, rest = size % BLOCK;
    size_t blocks = rest < BLOCK - LENGTH ? 1 : 2;

    for (size_t i = 0; i < whole; i++)
        md5_block(state, at + i * BLOCK);
    if (rest)
        memcpy(end, at + whole * BLOCK, rest);
    end[rest] = 0x80;
    for (size_t i = 0; i < LENGTH; i++)
        end[blocks * BLOCK - LENGTH + i] = (unsigned char)((uint64_t)size * 8 >> (8 * i));
    for (size_t i = 0; i < blocks; i++)
        md5_block(state, end + i * BLOCK);
    for (size_t i = 0; i < MD5_SIZE; i++)
        out[i] = (unsigned char)(state[i / 4] >> (8 * (i % 4)));
}
