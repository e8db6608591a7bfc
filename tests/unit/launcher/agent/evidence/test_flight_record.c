/* SPDX-License-Identifier: MIT */
/*
 * test_flight_record.c: what a dump of torch's flight recorder says of its rank.
 *
 * tests/fuzz/seeds/evidence/rank0.pickle to rank3.pickle, which are read here, are no dumps of a
 * job on GPUs: the keys, the types and their order are those that FlightRecorderDetail.hpp of torch
 * (version "2.10" of its format) puts into a dump, with made up calls of four ranks; the bytes are
 * what the Pickler of Debian's libtorch 1.13.1 has written for them, as FlightRecorder::dump()
 * calls it. tagged.pickle is the same with its type tags, which a dump has not.
 */
#include "launcher/agent/evidence/flight_record.h"

#include "launcher/agent/evidence/pickle_value.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void calls_are(const json_t *dump, const char *expected)
{
    json_t *calls = flight_record_calls(dump);
    char *text = json_dumps(calls, JSON_COMPACT | JSON_SORT_KEYS);

    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
    json_decref(calls);
}

/* A dump with these entries, in JSON. */
static void is(const char *entries, const char *expected)
{
    json_t *list = json_loads(entries, 0, NULL), *dump;

    assert_non_null(list);
    dump = json_pack("{s:s, s:{s:{s:s}}, s:o}", "version", "2.10", "pg_config", "0", "ranks",
                     "[0,1, 12, x, 3]", "entries", list);
    assert_non_null(dump);
    calls_are(dump, expected);
    json_decref(dump);
}

#define ENTRY(op, number, more)                                                                    \
    "{\"process_group\": [\"0\", \"default_pg\"], \"profiling_name\": \"nccl:" op                  \
    "\", \"collective_seq_id\": " #number ", \"is_p2p\": false, " more "}"
#define ENDED "\"state\": \"completed\", \"retired\": true"
#define OPEN  "\"state\": \"scheduled\", \"retired\": false"
#define CALL(op, number, waits)                                                                    \
    "[{\"at\":\"\",\"call\":\"" op                                                                 \
    "\",\"group\":\"default_pg\",\"members\":[0,1,12],\"name\":\"0\",\"number\":" #number          \
    ",\"waits\":" waits "}]"

static void chosen(void **state)
{
    (void)state;
    is("[]", "[]");
    is("[" ENTRY("all_reduce", 40, ENDED) "," ENTRY("all_reduce", 41, OPEN) "," ENTRY("broadcast",
                                                                                      42, OPEN) "]",
       CALL("all_reduce", 41, "true"));
    is("[" ENTRY("all_reduce", 39, ENDED) "," ENTRY("all_reduce", 40, ENDED) "]",
       CALL("all_reduce", 40, "false"));
    /* The operations of a batch are never complete by themselves. */
    is("[" ENTRY("send 0->1", 3, OPEN) "," ENTRY("coalesced", 3, ENDED) "]",
       CALL("coalesced", 3, "false"));
}

static void groups(void **state)
{
    (void)state;
    is("[{\"process_group\": [\"7\", \"undefined\"], \"profiling_name\": \"gloo:barrier\","
       "\"seq_id\": 5, \"state\": \"started\"}, {\"process_group\": \"old\", \"is_p2p\": true,"
       "\"p2p_seq_id\": 9, \"collective_seq_id\": 2, \"profiling_name\": \"recv 0<-1\"}]",
       "[{\"at\":\"\",\"call\":\"barrier\",\"group\":\"7\",\"members\":[],\"name\":\"7\","
       "\"number\":5,\"waits\":true},"
       "{\"at\":\"\",\"call\":\"recv 0<-1\",\"group\":\"old\",\"members\":[],\"name\":\"old\","
       "\"number\":9,\"waits\":true}]");
}

static void odd(void **state)
{
    static const char *const refused[] = {"{}", "[]", "{\"version\": 2, \"entries\": []}",
                                          "{\"version\": \"2\", \"entries\": {}}"};
    char many[100 * 64], *at = many;

    (void)state;
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
        json_t *dump = json_loads(refused[i], 0, NULL);

        assert_null(flight_record_calls(dump));
        json_decref(dump);
    }
    assert_null(flight_record_calls(NULL));
    is("[1, null, [], {}, {\"process_group\": 5}]",
       "[{\"at\":\"\",\"call\":\"\",\"group\":\"\",\"members\":[],\"name\":\"\",\"number\":0,"
       "\"waits\":true}]");
    for (int i = 0; i < 100; i++)
        at += sprintf(at, "%c{\"process_group\": [\"%d\", \"\"]}", i ? ',' : '[', i);
    strcpy(at, "]");
    {
        json_t *dump =
            json_pack("{s:s, s:o}", "version", "2", "entries", json_loads(many, 0, NULL));
        json_t *calls = flight_record_calls(dump);

        assert_int_equal(json_array_size(calls), 64);
        json_decref(calls);
        json_decref(dump);
    }
}

/* Run by hand from the build folder, there is no SOURCE. */
static void recorded_is(const char *name, const char *expected)
{
    const char *source = getenv("SOURCE");
    char path[4096], bytes[1 << 14];
    json_t *dump;
    size_t size;
    FILE *f;

    snprintf(path, sizeof(path), "%s/tests/fuzz/seeds/evidence/%s", source ? source : "..", name);
    f = fopen(path, "re");
    assert_non_null(f);
    size = fread(bytes, 1, sizeof(bytes), f);
    fclose(f);
    dump = pickle_value_read(bytes, size);
    assert_non_null(dump);
    calls_are(dump, expected);
    json_decref(dump);
    while (size-- > 0) /* while it is being written */
        assert_null(pickle_value_read(bytes, size));
}

static void recorded(void **state)
{
    static const char waits[] =
        "[{\"at\":\"train.py:17 step\",\"call\":\"all_reduce\",\"group\":\"default_pg\","
        "\"members\":[0,1,2,3],\"name\":\"0\",\"number\":41,\"waits\":true},"
        "{\"at\":\"\",\"call\":\"_all_gather_base\",\"group\":\"1\",\"members\":[0,1],"
        "\"name\":\"1\",\"number\":7,\"waits\":false}]";

    (void)state;
    recorded_is("rank0.pickle", waits);
    recorded_is("tagged.pickle", waits);
    recorded_is("rank3.pickle",
                "[{\"at\":\"\",\"call\":\"all_reduce\",\"group\":\"default_pg\","
                "\"members\":[0,1,2,3],\"name\":\"0\",\"number\":40,\"waits\":false},"
                "{\"at\":\"\",\"call\":\"_all_gather_base\",\"group\":\"1\",\"members\":[2,3],"
                "\"name\":\"1\",\"number\":7,\"waits\":false}]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chosen),
        cmocka_unit_test(groups),
        cmocka_unit_test(odd),
        cmocka_unit_test(recorded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
