/* SPDX-License-Identifier: MIT */
#include "launcher/base/loader/elf_file.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    HEADERS_MOST = 512,   /* program headers */
    DYNAMIC_MOST = 4096,  /* entries of the dynamic section */
    VERSIONS_MOST = 4096, /* entries of the versions that are needed */
    NAME_ROOM = 256,      /* bytes of a library's name, with the NUL */
    RUN_PATH_ROOM = 8192,
    WINDOW = 4096,
};

/* Bytes of the file, from a place that was read: what is read next mostly lies close behind it. */
struct elf_window {
    uint64_t start;
    size_t size;
    char bytes[WINDOW];
};

/* What is read of one file. */
struct image {
    int fd;
    struct elf_window data, texts;
    uint16_t machine;
    ElfW(Phdr) headers[HEADERS_MOST];
    int header_count;
    ElfW(Dyn) * dynamic;
    size_t dynamic_count;
};

/* Returns how many bytes it has read, less than `size` only at the file's end; -1: none. */
static ssize_t window_read(int fd, struct elf_window *w, void *out, size_t size, uint64_t offset)
{
    if (offset > INT64_MAX - (size > WINDOW ? size : WINDOW))
        return -1;
    if (size > WINDOW)
        return pread(fd, out, size, (off_t)offset);
    if (offset < w->start || offset - w->start + size > w->size) {
        ssize_t n = pread(fd, w->bytes, WINDOW, (off_t)offset);

        if (n < 0)
            return -1;
        w->start = offset;
        w->size = (size_t)n;
    }
    if (size > w->size - (offset - w->start))
        size = w->size - (offset - w->start);
    memcpy(out, w->bytes + (offset - w->start), size);
    return (ssize_t)size;
}

/* False unless all of it could be read. */
static bool read_at(struct image *m, void *out, size_t size, uint64_t offset)
{
    return window_read(m->fd, &m->data, out, size, offset) == (ssize_t)size;
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

    if (!read_at(m, &h, sizeof(h), 0) || !header_is_valid(&h) || h.e_phnum > HEADERS_MOST)
        return false;
    m->header_count = h.e_phnum;
    m->machine = h.e_machine;
    return read_at(m, m->headers, h.e_phnum * sizeof(m->headers[0]), h.e_phoff);
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
        if (m->dynamic && read_at(m, m->dynamic, count * sizeof(*m->dynamic), p->p_offset))
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

/* The table of texts, of which single ones are read: that of a large library has megabytes. */
struct elf_texts {
    int fd;
    struct elf_window *window;
    int64_t offset; /* in the file; -1: there is none */
    uint64_t size;
};

/* Reads the text at `index` of the table. False: it is longer than `room`, or not in the table. */
static bool text_read(const struct elf_texts *t, char *out, size_t room, uint64_t index)
{
    ssize_t n;

    if (t->offset < 0 || index >= t->size || (uint64_t)t->offset > INT64_MAX - index)
        return false;
    if (room > t->size - index)
        room = (size_t)(t->size - index);
    n = window_read(t->fd, t->window, out, room, (uint64_t)t->offset + index);
    return n > 0 && memchr(out, '\0', (size_t)n);
}

static void needed_collect(struct elf_file *f, const struct image *m, const struct elf_texts *t)
{
    char *at = f->texts + RUN_PATH_ROOM;

    for (size_t i = 0; i < m->dynamic_count && m->dynamic[i].d_tag != DT_NULL; i++) {
        const ElfW(Dyn) *d = &m->dynamic[i];

        if (d->d_tag == DT_NEEDED && f->count < ELF_NEEDED_MOST &&
            text_read(t, at, NAME_ROOM, d->d_un.d_val)) {
            f->needed[f->count++] = at;
            at += strlen(at) + 1;
        }
    }
}

/* A DT_RUNPATH makes the loader ignore a DT_RPATH. */
static void run_path_find(struct elf_file *f, const struct image *m, const struct elf_texts *t)
{
    for (size_t i = 0; i < m->dynamic_count && m->dynamic[i].d_tag != DT_NULL; i++) {
        const ElfW(Dyn) *d = &m->dynamic[i];
        bool is_wanted = d->d_tag == DT_RUNPATH || (d->d_tag == DT_RPATH && !f->run_path[0]);

        if (is_wanted && text_read(t, f->texts, RUN_PATH_ROOM, d->d_un.d_val)) {
            f->run_path = f->texts;
            f->is_inherited = d->d_tag == DT_RPATH;
        }
    }
}

/* Remembers "2.34" of "GLIBC_2.34", if it is the newest so far. */
static void glibc_compare(struct elf_file *f, const char *version)
{
    if (strncmp(version, "GLIBC_", 6) == 0 && strlen(version + 6) < sizeof(f->glibc) &&
        version[6] >= '0' && version[6] <= '9' && strverscmp(version + 6, f->glibc) > 0)
        strcpy(f->glibc, version + 6);
}

/* The versions that are needed of one library. Returns how many entries were read. */
static int versions_read(struct elf_file *f, struct image *m, const struct elf_texts *t,
                         uint64_t at, int room)
{
    char version[NAME_ROOM];
    ElfW(Vernaux) aux;
    int n = 0;

    for (aux.vna_next = 1; n < room && aux.vna_next != 0; n++) {
        if (!read_at(m, &aux, sizeof(aux), at))
            break;
        if (text_read(t, version, sizeof(version), aux.vna_name))
            glibc_compare(f, version);
        at += aux.vna_next;
    }
    return n;
}

static void glibc_find(struct elf_file *f, struct image *m, const struct elf_texts *t)
{
    int64_t first = offset_of(m, dynamic_find(m, DT_VERNEED));
    uint64_t at = (uint64_t)first;
    ElfW(Verneed) need;
    int room = VERSIONS_MOST;

    for (need.vn_next = 1; first >= 0 && room > 0 && need.vn_next != 0; room--) {
        if (!read_at(m, &need, sizeof(need), at))
            return;
        room -= versions_read(f, m, t, at + need.vn_aux, room);
        at += need.vn_next;
    }
}

static void entries_collect(struct elf_file *f, struct image *m)
{
    struct elf_texts t = {.fd = m->fd,
                          .window = &m->texts,
                          .offset = offset_of(m, dynamic_find(m, DT_STRTAB)),
                          .size = dynamic_find(m, DT_STRSZ)};
    int count = 0;

    for (size_t i = 0; i < m->dynamic_count && count < ELF_NEEDED_MOST; i++)
        count += m->dynamic[i].d_tag == DT_NEEDED;
    f->texts = calloc(1, RUN_PATH_ROOM + (size_t)count * NAME_ROOM);
    if (!f->texts)
        return;
    needed_collect(f, m, &t);
    run_path_find(f, m, &t);
    glibc_find(f, m, &t);
}

/* Not by calloc(), which would touch ten pages, of which most files need two. */
static struct image *image_create(void)
{
    struct image *m = malloc(sizeof(*m));

    if (!m)
        return NULL;
    m->data.start = m->texts.start = 0;
    m->data.size = m->texts.size = 0;
    m->machine = 0;
    m->header_count = 0;
    m->dynamic = NULL;
    m->dynamic_count = 0;
    return m;
}

bool elf_file_open(struct elf_file *f, const char *path)
{
    struct image *m = image_create();
    struct stat st;
    bool is_elf;

    *f = (struct elf_file){.run_path = ""};
    if (!m)
        return false;
    /* Opening a FIFO or a terminal must neither wait nor do anything. */
    m->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    is_elf = m->fd >= 0 && fstat(m->fd, &st) == 0 && S_ISREG(st.st_mode) && headers_read(m);
    if (is_elf) {
        dynamic_read(m);
        entries_collect(f, m);
        f->machine = m->machine;
    }
    if (m->fd >= 0)
        close(m->fd);
    free(m->dynamic);
    free(m);
    return is_elf;
}

void elf_file_close(struct elf_file *f)
{
    free(f->texts);
    f->texts = NULL;
    f->count = 0;
}
