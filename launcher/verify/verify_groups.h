/* SPDX-License-Identifier: MIT */
/* verify_groups.h: the groups of checks of `mlaunch verify`, each in a file of its name. */
#ifndef LAUNCHER_VERIFY_VERIFY_GROUPS_H
#define LAUNCHER_VERIFY_VERIFY_GROUPS_H

#include "launcher/verify/fact_survey.h"
#include "launcher/verify/finding.h"

struct verify {
    struct query_command c;
    struct fact_survey survey;
    struct finding_list findings;
    int *ports;      /* TCP ports on which the hosts listen, for the connections; 0: none */
    json_t **failed; /* of each host: the connections that failed; or NULL */
};

static inline const char *verify_name(const struct verify *v, int host)
{
    return v->c.hosts->hosts[host].name;
}

/* Each adds to v->findings what it finds in the answers. */
void verify_reach(struct verify *v);
void verify_limits(struct verify *v);
void verify_same(struct verify *v);
void verify_device(struct verify *v);
void verify_left(struct verify *v);

/* The question for `host` whether it reaches the others, once all listen; and its answer. */
json_t *verify_reach_question(const struct verify *v, int host);
int verify_reach_take(struct verify *v, int host, const json_t *said, struct fault *why);

#endif
