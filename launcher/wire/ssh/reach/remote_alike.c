/* SPDX-License-Identifier: MIT */
#include "launcher/wire/ssh/reach/remote_alike.h"

#include "launcher/wire/ssh/reach/remote_pattern.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char separators[] = " \t\r\n=";

static bool is_one_of(const char *word, const char *const *words)
{
    while (*words && strcasecmp(word, *words) != 0)
        words++;
    return *words;
}

static void patterns_add(struct remote_alike *a, char *list, const char *between)
{
    char *save = NULL;

    for (char *p = strtok_r(list, between, &save); p; p = strtok_r(NULL, between, &save)) {
        if (string_list_add(&a->patterns, p + (*p == '!'), NULL))
            a->is_doubtful = true;
    }
}

/* Criteria that are the same for all hosts, or depend on their names by patterns alone. */
static void match_scan(struct remote_alike *a, char *criteria)
{
    static const char *const alone[] = {"all", "canonical", "final", NULL};
    static const char *const by_pattern[] = {"host", "originalhost", NULL};
    static const char *const by_other[] = {"user", "localuser", "tagged", NULL};
    char *save = NULL;

    for (char *word = strtok_r(criteria, separators, &save); word && *word != '#';
         word = strtok_r(NULL, separators, &save)) {
        const char *name = word + (*word == '!');
        char *argument;

        if (is_one_of(name, alone))
            continue;
        argument = strtok_r(NULL, separators, &save);
        if (argument && is_one_of(name, by_pattern))
            patterns_add(a, argument, ",");
        else if (!argument || !is_one_of(name, by_other))
            a->is_doubtful = true;
    }
}

static void line_scan(struct remote_alike *a, char *line)
{
    static const char *const algorithms[] = {"ciphers",
                                             "macs",
                                             "kexalgorithms",
                                             "hostkeyalgorithms",
                                             "pubkeyacceptedalgorithms",
                                             "pubkeyacceptedkeytypes",
                                             NULL};
    char *keyword = line + strspn(line, separators), *rest = keyword + strcspn(keyword, separators);

    if (*rest)
        *rest++ = '\0';
    a->sets_algorithms |= is_one_of(keyword, algorithms);
    if (strcasecmp(keyword, "include") == 0 && strchr(rest, '%'))
        a->is_doubtful = true;
    if (strcasecmp(keyword, "host") != 0 && strcasecmp(keyword, "match") != 0)
        return;
    if (strpbrk(rest, "\"'\\"))
        a->is_doubtful = true;
    else if (strcasecmp(keyword, "match") == 0)
        match_scan(a, rest);
    else
        patterns_add(a, rest, separators);
}

void remote_alike_scan(struct remote_alike *a, const char *path)
{
    FILE *from = fopen(path, "re");
    char *line = NULL;
    size_t room = 0;

    if (!from)
        a->is_doubtful = true;
    while (from && getline(&line, &room, from) >= 0)
        line_scan(a, line);
    if (from && ferror(from))
        a->is_doubtful = true;
    if (from)
        fclose(from);
    free(line);
}

/* A name in capitals is one by itself: ssh heeds case in some places and not in others. */
static bool has_capitals(const char *name)
{
    while (*name && !isupper((unsigned char)*name))
        name++;
    return *name;
}

char *remote_alike_signature(const struct remote_alike *a, const char *name)
{
    char *signature;

    if (a->is_doubtful || has_capitals(name))
        return NULL;
    signature = malloc(a->patterns.count + 1);
    if (!signature)
        return NULL;
    for (size_t i = 0; i < a->patterns.count; i++)
        signature[i] = remote_pattern_matches(a->patterns.items[i], name) ? '1' : '0';
    signature[a->patterns.count] = '\0';
    return signature;
}

void remote_alike_clear(struct remote_alike *a)
{
    string_list_clear(&a->patterns);
    *a = (struct remote_alike){0};
}
