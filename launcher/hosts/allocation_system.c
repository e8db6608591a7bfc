/* SPDX-License-Identifier: MIT */
#include "launcher/hosts/allocation_system.h"

#include "common/number.h"
#include "launcher/text/environment.h"
#include "launcher/text/string_list.h"
#include "launcher/text/text_file.h"

#include <stdlib.h>
#include <string.h>

const char *allocation_find(char *const *environment, const char *const *names, const char **name)
{
    for (; *names; names++) {
        const char *value = environment_find(environment, *names);

        if (value && *value) {
            if (name)
                *name = *names;
            return value;
        }
    }
    return NULL;
}

int allocation_add(struct host_list *l, const char *name, int64_t slots, bool node,
                   struct fault *why)
{
    struct host h = {0};
    char shown[TEXT_SHOWN];
    int rc = host_parse(&h, name, why);

    if (!rc && h.slots)
        rc = fault_set(why, ML_ERR_ARGUMENT, "'%s' is no host's name", text_show(shown, name));
    if (!rc && node)
        rc = string_copy(&h.node, name, why);
    h.slots = (int)slots;
    if (!rc)
        rc = host_list_add(l, &h, why);
    host_clear(&h);
    return rc;
}

static int add_line(struct host_list *l, char *line, bool has_slots, struct fault *why)
{
    char *name = has_slots ? strsep(&line, " \t") : line, *count = NULL, shown[TEXT_SHOWN];
    int64_t slots = 1;

    if (has_slots && line) {
        line += strspn(line, " \t");
        count = strsep(&line, " \t");
    }
    if (has_slots && (!count || !number_parse(count, 1, SLOTS_LIMIT, &slots)))
        return fault_set(why, ML_ERR_ARGUMENT, "no number of slots stands behind '%s'",
                         text_show(shown, name));
    return allocation_add(l, name, slots, false, why);
}

int allocation_add_lines(struct host_list *l, const char *variable, const char *path,
                         bool has_slots, struct fault *why)
{
    char *text = NULL, *rest, *line;
    size_t size = 0;
    int rc = text_file_read(path, &text, &size, why);

    if (rc)
        return fault_wrap(why, "%s", variable);
    rest = text;
    for (int number = 1; !rc && (line = text_line(&rest)); number++) {
        line = text_trim(line);
        if (*line && (rc = add_line(l, line, has_slots, why)))
            fault_wrap(why, "%s: %s line %d", variable, path, number);
    }
    free(text);
    if (!rc && l->count == 0)
        rc = fault_set(why, ML_ERR_ARGUMENT, "%s: %s names no host", variable, path);
    return rc;
}
