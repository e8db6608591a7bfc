/* SPDX-License-Identifier: MIT */
/*
 * host_facts.h: what an agent has said of its host (doc/protocol.md, "Questions"), checked once and
 * kept as structs. The answers come from other machines: all that is kept is bounded, and an answer
 * with a malformed member is refused as a whole.
 */
#ifndef LAUNCHER_TOOLS_VERIFY_HOST_FACTS_H
#define LAUNCHER_TOOLS_VERIFY_HOST_FACTS_H

#include "common/fault.h"

#include <jansson.h>
#include <stdbool.h>

enum { HOST_FACT_TEXT = 128, HOST_FACT_NAME = 64, HOST_DEVICES_MOST = 256 };

/* What hosts are compared by, in the order in which it is shown. */
enum host_fact {
    HOST_OS,
    HOST_KERNEL,
    HOST_CPU,
    HOST_CORES,
    HOST_MEMORY,
    HOST_NUMA_NODES,
    HOST_GOVERNOR,
    HOST_HUGE_PAGES,
    HOST_SECURITY,
    HOST_GPUS,
    HOST_GPU_DRIVER,
    HOST_GPU_DMABUF,
    HOST_GPU_PEERMEM,
    HOST_GPU_NICS,
    HOST_GPU_CORES,
    HOST_VERBS,
    HOST_PYTHON,
    HOST_MLAUNCH,
    HOST_FACTS
};
extern const char *const host_fact_titles[HOST_FACTS];

struct host_gid {
    char text[HOST_FACT_NAME], type[HOST_FACT_NAME];
};

struct host_port {
    int number;                /* from 1 */
    char state[32];            /* "ACTIVE", "DOWN", …; "": unknown */
    char physical[32];         /* "LinkUp", "Polling", …; "": unknown */
    char rate[HOST_FACT_NAME]; /* "100 Gb/sec (4X EDR)" */
    double gigabits;           /* the rate's; 0: unknown */
    bool is_active, is_ethernet;
    char interface[HOST_FACT_NAME]; /* a RoCE port's; or "" */
    int mtu;                        /* the interface's; 0: unknown */
    char bond[HOST_FACT_NAME];      /* that it is or belongs to; or "" */
    int bond_links, bond_links_up;
    char pkey[16];
    struct host_gid *gids;
    int gid_count;
    const json_t *counters; /* an object of integers */
};

struct host_device {
    char name[HOST_FACT_NAME], guid[HOST_FACT_NAME], firmware[HOST_FACT_NAME];
    char driver[HOST_FACT_NAME];
    char speed[HOST_FACT_NAME], speed_most[HOST_FACT_NAME]; /* the PCIe link's; or "" */
    int width, width_most;                                  /* 0: unknown */
    int numa_node;                                          /* -1: unknown */
    char iommu[32];             /* "identity", "DMA", "DMA-FQ"; "": none, or unknown */
    char error[HOST_FACT_TEXT]; /* why it cannot be opened; or "" */
    struct host_port *ports;
    int port_count;
};

/* The limits of ranks on that host; HUGE_VAL: without limit, or unknown. */
struct host_limits {
    double memlock, nofile, nproc, shm_free, tmp_free, cache_free, cgroup_cpus, cgroup_memory;
    char no_process_read[HOST_FACT_TEXT]; /* why ranks can't read each other's memory; or "" */
    char tmp[HOST_FACT_TEXT];             /* where temporary files are made */
    /* Why no file can be made there, in /dev/shm, and where agents are copied to; or "". */
    char no_tmp[HOST_FACT_TEXT], no_shm[HOST_FACT_TEXT], no_cache[HOST_FACT_TEXT];
};

struct host_facts {
    bool is_known;                         /* the host has answered */
    char text[HOST_FACTS][HOST_FACT_TEXT]; /* "": unknown */
    char addresses[256];
    char boot[HOST_FACT_NAME], namespaces[HOST_FACT_NAME];
    double memory, memory_available; /* bytes; 0: unknown */
    double load;                     /* -1: unknown */
    long long cores, uptime_s;       /* 0: unknown */
    double time;                     /* seconds since 1970; 0: unknown */
    struct host_limits limits;
    struct host_device *devices;
    int device_count;
    json_t *said; /* the whole answer */
};

/* Reads an answer. ML_ERR_REFUSED: a member is malformed, and the sentence says which, but not the
 * host's name. Clear it even after a failure. */
int host_facts_read(struct host_facts *out, json_t *said, struct fault *why);
void host_facts_clear(struct host_facts *h);

const struct host_device *host_facts_device(const struct host_facts *h, const char *name);
const struct host_port *host_facts_port(const struct host_device *d, int number);

/* Whether an RDMA port is active. */
bool host_facts_has_port(const struct host_facts *h);

/* Whether both are one machine, and not two containers of one. */
bool host_facts_are_one(const struct host_facts *a, const struct host_facts *b);

#endif
