/* SPDX-License-Identifier: MIT */
#include "gguf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    KEYS_MOST = 65536,
    TENSORS_MOST = 65536,
    KEY_LEAST = 8 + 4 + 1,                /* the bytes that a key takes at least */
    TENSOR_LEAST = 8 + 1 + 4 + 8 + 4 + 8, /* and a tensor of the table */
    ALIGNMENT_DEFAULT = 32,
    ALIGNMENT_MOST = 1 << 20,
    VERSION_LEAST = 2,
    VERSION_MOST = 3,
    PATH_SHOWN = 160, /* bytes of a path in a sentence: its end names the file */
    NAME_SHOWN = 64,  /* the same for a key */
};

struct gguf_key {
    struct gguf_text name;
    uint32_t kind;
    const uint8_t *at, *end; /* its value */
};

struct gguf {
    char *path;
    const uint8_t *map;
    uint64_t size;
    const uint8_t *table_end; /* behind the keys and the tensor table */
    struct gguf_key *keys;    /* ordered by name */
    size_t key_count;
    struct gguf_tensor *tensors; /* ordered by name */
    size_t tensor_count;
    uint64_t hash;
};

void gguf_sentence(char *error, size_t size, const char *path, const char *format, va_list args)
{
    size_t length = strlen(path);
    const char *shown = length > PATH_SHOWN ? path + length - PATH_SHOWN : path;
    int used = snprintf(error, size, "%s%s: ", shown == path ? "" : "...", shown);

    if (used < 0 || (size_t)used >= size)
        return;
    vsnprintf(error + used, size - (size_t)used, format, args);
    for (char *at = error + used; *at; at++)
        if (*at < ' ' || *at > '~')
            *at = '?';
}

/* Where the sentence of a failure goes. */
struct report {
    const char *path;
    char *text;
    size_t size;
};

/* Writes the sentence behind the file's name; false, so that callers can return it. */
static bool report_set(const struct report *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static bool report_set(const struct report *r, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    gguf_sentence(r->text, r->size, r->path, format, args);
    va_end(args);
    return false;
}

#ifdef __clang_analyzer__
/* The analyzer does not see that it never returns true. */
#define report_set(...) (report_set(__VA_ARGS__), false)
#endif

static int shown_length(const struct gguf_text *t)
{
    return t->length > NAME_SHOWN ? NAME_SHOWN : (int)t->length;
}

static int text_compare(const struct gguf_text *a, const struct gguf_text *b)
{
    size_t least = a->length < b->length ? a->length : b->length;
    int order = memcmp(a->bytes, b->bytes, least);

    return order != 0 ? order : (a->length > b->length) - (a->length < b->length);
}

static int key_compare(const void *a, const void *b)
{
    return text_compare(&((const struct gguf_key *)a)->name, &((const struct gguf_key *)b)->name);
}

static int tensor_compare(const void *a, const void *b)
{
    return strcmp(((const struct gguf_tensor *)a)->name, ((const struct gguf_tensor *)b)->name);
}

static const struct gguf_key *key_find(const struct gguf *g, const char *name)
{
    struct gguf_key wanted = {.name = {name, strlen(name)}};

    return g->key_count == 0
               ? NULL
               : bsearch(&wanted, g->keys, g->key_count, sizeof(*g->keys), key_compare);
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);

    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

/* --- What is not a GGUF file ------------------------------------------------------------------ */

static const char safetensors_advice[] =
    "llm reads GGUF, one file with weights, tokenizer and chat template: get the GGUF of the same "
    "model (publishers call it NAME-GGUF, file NAME-Q8_0.gguf), or make it with "
    "convert_hf_to_gguf.py of llama.cpp";

static void folder_refuse(const struct report *r, int fd)
{
    bool has_weights = false;
    const char *gguf = NULL;
    char name[256];
    struct dirent *entry;
    DIR *folder = fdopendir(fd);

    if (!folder) {
        int err = errno;

        close(fd);
        report_set(r, "cannot read this directory: %s", strerror(err));
        return;
    }
    while (!gguf && (entry = readdir(folder))) {
        has_weights |= ends_with(entry->d_name, ".safetensors");
        if (ends_with(entry->d_name, ".gguf")) {
            snprintf(name, sizeof(name), "%s", entry->d_name);
            gguf = name;
        }
    }
    closedir(folder);
    if (gguf)
        report_set(r, "is a directory: name the file in it, such as %s", gguf);
    else if (has_weights)
        report_set(r, "is a safetensors folder; %s", safetensors_advice);
    else
        report_set(r, "is a directory; llm needs a GGUF file");
}

/* A safetensors file begins with the length of its header, which is JSON. */
static bool is_safetensors(const struct gguf *g)
{
    return g->size > 9 && g->map[8] == '{' && (g->map[9] == '"' || g->map[9] == '}');
}

static bool magic_refuse(const struct gguf *g, const struct report *r)
{
    if (is_safetensors(g))
        return report_set(r, "is a safetensors file; %s", safetensors_advice);
    if (memcmp(g->map, "PK\3\4", 4) == 0)
        return report_set(r, "is a PyTorch checkpoint; %s", safetensors_advice);
    if (memcmp(g->map, "lmgg", 4) == 0 || memcmp(g->map, "fmgg", 4) == 0 ||
        memcmp(g->map, "tjgg", 4) == 0 || memcmp(g->map, "algg", 4) == 0)
        return report_set(r, "is of a format older than GGUF; get the GGUF of the same model");
    return report_set(r,
                      "is not a GGUF file: it begins with %02x %02x %02x %02x, not with \"GGUF\"",
                      g->map[0], g->map[1], g->map[2], g->map[3]);
}

/* --- Keys ------------------------------------------------------------------------------------- */

static bool keys_read(struct gguf *g, struct gguf_cursor *c, uint64_t count, const struct report *r)
{
    if (count > KEYS_MOST)
        return report_set(r, "has %" PRIu64 " keys, more than %d", count, KEYS_MOST);
    if (count > (uint64_t)(c->end - c->at) / KEY_LEAST)
        return report_set(r, "is cut: %" PRIu64 " keys do not fit into its %" PRIu64 " bytes",
                          count, g->size);
    g->keys = calloc(count + 1, sizeof(*g->keys));
    if (!g->keys)
        return report_set(r, "out of memory");
    for (; g->key_count < count; g->key_count++) {
        struct gguf_key *k = &g->keys[g->key_count];
        const char *wrong;

        if (!gguf_cursor_text(c, &k->name) || !gguf_cursor_u32(c, &k->kind))
            return report_set(r, "is cut in key %zu of %" PRIu64, g->key_count + 1, count);
        if (k->name.length == 0)
            return report_set(r, "key %zu has no name", g->key_count + 1);
        k->at = c->at;
        wrong = gguf_value_skip(c, k->kind);
        if (wrong)
            return report_set(r, "the value of key %.*s %s", shown_length(&k->name), k->name.bytes,
                              wrong);
        k->end = c->at;
    }
    return true;
}

static bool keys_order(struct gguf *g, const struct report *r)
{
    qsort(g->keys, g->key_count, sizeof(*g->keys), key_compare);
    for (size_t i = 1; i < g->key_count; i++) {
        if (key_compare(&g->keys[i - 1], &g->keys[i]) == 0)
            return report_set(r, "has the key %.*s twice", shown_length(&g->keys[i].name),
                              g->keys[i].name.bytes);
    }
    return true;
}

static bool keys_check(const struct gguf *g, uint64_t *alignment, const struct report *r)
{
    uint64_t parts;

    *alignment = ALIGNMENT_DEFAULT;
    if (gguf_has(g, "general.alignment") && !gguf_number(g, "general.alignment", alignment))
        return report_set(r, "general.alignment is no number");
    if (*alignment == 0 || *alignment > ALIGNMENT_MOST || (*alignment & (*alignment - 1)) != 0)
        return report_set(r, "general.alignment is %" PRIu64 ", not a power of two up to %d",
                          *alignment, ALIGNMENT_MOST);
    if (gguf_number(g, "split.count", &parts) && parts > 1)
        return report_set(r,
                          "is one of %" PRIu64 " parts of a model; join them with llama.cpp's "
                          "`llama-gguf-split --merge`, or get the model as one file",
                          parts);
    return true;
}

/* --- Tensors ---------------------------------------------------------------------------------- */

/* "F32, F16": for the sentence about a type that is not among them. */
static void types_list(char *text, size_t size)
{
    struct gguf_block block;
    size_t used = 0;

    text[0] = '\0';
    for (uint32_t type = 0; type < 64 && used < size; type++) {
        if (gguf_type_block(type, &block))
            used += (size_t)snprintf(text + used, size - used, "%s%s", used > 0 ? ", " : "",
                                     gguf_type_name(type));
    }
}

static bool type_refuse(const struct gguf_tensor *t, const struct report *r)
{
    const char *name = gguf_type_name(t->type);
    char known[128];

    types_list(known, sizeof(known));
    if (!name)
        return report_set(r,
                          "tensor %s is of type %" PRIu32 ", which llm does not know; it reads %s",
                          t->name, t->type, known);
    return report_set(r, "tensor %s is of type %s, and llm reads %s; get a file of one of these",
                      t->name, name, known);
}

/* The tensor's size, from its dims and type. */
static bool tensor_measure(struct gguf_tensor *t, const struct report *r)
{
    uint64_t values = 1;
    struct gguf_block block;

    for (uint32_t i = 0; i < t->n_dims; i++) {
        if (t->dims[i] == 0)
            return report_set(r, "tensor %s has no values: dimension %" PRIu32 " is 0", t->name, i);
        if (__builtin_mul_overflow(values, t->dims[i], &values) || values > INT64_MAX)
            return report_set(r, "tensor %s has more than 2^63 values", t->name);
    }
    if (!gguf_type_block(t->type, &block))
        return type_refuse(t, r);
    if (t->dims[0] % block.values != 0)
        return report_set(r, "tensor %s has rows of %" PRIu64 " values; %s has blocks of %" PRIu32,
                          t->name, t->dims[0], gguf_type_name(t->type), block.values);
    if (__builtin_mul_overflow(values / block.values, (uint64_t)block.bytes, &t->size))
        return report_set(r, "tensor %s has more than 2^64 bytes", t->name);
    return true;
}

/* One entry of the table; `offset` as it says. */
static bool tensor_read(struct gguf_tensor *t, uint64_t *offset, struct gguf_cursor *c,
                        size_t number, const struct report *r)
{
    struct gguf_text name;

    if (!gguf_cursor_text(c, &name))
        return report_set(r, "is cut in the name of tensor %zu", number);
    if (name.length == 0 || name.length >= GGUF_NAME_ROOM || memchr(name.bytes, 0, name.length))
        return report_set(r,
                          "tensor %zu has a name of %zu bytes; 1 to %d are allowed, none of them 0",
                          number, name.length, GGUF_NAME_ROOM - 1);
    memcpy(t->name, name.bytes, name.length);
    for (int i = 0; i < GGUF_DIMS_MOST; i++)
        t->dims[i] = 1;
    if (!gguf_cursor_u32(c, &t->n_dims))
        return report_set(r, "is cut in tensor %s", t->name);
    if (t->n_dims == 0 || t->n_dims > GGUF_DIMS_MOST)
        return report_set(r, "tensor %s has %" PRIu32 " dimensions; 1 to %d are allowed", t->name,
                          t->n_dims, GGUF_DIMS_MOST);
    for (uint32_t i = 0; i < t->n_dims; i++) {
        if (!gguf_cursor_u64(c, &t->dims[i]))
            return report_set(r, "is cut in tensor %s", t->name);
    }
    if (!gguf_cursor_u32(c, &t->type) || !gguf_cursor_u64(c, offset))
        return report_set(r, "is cut in tensor %s", t->name);
    return tensor_measure(t, r);
}

/* Until the table has ended, `data` is unknown; it is kept as the offset plus the map's begin. */
static bool tensors_read(struct gguf *g, struct gguf_cursor *c, uint64_t count,
                         const struct report *r)
{
    if (count > TENSORS_MOST)
        return report_set(r, "has %" PRIu64 " tensors, more than %d", count, TENSORS_MOST);
    if (count > (uint64_t)(c->end - c->at) / TENSOR_LEAST)
        return report_set(r, "is cut: %" PRIu64 " tensors do not fit into its %" PRIu64 " bytes",
                          count, g->size);
    g->tensors = calloc(count + 1, sizeof(*g->tensors));
    if (!g->tensors)
        return report_set(r, "out of memory");
    for (; g->tensor_count < count; g->tensor_count++) {
        struct gguf_tensor *t = &g->tensors[g->tensor_count];
        uint64_t offset;

        if (!tensor_read(t, &offset, c, g->tensor_count + 1, r))
            return false;
        if (offset > g->size)
            return report_set(r,
                              "is cut: tensor %s begins at byte %" PRIu64 " of the data, and the "
                              "file has %" PRIu64 " bytes",
                              t->name, offset, g->size);
        t->data = g->map + offset;
    }
    return true;
}

/* Places the tensors into the data, which begins at the next multiple of the alignment. */
static bool tensors_place(struct gguf *g, uint64_t alignment, const struct report *r)
{
    uint64_t header = (uint64_t)(g->table_end - g->map);
    uint64_t begin = (header + alignment - 1) / alignment * alignment;

    for (size_t i = 0; i < g->tensor_count; i++) {
        struct gguf_tensor *t = &g->tensors[i];
        uint64_t offset = (uint64_t)((const uint8_t *)t->data - g->map);

        if (offset % alignment != 0)
            return report_set(r,
                              "tensor %s begins at byte %" PRIu64 " of the data, which is no "
                              "multiple of %" PRIu64,
                              t->name, offset, alignment);
        if (begin > g->size || offset > g->size - begin || t->size > g->size - begin - offset)
            return report_set(r,
                              "is cut: tensor %s has %" PRIu64 " bytes at byte %" PRIu64
                              ", and the "
                              "file has %" PRIu64 " bytes",
                              t->name, t->size, begin + offset, g->size);
        t->data = g->map + begin + offset;
    }
    return true;
}

static bool tensors_order(struct gguf *g, const struct report *r)
{
    qsort(g->tensors, g->tensor_count, sizeof(*g->tensors), tensor_compare);
    for (size_t i = 1; i < g->tensor_count; i++) {
        if (tensor_compare(&g->tensors[i - 1], &g->tensors[i]) == 0)
            return report_set(r, "has the tensor %s twice", g->tensors[i].name);
    }
    return true;
}

/* --- The file --------------------------------------------------------------------------------- */

/* FNV-1a of 64 bits. */
static uint64_t header_hash(const struct gguf *g)
{
    uint64_t hash = 0xcbf29ce484222325;

    for (const uint8_t *at = g->map; at < g->table_end; at++)
        hash = (hash ^ *at) * 0x100000001b3;
    return hash;
}

static bool file_parse(struct gguf *g, const struct report *r)
{
    struct gguf_cursor c = {.at = g->map + 4, .end = g->map + g->size};
    uint64_t tensor_count, key_count, alignment;
    uint32_t version;

    if (memcmp(g->map, "GGUF", 4) != 0)
        return magic_refuse(g, r);
    if (!gguf_cursor_u32(&c, &version) || !gguf_cursor_u64(&c, &tensor_count) ||
        !gguf_cursor_u64(&c, &key_count))
        return report_set(r, "is cut: it has %" PRIu64 " bytes", g->size);
    if (version > UINT16_MAX && __builtin_bswap32(version) <= VERSION_MOST)
        return report_set(r, "is a GGUF file for machines of the other byte order");
    if (version < VERSION_LEAST || version > VERSION_MOST)
        return report_set(r, "is a GGUF file of version %" PRIu32 "; llm reads versions %d and %d",
                          version, VERSION_LEAST, VERSION_MOST);
    if (!keys_read(g, &c, key_count, r) || !keys_order(g, r) || !keys_check(g, &alignment, r) ||
        !tensors_read(g, &c, tensor_count, r))
        return false;
    g->table_end = c.at;
    if (!tensors_place(g, alignment, r) || !tensors_order(g, r))
        return false;
    g->hash = header_hash(g);
    return true;
}

static bool file_map(struct gguf *g, const struct report *r)
{
    int fd = open(g->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    void *map;

    if (fd < 0)
        return report_set(r, "cannot be opened: %s", strerror(errno));
    if (fstat(fd, &st)) {
        int err = errno;

        close(fd);
        return report_set(r, "cannot be examined: %s", strerror(err));
    }
    if (S_ISDIR(st.st_mode)) {
        folder_refuse(r, fd);
        return false;
    }
    if (!S_ISREG(st.st_mode) || st.st_size < 8) {
        close(fd);
        return S_ISREG(st.st_mode)
                   ? report_set(r, "is not a GGUF file: it has %jd bytes", (intmax_t)st.st_size)
                   : report_set(r, "is no regular file, so it cannot be mapped");
    }
    g->size = (uint64_t)st.st_size;
    map = mmap(NULL, (size_t)g->size, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (map == MAP_FAILED)
        return report_set(r, "its %" PRIu64 " bytes cannot be mapped: %s", g->size,
                          strerror(errno));
    g->map = map;
    return true;
}

struct gguf *gguf_open(const char *path, char *error, size_t size)
{
    struct report r = {path, error, size};
    struct gguf *g = calloc(1, sizeof(*g));

    if (!g || !(g->path = strdup(path))) {
        report_set(&r, "out of memory");
        goto fail;
    }
    if (!file_map(g, &r) || !file_parse(g, &r))
        goto fail;
    return g;
fail:
    gguf_close(g);
    return NULL;
}

void gguf_close(struct gguf *g)
{
    if (!g)
        return;
    if (g->map)
        munmap((void *)g->map, (size_t)g->size);
    free(g->tensors);
    free(g->keys);
    free(g->path);
    free(g);
}

const char *gguf_path(const struct gguf *g)
{
    return g->path;
}

struct gguf_fingerprint gguf_fingerprint(const struct gguf *g)
{
    return (struct gguf_fingerprint){g->size, g->hash};
}

bool gguf_has(const struct gguf *g, const char *key)
{
    return key_find(g, key);
}

bool gguf_number(const struct gguf *g, const char *key, uint64_t *out)
{
    const struct gguf_key *k = key_find(g, key);

    return k && gguf_value_number(k->at, k->kind, out);
}

bool gguf_real(const struct gguf *g, const char *key, double *out)
{
    const struct gguf_key *k = key_find(g, key);

    return k && gguf_value_real(k->at, k->kind, out);
}

bool gguf_text(const struct gguf *g, const char *key, struct gguf_text *out)
{
    const struct gguf_key *k = key_find(g, key);
    struct gguf_cursor c;

    if (!k || k->kind != GGUF_KIND_TEXT)
        return false;
    c = (struct gguf_cursor){.at = k->at, .end = k->end};
    return gguf_cursor_text(&c, out);
}

bool gguf_array(const struct gguf *g, const char *key, struct gguf_array *out)
{
    const struct gguf_key *k = key_find(g, key);

    return k && k->kind == GGUF_KIND_ARRAY && gguf_value_array(k->at, k->end, out);
}

const struct gguf_tensor *gguf_tensor(const struct gguf *g, const char *name)
{
    struct gguf_tensor wanted = {.name = ""};

    if (g->tensor_count == 0 || strlen(name) >= sizeof(wanted.name))
        return NULL;
    strcpy(wanted.name, name);
    return bsearch(&wanted, g->tensors, g->tensor_count, sizeof(*g->tensors), tensor_compare);
}

const struct gguf_tensor *gguf_tensors(const struct gguf *g, size_t *count)
{
    *count = g->tensor_count;
    return g->tensors;
}
