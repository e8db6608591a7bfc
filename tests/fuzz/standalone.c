/* SPDX-License-Identifier: MIT */
/*
 * standalone.c: runs a fuzz target without libFuzzer: standalone SEED-DIRECTORY DICTIONARY ROUNDS.
 * It tries each seed, then ROUNDS mutations of the seeds, the same in every run. The script
 * libfuzzer runs the targets with libFuzzer instead.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    SEEDS = 256,
    WORDS = 256,
    ROOM = 4096,
    LIMIT_S = 10 /* for one input: SIGALRM ends a target that hangs */
};

struct bytes {
    uint8_t *data;
    size_t size;
};

static struct bytes seeds[SEEDS], words[WORDS];
static size_t seed_count, word_count;
static uint64_t state = 0x9e3779b97f4a7c15u;

/* xorshift64*: below `limit`, which is not 0. */
static size_t below(size_t limit)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (size_t)((state * 0x2545f4914f6cdd1du) >> 33) % limit;
}

static struct bytes keep(const void *data, size_t size)
{
    struct bytes b = {malloc(size ? size : 1), size};

    if (!b.data)
        abort();
    memcpy(b.data, data, size);
    return b;
}

static int read_seed(const char *directory, const char *name)
{
    char path[ROOM], data[ROOM];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", directory, name);
    f = fopen(path, "r");
    if (!f) {
        perror(path);
        return -1;
    }
    seeds[seed_count++] = keep(data, fread(data, 1, sizeof(data), f));
    fclose(f);
    return 0;
}

static int compare(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name); /* not by the locale: the same order everywhere */
}

static int read_seeds(const char *directory)
{
    struct dirent **entries;
    int n = scandir(directory, &entries, NULL, compare), rc = 0;

    if (n < 0) {
        perror(directory);
        return -1;
    }
    for (int i = 0; i < n; i++) {
        if (entries[i]->d_name[0] != '.' && seed_count < SEEDS && !rc)
            rc = read_seed(directory, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return rc;
}

/* Lines "word" of a libFuzzer dictionary; \xNN and \" are understood. */
static int read_words(const char *path)
{
    char line[ROOM], word[ROOM];
    FILE *f = fopen(path, "r");

    if (!f) {
        perror(path);
        return -1;
    }
    while (word_count < WORDS && fgets(line, sizeof(line), f)) {
        char *c = strchr(line, '"');
        size_t n = 0;

        if (line[0] == '#' || !c)
            continue;
        for (c++; *c && *c != '"'; c++) {
            if (c[0] == '\\' && c[1] == 'x' && c[2] && c[3]) {
                char hex[3] = {c[2], c[3], '\0'};

                word[n++] = (char)strtoul(hex, NULL, 16);
                c += 3;
            } else {
                c += c[0] == '\\' && c[1];
                word[n++] = *c;
            }
        }
        words[word_count++] = keep(word, n);
    }
    fclose(f);
    return 0;
}

static void insert(struct bytes *b, size_t at, const uint8_t *data, size_t size)
{
    if (b->size + size > ROOM)
        return;
    memmove(b->data + at + size, b->data + at, b->size - at);
    memcpy(b->data + at, data, size);
    b->size += size;
}

static void mutate(struct bytes *b)
{
    size_t at = below(b->size + 1), length;
    uint8_t copy[64];
    const struct bytes *other;

    switch (below(6)) {
    case 0:
        if (at < b->size)
            b->data[at] ^= (uint8_t)(1u << below(8));
        break;
    case 1:
        if (at < b->size)
            b->data[at] = (uint8_t)below(256);
        break;
    case 2: /* drop */
        length = below(b->size - at + 1) % 32;
        memmove(b->data + at, b->data + at + length, b->size - at - length);
        b->size -= length;
        break;
    case 3: /* repeat */
        length = below(b->size - at + 1) % sizeof(copy);
        memcpy(copy, b->data + at, length);
        insert(b, below(b->size + 1), copy, length);
        break;
    case 4:
        if (word_count) {
            other = &words[below(word_count)];
            insert(b, at, other->data, other->size);
        }
        break;
    default: /* the end of another seed */
        other = &seeds[below(seed_count)];
        length = below(other->size + 1);
        b->size = at;
        insert(b, at, other->data + other->size - length, length);
    }
}

static void run_one(const uint8_t *data, size_t size)
{
    alarm(LIMIT_S);
    LLVMFuzzerTestOneInput(data, size);
}

static void run_round(void)
{
    uint8_t data[ROOM], *exact;
    struct bytes b = {data, 0};
    const struct bytes *seed = &seeds[below(seed_count)];

    memcpy(data, seed->data, seed->size);
    b.size = seed->size;
    for (size_t n = 1 + below(8); n > 0; n--)
        mutate(&b);
    exact = keep(data, b.size).data; /* a block of its own, so that a read beyond the end is seen */
    run_one(exact, b.size);
    free(exact);
}

int main(int argc, char **argv)
{
    long rounds = argc == 4 ? strtol(argv[3], NULL, 10) : 0;

    if (argc != 4) {
        fprintf(stderr, "usage: %s SEED-DIRECTORY DICTIONARY ROUNDS\n", argv[0]);
        return 2;
    }
    if (read_seeds(argv[1]) || read_words(argv[2]) || seed_count == 0)
        return 1;
    for (size_t i = 0; i < seed_count; i++)
        run_one(seeds[i].data, seeds[i].size);
    for (long i = 0; i < rounds; i++)
        run_round();
    printf("%zu seeds, %ld mutations\n", seed_count, rounds);
    for (size_t i = 0; i < seed_count; i++)
        free(seeds[i].data);
    for (size_t i = 0; i < word_count; i++)
        free(words[i].data);
    return 0;
}
