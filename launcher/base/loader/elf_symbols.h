/* SPDX-License-Identifier: MIT */
/*
 * elf_symbols.h: which of some functions a program has in itself, as its table of symbols says:
 * what was linked into it statically. strip(1) removes the table. The file is not trusted: all that
 * is read is bounded and checked.
 */
#ifndef LAUNCHER_BASE_LOADER_ELF_SYMBOLS_H
#define LAUNCHER_BASE_LOADER_ELF_SYMBOLS_H

/* The index of a name whose function the file at `path` defines; -1: it has none of them, or has no
 * table, a malformed one or one of more than 32 MiB. Up to 255 bytes of each name are compared. */
int elf_symbols_find(const char *path, const char *const *names, int count);

#endif
