/* SPDX-License-Identifier: MIT */
#include "launcher/agent/mpi/pmi_line.h"

#include <stddef.h>
#include <string.h>

static int field_add(struct pmi_line *line, char *field, struct fault *why)
{
    char *equals = strchr(field, '=');

    if (!equals || equals == field)
        return fault_set(why, ML_ERR_REFUSED, "it has a field that is not KEY=VALUE");
    *equals = '\0';
    if (pmi_line_get(line, field))
        return fault_set(why, ML_ERR_REFUSED, "it has a field twice");
    if (line->count == PMI_LINE_FIELDS)
        return fault_set(why, ML_ERR_REFUSED, "it has more than %d fields", PMI_LINE_FIELDS);
    line->fields[line->count].key = field;
    line->fields[line->count++].value = equals + 1;
    return 0;
}

int pmi_line_parse(struct pmi_line *out, char *text, struct fault *why)
{
    char *rest = NULL;
    int rc = 0;

    out->count = 0;
    for (const char *c = text; *c; c++) {
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            return fault_set(why, ML_ERR_REFUSED, "it holds a control character");
    }
    for (char *field = strtok_r(text, " ", &rest); field && !rc; field = strtok_r(NULL, " ", &rest))
        rc = field_add(out, field, why);
    return rc;
}

const char *pmi_line_get(const struct pmi_line *line, const char *key)
{
    for (int i = 0; i < line->count; i++) {
        if (strcmp(line->fields[i].key, key) == 0)
            return line->fields[i].value;
    }
    return NULL;
}
