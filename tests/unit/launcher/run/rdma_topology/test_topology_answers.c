/* SPDX-License-Identifier: MIT */
/* test_topology_answers.c: what is kept of the probes' answers, and which answers are refused. */
#include "launcher/run/rdma_topology/topology_answers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PORT(members)    "[{\"name\":\"m\",\"ports\":[{\"port\":1," members "}]}]"
#define GID(members)     PORT("\"gids\":[{\"gid\":\"fe80::1\"},{" members "}]")
#define TRY(members)     "[{\"name\":\"m\",\"tries\":[{" members "}]}]"
#define GOOD_TRY(member) TRY("\"port\":1,\"host\":1,\"device\":\"n\",\"peer_port\":2" member)

static struct topology_host hosts[2];

static int teardown(void **state)
{
    (void)state;
    topology_answers_clear(&hosts[0]);
    topology_answers_clear(&hosts[1]);
    return 0;
}

static json_t *parse(const char *text)
{
    json_t *root = json_loads(text, JSON_DECODE_ANY, NULL);

    if (!root)
        fail_msg("the test's own JSON is bad: %s", text);
    return root;
}

/* The sentence; "": it was accepted. */
static const char *read_devices(int host, const char *text)
{
    static struct fault why;
    json_t *devices = parse(text);

    why.text[0] = '\0';
    if (topology_answers_read_devices(hosts, host, devices, &why))
        assert_int_equal(why.code, ML_ERR_REFUSED);
    json_decref(devices);
    return why.text;
}

static const char *read_tries(const char *text)
{
    static struct fault why;
    json_t *devices = parse(text);

    why.text[0] = '\0';
    if (topology_answers_read_tries(hosts, 2, 0, devices, &why))
        assert_int_equal(why.code, ML_ERR_REFUSED);
    json_decref(devices);
    return why.text;
}

static void assert_refused(const char *text, const char *end)
{
    static const char start[] = "its RDMA probe's answer is malformed: ";

    if (strncmp(text, start, sizeof(start) - 1) != 0 || strcmp(text + sizeof(start) - 1, end) != 0)
        fail_msg("\"%s\" is not %s\"%s\"", text, start, end);
}

static void read_two_hosts(void)
{
    assert_string_equal(read_devices(0, PORT("\"is_active\":true")), "");
    assert_string_equal(
        read_devices(1, "[{\"name\":\"k\"},{\"name\":\"n\",\"ports\":[{\"port\":2}]}]"), "");
}

static void test_devices(void **state)
{
    const struct topology_device *d;
    const struct topology_port *p;

    (void)state;
    assert_string_equal(
        read_devices(
            0, "[{\"name\":\"k\",\"error\":\"it fails\"},"
               "{\"name\":\"m\",\"firmware\":\"1\",\"ports\":[{\"port\":1},"
               "{\"port\":2,\"state\":\"active\",\"is_active\":true,\"link_layer\":\"Ethernet\","
               "\"gigabits\":100.5,\"active_mtu\":4096,\"lid\":7,\"untried\":\"no memory\","
               "\"gids\":[{\"index\":3,\"gid\":\"fe80::1\",\"type\":\"RoCE v2\"},"
               "{\"gid\":\"fe80::1\",\"type\":\"RoCE v1\"},"
               "{\"gid\":\"::ffff:10.0.0.1\",\"ipv4\":\"10.0.0.1\",\"prefix\":24}]}]}]"),
        "");
    assert_int_equal(hosts[0].device_count, 2);
    assert_int_equal(topology_answers_device(&hosts[0], "m"), 1);
    assert_int_equal(topology_answers_device(&hosts[0], "x"), -1);
    assert_string_equal(hosts[0].devices[0].error, "it fails");
    d = &hosts[0].devices[1];
    assert_null(d->error);
    assert_null(topology_answers_port(d, 3));
    assert_false(topology_answers_has_ipv4(topology_answers_port(d, 1)));
    p = topology_answers_port(d, 2);
    assert_true(p->is_active && p->is_untried && !p->is_infiniband);
    assert_true(p->gigabits == 100.5 && p->active_mtu == 4096 && p->lid == 7);
    assert_string_equal(p->state, "active");
    assert_string_equal(p->link_layer, "Ethernet");
    assert_int_equal(p->gid_count, 3);
    assert_int_equal(p->gids[0].index, 3);
    assert_true(p->gids[0].is_link_local);
    assert_false(p->gids[1].is_link_local);
    assert_string_equal(p->gids[2].ipv4, "10.0.0.1");
    assert_int_equal(p->gids[2].prefix, 24);
    assert_true(topology_answers_has_ipv4(p));
}

static void test_devices_refused(void **state)
{
    static const char *const refused[][2] = {
        {"null", "\"devices\" is not a list of moderate length"},
        {"[1]", "devices[0]: it is not an object"},
        {"[{}]", "devices[0]: \"name\" is not a device's name"},
        {"[{\"name\":\"../m\"}]", "devices[0]: \"name\" is not a device's name"},
        {"[{\"name\":\"m\\u001b[2J\"}]", "devices[0]: \"name\" is not plain text"},
        {"[{\"name\":1}]", "devices[0]: \"name\" is not a text of moderate length"},
        {"[{\"name\":\"0123456789012345678901234567890123456789012345678901234567890123\"}]",
         "devices[0]: \"name\" is not a text of moderate length"},
        {"[{\"name\":\"m\"},{\"name\":\"m\"}]",
         "devices[1]: \"name\" is not another one than before"},
        {"[{\"name\":\"m\",\"error\":[]}]",
         "devices[0]: \"error\" is not a text of moderate length"},
        {"[{\"name\":\"m\",\"ports\":{}}]",
         "devices[0]: \"ports\" is not a list of moderate length"},
        {"[{\"name\":\"m\",\"ports\":[{}]}]", "devices[0]: ports[0]: \"port\" is not there"},
        {"[{\"name\":\"m\",\"ports\":[{\"port\":256}]}]",
         "devices[0]: ports[0]: \"port\" is not a whole number from 1 to 255"},
        {"[{\"name\":\"m\",\"ports\":[{\"port\":1},{\"port\":1}]}]",
         "devices[0]: ports[1] has another one's number"},
        {PORT("\"is_active\":1"), "devices[0]: ports[0]: \"is_active\" is not true or false"},
        {PORT("\"lid\":4294967296"),
         "devices[0]: ports[0]: \"lid\" is not a whole number from 0 to 65535"},
        {PORT("\"active_mtu\":4096.0"),
         "devices[0]: ports[0]: \"active_mtu\" is not a whole number from 0 to 65536"},
        {PORT("\"queue_pair\":-1"),
         "devices[0]: ports[0]: \"queue_pair\" is not a whole number from 0 to 16777215"},
        {PORT("\"gigabits\":-1"), "devices[0]: ports[0]: \"gigabits\" is not a rate"},
        {PORT("\"link_layer\":\"ethernet\""),
         "devices[0]: ports[0]: \"link_layer\" is not Ethernet or InfiniBand"},
        {GID(""), "devices[0]: ports[0]: gids[1]: \"gid\" is not a GID"},
        {GID("\"gid\":\"10.0.0.1\""), "devices[0]: ports[0]: gids[1]: \"gid\" is not a GID"},
        {GID("\"gid\":\"fe80::2\",\"ipv4\":\"10.0.0\""),
         "devices[0]: ports[0]: gids[1]: \"ipv4\" is not an IPv4 address"},
        {GID("\"gid\":\"fe80::2\",\"prefix\":129"),
         "devices[0]: ports[0]: gids[1]: \"prefix\" is not a whole number from 0 to 128"},
    };

    (void)state;
    read_two_hosts();
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
        assert_refused(read_devices(0, refused[i][0]), refused[i][1]);
    /* Nothing has changed. */
    assert_int_equal(hosts[0].device_count, 1);
    assert_true(hosts[0].devices[0].ports[0].is_active);
}

static void test_tries(void **state)
{
    const struct topology_try *t;

    (void)state;
    read_two_hosts();
    assert_string_equal(
        read_tries(GOOD_TRY(",\"mtu\":1024,\"shared\":true,\"carries\":true,\"whole\":false,"
                            "\"gid\":{\"gid\":\"fe80::1\"},\"error\":\"it is late\"")),
        "");
    assert_int_equal(hosts[0].devices[0].try_count, 1);
    t = &hosts[0].devices[0].tries[0];
    assert_int_equal(t->port, 1);
    assert_int_equal(t->host, 1);
    assert_int_equal(t->device, 1);
    assert_int_equal(t->peer_port, 2);
    assert_int_equal(t->mtu, 1024);
    assert_true(t->is_shared && t->carries && !t->carries_long);
    assert_string_equal(t->gid.text, "fe80::1");
    assert_string_equal(t->peer_gid.text, "");
    assert_string_equal(t->error, "it is late");
    assert_string_equal(read_tries("[{\"name\":\"m\",\"error\":\"it has ended\"}]"), "");
    assert_int_equal(hosts[0].devices[0].try_count, 0);
    assert_string_equal(hosts[0].devices[0].try_error, "it has ended");
    assert_null(hosts[0].devices[0].error);
}

static void test_tries_refused(void **state)
{
    static const char *const refused[][2] = {
        {"{}", "\"devices\" is not a list of moderate length"},
        {"[{\"name\":\"n\"}]", "devices[0]: \"name\" is not a device that was there before"},
        {"[{\"name\":\"m\"},{\"name\":\"m\"}]",
         "devices[1]: \"name\" is not another one than before"},
        {"[{\"name\":\"m\",\"tries\":[0]}]", "devices[0]: tries[0]: it is not an object"},
        {TRY("\"port\":1,\"host\":2"),
         "devices[0]: tries[0]: \"host\" is not a whole number from 0 to 1"},
        {TRY("\"port\":1,\"host\":0,\"device\":\"m\",\"peer_port\":1"),
         "devices[0]: tries[0]: \"host\" is not another host"},
        {TRY("\"port\":1,\"host\":1,\"device\":\"m\",\"peer_port\":1"),
         "devices[0]: tries[0]: \"device\" is not a device of that host"},
        {TRY("\"port\":1,\"host\":1,\"device\":\"n\",\"peer_port\":1"),
         "devices[0]: tries[0]: \"peer_port\" is not a port of that device"},
        {TRY("\"port\":2,\"host\":1,\"device\":\"n\",\"peer_port\":2"),
         "devices[0]: tries[0]: \"port\" is not a port of the device"},
        {GOOD_TRY(",\"carries\":1"), "devices[0]: tries[0]: \"carries\" is not true or false"},
        {GOOD_TRY(",\"gid\":1"), "devices[0]: tries[0]: gid: it is not an object"},
        {GOOD_TRY(",\"peer_gid\":{\"gid\":\"x\"}"),
         "devices[0]: tries[0]: peer_gid: \"gid\" is not a GID"},
    };

    (void)state;
    read_two_hosts();
    assert_string_equal(read_tries(GOOD_TRY("")), "");
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
        assert_refused(read_tries(refused[i][0]), refused[i][1]);
    assert_int_equal(hosts[0].devices[0].try_count, 1);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_devices, teardown),
        cmocka_unit_test_teardown(test_devices_refused, teardown),
        cmocka_unit_test_teardown(test_tries, teardown),
        cmocka_unit_test_teardown(test_tries_refused, teardown),
    };

    return cmocka_run_group_tests_name("topology_answers", tests, NULL, NULL);
}
