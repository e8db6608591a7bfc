/* SPDX-License-Identifier: MIT */
#include "launcher/input/plan/backend.h"

#include "common/log.h"
#include "common/net/address.h"
#include "launcher/base/text/string_list.h"
#include "launcher/base/text/text_file.h"
#include "launcher/input/hosts/device_name.h"
#include "launcher/input/options/foreign.h"

#include "config.h"

#include <stdio.h>
#include <string.h>

static const char *const names[] = {[BACKEND_AUTO] = "auto",
                                    [BACKEND_TCP] = "tcp",
                                    [BACKEND_SHM] = "shm",
                                    [BACKEND_NONE] = "none",
                                    [BACKEND_RDMA] = "rdma"};

/* The names in hostfiles: ours and those of mlx.launch. */
static const struct {
    const char *word;
    enum backend_choice choice;
} words[] = {{"auto", BACKEND_AUTO}, {"any", BACKEND_AUTO},  {"tcp", BACKEND_TCP},
             {"ring", BACKEND_TCP},  {"rdma", BACKEND_RDMA}, {"jaccl", BACKEND_RDMA},
             {"shm", BACKEND_SHM},   {"none", BACKEND_NONE}};

static int hostfile_choice(const struct host_list *l, enum backend_choice *choice,
                           struct fault *why)
{
    char shown[TEXT_SHOWN];
    const char *hint;

    *choice = BACKEND_AUTO;
    if (!l->backend)
        return 0;
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (strcmp(words[i].word, l->backend) != 0)
            continue;
        *choice = words[i].choice;
        return 0;
    }
    hint = foreign_backend_hint(l->backend);
    return fault_set(why, ML_ERR_ARGUMENT,
                     "hostfile: %s: \"backend\": '%s' is not auto, rdma (jaccl), tcp "
                     "(ring), shm or none%s%s",
                     l->source, text_show(shown, l->backend), hint ? "; " : "", hint ? hint : "");
}

#if HAVE_RDMA
static const bool is_built = true;
#else
static const bool is_built = false;
#endif

/* Applies the rule of "auto". A user who wrote a complete matrix expects RDMA, so there is a
 * warning if it is not used. */
static int auto_choose(struct plan *p, enum backend_choice *choice, struct fault *why)
{
    bool one = p->where->host_count == 1;
    bool is_wired = !one && host_list_check_wiring(p->list, NULL) == 0;
    const char *reason = "the hostfile's RDMA wiring is complete";
    const char *obstacle = !is_built       ? "this mlaunch was built without RDMA"
                           : p->job.secure ? "with --secure, data over RDMA would not be encrypted"
                                           : NULL;

    *choice = one && !p->job.local_net ? BACKEND_SHM : BACKEND_TCP;
    if (is_wired && obstacle) {
        log_warn("the hostfile's RDMA wiring is complete, but %s: using %s", obstacle,
                 names[*choice]);
        reason = obstacle;
    } else {
        if (is_wired)
            *choice = BACKEND_RDMA;
        else
            reason = !one                ? "the hosts have no complete RDMA wiring"
                     : !p->job.local_net ? "all ranks are on one host"
                                         : "all ranks are on one host, with --local net";
        log_info("backend %s: %s", names[*choice], reason);
    }
    return string_copy(&p->backend_reason, reason, why);
}

/* With --local net the ranks of one host connect through its first device. */
static int rdma_local_check(const struct plan *p, struct fault *why)
{
    for (int i = 0; i < p->where->host_count && p->job.local_net; i++) {
        const struct host *h = plan_host(p, i);
        bool found = false;

        for (int j = 0; j < p->list->count && !found; j++)
            found = host_list_has_wire(h, j);
        if (!found)
            return fault_set(why, ML_ERR_ARGUMENT,
                             "backend rdma with --local net: %s names no RDMA device of host %s",
                             p->list->source, h->name);
    }
    return 0;
}

static bool has_wiring(const struct plan *p)
{
    for (int i = 0; i < p->where->host_count; i++)
        if (plan_host(p, i)->rdma)
            return true;
    return false;
}

/* A spare host may get any other host as its peer, so it must be part of a stated wiring. */
static int rdma_spares_check(const struct plan *p, struct fault *why)
{
    int count = p->where->host_count + p->where->spare_count;

    for (int s = p->where->host_count; s < count; s++)
        for (int i = 0; i < count; i++) {
            const struct host *spare = plan_host(p, s), *other = plan_host(p, i);

            if (i != s && !(host_list_has_wire(spare, p->where->hosts[i]) &&
                            host_list_has_wire(other, p->where->hosts[s])))
                return fault_set(why, ML_ERR_ARGUMENT,
                                 "--spare-hosts: %s states how the hosts are wired for RDMA, but "
                                 "not how host %s is wired to host %s: add that, or use --backend "
                                 "tcp; without any \"rdma\" in the file the wiring is found",
                                 p->list->source, spare->name, other->name);
        }
    return 0;
}

static int rdma_check(const struct plan *p, struct fault *why)
{
    if (!is_built)
        return fault_set(
            why, ML_ERR_ARGUMENT,
            "this mlaunch was built without RDMA (libibverbs's headers were not there, or "
            "--disable-rdma): install libibverbs-dev and build it again, or use --backend "
            "tcp");
    if (!p->options->rdma_device && !has_wiring(p) && p->job.elastic && p->job.restarts &&
        p->where->spare_count)
        return fault_set(
            why, ML_ERR_ARGUMENT,
            "--elastic with --restarts, --spare-hosts and RDMA needs to know how host %s is wired, "
            "since links cannot be tried while ranks run: mlaunch hosts --probe -o FILE writes a "
            "hostfile that states it; or use --rdma-device, or --backend tcp",
            plan_host(p, p->where->host_count)->name);
    if (p->options->rdma_device || !has_wiring(p))
        return 0; /* without a stated wiring, it is found when the hosts are reached */
    for (int i = 0; i < p->where->host_count; i++)
        for (int j = 0; j < p->where->host_count; j++)
            if (i != j && !host_list_has_wire(plan_host(p, i), p->where->hosts[j]))
                return fault_set(
                    why, ML_ERR_ARGUMENT,
                    "backend rdma: %s: hosts[%d] (%s) names no RDMA device towards hosts[%d] (%s)",
                    p->list->source, p->where->hosts[i], plan_host(p, i)->name, p->where->hosts[j],
                    plan_host(p, j)->name);
    if (rdma_spares_check(p, why))
        return ML_ERR_ARGUMENT;
    return rdma_local_check(p, why);
}

/* --secure with a backend whose data would not be encrypted. */
static int secure_check(enum backend_choice choice, struct fault *why)
{
    if (choice == BACKEND_RDMA)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--secure and backend rdma exclude each other: data over RDMA is not "
                         "encrypted; use --backend tcp");
    if (choice == BACKEND_NONE)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--secure and backend none exclude each other: only what the library "
                         "sends is encrypted, and backend none is without it");
    return 0;
}

/* --elastic with what cannot go on without a rank. */
static int elastic_check(const struct plan *p, enum backend_choice choice, struct fault *why)
{
    if (choice == BACKEND_NONE)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--elastic and backend none exclude each other: only ranks that use the "
                         "library can go on without one of them");
    if (p->job.mpi == MPI_PMI1 || p->job.mpi == MPI_PMIX)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--elastic and --mpi %s exclude each other: an MPI program cannot go on "
                         "without one of its ranks",
                         p->job.mpi == MPI_PMI1 ? "pmi1" : "pmix");
    if (p->options->fanout)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--elastic and --fanout exclude each other: a host would take those "
                         "below it along when it is lost");
    if (p->job.elastic > p->where->size)
        return fault_set(why, ML_ERR_ARGUMENT, "--elastic %d: the job has only %d rank%s",
                         p->job.elastic, p->where->size, p->where->size == 1 ? "" : "s");
    if (p->job.restarts && (p->job.container || p->options->pty))
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--elastic with --restarts and %s exclude each other: no process can take "
                         "the place of a rank there",
                         p->job.container ? "--container" : "--pty");
    return 0;
}

/* --keep with what has no other host, or no library. */
static int keep_check(const struct plan *p, enum backend_choice choice, struct fault *why)
{
    if (p->job.keep > 1 && p->where->host_count < 2)
        return fault_set(
            why, ML_ERR_ARGUMENT,
            "--keep 2 has a copy of what ranks keep on the next host, but this job has "
            "one host alone: name others with -H, or leave it out");
    if (p->job.keep > 1 && choice == BACKEND_NONE)
        return fault_set(why, ML_ERR_ARGUMENT,
                         "--keep 2 and backend none exclude each other: only ranks that use the "
                         "library keep anything");
    return 0;
}

static int shm_check(const struct plan *p, struct fault *why)
{
    if (p->where->host_count > 1)
        return fault_set(
            why, ML_ERR_ARGUMENT,
            "backend shm needs all ranks on one host, but they are on %d (%s, %s%s): use tcp, "
            "which uses shared memory inside a host",
            p->where->host_count, plan_host(p, 0)->name, plan_host(p, 1)->name,
            p->where->host_count > 2 ? ", ..." : "");
    if (p->job.local_net)
        return fault_set(why, ML_ERR_ARGUMENT, "backend shm and --local net exclude each other");
    return 0;
}

/* Refuses a loopback address beside a host with another kind of address: from that host's machine,
 * nothing can reach it. */
static int addresses_check(const struct plan *p, struct fault *why)
{
    const struct host *real = NULL, *loop = NULL;

    for (int i = 0; i < p->where->host_count + p->where->spare_count; i++) {
        const struct host *h = plan_host(p, i);

        if (h->ips[0] && address_is_loopback(h->ips[0]) && !loop)
            loop = h;
        else if (h->ips[0] && !address_is_loopback(h->ips[0]))
            real = h;
    }
    if (!real || !loop)
        return 0;
    return fault_set(why, ML_ERR_ARGUMENT,
                     "hostfile: %s: hosts[%td] (%s): ips: %s is a loopback address, at which %s "
                     "cannot reach it",
                     p->list->source, loop - p->list->hosts, loop->name, loop->ips[0], real->name);
}

int backend_of_hosts(enum backend_choice *out, const struct host_list *l, const struct options *o,
                     struct fault *why)
{
    *out = o->backend;
    return o->backend == BACKEND_UNSET ? hostfile_choice(l, out, why) : 0;
}

int backend_settle(struct plan *p, const struct options *o, struct fault *why)
{
    enum backend_choice choice = BACKEND_AUTO;
    int rc = 0;

    p->job.local_net = o->local == LOCAL_NET;
    if (o->rdma_device && (rc = device_name_check(o->rdma_device, why)))
        fault_wrap(why, "--rdma-device");
    if (!rc)
        rc = backend_of_hosts(&choice, p->list, o, why);
    if (!rc && choice == BACKEND_AUTO)
        rc = auto_choose(p, &choice, why);
    if (!rc && p->job.secure)
        rc = secure_check(choice, why);
    if (!rc && p->job.elastic)
        rc = elastic_check(p, choice, why);
    if (!rc)
        rc = keep_check(p, choice, why);
    if (!rc && choice == BACKEND_SHM)
        rc = shm_check(p, why);
    if (!rc && choice == BACKEND_RDMA)
        rc = rdma_check(p, why);
    if (!rc && choice != BACKEND_NONE)
        rc = addresses_check(p, why);
    if (rc)
        return rc;
    snprintf(p->backend, sizeof(p->backend), "%s", names[choice]);
    if (!p->backend_reason)
        log_debug("backend %s: chosen by %s", p->backend,
                  o->backend == BACKEND_UNSET ? "the hostfile" : "--backend");
    return 0;
}
