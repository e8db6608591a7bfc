/* SPDX-License-Identifier: MIT */
#include "launcher/commands/batch/compose_job.h"

#include "common/text/text_stream.h"
#include "launcher/commands/batch/pod_command.h"
#include "launcher/commands/batch/yaml_text.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COMPOSE_KEY "/run/secrets/key" /* the file of the key in a container */

enum {
    USER = 1000,  /* whom the ranks run as, if root writes the file */
    LATER_S = 10, /* for mlaunch's own end, after that of the ranks */
};

static json_t *text_make(const char *format, long number)
{
    char text[64];

    snprintf(text, sizeof(text), format, number);
    return json_string(text);
}

/* Those of RDMA, which need to register memory. */
static void devices_add(json_t *service)
{
    json_object_set_new(service, "devices", json_pack("[s]", "/dev/infiniband:/dev/infiniband"));
    json_object_set_new(service, "cap_add", json_pack("[s]", "IPC_LOCK"));
    json_object_set_new(service, "ulimits", json_pack("{s:i}", "memlock", -1));
}

static json_t *gpus_make(int count)
{
    return json_pack("{s:{s:{s:[{s:s, s:i, s:[s]}]}}}", "resources", "reservations", "devices",
                     "driver", "nvidia", "count", count, "capabilities", "gpu");
}

static int resources_check(const struct batch_options *b, struct fault *why)
{
    for (size_t i = 0; i < b->resources.count; i++)
        if (!strstr(b->resources.items[i], "rdma"))
            return fault_set(why, ML_ERR_ARGUMENT,
                             "--resource %s: Compose knows none of that name; RDMA devices are "
                             "rdma=1, and others go into the file by hand",
                             b->resources.items[i]);
    return 0;
}

/* Takes over `command`. The user is the one who can read the key. */
static json_t *service_make(const struct batch_options *b, int index, json_t *command)
{
    long user = geteuid() ? (long)geteuid() : USER, group = geteuid() ? (long)getegid() : USER;
    char name[256], who[64];
    json_t *service;

    snprintf(name, sizeof(name), "%.200s-%d", b->job_name, index);
    snprintf(who, sizeof(who), "%ld:%ld", user, group);
    service = json_pack("{s:s, s:s, s:o, s:[], s:s, s:[s], s:[s], s:[s], s:s}", "image", b->image,
                        "hostname", name, "entrypoint", command, "command", "user", who, "cap_drop",
                        "ALL", "security_opt", "no-new-privileges:true", "secrets", "key",
                        "shm_size", "8gb");
    json_object_set_new(service, "stop_grace_period", text_make("%lds", b->grace_s + LATER_S));
    json_object_set_new(service, "restart",
                        b->restarts ? text_make("on-failure:%ld", b->restarts) : json_string("no"));
    if (b->resources.count > 0)
        devices_add(service);
    if (b->gpus)
        json_object_set_new(service, "deploy", gpus_make(b->gpus));
    return service;
}

static int services_make(json_t **out, const struct batch_options *b, struct fault *why)
{
    char head[256], name[256];
    json_t *command;
    int rc = 0;

    snprintf(head, sizeof(head), "%.200s-0:" POD_PORT, b->job_name);
    *out = json_object();
    for (int i = 0; i < b->nodes && !rc; i++) {
        rc = pod_command_make(&command, b, head, COMPOSE_KEY, i, why);
        snprintf(name, sizeof(name), "%.200s-%d", b->job_name, i);
        if (!rc && json_object_set_new(*out, name, service_make(b, i, command)))
            rc = fault_set(why, ML_ERR_MEMORY, "out of memory");
    }
    if (rc)
        json_decref(*out);
    return rc;
}

int compose_job_make(char **out, const struct batch_options *b, struct fault *why)
{
    char key[256];
    json_t *services, *root;
    struct text_stream s;
    FILE *to;
    int rc = resources_check(b, why);

    if (!rc)
        rc = services_make(&services, b, why);
    if (rc)
        return rc;
    snprintf(key, sizeof(key), "./%.200s.key", b->job_name);
    root = json_pack("{s:s, s:o, s:{s:{s:s}}}", "name", b->job_name, "services", services,
                     "secrets", "key", "file", key);
    to = root ? text_stream_open(&s) : NULL;
    if (to) {
        fprintf(
            to,
            "# A job for docker compose or podman-compose, written by mlaunch batch. To run it:\n"
            "#     mlaunch join --key-new %s.key\n"
            "#     docker compose -f THIS-FILE up --exit-code-from %s-0\n"
            "# With podman and without root: PODMAN_USERNS=keep-id podman-compose -f THIS-FILE "
            "up\n# Whoever has the key can be any host of the job.\n",
            b->job_name, b->job_name);
        yaml_write(to, root);
    }
    json_decref(root);
    *out = to ? text_stream_close(to, &s) : NULL;
    return *out ? 0 : fault_set(why, ML_ERR_MEMORY, "out of memory");
}
