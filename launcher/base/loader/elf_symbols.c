/* SPDX-License-Identifier: MIT */
#include "launcher/base/loader/elf_symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    CHUNK = 64 << 10,
    TABLE_MOST = 32 << 20, /* bytes of symbols, and of their names */
    NAME_MOST = 256,       /* with the NUL */
    PLACES_MOST = 16,
};

struct symbols {
    int fd;
    const char *const *names;
    int name_count;
    ElfW(Shdr) table, texts;
    /* Where in the texts a name is. That may be the end of a longer one, of which linkers keep one
     * copy for both. */
    struct {
        uint64_t at;
        int name;
    } places[PLACES_MOST];
    int place_count;
    char chunk[CHUNK];
};

/* Fills the chunk with up to `size` bytes of the file, and returns how many these are. */
static size_t chunk_read(struct symbols *s, uint64_t offset, uint64_t size)
{
    ssize_t n;

    if (size > CHUNK)
        size = CHUNK;
    if (offset > INT64_MAX - size)
        return 0;
    n = pread(s->fd, s->chunk, size, (off_t)offset);
    return n > 0 ? (size_t)n : 0;
}

/* Finds the table of symbols and that of their names. */
static bool tables_find(struct symbols *s)
{
    ElfW(Ehdr) h;
    size_t count;

    if (chunk_read(s, 0, sizeof(h)) < sizeof(h))
        return false;
    memcpy(&h, s->chunk, sizeof(h));
    if (memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_shentsize != sizeof(ElfW(Shdr)) ||
        h.e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) ||
        h.e_ident[EI_DATA] != (__BYTE_ORDER == __LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB))
        return false;
    count = chunk_read(s, h.e_shoff, h.e_shnum * sizeof(s->table)) / sizeof(s->table);
    for (size_t i = 0; i < count; i++) {
        memcpy(&s->table, s->chunk + i * sizeof(s->table), sizeof(s->table));
        if (s->table.sh_type != SHT_SYMTAB)
            continue;
        if (s->table.sh_link >= count || s->table.sh_entsize != sizeof(ElfW(Sym)))
            return false;
        memcpy(&s->texts, s->chunk + s->table.sh_link * sizeof(s->texts), sizeof(s->texts));
        return s->texts.sh_type == SHT_STRTAB && s->texts.sh_size <= TABLE_MOST &&
               s->table.sh_size <= TABLE_MOST;
    }
    return false;
}

static void places_add(struct symbols *s, uint64_t offset, size_t size)
{
    for (int name = 0; name < s->name_count; name++) {
        size_t length = strnlen(s->names[name], NAME_MOST - 1) + 1; /* the NUL is sought, too */
        const char *at = s->chunk;

        while (s->place_count < PLACES_MOST &&
               (at = memmem(at, size - (size_t)(at - s->chunk), s->names[name], length))) {
            s->places[s->place_count].at = offset + (uint64_t)(at - s->chunk);
            s->places[s->place_count++].name = name;
            at++;
        }
    }
}

/* Chunks overlap, lest a name be divided between two of them. */
static void places_find(struct symbols *s)
{
    for (uint64_t at = 0; at < s->texts.sh_size;) {
        size_t size = chunk_read(s, s->texts.sh_offset + at, s->texts.sh_size - at);

        places_add(s, at, size);
        if (size < CHUNK)
            return;
        at += CHUNK - NAME_MOST;
    }
}

/* The index of the name of a function that is defined; -1: it is none of them. */
static int symbol_judge(const struct symbols *s, const ElfW(Sym) * symbol)
{
    if (symbol->st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol->st_info) != STT_FUNC)
        return -1;
    for (int i = 0; i < s->place_count; i++) {
        if (s->places[i].at == symbol->st_name)
            return s->places[i].name;
    }
    return -1;
}

static int table_search(struct symbols *s)
{
    size_t step = CHUNK / sizeof(ElfW(Sym)) * sizeof(ElfW(Sym));

    for (uint64_t at = 0; at < s->table.sh_size; at += step) {
        uint64_t left = s->table.sh_size - at;
        size_t size = chunk_read(s, s->table.sh_offset + at, left < step ? left : step);

        for (size_t i = 0; i + sizeof(ElfW(Sym)) <= size; i += sizeof(ElfW(Sym))) {
            ElfW(Sym) symbol;
            int name;

            memcpy(&symbol, s->chunk + i, sizeof(symbol));
            name = symbol_judge(s, &symbol);
            if (name >= 0)
                return name;
        }
        if (size < step)
            break;
    }
    return -1;
}

int elf_symbols_find(const char *path, const char *const *names, int count)
{
    struct symbols *s = malloc(sizeof(*s));
    struct stat st;
    int found = -1;

    if (!s)
        return -1;
    s->names = names;
    s->name_count = count;
    s->place_count = 0;
    /* Opening a FIFO or a terminal must neither wait nor do anything. */
    s->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (s->fd >= 0 && fstat(s->fd, &st) == 0 && S_ISREG(st.st_mode) && tables_find(s)) {
        places_find(s);
        found = s->place_count > 0 ? table_search(s) : -1;
    }
    if (s->fd >= 0)
        close(s->fd);
    free(s);
    return found;
}
