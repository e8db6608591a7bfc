/* SPDX-License-Identifier: MIT */
#include "tests/unit/rdma/mock_verbs.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

enum { DEVICES = 8, CONTEXTS = 32, COMPLETIONS = 256, FIRST_PAIR = 100, DEVICE_GIDS = MOCK_PORTS };
enum { REGIONS = 64, FIRST_KEY = 1000, HELD = 64 };

struct context {
    struct ibv_context verbs; /* first */
    const struct mock_device *device;
    struct ibv_async_event event;
};
struct completions {
    struct ibv_cq verbs; /* first */
    struct ibv_wc done[COMPLETIONS];
    int count;
};
struct held {
    struct ibv_send_wr work;
    struct ibv_sge piece;
};
struct pair {
    struct ibv_qp verbs; /* first */
    enum ibv_qp_state state;
    struct held held[HELD];
    int held_count;
};
struct mock_region {
    struct ibv_mr verbs; /* first */
    int access;
    bool is_gpu; /* by a dma-buf */
};

static const struct mock_device *devices;
static struct ibv_device handles[DEVICES];
static struct context *contexts[CONTEXTS];
static struct pair *pairs[MOCK_PAIRS];
static struct ibv_qp_attr paths[MOCK_PAIRS];
static struct mock_region *regions[REGIONS];
static int pair_count, open_count, refuse_list, refuse_open, refuse_port, refuse_memory;
static int region_count, write_count, read_count;
static int refuse_remote, refuse_dmabuf, last_dmabuf, registration_count;
static uint64_t last_offset;
static const char *held_device; /* the one whose work is kept, or NULL */

void mock_verbs_begin(const struct mock_device *list)
{
    devices = list;
    pair_count = open_count = refuse_list = refuse_open = refuse_port = refuse_memory = 0;
    region_count = write_count = read_count = 0;
    refuse_remote = refuse_dmabuf = registration_count = 0;
    held_device = NULL;
    memset(regions, 0, sizeof(regions));
    memset(pairs, 0, sizeof(pairs));
    memset(contexts, 0, sizeof(contexts));
}

int mock_verbs_end(void **state)
{
    (void)state;
    assert_int_equal(open_count, 0);
    return 0;
}

void mock_verbs_refuse(int list, int open, int port)
{
    refuse_list = list;
    refuse_open = open;
    refuse_port = port;
}

void mock_verbs_refuse_memory(int err)
{
    refuse_memory = err;
}

void mock_verbs_refuse_remote(int err)
{
    refuse_remote = err;
}

void mock_verbs_refuse_dmabuf(int err)
{
    refuse_dmabuf = err;
}

const struct ibv_qp_attr *mock_verbs_path(uint32_t number)
{
    assert_in_range(number, FIRST_PAIR, FIRST_PAIR + pair_count - 1);
    return &paths[number - FIRST_PAIR];
}

static void *take(size_t size)
{
    void *p = calloc(1, size);

    assert_non_null(p);
    open_count++;
    return p;
}

static int give(void *p)
{
    assert_non_null(p);
    open_count--;
    free(p);
    return 0;
}

static struct context *context_of(struct ibv_context *c)
{
    return (struct context *)c;
}

static const struct mock_port *port_of(struct ibv_context *c, int number)
{
    assert_in_range(number, 1, MOCK_PORTS);
    return &context_of(c)->device->ports[number - 1];
}

/* --- devices ---------------------------------------------------------------------------------- */

#undef ibv_get_device_list
struct ibv_device **ibv_get_device_list(int *count)
{
    struct ibv_device **list;

    if (refuse_list) {
        errno = refuse_list;
        return NULL;
    }
    list = take((DEVICES + 1) * sizeof(*list));
    for (int i = 0; devices[i].name; i++) {
        snprintf(handles[i].name, sizeof(handles[i].name), "%s", devices[i].name);
        snprintf(handles[i].dev_name, sizeof(handles[i].dev_name), "not-there%d", i);
        list[i] = &handles[i];
    }
    if (count)
        *count = 0;
    return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
    give(list);
}

const char *ibv_get_device_name(struct ibv_device *device)
{
    return device->name;
}

int ibv_fork_init(void)
{
    return 0;
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *work, struct ibv_send_wr **bad);
static int post_receive(struct ibv_qp *qp, struct ibv_recv_wr *work, struct ibv_recv_wr **bad);
static int poll_completions(struct ibv_cq *cq, int most, struct ibv_wc *out);
static int notify(struct ibv_cq *cq, int solicited);

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
    struct context *c;
    int i = 0;

    if (refuse_open) {
        errno = refuse_open;
        return NULL;
    }
    c = take(sizeof(*c));
    c->device = &devices[device - handles];
    c->verbs.async_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    c->verbs.ops.post_send = post_send;
    c->verbs.ops.post_recv = post_receive;
    c->verbs.ops.poll_cq = poll_completions;
    c->verbs.ops.req_notify_cq = notify;
    while (contexts[i])
        i++;
    contexts[i] = c;
    return &c->verbs;
}

int ibv_close_device(struct ibv_context *context)
{
    for (int i = 0; i < CONTEXTS; i++)
        if (contexts[i] == context_of(context))
            contexts[i] = NULL;
    close(context->async_fd);
    return give(context);
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *out)
{
    memset(out, 0, sizeof(*out));
    out->phys_port_cnt = MOCK_PORTS;
    out->atomic_cap =
        context_of(context)->device->lacks == MOCK_NO_ATOMICS ? IBV_ATOMIC_NONE : IBV_ATOMIC_HCA;
    out->max_qp_rd_atom = out->max_qp_init_rd_atom = MOCK_READS;
    return 0;
}

#undef ibv_query_port
int ibv_query_port(struct ibv_context *context, uint8_t number, struct _compat_ibv_port_attr *out)
{
    struct ibv_port_attr *attr = (struct ibv_port_attr *)out;
    const struct mock_port *p = port_of(context, number);

    attr->state = p->state;
    attr->link_layer = p->link_layer;
    attr->active_mtu = p->mtu;
    attr->lid = (uint16_t)(10 + number);
    return refuse_port;
}

const char *ibv_port_state_str(enum ibv_port_state state)
{
    return state == IBV_PORT_ACTIVE ? "active" : "down";
}

/* The GIDs of all ports in one table; the index of a port's GID is the port's number. */
ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
                             size_t most, uint32_t flags, size_t size)
{
    (void)flags;
    assert_true(most >= DEVICE_GIDS && size == sizeof(*entries));
    for (uint32_t i = 0; i < MOCK_PORTS; i++) {
        const struct mock_port *p = port_of(context, (int)i + 1);

        memset(&entries[i], 0, sizeof(*entries));
        entries[i].port_num = entries[i].gid_index = i + 1;
        entries[i].gid_type =
            p->link_layer == IBV_LINK_LAYER_ETHERNET ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_IB;
        assert_int_equal(inet_pton(AF_INET6, p->gid, entries[i].gid.raw), 1);
    }
    return MOCK_PORTS;
}

/* The system's addresses: the IPv4 addresses of the ports, each in a /24. */
int getifaddrs(struct ifaddrs **out)
{
    static const uint8_t bits[] = {255, 255, 255, 0}, mapped[] = {0xff, 0xff};
    static struct {
        struct ifaddrs entry;
        struct sockaddr_in address, mask;
    } all[DEVICES * MOCK_PORTS];
    int count = 0;

    *out = NULL;
    for (int i = 0; i < DEVICES * MOCK_PORTS && devices[i / MOCK_PORTS].name; i++) {
        const char *text = devices[i / MOCK_PORTS].ports[i % MOCK_PORTS].gid;
        uint8_t gid[16];

        if (inet_pton(AF_INET6, text, gid) != 1 || memcmp(gid + 10, mapped, sizeof(mapped)) != 0)
            continue;
        all[count].address.sin_family = all[count].mask.sin_family = AF_INET;
        memcpy(&all[count].address.sin_addr, gid + 12, 4);
        memcpy(&all[count].mask.sin_addr, bits, sizeof(bits));
        all[count].entry = (struct ifaddrs){.ifa_next = *out,
                                            .ifa_addr = (struct sockaddr *)&all[count].address,
                                            .ifa_netmask = (struct sockaddr *)&all[count].mask};
        *out = &all[count++].entry;
    }
    return 0;
}

void freeifaddrs(struct ifaddrs *list)
{
    (void)list;
}

/* --- objects of a device -------------------------------------------------------------------- */

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
    struct ibv_pd *pd = take(sizeof(*pd));

    pd->context = context;
    return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
    return give(pd);
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
    struct ibv_comp_channel *channel = take(sizeof(*channel));

    channel->context = context;
    channel->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
    close(channel->fd);
    return give(channel);
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int depth, void *arg,
                             struct ibv_comp_channel *channel, int vector)
{
    struct completions *c = take(sizeof(*c));

    (void)arg;
    (void)vector;
    assert_true(depth <= COMPLETIONS);
    c->verbs.context = context;
    c->verbs.channel = channel;
    return &c->verbs;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
    return give(cq);
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **arg)
{
    (void)channel;
    (void)cq;
    (void)arg;
    errno = EAGAIN;
    return -1;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int count)
{
    (void)cq;
    assert_int_equal(count, 0);
}

static int notify(struct ibv_cq *cq, int solicited)
{
    (void)cq;
    (void)solicited;
    return 0;
}

static struct ibv_mr *region_make(struct ibv_pd *pd, void *address, size_t size, int access,
                                  int refuse)
{
    struct mock_region *m;
    int i = 0;

    registration_count++;
    if (refuse) {
        errno = refuse;
        return NULL;
    }
    m = take(sizeof(*m));
    m->access = access;
    m->verbs.pd = pd;
    m->verbs.addr = address;
    m->verbs.length = size;
    m->verbs.lkey = m->verbs.rkey = (uint32_t)(FIRST_KEY + region_count++);
    while (regions[i])
        i++;
    assert_true(i < REGIONS);
    regions[i] = m;
    return &m->verbs;
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *address, size_t size, int access)
{
    bool is_refused = refuse_remote && access & IBV_ACCESS_REMOTE_WRITE;

    return region_make(pd, address, size, access, is_refused ? refuse_remote : refuse_memory);
}

/* Looked up by name, so only programs that are linked with -rdynamic have it. */
__attribute__((visibility("default"))) struct ibv_mr *
ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t size, uint64_t address, int dmabuf,
                  int access)
{
    void *at = (void *)(uintptr_t)address; /* NOLINT: as a real device does */
    struct ibv_mr *made = region_make(pd, at, size, access, refuse_dmabuf);

    last_dmabuf = dmabuf;
    last_offset = offset;
    if (made)
        ((struct mock_region *)made)->is_gpu = true;
    return made;
}

int mock_verbs_dmabuf(uint64_t *offset)
{
    *offset = last_offset;
    return last_dmabuf;
}

int mock_verbs_registrations(void)
{
    return registration_count;
}

int mock_verbs_regions(void)
{
    int count = 0;

    for (int i = 0; i < REGIONS; i++)
        count += regions[i] != NULL;
    return count;
}

int ibv_dereg_mr(struct ibv_mr *m)
{
    for (int i = 0; i < REGIONS; i++)
        if (regions[i] == (struct mock_region *)m)
            regions[i] = NULL;
    return give(m);
}

/* True if `size` bytes at `address` may be used in that way, with that key, in that domain. */
static bool may_use(const struct ibv_pd *pd, uint32_t key, uint64_t address, uint32_t size,
                    int access)
{
    for (int i = 0; i < REGIONS; i++) {
        const struct mock_region *m = regions[i];

        if (m && m->verbs.lkey == key && m->verbs.pd == pd)
            return (m->access & access) == access && address >= (uintptr_t)m->verbs.addr &&
                   address + size <= (uintptr_t)m->verbs.addr + m->verbs.length;
    }
    return false;
}

/* The processor copies what is sent inline, and would end by a fault there. */
static bool is_gpu(const void *at)
{
    for (int i = 0; i < REGIONS; i++) {
        const struct mock_region *m = regions[i];

        if (m && m->is_gpu && (uintptr_t)at >= (uintptr_t)m->verbs.addr &&
            (uintptr_t)at < (uintptr_t)m->verbs.addr + m->verbs.length)
            return true;
    }
    return false;
}

static void complete(struct ibv_cq *cq, struct ibv_wc done)
{
    struct completions *c = (struct completions *)cq;

    assert_true(c->count < COMPLETIONS);
    c->done[c->count++] = done;
}

static void held_end(struct pair *p, enum ibv_wc_status first)
{
    for (int i = 0; i < p->held_count; i++)
        complete(p->verbs.send_cq, (struct ibv_wc){.status = i ? IBV_WC_WR_FLUSH_ERR : first,
                                                   .wr_id = p->held[i].work.wr_id});
    p->held_count = 0;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
    struct pair *p;

    if (attr->qp_type == IBV_QPT_RC && context_of(pd->context)->device->lacks == MOCK_NO_RC) {
        errno = EOPNOTSUPP;
        return NULL;
    }
    assert_true(pair_count < MOCK_PAIRS);
    p = take(sizeof(*p));
    p->verbs.context = pd->context;
    p->verbs.pd = pd;
    p->verbs.send_cq = attr->send_cq;
    p->verbs.recv_cq = attr->recv_cq;
    p->verbs.qp_num = (uint32_t)(FIRST_PAIR + pair_count);
    pairs[pair_count++] = p;
    return &p->verbs;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    struct pair *p = (struct pair *)qp;
    struct ibv_qp_attr *t = &paths[qp->qp_num - FIRST_PAIR];

    if (mask & IBV_QP_PORT)
        t->port_num = attr->port_num;
    if (mask & IBV_QP_AV) {
        t->ah_attr = attr->ah_attr;
        t->dest_qp_num = attr->dest_qp_num;
        t->path_mtu = attr->path_mtu;
    }
    if (mask & IBV_QP_MAX_QP_RD_ATOMIC)
        t->max_rd_atomic = attr->max_rd_atomic;
    if (mask & IBV_QP_ACCESS_FLAGS)
        t->qp_access_flags = attr->qp_access_flags;
    p->state = attr->qp_state;
    if (p->state == IBV_QPS_ERR)
        held_end(p, IBV_WC_WR_FLUSH_ERR);
    return 0;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
    pairs[qp->qp_num - FIRST_PAIR] = NULL;
    return give(qp);
}

/* --- traffic ---------------------------------------------------------------------------------- */

static bool is_atomic(const struct ibv_send_wr *work)
{
    return work->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || work->opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
}

static enum ibv_wc_status change(struct pair *p, struct pair *peer, const struct ibv_send_wr *work,
                                 const struct ibv_sge *piece)
{
    int path = (int)peer->verbs.qp_num - FIRST_PAIR;
    uint64_t *there = (uint64_t *)(uintptr_t)work->wr.atomic.remote_addr; /* NOLINT: as a device */
    uint64_t *here = (uint64_t *)(uintptr_t)piece->addr;                  /* NOLINT */
    bool adds = work->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;

    assert_int_equal(piece->length, sizeof(*there));
    assert_true(may_use(p->verbs.pd, piece->lkey, piece->addr, 8, IBV_ACCESS_LOCAL_WRITE));
    assert_true(paths[path].qp_access_flags & IBV_ACCESS_REMOTE_ATOMIC);
    if (work->wr.atomic.remote_addr % sizeof(*there) != 0 ||
        !may_use(peer->verbs.pd, work->wr.atomic.rkey, work->wr.atomic.remote_addr, 8,
                 IBV_ACCESS_REMOTE_ATOMIC))
        return IBV_WC_REM_ACCESS_ERR;
    *here = *there;
    if (adds)
        *there += work->wr.atomic.compare_add;
    else if (*there == work->wr.atomic.compare_add)
        *there = work->wr.atomic.swap;
    return IBV_WC_SUCCESS;
}

/* The other end must be set up. With wrong cables it may be any queue pair. */
static enum ibv_wc_status carry_out(struct pair *p, const struct ibv_send_wr *work,
                                    const struct ibv_sge *piece)
{
    struct ibv_qp_attr *path = &paths[p->verbs.qp_num - FIRST_PAIR];
    struct pair *peer = pairs[path->dest_qp_num - FIRST_PAIR];
    uint32_t size = work->num_sge ? piece->length : 0;
    bool is_read = work->opcode == IBV_WR_RDMA_READ;
    int access = is_read ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE;
    void *there = (void *)(uintptr_t)work->wr.rdma.remote_addr; /* NOLINT: as a real device does */
    void *here = (void *)(uintptr_t)piece->addr;                /* NOLINT */

    assert_non_null(peer);
    assert_true(peer->state == IBV_QPS_RTS);
    if (is_atomic(work))
        return change(p, peer, work, piece);
    assert_false(size && work->send_flags & IBV_SEND_INLINE && is_gpu(here));
    if (size && !(work->send_flags & IBV_SEND_INLINE))
        assert_true(may_use(p->verbs.pd, piece->lkey, piece->addr, size,
                            is_read ? IBV_ACCESS_LOCAL_WRITE : 0));
    if (size &&
        !may_use(peer->verbs.pd, work->wr.rdma.rkey, work->wr.rdma.remote_addr, size, access))
        return IBV_WC_REM_ACCESS_ERR;
    if (is_read) {
        assert_true(paths[peer->verbs.qp_num - FIRST_PAIR].qp_access_flags & access);
        memcpy(here, there, size);
        read_count++;
        return IBV_WC_SUCCESS;
    }
    if (size)
        memcpy(there, here, size);
    write_count++;
    if (work->opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
        complete(peer->verbs.recv_cq, (struct ibv_wc){.status = IBV_WC_SUCCESS,
                                                      .imm_data = work->imm_data,
                                                      .byte_len = size});
    return IBV_WC_SUCCESS;
}

static void held_add(struct pair *p, const struct ibv_send_wr *work)
{
    int reads = 0;

    assert_true(p->held_count < HELD);
    p->held[p->held_count].work = *work;
    if (work->num_sge)
        p->held[p->held_count].piece = *work->sg_list;
    p->held_count++;
    for (int i = 0; i < p->held_count; i++)
        reads += p->held[i].work.opcode == IBV_WR_RDMA_READ || is_atomic(&p->held[i].work);
    assert_true(reads <= paths[p->verbs.qp_num - FIRST_PAIR].max_rd_atomic);
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *work, struct ibv_send_wr **bad)
{
    struct pair *p = (struct pair *)qp;
    enum ibv_wc_status status;

    (void)bad;
    if (held_device && p->state == IBV_QPS_RTS &&
        strcmp(held_device, context_of(qp->context)->device->name) == 0) {
        held_add(p, work);
        return 0;
    }
    status = p->state == IBV_QPS_ERR ? IBV_WC_WR_FLUSH_ERR : carry_out(p, work, work->sg_list);
    complete(qp->send_cq, (struct ibv_wc){.status = status, .wr_id = work->wr_id});
    return 0;
}

static bool is_pair_of(const struct pair *p, const char *device)
{
    return p && strcmp(context_of(p->verbs.context)->device->name, device) == 0;
}

void mock_verbs_hold(const char *device)
{
    held_device = device;
}

void mock_verbs_release(const char *device)
{
    held_device = NULL;
    for (int k = 0; k < pair_count; k++) {
        struct pair *p = pairs[k];

        if (!is_pair_of(p, device))
            continue;
        for (int i = 0; i < p->held_count; i++) {
            struct held *h = &p->held[i];

            complete(p->verbs.send_cq, (struct ibv_wc){.status = carry_out(p, &h->work, &h->piece),
                                                       .wr_id = h->work.wr_id});
        }
        p->held_count = 0;
    }
}

void mock_verbs_cut(const char *device)
{
    for (int k = 0; k < pair_count; k++)
        if (is_pair_of(pairs[k], device))
            held_end(pairs[k], IBV_WC_RETRY_EXC_ERR);
}

int mock_verbs_writes(void)
{
    return write_count;
}

int mock_verbs_reads(void)
{
    return read_count;
}

static int post_receive(struct ibv_qp *qp, struct ibv_recv_wr *work, struct ibv_recv_wr **bad)
{
    (void)qp;
    (void)work;
    (void)bad;
    return 0;
}

static int poll_completions(struct ibv_cq *cq, int most, struct ibv_wc *out)
{
    struct completions *c = (struct completions *)cq;
    int count = c->count < most ? c->count : most;

    memcpy(out, c->done, (size_t)count * sizeof(*out));
    c->count -= count;
    memmove(c->done, c->done + count, (size_t)c->count * sizeof(*out));
    return count;
}

const char *ibv_wc_status_str(enum ibv_wc_status status)
{
    return status == IBV_WC_SUCCESS ? "success" : "an error";
}

/* --- events ----------------------------------------------------------------------------------- */

void mock_verbs_event(const char *device, enum ibv_event_type type, int port)
{
    for (int i = 0; i < CONTEXTS; i++) {
        if (!contexts[i] || strcmp(contexts[i]->device->name, device) != 0)
            continue;
        contexts[i]->event =
            (struct ibv_async_event){.element = {.port_num = port}, .event_type = type};
        assert_int_equal(eventfd_write(contexts[i]->verbs.async_fd, 1), 0);
    }
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *out)
{
    struct context *c = context_of(context);

    eventfd_t count;

    if (eventfd_read(context->async_fd, &count))
        return -1;
    *out = c->event;
    return 0;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
    (void)event;
}
