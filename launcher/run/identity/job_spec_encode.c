/* SPDX-License-Identifier: MIT */
#include "launcher/run/identity/job_spec_encode.h"

#include "common/net/address.h"
#include "common/net/host_table.h"
#include "common/text/number.h"
#include "launcher/base/machine/terminal_size.h"
#include "launcher/base/text/command_words.h"
#include "launcher/wire/protocol/job_spec.h"

#include <jansson.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where other ranks reach a host: the address in the hostfile, or else where SSH reached it. */
static const char *address_of(const struct plan *p, int host, const char *const *addresses)
{
    const struct host *h = plan_host(p, host);

    return h->ips && h->ips[0] ? h->ips[0] : addresses[host];
}

/* File names and environments are bytes, and JSON has no way to hold text that is not UTF-8: then
 * this fails, the array is replaced by NULL, and job_spec_encode() refuses the plan. */
static int text_append(json_t *array, const char *text)
{
    return json_array_append_new(array, json_string(text));
}

static json_t *texts_json(char *const *list)
{
    json_t *array = json_array();

    for (; list && *list; list++) {
        if (text_append(array, *list)) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

/* The address of another host, by whose route the agent finds its own, or "". A loopback address is
 * the last choice, as it means something else on another host. */
static const char *peer_address(const struct plan *p, int host, const char *const *addresses)
{
    const char *loopback = "";

    for (int i = 0; i < p->where->host_count; i++) {
        const char *address = address_of(p, i, addresses);

        if (i == host || !address[0])
            continue;
        if (!address_is_loopback(address))
            return address;
        if (!loopback[0])
            loopback = address;
    }
    return loopback;
}

/* The address to listen on: that of the hostfile, or else where SSH reached the host. The host's
 * own routes may not show that, for the other hosts' addresses may be unknown. "": the agent
 * decides; a loopback address only means that a tunnel was used. */
static const char *bind_address(const struct plan *p, int host, const char *const *addresses)
{
    const struct host *h = plan_host(p, host);
    const char *address = address_of(p, host, addresses);

    if (h->ips && h->ips[0])
        return address;
    if (p->where->host_count == 1)
        return "";
    for (int i = 0; i < p->where->host_count && address_is_loopback(address); i++) {
        const char *other = address_of(p, i, addresses);

        if (other[0] && !address_is_loopback(other))
            return "";
    }
    return address;
}

/* Names that are not UTF-8 are left out: such a library is not copied. */
static void needs_add(json_t *file, const struct elf_file *elf)
{
    json_t *needed = json_array();

    for (int i = 0; i < elf->count; i++)
        text_append(needed, elf->needed[i]);
    json_object_set_new(file, "needed", needed);
    json_object_set_new(file, "run_path", json_string(elf->run_path));
    json_object_set_new(file, "inherited", json_boolean(elf->is_inherited));
    json_object_set_new(file, "glibc", json_string(elf->glibc));
}

static json_t *files_json(const struct plan *p)
{
    json_t *array = json_array();

    for (int i = 0; i < p->files.count; i++) {
        const struct staged_file *f = &p->files.files[i];
        char hash[2 * JOB_COPY_HASH + 1];
        json_t *file;

        hex_write(hash, f->hash, sizeof(f->hash));
        file = json_pack("{s:s, s:I, s:s, s:b}", "name", f->name, "size", (json_int_t)f->size,
                         "hash", hash, "executable", f->is_executable);
        if (f->beside >= 0)
            json_object_set_new(file, "beside", json_integer(f->beside));
        if (f->elf)
            needs_add(file, f->elf);
        json_array_append_new(array, file);
    }
    return array;
}

/* is_staged: the host gets copies of the plan's files. */
static json_t *apps_json(const struct plan *p, bool is_staged)
{
    json_t *array = json_array();

    for (int i = 0; i < p->app_count; i++) {
        const struct app *a = &p->apps[i];
        json_t *app = json_pack("{s:o, s:o, s:s}", "argv", texts_json(a->argv), "env",
                                texts_json(a->env), "cwd", a->cwd ? a->cwd : "");

        if (is_staged && a->file >= 0)
            json_object_set_new(app, "file", json_integer(a->file));
        if (a->words)
            json_object_set_new(app, "words", json_true());
        if (json_array_append_new(array, app)) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

/* The words of all wraps (--wrap). */
static json_t *wraps_json(const struct plan *p)
{
    json_t *array = json_array();

    for (int i = 0; i < p->wrap_count; i++) {
        if (json_array_append_new(array, texts_json(p->wraps[i].words))) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static json_t *rank_json(const struct plan *p, int rank)
{
    const struct planned_rank *r = &p->where->ranks[rank];
    json_t *one =
        json_pack("{s:i, s:i, s:i}", "rank", rank, "local_rank", r->local_rank, "app", r->app);

    if (r->wrap)
        json_object_set_new(one, "wrap", json_integer(r->wrap - p->wraps));
    if (r->is_held)
        json_object_set_new(one, "held", json_true());
    return one;
}

static json_t *ranks_json(const struct plan *p, int host)
{
    json_t *array = json_array();

    for (int i = 0; i < p->where->size; i++) {
        if (p->where->ranks[i].host == host)
            json_array_append_new(array, rank_json(p, i));
    }
    return array;
}

/* Fills in how the other hosts reach this machine, where it is one of the hosts: by the address
 * that it uses towards the first of them. A loopback address beside others is that of a tunnel, and
 * is left out, since each host has its own. */
static void reached_settle(const char **reached, const struct plan *p, char own[ADDRESS_TEXT])
{
    const char *other = NULL;
    struct fault why;

    for (int i = 0; i < p->where->host_count && !other; i++)
        if (reached[i][0] && !address_is_loopback(reached[i]))
            other = reached[i];
    if (!other || address_towards(other, own, &why))
        return;
    for (int i = 0; i < p->where->host_count; i++) {
        if (address_is_loopback(reached[i]))
            reached[i] = "";
        if (!reached[i][0] && plan_host(p, i)->launch_method == LAUNCH_METHOD_LOCAL)
            reached[i] = own;
    }
}

json_t *job_spec_encode_hosts(const struct plan *p, const char *const *addresses)
{
    const char **names = calloc((size_t)p->where->host_count, sizeof(*names));
    const char **reached = calloc((size_t)p->where->host_count, sizeof(*reached));
    int *host_of = calloc((size_t)p->where->size, sizeof(*host_of));
    char own[ADDRESS_TEXT];
    json_t *lists = NULL;

    for (int i = 0; names && reached && i < p->where->host_count; i++) {
        names[i] = plan_host(p, i)->name;
        reached[i] = address_of(p, i, addresses);
    }
    if (names && reached)
        reached_settle(reached, p, own);
    for (int i = 0; host_of && i < p->where->size; i++)
        host_of[i] = p->where->ranks[i].host;
    if (names && reached && host_of)
        lists = json_pack("{s:o, s:o, s:o}", "host_names",
                          host_table_write_texts(names, p->where->host_count), "addresses",
                          host_table_write_texts(reached, p->where->host_count), "host_of",
                          host_table_write_numbers(host_of, p->where->size));
    free(names);
    free(reached);
    free(host_of);
    return lists;
}

void job_spec_encode_command_line(char *out, size_t size, const struct plan *p)
{
    FILE *to;
    size_t at;

    memset(out, 0, size);
    to = fmemopen(out, size - 1, "w");
    for (int i = 0; to && i < p->app_count; i++) {
        fputs(i ? " : " : "", to);
        for (int j = 0; p->apps[i].argv[j]; j++) {
            fputs(j ? " " : "", to);
            command_words_quote(to, p->apps[i].argv[j]);
        }
    }
    if (to)
        fclose(to);
    /* The last character may have been cut, and JSON could not hold the rest of it. A line that is
     * whole ends with ASCII, as all other words are quoted. */
    for (at = strlen(out); at > 0 && (out[at - 1] & 0xc0) == 0x80; at--)
        ;
    if (at > 0 && out[at - 1] & 0x80)
        at--;
    out[at] = '\0';
}

static struct job_pty pty_of(const struct plan *p)
{
    struct terminal_size size = terminal_size_find();
    const char *term = getenv("TERM");

    return (struct job_pty){.rank = p->options->pty ? p->options->pty_rank : -1,
                            .rows = size.rows,
                            .columns = size.columns,
                            .term = term && job_spec_is_term(term) ? term : ""};
}

static int text_refuse(struct fault *why)
{
    return fault_set(why, ML_ERR_ARGUMENT,
                     "arguments, environment and directories must be UTF-8 text");
}

/* Everything but the secret. */
static json_t *shared_json(const struct plan *p, const struct job_identity *identity, json_t *hosts,
                           json_t *wiring, enum stdin_mode stdin_mode,
                           const struct job_staged *staged)
{
    static const char *const own[] = {"host", "host_name", "bind_ip", "peer", "host_cwd"};
    char command[256];
    struct job_spec m = {.job = identity->id,
                         .restart = identity->restart,
                         .fold_ms = p->output == OUTPUT_FOLD ? plan_fold_ms(p) : 0,
                         .size = p->where->size,
                         .hosts = p->where->host_count,
                         .backend = p->backend,
                         .options = p->job,
                         .command = command,
                         .pty = pty_of(p),
                         .attach = {p->attach_pid, p->attach_rank},
                         .cwd = p->cwd,
                         .host_name = "",
                         .bind_ip = "",
                         .peer = "",
                         .host_cwd = ""};
    json_t *root;

    m.options.stdin_mode = stdin_mode;
    if (staged)
        m.staged = *staged;
    job_spec_encode_command_line(command, sizeof(command), p);
    root = job_spec_write(&m);
    for (size_t i = 0; root && i < sizeof(own) / sizeof(*own); i++)
        json_object_del(root, own[i]);
    if (!root || !hosts || json_object_update(root, hosts) ||
        json_object_set_new(root, "apps", apps_json(p, p->files.count > 0)) ||
        (p->files.count && json_object_set_new(root, "files", files_json(p))) ||
        (p->wrap_count && json_object_set_new(root, "wraps", wraps_json(p))) ||
        (wiring && json_object_set(root, "wiring", wiring))) {
        json_decref(root);
        root = NULL;
    }
    return root;
}

int job_spec_encode_shared(char **out, const struct plan *p, const struct job_identity *identity,
                           json_t *hosts, json_t *wiring, enum stdin_mode stdin_mode,
                           const struct job_staged *staged, struct fault *why)
{
    json_t *root = shared_json(p, identity, hosts, wiring, stdin_mode, staged);
    char *text = root ? json_dumps(root, JSON_COMPACT) : NULL;
    char secret[2 * AUTH_SECRET + 1], *with_secret = NULL;

    json_decref(root);
    if (!text)
        return text_refuse(why);
    /* The secret is put in front by hand: the JSON library would leave copies of it in memory. */
    hex_write(secret, identity->secret, AUTH_SECRET);
    if (asprintf(&with_secret, "{\"secret\":\"%s\",%s", secret, text + 1) < 0)
        with_secret = NULL;
    sodium_memzero(secret, sizeof(secret));
    free(text);
    if (!with_secret)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    *out = with_secret;
    return 0;
}

int job_spec_encode(char **out, const struct plan *p, int host, const char *const *addresses,
                    struct fault *why)
{
    const struct host *h = plan_host(p, host);
    json_t *root = json_pack("{s:i, s:s, s:s, s:s, s:s, s:o, s:o}", "host", host, "host_name",
                             h->name, "bind_ip", bind_address(p, host, addresses), "peer",
                             peer_address(p, host, addresses), "host_cwd", h->cwd ? h->cwd : "",
                             "env", texts_json(h->env), "ranks", ranks_json(p, host));
    char *text = NULL;

    /* This machine has the files already. */
    if (root && p->files.count > 0 && h->launch_method == LAUNCH_METHOD_LOCAL &&
        (json_object_set_new(root, "apps", apps_json(p, false)) ||
         json_object_set_new(root, "files", json_null()))) {
        json_decref(root);
        root = NULL;
    }
    if (root)
        text = json_dumps(root, JSON_COMPACT);
    json_decref(root);
    if (!text)
        return text_refuse(why);
    *out = text;
    return 0;
}

void job_spec_encode_destroy(char *text)
{
    if (text)
        sodium_memzero(text, strlen(text));
    free(text);
}
