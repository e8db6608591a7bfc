/* SPDX-License-Identifier: MIT */
#include "launcher/commands/batch/pod_command.h"

#include "launcher/base/text/text_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Kubernetes fills in $(NAME), Compose $NAME and ${NAME}; both read $$ as $. Adds the word as it
 * then comes out the same. */
static int word_add(json_t *words, const char *word, struct fault *why)
{
    char *escaped = malloc(2 * strlen(word) + 1), *end = escaped, shown[TEXT_SHOWN];
    json_t *value;

    if (!escaped)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    for (const char *c = word; *c; c++) {
        *end++ = *c;
        if (*c == '$')
            *end++ = '$';
    }
    *end = '\0';
    value = json_string(escaped);
    free(escaped);
    if (!value)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "'%s' is not UTF-8, and so no word in a file of YAML",
                         text_show(shown, word));
    return json_array_append_new(words, value) ? fault_set(why, ML_ERR_MEMORY, "out of memory") : 0;
}

static int words_add(json_t *words, const char *const *more, struct fault *why)
{
    int rc = 0;

    for (; more && *more && !rc; more++)
        rc = word_add(words, *more, why);
    return rc;
}

int pod_command_make(json_t **out, const struct batch_options *b, const char *head, const char *key,
                     int index, struct fault *why)
{
    char hosts[16], slots[16], place[16];
    const char *const join[] = {"mlaunch", "join",       "--head", head, "--hosts",
                                hosts,     "--key-file", key,      NULL};
    const char *const automatic[] = {"--from", "auto", NULL};
    const char *const numbered[] = {"--index", place, NULL};
    const char *const ppn[] = {"--ppn", slots, NULL};
    int rc;

    snprintf(place, sizeof(place), "%d", index);
    snprintf(hosts, sizeof(hosts), "%d", b->nodes);
    snprintf(slots, sizeof(slots), "%d", b->ntasks_per_node);
    *out = json_array();
    rc = words_add(*out, join, why);
    if (!rc)
        rc = words_add(*out, index < 0 ? automatic : numbered, why);
    if (!rc && b->ntasks_per_node)
        rc = words_add(*out, ppn, why);
    if (!rc)
        rc = words_add(*out, (const char *const *)b->words.items, why);
    if (rc)
        json_decref(*out);
    return rc;
}
