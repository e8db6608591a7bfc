/* SPDX-License-Identifier: MIT */
/*
 * diagonal.c: each request of verbs once, and each way in which one fails, between two hosts. Both
 * print what they see: every completion of every queue pair, its state, a hash of its memory. So
 * the same program on two kinds of devices says where they differ (diagonal.t).
 *
 *     diagonal DEVICE PORT                       on one host, first
 *     diagonal DEVICE PORT HOST COMMAND…         on the other: the commands cut the cable between
 *                                                them, mend it, take this port down and up
 *
 * Each scene has a queue pair of its own at both ends. The server posts, the client posts when it
 * has, and both wait for as many completions as the scene has there.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    PORT = 1,
    GID = 1, /* IPv4 over RoCE v2, with Soft-RoCE and here */
    SIZE = 1 << 21,
    LONG = (1 << 20) + 1,
    QKEY = 0x11111111,
    GRH = 40,
    DEPTH = 16,
    STOPPED_MS = 3000,
};

/* What one end must know of the other. */
struct end {
    union ibv_gid gid;
    uint64_t address;
    uint32_t qp, psn, rkey;
};

static struct {
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_comp_channel *channel;
    struct ibv_mr *mr;
    unsigned char *memory;
    union ibv_gid gid;
    int peer, stopper; /* connections; the stopper's other end stops this process's peer */
    char **commands;   /* the client's; NULL: this is the server */
} me;

struct pair {
    enum ibv_qp_type type;
    struct ibv_cq *cq;
    struct ibv_srq *srq;
    struct ibv_qp *qp;
    struct ibv_ah *ah;
    struct end other;
};

static void __attribute__((format(printf, 1, 2), noreturn)) fail(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fputs("diagonal: ", stderr);
    vfprintf(stderr, format, args);
    fprintf(stderr, " (%s)\n", strerror(errno));
    va_end(args);
    exit(1);
}

/* --- the other host --------------------------------------------------------------------------- */

static void bytes_exchange(int fd, const void *mine, void *theirs, size_t size)
{
    size_t have = 0;

    if (send(fd, mine, size, MSG_NOSIGNAL) != (ssize_t)size)
        fail("cannot send to the other host");
    while (have < size) {
        ssize_t n = recv(fd, (char *)theirs + have, size - have, 0);

        if (n <= 0)
            fail("the other host has ended");
        have += (size_t)n;
    }
}

static void meet(void)
{
    char mine = 1, theirs;

    bytes_exchange(me.peer, &mine, &theirs, 1);
}

static int connection_take(int listener)
{
    int fd = accept(listener, NULL, NULL);

    if (fd < 0)
        fail("cannot take a connection");
    return fd;
}

static int connection_make(const char *host, const char *port)
{
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *at;
    int fd;

    if (getaddrinfo(host, port, &hints, &at))
        fail("there is no host %s", host);
    fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, at->ai_addr, at->ai_addrlen))
        fail("cannot connect to %s", host);
    freeaddrinfo(at);
    return fd;
}

/* A child that stops its parent when the client says so, and lets it go on. */
static void stopper_run(int fd)
{
    pid_t parent = getppid();
    char byte = 0;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (recv(fd, &byte, 1, 0) == 1) {
        kill(parent, byte == 's' ? SIGSTOP : SIGCONT);
        send(fd, &byte, 1, MSG_NOSIGNAL);
    }
    _exit(0);
}

static void server_meet(const char *port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
    int listener = socket(AF_INET, SOCK_STREAM, 0), yes = 1;

    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (bind(listener, (struct sockaddr *)&at, sizeof(at)) || listen(listener, 2))
        fail("cannot listen at port %s", port);
    puts("the server listens");
    fflush(stdout);
    me.peer = connection_take(listener);
    me.stopper = connection_take(listener);
    if (fork() == 0)
        stopper_run(me.stopper);
    close(me.stopper);
    close(listener);
}

static void peer_signal(char which)
{
    char answer;

    bytes_exchange(me.stopper, &which, &answer, 1);
}

/* --- queue pairs ------------------------------------------------------------------------------ */

static void device_open(const char *name)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                 IBV_ACCESS_REMOTE_ATOMIC;

    for (int i = 0; list && list[i]; i++)
        if (strcmp(ibv_get_device_name(list[i]), name) == 0)
            me.context = ibv_open_device(list[i]);
    ibv_free_device_list(list);
    if (!me.context)
        fail("cannot open %s", name);
    me.pd = ibv_alloc_pd(me.context);
    me.channel = ibv_create_comp_channel(me.context);
    me.memory = aligned_alloc(4096, SIZE);
    memset(me.memory, 0, SIZE);
    me.mr = ibv_reg_mr(me.pd, me.memory, SIZE, access);
    if (!me.pd || !me.channel || !me.mr || ibv_query_gid(me.context, PORT, GID, &me.gid))
        fail("cannot prepare %s", name);
}

static void to_init(struct pair *p)
{
    struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = PORT, .qkey = QKEY};
    int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

    if (p->type == IBV_QPT_RC)
        a.qp_access_flags =
            IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    else if (p->type == IBV_QPT_UC)
        a.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    mask |= p->type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
    if (ibv_modify_qp(p->qp, &a, mask))
        fail("a queue pair does not become INIT");
}

static struct ibv_ah_attr way_to(const struct end *other)
{
    return (struct ibv_ah_attr){
        .is_global = 1,
        .port_num = PORT,
        .grh = {.dgid = other->gid, .sgid_index = GID, .hop_limit = 64},
    };
}

static void to_rtr(struct pair *p)
{
    struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTR,
                            .ah_attr = way_to(&p->other),
                            .path_mtu = IBV_MTU_1024,
                            .dest_qp_num = p->other.qp,
                            .rq_psn = p->other.psn,
                            .max_dest_rd_atomic = 1,
                            .min_rnr_timer = 12};
    int mask = IBV_QP_STATE;

    if (p->type != IBV_QPT_UD)
        mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    if (p->type == IBV_QPT_RC)
        mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    if (ibv_modify_qp(p->qp, &a, mask))
        fail("a queue pair does not become RTR");
}

/* A request is given up after 7 times 0.27 s. */
static void to_rts(struct pair *p, uint32_t psn)
{
    struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTS,
                            .sq_psn = psn,
                            .timeout = 16,
                            .retry_cnt = 6, /* 7 would be for ever with Soft-RoCE */
                            .rnr_retry = 1,
                            .max_rd_atomic = 1};
    int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

    if (p->type == IBV_QPT_RC)
        mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    if (ibv_modify_qp(p->qp, &a, mask))
        fail("a queue pair does not become RTS");
}

static void pair_open(struct pair *p, bool is_shared)
{
    struct ibv_srq_init_attr shared = {.attr = {.max_wr = DEPTH, .max_sge = 2}};
    struct ibv_qp_init_attr init = {.qp_type = p->type,
                                    .cap = {.max_send_wr = DEPTH,
                                            .max_recv_wr = DEPTH,
                                            .max_send_sge = 2,
                                            .max_recv_sge = 2,
                                            .max_inline_data = 64}};
    struct end mine = {.gid = me.gid,
                       .address = (uintptr_t)me.memory,
                       .psn = 0xfffffe, /* numbers wrap within the scene */
                       .rkey = me.mr->rkey};

    p->cq = ibv_create_cq(me.context, 2 * DEPTH, NULL, me.channel, 0);
    p->srq = is_shared ? ibv_create_srq(me.pd, &shared) : NULL;
    init.send_cq = init.recv_cq = p->cq;
    init.srq = p->srq;
    p->qp = p->cq ? ibv_create_qp(me.pd, &init) : NULL;
    if (!p->qp)
        fail("cannot make a queue pair");
    mine.qp = p->qp->qp_num;
    to_init(p);
    bytes_exchange(me.peer, &mine, &p->other, sizeof(mine));
    to_rtr(p);
    to_rts(p, mine.psn);
    if (p->type == IBV_QPT_UD) {
        struct ibv_ah_attr way = way_to(&p->other);

        p->ah = ibv_create_ah(me.pd, &way);
        if (!p->ah)
            fail("cannot make an address handle");
    }
}

static void pair_close(struct pair *p)
{
    if ((p->ah && ibv_destroy_ah(p->ah)) || ibv_destroy_qp(p->qp) ||
        (p->srq && ibv_destroy_srq(p->srq)) || ibv_destroy_cq(p->cq))
        fail("cannot destroy a queue pair");
}

/* What is in front of each line of a scene. */
static char title[128];

static void __attribute__((format(printf, 1, 2))) say(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    printf("%s, %s: ", title, me.commands ? "client" : "server");
    vprintf(format, args);
    putchar('\n');
    va_end(args);
}

/* --- what is posted --------------------------------------------------------------------------- */

/* Two elements, the second of which begins where the first ends. */
static int elements(struct ibv_sge sge[2], size_t at, size_t size, uint32_t lkey)
{
    uint32_t first = (uint32_t)(size / 2);

    sge[0] = (struct ibv_sge){(uintptr_t)me.memory + at, first, lkey};
    sge[1] = (struct ibv_sge){(uintptr_t)me.memory + at + first, (uint32_t)size - first, lkey};
    return size ? 2 : 0;
}

static void receive(struct pair *p, uint64_t id, size_t at, size_t size)
{
    struct ibv_sge sge[2];
    struct ibv_recv_wr wr = {.wr_id = id,
                             .sg_list = sge,
                             .num_sge = elements(sge, at, size, me.mr->lkey)},
                       *bad;

    if (p->srq ? ibv_post_srq_recv(p->srq, &wr, &bad) : ibv_post_recv(p->qp, &wr, &bad))
        fail("cannot post a receive");
}

struct request {
    enum ibv_wr_opcode opcode;
    size_t at, size, to; /* `to`: where in the other's memory */
    int flags;
    uint32_t wrong; /* added to the key of the own memory, or the other's for what goes there */
    bool is_there;
};

static void request(struct pair *p, uint64_t id, const struct request *r)
{
    struct ibv_sge sge[2];
    bool is_remote = r->opcode != IBV_WR_SEND && r->opcode != IBV_WR_SEND_WITH_IMM;
    bool is_atomic =
        r->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || r->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
    struct ibv_send_wr wr = {.wr_id = id,
                             .opcode = r->opcode,
                             .send_flags = (unsigned)r->flags,
                             .imm_data = htonl(0xabcd),
                             .sg_list = sge,
                             .num_sge = elements(sge, r->at, r->size,
                                                 me.mr->lkey + (is_remote ? 0 : r->wrong))},
                       *bad;
    int err;

    if (is_atomic) {
        sge[0].length = 8;
        wr.num_sge = 1;
        wr.wr.atomic.remote_addr = p->other.address + r->to;
        wr.wr.atomic.rkey = p->other.rkey + r->wrong;
        wr.wr.atomic.compare_add = 5;
        wr.wr.atomic.swap = 9;
    } else if (is_remote) {
        wr.wr.rdma.remote_addr = p->other.address + r->to;
        wr.wr.rdma.rkey = p->other.rkey + r->wrong;
    }
    if (p->type == IBV_QPT_UD) {
        wr.wr.ud.ah = p->ah;
        wr.wr.ud.remote_qpn = p->other.qp;
        wr.wr.ud.remote_qkey = QKEY;
    }
    err = ibv_post_send(p->qp, &wr, &bad);
    if (err)
        say("request %d is refused: %s", (int)id, strerror(err));
}

/* --- scenes ----------------------------------------------------------------------------------- */

enum { RC = 1, UC = 2, UD = 4, SIGNALED = IBV_SEND_SIGNALED };

struct scene {
    const char *name;
    unsigned types; /* RC, UC, UD */
    struct request requests[3];
    size_t receives[3]; /* their sizes; 0: no more */
    int client, server; /* how many completions come */
    bool is_shared, is_cut, is_stopped, is_flushed;
};

/* SIZE bytes from AT on, to (or from) TO there. */
#define REQUEST(OPCODE, AT, SIZE, TO)                                                              \
    {                                                                                              \
        IBV_WR_##OPCODE, AT, SIZE, TO, SIGNALED, 0, true                                           \
    }
#define FLAGGED(OPCODE, AT, SIZE, FLAGS)                                                           \
    {                                                                                              \
        IBV_WR_##OPCODE, AT, SIZE, 0, FLAGS, 0, true                                               \
    }
#define WRONG_KEY(OPCODE)                                                                          \
    {                                                                                              \
        IBV_WR_##OPCODE, 0, 64, 0, SIGNALED, 0x100000, true                                        \
    }

static const struct scene scenes[] = {
    {"send", RC | UC | UD, {REQUEST(SEND, 0, 900, 0)}, {1000}, .client = 1, .server = 1},
    {"send of nothing", RC | UC, {REQUEST(SEND, 0, 0, 0)}, {1000}, .client = 1, .server = 1},
    {"send with an immediate",
     RC | UC | UD,
     {REQUEST(SEND_WITH_IMM, 8, 100, 0)},
     {1000},
     .client = 1,
     .server = 1},
    {"inline send",
     RC | UC | UD,
     {FLAGGED(SEND, 3, 60, SIGNALED | IBV_SEND_INLINE)},
     {99},
     .client = 1,
     .server = 1},
    {"long send", RC | UC, {REQUEST(SEND, 0, LONG, 0)}, {LONG}, .client = 1, .server = 1},
    {"three sends, of which one is signaled",
     RC | UC,
     {FLAGGED(SEND, 0, 10, 0), FLAGGED(SEND, 10, 20, 0), REQUEST(SEND, 30, 30, 0)},
     {100, 100, 100},
     .client = 1,
     .server = 3},
    {"sends to a shared queue",
     RC,
     {REQUEST(SEND, 0, 10, 0), REQUEST(SEND, 10, 20, 0)},
     {100, 100},
     .client = 2,
     .server = 2,
     .is_shared = true},
    {"write, and a send after it",
     RC | UC,
     {REQUEST(RDMA_WRITE, 0, 5000, 77), REQUEST(SEND, 0, 9, 0)},
     {99},
     .client = 2,
     .server = 1},
    {"long write with an immediate",
     RC | UC,
     {REQUEST(RDMA_WRITE_WITH_IMM, 0, LONG, 64)},
     {1},
     .client = 1,
     .server = 1},
    {"read", RC, {REQUEST(RDMA_READ, 64, 5000, 9)}, {0}, .client = 1},
    {"long read", RC, {REQUEST(RDMA_READ, 0, LONG, 0)}, {0}, .client = 1},
    {"atomics and a read",
     RC,
     {REQUEST(ATOMIC_FETCH_AND_ADD, 0, 16, 128), REQUEST(ATOMIC_CMP_AND_SWP, 16, 16, 128),
      REQUEST(RDMA_READ, 32, 8, 128)},
     {0},
     .client = 3},
    {"a fenced write after a read",
     RC,
     {REQUEST(RDMA_READ, 0, 3000, 0), FLAGGED(RDMA_WRITE, 0, 64, SIGNALED | IBV_SEND_FENCE)},
     {0},
     .client = 2},
    /* errors */
    {"a send with a key of no memory",
     RC,
     {WRONG_KEY(SEND), REQUEST(SEND, 0, 64, 0)},
     {100},
     .client = 2},
    {"a write with a key of no memory",
     RC,
     {WRONG_KEY(RDMA_WRITE), REQUEST(SEND, 0, 64, 0)},
     {0},
     .client = 2},
    {"a write beyond the memory", RC, {REQUEST(RDMA_WRITE, 0, 64, SIZE - 32)}, {0}, .client = 1},
    {"a read beyond the memory", RC, {REQUEST(RDMA_READ, 0, 64, SIZE - 32)}, {0}, .client = 1},
    {"a write of UC beyond the memory",
     UC,
     {REQUEST(RDMA_WRITE, 0, 64, SIZE - 32)},
     {0},
     .client = 1},
    {"an atomic at an odd address",
     RC,
     {REQUEST(ATOMIC_FETCH_AND_ADD, 0, 16, 129)},
     {0},
     .client = 0},
    {"a receive that is too short",
     RC,
     {REQUEST(SEND, 0, 900, 0)},
     {100},
     .client = 1,
     .server = 1},
    {"no receive", RC | UC, {REQUEST(SEND, 0, 900, 0)}, {0}, .client = 1},
    {"a cable that is cut",
     RC,
     {REQUEST(SEND, 0, 900, 0), FLAGGED(RDMA_WRITE, 0, 64, 0)},
     {1000},
     .client = 2,
     .is_cut = true},
    {"a cable that is cut", UC, {REQUEST(SEND, 0, 900, 0)}, {1000}, .client = 1, .is_cut = true},
    {"a queue pair that becomes ERR",
     RC | UC | UD,
     {{0}},
     {100, 100, 100},
     .server = 3,
     .is_flushed = true},
    {"a process that is stopped",
     RC,
     {REQUEST(RDMA_WRITE, 0, 64, 0), REQUEST(RDMA_READ, 0, 64, 0)},
     {0},
     .client = 2,
     .is_stopped = true},
};

/* Only a success says more than the request's number and its end. */
static void completion_say(const struct ibv_wc *wc)
{
    bool is_receive = wc->opcode & IBV_WC_RECV;

    if (wc->status != IBV_WC_SUCCESS)
        say("request %d: %s", (int)wc->wr_id, ibv_wc_status_str(wc->status));
    else if (!is_receive)
        say("request %d: success, opcode %d", (int)wc->wr_id, (int)wc->opcode);
    else
        say("receive %d: %s of %u bytes, immediate %x%s", (int)wc->wr_id,
            wc->opcode == IBV_WC_RECV ? "send" : "write", wc->byte_len,
            wc->wc_flags & IBV_WC_WITH_IMM ? ntohl(wc->imm_data) : 0,
            wc->wc_flags & IBV_WC_GRH ? ", GRH" : "");
}

/* The next completion, for which the completion channel wakes this process; false: none has come
 * within the time (-1: without end). */
static bool completion_next(struct pair *p, int ms)
{
    struct pollfd channel = {.fd = me.channel->fd, .events = POLLIN};
    struct ibv_cq *cq;
    struct ibv_wc wc;
    void *context;
    int n = ibv_poll_cq(p->cq, 1, &wc);

    if (n == 0 && ibv_req_notify_cq(p->cq, 0))
        fail("a completion queue does not notify");
    while (n == 0 && (n = ibv_poll_cq(p->cq, 1, &wc)) == 0) {
        if (poll(&channel, 1, ms) == 0)
            return false;
        if (ibv_get_cq_event(me.channel, &cq, &context))
            fail("no event of a completion queue");
        ibv_ack_cq_events(cq, 1);
        ibv_req_notify_cq(p->cq, 0);
    }
    if (n < 0)
        fail("a completion queue cannot be polled");
    completion_say(&wc);
    return true;
}

/* Events that came after the last look would be taken for the next scene's. */
static void events_drop(void)
{
    struct pollfd channel = {.fd = me.channel->fd, .events = POLLIN};
    struct ibv_cq *cq;
    void *context;

    while (poll(&channel, 1, 0) == 1 && !ibv_get_cq_event(me.channel, &cq, &context))
        ibv_ack_cq_events(cq, 1);
}

static unsigned memory_hash(void)
{
    unsigned h = 2166136261U;

    for (int i = 0; i < SIZE; i++)
        h = (h ^ me.memory[i]) * 16777619U;
    return h;
}

static void memory_fill(void)
{
    for (int i = 0; i < SIZE; i++)
        me.memory[i] = (unsigned char)(me.commands ? i * 7 + 1 : i * 3);
}

static void state_say(struct pair *p)
{
    static const char *const names[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
    struct ibv_qp_attr a;
    struct ibv_qp_init_attr init;

    if (ibv_query_qp(p->qp, &a, IBV_QP_STATE, &init))
        fail("a queue pair's state is not known");
    say("state %s, memory %08x", a.qp_state < IBV_QPS_UNKNOWN ? names[a.qp_state] : "unknown",
        memory_hash());
}

static void command_run(int which)
{
    if (system(me.commands[which]) != 0)
        fail("%s has failed", me.commands[which]);
}

/* The client's completions, while the server is stopped and afterwards. */
static int stopped_run(struct pair *p, int count)
{
    int seen = 0;

    while (seen < count && completion_next(p, STOPPED_MS))
        seen++;
    say("%s while the other process is stopped", seen == count ? "all is done" : "something waits");
    peer_signal('c');
    return seen;
}

static void client_run(struct pair *p, const struct scene *s)
{
    int seen = 0;

    if (s->is_cut)
        command_run(0);
    if (s->is_stopped)
        peer_signal('s');
    for (int i = 0; i < 3 && s->requests[i].is_there; i++)
        request(p, (uint64_t)i + 1, &s->requests[i]);
    if (s->is_stopped)
        seen = stopped_run(p, s->client);
    while (seen < s->client)
        seen += completion_next(p, -1);
    if (s->is_cut)
        command_run(1);
}

static void server_flush(struct pair *p)
{
    struct ibv_qp_attr a = {.qp_state = IBV_QPS_ERR};

    if (ibv_modify_qp(p->qp, &a, IBV_QP_STATE))
        fail("a queue pair does not become ERR");
}

static void scene_run(const struct scene *s, enum ibv_qp_type type, const char *word)
{
    struct pair p = {.type = type};
    size_t head = type == IBV_QPT_UD ? GRH : 0;

    snprintf(title, sizeof(title), "%s, %s", word, s->name);
    memory_fill();
    pair_open(&p, s->is_shared && !me.commands);
    for (int i = 0; i < 3 && s->receives[i] && !me.commands; i++)
        receive(&p, (uint64_t)i + 1, (size_t)i * 4096, s->receives[i] + head);
    meet();
    if (me.commands)
        client_run(&p, s);
    else if (s->is_flushed)
        server_flush(&p);
    for (int i = 0; i < s->server && !me.commands; i++)
        completion_next(&p, -1);
    meet();
    while (completion_next(&p, 0))
        ;
    for (int i = 0; i < 3 && head && !me.commands; i++)
        memset(me.memory + (size_t)i * 4096, 0, head); /* the route of a datagram */
    state_say(&p);
    meet();
    pair_close(&p);
    events_drop();
    fflush(stdout);
}

/* The client's own port goes down and comes up. */
static void port_run(void)
{
    snprintf(title, sizeof(title), "port");
    for (int i = 0; i < 2 && me.commands; i++) {
        struct ibv_async_event event;

        command_run(2 + i);
        if (ibv_get_async_event(me.context, &event))
            fail("no asynchronous event");
        say("%s of port %d", ibv_event_type_str(event.event_type), event.element.port_num);
        ibv_ack_async_event(&event);
    }
    meet();
}

int main(int argc, char **argv)
{
    static const struct {
        enum ibv_qp_type type;
        unsigned bit;
        const char *word;
    } types[] = {{IBV_QPT_RC, RC, "RC"}, {IBV_QPT_UC, UC, "UC"}, {IBV_QPT_UD, UD, "UD"}};

    if (argc != 3 && argc != 8) {
        fprintf(stderr, "usage: diagonal DEVICE PORT [HOST CUT MEND DOWN UP]\n");
        return 2;
    }
    if (argc == 3) {
        server_meet(argv[2]);
    } else {
        me.commands = argv + 4;
        me.peer = connection_make(argv[3], argv[2]);
        me.stopper = connection_make(argv[3], argv[2]);
    }
    device_open(argv[1]);
    for (size_t i = 0; i < sizeof(scenes) / sizeof(*scenes); i++)
        for (int t = 0; t < 3; t++)
            if (scenes[i].types & types[t].bit)
                scene_run(&scenes[i], types[t].type, types[t].word);
    port_run();
    return 0;
}
