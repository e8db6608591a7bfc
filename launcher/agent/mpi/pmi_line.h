/* SPDX-License-Identifier: MIT */
/* pmi_line.h: one line of PMI-1, the protocol by which MPICH's library talks to its launcher:
 * "cmd=put kvsname=j-1 key=a value=b". Nothing is quoted: a value ends at a blank. */
#ifndef LAUNCHER_AGENT_MPI_PMI_LINE_H
#define LAUNCHER_AGENT_MPI_PMI_LINE_H

#include "common/fault.h"

enum {
    PMI_LINE = 1024, /* bytes of a line with its newline: the size of MPICH's own buffers */
    PMI_LINE_FIELDS = 16,
};

struct pmi_line {
    int count;
    struct {
        const char *key, *value; /* parts of the text that was parsed */
    } fields[PMI_LINE_FIELDS];
};

/* Splits `text`, which is changed, at its blanks. ML_ERR_REFUSED: a field without '=', without a
 * key or of a repeated key, too many fields, or a control character. */
int pmi_line_parse(struct pmi_line *out, char *text, struct fault *why);

/* The value of that key, or NULL. */
const char *pmi_line_get(const struct pmi_line *line, const char *key);

#endif
