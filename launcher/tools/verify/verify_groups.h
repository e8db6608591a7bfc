/* SPDX-License-Identifier: MIT */
/* verify_groups.h: the groups of checks of `mlaunch verify`, each in a file of its name. */
#ifndef LAUNCHER_TOOLS_VERIFY_VERIFY_GROUPS_H
#define LAUNCHER_TOOLS_VERIFY_VERIFY_GROUPS_H

#include "launcher/tools/verify/fact_survey.h"
#include "launcher/tools/verify/finding.h"

struct verify {
    struct query_command c;
    struct fact_survey survey;
    struct finding_list findings;
    bool with_names;   /* hosts look each other's names up */
    char *cwd;         /* with --program, the caller's directory */
    int *ports;        /* TCP ports on which the hosts listen, for the connections; 0: none */
    json_t **failed;   /* per host, the connections that failed; or NULL */
    json_t **rtt_us;   /* per host, the round trips to all; or NULL */
    json_t **resolved; /* per host, what the names of all mean there; or NULL */
    json_t *pairs;     /* the figures of each pair: an array; NULL: there was no traffic */
};

static inline const char *verify_name(const struct verify *v, int host)
{
    return v->c.hosts->hosts[host].name;
}

/* Adds a finding about one host; the rest is a format with its arguments. */
#define verify_add(v, kind, host, ...)                                                             \
    finding_add(&(v)->findings, kind, verify_name(v, host), NULL, __VA_ARGS__)

/* v->c is filled in, and v->survey with what is to be asked. Asks all hosts, and adds to
 * v->findings what the answers say. ML_ERR_MEMORY, ML_ERR_SYSTEM. */
int verify_hosts_open(struct verify *v, struct fault *why);
int verify_hosts_ask(struct verify *v, struct fault *why);
void verify_hosts_judge(struct verify *v);
void verify_hosts_close(struct verify *v); /* takes one that was not opened */

/* Whether the two could connect to each other, both ways. */
bool verify_reach_is_mutual(const struct verify *v, int a, int b);

/* Each adds to v->findings what it finds in the answers. */
void verify_reach(struct verify *v);
void verify_limits(struct verify *v);
void verify_same(struct verify *v);
void verify_device(struct verify *v);
void verify_left(struct verify *v);

/* GB/s that a port ("mlx5_0", "mlx5_0:2") and its PCIe link carry; 0: unknown. */
double verify_device_rate(const struct host_facts *h, const char *port);

/* Makes traffic between all pairs, and adds those that fail or are slow. ML_ERR_MEMORY,
 * ML_ERR_SYSTEM. */
int verify_pairs(struct verify *v, struct fault *why);
/* `later`: the facts of the hosts after the traffic. */
void verify_counters(struct verify *v, const struct host_facts *later);

/* The question for `host` whether it reaches the others, once all listen; and its answer. */
json_t *verify_reach_question(const struct verify *v, int host);
int verify_reach_take(struct verify *v, int host, const json_t *said, struct fault *why);

#endif
