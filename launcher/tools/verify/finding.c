/* SPDX-License-Identifier: MIT */
#include "launcher/tools/verify/finding.h"

#include "common/text/printable.h"
#include "common/text/text_json.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { FINDINGS_MOST = 100000 };

static const struct finding_rule {
    const char *group, *name;
    enum finding_severity severity;
    const char *remedy;
} rules[FINDING_KINDS] = {
    [FINDING_UNREACHED] = {"reach", "unreached", FINDING_ERROR,
                           "see that it is up, and what mlaunch -v says of the way to it"},
    [FINDING_ONE_MACHINE] = {"reach", "one-machine", FINDING_ERROR,
                             "name each machine once, and give it more slots instead"},
    [FINDING_CLOCK] = {"reach", "clock", FINDING_WARNING, "let chrony or ntpd set the clocks"},
    [FINDING_CONNECT] = {"reach", "connect", FINDING_ERROR,
                         "look for a firewall and at the routes, or give the addresses to use as "
                         "\"ips\" in a hostfile"},
    [FINDING_SLOW] = {"reach", "slow", FINDING_WARNING,
                      "see UseDNS, GSSAPIAuthentication and slow login scripts there (ssh -v)"},
    [FINDING_NAME] = {"reach", "name", FINDING_NOTE,
                      "add it to /etc/hosts or DNS there, if programs are to find it by name"},
    [FINDING_WRONG_NAME] = {"reach", "wrong-name", FINDING_WARNING,
                            "mend /etc/hosts or DNS there, as programs that use the name meet "
                            "another machine"},
    [FINDING_MEMLOCK] = {"limits", "memlock", FINDING_ERROR,
                         "set memlock to unlimited in /etc/security/limits.conf, or LimitMEMLOCK "
                         "of the service that starts the agent"},
    [FINDING_NOFILE] = {"limits", "nofile", FINDING_WARNING,
                        "raise nofile in /etc/security/limits.conf"},
    [FINDING_NPROC] = {"limits", "nproc", FINDING_WARNING,
                       "raise nproc in /etc/security/limits.conf"},
    [FINDING_SHM] = {"limits", "shm", FINDING_WARNING,
                     "delete files in it, or give the container more (docker run --shm-size)"},
    [FINDING_TMP] = {"limits", "tmp", FINDING_WARNING, "free some space"},
    [FINDING_CACHE] = {"limits", "cache", FINDING_WARNING,
                       "free some space, as the agent is copied there"},
    [FINDING_NO_SHM] = {"limits", "no-shm", FINDING_ERROR,
                        "mount a tmpfs there that this user may write to, or start jobs with "
                        "--backend tcp --local net"},
    [FINDING_NO_TMP] = {"limits", "no-tmp", FINDING_ERROR,
                        "make it writable to this user, with some space, as every job needs it"},
    [FINDING_NO_CACHE] = {"limits", "no-cache", FINDING_WARNING,
                          "make it writable, or install mlaunch there (--agent names its place)"},
    [FINDING_CGROUP] = {"limits", "cgroup", FINDING_NOTE,
                        "start no more ranks than that allows, or raise the limit"},
    [FINDING_PROCESS_READ] = {"limits", "process-read", FINDING_NOTE,
                              "allow process_vm_readv (docker run --cap-add SYS_PTRACE)"},
    [FINDING_DIFFERS] = {"same", "differs", FINDING_WARNING,
                         "make the hosts equal, or run on those that are"},
    [FINDING_FILE] = {"same", "file", FINDING_ERROR,
                      "copy it to all hosts, or run it with mlaunch --stage"},
    [FINDING_MODULE] = {"same", "module", FINDING_ERROR, "install the same version on all hosts"},
    [FINDING_VERBS] = {"device", "verbs", FINDING_ERROR, "install libibverbs1"},
    [FINDING_ACCESS] = {"device", "access", FINDING_ERROR,
                        "allow it to the user, or pass /dev/infiniband into the container"},
    [FINDING_DEVICES] = {"device", "devices", FINDING_WARNING,
                         "see whether a card is missing or has no driver (lspci, dmesg)"},
    [FINDING_NO_PORT] = {"device", "no-port", FINDING_ERROR,
                         "see cables, switches and, on InfiniBand, the subnet manager"},
    [FINDING_PORT] = {"device", "port", FINDING_WARNING,
                      "see its cable and the switch, or ip link set up"},
    [FINDING_SPARE_PORT] = {"device", "spare-port", FINDING_NOTE, "nothing, if it is not used"},
    [FINDING_RATE] = {"device", "rate", FINDING_WARNING,
                      "see its cable, and the speed that is set on the switch"},
    [FINDING_PCIE] = {"device", "pcie", FINDING_WARNING,
                      "see that the card sits firmly and in a slot that is as fast"},
    [FINDING_NUMA] = {"device", "numa", FINDING_NOTE,
                      "see the firmware's settings, as ranks cannot be placed near it"},
    [FINDING_IOMMU] = {"device", "iommu", FINDING_NOTE,
                       "boot with iommu=pt, unless that protection is wanted"},
    [FINDING_BOND] = {"device", "bond", FINDING_WARNING,
                      "see the cables and the switches of the links that are down"},
    [FINDING_GID] = {"device", "gid", FINDING_ERROR,
                     "give its interface an IP address, and see that it is up"},
    [FINDING_MTU] = {"device", "mtu", FINDING_WARNING, "set the same MTU at both ends (ip link)"},
    [FINDING_PKEY] = {"device", "pkey", FINDING_NOTE, "see the subnet manager's partitions"},
    [FINDING_GUID] = {"device", "guid", FINDING_ERROR, "give one of the devices another GUID"},
    [FINDING_SAME_GID] = {"device", "same-gid", FINDING_ERROR,
                          "give one of the interfaces another IP or MAC address"},
    [FINDING_LINK] = {"link", "link", FINDING_ERROR, "run it by hand with -v"},
    [FINDING_DATA] = {"link", "data", FINDING_ERROR,
                      "run no jobs there before its memory, cables and cards are looked at"},
    [FINDING_LATENCY] = {"link", "latency", FINDING_WARNING,
                         "see the switches and cables between them, and what else runs there"},
    [FINDING_BANDWIDTH] = {"link", "bandwidth", FINDING_WARNING,
                           "see the switches and cables between them, and what else runs there"},
    [FINDING_PORT_RATE] = {"link", "port-rate", FINDING_WARNING,
                           "see the PCIe slots, the IOMMU and flow control on the switch"},
    [FINDING_JITTER] = {"link", "jitter", FINDING_WARNING,
                        "see what else runs there, lost packets, and the processors' sleep states"},
    [FINDING_COUNTER] = {"errors", "counter", FINDING_WARNING, "see the port's cable"},
    [FINDING_CONGESTION] = {"errors", "congestion", FINDING_NOTE,
                            "nothing, if the hosts share a switch that was full meanwhile"},
    [FINDING_STALE] = {"left", "stale", FINDING_WARNING, "mlaunch clean, or verify --fix"},
};

static const char *const words[FINDING_SEVERITIES] = {"note", "warning", "error"};

void finding_add(struct finding_list *l, enum finding_kind kind, const char *host, const char *peer,
                 const char *format, ...)
{
    struct verify_finding f = {.kind = kind, .host = host, .peer = peer}, *more;
    va_list args;

    if (l->count >= FINDINGS_MOST)
        return;
    if ((l->count & (l->count + 1)) == 0) { /* 0, 1, 3, 7, … */
        more = realloc(l->list, (2 * l->count + 1) * sizeof(*more));
        if (!more) {
            l->is_short = true;
            return;
        }
        l->list = more;
    }
    va_start(args, format);
    if (vasprintf(&f.text, format, args) < 0)
        l->is_short = true;
    else
        l->list[l->count++] = f;
    va_end(args);
}

void finding_clear(struct finding_list *l)
{
    for (size_t i = 0; i < l->count; i++)
        free(l->list[i].text);
    free(l->list);
    *l = (struct finding_list){0};
}

int finding_count(const struct finding_list *l, enum finding_severity severity)
{
    int count = 0;

    for (size_t i = 0; i < l->count; i++)
        count += rules[l->list[i].kind].severity == severity;
    return count;
}

void finding_print(const struct finding_list *l)
{
    for (int severity = FINDING_ERROR; severity >= FINDING_NOTE; severity--) {
        for (size_t i = 0; i < l->count; i++) {
            const struct verify_finding *f = &l->list[i];
            const struct finding_rule *r = &rules[f->kind];

            if ((int)r->severity != severity)
                continue;
            printable_print("%-7s  %-6s  %s %s%s%s: %s; %s\n", words[severity], r->group,
                            f->peer ? "hosts" : "host", f->host, f->peer ? " and " : "",
                            f->peer ? f->peer : "", f->text, r->remedy);
        }
    }
}

json_t *finding_json(const struct finding_list *l)
{
    json_t *all = json_array();

    for (size_t i = 0; i < l->count; i++) {
        const struct verify_finding *f = &l->list[i];
        const struct finding_rule *r = &rules[f->kind];
        json_t *one = json_pack("{ss ss ss}", "severity", words[r->severity], "group", r->group,
                                "kind", r->name);

        json_object_set_new(one, "host", text_json(f->host));
        if (f->peer)
            json_object_set_new(one, "peer", text_json(f->peer));
        json_object_set_new(one, "text", text_json(f->text));
        json_object_set_new(one, "remedy", json_string(r->remedy));
        json_array_append_new(all, one);
    }
    return all;
}
