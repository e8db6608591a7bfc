/* SPDX-License-Identifier: MIT */
/* test_topology_survey.c: which links follow from the hosts' answers, and the sentences about links
 * that do not fit. */
#include "common/log.h"
#include "launcher/run/rdma_topology/topology_survey.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { WARNING_TEXT = 800 };
static const char *const names[] = {"a", "b", "c"};

struct device {
    int host;
    const char *name,
        *ipv4; /* NULL: only a link-local address; "IB…": InfiniBand, of that fabric */
    double gigabits;
};
struct link {
    int host;
    const char *device;
    int to;
    const char *peer;
    bool carries, whole, shared;
    const char *error;
    const char *gid; /* this end's, of RoCE v2; NULL: of its IPv4 address, if it has one */
};

static json_t *gids_of(const char *ipv4)
{
    char text[64];

    if (!ipv4)
        return json_pack("[{s:i, s:s, s:s}]", "index", 0, "gid", "fe80::1", "type", "RoCE v2");
    if (strncmp(ipv4, "IB", 2) == 0)
        return json_pack("[{s:i, s:s, s:s}]", "index", 0, "gid", ipv4 + 2, "type", "IB");
    snprintf(text, sizeof(text), "::ffff:%s", ipv4);
    return json_pack("[{s:i, s:s, s:s, s:s, s:i}]", "index", 1, "gid", text, "type", "RoCE v2",
                     "ipv4", ipv4, "prefix", 24);
}

static json_t *devices_of(int host, const struct device *devices)
{
    json_t *list = json_array();

    for (; devices->name; devices++) {
        bool is_ib = devices->ipv4 && strncmp(devices->ipv4, "IB", 2) == 0;

        if (devices->host == host)
            json_array_append_new(
                list, json_pack("{s:s, s:[{s:i, s:b, s:s, s:f, s:i, s:i, s:i, s:o}]}", "name",
                                devices->name, "ports", "port", 1, "is_active", 1, "link_layer",
                                is_ib ? "InfiniBand" : "Ethernet", "gigabits", devices->gigabits,
                                "active_mtu", 4096, "lid", 7, "queue_pair", 17, "gids",
                                gids_of(devices->ipv4)));
    }
    return json_pack("{s:o}", "devices", list);
}

static json_t *tries_of(int host, const struct device *devices, const struct link *links)
{
    json_t *list = json_array();

    for (; devices->name; devices++) {
        json_t *tries;

        if (devices->host != host)
            continue;
        tries = json_array();
        for (const struct link *l = links; l->device; l++) {
            json_t *try;

            if (l->host != host || strcmp(l->device, devices->name) != 0)
                continue;
            try = json_pack("{s:i, s:i, s:s, s:i, s:i, s:b, s:b, s:b}", "port", 1, "host", l->to,
                            "device", l->peer, "peer_port", 1, "mtu", 4096, "shared",
                            (int)l->shared, "carries", (int)l->carries, "whole", (int)l->whole);
            if (l->error)
                json_object_set_new(try, "error", json_string(l->error));
            if (l->gid)
                json_object_set_new(
                    try, "gid",
                    json_pack("{s:i, s:s, s:s}", "index", 0, "gid", l->gid, "type", "RoCE v2"));
            else if (devices->ipv4 && devices->ipv4[0] != 'I')
                json_object_set_new(try, "gid",
                                    json_pack("{s:i, s:o, s:s}", "index", 1, "gid",
                                              json_sprintf("::ffff:%s", devices->ipv4), "ipv4",
                                              devices->ipv4));
            for (const struct link *back = links; l->gid && back->device; back++)
                if (back->to == host && strcmp(back->peer, l->device) == 0 && back->host == l->to)
                    json_object_set_new(try, "peer_gid", json_pack("{s:s}", "gid", back->gid));
            json_array_append_new(tries, try);
        }
        json_array_append_new(list, json_pack("{s:s, s:o}", "name", devices->name, "tries", tries));
    }
    return json_pack("{s:o}", "devices", list);
}

/* Takes over the answer. */
static void answer(struct topology_survey *s, int host, enum topology_round round, json_t *said)
{
    struct fault why;

    if (topology_survey_answer(s, host, round, said, &why))
        fail_msg("host %s: %s", names[host], why.text);
    json_decref(said);
}

/* All hosts have answered both questions. */
static struct topology_survey *survey_answered(int hosts, const char *stated, int gid_index,
                                               const struct device *devices,
                                               const struct link *links)
{
    json_t *matrix = stated ? json_loads(stated, 0, NULL) : NULL;
    struct topology_config config = {.names = names,
                                     .count = hosts,
                                     .source = "h.json",
                                     .stated = matrix,
                                     .rdma.gid_index = gid_index};
    struct topology_survey *s;
    struct fault why;

    assert_int_equal(topology_survey_create(&s, &config, &why), 0);
    json_decref(matrix);
    for (int i = 0; i < hosts; i++)
        answer(s, i, TOPOLOGY_DESCRIBE, devices_of(i, devices));
    for (int i = 0; i < hosts; i++)
        answer(s, i, TOPOLOGY_TRY, tries_of(i, devices, links));
    return s;
}

/* Returns the wiring as text, or the sentence with "host NAME: " before it. */
static const char *survey(int hosts, const char *stated, const struct device *devices,
                          const struct link *links)
{
    static char text[700];
    struct topology_survey *s = survey_answered(hosts, stated, -1, devices, links);
    struct fault why;
    int culprit = -1;

    if (topology_survey_conclude(s, &culprit, &why)) {
        snprintf(text, sizeof(text), "host %s: %s", names[culprit], why.text);
    } else {
        char *dump = json_dumps(topology_survey_wiring(s), JSON_COMPACT);

        snprintf(text, sizeof(text), "%s", dump);
        free(dump);
    }
    topology_survey_destroy(s);
    return text;
}

static void warning_keep(enum log_level level, const char *text, void *arg)
{
    if (level == LOG_WARN)
        snprintf(arg, WARNING_TEXT, "%s", text);
}

/* The warning; "": none. */
static const char *warning(int hosts, int gid_index, const struct device *devices,
                           const struct link *links)
{
    static char text[WARNING_TEXT];
    struct topology_survey *s = survey_answered(hosts, NULL, gid_index, devices, links);
    struct fault why;
    int culprit;

    text[0] = '\0';
    log_to(warning_keep, text);
    assert_int_equal(topology_survey_conclude(s, &culprit, &why), 0);
    log_to(NULL, NULL);
    topology_survey_destroy(s);
    return text;
}

static void assert_says(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("%s\n  lacks: %s", text, part);
}

#define LINK(i, x, j, y)                                                                           \
    {i, x, j, y, true, true, true, NULL, NULL},                                                    \
    {                                                                                              \
        j, y, i, x, true, true, true, NULL, NULL                                                   \
    }

/* A mesh of three, each device named for the host to which it leads. */
static const struct device mesh[] = {{0, "x1", "10.1.0.1", 100}, {0, "x2", "10.2.0.1", 100},
                                     {1, "x0", "10.1.0.2", 100}, {1, "x2", "10.12.0.2", 100},
                                     {2, "x0", "10.2.0.3", 100}, {2, "x1", "10.12.0.3", 100},
                                     {0, NULL, NULL, 0}};
static const struct link mesh_links[] = {LINK(0, "x1", 1, "x0"),
                                         LINK(0, "x2", 2, "x0"),
                                         LINK(1, "x2", 2, "x1"),
                                         {0, NULL, 0, NULL, false, false, false, NULL, NULL}};
#define MESH_WIRING "[[null,[\"x1\"],[\"x2\"]],[[\"x0\"],null,[\"x2\"]],[[\"x0\"],[\"x1\"],null]]"

static void test_mesh(void **state)
{
    (void)state;
    assert_string_equal(survey(3, NULL, mesh, mesh_links), MESH_WIRING);
    assert_string_equal(survey(3, MESH_WIRING, mesh, mesh_links), MESH_WIRING);
    assert_says(
        survey(3, "[[null,[\"x2\"],[\"x1\"]],[[\"x0\"],null,[\"x2\"]],[[\"x0\"],[\"x1\"],null]]",
               mesh, mesh_links),
        "host a: h.json says that x2 leads to host b, but it is on one cable with x0 of host c: "
        "the wiring does not fit the cables");
}

/* Both rails in one subnet: only traffic tells which is which. */
static void test_crossed(void **state)
{
    static const struct device devices[] = {{0, "x", "10.1.0.1", 100},
                                            {0, "y", "10.1.0.2", 100},
                                            {1, "x", "10.1.0.3", 100},
                                            {1, "y", "10.1.0.4", 100},
                                            {0, NULL, NULL, 0}};
    static const struct link crossed[] = {LINK(0, "x", 1, "y"),
                                          LINK(0, "y", 1, "x"),
                                          {0, "x", 1, "x", false, false, true, NULL, NULL},
                                          {0, NULL, 0, NULL, false, false, false, NULL, NULL}};
    /* One port of host a reaches both of host b, the other only one: still two rails. */
    static const struct link half[] = {LINK(0, "x", 1, "x"),
                                       LINK(0, "x", 1, "y"),
                                       LINK(0, "y", 1, "x"),
                                       {0, NULL, 0, NULL, false, false, false, NULL, NULL}};

    (void)state;
    assert_string_equal(survey(2, NULL, devices, crossed),
                        "[[null,[\"x\",\"y\"]],[[\"y\",\"x\"],null]]");
    assert_string_equal(survey(2, "[[null,[\"y\",\"x\"]],[[\"y\",\"x\"],null]]", devices, crossed),
                        "[[null,[\"y\",\"x\"]],[[\"x\",\"y\"],null]]");
    assert_string_equal(survey(2, NULL, devices, half),
                        "[[null,[\"x\",\"y\"]],[[\"y\",\"x\"],null]]");
    assert_says(
        survey(2, "[[null,[\"x\"]],[[\"x\"],null]]", devices, crossed),
        "host a: nothing comes through between x port 1 (GID 1, ::ffff:10.1.0.1) and x port 1");
    assert_says(survey(2, "[[null,[\"x\",\"y\"]],[[\"y\"],null]]", devices, crossed),
                "host a: h.json has 2 devices from here to host b, but 1 the other way");
}

/* Traffic is striped evenly: a slow device would hold up the others. */
static void test_slow(void **state)
{
    static const struct device devices[] = {{0, "fast", "10.1.0.1", 100},
                                            {0, "slow", "10.2.0.1", 10},
                                            {1, "fast", "10.1.0.2", 100},
                                            {1, "slow", "10.2.0.2", 10},
                                            {0, NULL, NULL, 0}};
    static const struct link links[] = {LINK(0, "fast", 1, "fast"),
                                        LINK(0, "slow", 1, "slow"),
                                        {0, NULL, 0, NULL, false, false, false, NULL, NULL}};

    (void)state;
    assert_string_equal(survey(2, NULL, devices, links), "[[null,[\"fast\"]],[[\"fast\"],null]]");
}

static void test_sentences(void **state)
{
    static const struct device fabrics[] = {
        {0, "ib0", "IBfe80:1::1", 100}, {1, "ib0", "IBfe80:2::1", 100}, {0, NULL, NULL, 0}};
    static const struct device kinds[] = {
        {0, "ib0", "IBfe80:1::1", 100}, {1, "roce0", "10.1.0.2", 100}, {0, NULL, NULL, 0}};
    static const struct device bare[] = {
        {0, "x", "10.1.0.1", 100}, {1, "y", NULL, 100}, {0, NULL, NULL, 0}};
    static const struct link none[] = {{0, NULL, 0, NULL, false, false, false, NULL, NULL}};
    static const struct link silent[] = {
        {0, "x", 1, "y", false, false, true, "Connection timed out", NULL},
        {1, "y", 0, "x", false, false, true, NULL, NULL},
        {0, NULL, 0, NULL, false, false, false, NULL, NULL}};
    static const struct link narrow[] = {{0, "x", 1, "y", true, false, true, NULL, NULL},
                                         {1, "y", 0, "x", true, false, true, NULL, NULL},
                                         {0, NULL, 0, NULL, false, false, false, NULL, NULL}};
    static const char ib[] = "[[null,[\"ib0\"]],[[\"ib0\"],null]]";
    static const char xy[] = "[[null,[\"x\"]],[[\"y\"],null]]";

    (void)state;
    assert_says(survey(2, ib, fabrics, none),
                "host a: ib0 and ib0 of host b are on different fabrics (fe80:1::1 and fe80:2::1)");
    assert_says(
        survey(2, "[[null,[\"ib0\"]],[[\"roce0\"],null]]", kinds, none),
        "host a: ib0 is InfiniBand, but roce0 of host b, to which h.json leads it, is Ethernet");
    assert_says(survey(2, xy, bare, none),
                "have no RoCE addresses in common: y has no IPv4 address");
    assert_says(survey(2, xy, bare, silent),
                "of host b: Connection timed out; are these on one cable");
    assert_says(survey(2, NULL, bare, silent), "Connection timed out; look at the cable");
    assert_says(survey(2, xy, bare, narrow), "short packets come through, but none of 4096 bytes");
    assert_says(
        survey(2, NULL, bare, none),
        "host a: no RDMA device reaches host b: here x (10.1.0.1/24); there y (no IPv4 address)");
}

/* One end has only a link-local address: the link works, but is hardly meant. */
static void test_link_local(void **state)
{
    static const struct device one_bare[] = {
        {0, "x", "10.1.0.1", 100}, {1, "y", NULL, 100}, {0, NULL, NULL, 0}};
    static const struct device all_bare[] = {
        {0, "x", NULL, 100}, {1, "y", NULL, 100}, {0, NULL, NULL, 0}};
    static const struct device two_of_three[] = {
        {0, "x1", "10.1.0.1", 100}, {0, "x2", "10.2.0.1", 100}, {1, "x0", NULL, 100},
        {1, "x2", NULL, 100},       {2, "x0", "10.2.0.3", 100}, {2, "x1", "10.12.0.3", 100},
        {0, NULL, NULL, 0}};
    static const struct link local[] = {{0, "x", 1, "y", true, true, false, NULL, "fe80::1"},
                                        {1, "y", 0, "x", true, true, false, NULL, "fe80::2"},
                                        {0, NULL, 0, NULL, false, false, false, NULL, NULL}};
    static const struct link global[] = {{0, "x", 1, "y", true, true, true, NULL, "fd00::1"},
                                         {1, "y", 0, "x", true, true, true, NULL, "fd00::2"},
                                         {0, NULL, 0, NULL, false, false, false, NULL, NULL}};
    static const struct link some[] = {{0, "x1", 1, "x0", true, true, false, NULL, "fe80::1"},
                                       {1, "x0", 0, "x1", true, true, false, NULL, "fe80::2"},
                                       {1, "x2", 2, "x1", true, true, false, NULL, "fe80::2"},
                                       {2, "x1", 1, "x2", true, true, false, NULL, "fe80::3"},
                                       LINK(0, "x2", 2, "x0"),
                                       {0, NULL, 0, NULL, false, false, false, NULL, NULL}};

    (void)state;
    assert_string_equal(
        warning(2, -1, one_bare, local),
        "host a: x and y of host b meet by link-local addresses (fe80::1 and fe80::2), because y "
        "of "
        "host b has no IPv4 address; give its network device one in the other's subnet (ip addr "
        "add), or say with --gid-index that these are meant");
    assert_string_equal(warning(2, 0, one_bare, local), "");
    assert_string_equal(warning(2, -1, all_bare, local), "");
    assert_string_equal(warning(2, -1, one_bare, global), "");
    assert_string_equal(warning(3, -1, mesh, mesh_links), "");
    assert_says(warning(3, -1, two_of_three, some), "because x0 of host b has no IPv4 address");
    assert_says(warning(3, -1, two_of_three, some), "; so 2 links in all (-v shows them)");
}

/* The error of a device that the wiring names refuses the host; that of another device does not. */
static void test_refusal(void **state)
{
    json_t *said = json_loads("{\"devices\": [{\"name\": \"x\", \"error\": \"x port 1 is down\"},"
                              " {\"name\": \"y\"}]}",
                              0, NULL);
    json_t *lacking = json_loads("{\"devices\": [{\"name\": \"x\"}]}", 0, NULL);
    json_t *stated = json_loads("[[null,[\"x\"]],[[\"y\"],null]]", 0, NULL);
    struct topology_config config = {
        .names = names, .count = 2, .source = "h.json", .stated = stated, .rdma.gid_index = 3};
    struct topology_survey *s;
    struct fault why;
    json_t *question;

    (void)state;
    assert_int_equal(topology_survey_create(&s, &config, &why), 0);
    question = topology_survey_question(s, 0, TOPOLOGY_DESCRIBE);
    assert_string_equal(json_string_value(json_array_get(json_object_get(question, "named"), 0)),
                        "x");
    assert_int_equal(json_integer_value(json_object_get(question, "gid_index")), 3);
    assert_int_equal(topology_survey_answer(s, 0, TOPOLOGY_DESCRIBE, said, &why), ML_ERR_DEVICE);
    assert_string_equal(why.text, "x port 1 is down");
    assert_int_equal(topology_survey_answer(s, 1, TOPOLOGY_DESCRIBE, said, &why), 0);
    assert_int_equal(topology_survey_answer(s, 1, TOPOLOGY_DESCRIBE, question, &why),
                     ML_ERR_REFUSED);
    assert_int_equal(topology_survey_answer(s, 1, TOPOLOGY_DESCRIBE, lacking, &why),
                     ML_ERR_REFUSED);
    assert_string_equal(why.text, "its RDMA probe's answer lacks y, which h.json names");
    json_decref(question);
    json_decref(said);
    json_decref(lacking);
    json_decref(stated);
    topology_survey_destroy(s);
}

/* The answer of host b, which comes to a mesh whose wiring is `stated` from then on. Returns the
 * sentence, or "". */
static const char *admit(struct topology_survey *s, const char *stated,
                         const struct device *devices)
{
    static char text[700];
    json_t *matrix = json_loads(stated, 0, NULL), *said = devices_of(1, devices);
    struct fault why = {0};

    topology_survey_lose(s, 1);
    topology_survey_restate(s, matrix);
    topology_survey_admit(s, 1, said, &why);
    snprintf(text, sizeof(text), "%s", why.text);
    json_decref(matrix);
    json_decref(said);
    return text;
}

/* A host comes later: its ports are not tried, but must be there, and so must those towards it. */
static void test_late(void **state)
{
    static const char towards[] = "[[null,[\"x1\"],[\"x2\"]],[[\"y0\"],null,[\"y2\"]],"
                                  "[[\"x0\"],[\"x1\"],null]]";
    static const struct device late[] = {
        {1, "y0", "10.1.0.2", 100}, {1, "y2", "10.12.0.2", 100}, {0, NULL, NULL, 0}};
    static const struct device lacks[] = {{1, "y0", "10.1.0.2", 100}, {0, NULL, NULL, 0}};
    struct topology_survey *s = survey_answered(3, NULL, -1, mesh, mesh_links);
    struct fault why;
    int culprit;

    (void)state;
    assert_int_equal(topology_survey_conclude(s, &culprit, &why), 0);
    assert_string_equal(admit(s, towards, late), "");
    assert_string_equal(admit(s, towards, lacks),
                        "its RDMA probe's answer lacks y2, which h.json names");
    assert_string_equal(admit(s,
                              "[[null,[\"x1\"],[\"x2\"]],[[\"y0\"],null,null],"
                              "[[\"x0\"],[\"x1\"],null]]",
                              late),
                        "h.json names no RDMA device from host b to host c: add it, for a host "
                        "that comes while the ranks of others run");
    assert_string_equal(admit(s,
                              "[[null,[\"x1\"],[\"x2\"]],[[\"y0\"],null,[\"y2\"]],"
                              "[[\"x0\"],null,null]]",
                              late),
                        "h.json names no RDMA device from host c to host b: add it, for a host "
                        "that comes while the ranks of others run");
    assert_says(admit(s,
                      "[[null,[\"x1\"],[\"x2\"]],[[\"y0\"],null,[\"y2\"]],"
                      "[[\"x0\"],[\"z\"],null]]",
                      late),
                "host c had no active port for each RDMA device that h.json names towards host b "
                "when the job began: ");
    assert_string_equal(admit(s,
                              "[[null,[\"x1\",\"x2\"],[\"x2\"]],[[\"y0\"],null,[\"y2\"]],"
                              "[[\"x0\"],[\"x1\"],null]]",
                              late),
                        "h.json has 1 device from here to host a, but 2 the other way");
    /* Nothing is known of a host that is lost. */
    topology_survey_lose(s, 2);
    assert_string_equal(admit(s,
                              "[[null,[\"x1\"],[\"x2\"]],[[\"y0\"],null,null],"
                              "[[\"x0\"],[\"x1\"],null]]",
                              late),
                        "");
    topology_survey_destroy(s);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mesh),    cmocka_unit_test(test_crossed),
        cmocka_unit_test(test_slow),    cmocka_unit_test(test_sentences),
        cmocka_unit_test(test_refusal), cmocka_unit_test(test_link_local),
        cmocka_unit_test(test_late),
    };

    return cmocka_run_group_tests_name("topology_survey", tests, NULL, NULL);
}
