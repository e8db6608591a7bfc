/* SPDX-License-Identifier: MIT */
/* verify_reach.c: whether the hosts are there, are different machines, agree about the time, and
 * can connect to each other. */
#include "common/net/address.h"
#include "common/text/object_field.h"
#include "common/text/text_json.h"
#include "launcher/tools/verify/verify_groups.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double clock_bound_s = 1;
/* A host is slow above both this limit and this multiple of the median of all. */
static const double connect_bound_s = 5, connect_most = 3;
/* A host is far if its best connection takes more than both. */
static const double far_bound_ms = 20, far_most = 10;

/* Where others reach the host: as for a job, the hostfile's address comes first. */
static const char *address_of(const struct verify *v, int host, const char *towards,
                              char own[ADDRESS_TEXT])
{
    const struct host *h = &v->c.hosts->hosts[host];
    const struct query_answer *a = &v->c.answers[host];

    if (h->ips && h->ips[0])
        return h->ips[0];
    if (h->launch_method == LAUNCH_METHOD_SRUN || h->launch_method == LAUNCH_METHOD_COMMAND)
        return a->guess;
    if (a->address[0])
        return a->address;
    if (h->launch_method == LAUNCH_METHOD_LOCAL && address_towards(towards, own, NULL) == 0)
        return own;
    return a->guess;
}

json_t *verify_reach_question(const struct verify *v, int host)
{
    json_t *to = json_array(), *names = json_array();
    char own[ADDRESS_TEXT], text[ADDRESS_TEXT];
    struct address a;

    for (int i = 0; i < v->c.hosts->count; i++) {
        text[0] = '\0';
        if (i != host && v->ports[i] > 0 &&
            !address_make(&a, address_of(v, i, v->c.answers[host].address, own),
                          (uint16_t)v->ports[i], NULL))
            address_format(&a, text);
        json_array_append_new(to, json_string(text));
        json_array_append_new(names,
                              text_json(i == host || !v->with_names ? "" : verify_name(v, i)));
    }
    return json_pack("{ss so so}", "what", "connect", "to", to, "names", names);
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
    v->rtt_us[host] = json_incref(json_object_get(said, "rtt_us"));
    v->resolved[host] = json_incref(json_object_get(said, "resolved"));
    return 0;
}

/* Why `from` could not connect to `to`; NULL: it could. */
static const char *failure_find(const struct verify *v, int from, int to)
{
    json_t *one;
    size_t i;

    json_array_foreach(v->failed[from], i, one)
    {
        if (object_field_whole(one, "host") == to)
            return object_field_text(one, "error");
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
                    "%s cannot connect to a TCP port of %s (%s); %s to %s works",
                    verify_name(v, there ? a : b), verify_name(v, there ? b : a),
                    there ? there : back, verify_name(v, there ? b : a),
                    verify_name(v, there ? a : b));
}

/* A host whose name is also another one's. */
static int twin_find(const struct verify *v, int host)
{
    for (int i = 0; i < host; i++)
        if (v->survey.hosts[i].is_known &&
            host_facts_are_one(&v->survey.hosts[i], &v->survey.hosts[host]))
            return i;
    return -1;
}

/* --- names ------------------------------------------------------------------------------------ */

/* Whether `text` is one of a list "a, b". */
static bool list_has(const char *list, const char *text)
{
    size_t size = strlen(text);

    for (const char *at = list; (at = strstr(at, text)); at += size)
        if ((at == list || at[-1] == ' ') && (!at[size] || at[size] == ','))
            return true;
    return false;
}

/* Whether one of the addresses that were found for a host's name is the host's. */
static bool is_own(const struct verify *v, int host, json_t *addresses)
{
    char own[ADDRESS_TEXT];
    const char *used = address_of(v, host, v->c.answers[host].address, own);
    json_t *one;
    size_t i;

    json_array_foreach(addresses, i, one)
    {
        const char *text = json_is_string(one) ? json_string_value(one) : "";

        if (strcmp(text, used) == 0 || list_has(v->survey.hosts[host].addresses, text))
            return true;
    }
    return false;
}

static const char *address_text(const json_t *addresses)
{
    const char *text = json_string_value(json_array_get(addresses, 0));

    return text ? text : "";
}

/* The hosts on which a name is not found, or means another machine, make one finding each. */
struct name_trouble {
    int count, first; /* how many hosts */
    char text[256];   /* the first one's */
};

static void trouble_add(struct name_trouble *t, int host, const char *text)
{
    if (t->count++ > 0)
        return;
    t->first = host;
    snprintf(t->text, sizeof(t->text), "%.255s", text);
}

/* `own`: the host's addresses, or "". */
static void trouble_report(struct verify *v, enum finding_kind kind, int host, const char *what,
                           const struct name_trouble *t, const char *own)
{
    char others[64] = "";

    if (t->count > 1)
        snprintf(others, sizeof(others), " and %d other%s", t->count - 1, t->count == 2 ? "" : "s");
    if (t->count > 0)
        verify_add(v, kind, host, "on %s%s %s %s%s%s", verify_name(v, t->first), others, what,
                   t->text, *own ? ", and it has only " : "", own);
}

static void name_check(struct verify *v, int host)
{
    const struct host_facts *h = &v->survey.hosts[host];
    struct name_trouble missing = {0}, wrong = {0};

    /* Everybody is localhost, one machine's second name is a finding already, and a list that was
     * cut off does not tell. */
    if (!h->is_known || !h->addresses[0] || strlen(h->addresses) + 1 >= sizeof(h->addresses) ||
        strcmp(verify_name(v, host), "localhost") == 0 || twin_find(v, host) >= 0)
        return;
    for (int i = 0; i < v->c.hosts->count; i++) {
        json_t *found = json_array_get(v->resolved[i], (size_t)host);
        json_t *addresses = json_object_get(found, "addresses");

        if (!v->survey.hosts[i].is_known)
            continue;
        if (*object_field_text(found, "error"))
            trouble_add(&missing, i, object_field_text(found, "error"));
        else if (json_array_size(addresses) > 0 && !is_own(v, host, addresses))
            trouble_add(&wrong, i, address_text(addresses));
    }
    trouble_report(v, FINDING_NAME, host, "its name is not found:", &missing, "");
    trouble_report(v, FINDING_WRONG_NAME, host, "its name is", &wrong, h->addresses);
}

/* --- hosts ------------------------------------------------------------------------------------ */

static int numbers_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* If the number of figures is even, it is the lower one of the two in the middle; 0: there are
 * none. */
static double median_of(double *all, size_t count)
{
    qsort(all, count, sizeof(*all), numbers_compare);
    return count > 0 ? all[(count - 1) / 2] : 0;
}

/* How long the hosts' agents took to be there, at the median. */
static double median_wait(const struct verify *v)
{
    double *all = calloc((size_t)v->c.hosts->count, sizeof(*all)), median = 0;
    size_t count = 0;

    for (int i = 0; i < v->c.hosts->count && all; i++)
        if (v->survey.hosts[i].is_known)
            all[count++] = v->survey.asked_at[i] - v->survey.opened_at;
    if (all)
        median = median_of(all, count);
    free(all);
    return median;
}

/* --- how far hosts are from each other -------------------------------------------------------- */

/* ms to another host and back, measured from either side; 0: unknown. */
static double round_trip(const struct verify *v, int a, int b)
{
    double there = json_number_value(json_array_get(v->rtt_us[a], (size_t)b)) / 1e3;
    double back = json_number_value(json_array_get(v->rtt_us[b], (size_t)a)) / 1e3;

    return there > 0 && (back <= 0 || there < back) ? there : back;
}

/* The host's shortest round trip; 0: it has none. A link that is slow says nothing about which of
 * its ends is, but a host that is slow has no other links. */
static double best_round_trip(const struct verify *v, int host)
{
    double best = 0;

    for (int i = 0; i < v->c.hosts->count; i++) {
        double ms = i == host ? 0 : round_trip(v, host, i);

        if (ms > 0 && (best <= 0 || ms < best))
            best = ms;
    }
    return best;
}

/* Two hosts have one link, and nothing to compare it with. */
static void distance_check(struct verify *v)
{
    double *best = calloc((size_t)v->c.hosts->count, sizeof(*best)), median = 0;
    double *sorted = calloc((size_t)v->c.hosts->count, sizeof(*sorted));
    size_t count = 0;

    for (int i = 0; i < v->c.hosts->count && best && sorted; i++) {
        best[i] = best_round_trip(v, i);
        if (best[i] > 0)
            sorted[count++] = best[i];
    }
    if (sorted)
        median = median_of(sorted, count);
    for (int i = 0; i < v->c.hosts->count && best && count > 2; i++)
        if (best[i] > far_bound_ms && best[i] > far_most * median)
            verify_add(v, FINDING_FAR, i,
                       "its best connection takes %.1f ms to another host and back, and that of "
                       "the median host %.3f ms (at most %.0f ms, or %.0f times that)",
                       best[i], median, far_bound_ms, far_most);
    free(best);
    free(sorted);
}

static void wait_check(struct verify *v, int host, double median)
{
    double wait = v->survey.asked_at[host] - v->survey.opened_at;

    if (wait > connect_bound_s && wait > connect_most * median)
        verify_add(v, FINDING_SLOW, host,
                   "its agent was ready after %.1f s, and that of the median host after %.1f s (at "
                   "most %.0f s, or %.0f times that)",
                   wait, median, connect_bound_s, connect_most);
}

static void host_check(struct verify *v, int host, double median)
{
    double ahead = v->survey.clock_ahead[host];
    int twin;

    if (v->c.answers[host].error[0])
        verify_add(v, FINDING_UNREACHED, host, "%s", v->c.answers[host].error);
    if (!v->survey.hosts[host].is_known)
        return;
    wait_check(v, host, median);
    twin = twin_find(v, host);
    if (twin >= 0)
        finding_add(&v->findings, FINDING_ONE_MACHINE, verify_name(v, twin), verify_name(v, host),
                    "they are one machine");
    if (fabs(ahead) > clock_bound_s)
        verify_add(v, FINDING_CLOCK, host, "its clock is %.1f s %s this machine's (at most %.0f s)",
                   fabs(ahead), ahead > 0 ? "ahead of" : "behind", clock_bound_s);
}

void verify_reach(struct verify *v)
{
    double median = median_wait(v);

    for (int i = 0; i < v->c.hosts->count; i++)
        host_check(v, i, median);
    distance_check(v);
    for (int i = 0; i < v->c.hosts->count; i++)
        name_check(v, i);
    for (int i = 0; i < v->c.hosts->count; i++)
        for (int k = i + 1; k < v->c.hosts->count; k++)
            pair_check(v, i, k);
}
