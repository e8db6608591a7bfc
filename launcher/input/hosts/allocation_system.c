/* SPDX-License-Identifier: MIT */
#include "launcher/input/hosts/allocation_system.h"

#include "common/text/number.h"
#include "launcher/base/text/environment.h"
#include "launcher/base/text/string_list.h"
#include "launcher/base/text/text_file.h"
#include "launcher/input/hosts/host_list_parse.h"

#include <stdlib.h>
#include <string.h>

const char *allocation_system_find(char *const *environment, const char *const *names,
                                   const char **name)
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

int allocation_system_add(struct host_list *l, const char *name, int64_t slots, bool node,
                          struct fault *why)
{
    struct host h = {0};
    char shown[TEXT_SHOWN];
    int rc = host_list_parse_host(&h, name, why);

    if (!rc && h.slots)
        rc = fault_set(why, ML_ERR_ARGUMENT, "'%s' is not a host name", text_show(shown, name));
    if (!rc && node)
        rc = string_copy(&h.node, name, why);
    h.slots = (int)slots;
    if (!rc)
        rc = host_list_add(l, &h, why);
    host_list_clear_host(&h);
    return rc;
}

static int line_add(struct host_list *l, char *line, bool has_slots, struct fault *why)
{
    char *name = has_slots ? strsep(&line, " \t") : line, *count = NULL, shown[TEXT_SHOWN];
    int64_t slots = 1;

    if (has_slots && line) {
        line += strspn(line, " \t");
        count = strsep(&line, " \t");
    }
    if (has_slots && (!count || !number_parse(count, 1, SLOTS_LIMIT, &slots)))
        return fault_set(why, ML_ERR_ARGUMENT, "'%s' is not followed by a number of slots",
                         text_show(shown, name));
    return allocation_system_add(l, name, slots, false, why);
}

int allocation_system_add_lines(struct host_list *l, const char *variable, const char *path,
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
        if (*line && (rc = line_add(l, line, has_slots, why)))
            fault_wrap(why, "%s: %s line %d", variable, path, number);
    }
    free(text);
    if (!rc && l->count == 0)
        rc = fault_set(why, ML_ERR_ARGUMENT, "%s: %s names no host", variable, path);
    return rc;
}

/* --- PBS: PBS_NODEFILE has a line with a host for each of its slots --------------------------- */

static const char *const pbs_variables[] = {"PBS_NODEFILE", NULL};

static int file_read(struct host_list *l, char *const *environment, const char *const *variables,
                     bool has_slots, struct fault *why)
{
    const char *name = *variables;
    const char *path = allocation_system_find(environment, variables, &name);

    return allocation_system_add_lines(l, name, path, has_slots, why);
}

static int pbs_read(struct host_list *l, char *const *environment, struct fault *why)
{
    return file_read(l, environment, pbs_variables, false, why);
}

const struct allocation_system allocation_system_pbs = {"PBS", "PBS_JOBID", true, pbs_variables,
                                                        pbs_read};

/* --- SGE: PE_HOSTFILE has lines "host slots queue processors" --------------------------------- */

static const char *const sge_variables[] = {"PE_HOSTFILE", NULL};

static int sge_read(struct host_list *l, char *const *environment, struct fault *why)
{
    return file_read(l, environment, sge_variables, true, why);
}

const struct allocation_system allocation_system_sge = {"SGE", "JOB_ID", false, sge_variables,
                                                        sge_read};

/* --- OAR: one file by several names, with a line with a host for each of its cores ------------ */

static const char *const oar_variables[] = {"OAR_NODEFILE", "OAR_NODE_FILE", "OAR_FILE_NODES",
                                            NULL};

static int oar_read(struct host_list *l, char *const *environment, struct fault *why)
{
    return file_read(l, environment, oar_variables, false, why);
}

const struct allocation_system allocation_system_oar = {"OAR", "OAR_JOB_ID", true, oar_variables,
                                                        oar_read};

/* --- Cobalt: COBALT_NODEFILE has a line for each host ----------------------------------------- */

static const char *const cobalt_variables[] = {"COBALT_NODEFILE", NULL};

static int cobalt_read(struct host_list *l, char *const *environment, struct fault *why)
{
    return file_read(l, environment, cobalt_variables, false, why);
}

const struct allocation_system allocation_system_cobalt = {"Cobalt", "COBALT_JOBID", true,
                                                           cobalt_variables, cobalt_read};
