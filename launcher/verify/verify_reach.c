/* SPDX-License-Identifier: MIT */
/* verify_reach.c: whether the hosts are there, are different machines, agree about the time, and
 * can connect to each other. */
#include "common/address.h"
#include "launcher/query/query_field.h"
#include "launcher/verify/verify_groups.h"

#include <math.h>
#include <string.h>

static const double clock_bound_s = 1;

/* Where others reach the host: as for a job, the hostfile's address comes first. */
static const char *address_of(const struct verify *v, int host, const char *towards,
                              char own[ADDRESS_TEXT])
{
    const struct host *h = &v->c.hosts->hosts[host];
    const struct query_answer *a = &v->c.answers[host];

    if (h->ips && h->ips[0])
        return h->ips[0];
    if (h->way == HOST_BY_SRUN || h->way == HOST_BY_COMMAND)
        return a->guess;
    if (a->address[0])
        return a->address;
    if (h->way == HOST_IS_HERE && address_towards(towards, own, NULL) == 0)
        return own;
    return a->guess;
}

json_t *verify_reach_question(const struct verify *v, int host)
{
    json_t *to = json_array();
    char own[ADDRESS_TEXT], text[ADDRESS_TEXT];
    struct address a;

    for (int i = 0; i < v->c.hosts->count; i++) {
        text[0] = '\0';
        if (i != host && v->ports[i] > 0 &&
            !address_make(&a, address_of(v, i, v->c.answers[host].address, own),
                          (uint16_t)v->ports[i], NULL))
            address_format(&a, text);
        json_array_append_new(to, json_string(text));
    }
    return json_pack("{ss so}", "what", "connect", "to", to);
}

int verify_reach_take(struct verify *v, int host, const json_t *said, struct fault *why)
{
    json_t *failed = json_object_get(said, "failed"), *one;
    size_t i;

    json_array_foreach(failed, i, one)
    {
        json_t *peer = json_object_get(one, "host");

        if (!json_is_integer(peer) || json_integer_value(peer) < 0 ||
            json_integer_value(peer) >= v->c.hosts->count)
            return fault_set(why, ML_ERR_REFUSED, "its agent sent a malformed ANSWER: \"failed\"");
    }
    if (!json_is_array(failed) || json_array_size(failed) > (size_t)v->c.hosts->count)
        return fault_set(why, ML_ERR_REFUSED, "its agent sent a malformed ANSWER: \"failed\"");
    v->failed[host] = json_incref(failed);
    return 0;
}

/* Why `from` could not connect to `to`; NULL: it could. */
static const char *failure_find(const struct verify *v, int from, int to)
{
    json_t *one;
    size_t i;

    json_array_foreach(v->failed[from], i, one)
    {
        if (query_field_whole(one, "host") == to)
            return query_field_text(one, "error");
    }
    return NULL;
}

bool verify_reach_is_mutual(const struct verify *v, int a, int b)
{
    return !failure_find(v, a, b) && !failure_find(v, b, a);
}

static void pair_check(struct verify *v, int a, int b)
{
    const char *there = failure_find(v, a, b), *back = failure_find(v, b, a);

    if (there && back)
        finding_add(&v->findings, FINDING_CONNECT, verify_name(v, a), verify_name(v, b),
                    "neither can connect to a TCP port of the other (%s; %s)", there, back);
    else if (there || back)
        finding_add(&v->findings, FINDING_CONNECT, verify_name(v, there ? a : b),
                    verify_name(v, there ? b : a),
                    "the first cannot connect to a TCP port of the second (%s), only the other way "
                    "round",
                    there ? there : back);
}

/* A host whose name is another one's, too. */
static int twin_find(const struct verify *v, int host)
{
    for (int i = 0; i < host; i++)
        if (v->survey.hosts[i].is_known &&
            host_facts_are_one(&v->survey.hosts[i], &v->survey.hosts[host]))
            return i;
    return -1;
}

static void host_check(struct verify *v, int host)
{
    double ahead = v->survey.clock_ahead[host];
    int twin;

    if (v->c.answers[host].error[0])
        finding_add(&v->findings, FINDING_UNREACHED, verify_name(v, host), NULL, "%s",
                    v->c.answers[host].error);
    if (!v->survey.hosts[host].is_known)
        return;
    twin = twin_find(v, host);
    if (twin >= 0)
        finding_add(&v->findings, FINDING_ONE_MACHINE, verify_name(v, twin), verify_name(v, host),
                    "they are one machine");
    if (fabs(ahead) > clock_bound_s)
        finding_add(&v->findings, FINDING_CLOCK, verify_name(v, host), NULL,
                    "its clock is %.1f s %s this machine's (at most %.0f s)", fabs(ahead),
                    ahead > 0 ? "ahead of" : "behind", clock_bound_s);
}

void verify_reach(struct verify *v)
{
    for (int i = 0; i < v->c.hosts->count; i++)
        host_check(v, i);
    for (int i = 0; i < v->c.hosts->count; i++)
        for (int k = i + 1; k < v->c.hosts->count; k++)
            pair_check(v, i, k);
}
