/* SPDX-License-Identifier: MIT */
#include "launcher/wire/protocol/job_spec.h"

#include "common/net/host_table.h"
#include "common/net/job_file.h"
#include "common/net/wiring_table.h"
#include "common/text/cpu_list.h"
#include "common/text/number.h"
#include "common/text/parsed_json.h"

#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE_MAX_RANKS = 1 << 20, TERM_MAX = 64 };

enum field_kind { FIELD_STRING, FIELD_INT, FIELD_BOOL, FIELD_WORD };

/* A member of JOB, or of the object `in` in it. */
struct field {
    const char *name;
    enum field_kind kind;
    size_t offset;
    int min, max;                    /* FIELD_INT */
    const struct named_value *words; /* FIELD_WORD */
    const char *in;
};

#define AT(member)     .offset = offsetof(struct job_spec, member)
#define OPTION(member) AT(options.member)
#define PORT_MAX       65535
#define MS_MAX         2147483647

/* clang-format off */
static const struct field fields[] = {
    {"job", FIELD_STRING, AT(job)},
    {"host_name", FIELD_STRING, AT(host_name)},
    {"backend", FIELD_STRING, AT(backend)},
    {"bind_ip", FIELD_STRING, AT(bind_ip)},
    {"peer", FIELD_STRING, AT(peer)},
    {"command", FIELD_STRING, AT(command)},
    {"cwd", FIELD_STRING, AT(cwd)},
    {"host_cwd", FIELD_STRING, AT(host_cwd)},
    {"prolog", FIELD_STRING, OPTION(prolog)},
    {"epilog", FIELD_STRING, OPTION(epilog)},
    {"tmpdir", FIELD_STRING, OPTION(tmpdir)},
    {"mount", FIELD_STRING, OPTION(mount)},
    {"container", FIELD_STRING, OPTION(container)},
    {"name", FIELD_STRING, OPTION(name)},
    {"size", FIELD_INT, AT(size), 1, SIZE_MAX_RANKS},
    {"hosts", FIELD_INT, AT(hosts), 1, SIZE_MAX_RANKS},
    {"host", FIELD_INT, AT(host), 0, SIZE_MAX_RANKS},
    {"port", FIELD_INT, OPTION(port), 0, PORT_MAX},
    {"starting_port", FIELD_INT, OPTION(starting_port), 0, PORT_MAX},
    {"init_timeout_ms", FIELD_INT, OPTION(init_timeout_ms), 0, MS_MAX},
    {"stall_ms", FIELD_INT, OPTION(stall_ms), 0, MS_MAX},
    {"grace_ms", FIELD_INT, OPTION(grace_ms), 0, MS_MAX},
    {"stdin_rank", FIELD_INT, OPTION(stdin_rank), 0, SIZE_MAX_RANKS},
    {"restart", FIELD_INT, AT(restart), 0, INT_MAX},
    {"fold_ms", FIELD_INT, AT(fold_ms), 0, 1000},
    {"restarts", FIELD_INT, OPTION(restarts), 0, INT_MAX},
    {"keep", FIELD_INT, OPTION(keep), 1, 2},
    {"elastic", FIELD_INT, OPTION(elastic), 0, SIZE_MAX_RANKS},
    {"replace_wait_ms", FIELD_INT, OPTION(replace_wait_ms), 0, MS_MAX},
    {"local_net", FIELD_BOOL, OPTION(local_net)},
    {"secure", FIELD_BOOL, OPTION(secure)},
    {"signal_children", FIELD_BOOL, OPTION(signal_children)},
    {"compat", FIELD_BOOL, OPTION(compat)},
    {"eager", FIELD_BOOL, OPTION(eager)},
    {"flight_recorder", FIELD_BOOL, OPTION(flight_recorder)},
    {"stop_signal", FIELD_WORD, OPTION(stop_signal), .words = job_words_stop},
    {"stdin", FIELD_WORD, OPTION(stdin_mode), .words = job_words_stdin},
    {"buffer", FIELD_WORD, OPTION(buffer), .words = job_words_buffer},
    {"mpi", FIELD_WORD, OPTION(mpi), .words = job_words_mpi},
    {"to", FIELD_WORD, OPTION(binding.to), .words = job_words_bind, .in = "binding"},
    {"each", FIELD_INT, OPTION(binding.each), 0, CPU_SETSIZE, .in = "binding"},
    {"map", FIELD_WORD, OPTION(binding.map), .words = job_words_bind, .in = "binding"},
    {"block", FIELD_INT, OPTION(binding.block), 0, SIZE_MAX_RANKS, .in = "binding"},
    {"cpus", FIELD_STRING, OPTION(binding.cpus), .in = "binding"},
    {"gpus", FIELD_INT, OPTION(binding.gpus), 0, GPUS_MOST, .in = "binding"},
    {"memory", FIELD_WORD, OPTION(binding.memory), .words = job_words_memory, .in = "binding"},
    {"nodes", FIELD_STRING, OPTION(binding.nodes), .in = "binding"},
    {"threads", FIELD_INT, OPTION(binding.threads), THREADS_AUTO, THREADS_MOST, .in = "binding"},
    {"report", FIELD_BOOL, OPTION(binding.report), .in = "binding"},
    {"port", FIELD_INT, OPTION(rdma.port), 0, 255, .in = "rdma"},
    {"gid_index", FIELD_INT, OPTION(rdma.gid_index), -1, 255, .in = "rdma"},
    {"mtu", FIELD_INT, OPTION(rdma.mtu), 0, 4096, .in = "rdma"},
    {"qp", FIELD_INT, OPTION(rdma.qp), 0, RDMA_PAIRS_UC, .in = "rdma"},
    {"rank", FIELD_INT, AT(pty.rank), 0, SIZE_MAX_RANKS, .in = "pty"},
    {"rows", FIELD_INT, AT(pty.rows), 1, UINT16_MAX, .in = "pty"},
    {"columns", FIELD_INT, AT(pty.columns), 1, UINT16_MAX, .in = "pty"},
    {"term", FIELD_STRING, AT(pty.term), .in = "pty"},
    {"pid", FIELD_INT, AT(attach.pid), 2, INT_MAX, .in = "attach"},
    {"rank", FIELD_INT, AT(attach.rank), 0, SIZE_MAX_RANKS, .in = "attach"},
    {"path", FIELD_STRING, AT(staged.path), .in = "staged"},
    {"name", FIELD_STRING, AT(staged.name), .in = "staged"},
    {"mib", FIELD_INT, AT(staged.mib), 0, INT_MAX, .in = "staged"},
    {"cache", FIELD_STRING, AT(staged.cache), .in = "staged"},
    {"version", FIELD_STRING, AT(staged.version), .in = "staged"},
};
/* clang-format on */

enum { FIELDS = sizeof(fields) / sizeof(fields[0]) };

static int member_refuse(struct fault *why, const char *what, const char *name)
{
    return fault_set(why, ML_ERR_REFUSED, "the launcher's JOB is invalid: \"%s\" %s", name, what);
}

static int out_of_memory(struct fault *why)
{
    return fault_set(why, ML_ERR_MEMORY, "out of memory while reading the job");
}

/* Returns what is wrong with the value, or NULL. */
static const char *value_read(void *at, const struct field *f, const json_t *value)
{
    const char *text = json_string_value(value);
    json_int_t number = json_integer_value(value);

    switch (f->kind) {
    case FIELD_STRING:
        *(const char **)at = text;
        return text ? NULL : "is not a string";
    case FIELD_BOOL:
        *(bool *)at = json_is_true(value);
        return json_is_boolean(value) ? NULL : "is not true or false";
    case FIELD_INT:
        *(int *)at = (int)number;
        if (!json_is_integer(value))
            return "is not a whole number";
        return number >= f->min && number <= f->max ? NULL : "is out of range";
    case FIELD_WORD:
        for (const struct named_value *w = f->words; text && w->word; w++) {
            *(int *)at = w->value;
            if (strcmp(text, w->word) == 0)
                return NULL;
        }
        return "is not one of its words";
    }
    return NULL;
}

/* An object that is not there leaves its members as they are. */
static int fields_read(struct job_spec *m, struct fault *why)
{
    const char *wrong = NULL;

    for (int i = 0; i < FIELDS; i++) {
        const struct field *f = &fields[i];
        const json_t *object = f->in ? json_object_get(m->root, f->in) : m->root;

        if (object)
            wrong = value_read((char *)m + f->offset, f, json_object_get(object, f->name));
        if (wrong)
            return member_refuse(why, f->in ? "is invalid" : wrong, f->in ? f->in : f->name);
    }
    return 0;
}

static json_t *value_write(const void *at, const struct field *f)
{
    const char *text;

    switch (f->kind) {
    case FIELD_STRING:
        text = *(const char *const *)at;
        return json_string(text ? text : "");
    case FIELD_BOOL:
        return json_boolean(*(const bool *)at);
    case FIELD_INT:
        return json_integer(*(const int *)at);
    case FIELD_WORD:
        for (const struct named_value *w = f->words; w->word; w++)
            if (w->value == *(const int *)at)
                return json_string(w->word);
    }
    return NULL;
}

/* Whether an object says nothing. */
static bool is_left_out(const struct job_spec *m, const char *object)
{
    const struct binding_options *b = &m->options.binding;

    if (strcmp(object, "binding") == 0)
        return b->to == BIND_NONE && !b->gpus && b->memory == MEMORY_ANY && !b->threads &&
               !b->report;
    if (strcmp(object, "pty") == 0)
        return m->pty.rank < 0;
    if (strcmp(object, "staged") == 0)
        return !m->staged.path;
    return strcmp(object, "attach") == 0 && !m->attach.pid;
}

/* Both are there, or neither. */
static bool cache_is_valid(const struct job_staged *s)
{
    size_t size = strlen(s->version);

    if (!s->cache[0])
        return size == 0;
    return s->cache[0] == '/' && strlen(s->cache) <= JOB_CACHE_MOST && size <= JOB_VERSION_MOST &&
           s->version[0] != '.' && size > 0 && strspn(s->version, "0123456789abcdef.") == size;
}

/* What only a launcher that is none would send. */
static int binding_check(const struct job_spec *m, struct fault *why)
{
    const struct binding_options *b = &m->options.binding;

    if (b->map == BIND_CPUS || (b->map && b->to == BIND_NONE) ||
        (b->to == BIND_CPUS && cpu_list_count(b->cpus) < 0) ||
        (b->memory == MEMORY_NODES && cpu_list_count(b->nodes) < 0))
        return member_refuse(why, "is invalid", "binding");
    return 0;
}

json_t *job_spec_write(const struct job_spec *m)
{
    json_t *root = json_object(), *in;

    for (int i = 0; root && i < FIELDS; i++) {
        const struct field *f = &fields[i];

        if (f->in && is_left_out(m, f->in))
            continue;
        if (f->in && !json_object_get(root, f->in))
            json_object_set_new(root, f->in, json_object());
        in = f->in ? json_object_get(root, f->in) : root;
        if (json_object_set_new(in, f->name, value_write((const char *)m + f->offset, f))) {
            json_decref(root);
            root = NULL;
        }
    }
    return root;
}

/* Reads an array of strings into a NULL-terminated list. `is_env`: each must be NAME=VALUE. */
static int strings_read(const char ***out, const json_t *array, const char *name, bool is_env,
                        struct fault *why)
{
    size_t count = json_array_size(array);
    const char **list;

    if (!json_is_array(array))
        return member_refuse(why, "is not a list", name);
    list = calloc(count + 1, sizeof(*list));
    if (!list)
        return out_of_memory(why);
    for (size_t i = 0; i < count; i++) {
        const char *text = json_string_value(json_array_get(array, i));

        if (!text || (is_env && (text[0] == '=' || !strchr(text, '=')))) {
            free(list);
            return member_refuse(why,
                                 is_env ? "holds something that is not NAME=VALUE"
                                        : "holds something that is not a string",
                                 name);
        }
        list[i] = text;
    }
    *out = list;
    return 0;
}

static int member_int(const json_t *object, const char *name, int max, int *out)
{
    const json_t *value = json_object_get(object, name);

    if (!json_is_integer(value) || json_integer_value(value) < 0 || json_integer_value(value) > max)
        return -1;
    *out = (int)json_integer_value(value);
    return 0;
}

/* For what host_table.h has said of a member that has one entry for each `of`. */
static int table_check(int rc, const char *name, const char *of, struct fault *why)
{
    char text[64];

    if (rc == ML_ERR_MEMORY)
        return out_of_memory(why);
    snprintf(text, sizeof(text), "does not have one valid entry for each %s", of);
    return rc ? member_refuse(why, text, name) : 0;
}

static int hosts_read(struct job_spec *m, struct fault *why)
{
    const json_t *addresses = json_object_get(m->root, "addresses");
    int rc;

    if (m->host >= m->hosts)
        return member_refuse(why, "is out of range", "host");
    rc = host_table_read_texts(&m->host_names, json_object_get(m->root, "host_names"), m->hosts);
    if (rc)
        return table_check(rc, "host_names", "host", why);
    rc = addresses ? host_table_read_texts(&m->addresses, addresses, m->hosts) : 0;
    if (rc)
        return table_check(rc, "addresses", "host", why);
    rc = host_table_read_numbers(&m->host_of, json_object_get(m->root, "host_of"), m->size,
                                 m->hosts);
    return table_check(rc, "host_of", "rank", why);
}

/* The name becomes part of a path. */
static bool file_name_is_valid(const char *name)
{
    return name && name[0] && strlen(name) <= NAME_MAX && !strchr(name, '/') &&
           strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* What --stage-libs says of a program or library. */
static int file_needs_read(struct job_copy *f, const json_t *object, struct fault *why)
{
    const json_t *needed = json_object_get(object, "needed");
    const char *run_path = json_string_value(json_object_get(object, "run_path"));
    const char *glibc = json_string_value(json_object_get(object, "glibc"));
    int rc;

    f->run_path = run_path ? run_path : "";
    f->glibc = glibc ? glibc : "";
    f->is_inherited = json_is_true(json_object_get(object, "inherited"));
    if (!needed)
        return 0;
    rc = strings_read(&f->needed, needed, "needed", false, why);
    for (const char **name = f->needed; !rc && *name; name++)
        if (strlen(*name) > NAME_MAX)
            rc = member_refuse(why, "names a library by too many letters", "needed");
    return rc;
}

/* `index`: its own. A library comes behind its program. */
static int file_read(struct job_copy *files, int index, const json_t *object, struct fault *why)
{
    struct job_copy *f = &files[index];
    const char *hash = json_string_value(json_object_get(object, "hash"));
    const json_t *size = json_object_get(object, "size");
    const json_t *executable = json_object_get(object, "executable");

    f->name = json_string_value(json_object_get(object, "name"));
    if (!file_name_is_valid(f->name))
        return member_refuse(why, "has a file without a valid name", "files");
    if (!json_is_integer(size) || json_integer_value(size) < 0)
        return member_refuse(why, "has a file without a valid size", "files");
    if (!hash || !hex_parse(hash, f->hash, sizeof(f->hash)))
        return member_refuse(why, "has a file without a valid hash", "files");
    if (!json_is_boolean(executable))
        return member_refuse(why, "does not say whether a file is executable", "files");
    f->size = (uint64_t)json_integer_value(size);
    f->is_executable = json_is_true(executable);
    f->beside = -1;
    if (json_object_get(object, "beside") &&
        (member_int(object, "beside", index - 1, &f->beside) || files[f->beside].beside >= 0))
        return member_refuse(why, "has a library without a program", "files");
    return file_needs_read(f, object, why);
}

/* Reads what the launcher can send; without the member it is nothing. */
static int files_read(struct job_spec *m, struct fault *why)
{
    const json_t *array = json_object_get(m->root, "files");
    size_t count = json_array_size(array);

    if (!array || json_is_null(array))
        return 0;
    if (count == 0 || count > JOB_COPIES_MOST)
        return member_refuse(why, "is not a list of files", "files");
    m->files = calloc(count, sizeof(*m->files));
    if (!m->files)
        return out_of_memory(why);
    m->file_count = (int)count;
    for (size_t i = 0; i < count; i++) {
        int rc = file_read(m->files, (int)i, json_array_get(array, i), why);

        if (rc)
            return rc;
    }
    return 0;
}

static int app_read(const struct job_spec *m, struct job_app *a, const json_t *object,
                    struct fault *why)
{
    int rc = strings_read(&a->argv, json_object_get(object, "argv"), "argv", false, why);

    if (!rc)
        rc = strings_read(&a->env, json_object_get(object, "env"), "env", true, why);
    if (rc)
        return rc;
    if (!a->argv[0] || !a->argv[0][0])
        return member_refuse(why, "names no program", "argv");
    a->file = -1;
    if (json_object_get(object, "file") && member_int(object, "file", m->file_count - 1, &a->file))
        return member_refuse(why, "names a file that does not exist", "file");
    if (json_object_get(object, "words") && !json_is_boolean(json_object_get(object, "words")))
        return member_refuse(why, "is not true or false", "words");
    a->has_words = json_is_true(json_object_get(object, "words"));
    a->cwd = json_string_value(json_object_get(object, "cwd"));
    return a->cwd ? 0 : member_refuse(why, "is not a string", "cwd");
}

static int apps_read(struct job_spec *m, struct fault *why)
{
    const json_t *array = json_object_get(m->root, "apps");
    size_t count = json_array_size(array);

    if (count == 0)
        return member_refuse(why, "is not a list of programs", "apps");
    m->apps = calloc(count, sizeof(*m->apps));
    if (!m->apps)
        return out_of_memory(why);
    m->app_count = (int)count;
    for (size_t i = 0; i < count; i++) {
        int rc = app_read(m, &m->apps[i], json_array_get(array, i), why);

        if (rc)
            return rc;
    }
    return 0;
}

/* Whether rank i belongs to this host and no other rank has its number or local rank. `seen`: the
 * local ranks so far. */
static bool rank_is_valid(const struct job_spec *m, int i, bool *seen)
{
    const struct job_rank *r = &m->ranks[i];

    if (m->host_of[r->rank] != m->host || seen[r->local_rank])
        return false;
    seen[r->local_rank] = true;
    for (int j = 0; j < i; j++) {
        if (m->ranks[j].rank == r->rank)
            return false;
    }
    return true;
}

/* Without the member there are none. */
static int wraps_read(struct job_spec *m, struct fault *why)
{
    const json_t *array = json_object_get(m->root, "wraps");
    size_t count = json_array_size(array);

    if (!array)
        return 0;
    if (count == 0)
        return member_refuse(why, "is not a list of commands", "wraps");
    m->wraps = calloc(count, sizeof(*m->wraps));
    if (!m->wraps)
        return out_of_memory(why);
    for (size_t i = 0; i < count; i++) {
        int rc = strings_read(&m->wraps[i], json_array_get(array, i), "wraps", false, why);

        if (rc)
            return rc;
        m->wrap_count++;
        if (!m->wraps[i][0] || !m->wraps[i][0][0])
            return member_refuse(why, "names no program", "wraps");
    }
    return 0;
}

/* How the rank is debugged: no member says that it is not. */
static int rank_debug_read(const struct job_spec *m, struct job_rank *r, const json_t *object)
{
    const json_t *held = json_object_get(object, "held");

    r->wrap = -1;
    r->is_held = json_is_true(held);
    if (held && !json_is_boolean(held))
        return -1;
    return json_object_get(object, "wrap") ? member_int(object, "wrap", m->wrap_count - 1, &r->wrap)
                                           : 0;
}

static int ranks_read(struct job_spec *m, struct fault *why)
{
    const json_t *array = json_object_get(m->root, "ranks");
    size_t count = json_array_size(array);
    bool *seen;
    int rc = 0;

    if (count == 0 || count > (size_t)m->size)
        return member_refuse(why, "is not a list of this host's ranks", "ranks");
    m->rank_most = (int)count + m->most - m->size;
    m->ranks = calloc((size_t)m->rank_most, sizeof(*m->ranks));
    seen = calloc(count, sizeof(*seen));
    if (!m->ranks || !seen) {
        free(seen);
        return out_of_memory(why);
    }
    m->rank_count = (int)count;
    for (size_t i = 0; i < count && !rc; i++) {
        const json_t *object = json_array_get(array, i);
        struct job_rank *r = &m->ranks[i];

        if (member_int(object, "rank", m->size - 1, &r->rank) ||
            member_int(object, "local_rank", (int)count - 1, &r->local_rank) ||
            member_int(object, "app", m->app_count - 1, &r->app) || !rank_is_valid(m, (int)i, seen))
            rc = member_refuse(why, "holds a rank that is not of this host, or twice", "ranks");
        else if (rank_debug_read(m, r, object))
            rc = member_refuse(why, "holds a rank with an invalid \"wrap\" or \"held\"", "ranks");
    }
    free(seen);
    return rc;
}

int job_spec_rewire(struct job_spec *m, const json_t *table, struct fault *why)
{
    json_t *wiring;
    int rc = wiring_table_read(&wiring, table, m->hosts);

    if (!rc && json_object_set_new(m->root, "wiring", wiring))
        rc = ML_ERR_MEMORY;
    if (rc == ML_ERR_MEMORY)
        return out_of_memory(why);
    if (rc)
        return member_refuse(why, "is no wiring of this job's hosts", "wiring");
    m->wiring = wiring;
    return 0;
}

/* Reads the RDMA matrix, and puts it in the place of its short form. */
static int topology_read(struct job_spec *m, struct fault *why)
{
    const json_t *table = json_object_get(m->root, "wiring");

    return table && !json_is_null(table) ? job_spec_rewire(m, table, why) : 0;
}

bool job_spec_is_term(const char *text)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_+.";

    return strlen(text) < TERM_MAX && strspn(text, allowed) == strlen(text);
}

/* The job's id becomes part of file names. */
static bool job_id_is_valid(const char *id)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";

    return id[0] && strlen(id) < AUTH_JOB && strspn(id, allowed) == strlen(id);
}

/* What the table cannot say of single values. */
static int values_check(const struct job_spec *m, struct fault *why)
{
    static const char *const backends[] = {"tcp", "shm", "rdma", "none", NULL};
    int backend = 0;

    while (backends[backend] && strcmp(backends[backend], m->backend) != 0)
        backend++;
    if (!backends[backend])
        return member_refuse(why, "is not one of its words", "backend");
    if (!job_id_is_valid(m->job))
        return member_refuse(why, "is not an id", "job");
    if (m->options.name[0] && !job_file_is_name(m->options.name))
        return member_refuse(why, "is not a name", "name");
    if (binding_check(m, why))
        return why->code;
    if (m->pty.rank >= m->size || !job_spec_is_term(m->pty.term))
        return member_refuse(why, "is invalid", "pty");
    if (m->attach.pid && m->size != 1)
        return member_refuse(why, "is invalid", "attach");
    if (m->staged.path && (m->staged.path[0] != '/' || strlen(m->staged.path) >= PATH_MAX ||
                           !file_name_is_valid(m->staged.name) || !cache_is_valid(&m->staged)))
        return member_refuse(why, "is invalid", "staged");
    return 0;
}

static int message_read(struct job_spec *m, struct fault *why)
{
    const char *secret = json_string_value(json_object_get(m->root, "secret"));
    int rc;

    m->options.rdma.gid_index = -1;
    m->pty = (struct job_pty){.rank = -1, .term = ""};
    rc = fields_read(m, why);
    if (!rc)
        rc = values_check(m, why);
    if (rc)
        return rc;
    m->most = m->size + (m->options.elastic ? JOB_GROW_MOST : 0);
    m->hosts_most = m->hosts + m->most - m->size;
    if (!secret || !hex_parse(secret, m->secret, sizeof(m->secret)))
        return member_refuse(why, "is not 64 hexadecimal digits", "secret");
    rc = strings_read(&m->env, json_object_get(m->root, "env"), "env", true, why);
    if (!rc)
        rc = hosts_read(m, why);
    if (!rc)
        rc = files_read(m, why);
    if (!rc)
        rc = apps_read(m, why);
    if (!rc)
        rc = wraps_read(m, why);
    if (!rc)
        rc = ranks_read(m, why);
    if (!rc)
        rc = topology_read(m, why);
    return rc;
}

json_t *job_spec_parse_shared(const char *text, size_t size)
{
    json_error_t error;
    json_t *shared = parsed_json(text, size, JSON_REJECT_DUPLICATES, &error);

    if (json_is_object(shared))
        return shared;
    json_decref(shared);
    return NULL;
}

int job_spec_decode(struct job_spec **out, json_t *shared, const char *text, size_t size,
                    struct fault *why)
{
    json_error_t error;
    struct job_spec *m = calloc(1, sizeof(*m));
    int rc;

    if (!m)
        return out_of_memory(why);
    m->root = parsed_json(text, size, JSON_REJECT_DUPLICATES, &error);
    if (!m->root)
        rc = fault_set(why, ML_ERR_REFUSED, "the launcher's JOB is not JSON: %s", error.text);
    else if (shared && json_object_update_missing(m->root, shared))
        rc =
            fault_set(why, ML_ERR_REFUSED, "the launcher's JOB is not JSON: %s", "it is no object");
    else
        rc = message_read(m, why);
    if (rc) {
        job_spec_destroy(m);
        return rc;
    }
    *out = m;
    return 0;
}

void job_spec_destroy(struct job_spec *m)
{
    if (!m)
        return;
    for (int i = 0; i < m->app_count; i++) {
        free(m->apps[i].argv);
        free(m->apps[i].env);
    }
    free(m->apps);
    for (int i = 0; i < m->wrap_count; i++)
        free(m->wraps[i]);
    free(m->wraps);
    for (int i = 0; i < m->file_count; i++)
        free(m->files[i].needed);
    free(m->files);
    free(m->ranks);
    free(m->host_of);
    free(m->host_names);
    free(m->addresses);
    free(m->env);
    sodium_memzero(m->secret, sizeof(m->secret));
    json_decref(m->root);
    free(m);
}

const char *job_spec_variable(const struct job_spec *m, const struct job_app *app, const char *name)
{
    const char **lists[] = {app->env, m->env};
    const char *value = NULL, *own = getenv(name);
    size_t length = strlen(name);

    for (size_t i = 0; i < 2 && !value; i++) {
        for (const char **entry = lists[i]; *entry; entry++) {
            if (strncmp(*entry, name, length) == 0 && (*entry)[length] == '=')
                value = *entry + length + 1;
        }
    }
    return value ? value : own ? own : "";
}

bool job_spec_has_stdin(const struct job_spec *m, int rank)
{
    return m->options.stdin_mode == STDIN_ALL ||
           (m->options.stdin_mode == STDIN_RANK && m->options.stdin_rank == rank);
}
