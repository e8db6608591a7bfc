/* SPDX-License-Identifier: MIT */
/*
 * machine.h: a host's processors as binding sees them: which hardware threads a job may use, and
 * which of them belong to one core, cache, socket and memory node.
 */
#ifndef LAUNCHER_AGENT_BINDING_MACHINE_H
#define LAUNCHER_AGENT_BINDING_MACHINE_H

#include "common/job_options.h"

#include <sched.h>

enum { MACHINE_DEVICES = 64 };

/* A hardware thread, in the machine's order: neighbours are near each other. */
struct machine_cpu {
    int number;         /* Linux's */
    int in[BIND_UNITS]; /* BIND_HWTHREAD … BIND_NUMA: which one it is of; -1: of none */
    int node;           /* the memory node beside it, as Linux numbers it; -1: unknown */
};

enum machine_vendor { VENDOR_NVIDIA = 0x10de, VENDOR_AMD = 0x1002, VENDOR_INTEL = 0x8086 };

struct machine_gpu {
    int domain, bus, device, function; /* its PCI address */
    enum machine_vendor vendor;
    int number;     /* among the vendor's that this job may use, by PCI address */
    cpu_set_t cpus; /* beside it */
};

/* A port of a network for RDMA, or rather its device. */
struct machine_port {
    char name[32];
    int nearness[MACHINE_DEVICES]; /* per GPU: how many bridges and units both are below */
};

struct machine {
    struct machine_cpu cpus[CPU_SETSIZE];
    int cpu_count; /* those that a job may use */
    /* The GPUs are one vendor's (NVIDIA before AMD before Intel), in the order of PCI addresses. */
    struct machine_gpu gpus[MACHINE_DEVICES];
    struct machine_port ports[MACHINE_DEVICES];
    int gpu_count, port_count;
};

#endif
