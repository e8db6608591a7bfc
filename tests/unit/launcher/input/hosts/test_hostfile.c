/* SPDX-License-Identifier: MIT */
/* test_hostfile.c: hostfiles, good ones and malformed ones with the messages that refuse them. */
#include "common/log.h"
#include "launcher/base/text/string_list.h"
#include "launcher/input/hosts/hostfile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define LINE300                                                                                    \
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" \
    "aaaaaaaa"                                                                                     \
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" \
    "aaaaaaaa"                                                                                     \
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" \
    "aaaaaaaa"

static const struct {
    const char *text, *sentence; /* the message of hostfile_parse() */
} malformed[] = {
    /* JSON */
    {"{", "line 1 column 1: string or '}' expected near end of file"},
    {"[", "line 1 column 1: ']' expected near end of file"},
    {"{\"hosts\": [}", "line 1 column 12: unexpected token near '}'"},
    {"[{\"ssh\": \"a\"}", "']' expected near end of file"},
    {"[{\"ssh\": \"a\"}]x", "end of file expected near 'x'"},
    {"[{\"ssh\": \"a\",}]", "string or '}' expected"},
    {"[{'ssh': 'a'}]", "near '''"},
    {"[{\"ssh\": \"\xff\xfe\"}]", "unable to decode byte 0xff"},
    {"[{\"ssh\": \"a\\u0000b\"}]", "\\u0000 is not allowed"},
    {"[{\"ssh\": \"a\", \"ssh\": \"b\"}]", "duplicate object key"},
    {"{\"hosts\": [], \"hosts\": []}", "duplicate object key"},
    {"[{\"ssh\": \"a\", \"slots\": 1e999}]", "real number overflow"},
    {"[::1]\n", "a text hostfile that begins with an IPv6 address needs a # line before it"},
    /* the file */
    {"[]", "f: names no host"},
    {"{}", "f: \"hosts\" is missing"},
    {"{\"hosts\": []}", "f: names no host"},
    {"{\"hosts\": {}}", "f: hosts: must be a list, not an object"},
    {"{\"hosts\": \"a,b\"}", "f: hosts: must be a list, not a string"},
    {"{\"host\": [{\"ssh\": \"a\"}]}", "f: unknown member \"host\"; did you mean \"hosts\"?"},
    {"{\"backend\": 3, \"hosts\": [{\"ssh\": \"a\"}]}",
     "f: backend: must be a string, not a whole number"},
    {"{\"envs\": \"A=1\", \"hosts\": [{\"ssh\": \"a\"}]}",
     "f: envs: must be a list of \"NAME=VALUE\""},
    {"{\"envs\": [1], \"hosts\": [{\"ssh\": \"a\"}]}",
     "f: envs: entry 0 must be a string, not a whole number"},
    {"{\"envs\": [\"A=1\", \"B\"], \"hosts\": [{\"ssh\": \"a\"}]}",
     "f: envs: entry 1: 'B' is not NAME=VALUE"},
    {"{\"envs\": [\"=1\"], \"hosts\": [{\"ssh\": \"a\"}]}",
     "f: envs: entry 0: a variable's name is empty"},
    {"{\"envs\": [\"MLAUNCH_RANK=1\"], \"hosts\": [{\"ssh\": \"a\"}]}",
     "envs: entry 0: MLAUNCH_RANK is set by mlaunch"},
    /* a host */
    {"[\"a\"]", "f: hosts[0]: must be an object, not a string"},
    {"[{\"ssh\": \"a\"}, null]", "f: hosts[1]: must be an object, not null"},
    {"[{\"ssh\": \"a\"}, [\"b\"]]", "f: hosts[1]: must be an object, not a list"},
    {"[{\"ssh\": \"a\"}, {\"ips\": []}]", "f: hosts[1]: \"ssh\" is missing"},
    {"[{\"ssh\": 7}]", "f: hosts[0]: ssh: must be a string, not a whole number"},
    {"[{\"ssh\": null}]", "f: hosts[0]: ssh: must be a string, not null"},
    {"[{\"ssh\": \"\"}]", "f: hosts[0] (): ssh: the host's name is empty"},
    {"[{\"ssh\": \"@b\"}]", "f: hosts[0] (@b): ssh: the user's name is empty"},
    {"[{\"ssh\": \"u@\"}]", "f: hosts[0] (u@): ssh: the host's name is empty"},
    {"[{\"ssh\": \"-oProxyCommand=x\"}]",
     "ssh: the host's name '-oProxyCommand=x' begins with '-'"},
    {"[{\"ssh\": \"-l@b\"}]", "ssh: the user's name '-l' begins with '-'"},
    {"[{\"ssh\": \"a\\nb\"}]",
     "f: hosts[0] (a?b): ssh: the host's name 'a?b' contains a control character"},
    {"[{\"ssh\": \"a b\"}]", "f: hosts[0] (a b): ssh: the host's name 'a b' must not contain ' '"},
    {"[{\"ssh\": \"a;reboot\"}]", "must not contain ';'"},
    {"[{\"ssh\": \"a\"}, {\"ssh\": \"b:x\"}]",
     "f: hosts[1] (b:x): ssh: port is 'x', not a whole number from 1 to 65535"},
    {"[{\"ssh\": \"b:0\"}]", "ssh: port is '0'"},
    {"[{\"ssh\": \"b:65536\"}]", "ssh: port is '65536'"},
    {"[{\"ssh\": \"b:\"}]", "ssh: port is ''"},
    {"[{\"ssh\": \"b:-1\"}]", "ssh: port is '-1'"},
    {"[{\"ssh\": \"fe80::1\"}]", "an IPv6 address goes in brackets"},
    {"[{\"ssh\": \"[fe80::1\"}]", "has no closing ']'"},
    {"[{\"ssh\": \"[fe80::1]x\"}]", "only ':NUMBER' may follow the ']'"},
    {"[{\"ssh\": \"[b]\"}]", "[b] is not an IPv6 address"},
    {"[{\"ssh\": \"" LINE300 "\"}]", "is longer than 255 bytes"},
    {"[{\"ssh\": \"a\"}, {\"ssh\": \"b\", \"slot\": 2}]",
     "f: hosts[1] (b): unknown member \"slot\"; did you mean \"slots\"?"},
    {"[{\"ssh\": \"a\", \"ips\": \"10.0.0.1\"}]",
     "f: hosts[0] (a): ips: must be a list of strings, not a string"},
    {"[{\"ssh\": \"a\", \"ips\": [\"10.0.0.1\", 5]}]",
     "f: hosts[0] (a): ips: entry 1 must be a string, not a whole number"},
    {"[{\"ssh\": \"a\", \"ips\": [\"node\"]}]",
     "f: hosts[0] (a): ips: entry 0: 'node' is not a literal IPv4 or IPv6 address"},
    {"[{\"ssh\": \"a\", \"ips\": [\"10.0.0.256\"]}]",
     "ips: entry 0: '10.0.0.256' is not a literal"},
    {"[{\"ssh\": \"a\", \"ips\": [\"10.0.0.1:80\"]}]",
     "ips: entry 0: '10.0.0.1:80' is not a literal"},
    {"[{\"ssh\": \"a\", \"ips\": [\"0.0.0.0\"]}]",
     "ips: entry 0: 0.0.0.0 is not the address of a host"},
    {"[{\"ssh\": \"a\", \"slots\": 0}]", "f: hosts[0] (a): slots: 0 is not from 1 to 1048576"},
    {"[{\"ssh\": \"a\", \"slots\": -4}]", "slots: -4 is not from 1"},
    {"[{\"ssh\": \"a\", \"slots\": 9999999999}]", "slots: 9999999999 is not from 1"},
    {"[{\"ssh\": \"a\", \"slots\": \"4\"}]", "slots: must be a whole number, not a string"},
    {"[{\"ssh\": \"a\", \"slots\": 2.5}]",
     "slots: must be a whole number, not a number with a fraction"},
    {"[{\"ssh\": \"a\", \"slots\": null}]", "slots: must be a whole number, not null"},
    {"[{\"ssh\": \"a\", \"slots\": true}]", "slots: must be a whole number, not true"},
    {"[{\"ssh\": \"a\", \"cwd\": 1}]", "cwd: must be a string"},
    {"[{\"ssh\": \"a\", \"cwd\": \"x/y\"}]", "f: hosts[0] (a): cwd: 'x/y' is not an absolute path"},
    {"[{\"ssh\": \"a\", \"env\": \"A=1\"}]",
     "f: hosts[0] (a): env: must be a list of \"NAME=VALUE\" or an object, not a string"},
    {"[{\"ssh\": \"a\", \"env\": {\"A\": 1}}]",
     "f: hosts[0] (a): env: A: must be a string, not a whole number"},
    {"[{\"ssh\": \"a\", \"env\": {\"A=B\": \"1\"}}]",
     "env: the variable's name 'A=B' contains '='"},
    {"[{\"ssh\": \"a\", \"env\": [\"A B=1\"]}]",
     "env: entry 0: the variable's name in 'A B=1' contains a blank"},
    {"[{\"ssh\": \"a\", \"env\": {\"MLAUNCH_JOB\": \"1\"}}]", "env: MLAUNCH_JOB is set by mlaunch"},
    /* the wiring */
    {"[{\"ssh\": \"a\", \"rdma\": \"mlx5_0\"}]",
     "f: hosts[0] (a): rdma: must be a list, not a string"},
    {"[{\"ssh\": \"a\", \"rdma\": []}]", "f: hosts[0] (a): rdma: has 0 entries for 1 hosts"},
    {"[{\"ssh\": \"a\", \"rdma\": [null]}, {\"ssh\": \"b\", \"rdma\": [\"m\", null]}]",
     "f: hosts[0] (a): rdma: has 1 entries for 2 hosts"},
    {"[{\"ssh\": \"a\", \"rdma\": [null, \"m\"]}, {\"ssh\": \"b\", \"rdma\": [\"m\", null, "
     "\"m\"]}]",
     "f: hosts[1] (b): rdma: has 3 entries for 2 hosts"},
    {"[{\"ssh\": \"a\", \"rdma\": [\"m\", null]}, {\"ssh\": \"b\"}]",
     "f: hosts[0] (a): rdma[0]: must be null, as this entry is for the host itself"},
    {"[{\"ssh\": \"a\", \"rdma\": [null, \"m\"]}, {\"ssh\": \"b\", \"rdma\": [null, \"m\"]}]",
     "f: hosts[1] (b): rdma[1]: must be null"},
    {"[{\"ssh\": \"a\", \"rdma\": [null, 5]}, {\"ssh\": \"b\"}]",
     "f: hosts[0] (a): rdma[1]: must be a device, a list of devices or null, not a whole number"},
    {"[{\"ssh\": \"a\", \"rdma\": [null, \"\"]}, {\"ssh\": \"b\"}]",
     "rdma[1]: '' is not the name of an RDMA device"},
    {"[{\"ssh\": \"a\", \"rdma\": [null, \"../x\"]}, {\"ssh\": \"b\"}]",
     "rdma[1]: '../x' is not the name of an RDMA device"},
    {"[{\"ssh\": \"a\", \"rdma\": [null, [\"m\", 1]]}, {\"ssh\": \"b\"}]",
     "f: hosts[0] (a): rdma[1]: entry 1 must be a string, not a whole number"},
    {"[{\"ssh\": \"a\", \"rdma\": [null, [\"m\", \"m\"]]}, {\"ssh\": \"b\"}]",
     "rdma[1]: names m twice"},
    {"[{\"ssh\": \"a\", \"rdma\": [null, [\"m:1\", \"n\", \"m:1\"]]}, {\"ssh\": \"b\"}]",
     "f: hosts[0] (a): rdma[1]: names m:1 twice"},
    {"[{\"ssh\": \"a\", \"rdma\": [null, [\"m\", \"n\", \"m:1\"]]}, {\"ssh\": \"b\"}]",
     "f: hosts[0] (a): rdma[1]: names m and m:1: give both a port, or leave one out"},
    {"[{\"ssh\": \"a\", \"rdma\": [null, \"m:0\"]}, {\"ssh\": \"b\"}]",
     "f: hosts[0] (a): rdma[1]: 'm:0' is not the name of an RDMA device: the port after "
     "the colon must be from 1 to 255"},
    {"[{\"ssh\": \"a\", \"rdma\": [null, [\"m:x\"]]}, {\"ssh\": \"b\"}]",
     "rdma[1]: entry 0: 'm:x' is not the name of an RDMA device: the port after the colon"},
    {"[{\"ssh\": \"a\", \"rdma\": [null, \":1\"]}, {\"ssh\": \"b\"}]",
     "rdma[1]: ':1' is not the name of an RDMA device"},
    {"[{\"ssh\": \"a\", \"rdma\": [null, [\"m:1\", \"m:2\", \"m:3\", \"m:4\", \"m:5\", \"m:6\", "
     "\"m:7\", "
     "\"m:8\", \"m:9\"]]}, {\"ssh\": \"b\"}]",
     "f: hosts[0] (a): rdma[1]: names 9 devices; at most 8 are allowed"},
    {"[{\"ssh\": \"a\", \"rdma\": [null, [\"m\\u0007\"]]}, {\"ssh\": \"b\"}]",
     "rdma[1]: entry 0: 'm?' contains a control character"},
    /* one host twice */
    {"[{\"ssh\": \"a\", \"rdma\": [null, \"m\", \"m\"]}, {\"ssh\": \"b\", \"rdma\": [\"m\", null, "
     "\"m\"]}, {\"ssh\": \"a\", \"rdma\": [null, \"n\", null]}]",
     "f: host a is listed as hosts[0] and hosts[2] with different wiring: compare their rdma[1]"},
    {"[{\"ssh\": \"a\", \"rdma\": [null, \"m\", []]}, {\"ssh\": \"b\", \"rdma\": [\"m\", null, "
     "\"n\"]}, {\"ssh\": \"a\", \"rdma\": [[], \"m\", null]}]",
     "but hosts[1] (b) has different devices in rdma[0] and rdma[2]"},
    {"[{\"ssh\": \"a\", \"cwd\": \"/x\"}, {\"ssh\": \"a\"}]",
     "listed as hosts[0] and hosts[1] with different \"cwd\""},
    {"[{\"ssh\": \"a\", \"env\": [\"A=1\"]}, {\"ssh\": \"a\"}]",
     "listed as hosts[0] and hosts[1] with different \"env\""},
    /* text */
    {"", "f: names no host"},
    {" \n\t\n", "f: names no host"},
    {"# only\n  # comments\r\n", "f: names no host"},
    {"a\nb slots=0\n", "f line 2: host 'b': slots is '0', not a whole number from 1 to 1048576"},
    {"b slots=", "f line 1: host 'b': slots is ''"},
    {"b slots=two", "slots is 'two'"},
    {"b slots=-1", "slots is '-1'"},
    {"b slots=99999999999999999999", "slots is '99999999999999999999'"},
    {"a\n\nb slots=2 slots=3", "f line 3: host 'b': the slots are given twice"},
    {"b:2 slots=2", "f line 1: host 'b:2': the slots are given twice"},
    {"b cpu=2 count=2", "f line 1: host 'b': the slots are given twice"},
    {"b count=x", "f line 1: host 'b': count is 'x', not a whole number from 1"},
    {"b cpu", "f line 1: host 'b': unexpected 'cpu'; a line is 'host'"},
    {"b slotsX=2", "f line 1: host 'b': unexpected 'slotsX=2'; a line is 'host'"},
    {"b user=", "f line 1: host 'b': user is ''"},
    {"a\nb username='me'", "f line 2: host 'b': the user's name ''me''"},
    {"me@b user=me", "f line 1: host 'me@b': the user is given twice"},
    {"b user=a username=b", "f line 1: host 'b': the user is given twice"},
    {"b port=22", "unexpected 'port=22'; ssh_config names the port"},
    {"b 4", "f line 1: host 'b': unexpected '4'"},
    {"b most_slots=4", "unexpected 'most_slots=4'"},
    {"b max_slots=0", "f line 1: host 'b': max_slots is '0', not a whole number from 1"},
    {"b max_slots=2 max-slots=2", "f line 1: host 'b': the max_slots are given twice"},
    {"b slots=4 max-slots=2", "f line 1: host 'b': slots is 4, which is more than max_slots, 2"},
    {"a b c", "f line 1: host 'a': unexpected 'b'"},
    {"a,b", "the host's name 'a,b' must not contain ','"},
    {"a\nb[1-", "f line 2: "},
    {"b[1-2]:2 slots=2", "f line 1: host 'b1:2': the slots are given twice"},
    {"b:", "f line 1: host 'b:': slots is ''"},
    {"b:x", "slots is 'x'"},
    {"b:2:3", "f line 1: host 'b:2:3': 'b:2:3' has two colons; an IPv6 address goes in brackets"},
    {"a\n[::1", "f line 2: host '[::1': '[::1' has no closing ']'"},
    {"a\n[::1]2", "f line 2: host '[::1]2': '[::1]2': only ':NUMBER' may follow the ']'"},
    {"-a", "f line 1: host '-a': the host's name '-a' begins with '-'"},
    {"a\n\x01z\n", "f line 2: host '?z': the host's name '?z' contains a control character"},
    {"a\nb\xff\n", "f line 2: host 'b\xff': the host's name must be UTF-8"},
    {"\"hosts\": [", "f line 1: host '\"hosts\":'"},
};

static void test_malformed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(malformed) / sizeof(*malformed); i++) {
        struct host_list *l = NULL;
        struct fault why = {0};
        int rc = hostfile_parse(&l, "f", malformed[i].text, strlen(malformed[i].text), &why);

        if (rc != ML_ERR_ARGUMENT || !strstr(why.text, malformed[i].sentence))
            fail_msg("hostfile %s\n  gave %d: %s\n  expected: %s", malformed[i].text, rc, why.text,
                     malformed[i].sentence);
        assert_null(l);
        assert_int_equal(why.code, rc);
    }
}

static struct host_list *parsed(const char *text)
{
    struct host_list *l = NULL;
    struct fault why = {0};

    if (hostfile_parse(&l, "f", text, strlen(text), &why))
        fail_msg("%s: %s", text, why.text);
    return l;
}

static void test_json_list(void **state)
{
    struct host_list *l =
        parsed("\r\n [{\"ssh\": \"me@a:2222\", \"ips\": [\"10.0.0.1\", \"fd00::1\"]},\n"
               " {\"ssh\": \"[fd00::2]:22\", \"ips\": []}, {\"ssh\": \"c\", \"slots\": 4}]");

    (void)state;
    assert_int_equal(l->count, 3);
    assert_null(l->backend);
    assert_string_equal(l->source, "f");
    assert_string_equal(l->hosts[0].name, "a");
    assert_string_equal(l->hosts[0].user, "me");
    assert_int_equal(l->hosts[0].port, 2222);
    assert_int_equal(l->hosts[0].slots, 0);
    assert_string_equal(l->hosts[0].ips[1], "fd00::1");
    assert_null(l->hosts[0].ips[2]);
    assert_null(l->hosts[0].env[0]);
    assert_null(l->hosts[0].rdma);
    assert_string_equal(l->hosts[1].name, "fd00::2");
    assert_int_equal(l->hosts[1].port, 22);
    assert_null(l->hosts[1].ips[0]);
    assert_int_equal(l->hosts[2].slots, 4);
    host_list_destroy(l);
}

static void test_json_object(void **state)
{
    struct host_list *l =
        parsed("{\"backend\": \"jaccl\", \"envs\": [\"A=1\", \"B=x=y\"], \"hosts\": [\n"
               "{\"ssh\": \"a\", \"env\": {\"C\": \"3\"}, \"cwd\": \"/data\"},\n"
               "{\"ssh\": \"b\", \"env\": [\"A=2\"], \"comment\": \"theirs\"}]}");

    (void)state;
    assert_int_equal(l->count, 2);
    assert_string_equal(l->backend, "jaccl");
    assert_string_equal(l->hosts[0].env[0], "A=1");
    assert_string_equal(l->hosts[0].env[1], "B=x=y");
    assert_string_equal(l->hosts[0].env[2], "C=3");
    assert_string_equal(l->hosts[0].cwd, "/data");
    assert_string_equal(l->hosts[1].env[2], "A=2");
    host_list_destroy(l);
}

static void test_json_wiring(void **state)
{
    struct host_list *l =
        parsed("[{\"ssh\": \"a\", \"rdma\": [null, \"m0\", [\"m1:2\", \"m1:1\"]]},"
               " {\"ssh\": \"b\", \"rdma\": [\"m0\", null, [\"m1\"]]},"
               " {\"ssh\": \"c\", \"rdma\": [\"m0\", \"m1\", null]}]");
    struct fault why;

    (void)state;
    assert_int_equal(l->hosts[0].rdma_count, 3);
    assert_null(l->hosts[0].rdma[0][0]);
    assert_string_equal(l->hosts[0].rdma[1][0], "m0");
    assert_string_equal(l->hosts[0].rdma[2][1], "m1:1");
    assert_int_equal(host_list_check_wiring(l, &why), 0);
    host_list_destroy(l);

    l = parsed(
        "[{\"ssh\": \"a\", \"rdma\": [null, \"m0\"]}, {\"ssh\": \"b\", \"rdma\": [[], null]}]");
    assert_int_equal(host_list_check_wiring(l, &why), ML_ERR_ARGUMENT);
    assert_string_equal(why.text, "f: hosts[1] (b) names no RDMA device towards hosts[0] (a)");
    host_list_destroy(l);

    l = parsed("[{\"ssh\": \"a\"}, {\"ssh\": \"b\", \"rdma\": [\"m\", null]}]");
    assert_int_equal(host_list_check_wiring(l, &why), ML_ERR_ARGUMENT);
    assert_string_equal(why.text, "f: hosts[0] (a) names no RDMA device towards hosts[1] (b)");
    host_list_destroy(l);
}

/* The second entry of a host is removed, with its column of the matrix. */
static void test_json_twice(void **state)
{
    struct host_list *l =
        parsed("[{\"ssh\": \"a\", \"ips\": [\"10.0.0.1\"], \"rdma\": [null, \"m\", [], \"n\"]},"
               " {\"ssh\": \"b\", \"rdma\": [\"m\", null, \"m\", \"o\"]},"
               " {\"ssh\": \"a\", \"ips\": [\"10.0.0.1\", \"10.0.0.2\"], \"slots\": 3,"
               "  \"rdma\": [[], \"m\", null, \"n\"]},"
               " {\"ssh\": \"c\", \"rdma\": [\"n\", \"o\", \"n\", null]}]");

    (void)state;
    assert_int_equal(l->count, 3);
    assert_int_equal(l->hosts[0].slots, 4);
    assert_string_equal(l->hosts[0].ips[1], "10.0.0.2");
    assert_null(l->hosts[0].ips[2]);
    assert_string_equal(l->hosts[2].name, "c");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(l->hosts[i].rdma_count, 3);
        assert_null(l->hosts[i].rdma[i][0]);
    }
    assert_string_equal(l->hosts[1].rdma[2][0], "o");
    host_list_destroy(l);
}

static void test_text(void **state)
{
    struct host_list *l = parsed(
        "# cluster\r\na\r\n  b:4  # four\n\nme@c slots=2\nd slots = 3  max-slots=4\n"
        "[2001:db8::1]\n[2001:db8::2]:8\ne#x\na slots=2\nlocalhost\n127.0.0.2\nme@localhost\n"
        "me@n[09-10,x]-i count=2 slots-max=4\nm[1-2]:5 # five each\n");
    static const struct {
        const char *name;
        int slots;
        bool is_local;
    } expected[] = {{"a", 3, false},         {"b", 4, false},           {"c", 2, false},
                    {"d", 3, false},         {"2001:db8::1", 0, false}, {"2001:db8::2", 8, false},
                    {"e", 0, false},         {"localhost", 0, true},    {"127.0.0.2", 0, true},
                    {"localhost", 0, false}, {"n09-i", 2, false},       {"n10-i", 2, false},
                    {"nx-i", 2, false},      {"m1", 5, false},          {"m2", 5, false}};

    (void)state;
    assert_int_equal(l->count, 15);
    for (int i = 0; i < l->count; i++) {
        assert_string_equal(l->hosts[i].name, expected[i].name);
        assert_int_equal(l->hosts[i].slots, expected[i].slots);
        assert_int_equal(l->hosts[i].is_local, expected[i].is_local);
    }
    assert_string_equal(l->hosts[2].user, "me");
    assert_int_equal(l->hosts[2].max_slots, 0);
    assert_int_equal(l->hosts[3].max_slots, 4);
    assert_string_equal(l->hosts[12].user, "me");
    assert_int_equal(l->hosts[12].max_slots, 4);
    assert_int_equal(l->hosts[14].max_slots, 0);
    host_list_destroy(l);
}

/* Files, as hostfile_read() finds them. */
static char *write_file(const char *bytes, size_t size)
{
    static char path[] = "/tmp/test_hostfile.XXXXXX";
    int fd;

    memcpy(strrchr(path, '.'), ".XXXXXX", sizeof(".XXXXXX"));
    fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
    close(fd);
    return path;
}

static void expect_refused(const char *path, const char *sentence)
{
    struct host_list *l = NULL;
    struct fault why = {0};

    assert_int_equal(hostfile_read(&l, path, &why), ML_ERR_ARGUMENT);
    if (!strstr(why.text, sentence))
        fail_msg("%s lacks: %s", why.text, sentence);
    assert_non_null(strstr(why.text, path));
    assert_null(l);
}

static void test_files(void **state)
{
    struct host_list *l = NULL;
    struct fault why;
    char *path, *large;

    (void)state;
    expect_refused("/nonexistent/hosts", "cannot be opened: No such file or directory");
    expect_refused("/", "cannot be read: Is a directory");
    path = write_file("a\n\0b\n", 5);
    expect_refused(path, "has a NUL byte at offset 2");
    unlink(path);
    path = write_file("\xff\xfe"
                      "a\0",
                      4);
    expect_refused(path, "is UTF-16 text; save it as UTF-8");
    unlink(path);
    path = write_file("a\n", 2);
    if (geteuid() != 0) { /* root reads everything */
        chmod(path, 0);
        expect_refused(path, "Permission denied");
    }
    unlink(path);
    path = write_file("\xef\xbb\xbf[{\"ssh\": \"a\"}]", 17);
    assert_int_equal(hostfile_read(&l, path, &why), 0);
    assert_string_equal(l->hosts[0].name, "a");
    host_list_destroy(l);
    unlink(path);
    large = malloc(17 << 20);
    assert_non_null(large);
    memset(large, '\n', 17 << 20);
    path = write_file(large, 17 << 20);
    free(large);
    expect_refused(path, "is larger than 16 MiB");
    unlink(path);
}

/* 70,000 distinct hosts are refused, 65,536 are accepted, and quickly. */
static void test_many(void **state)
{
    static char text[70000 * 8];
    struct host_list *l = NULL;
    struct fault why;
    size_t n = 0;

    (void)state;
    for (int i = 0; i < 70000; i++)
        n += (size_t)snprintf(text + n, sizeof("h70000\n"), "h%d\n", i);
    assert_int_equal(hostfile_parse(&l, "f", text, n, &why), ML_ERR_ARGUMENT);
    assert_string_equal(why.text, "f line 65537: more than 65536 hosts");
    n = (size_t)(strstr(text, "h65536\n") - text);
    assert_int_equal(hostfile_parse(&l, "f", text, n, &why), 0);
    assert_int_equal(l->count, 65536);
    host_list_destroy(l);
}

static char last_warning[256];

static void keep_warning(enum log_level level, const char *text, void *arg)
{
    (void)arg;
    assert_int_equal(level, LOG_WARN);
    snprintf(last_warning, sizeof(last_warning), "%s", text);
}

/* What mpiexec.hydra and mpirun read of a line; mlaunch does without some of it. */
static void test_other_words(void **state)
{
    struct host_list *l;

    (void)state;
    log_to(keep_warning, NULL);
    l = parsed(
        "# MPICH's\n\na:4 user=me # comment\nb:2  binding=user:0,1 ifname=ib0\nc username=you "
        "slots=3 cores-per-socket=2\nd binding=none\n");
    log_to(NULL, NULL);
    assert_int_equal(l->count, 4);
    assert_string_equal(l->hosts[0].user, "me");
    assert_int_equal(l->hosts[0].slots, 4);
    assert_int_equal(l->hosts[1].slots, 2);
    assert_string_equal(l->hosts[2].user, "you");
    assert_int_equal(l->hosts[2].slots, 3);
    assert_string_equal(l->hosts[3].name, "d");
    assert_string_equal(last_warning, "hostfile: f line 5: ignoring 'cores-per-socket=2': mlaunch "
                                      "finds a host's processors itself");
    host_list_destroy(l);
}

static void test_unknown_member(void **state)
{
    struct host_list *l;

    (void)state;
    log_to(keep_warning, NULL);
    l = parsed("[{\"ssh\": \"a\", \"thunderbolt\": 5}]");
    log_to(NULL, NULL);
    assert_string_equal(last_warning, "hostfile: f: ignoring unknown member \"thunderbolt\"");
    host_list_destroy(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_malformed),      cmocka_unit_test(test_json_list),
        cmocka_unit_test(test_json_object),    cmocka_unit_test(test_json_wiring),
        cmocka_unit_test(test_json_twice),     cmocka_unit_test(test_text),
        cmocka_unit_test(test_files),          cmocka_unit_test(test_many),
        cmocka_unit_test(test_unknown_member), cmocka_unit_test(test_other_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
