/* SPDX-License-Identifier: MIT */
#include "launcher/commands/batch/kubernetes_job.h"

#include "common/net/auth.h"
#include "common/text/number.h"
#include "common/text/text_stream.h"
#include "launcher/commands/batch/pod_command.h"
#include "launcher/commands/batch/yaml_text.h"

#include <jansson.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    USER = 1000,       /* whom the ranks run as; any but root */
    LATER_S = 10,      /* for mlaunch's own end, after that of the ranks */
    LOST = 125,        /* the status of mlaunch join that has lost the head or its agent */
    KILLED = 128 + 9,  /* the status of a container that was killed, as for too much memory, */
    STOPPED = 128 + 15 /* or ended by SIGTERM */
};

/* What the container may use; *is_rdma: a device of RDMA is among it. */
static json_t *limits_make(const struct batch_options *b, bool *is_rdma)
{
    json_t *limits = json_object();

    *is_rdma = false;
    if (b->gpus)
        json_object_set_new(limits, "nvidia.com/gpu", json_integer(b->gpus));
    for (size_t i = 0; i < b->resources.count; i++) {
        const char *resource = b->resources.items[i], *equals = strchr(resource, '=');
        char name[BATCH_RESOURCE];

        snprintf(name, sizeof(name), "%.*s", (int)(equals - resource), resource);
        json_object_set_new(limits, name, json_integer(atoi(equals + 1)));
        *is_rdma |= strstr(name, "rdma") != NULL;
    }
    return limits;
}

static json_t *container_make(const struct batch_options *b, json_t *command)
{
    bool is_rdma;
    json_t *limits = limits_make(b, &is_rdma), *security, *container;

    security =
        json_pack("{s:b, s:{s:[s]}}", "allowPrivilegeEscalation", 0, "capabilities", "drop", "ALL");
    if (is_rdma) /* to register memory beyond the limit of a container */
        json_object_set_new(json_object_get(security, "capabilities"), "add",
                            json_pack("[s]", "IPC_LOCK"));
    container = json_pack("{s:s, s:s, s:o, s:o, s:[{s:s, s:s, s:b}, {s:s, s:s}]}", "name",
                          "mlaunch", "image", b->image, "command", command, "securityContext",
                          security, "volumeMounts", "name", "key", "mountPath", "/run/mlaunch",
                          "readOnly", 1, "name", "shm", "mountPath", "/dev/shm");
    if (json_object_size(limits) > 0)
        json_object_set_new(container, "resources", json_pack("{s:O}", "limits", limits));
    json_decref(limits);
    return container;
}

static json_t *pod_make(const struct batch_options *b, json_t *command)
{
    return json_pack(
        "{s:s, s:s, s:b, s:I, s:{s:b, s:i, s:i}, s:[o], s:[{s:s, s:{s:s, s:i}}, {s:s, s:{s:s}}]}",
        "restartPolicy", "Never", "subdomain", b->job_name, "automountServiceAccountToken", 0,
        "terminationGracePeriodSeconds", (json_int_t)b->grace_s + LATER_S, "securityContext",
        "runAsNonRoot", 1, "runAsUser", USER, "fsGroup", USER, "containers",
        container_make(b, command), "volumes", "name", "key", "secret", "secretName", b->job_name,
        "defaultMode", 0440, "name", "shm", "emptyDir", "medium", "Memory");
}

/* A pod that the cluster takes away does not count. The others fail the job with the status that
 * they have, but for those that were killed, if there are --restarts; with --elastic the job goes
 * on without those that were lost. */
static json_t *failures_make(const struct batch_options *b)
{
    json_t *values = json_pack("[i]", 0);

    if (b->elastic)
        json_array_append_new(values, json_integer(LOST));
    if (b->restarts || b->elastic) {
        json_array_append_new(values, json_integer(KILLED));
        json_array_append_new(values, json_integer(STOPPED));
    }
    return json_pack("{s:[{s:s, s:[{s:s, s:s}]}, {s:s, s:{s:s, s:o}}]}", "rules", "action",
                     "Ignore", "onPodConditions", "type", "DisruptionTarget", "status", "True",
                     "action", "FailJob", "onExitCodes", "operator", "NotIn", "values", values);
}

static json_t *job_make(const struct batch_options *b, json_t *command)
{
    /* With --elastic each host's place may be filled so often, and the others go on without it. */
    const char *limit = b->elastic ? "backoffLimitPerIndex" : "backoffLimit";
    json_t *spec = json_pack("{s:i, s:i, s:s, s:i, s:o}", "completions", b->nodes, "parallelism",
                             b->nodes, "completionMode", "Indexed", limit, b->restarts,
                             "podFailurePolicy", failures_make(b));

    if (b->time_s)
        json_object_set_new(spec, "activeDeadlineSeconds", json_integer(b->time_s));
    json_object_set_new(spec, "template",
                        json_pack("{s:{s:{s:s}}, s:o}", "metadata", "labels", "mlaunch-job",
                                  b->job_name, "spec", pod_make(b, command)));
    return json_pack("{s:s, s:s, s:{s:s}, s:o}", "apiVersion", "batch/v1", "kind", "Job",
                     "metadata", "name", b->job_name, "spec", spec);
}

/* A pod has its name before it is ready: the others wait for the first one. */
static json_t *service_make(const struct batch_options *b)
{
    return json_pack("{s:s, s:s, s:{s:s}, s:{s:s, s:b, s:{s:s}}}", "apiVersion", "v1", "kind",
                     "Service", "metadata", "name", b->job_name, "spec", "clusterIP", "None",
                     "publishNotReadyAddresses", 1, "selector", "mlaunch-job", b->job_name);
}

static json_t *secret_make(const struct batch_options *b)
{
    uint8_t key[AUTH_SECRET];
    char text[2 * AUTH_SECRET + 1];
    json_t *secret;

    randombytes_buf(key, sizeof(key));
    hex_write(text, key, sizeof(key));
    secret =
        json_pack("{s:s, s:s, s:{s:s}, s:s, s:{s:s}}", "apiVersion", "v1", "kind", "Secret",
                  "metadata", "name", b->job_name, "type", "Opaque", "stringData", "key", text);
    sodium_memzero(key, sizeof(key));
    sodium_memzero(text, sizeof(text));
    return secret;
}

int kubernetes_job_make(char **out, const struct batch_options *b, struct fault *why)
{
    json_t *command, *parts[3];
    struct text_stream s;
    bool is_whole = true;
    FILE *to;
    char head[256];
    int rc;

    snprintf(head, sizeof(head), "%s-0.%s:%s", b->job_name, b->job_name, POD_PORT);
    rc = pod_command_make(&command, b, head, KUBERNETES_KEY, -1, why);

    if (rc)
        return rc;
    parts[0] = secret_make(b);
    parts[1] = service_make(b);
    parts[2] = job_make(b, command);
    to = text_stream_open(&s);
    if (to)
        fputs("# A job for Kubernetes, written by mlaunch batch. To submit it: kubectl create -f "
              "THIS-FILE\n# Whoever has the key in the Secret can be any host of the job.\n",
              to);
    for (int i = 0; i < 3; i++) {
        is_whole &= parts[i] != NULL;
        if (to && parts[i]) {
            fputs("---\n", to);
            yaml_write(to, parts[i]);
        }
        json_decref(parts[i]);
    }
    *out = to ? text_stream_close(to, &s) : NULL;
    if (*out && is_whole)
        return 0;
    free(*out);
    return fault_set(why, ML_ERR_MEMORY, "out of memory");
}
