/* SPDX-License-Identifier: MIT */
#include "launcher/input/hosts/hostfile_write.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static json_t *texts(char *const *list)
{
    json_t *array = json_array();

    for (; list && *list; list++)
        json_array_append_new(array, json_string(*list));
    return array;
}

/* Returns "user@name:port", as host_name.h reads it. */
static json_t *way_of(const struct host *h)
{
    bool is_v6 = strchr(h->name, ':') != NULL;
    json_t *text = json_sprintf("%s%s%s%s%s", h->user ? h->user : "", h->user ? "@" : "",
                                is_v6 ? "[" : "", h->name, is_v6 ? "]" : "");
    json_t *full = h->port ? json_sprintf("%s:%d", json_string_value(text), h->port) : NULL;

    if (!full)
        return text;
    json_decref(text);
    return full;
}

/* One device is its name, several are a list, none is []. */
static json_t *entry_of(json_t *devices)
{
    return json_array_size(devices) == 1 ? json_incref(json_array_get(devices, 0))
                                         : json_deep_copy(devices);
}

static json_t *row_found(const json_t *row, int self)
{
    json_t *out = json_array(), *entry;
    size_t i;

    json_array_foreach(row, i, entry)
    {
        json_array_append_new(out, (int)i == self ? json_null() : entry_of(entry));
    }
    return out;
}

static json_t *row_stated(const struct host *h, int self)
{
    json_t *out = json_array();

    for (int i = 0; i < h->rdma_count; i++) {
        json_t *devices = texts(h->rdma[i]);

        json_array_append_new(out, i == self ? json_null() : entry_of(devices));
        json_decref(devices);
    }
    return out;
}

static json_t *host_to_json(const struct host_list *l, int index, const json_t *wiring,
                            const char *address)
{
    const struct host *h = &l->hosts[index];
    json_t *out = json_pack("{s:o}", "ssh", way_of(h));

    if (h->ips && h->ips[0])
        json_object_set_new(out, "ips", texts(h->ips));
    else if (*address)
        json_object_set_new(out, "ips", json_pack("[s]", address));
    if (h->slots)
        json_object_set_new(out, "slots", json_integer(h->slots));
    if (wiring)
        json_object_set_new(out, "rdma", row_found(json_array_get(wiring, (size_t)index), index));
    else if (h->rdma)
        json_object_set_new(out, "rdma", row_stated(h, index));
    if (h->env && h->env[0])
        json_object_set_new(out, "env", texts(h->env));
    if (h->cwd)
        json_object_set_new(out, "cwd", json_string(h->cwd));
    return out;
}

json_t *hostfile_write_json(const struct host_list *l, const json_t *wiring,
                            const char *const *addresses)
{
    json_t *hosts = json_array();

    for (int i = 0; i < l->count; i++)
        json_array_append_new(hosts, host_to_json(l, i, wiring, addresses[i]));
    return l->backend ? json_pack("{s:s, s:o}", "backend", l->backend, "hosts", hosts) : hosts;
}

static void line_print(FILE *to, const json_t *value, const char *after)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY);

    fprintf(to, "%s%s", text ? text : "null", after);
    free(text);
}

void hostfile_write_print(FILE *to, const json_t *hostfile)
{
    const json_t *hosts = json_is_array(hostfile) ? hostfile : json_object_get(hostfile, "hosts");
    json_t *host;
    size_t i;

    if (hosts != hostfile) {
        fputs("{\"backend\": ", to);
        line_print(to, json_object_get(hostfile, "backend"), ", \"hosts\":\n");
    }
    json_array_foreach(hosts, i, host)
    {
        fputs(i ? " " : "[", to);
        line_print(to, host, i + 1 < json_array_size(hosts) ? ",\n" : "]");
    }
    fputs(hosts == hostfile ? "\n" : "}\n", to);
}

static int draft_write(const json_t *hostfile, int fd)
{
    mode_t mask = umask(0);
    FILE *to = fdopen(fd, "w");
    int err;

    umask(mask);
    if (!to) {
        err = errno;
        close(fd);
        return err;
    }
    fchmod(fd, 0666 & ~mask); /* mkstemp() made it private */
    hostfile_write_print(to, hostfile);
    err = fflush(to) || ferror(to) ? errno : 0;
    if (fclose(to) && !err)
        err = errno;
    return err;
}

int hostfile_write(const char *path, const json_t *hostfile, struct fault *why)
{
    char *new = NULL;
    int fd, err;

    if (asprintf(&new, "%s.XXXXXX", path) < 0)
        return fault_set(why, ML_ERR_MEMORY, "out of memory");
    fd = mkstemp(new);
    err = fd < 0 ? errno : draft_write(hostfile, fd);
    if (!err && rename(new, path))
        err = errno;
    if (err && fd >= 0)
        unlink(new);
    free(new);
    return err ? fault_os(why, ML_ERR_SYSTEM, err, "cannot write %s", path) : 0;
}
