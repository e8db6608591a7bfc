/* SPDX-License-Identifier: MIT */
/*
 * elf_file.h: which libraries a program or library names as needed (DT_NEEDED), and where it wants
 * them to be looked for. The file is not trusted: all that is read is bounded and checked.
 */
#ifndef LAUNCHER_BASE_LOADER_ELF_FILE_H
#define LAUNCHER_BASE_LOADER_ELF_FILE_H

#include <stdbool.h>
#include <stdint.h>

enum { ELF_NEEDED_MOST = 256 };

struct elf_file {
    uint16_t machine; /* EM_… of elf.h */
    int count;
    const char *needed[ELF_NEEDED_MOST]; /* names without a slash, or paths */
    const char *run_path;                /* DT_RUNPATH or DT_RPATH: directories with ':' between
                                            them, or "" */
    bool is_inherited;                   /* it is DT_RPATH, which also serves its libraries */
    char glibc[16];                      /* the newest version of glibc that it needs, or "" */
    char *texts;                         /* owned: needed and run_path */
};

/* False: it cannot be read, or is no ELF file of this machine's kind and byte order. A file that is
 * malformed yields what can be read. Release it with elf_file_close. */
bool elf_file_open(struct elf_file *f, const char *path);
void elf_file_close(struct elf_file *f);

#endif
