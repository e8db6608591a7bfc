/* SPDX-License-Identifier: MIT */
#include "launcher/agent/facts/facts_system_linux.h"

#include "common/build_id.h"
#include "launcher/agent/facts/fact_file.h"
#include "launcher/agent/facts/facts_gpu_linux.h"
#include "launcher/agent/host/own_address.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void processors_add(json_t *out, const char *root)
{
    char path[FACT_PATH], text[FACT_TEXT], *begin;

    fact_file_path(path, root, "/proc/cpuinfo");
    if (fact_file_entry(path, "model name", text))
        fact_put_text(out, "cpu", text);
    json_object_set_new(out, "cores", json_integer(fact_file_count(path, "processor\t")));
    fact_file_path(path, root, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    fact_put_line(out, "governor", path);
    /* The chosen word is in brackets. */
    fact_file_path(path, root, "/sys/kernel/mm/transparent_hugepage/enabled");
    if (fact_file_line(path, text) && (begin = strchr(text, '['))) {
        begin[strcspn(begin, "]")] = '\0';
        fact_put_text(out, "huge_pages", begin + 1);
    }
}

static void memory_put(json_t *out, const char *key, const char *path, const char *entry)
{
    char text[FACT_TEXT];

    if (fact_file_entry(path, entry, text)) /* "24684084 kB" */
        json_object_set_new(out, key, json_integer(strtoll(text, NULL, 10) * 1024));
}

static void on_node(const char *name, void *arg)
{
    int *count = arg;

    *count += strncmp(name, "node", 4) == 0 && name[4] >= '0' && name[4] <= '9';
}

static void memory_add(json_t *out, const char *root)
{
    char path[FACT_PATH];
    int nodes = 0;

    fact_file_path(path, root, "/proc/meminfo");
    memory_put(out, "memory_bytes", path, "MemTotal:");
    memory_put(out, "memory_available_bytes", path, "MemAvailable:");
    fact_file_path(path, root, "/sys/devices/system/node");
    fact_file_list(path, on_node, &nodes);
    json_object_set_new(out, "numa_nodes", json_integer(nodes));
}

/* What tells one machine from another. */
static void identity_add(json_t *out, const char *root)
{
    char path[FACT_PATH];
    struct stat process, network;

    fact_file_path(path, root, "/proc/sys/kernel/random/boot_id");
    fact_put_line(out, "boot", path);
    if (*root || stat("/proc/self/ns/pid", &process) || stat("/proc/self/ns/net", &network))
        return;
    /* Containers of one machine count as hosts of their own. */
    snprintf(path, sizeof(path), "%llu %llu", (unsigned long long)process.st_ino,
             (unsigned long long)network.st_ino);
    fact_put_text(out, "namespaces", path);
}

/* The version of the library that programs would load. */
static void verbs_add(json_t *out, const char *root)
{
    static const char *const patterns[] = {
        "/usr/local/lib/libibverbs.so.1", "/usr/lib64/libibverbs.so.1",
        "/usr/lib/*-linux-gnu*/libibverbs.so.1", "/usr/lib/libibverbs.so.1"};
    static const char prefix[] = "libibverbs.so.";
    char path[FACT_PATH], text[FACT_TEXT] = "";

    for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns) && !text[0]; i++) {
        glob_t found = {0};

        fact_file_path(path, root, "%s", patterns[i]);
        if (glob(path, 0, NULL, &found) == 0 && found.gl_pathc > 0)
            fact_file_link(found.gl_pathv[0], text);
        globfree(&found);
    }
    if (strncmp(text, prefix, strlen(prefix)) == 0)
        fact_put_text(out, "verbs", text + strlen(prefix));
}

static void python_add(json_t *out, const char *root)
{
    char path[FACT_PATH], text[FACT_TEXT];

    fact_file_path(path, root, "/usr/bin/python3");
    if (fact_file_link(path, text))
        fact_put_text(out, "python", text);
}

/* Policies that keep programs from files, devices or each other's memory. */
static void security_add(json_t *out, const char *root)
{
    char path[FACT_PATH], value[FACT_TEXT], text[FACT_TEXT] = "";
    size_t used = 0;

    fact_file_path(path, root, "/sys/module/apparmor/parameters/enabled");
    if (fact_file_line(path, value) && value[0] == 'Y')
        used += (size_t)snprintf(text, sizeof(text), ", AppArmor");
    fact_file_path(path, root, "/sys/fs/selinux/enforce");
    if (fact_file_line(path, value))
        used += (size_t)snprintf(text + used, sizeof(text) - used, ", SELinux %s",
                                 value[0] == '1' ? "enforcing" : "permissive");
    fact_file_path(path, root, "/proc/sys/kernel/yama/ptrace_scope");
    if (fact_file_line(path, value))
        snprintf(text + used, sizeof(text) - used, ", ptrace_scope %.16s", value);
    fact_put_text(out, "security", text[0] ? text + 2 : "");
}

static void load_add(json_t *out, const char *root)
{
    char path[FACT_PATH], text[FACT_TEXT];

    fact_file_path(path, root, "/proc/loadavg");
    if (fact_file_line(path, text))
        json_object_set_new(out, "load", json_real(strtod(text, NULL)));
    fact_file_path(path, root, "/proc/uptime");
    if (fact_file_line(path, text))
        json_object_set_new(out, "uptime_s", json_integer((json_int_t)strtod(text, NULL)));
}

json_t *facts_system_read(const char *root)
{
    json_t *out = json_object();
    char path[FACT_PATH], text[FACT_TEXT];

    fact_file_path(path, root, "/etc/os-release");
    if (fact_file_entry(path, "PRETTY_NAME=", text))
        fact_put_text(out, "os", text);
    fact_file_path(path, root, "/proc/sys/kernel/osrelease");
    fact_put_line(out, "kernel", path);
    processors_add(out, root);
    memory_add(out, root);
    identity_add(out, root);
    verbs_add(out, root);
    python_add(out, root);
    security_add(out, root);
    load_add(out, root);
    facts_gpu_add(out, root);
    if (*root)
        return out;
    fact_put_text(out, "mlaunch", build_version);
    own_address_list(text, sizeof(text));
    fact_put_text(out, "addresses", text);
    return out;
}
