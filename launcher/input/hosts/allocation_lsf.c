/* SPDX-License-Identifier: MIT */
/*
 * allocation_lsf.c: LSB_MCPU_HOSTS holds "a 4 b 2". For jobs too large for that, LSB_DJOB_HOSTFILE
 * names a file, or LSB_HOSTS holds "a a b": in both, a host is repeated for each of its slots.
 */
#include "common/text/number.h"
#include "launcher/base/text/string_list.h"
#include "launcher/base/text/text_file.h"
#include "launcher/input/hosts/allocation_system.h"

#include <stdlib.h>
#include <string.h>

static const char *const variables[] = {"LSB_MCPU_HOSTS", "LSB_DJOB_HOSTFILE", "LSB_HOSTS", NULL};

/* Changes `text`. */
static int words_add(struct host_list *l, char *text, bool has_slots, struct fault *why)
{
    char *rest = text, *name, *count, shown[TEXT_SHOWN];
    int64_t slots = 1;
    int rc = 0;

    while (!rc && (name = strtok_r(rest, " \t", &rest))) {
        count = has_slots ? strtok_r(NULL, " \t", &rest) : "1";
        if (!count || !number_parse(count, 1, SLOTS_LIMIT, &slots))
            return fault_set(why, ML_ERR_ARGUMENT, "'%s' is not followed by a number of slots",
                             text_show(shown, name));
        rc = allocation_system_add(l, name, slots, false, why);
    }
    if (!rc && l->count == 0)
        rc = fault_set(why, ML_ERR_ARGUMENT, "names no host");
    return rc;
}

static int lsf_read(struct host_list *l, char *const *environment, struct fault *why)
{
    const char *name, *value = allocation_system_find(environment, variables, &name);
    char *copy = NULL;
    int rc;

    if (strcmp(name, "LSB_DJOB_HOSTFILE") == 0)
        return allocation_system_add_lines(l, name, value, false, why);
    rc = string_copy(&copy, value, why);
    if (!rc && (rc = words_add(l, copy, strcmp(name, "LSB_MCPU_HOSTS") == 0, why)))
        fault_wrap(why, "%s", name);
    free(copy);
    return rc;
}

const struct allocation_system allocation_lsf = {"LSF", "LSB_JOBID", true, variables, lsf_read};
