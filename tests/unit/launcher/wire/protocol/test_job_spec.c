/* SPDX-License-Identifier: MIT */
/* test_job_spec.c: what an agent makes of LAUNCH_JOB, good and malformed. */
#include "launcher/wire/protocol/job_spec.h"
#include "tests/unit/launcher/wire/protocol/good_job.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HASH "00000000000000000000000000000000000000000000000000000000000000ff"

#define BINDING(to, map, cpus, memory)                                                             \
    "{\"to\": \"" to "\", \"each\": 0, \"map\": \"" map "\", \"block\": 0, \"cpus\": \"" cpus      \
    "\", \"gpus\": 0, \"memory\": \"" memory                                                       \
    "\", \"nodes\": \"\", \"threads\": 0, \"report\": false}"

static void reads_all(void **state)
{
    struct job_spec *m = NULL;
    struct fault why = {0};

    (void)state;
    if (job_spec_decode(&m, NULL, good, strlen(good), &why))
        fail_msg("%s", why.text);
    assert_string_equal(m->job, "j-1");
    assert_string_equal(m->options.name, "llm.1");
    assert_int_equal(m->secret[31], 0x1f);
    assert_int_equal(m->size, 3);
    assert_int_equal(m->rank_count, 2);
    assert_int_equal(m->ranks[1].rank, 2);
    assert_int_equal(m->host_of[2], 1);
    assert_string_equal(m->host_names[1], "b");
    assert_string_equal(m->addresses[0], "10.0.0.1");
    assert_string_equal(m->env[0], "A=b=c");
    assert_null(m->env[2]);
    assert_string_equal(m->apps[0].argv[1], "");
    assert_null(m->apps[0].argv[2]);
    assert_int_equal(m->options.stop_signal, SIGUSR2);
    assert_int_equal(m->fold_ms, 150);
    assert_string_equal(m->staged.path, "/a/env");
    assert_string_equal(m->staged.name, "env");
    assert_int_equal(m->staged.mib, 3);
    assert_string_equal(m->staged.cache, "/c");
    assert_string_equal(m->staged.version, "0a.ff");
    assert_int_equal(m->options.binding.to, BIND_CORE);
    assert_int_equal(m->options.binding.each, 2);
    assert_int_equal(m->options.binding.map, BIND_NUMA);
    assert_int_equal(m->options.binding.block, 3);
    assert_int_equal(m->options.binding.gpus, 2);
    assert_int_equal(m->options.binding.memory, MEMORY_NODES);
    assert_string_equal(m->options.binding.nodes, "0,1");
    assert_int_equal(m->options.binding.threads, THREADS_AUTO);
    assert_true(m->options.binding.report);
    assert_int_equal(m->options.buffer, BUFFER_NONE);
    assert_int_equal(m->options.mpi, MPI_PMI1);
    assert_string_equal(
        json_string_value(json_array_get(json_array_get(json_array_get(m->wiring, 0), 1), 1)),
        "d1");
    assert_int_equal(json_array_size(json_array_get(m->wiring, 1)), 2);
    assert_int_equal(m->pty.rank, 1);
    assert_int_equal(m->pty.rows, 33);
    assert_int_equal(m->pty.columns, 65535);
    assert_string_equal(m->pty.term, "xterm-256color");
    assert_int_equal(m->apps[0].file, -1);
    assert_true(job_spec_has_stdin(m, 2));
    assert_false(job_spec_has_stdin(m, 1));
    job_spec_destroy(m);
}

static const char *wire(const struct job_spec *m, size_t from, size_t to)
{
    return json_string_value(
        json_array_get(json_array_get(json_array_get(m->wiring, from), to), 0));
}

/* Another wiring, as PLACED has it, takes the place of JOB's; a wrong one does not. */
static void rewires(void **state)
{
    struct job_spec *m = NULL;
    json_t *table = json_loads(
        "{\"entries\": [null, [\"e0\"], [\"e1\"]], \"own\": [0, 0], \"others\": [1, 2]}", 0, NULL);
    json_t *too_many = json_loads(
        "{\"entries\": [null, [\"f0\"]], \"own\": [0, 0, 0], \"others\": [1, 1, 1, 1, 1, 1]}", 0,
        NULL);
    struct fault why = {0};

    (void)state;
    assert_int_equal(job_spec_decode(&m, NULL, good, strlen(good), &why), 0);
    assert_int_equal(job_spec_rewire(m, table, &why), 0);
    assert_string_equal(wire(m, 0, 1), "e0");
    assert_string_equal(wire(m, 1, 0), "e1");
    assert_int_equal(job_spec_rewire(m, too_many, &why), ML_ERR_REFUSED);
    assert_int_equal(job_spec_rewire(m, NULL, &why), ML_ERR_REFUSED);
    assert_string_equal(wire(m, 0, 1), "e0");
    json_decref(table);
    json_decref(too_many);
    job_spec_destroy(m);
}

/* A member replaced by something else, or (NULL) taken away; and a word of the sentence. */
#define NOT_KEPT ", \"cache\": \"\", \"version\": \"\""
#define STAGED   "{\"path\": \"/a\", \"name\": \"a\", \"mib\": 1, "

static const struct malformed {
    const char *member, *value, *sentence;
} table[] = {
    {"files", "[]", "\"files\" is not a list of files"},
    {"files", "[{\"name\": \"../x\"}]", "\"files\" has a file without a valid name"},
    {"files", "[{\"name\": \"..\"}]", "\"files\" has a file without a valid name"},
    {"files", "[{\"name\": \"x\", \"size\": -1}]", "\"files\" has a file without a valid size"},
    {"files", "[{\"name\": \"x\", \"size\": 1, \"hash\": \"00\"}]",
     "\"files\" has a file without a valid hash"},
    {"files",
     "[{\"name\": \"x\", \"size\": 1, \"hash\": \"" HASH
     "\", \"executable\": true, \"beside\": 0}]",
     "\"files\" has a library without a program"},
    {"files",
     "[{\"name\": \"x\", \"size\": 1, \"hash\": \"" HASH
     "\", \"executable\": true, \"needed\": 1}]",
     "\"needed\" is not a list"},
    {"apps", "[{\"argv\": [\"p\"], \"env\": [], \"cwd\": \"\", \"file\": 0}]",
     "\"file\" names a file that does not exist"},
    {"job", NULL, "\"job\" is not a string"},
    {"job", "7", "\"job\" is not a string"},
    {"job", "\"\"", "\"job\" is not an id"},
    {"job", "\"../x\"", "\"job\" is not an id"},
    {"job", "\"a b\"", "\"job\" is not an id"},
    {"job", "\"a.b\"", "\"job\" is not an id"},
    {"job",
     "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"",
     "\"job\" is not an id"},
    {"secret", NULL, "\"secret\" is not 64"},
    {"secret", "\"00\"", "\"secret\" is not 64"},
    {"secret", "5", "\"secret\" is not 64"},
    {"size", "0", "\"size\" is out of range"},
    {"size", "-3", "\"size\" is out of range"},
    {"size", "3.5", "\"size\" is not a whole number"},
    {"size", "99999999999", "\"size\" is out of range"},
    {"size", "4", "\"host_of\" does not have one valid entry for each rank"},
    {"hosts", "1", "\"host\" is out of range"},
    {"hosts", "3", "\"host_names\" does not have one valid entry for each host"},
    {"host", "2", "\"host\" is out of range"},
    {"host", "0", "\"ranks\" holds a rank that is not of this host"},
    {"host_name", "null", "\"host_name\" is not a string"},
    {"name", "\"1\"", "\"name\" is not a name"},
    {"host_names", "[\"a\", 1]", "\"host_names\" does not have one valid entry"},
    {"host_of", "[0, 1, 2]", "\"host_of\" does not have one valid entry"},
    {"host_of", "[0, 1, -1]", "\"host_of\" does not have one valid entry"},
    {"host_of", "[0, 1, \"1\"]", "\"host_of\" does not have one valid entry"},
    {"addresses", "[\"x\"]", "\"addresses\" does not have one valid entry for each host"},
    {"backend", "\"auto\"", "\"backend\" is not one of"},
    {"backend", "null", "\"backend\" is not a string"},
    {"local_net", "1", "\"local_net\" is not true or false"},
    {"secure", "\"yes\"", "\"secure\" is not true or false"},
    {"compat", "null", "\"compat\" is not true or false"},
    {"bind_ip", "[]", "\"bind_ip\" is not a string"},
    {"peer", "{}", "\"peer\" is not a string"},
    {"port", "65536", "\"port\" is out of range"},
    {"starting_port", "-1", "\"starting_port\" is out of range"},
    {"grace_ms", "-1", "\"grace_ms\" is out of range"},
    {"restart", "-1", "\"restart\" is out of range"},
    {"binding", BINDING("board", "none", "", "none"), "\"binding\" is invalid"},
    {"binding", BINDING("core", "cpus", "", "none"), "\"binding\" is invalid"},
    {"binding", BINDING("none", "numa", "", "none"), "\"binding\" is invalid"},
    {"binding", BINDING("cpus", "none", "0-", "none"), "\"binding\" is invalid"},
    {"binding", BINDING("core", "none", "", "nodes"), "\"binding\" is invalid"},
    {"binding", "{\"to\": \"core\"}", "\"binding\" is invalid"},
    {"stdin", "\"some\"", "\"stdin\" is not one of"},
    {"buffer", "\"some\"", "\"buffer\" is not one of"},
    {"mpi", "\"pmi2\"", "\"mpi\" is not one of"},
    {"env", "[\"A\"]", "\"env\" holds something that is not NAME=VALUE"},
    {"env", "[\"=A\"]", "\"env\" holds something that is not NAME=VALUE"},
    {"env", "[null]", "\"env\" holds something that is not NAME=VALUE"},
    {"cwd", "3", "\"cwd\" is not a string"},
    {"wiring", "[[null, null], [null, null]]", "\"wiring\" is no wiring of this job's hosts"},
    {"wiring", "{\"entries\": [null], \"own\": [0, 0, 0], \"others\": [0, 0]}",
     "\"wiring\" is no wiring of this job's hosts"},
    {"pty", "{\"rank\": 3, \"rows\": 24, \"columns\": 80, \"term\": \"x\"}", "\"pty\" is invalid"},
    {"pty", "{\"rank\": -1, \"rows\": 24, \"columns\": 80, \"term\": \"x\"}", "\"pty\" is invalid"},
    {"pty", "{\"rank\": 0, \"rows\": 0, \"columns\": 80, \"term\": \"x\"}", "\"pty\" is invalid"},
    {"pty", "{\"rank\": 0, \"rows\": 24, \"columns\": 65536, \"term\": \"x\"}",
     "\"pty\" is invalid"},
    {"pty", "{\"rank\": 0, \"rows\": 24, \"columns\": 80, \"term\": \"/x\"}", "\"pty\" is invalid"},
    {"pty",
     "{\"rank\": 0, \"rows\": 24, \"columns\": 80, \"term\": "
     "\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"}",
     "\"pty\" is invalid"},
    {"pty", "{\"rank\": 0}", "\"pty\" is invalid"},
    {"wraps", "[]", "\"wraps\" is not a list of commands"},
    {"wraps", "[[]]", "\"wraps\" names no program"},
    {"attach", "{\"pid\": 1, \"rank\": 0}", "\"attach\" is invalid"},
    {"staged", "{\"path\": \"a\", \"name\": \"a\", \"mib\": 1" NOT_KEPT "}",
     "\"staged\" is invalid"},
    {"staged", "{\"path\": \"/a\", \"name\": \"..\", \"mib\": 1" NOT_KEPT "}",
     "\"staged\" is invalid"},
    {"staged", "{\"path\": \"/a\", \"name\": \"a/b\", \"mib\": 1" NOT_KEPT "}",
     "\"staged\" is invalid"},
    {"staged", "{\"path\": \"/a\", \"name\": \"a\", \"mib\": -1" NOT_KEPT "}",
     "\"staged\" is invalid"},
    {"staged", "{\"path\": \"/a\", \"name\": \"a\"}", "\"staged\" is invalid"},
    {"staged", STAGED "\"cache\": \"c\", \"version\": \"1\"}", "\"staged\" is invalid"},
    {"staged", STAGED "\"cache\": \"/c\", \"version\": \"\"}", "\"staged\" is invalid"},
    {"staged", STAGED "\"cache\": \"\", \"version\": \"1\"}", "\"staged\" is invalid"},
    {"staged", STAGED "\"cache\": \"/c\", \"version\": \"..\"}", "\"staged\" is invalid"},
    {"staged", STAGED "\"cache\": \"/c\", \"version\": \"a/b\"}", "\"staged\" is invalid"},
    {"staged", STAGED "\"cache\": \"/c\", \"version\": \"g\"}", "\"staged\" is invalid"},
    {"staged", STAGED "\"cache\": \"/c\"}", "\"staged\" is invalid"},
    {"apps", "[]", "\"apps\" is not a list"},
    {"apps", "[{\"argv\": [], \"env\": [], \"cwd\": \"\"}]", "\"argv\" names no program"},
    {"apps", "[{\"argv\": [\"\"], \"env\": [], \"cwd\": \"\"}]", "\"argv\" names no program"},
    {"apps", "[{\"argv\": [\"x\"], \"cwd\": \"\"}]", "\"env\" is not a list"},
    {"apps", "[{\"argv\": [\"x\"], \"env\": []}]", "\"cwd\" is not a string"},
    {"apps", "[{\"argv\": [\"p\"], \"env\": [], \"cwd\": \"\", \"words\": 1}]",
     "\"words\" is not true or false"},
    {"apps", "[7]", "\"argv\" is not a list"},
    {"ranks", "[]", "\"ranks\" is not a list"},
    {"ranks", "[1]", "\"ranks\" holds a rank"},
    {"ranks", "[{\"rank\": 0, \"local_rank\": 0, \"app\": 0}]", "\"ranks\" holds a rank"},
    {"ranks", "[{\"rank\": 3, \"local_rank\": 0, \"app\": 0}]", "\"ranks\" holds a rank"},
    {"ranks", "[{\"rank\": 1, \"local_rank\": 1, \"app\": 0}]", "\"ranks\" holds a rank"},
    {"ranks", "[{\"rank\": 1, \"local_rank\": 0, \"app\": 1}]", "\"ranks\" holds a rank"},
    {"ranks", "[{\"rank\": 1, \"local_rank\": -1, \"app\": 0}]", "\"ranks\" holds a rank"},
    {"ranks",
     "[{\"rank\": 1, \"local_rank\": 0, \"app\": 0}, {\"rank\": 1, \"local_rank\": 1, \"app\": 0}]",
     "\"ranks\" holds a rank"},
    {"ranks",
     "[{\"rank\": 1, \"local_rank\": 0, \"app\": 0}, {\"rank\": 2, \"local_rank\": 0, \"app\": 0}]",
     "\"ranks\" holds a rank"},
};

static void refuses_malformed_members(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        const struct malformed *t = &table[i];
        json_t *root = json_loads(good, 0, NULL);
        struct job_spec *m = NULL;
        struct fault why = {0};
        char *text;

        assert_non_null(root);
        if (t->value)
            json_object_set_new(root, t->member, json_loads(t->value, JSON_DECODE_ANY, NULL));
        else
            json_object_del(root, t->member);
        text = json_dumps(root, 0);
        if (job_spec_decode(&m, NULL, text, strlen(text), &why) != ML_ERR_REFUSED ||
            !strstr(why.text, t->sentence))
            fail_msg("%s = %s: \"%s\" instead of \"%s\"", t->member, t->value ? t->value : "(none)",
                     why.text, t->sentence);
        assert_null(m);
        free(text);
        json_decref(root);
    }
}

static void refuses_what_is_no_json(void **state)
{
    static const char *const texts[] = {"",
                                        "{",
                                        "[]",
                                        "\"job\"",
                                        "{\"job\": \"a\", \"job\": \"b\"}",
                                        "{\"job\": \"a\\u0000b\"}",
                                        "{\"job\": \"\xff\"}"};

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct job_spec *m = NULL;
        struct fault why = {0};

        assert_int_equal(job_spec_decode(&m, NULL, texts[i], strlen(texts[i]), &why),
                         ML_ERR_REFUSED);
        assert_non_null(strstr(why.text, "the launcher's JOB"));
        assert_null(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_all),
        cmocka_unit_test(rewires),
        cmocka_unit_test(refuses_malformed_members),
        cmocka_unit_test(refuses_what_is_no_json),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
