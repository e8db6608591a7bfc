/* SPDX-License-Identifier: MIT */
#include "api_keys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

struct api_keys {
    bool are_open;
    int count;
    char keys[API_KEYS_MOST][API_KEY_MOST]; /* filled up with zeros, as they are compared whole */
};

static void line_trim(char *line)
{
    size_t length = strlen(line);

    while (length && strchr(" \t\r\n", line[length - 1]))
        line[--length] = '\0';
}

/* Visible ASCII, as it has to fit into a header. */
static bool is_key(const char *line)
{
    size_t length = strlen(line);

    for (size_t i = 0; i < length; i++)
        if (line[i] <= ' ' || line[i] > '~')
            return false;
    return length < API_KEY_MOST;
}

/* Returns 0, or -1 and a sentence. A line is never shown. */
static int keys_take(struct api_keys *k, FILE *from, char *error, size_t size)
{
    char line[API_KEY_MOST + 8];

    for (int number = 1; fgets(line, sizeof(line), from); number++) {
        line_trim(line);
        if (!line[0] || line[0] == '#')
            continue;
        if (!is_key(line)) {
            snprintf(error, size,
                     "line %d is no key: a key has at most %d characters, and no blanks", number,
                     API_KEY_MOST - 1);
            return -1;
        }
        if (k->count == API_KEYS_MOST) {
            snprintf(error, size, "it has more than %d keys", API_KEYS_MOST);
            return -1;
        }
        memcpy(k->keys[k->count++], line, strlen(line));
    }
    if (ferror(from))
        snprintf(error, size, "cannot be read: %s", strerror(errno));
    else if (!k->count)
        snprintf(error, size, "it has no key");
    return ferror(from) || !k->count ? -1 : 0;
}

struct api_keys *api_keys_read(const char *path, char *error, size_t size)
{
    struct api_keys *k = calloc(1, sizeof(*k));
    FILE *from = k ? fopen(path, "re") : NULL;
    char sentence[256] = "out of memory";
    struct stat s;
    int rc = -1;

    if (k && !from)
        snprintf(sentence, sizeof(sentence), "cannot be opened: %s", strerror(errno));
    if (from) {
        k->are_open = fstat(fileno(from), &s) == 0 && s.st_mode & S_IROTH;
        rc = keys_take(k, from, sentence, sizeof(sentence));
        fclose(from);
    }
    if (!rc)
        return k;
    snprintf(error, size, "--api-key-file %s: %s", path, sentence);
    api_keys_free(k);
    return NULL;
}

void api_keys_free(struct api_keys *k)
{
    if (k)
        explicit_bzero(k, sizeof(*k));
    free(k);
}

bool api_keys_are_open(const struct api_keys *k)
{
    return k->are_open;
}

/* Reads all bytes of both, whatever they are. */
static bool is_equal(const char *a, const char *b)
{
    volatile unsigned char difference = 0;

    for (int i = 0; i < API_KEY_MOST; i++)
        difference = difference | (unsigned char)(a[i] ^ b[i]);
    return difference == 0;
}

bool api_keys_has(const struct api_keys *k, const char *authorization)
{
    static const char scheme[] = "Bearer ";
    char given[API_KEY_MOST] = "";
    size_t length;
    bool has = false;

    if (!authorization || strncasecmp(authorization, scheme, strlen(scheme)) != 0)
        return false;
    authorization += strlen(scheme);
    length = strlen(authorization);
    if (!length || length >= API_KEY_MOST)
        return false;
    memcpy(given, authorization, length);
    for (int i = 0; i < k->count; i++)
        has |= is_equal(given, k->keys[i]);
    explicit_bzero(given, sizeof(given));
    return has;
}
