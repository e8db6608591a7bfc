/* SPDX-License-Identifier: MIT */
/* finding.h: what `mlaunch verify` has found wrong, one line each. */
#ifndef LAUNCHER_TOOLS_VERIFY_FINDING_H
#define LAUNCHER_TOOLS_VERIFY_FINDING_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum finding_severity { FINDING_NOTE, FINDING_WARNING, FINDING_ERROR, FINDING_SEVERITIES };

/* All kinds, in the order of the groups: group, name, how severe it is, and what to do. */
/* clang-format off */
#define FINDING_ROWS(row)                                                                          \
    row(UNREACHED, reach, "unreached", ERROR,                                                      \
        "see that it is up, and what mlaunch -v says of the way to it")                            \
    row(ONE_MACHINE, reach, "one-machine", ERROR,                                                  \
        "name each machine once, and give it more slots instead")                                  \
    row(CLOCK, reach, "clock", WARNING, "let chrony or ntpd set the clocks")                       \
    row(CONNECT, reach, "connect", ERROR,                                                          \
        "look for a firewall and at the routes, or give the addresses to use as \"ips\" in a "     \
        "hostfile")                                                                                \
    row(SLOW, reach, "slow", WARNING,                                                              \
        "see UseDNS, GSSAPIAuthentication and slow login scripts there (ssh -v)")                  \
    row(FAR, reach, "far", WARNING,                                                                \
        "see its cable, the switch and the way to it, and what else runs there")                   \
    row(NAME, reach, "name", NOTE,                                                                 \
        "add it to /etc/hosts or DNS there, if programs are to find it by name")                   \
    row(WRONG_NAME, reach, "wrong-name", WARNING,                                                  \
        "mend /etc/hosts or DNS there, as programs that use the name meet another machine")        \
    row(MEMLOCK, limits, "memlock", ERROR,                                                         \
        "set memlock to unlimited in /etc/security/limits.conf, or LimitMEMLOCK of the service "   \
        "that starts the agent")                                                                   \
    row(NOFILE, limits, "nofile", WARNING, "raise nofile in /etc/security/limits.conf")            \
    row(NPROC, limits, "nproc", WARNING, "raise nproc in /etc/security/limits.conf")               \
    row(SHM, limits, "shm", WARNING,                                                               \
        "delete files in it, or give the container more (docker run --shm-size)")                  \
    row(TMP, limits, "tmp", WARNING, "free some space")                                            \
    row(CACHE, limits, "cache", WARNING, "free some space, as the agent is copied there")          \
    row(NO_SHM, limits, "no-shm", ERROR,                                                           \
        "mount a tmpfs there that this user may write to, or start jobs with --backend tcp "       \
        "--local net")                                                                             \
    row(NO_TMP, limits, "no-tmp", ERROR,                                                           \
        "make it writable to this user, with some space, as every job needs it")                   \
    row(NO_CACHE, limits, "no-cache", WARNING,                                                     \
        "make it writable, or install mlaunch there (--agent names its place)")                    \
    row(CGROUP, limits, "cgroup", NOTE,                                                            \
        "start no more ranks than that allows, or raise the limit")                                \
    row(PROCESS_READ, limits, "process-read", NOTE,                                                \
        "allow process_vm_readv (docker run --cap-add SYS_PTRACE)")                                \
    row(DIFFERS, same, "differs", WARNING, "make the hosts equal, or run on those that are")       \
    row(FILE, same, "file", ERROR, "copy it to all hosts, or run it with mlaunch --stage")         \
    row(MODULE, same, "module", ERROR, "install the same version on all hosts")                    \
    row(VERBS, device, "verbs", ERROR, "install libibverbs1")                                      \
    row(ACCESS, device, "access", ERROR,                                                           \
        "allow it to the user, or pass /dev/infiniband into the container")                        \
    row(DEVICES, device, "devices", WARNING,                                                       \
        "see whether a card is missing or has no driver (lspci, dmesg)")                           \
    row(NO_PORT, device, "no-port", ERROR,                                                         \
        "see cables, switches and, on InfiniBand, the subnet manager")                             \
    row(PORT, device, "port", WARNING, "see its cable and the switch, or ip link set up")          \
    row(SPARE_PORT, device, "spare-port", NOTE, "nothing, if it is not used")                      \
    row(RATE, device, "rate", WARNING, "see its cable, and the speed that is set on the switch")   \
    row(PCIE, device, "pcie", WARNING,                                                             \
        "see that the card sits firmly and in a slot that is as fast")                             \
    row(NUMA, device, "numa", NOTE,                                                                \
        "see the firmware's settings, as ranks cannot be placed near it")                          \
    row(IOMMU, device, "iommu", NOTE, "boot with iommu=pt, unless that protection is wanted")      \
    row(BOND, device, "bond", WARNING,                                                             \
        "see the cables and the switches of the links that are down")                              \
    row(GID, device, "gid", ERROR, "give its interface an IP address, and see that it is up")      \
    row(MTU, device, "mtu", WARNING, "set the same MTU at both ends (ip link)")                    \
    row(PKEY, device, "pkey", NOTE, "see the subnet manager's partitions")                         \
    row(GUID, device, "guid", ERROR, "give one of the devices another GUID")                       \
    row(SAME_GID, device, "same-gid", ERROR,                                                       \
        "give one of the interfaces another IP or MAC address")                                    \
    row(LINK, link, "link", ERROR, "run it by hand with -v")                                       \
    row(DATA, link, "data", ERROR,                                                                 \
        "run no jobs there before its memory, cables and cards are looked at")                     \
    row(LATENCY, link, "latency", WARNING,                                                         \
        "see the switches and cables between them, and what else runs there")                      \
    row(BANDWIDTH, link, "bandwidth", WARNING,                                                     \
        "see the switches and cables between them, and what else runs there")                      \
    row(PORT_RATE, link, "port-rate", WARNING,                                                     \
        "see the PCIe slots, the IOMMU and flow control on the switch")                            \
    row(JITTER, link, "jitter", WARNING,                                                           \
        "see what else runs there, lost packets, and the processors' sleep states")                \
    row(COUNTER, errors, "counter", WARNING, "see the port's cable")                               \
    row(CONGESTION, errors, "congestion", NOTE,                                                    \
        "nothing, if the hosts share a switch that was full meanwhile")                            \
    row(STALE, left, "stale", WARNING, "mlaunch clean, or verify --fix")
/* clang-format on */

#define FINDING_NUMBER(kind, group, name, severity, remedy) FINDING_##kind,
enum finding_kind { FINDING_ROWS(FINDING_NUMBER) FINDING_KINDS };

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
