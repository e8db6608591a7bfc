/* SPDX-License-Identifier: MIT */
/* terminal_size.h: how large this process's terminal is. */
#ifndef LAUNCHER_BASE_MACHINE_TERMINAL_SIZE_H
#define LAUNCHER_BASE_MACHINE_TERMINAL_SIZE_H

#include <stdint.h>

struct terminal_size {
    uint16_t rows, columns; /* never 0 */
};

/* The size of the first standard stream that is a terminal; 24 rows of 80 columns if none is. */
struct terminal_size terminal_size_find(void);

#endif
