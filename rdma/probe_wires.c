/* SPDX-License-Identifier: MIT */
#include "rdma/probe_wires.h"

#include "rdma/describe.h"
#include "rdma/device.h"
#include "rdma/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    LOOK_MS = 5000,  /* for a device to say what it is */
    SLACK_MS = 1500, /* beyond the wait, to say what came of it */
    WAIT_MS = 5000,  /* unless the question says otherwise */
    TARGETS = 1024,
    QUESTION_MOST = 64 << 20,
    PORT_BITS = 16,
};

/* In a child: one device of this host. */
struct own {
    const char *name;
    struct wires *wires;
    struct wire_target targets[TARGETS];
    int count, groups;
    json_t *question, *tries;
};

/* A port of any host, out of the question. */
struct seen {
    int host;
    uint32_t id;
    const char *device;
    const json_t *port;
    int number, mtu;
    bool is_ethernet;
    struct gid gids[GID_MOST];
    int gid_count;
};

static int whole(const json_t *object, const char *key, int otherwise)
{
    const json_t *value = json_object_get(object, key);

    return json_is_integer(value) ? (int)json_integer_value(value) : otherwise;
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

/* --- who may be at the other end ---------------------------------------------------------------
 */

static bool port_see(struct seen *s, int host, uint32_t id, const json_t *device,
                     const json_t *port)
{
    if (!json_is_integer(json_object_get(port, "queue_pair")))
        return false;
    *s = (struct seen){.host = host,
                       .id = id,
                       .device = text_of(device, "name"),
                       .port = port,
                       .number = whole(port, "port", 0),
                       .mtu = whole(port, "active_mtu", 0),
                       .is_ethernet = strcmp(text_of(port, "link_layer"), "Ethernet") == 0};
    s->gid_count = describe_gids_read(json_object_get(port, "gids"), s->gids, GID_MOST);
    return true;
}

/* All ports of a host that can be tried. */
static struct seen *ports_see(const struct own *o, int host, int *count)
{
    json_t *devices = json_array_get(json_object_get(o->question, "hosts"), (size_t)host);
    json_t *device, *port;
    struct seen *list = NULL;
    uint32_t id = (uint32_t)host << PORT_BITS;
    size_t i, j;

    *count = 0;
    json_array_foreach(devices, i, device)
    {
        json_array_foreach(json_object_get(device, "ports"), j, port)
        {
            struct seen s, *more;

            if (!port_see(&s, host, id++, device, port))
                continue;
            more = realloc(list, ((size_t)*count + 1) * sizeof(*list));
            if (!more)
                return list;
            list = more;
            list[(*count)++] = s;
        }
    }
    return list;
}

static bool is_same_fabric(const struct seen *a, const struct seen *b)
{
    /* The upper half of an InfiniBand GID is its fabric's. */
    return a->gid_count > 0 && b->gid_count > 0 && memcmp(a->gids[0].raw, b->gids[0].raw, 8) == 0;
}

/* As gid_score; *x, *y: the GIDs to use. The same on both hosts. */
static int ports_score(const struct own *o, const struct seen *a, const struct seen *b,
                       struct gid *x, struct gid *y)
{
    int only = whole(o->question, "gid_index", -1), at = 0, peer_at = 0, score;
    bool is_low = a->host < b->host;
    struct gid_list mine = {a->gids, a->gid_count, only};
    struct gid_list theirs = {b->gids, b->gid_count, only};

    if (a->is_ethernet != b->is_ethernet)
        return 0;
    if (!a->is_ethernet)
        return is_same_fabric(a, b) ? GID_SHARED : 0;
    score = is_low ? gid_score(mine, theirs) : gid_score(theirs, mine);
    if (score == 0)
        return 0;
    if (is_low)
        gid_choose(mine, theirs, &at, &peer_at);
    else
        gid_choose(theirs, mine, &peer_at, &at);
    *x = a->gids[at];
    *y = b->gids[peer_at];
    return score;
}

static bool entry_has(const struct own *o, int from, int to, const char *device)
{
    json_t *row = json_array_get(json_object_get(o->question, "wiring"), (size_t)from);
    json_t *name;
    size_t i;

    json_array_foreach(json_array_get(row, (size_t)to), i, name)
    {
        if (strcmp(json_string_value(name) ? json_string_value(name) : "", device) == 0)
            return true;
    }
    return false;
}

/* Whether these two are waited for: as the hostfile says, or, where it says nothing, all. */
static bool is_wanted(const struct own *o, const struct seen *a, const struct seen *b)
{
    int port = whole(o->question, "port", 0);

    if (port && (a->number != port || b->number != port))
        return false;
    return !json_is_array(json_object_get(o->question, "wiring")) ||
           (entry_has(o, a->host, b->host, a->device) && entry_has(o, b->host, a->host, b->device));
}

static void target_add(struct own *o, const struct seen *a, const struct seen *b,
                       const struct gid *gids, bool is_shared, bool is_wanted)
{
    struct wire_target t = {.port = a->number,
                            .from = a->id,
                            .to = b->id,
                            .is_ethernet = a->is_ethernet,
                            .gid = gids[0],
                            .peer_gid = gids[1],
                            .lid = (uint16_t)whole(b->port, "lid", 0),
                            .number = (uint32_t)whole(b->port, "queue_pair", 0),
                            .mtu = a->mtu < b->mtu ? a->mtu : b->mtu,
                            .group = is_wanted ? o->groups : -1,
                            .host = b->host,
                            .row = o->count};
    int limit = whole(o->question, "mtu", 0);
    json_t *try;

    if (limit >= 256 && t.mtu > limit)
        t.mtu = limit;
    if (o->count == TARGETS || t.mtu < 256)
        return;
    try = json_pack("{s:i, s:i, s:s, s:i, s:i, s:b, s:b}", "port", a->number, "host", b->host,
                    "device", b->device, "peer_port", b->number, "mtu", t.mtu, "shared",
                    (int)is_shared, "wanted", (int)is_wanted);
    if (a->is_ethernet) {
        json_t *pair = describe_gids(gids, 2);

        json_object_set(try, "gid", json_array_get(pair, 0));
        json_object_set(try, "peer_gid", json_array_get(pair, 1));
        json_decref(pair);
    }
    json_array_append_new(o->tries, try);
    o->targets[o->count++] = t;
}

/* Whether any two ports of these hosts are in one subnet: then only such are tried. */
static bool any_shared(const struct own *o, const struct seen *a, int a_count, const struct seen *b,
                       int b_count)
{
    struct gid gids[2];

    for (int i = 0; i < a_count; i++)
        for (int j = 0; j < b_count; j++)
            if (ports_score(o, &a[i], &b[j], &gids[0], &gids[1]) >= GID_SHARED)
                return true;
    return false;
}

static void targets_find(struct own *o, int me, int other)
{
    bool has_wiring = json_is_array(json_object_get(o->question, "wiring"));
    int mine_count, theirs_count;
    struct seen *mine = ports_see(o, me, &mine_count);
    struct seen *theirs = ports_see(o, other, &theirs_count);
    bool shared = any_shared(o, mine, mine_count, theirs, theirs_count);

    for (int i = 0; i < mine_count; i++) {
        if (strcmp(mine[i].device, o->name) != 0)
            continue;
        for (int j = 0; j < theirs_count; j++) {
            struct gid gids[2];
            int score;
            bool wanted = is_wanted(o, &mine[i], &theirs[j]);

            memset(gids, 0, sizeof(gids));
            score = ports_score(o, &mine[i], &theirs[j], &gids[0], &gids[1]);
            if (score >= GID_SHARED || (score > 0 && (!shared || (has_wiring && wanted))))
                target_add(o, &mine[i], &theirs[j], gids, score >= GID_SHARED, wanted);
        }
        o->groups++;
    }
    free(mine);
    free(theirs);
}

/* --- in the child ------------------------------------------------------------------------------
 */

/* Each port that is up gets its queue pair. */
static void ports_open(struct own *o, struct ibv_context *context, json_t *report)
{
    struct fault why;
    json_t *port;
    size_t i;
    int rc = wires_open(&o->wires, context, o->name, &why);

    if (rc) {
        json_object_set_new(report, "error", json_string(why.text));
        return;
    }
    json_array_foreach(json_object_get(report, "ports"), i, port)
    {
        uint32_t number;

        if (!json_is_true(json_object_get(port, "is_active")))
            continue;
        if (wires_add_port(o->wires, whole(port, "port", 0), whole(port, "active_mtu", 0), &number,
                           &why) == 0)
            json_object_set_new(port, "queue_pair", json_integer(number));
        else
            json_object_set_new(port, "untried", json_string(why.text));
    }
}

/* A byte says that the question is in the file that all processes share. */
static json_t *question_read(int fd, int file)
{
    off_t size;
    char byte, *text;
    json_t *question;

    if (read(fd, &byte, 1) != 1)
        return NULL;
    size = lseek(file, 0, SEEK_END);
    text = size > 0 ? mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, file, 0) : MAP_FAILED;
    if (text == MAP_FAILED)
        return NULL;
    question = json_loadb(text, (size_t)size, 0, NULL);
    munmap(text, (size_t)size);
    return question;
}

static void tries_say(const struct own *o, int fd)
{
    json_t *answer;

    for (int i = 0; i < o->count; i++) {
        const struct wire_target *t = &o->targets[i];
        json_t *try = json_array_get(o->tries, (size_t)t->row);
        int error = __atomic_load_n(&t->error, __ATOMIC_ACQUIRE);

        json_object_set_new(try, "carries", json_boolean(wire_is_linked(t)));
        json_object_set_new(try, "whole", json_boolean(wire_is_whole(t)));
        if (error)
            json_object_set_new(try, "error", json_string(strerror(error)));
    }
    answer = json_pack("{s:O}", "tries", o->tries);
    probe_child_say(fd, answer);
    json_decref(answer);
}

struct child_arg {
    const struct probe_choice *choice;
    bool is_named;
    int file; /* where the question will be */
};

static void child_run(const char *name, int fd, const void *arg)
{
    static struct own o;
    const struct child_arg *a = arg;
    json_t *report = a->is_named ? probe_check(name, a->choice) : NULL;
    struct ibv_context *context = NULL;
    struct fault why;
    int me, hosts;

    o = (struct own){.name = name, .tries = json_array()};
    if (!json_object_get(report, "error")) {
        json_decref(report);
        report = device_open(&context, name, &why) ? json_pack("{s:s}", "error", why.text)
                                                   : describe_device(context);
        if (context)
            ports_open(&o, context, report);
    }
    probe_child_say(fd, report);
    o.question = question_read(fd, a->file);
    me = whole(o.question, "host", -1);
    hosts = (int)json_array_size(json_object_get(o.question, "hosts"));
    for (int i = 0; i < hosts && me >= 0 && o.wires; i++)
        if (i != me)
            targets_find(&o, me, i);
    if (o.wires)
        wires_run(o.wires, o.targets, o.count,
                  (uint64_t)json_integer_value(json_object_get(o.question, "tag")),
                  whole(o.question, "wait_ms", WAIT_MS), fd);
    tries_say(&o, fd);
    /* The other ends may not be through yet. */
    if (o.wires && o.count > 0)
        wires_run(o.wires, o.targets, o.count,
                  (uint64_t)json_integer_value(json_object_get(o.question, "tag")), -1, fd);
    _exit(0); /* the kernel is quicker than we at taking all of it back */
}

/* --- in the parent -----------------------------------------------------------------------------
 */

static void answers_say(struct probe_child *children, int count, int deadline_ms)
{
    json_t *list = json_array(), *root;

    probe_children_gather(children, count, deadline_ms);
    for (int i = 0; i < count; i++)
        json_array_append_new(list, probe_child_answer(&children[i], deadline_ms));
    root = json_pack("{s:o}", "devices", list);
    json_dumpf(root, stdout, JSON_COMPACT);
    putchar('\n');
    fflush(stdout);
    json_decref(root);
}

/* The next line of stdin into the file; false: there is none. *wait_ms: for how long it lets try. */
static bool question_take(int file, int *wait_ms)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t size = getline(&line, &room, stdin);
    json_t *question =
        size > 0 && size < QUESTION_MOST ? json_loadb(line, (size_t)size, 0, NULL) : NULL;
    bool good = question && write(file, line, (size_t)size) == size;

    *wait_ms = whole(question, "wait_ms", WAIT_MS);
    json_decref(question);
    free(line);
    return good;
}

int probe_wires(struct probe_child *children, int named, int count, const struct probe_choice *c)
{
    struct child_arg arg = {.choice = c, .file = memfd_create("question", MFD_CLOEXEC)};
    int wait_ms;

    if (arg.file < 0) {
        fprintf(stderr, "mlaunch-probe: memfd_create: %s\n", strerror(errno));
        return 1;
    }
    for (int i = 0; i < count; i++) {
        arg.is_named = i < named;
        probe_child_start(&children[i], child_run, &arg);
    }
    answers_say(children, count, LOOK_MS);
    if (question_take(arg.file, &wait_ms)) {
        for (int i = 0; i < count; i++)
            if (children[i].fd >= 0 && write(children[i].fd, "?", 1) != 1)
                continue; /* its answer will be missing */
        answers_say(children, count, wait_ms + SLACK_MS);
        while (getchar() != EOF)
            ; /* the children help the other hosts meanwhile */
    }
    for (int i = 0; i < count; i++)
        probe_child_end(&children[i]);
    close(arg.file);
    return 0;
}
