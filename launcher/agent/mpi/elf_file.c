/* SPDX-License-Identifier: MIT */
#include "launcher/agent/mpi/elf_file.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    HEADERS_MOST = 512,     /* program headers */
    DYNAMIC_MOST = 4096,    /* entries of the dynamic section */
    NAMES_MOST = 256 << 10, /* bytes of the table of texts that are looked at */
};

/* What is read of one file. */
struct image {
    int fd;
    ElfW(Phdr) headers[HEADERS_MOST];
    int header_count;
    ElfW(Dyn) * dynamic;
    size_t dynamic_count;
};

/* False unless all of it could be read. */
static bool read_at(int fd, void *out, size_t size, uint64_t offset)
{
    return offset <= INT64_MAX - size && pread(fd, out, size, (off_t)offset) == (ssize_t)size;
}

/* A file of another class or byte order would not run here as a program. */
static bool header_is_valid(const ElfW(Ehdr) * h)
{
    static const uint8_t class = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
    static const uint8_t order = __BYTE_ORDER == __LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB;

    return memcmp(h->e_ident, ELFMAG, SELFMAG) == 0 && h->e_ident[EI_CLASS] == class &&
           h->e_ident[EI_DATA] == order && h->e_phentsize == sizeof(ElfW(Phdr)) &&
           (h->e_type == ET_EXEC || h->e_type == ET_DYN);
}

static bool headers_read(struct image *m)
{
    ElfW(Ehdr) h;

    if (!read_at(m->fd, &h, sizeof(h), 0) || !header_is_valid(&h) || h.e_phnum > HEADERS_MOST)
        return false;
    m->header_count = h.e_phnum;
    return read_at(m->fd, m->headers, h.e_phnum * sizeof(m->headers[0]), h.e_phoff);
}

/* Where in the file lies what the loader would map at that address; -1: nowhere. */
static int64_t offset_of(const struct image *m, uint64_t address)
{
    for (int i = 0; i < m->header_count; i++) {
        const ElfW(Phdr) *p = &m->headers[i];

        if (p->p_type == PT_LOAD && address >= p->p_vaddr && address - p->p_vaddr < p->p_filesz &&
            p->p_offset <= INT64_MAX - p->p_filesz)
            return (int64_t)(p->p_offset + (address - p->p_vaddr));
    }
    return -1;
}

/* A program without a dynamic section (a static one) has none of these entries. */
static void dynamic_read(struct image *m)
{
    for (int i = 0; i < m->header_count; i++) {
        const ElfW(Phdr) *p = &m->headers[i];
        size_t count = p->p_filesz / sizeof(*m->dynamic);

        if (p->p_type != PT_DYNAMIC)
            continue;
        if (count > DYNAMIC_MOST)
            count = DYNAMIC_MOST;
        m->dynamic = calloc(count + 1, sizeof(*m->dynamic));
        if (m->dynamic && read_at(m->fd, m->dynamic, count * sizeof(*m->dynamic), p->p_offset))
            m->dynamic_count = count;
        return;
    }
}

static uint64_t dynamic_find(const struct image *m, int64_t tag)
{
    for (size_t i = 0; i < m->dynamic_count && m->dynamic[i].d_tag != DT_NULL; i++) {
        if (m->dynamic[i].d_tag == tag)
            return m->dynamic[i].d_un.d_val;
    }
    return 0;
}

/* Reads the table of texts; 0: there is none. */
static size_t names_read(struct elf_file *f, const struct image *m)
{
    int64_t offset = offset_of(m, dynamic_find(m, DT_STRTAB));
    uint64_t size = dynamic_find(m, DT_STRSZ);
    ssize_t n;

    if (size > NAMES_MOST)
        size = NAMES_MOST;
    f->names = offset >= 0 ? malloc(size + 1) : NULL;
    n = f->names ? pread(m->fd, f->names, size, offset) : -1;
    if (n <= 0)
        return 0;
    f->names[n] = '\0';
    return (size_t)n;
}

static void entries_collect(struct elf_file *f, const struct image *m, size_t size)
{
    for (size_t i = 0; i < m->dynamic_count && m->dynamic[i].d_tag != DT_NULL; i++) {
        const ElfW(Dyn) *d = &m->dynamic[i];

        if (d->d_un.d_val >= size)
            continue;
        if (d->d_tag == DT_NEEDED && f->count < ELF_NEEDED_MOST)
            f->needed[f->count++] = f->names + d->d_un.d_val;
        else if (d->d_tag == DT_RUNPATH || (d->d_tag == DT_RPATH && !f->run_path[0]))
            f->run_path = f->names + d->d_un.d_val;
    }
}

bool elf_file_open(struct elf_file *f, const char *path)
{
    struct image *m = calloc(1, sizeof(*m));
    struct stat st;
    bool is_elf;

    f->count = 0;
    f->run_path = "";
    f->names = NULL;
    if (!m)
        return false;
    /* Opening a FIFO or a terminal must neither wait nor do anything. */
    m->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    is_elf = m->fd >= 0 && fstat(m->fd, &st) == 0 && S_ISREG(st.st_mode) && headers_read(m);
    if (is_elf) {
        dynamic_read(m);
        entries_collect(f, m, names_read(f, m));
    }
    if (m->fd >= 0)
        close(m->fd);
    free(m->dynamic);
    free(m);
    return is_elf;
}

void elf_file_close(struct elf_file *f)
{
    free(f->names);
    f->names = NULL;
    f->count = 0;
}
