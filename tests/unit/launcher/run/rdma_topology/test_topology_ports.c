/* SPDX-License-Identifier: MIT */
/*
 * test_topology_ports.c: devices with several ports: which of them are tried, paired and named,
 * from the hosts' answers to the wiring. The hosts are made up, because Soft-RoCE has one port a
 * device: ports on the same net hear each other, and mlaunch-probe's own code chooses which are
 * tried.
 */
#include "common/log.h"
#include "launcher/run/rdma_topology/topology_survey.h"
#include "rdma/probe/trial_candidates.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TEXT = 800, TOLD = 4 };
static const char *const names[] = {"a", "b", "c"};

struct port_spec {
    int host;
    const char *device;
    int port;
    const char *address; /* IPv4 in a /24; "IB…": InfiniBand, of that fabric; NULL: it is down */
    int net;             /* the cable or switch behind it */
    double gigabits;
};
#define END                                                                                        \
    {                                                                                              \
        0, NULL, 0, NULL, 0, 0                                                                     \
    }

/* The user's choice, and the log of the last survey. */
static struct {
    struct rdma_choice rdma;
    bool local_net;
} said;
static char told[TOLD][TEXT];
static int told_count;
static bool has_waited;   /* for a group in which no target answers */
static bool has_lingered; /* for a second, because some targets of a group don't answer */

static int setup(void **state)
{
    (void)state;
    said.rdma = (struct rdma_choice){.gid_index = -1};
    said.local_net = false;
    return 0;
}

static json_t *gids_of(const char *address)
{
    char text[64];

    if (!address)
        return json_array();
    if (strncmp(address, "IB", 2) == 0)
        return json_pack("[{s:i, s:s, s:s}]", "index", 0, "gid", address + 2, "type", "IB");
    snprintf(text, sizeof(text), "::ffff:%s", address);
    return json_pack("[{s:i, s:s, s:s, s:s, s:i}]", "index", 1, "gid", text, "type", "RoCE v2",
                     "ipv4", address, "prefix", 24);
}

static json_t *port_of(const struct port_spec *p)
{
    bool is_ib = p->address && strncmp(p->address, "IB", 2) == 0;
    json_t *port =
        json_pack("{s:i, s:s, s:b, s:s, s:f, s:i, s:i, s:o}", "port", p->port, "state",
                  p->address ? "active" : "down", "is_active", p->address != NULL, "link_layer",
                  is_ib ? "InfiniBand" : "Ethernet", "gigabits", p->gigabits, "active_mtu", 4096,
                  "lid", 7, "gids", gids_of(p->address));

    if (p->address)
        json_object_set_new(port, "queue_pair", json_integer(17));
    return port;
}

/* Ports of one device are neighbours in the list. */
static json_t *devices_of(int host, const struct port_spec *p)
{
    json_t *list = json_array(), *ports = NULL;
    const char *last = "";

    for (; p->device; p++) {
        if (p->host != host)
            continue;
        if (strcmp(p->device, last) != 0) {
            ports = json_array();
            json_array_append_new(list, json_pack("{s:s, s:o}", "name", p->device, "ports", ports));
            last = p->device;
        }
        json_array_append_new(ports, port_of(p));
    }
    return json_pack("{s:o}", "devices", list);
}

static int net_of(const struct port_spec *p, int host, const char *device, int port)
{
    for (; p->device; p++)
        if (p->host == host && p->port == port && strcmp(p->device, device) == 0)
            return p->net;
    fail_msg("there is no port %d of %s at host %d", port, device, host);
    return 0;
}

/* As mlaunch-probe finds them; of a group that is waited for, one target must answer. */
static json_t *device_tries(const struct trial_question *q, const char *device,
                            const struct port_spec *p)
{
    static struct trial_candidates c;
    bool answered[TRIAL_CANDIDATES] = {false};

    trial_candidates_find(&c, q, device);
    for (int i = 0; i < c.count; i++) {
        const struct wire_trial_target *t = &c.targets[i];
        json_t *try = json_array_get(c.tries, (size_t)t->row);
        int mine = net_of(p, q->host, device, t->port);
        int theirs = net_of(p, t->host, json_string_value(json_object_get(try, "device")),
                            (int)json_integer_value(json_object_get(try, "peer_port")));

        json_object_set_new(try, "carries", json_boolean(mine == theirs));
        json_object_set_new(try, "whole", json_boolean(mine == theirs));
        if (t->group >= 0)
            answered[t->group] |= mine == theirs;
    }
    for (int i = 0; i < c.count; i++) {
        const json_t *try = json_array_get(c.tries, (size_t)c.targets[i].row);

        has_waited |= c.targets[i].group >= 0 && !answered[c.targets[i].group];
        has_lingered |= c.targets[i].group >= 0 && json_is_false(json_object_get(try, "carries"));
    }
    return c.tries;
}

static json_t *tries_of(struct topology_survey *s, int host, const struct port_spec *p)
{
    json_t *question = topology_survey_question(s, host, TOPOLOGY_TRY), *list = json_array(),
           *device;
    json_t *wires = json_object_get(question, "wires");
    json_t *devices = json_array_get(json_object_get(wires, "hosts"), (size_t)host);
    struct trial_question q;
    size_t i;

    trial_question_read(&q, json_incref(wires));

    json_array_foreach(devices, i, device)
    {
        const char *name = json_string_value(json_object_get(device, "name"));

        json_array_append_new(
            list, json_pack("{s:s, s:o}", "name", name, "tries", device_tries(&q, name, p)));
    }
    trial_question_clear(&q);
    json_decref(question);
    return json_pack("{s:o}", "devices", list);
}

static void link_keep(enum log_level level, const char *text, void *arg)
{
    (void)arg;
    if (level == LOG_INFO && told_count < TOLD)
        snprintf(told[told_count++], TEXT, "%s", text);
}

/* Returns the wiring as text without its quotes, or the sentence with "host NAME: " before it. */
static const char *survey(int hosts, const char *stated, const struct port_spec *ports)
{
    static char text[TEXT];
    json_t *matrix = stated ? json_loads(stated, 0, NULL) : NULL;
    struct topology_config config = {.names = names,
                                     .count = hosts,
                                     .source = "h.json",
                                     .stated = matrix,
                                     .local_net = said.local_net,
                                     .rdma = said.rdma};
    struct topology_survey *s;
    struct fault why;
    int culprit = -1;

    assert_true(!stated || matrix);
    assert_int_equal(topology_survey_create(&s, &config, &why), 0);
    json_decref(matrix);
    has_waited = has_lingered = false;
    told_count = 0;
    for (int round = TOPOLOGY_DESCRIBE; round < TOPOLOGY_ROUNDS; round++)
        for (int i = 0; i < hosts; i++) {
            json_t *answer =
                round == TOPOLOGY_DESCRIBE ? devices_of(i, ports) : tries_of(s, i, ports);

            assert_int_equal(topology_survey_answer(s, i, (enum topology_round)round, answer, &why),
                             0);
            json_decref(answer);
        }
    log_open("test", LOG_INFO);
    log_to(link_keep, NULL);
    if (topology_survey_conclude(s, &culprit, &why)) {
        snprintf(text, sizeof(text), "host %s: %s", names[culprit], why.text);
    } else {
        char *dump = json_dumps(topology_survey_wiring(s), JSON_COMPACT), *to = text;

        for (const char *c = dump; *c && to < text + TEXT - 1; c++)
            if (*c != '"')
                *to++ = *c;
        *to = '\0';
        free(dump);
    }
    log_to(NULL, NULL);
    topology_survey_destroy(s);
    return text;
}

static void assert_says(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("%s\n  lacks: %s", text, part);
}

/* The wiring is found without waiting for targets that can't answer. */
static void assert_wiring(int hosts, const char *stated, const struct port_spec *ports,
                          const char *expected)
{
    assert_string_equal(survey(hosts, stated, ports), expected);
    assert_false(has_waited);
}

/* --- tests -------------------------------------------------------------------------------------
 */

/* Host a's device has a cable to each of the others. */
static const struct port_spec fan[] = {{0, "m", 1, "10.1.0.1", 1, 100},
                                       {0, "m", 2, "10.2.0.1", 2, 100},
                                       {1, "x", 1, "10.1.0.2", 1, 100},
                                       {1, "y", 1, "10.3.0.2", 3, 100},
                                       {2, "x", 1, "10.2.0.3", 2, 100},
                                       {2, "y", 1, "10.3.0.3", 3, 100},
                                       END};
#define FAN_WIRING "[[null,[m:1],[m:2]],[[x],null,[y]],[[x],[y],null]]"

static void test_two_peers(void **state)
{
    (void)state;
    assert_wiring(3, NULL, fan, FAN_WIRING);
    assert_wiring(3, "[[null,[\"m:1\"],[\"m:2\"]],[[\"x\"],null,[\"y\"]],[[\"x\"],[\"y\"],null]]",
                  fan, FAN_WIRING);
    /* Left open: the one that shares the peer's subnet. */
    assert_wiring(3, "[[null,[\"m\"],[\"m\"]],[[\"x\"],null,[\"y\"]],[[\"x\"],[\"y\"],null]]", fan,
                  FAN_WIRING);
    assert_says(told[0], "host a: m port 1 (GID 1, ::ffff:10.1.0.1) to x port 1");
    assert_says(told[0], "port: those in one subnet;");
    assert_says(told[1], "host a: m port 2 (GID 1, ::ffff:10.2.0.1) to x port 1");
    assert_says(told[2], "port: the only one that is up;");
    /* The port of a device with only one port may also be named. */
    assert_wiring(3,
                  "[[null,[\"m:1\"],[\"m:2\"]],[[\"x:1\"],null,[\"y\"]],[[\"x\"],[\"y:1\"],null]]",
                  fan, FAN_WIRING);
    assert_says(told[0], "port: as the wiring names it;");
    assert_says(told[2], "port: as the wiring names it;");
}

static void test_two_peers_astray(void **state)
{
    (void)state;
    assert_string_equal(
        survey(3, "[[null,[\"m:2\"],[\"m:1\"]],[[\"x\"],null,[\"y\"]],[[\"x\"],[\"y\"],null]]",
               fan),
        "host a: h.json says that m port 2 leads to host b, but it is on one cable with x of host "
        "c: the wiring does not fit the cables; mlaunch hosts --probe finds the right one");
    /* The other host's entry is the wrong one. */
    assert_says(
        survey(3, "[[null,[\"m\"],[\"m\"]],[[\"y\"],null,[\"x\"]],[[\"x\"],[\"y\"],null]]", fan),
        "host b: h.json says that y leads to host a, but it is on one cable with y of host c");
}

/* One port leads to another host, as it should: the sentence is about the other port. */
static void test_two_peers_cut(void **state)
{
    struct port_spec ports[sizeof(fan) / sizeof(*fan)];

    (void)state;
    memcpy(ports, fan, sizeof(fan));
    ports[1].net = 9;
    assert_says(
        survey(3, "[[null,[\"m\"],[\"m\"]],[[\"x\"],null,[\"y\"]],[[\"x\"],[\"y\"],null]]", ports),
        "host a: nothing comes through between m port 2 (GID 1, ::ffff:10.2.0.1) and x port 1 (GID "
        "1, ::ffff:10.2.0.3) of host c; are these on one cable");
    assert_true(has_waited);
    /* The same if its address does not show where it should lead. */
    ports[1].address = "10.9.0.1";
    assert_says(
        survey(3, "[[null,[\"m\"],[\"m\"]],[[\"x\"],null,[\"y\"]],[[\"x\"],[\"y\"],null]]", ports),
        "host a: nothing comes through between m port 2 (GID 1, ::ffff:10.9.0.1) and x port 1");
}

/* Two cables between two devices of two ports. */
static const struct port_spec twin[] = {{0, "m", 1, "10.1.0.1", 1, 100},
                                        {0, "m", 2, "10.2.0.1", 2, 100},
                                        {1, "n", 1, "10.1.0.2", 1, 100},
                                        {1, "n", 2, "10.2.0.2", 2, 100},
                                        END};

static void test_rails(void **state)
{
    (void)state;
    assert_wiring(2, NULL, twin, "[[null,[m:1,m:2]],[[n:1,n:2],null]]");
    assert_says(told[0], "host a: m port 1 (GID 1, ::ffff:10.1.0.1) to n port 1");
    assert_says(told[1], "host a: m port 2 (GID 1, ::ffff:10.2.0.1) to n port 2");
    assert_false(has_lingered);
    assert_wiring(2, "[[null,[\"m:1\",\"m:2\"]],[[\"n:2\",\"n:1\"],null]]", twin,
                  "[[null,[m:1,m:2]],[[n:1,n:2],null]]");
    assert_false(has_lingered);
    assert_wiring(2, "[[null,[\"m:2\"]],[[\"n:2\"],null]]", twin, "[[null,[m:2]],[[n:2],null]]");
    /* A device is one rail, over the first ports that fit, or over the port that the other end
     * names. */
    assert_wiring(2, "[[null,[\"m\"]],[[\"n\"],null]]", twin, "[[null,[m:1]],[[n:1],null]]");
    assert_wiring(2, "[[null,[\"m\"]],[[\"n:2\"],null]]", twin, "[[null,[m:2]],[[n:2],null]]");
    assert_says(survey(2, "[[null,[\"m\"]],[[\"n:1\",\"n:2\"],null]]", twin),
                "host a: h.json has 1 device from here to host b, but 2 the other way");
    assert_says(survey(2, "[[null,[\"m:1\"]],[[\"n:2\"],null]]", twin),
                "host a: nothing comes through between m port 1 (GID 1, ::ffff:10.1.0.1) and n "
                "port 2 (GID 1, ::ffff:10.2.0.2) of host b");
}

/* One rail in a subnet of its own, the other through a router; only ports of one kind are tried
 * with each other. */
static void test_rails_of_two_kinds(void **state)
{
    static const struct port_spec ports[] = {{0, "m", 2, "10.2.0.1", 2, 100},
                                             {0, "m", 1, "10.1.0.1", 1, 100},
                                             {1, "n", 1, "10.1.0.2", 1, 100},
                                             {1, "n", 2, "10.3.0.2", 2, 100},
                                             END};

    (void)state;
    assert_wiring(2, "[[null,[\"m:1\",\"m:2\"]],[[\"n:2\",\"n:1\"],null]]", ports,
                  "[[null,[m:1,m:2]],[[n:1,n:2],null]]");
    assert_false(has_lingered);
}

/* All in one subnet: only traffic tells which is which. */
static void test_crossed(void **state)
{
    static const struct port_spec ports[] = {{0, "m", 1, "10.1.0.1", 1, 100},
                                             {0, "m", 2, "10.1.0.2", 2, 100},
                                             {1, "n", 1, "10.1.0.3", 2, 100},
                                             {1, "n", 2, "10.1.0.4", 1, 100},
                                             END};

    (void)state;
    assert_wiring(2, NULL, ports, "[[null,[m:1,m:2]],[[n:2,n:1],null]]");
    assert_wiring(2, "[[null,[\"m:1\",\"m:2\"]],[[\"n:1\",\"n:2\"],null]]", ports,
                  "[[null,[m:1,m:2]],[[n:2,n:1],null]]");
    assert_wiring(2, "[[null,[\"m\"]],[[\"n\"],null]]", ports, "[[null,[m:1]],[[n:2],null]]");
    assert_wiring(2, "[[null,[\"m\"]],[[\"n:1\"],null]]", ports, "[[null,[m:2]],[[n:1],null]]");
}

/* One switch, one subnet: each port reaches all. */
static void test_switch(void **state)
{
    static const struct port_spec ports[] = {
        {0, "m", 2, "10.1.0.1", 1, 100}, {0, "m", 1, "10.1.0.2", 1, 100},
        {0, "z", 1, "10.1.0.5", 1, 100}, {1, "n", 1, "10.1.0.3", 1, 100},
        {1, "n", 2, "10.1.0.4", 1, 100}, END};

    (void)state;
    assert_wiring(2, NULL, ports, "[[null,[m:1,m:2]],[[n:1,n:2],null]]");
    assert_wiring(2, "[[null,[\"z\",\"m\"]],[[\"n:1\",\"n:2\"],null]]", ports,
                  "[[null,[z,m:2]],[[n:1,n:2],null]]");
}

static void test_down(void **state)
{
    struct port_spec ports[sizeof(twin) / sizeof(*twin)];

    (void)state;
    memcpy(ports, twin, sizeof(twin));
    ports[0].address = NULL;
    assert_wiring(2, NULL, ports, "[[null,[m]],[[n:2],null]]");
    assert_wiring(2, "[[null,[\"m\"]],[[\"n\"],null]]", ports, "[[null,[m]],[[n:2],null]]");
    assert_wiring(2, "[[null,[\"m:2\"]],[[\"n:2\"],null]]", ports, "[[null,[m]],[[n:2],null]]");
    ports[1].address = NULL;
    assert_says(survey(2, NULL, ports),
                "host a: no RDMA device reaches host b: here m port 1 (down), m port 2 (down); "
                "there n port 1 (10.1.0.2/24), n port 2 (10.2.0.2/24)");
}

static void test_fabrics(void **state)
{
    static const struct port_spec ports[] = {{0, "m", 1, "IBfe80:1::1", 1, 100},
                                             {0, "m", 2, "IBfe80:2::1", 2, 100},
                                             {1, "n", 1, "IBfe80:1::2", 1, 100},
                                             {2, "n", 1, "IBfe80:2::3", 2, 100},
                                             {1, "k", 1, "10.3.0.2", 3, 100},
                                             {2, "k", 1, "10.3.0.3", 3, 100},
                                             END};
#define FABRICS_WIRING "[[null,[m:1],[m:2]],[[n],null,[k]],[[n],[k],null]]"

    (void)state;
    assert_wiring(3, NULL, ports, FABRICS_WIRING);
    assert_wiring(3, "[[null,[\"m\"],[\"m\"]],[[\"n\"],null,[\"k\"]],[[\"n\"],[\"k\"],null]]",
                  ports, FABRICS_WIRING);
    assert_says(told[0], "host a: m port 1 (LID 7) to n port 1 (LID 7) of host b");
    assert_says(told[0], "port: those in one fabric;");
    assert_says(
        survey(3, "[[null,[\"m:2\"],[\"m:2\"]],[[\"n\"],null,[\"k\"]],[[\"n\"],[\"k\"],null]]",
               ports),
        "host a: h.json says that m port 2 leads to host b, but it is on one cable with n of host "
        "c");
    assert_says(survey(2, "[[null,[\"m:2\"]],[[\"n\"],null]]", ports),
                "host a: m port 2 and n of host b are on different fabrics (fe80:2::1 and "
                "fe80:1::2)");
    assert_says(survey(2, "[[null,[\"m:1\"]],[[\"k\"],null]]", ports),
                "host a: m port 1 is InfiniBand, but k of host b, to which h.json leads it, is "
                "Ethernet");
}

static void test_no_devices(void **state)
{
    static const struct port_spec none[] = {END}, middle[] = {{1, "m", 1, "10.1.0.2", 1, 100}, END};
    static const struct port_spec first[] = {{0, "m", 1, "10.1.0.1", 1, 100}, END};

    (void)state;
    assert_says(survey(2, NULL, none), "host a: there are no RDMA devices here or on b: are the");
    assert_says(survey(3, NULL, none), "host a: there are no RDMA devices here or on b, c: are");
    assert_says(survey(3, NULL, middle), "host a: there are no RDMA devices here or on c: are");
    assert_says(survey(2, NULL, first), "host b: there are no RDMA devices here: are the drivers");
}

/* --rdma-port chooses among the ports that the wiring leaves open. */
static void test_option(void **state)
{
    struct port_spec ports[sizeof(twin) / sizeof(*twin)];

    (void)state;
    said.rdma.port = 2;
    assert_wiring(2, NULL, twin, "[[null,[m:2]],[[n:2],null]]");
    assert_says(told[0], "port: --rdma-port;");
    assert_wiring(2, "[[null,[\"m\"]],[[\"n\"],null]]", twin, "[[null,[m:2]],[[n:2],null]]");
    assert_wiring(2, "[[null,[\"m:1\"]],[[\"n:1\"],null]]", twin, "[[null,[m:1]],[[n:1],null]]");
    memcpy(ports, twin, sizeof(twin));
    ports[0].net = 9;
    assert_wiring(2, "[[null,[\"m\"]],[[\"n\"],null]]", ports, "[[null,[m:2]],[[n:2],null]]");
    assert_false(has_lingered);
    /* The port is named although no other one is up, because the ranks also obey --rdma-port. */
    memcpy(ports, twin, sizeof(twin));
    ports[1].address = ports[3].address = NULL;
    assert_wiring(2, "[[null,[\"m:1\"]],[[\"n:1\"],null]]", ports, "[[null,[m:1]],[[n:1],null]]");
    assert_says(survey(2, NULL, ports),
                "host a: no RDMA device reaches host b by port 2 (--rdma-port): here m port 1 "
                "(10.1.0.1/24), m port 2 (down);");
    said.rdma.port = 0;
    said.local_net = true;
    assert_wiring(2, NULL, twin, "[[[m:1],[m:1,m:2]],[[n:1,n:2],[n:1]]]");
    assert_wiring(2, "[[null,[\"m:2\"]],[[\"n\"],null]]", twin, "[[[m:2],[m:2]],[[n:2],[n]]]");
}

static void test_mtu(void **state)
{
    (void)state;
    said.rdma.mtu = 4096;
    assert_wiring(2, NULL, twin, "[[null,[m:1,m:2]],[[n:1,n:2],null]]");
    said.rdma.mtu = 8192;
    assert_string_equal(survey(2, "[[null,[\"m:2\"]],[[\"n:2\"],null]]", twin),
                        "host a: m port 2 has an active MTU of 4096, so --mtu 8192 is too much");
    said.local_net = true;
    assert_string_equal(survey(1, "[[[\"m\"]]]", twin),
                        "host a: m port 1 has an active MTU of 4096, so --mtu 8192 is too much");
}

/* Traffic is striped evenly: of two ports the slow one would hold up the other. */
static void test_slow(void **state)
{
    struct port_spec ports[sizeof(twin) / sizeof(*twin)];

    (void)state;
    memcpy(ports, twin, sizeof(twin));
    ports[0].gigabits = 10;
    assert_wiring(2, NULL, ports, "[[null,[m:2]],[[n:2],null]]");
}

/* Only a router can join these addresses: all ports are tried, and one is enough. */
static void test_routed(void **state)
{
    static const struct port_spec ports[] = {{0, "m", 1, "10.1.0.1", 1, 100},
                                             {0, "m", 2, "10.2.0.1", 2, 100},
                                             {1, "n", 1, "10.3.0.2", 2, 100},
                                             END};

    (void)state;
    assert_wiring(2, "[[null,[\"m\"]],[[\"n\"],null]]", ports, "[[null,[m:2]],[[n],null]]");
    assert_says(told[0], "port: the first that reach each other;");
}

/* The error of a port that the wiring names refuses the host. */
static void test_refusals(void **state)
{
    json_t *stated = json_loads("[[null,[\"m:3\"],[\"m\"]],[[\"n\"],null,[\"n\"]],"
                                "[[\"n\"],[\"n\"],null]]",
                                0, NULL);
    json_t *absent = json_loads(
        "{\"devices\": [{\"name\": \"m\", \"error\": \"m has no port 3, only 1 to 2\"}]}", 0, NULL);
    struct topology_config config = {
        .names = names, .count = 3, .source = "h.json", .stated = stated, .rdma.gid_index = -1};
    struct topology_survey *s;
    struct fault why;
    json_t *question;
    char *named;

    (void)state;
    assert_int_equal(topology_survey_create(&s, &config, &why), 0);
    question = topology_survey_question(s, 0, TOPOLOGY_DESCRIBE);
    named = json_dumps(json_object_get(question, "named"), JSON_COMPACT);
    assert_string_equal(named, "[\"m:3\",\"m\"]");
    assert_int_equal(topology_survey_answer(s, 0, TOPOLOGY_DESCRIBE, absent, &why), ML_ERR_DEVICE);
    assert_string_equal(why.text, "m has no port 3, only 1 to 2");
    free(named);
    json_decref(question);
    json_decref(absent);
    json_decref(stated);
    topology_survey_destroy(s);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_two_peers, setup),
        cmocka_unit_test_setup(test_two_peers_astray, setup),
        cmocka_unit_test_setup(test_two_peers_cut, setup),
        cmocka_unit_test_setup(test_rails, setup),
        cmocka_unit_test_setup(test_rails_of_two_kinds, setup),
        cmocka_unit_test_setup(test_crossed, setup),
        cmocka_unit_test_setup(test_switch, setup),
        cmocka_unit_test_setup(test_down, setup),
        cmocka_unit_test_setup(test_no_devices, setup),
        cmocka_unit_test_setup(test_fabrics, setup),
        cmocka_unit_test_setup(test_option, setup),
        cmocka_unit_test_setup(test_mtu, setup),
        cmocka_unit_test_setup(test_slow, setup),
        cmocka_unit_test_setup(test_routed, setup),
        cmocka_unit_test_setup(test_refusals, setup),
    };

    return cmocka_run_group_tests_name("topology_ports", tests, NULL, NULL);
}
