/* SPDX-License-Identifier: MIT */
/* finding.h: what `mlaunch verify` has found wrong, one line each. */
#ifndef LAUNCHER_TOOLS_VERIFY_FINDING_H
#define LAUNCHER_TOOLS_VERIFY_FINDING_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum finding_severity { FINDING_NOTE, FINDING_WARNING, FINDING_ERROR, FINDING_SEVERITIES };

/* In the order of the groups; finding.c says of each how severe it is, and what to do. */
enum finding_kind {
    FINDING_UNREACHED,
    FINDING_ONE_MACHINE,
    FINDING_CLOCK,
    FINDING_CONNECT,
    FINDING_SLOW,
    FINDING_NAME,
    FINDING_WRONG_NAME,
    FINDING_MEMLOCK,
    FINDING_NOFILE,
    FINDING_NPROC,
    FINDING_SHM,
    FINDING_TMP,
    FINDING_CACHE,
    FINDING_NO_SHM,
    FINDING_NO_TMP,
    FINDING_NO_CACHE,
    FINDING_CGROUP,
    FINDING_PROCESS_READ,
    FINDING_DIFFERS,
    FINDING_FILE,
    FINDING_MODULE,
    FINDING_VERBS,
    FINDING_ACCESS,
    FINDING_DEVICES,
    FINDING_NO_PORT,
    FINDING_PORT,
    FINDING_SPARE_PORT,
    FINDING_RATE,
    FINDING_PCIE,
    FINDING_NUMA,
    FINDING_IOMMU,
    FINDING_BOND,
    FINDING_GID,
    FINDING_MTU,
    FINDING_PKEY,
    FINDING_GUID,
    FINDING_SAME_GID,
    FINDING_LINK,
    FINDING_DATA,
    FINDING_LATENCY,
    FINDING_BANDWIDTH,
    FINDING_PORT_RATE,
    FINDING_JITTER,
    FINDING_COUNTER,
    FINDING_CONGESTION,
    FINDING_STALE,
    FINDING_KINDS
};

struct verify_finding {
    enum finding_kind kind;
    const char *host, *peer; /* names; peer: of a pair, or NULL */
    char *text;              /* what, with the figure and its bound */
};

/* All zero is an empty list. The names are kept by reference. */
struct finding_list {
    struct verify_finding *list;
    size_t count;
    bool is_short; /* memory was, so findings are missing */
};

void finding_add(struct finding_list *l, enum finding_kind kind, const char *host, const char *peer,
                 const char *format, ...) __attribute__((format(printf, 5, 6)));
void finding_clear(struct finding_list *l);

/* How many there are of that severity. */
int finding_count(const struct finding_list *l, enum finding_severity severity);

/* One line each, the worst first. */
void finding_print(const struct finding_list *l);
/* An array; the caller's. */
json_t *finding_json(const struct finding_list *l);

#endif
