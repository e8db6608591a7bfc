/* SPDX-License-Identifier: MIT */
#include "launcher/tools/metrics/metric_hosts.h"

#include "common/text/object_field.h"
#include "launcher/ask/port_counter.h"
#include "launcher/tools/metrics/metric_page.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const struct metric_family
    host_up = {"mlaunch_host_up", "gauge", "1 if the host has answered, else 0."},
    build = {"mlaunch_build_info", "gauge", "The version of mlaunch's agent; always 1."},
    cpus = {"mlaunch_host_cpus", "gauge", "Processors of the host."},
    cpu_seconds = {"mlaunch_host_cpu_seconds_total", "counter",
                   "Time of all processors, by what they did."},
    memory = {"mlaunch_host_memory_bytes", "gauge", "Memory of the host."},
    available = {"mlaunch_host_memory_available_bytes", "gauge",
                 "Memory that programs can still get."},
    load = {"mlaunch_host_load1", "gauge", "The load of the last minute."},
    uptime = {"mlaunch_host_uptime_seconds", "gauge", "Time since the host was started."},
    device_info = {"mlaunch_rdma_info", "gauge", "An RDMA device; always 1."},
    port_info = {"mlaunch_rdma_port_info", "gauge", "A port of an RDMA device; always 1."},
    state = {"mlaunch_rdma_port_state", "gauge",
             "State of the port: 1 down, 2 init, 3 armed, 4 active."},
    physical = {"mlaunch_rdma_port_physical_state", "gauge",
                "Physical state of the port: 2 polling, 3 disabled, 5 link up."},
    rate = {"mlaunch_rdma_port_rate_bytes_per_second", "gauge", "Speed of the port."},
    received = {"mlaunch_rdma_port_receive_bytes_total", "counter", "Bytes received by the port."},
    sent = {"mlaunch_rdma_port_transmit_bytes_total", "counter", "Bytes sent by the port."},
    packets_received = {"mlaunch_rdma_port_receive_packets_total", "counter",
                        "Packets received by the port."},
    packets_sent = {"mlaunch_rdma_port_transmit_packets_total", "counter",
                    "Packets sent by the port."},
    counters = {"mlaunch_rdma_hw_events_total", "counter",
                "Every counter of the driver, by its name in sysfs."},
    levels = {"mlaunch_rdma_hw_level", "gauge",
              "What the driver has among its counters and may fall, by its name in sysfs."};

/* Adds the number, if there is one. */
static void number_add(struct metric_page *p, const struct metric_family *family, json_t *object,
                       const char *key)
{
    const json_t *value = json_object_get(object, key);

    if (json_is_number(value))
        metric_page_add(p, family, json_number_value(value), NULL);
}

static void system_add(struct metric_page *p, json_t *said)
{
    json_t *system = json_object_get(said, "system"), *seconds;
    const char *mode;

    number_add(p, &cpus, system, "cores");
    json_object_foreach(json_object_get(said, "cpu_s"), mode, seconds)
    {
        metric_page_add(p, &cpu_seconds, json_number_value(seconds), "mode", mode, NULL);
    }
    number_add(p, &memory, system, "memory_bytes");
    number_add(p, &available, system, "memory_available_bytes");
    number_add(p, &load, system, "load");
    number_add(p, &uptime, system, "uptime_s");
}

static const struct metric_family *const port_families[] = {
    [PORT_COUNTER_RECEIVED] = &received,
    [PORT_COUNTER_SENT] = &sent,
    [PORT_COUNTER_PACKETS_RECEIVED] = &packets_received,
    [PORT_COUNTER_PACKETS_SENT] = &packets_sent};

static bool is_level(const char *name)
{
    return strncmp(name, "active_", 7) == 0 || strncmp(name, "watermark_", 10) == 0;
}

/* "lifespan" is a setting: for how long the driver keeps what it has read. */
static void counters_add(struct metric_page *p, const char *device, const char *port,
                         json_t *object)
{
    const char *name;
    json_t *value;

    for (int i = 0; i < PORT_COUNTERS && *port; i++) {
        double count;

        if (port_counter_read(object, (enum port_counter)i, &count))
            metric_page_add(p, port_families[i], count, "device", device, "port", port, NULL);
    }
    json_object_foreach(object, name, value)
    {
        if (json_is_integer(value) && json_integer_value(value) >= 0 &&
            strcmp(name, "lifespan") != 0)
            metric_page_add(p, is_level(name) ? &levels : &counters, json_number_value(value),
                            "device", device, "port", port, "counter", name, NULL);
    }
}

/* "4: ACTIVE" */
static void state_add(struct metric_page *p, const struct metric_family *family, json_t *port,
                      const char *key, const char *device)
{
    const char *text = object_field_text(port, key);
    char *end;
    long number = strtol(text, &end, 10);

    if (end != text && number >= 0)
        metric_page_add(p, family, (double)number, "device", device, "port",
                        object_field_text(port, "port"), NULL);
}

/* "100 Gb/sec (4X EDR)"; where the link is down some drivers say a negative number, or nothing. */
static void rate_add(struct metric_page *p, json_t *port, const char *device)
{
    const char *text = object_field_text(port, "rate");
    char *end;
    double gigabits = strtod(text, &end);

    if (end != text && isfinite(gigabits) && gigabits >= 0 && strncmp(end, " Gb/sec", 7) == 0)
        metric_page_add(p, &rate, gigabits * 125e6, "device", device, "port",
                        object_field_text(port, "port"), NULL);
}

static void port_add(struct metric_page *p, const char *device, json_t *port)
{
    const char *number = object_field_text(port, "port");

    if (!*number)
        return;
    metric_page_add(p, &port_info, 1, "device", device, "port", number, "link_layer",
                    object_field_text(port, "link_layer"), "interface",
                    object_field_text(port, "interface"), NULL);
    state_add(p, &state, port, "state", device);
    state_add(p, &physical, port, "physical", device);
    rate_add(p, port, device);
    counters_add(p, device, number, json_object_get(port, "counters"));
}

static void device_add(struct metric_page *p, json_t *device)
{
    const char *name = object_field_text(device, "name");
    json_t *port;
    size_t i;

    if (!*name)
        return;
    metric_page_add(p, &device_info, 1, "device", name, "driver",
                    object_field_text(device, "driver"), "board",
                    object_field_text(device, "board"), "firmware",
                    object_field_text(device, "firmware"), NULL);
    json_array_foreach(json_object_get(device, "ports"), i, port)
    {
        port_add(p, name, port);
    }
    counters_add(p, name, "", json_object_get(device, "counters"));
}

void metric_hosts_add(struct metric_page *p, json_t *said)
{
    json_t *device;
    size_t i;

    metric_page_add(p, &host_up, said != NULL, NULL);
    if (!said)
        return;
    if (*object_field_text(said, "version"))
        metric_page_add(p, &build, 1, "version", object_field_text(said, "version"), NULL);
    system_add(p, said);
    json_array_foreach(json_object_get(said, "devices"), i, device)
    {
        device_add(p, device);
    }
}
