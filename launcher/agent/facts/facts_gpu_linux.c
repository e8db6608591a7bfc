/* SPDX-License-Identifier: MIT */
#include "launcher/agent/facts/facts_gpu_linux.h"

#include "launcher/agent/facts/fact_file.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A list with a text for each GPU, of which equal ones that follow each other are shown once:
 * "mlx5_0 x 2, mlx5_1". */
struct run_list {
    char text[FACT_TEXT], last[FACT_TEXT];
    int count; /* how often `last` has come */
};

struct found_gpus {
    const char *root;
    int count;
    char maker[16];        /* the first one's */
    char first[FACT_TEXT]; /* "NVIDIA 2330" */
    char nodes[64];        /* memory nodes beside each: " 0 0 1 1", or "" */
    char driver[FACT_TEXT], version[FACT_TEXT];
    struct run_list nics, cores;
};

/* --- lists ------------------------------------------------------------------------------------ */

static void list_write(struct run_list *l)
{
    size_t used = strlen(l->text);

    if (l->count == 0)
        return;
    snprintf(l->text + used, sizeof(l->text) - used, "%s%s", used ? ", " : "", l->last);
    used = strlen(l->text);
    if (l->count > 1)
        snprintf(l->text + used, sizeof(l->text) - used, " x %d", l->count);
    l->count = 0;
}

static void list_add(struct run_list *l, const char *text)
{
    if (l->count > 0 && strcmp(l->last, text) != 0)
        list_write(l);
    snprintf(l->last, sizeof(l->last), "%s", text);
    l->count++;
}

/* --- what is near ----------------------------------------------------------------------------- */

/* A PCI device's place: "devices/pci0000:16/0000:16:01.0/0000:17:00.0", or "", and node. */
struct pci_place {
    char path[FACT_PATH];
    char node[FACT_TEXT];
};

static void place_find(struct pci_place *p, const char *root, const char *address)
{
    char path[FACT_PATH], target[FACT_PATH];
    const char *begin;
    ssize_t size;

    p->path[0] = '\0';
    fact_file_path(path, root, "/sys/bus/pci/devices/%s", address);
    size = readlink(path, target, sizeof(target) - 1);
    if (size <= 0)
        return;
    target[size] = '\0';
    begin = strstr(target, "devices/");
    if (begin)
        snprintf(p->path, sizeof(p->path), "%s", begin);
}

/* How many parts two paths have in common. */
static int place_common(const struct pci_place *a, const struct pci_place *b)
{
    int count = 0;

    for (size_t i = 0; a->path[i] && a->path[i] == b->path[i]; i++)
        count += a->path[i] == '/';
    return count;
}

struct nearest_nics {
    const char *root;
    struct pci_place gpu;
    char names[FACT_TEXT]; /* equally near ones: "mlx5_0+mlx5_1" */
    int best;
    bool is_any;
};

/* Behind the same switch is nearer than at the same root, and that than at the same memory node. */
static int nic_nearness(const struct nearest_nics *n, const struct pci_place *nic)
{
    int common = place_common(&n->gpu, nic);
    bool has_node = strcmp(n->gpu.node, nic->node) == 0 && nic->node[0] && nic->node[0] != '-';

    return common > 1 ? 2 * common : has_node;
}

static void on_nic(const char *name, void *arg)
{
    struct nearest_nics *n = arg;
    struct pci_place nic = {.path = ""};
    char path[FACT_PATH], address[FACT_TEXT];
    size_t used = strlen(n->names);
    int nearness;

    n->is_any = true;
    fact_file_path(path, n->root, "/sys/class/infiniband/%s/device/numa_node", name);
    fact_file_line(path, nic.node);
    fact_file_path(path, n->root, "/sys/class/infiniband/%s/device", name);
    if (fact_file_link(path, address))
        place_find(&nic, n->root, address);
    nearness = nic_nearness(n, &nic);
    if (nearness == 0 || nearness < n->best)
        return;
    if (nearness > n->best)
        used = 0;
    n->best = nearness;
    snprintf(n->names + used, sizeof(n->names) - used, "%s%.60s", used ? "+" : "", name);
}

static void near_add(struct found_gpus *g, const char *address)
{
    struct nearest_nics n = {.root = g->root};
    char path[FACT_PATH], cores[FACT_TEXT];

    fact_file_path(path, g->root, "/sys/bus/pci/devices/%s/numa_node", address);
    fact_file_line(path, n.gpu.node);
    place_find(&n.gpu, g->root, address);
    fact_file_path(path, g->root, "/sys/class/infiniband");
    fact_file_list(path, on_nic, &n);
    if (n.is_any)
        list_add(&g->nics, n.names[0] ? n.names : "none");
    fact_file_path(path, g->root, "/sys/bus/pci/devices/%s/local_cpulist", address);
    if (fact_file_line(path, cores))
        list_add(&g->cores, cores);
}

/* --- GPUs ------------------------------------------------------------------------------------- */

/* The maker's name if a device of that class is a GPU; NULL: it is none. A display adapter of
 * another maker is that of a server's console or of a virtual machine. */
static const char *gpu_maker(long class, long vendor)
{
    bool is_display = class >> 16 == 0x03, is_accelerator = class >> 8 == 0x1200;

    if (!is_display && !is_accelerator)
        return NULL;
    return vendor == 0x10de   ? "NVIDIA"
           : vendor == 0x1002 ? "AMD"
           : vendor == 0x8086 ? "Intel"
           : is_accelerator   ? "accelerator"
                              : NULL;
}

static long gpu_number(const struct found_gpus *g, const char *name, const char *file)
{
    char path[FACT_PATH], text[FACT_TEXT];

    fact_file_path(path, g->root, "/sys/bus/pci/devices/%s/%s", name, file);
    return fact_file_line(path, text) ? strtol(text, NULL, 16) : -1;
}

static void node_add(struct found_gpus *g, const char *name)
{
    char path[FACT_PATH], text[FACT_TEXT];
    size_t used = strlen(g->nodes);

    fact_file_path(path, g->root, "/sys/bus/pci/devices/%s/numa_node", name);
    if (fact_file_line(path, text) && text[0] >= '0' && text[0] <= '9' &&
        used + 8 < sizeof(g->nodes))
        snprintf(g->nodes + used, sizeof(g->nodes) - used, " %.5s", text);
}

static void on_pci_device(const char *name, void *arg)
{
    struct found_gpus *g = arg;
    const char *maker = gpu_maker(gpu_number(g, name, "class"), gpu_number(g, name, "vendor"));
    char path[FACT_PATH];

    if (!maker)
        return;
    node_add(g, name);
    near_add(g, name);
    if (g->count++ > 0)
        return;
    snprintf(g->maker, sizeof(g->maker), "%s", maker);
    snprintf(g->first, sizeof(g->first), "%s %04lx", maker, gpu_number(g, name, "device"));
    fact_file_path(path, g->root, "/sys/bus/pci/devices/%s/driver", name);
    if (!fact_file_link(path, g->driver))
        return;
    fact_file_path(path, g->root, "/sys/module/%s/version", g->driver);
    fact_file_line(path, g->version);
}

/* --- who may read them ------------------------------------------------------------------------ */

static bool kernel_is_before(const char *root, int major, int minor, char release[FACT_TEXT])
{
    char path[FACT_PATH], *end;
    long has_major, has_minor;

    fact_file_path(path, root, "/proc/sys/kernel/osrelease");
    if (!fact_file_line(path, release))
        return false;
    has_major = strtol(release, &end, 10);
    has_minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;
    return has_major < major || (has_major == major && has_minor < minor);
}

/* Linux 5.12 has RDMA devices read a dmabuf, and only NVIDIA's open module makes one of its
 * memory. */
static void dmabuf_add(json_t *out, const struct found_gpus *g)
{
    char path[FACT_PATH], text[FACT_TEXT], release[FACT_TEXT];

    if (strcmp(g->driver, "nvidia") != 0) {
        snprintf(text, sizeof(text), "no: the driver is %.60s",
                 g->driver[0] ? g->driver : "missing");
        fact_put_text(out, "gpu_dmabuf", text);
        return;
    }
    fact_file_path(path, g->root, "/proc/driver/nvidia/version");
    if (!fact_file_line(path, text))
        fact_put_text(out, "gpu_dmabuf", "unknown: /proc/driver/nvidia/version can't be read");
    else if (!strstr(text, "Open Kernel Module"))
        fact_put_text(out, "gpu_dmabuf", "no: nvidia is not the open kernel module");
    else if (kernel_is_before(g->root, 5, 12, release)) {
        snprintf(text, sizeof(text), "no: Linux is %.60s, not yet 5.12", release);
        fact_put_text(out, "gpu_dmabuf", text);
    } else
        fact_put_text(out, "gpu_dmabuf", "yes");
}

static void peermem_add(json_t *out, const struct found_gpus *g)
{
    static const char *const modules[] = {"nvidia_peermem", "nv_peer_mem"};
    char path[FACT_PATH];

    for (size_t i = 0; i < sizeof(modules) / sizeof(*modules); i++) {
        fact_file_path(path, g->root, "/sys/module/%s", modules[i]);
        if (access(path, F_OK) == 0) {
            fact_put_text(out, "gpu_peermem", "yes");
            return;
        }
    }
    fact_put_text(out, "gpu_peermem", "no: nvidia_peermem is not loaded");
}

void facts_gpu_add(json_t *out, const char *root)
{
    struct found_gpus g = {.root = root};
    char path[FACT_PATH];

    fact_file_path(path, root, "/sys/bus/pci/devices");
    fact_file_list(path, on_pci_device, &g);
    if (g.count == 0)
        return;
    snprintf(path, sizeof(path), "%d x %s%s%s", g.count, g.first, g.nodes[0] ? " at node" : "",
             g.nodes);
    fact_put_text(out, "gpus", path);
    snprintf(path, sizeof(path), "%.100s%s%.100s", g.driver, g.version[0] ? " " : "", g.version);
    fact_put_text(out, "gpu_driver", path);
    list_write(&g.nics);
    fact_put_text(out, "gpu_nics", g.nics.text);
    list_write(&g.cores);
    fact_put_text(out, "gpu_cores", g.cores.text);
    if (strcmp(g.maker, "NVIDIA") == 0) {
        dmabuf_add(out, &g);
        peermem_add(out, &g);
    }
}
