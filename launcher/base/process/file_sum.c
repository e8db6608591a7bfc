/* SPDX-License-Identifier: MIT */
#include "launcher/base/process/file_sum.h"

#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

enum { BLOCK = 64 << 10, STRIDE = 8 };

/* table[k][i]: what byte i adds if k more bytes follow it. With them, STRIDE bytes are taken at
 * once. */
typedef uint32_t sum_table[STRIDE][256];

/* The CRC's polynomial, highest power first, as POSIX has it. */
static void table_make(sum_table table)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i << 24;

        for (int k = 0; k < 8; k++)
            crc = crc << 1 ^ (crc >> 31 ? 0x04c11db7 : 0);
        table[0][i] = crc;
    }
    for (int k = 1; k < STRIDE; k++)
        for (int i = 0; i < 256; i++)
            table[k][i] = table[k - 1][i] << 8 ^ table[0][table[k - 1][i] >> 24];
}

static uint32_t bytes_add(sum_table table, uint32_t crc, const uint8_t *bytes, size_t size)
{
    for (; size >= STRIDE; bytes += STRIDE, size -= STRIDE) {
        crc ^= (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
               bytes[3];
        crc = table[7][crc >> 24] ^ table[6][crc >> 16 & 255] ^ table[5][crc >> 8 & 255] ^
              table[4][crc & 255] ^ table[3][bytes[4]] ^ table[2][bytes[5]] ^ table[1][bytes[6]] ^
              table[0][bytes[7]];
    }
    for (; size; bytes++, size--)
        crc = crc << 8 ^ table[0][crc >> 24 ^ *bytes];
    return crc;
}

int file_sum_read(uint32_t *out, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    uint32_t crc = 0;
    sum_table table;
    uint8_t block[BLOCK];
    uint64_t size = 0;
    ssize_t n;

    if (fd < 0)
        return -1;
    table_make(table);
    while ((n = read(fd, block, sizeof(block))) > 0) {
        crc = bytes_add(table, crc, block, (size_t)n);
        size += (uint64_t)n;
    }
    close(fd);
    if (n < 0)
        return -1;
    for (; size; size >>= 8)
        crc = bytes_add(table, crc, &(uint8_t){(uint8_t)size}, 1);
    *out = ~crc;
    return 0;
}
