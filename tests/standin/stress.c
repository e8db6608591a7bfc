/* SPDX-License-Identifier: MIT */
/*
 * stress SEED ROUNDS [SERVER]: sends, writes, reads and atomics of 0 to 300,000 bytes between two
 * processes, on the first device of each one's host, in both directions at once. The one without
 * SERVER waits for the other. Every byte and every completion is checked.
 *
 * There are some reliable connections, half of them with a shared receive queue, and an unreliable
 * one, which may lose messages, but has no wrong bytes in one that is whole. Each round has its
 * requests, which both sides know from SEED. In every third round one side breaks a connection at
 * some point: then all that was posted there fails in order, its memory is registered anew, and the
 * queue pairs are reset and connected again. At the end the client is gone without a word, and the
 * server's requests fail.
 *
 * The wire may lose packets. Status 0 only if all was right.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    PAIRS = 6, /* the last one is unreliable, the first SHARED ones share their receives */
    UNRELIABLE = PAIRS - 1,
    SHARED = 2,
    OPS = 20,
    DEPTH = 7, /* the places of a send queue */
    RECEIVES = 3,
    LONGEST = 300000,
    WINDOW = 2 * LONGEST,
    INLINE = 64,
    PORT = 18520,
    DEADLINE_S = 80,
    BLANK = 0xee,
};

struct op {
    enum ibv_wr_opcode opcode;
    uint32_t at, length; /* its bytes, in all of the areas below */
    uint64_t add, compare;
    bool is_signaled, is_inline;
};

/* What one side has for a connection, in one region. */
struct area {
    unsigned char out[WINDOW], window[WINDOW], source[WINDOW], got[WINDOW];
    unsigned char receives[RECEIVES][LONGEST];
    uint64_t counter;
};

/* What the sides tell each other between rounds. */
struct hello {
    union ibv_gid gid;
    struct {
        uint32_t qp, psn, rkey;
        uint64_t address, counter;
    } pair[PAIRS];
};

struct pair {
    struct ibv_qp *qp;
    struct ibv_mr *mr;
    struct area *area;
    struct op ours[OPS], theirs[OPS];
    unsigned char *expected; /* WINDOW bytes of theirs */
    uint64_t key;
    uint64_t counter; /* the other side's, as it has to be */
    int posted, done; /* our requests */
    int came;         /* their requests: the next that may take a receive */
    int receives;     /* that are posted, in a queue of its own */
    bool is_broken, has_failed;
};

static struct {
    bool is_client;
    uint64_t seed;
    int tcp, round;
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_comp_channel *channel;
    struct ibv_cq *sends, *receives;
    struct ibv_srq *srq;
    struct ibv_mr *shared_mr;
    unsigned char (*shared)[LONGEST];
    struct hello ours, theirs;
    struct pair pairs[PAIRS];
} s;

#define NEED(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "stress: %s, round %d, line %d: not so: %s (errno %d)\n",              \
                    s.is_client ? "client" : "server", s.round, __LINE__, #condition, errno);      \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* --- numbers and bytes ------------------------------------------------------------------------ */

static uint64_t mix(uint64_t z)
{
    z += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

static uint64_t next(uint64_t *state)
{
    return *state = mix(*state);
}

static void fill(unsigned char *to, uint64_t key, uint32_t size)
{
    for (uint32_t i = 0; i < size; i += 8) {
        uint64_t word = mix(key + i / 8);

        memcpy(to + i, &word, sizeof(word));
    }
}

static bool takes_receive(const struct op *o)
{
    return o->opcode == IBV_WR_SEND || o->opcode == IBV_WR_SEND_WITH_IMM ||
           o->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static bool is_atomic(const struct op *o)
{
    return o->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || o->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static void plan(struct op *ops, bool is_unreliable, uint64_t state)
{
    static const enum ibv_wr_opcode opcodes[] = {IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE_WITH_IMM,
                                                 IBV_WR_RDMA_WRITE,    IBV_WR_SEND,
                                                 IBV_WR_RDMA_READ,     IBV_WR_ATOMIC_FETCH_AND_ADD,
                                                 IBV_WR_RDMA_READ,     IBV_WR_ATOMIC_CMP_AND_SWP};
    static const uint32_t longest[] = {0, 8, 64, 1024, 1025, 5000, 70000, LONGEST};
    uint32_t at = 0;

    for (int i = 0; i < OPS; i++) {
        struct op *o = &ops[i];
        uint32_t most = longest[next(&state) % 8];

        o->opcode = opcodes[next(&state) % (is_unreliable ? 3 : 8)];
        o->length = (uint32_t)(next(&state) % (most + 1));
        if (o->opcode >= IBV_WR_ATOMIC_CMP_AND_SWP)
            o->length = 8;
        else if (at + o->length > WINDOW - 8 * OPS)
            o->length = 0;
        o->at = at;
        at = (at + o->length + 7) & ~7U;
        o->add = next(&state);
        o->compare = next(&state) % 2; /* whether the comparison is to be true */
        o->is_signaled = next(&state) % 3 == 0 || i % DEPTH == 3 || i == OPS - 1;
        o->is_inline = o->length <= INLINE && o->opcode <= IBV_WR_SEND_WITH_IMM &&
                       o->opcode != IBV_WR_RDMA_READ && next(&state) % 2;
    }
    if (!takes_receive(&ops[OPS - 1]))
        ops[OPS - 1] = (struct op){IBV_WR_SEND_WITH_IMM, at, 0, 0, 0, true, false};
}

/* --- requests --------------------------------------------------------------------------------- */

static void receive_post(struct pair *p, unsigned char *at, uint32_t lkey, uint64_t id)
{
    struct ibv_sge list[] = {{(uintptr_t)at, 1000, lkey},
                             {(uintptr_t)at + 1000, LONGEST - 1000, lkey}};
    struct ibv_recv_wr wr = {.wr_id = id, .sg_list = list, .num_sge = 2}, *bad;

    if (p)
        p->receives++;
    NEED((p ? ibv_post_recv(p->qp, &wr, &bad) : ibv_post_srq_recv(s.srq, &wr, &bad)) == 0);
}

static void op_post(struct pair *p, int index)
{
    struct op *o = &p->ours[index];
    bool is_local = o->opcode == IBV_WR_RDMA_READ || is_atomic(o);
    unsigned char *at = (is_local ? p->area->got : p->area->out) + o->at;
    uint32_t first = o->length / 3 & (is_atomic(o) ? 0 : ~0U);
    struct ibv_sge list[] = {
        {(uintptr_t)at, first, o->is_inline ? 0xbad : p->mr->lkey},
        {(uintptr_t)at + first, o->length - first, o->is_inline ? 0xbad : p->mr->lkey}};
    struct ibv_send_wr *bad, wr = {.wr_id = (uint64_t)index,
                                   .sg_list = first ? list : list + 1,
                                   .num_sge = o->length == 0 ? 0
                                              : first        ? 2
                                                             : 1,
                                   .opcode = o->opcode,
                                   .imm_data = htonl((uint32_t)index)};
    uint64_t to = s.theirs.pair[p - s.pairs].address;

    if (o->is_signaled)
        wr.send_flags |= IBV_SEND_SIGNALED;
    if (o->is_inline)
        wr.send_flags |= IBV_SEND_INLINE;
    if (is_atomic(o)) {
        wr.wr.atomic.remote_addr = to + offsetof(struct area, counter);
        wr.wr.atomic.rkey = s.theirs.pair[p - s.pairs].rkey;
        wr.wr.atomic.compare_add = o->add;
        /* What the counter will be is known here: nobody else changes it. */
        if (o->opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
            wr.wr.atomic.compare_add = o->compare ? p->counter : ~p->counter;
            wr.wr.atomic.swap = o->add;
        }
        o->compare = p->counter; /* the old value that is to come */
        if (o->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
            p->counter += o->add;
        else if (wr.wr.atomic.compare_add == p->counter)
            p->counter = o->add;
    } else {
        wr.wr.rdma.remote_addr = to + o->at +
                                 (o->opcode == IBV_WR_RDMA_READ ? offsetof(struct area, source)
                                                                : offsetof(struct area, window));
        wr.wr.rdma.rkey = s.theirs.pair[p - s.pairs].rkey;
    }
    NEED(ibv_post_send(p->qp, &wr, &bad) == 0);
    if (o->is_inline)
        memset(at, 0, o->length);
}

/* The last request of pair 0 says that all of the unreliable pair are on their way. */
static bool ops_post(void)
{
    bool is_all = true;

    for (struct pair *p = s.pairs; p < s.pairs + PAIRS; p++) {
        while (p->posted < OPS && p->posted - p->done < DEPTH &&
               (p != s.pairs || p->posted < OPS - 1 || s.pairs[UNRELIABLE].done == OPS))
            op_post(p, p->posted++);
        is_all = is_all && p->done == OPS;
    }
    return is_all;
}

/* --- completions ------------------------------------------------------------------------------ */

static struct pair *pair_of(uint32_t qp)
{
    struct pair *p = s.pairs;

    while (p < s.pairs + PAIRS && p->qp->qp_num != qp)
        p++;
    NEED(p < s.pairs + PAIRS);
    return p;
}

static void op_check(const struct pair *p, const struct op *o)
{
    uint64_t value;

    memcpy(&value, p->area->got + o->at, is_atomic(o) ? sizeof(value) : 0);
    if (is_atomic(o))
        NEED(value == o->compare);
    else if (o->opcode == IBV_WR_RDMA_READ)
        NEED(memcmp(p->area->got + o->at, p->expected + o->at, o->length) == 0);
}

static void send_done(const struct ibv_wc *wc)
{
    struct pair *p = pair_of(wc->qp_num);

    NEED(wc->wr_id >= (uint64_t)p->done && wc->wr_id < (uint64_t)p->posted);
    if (p->has_failed) {
        NEED(wc->status == IBV_WC_WR_FLUSH_ERR && wc->wr_id == (uint64_t)p->done);
        p->done++;
        return;
    }
    NEED(wc->status == IBV_WC_SUCCESS || p->is_broken);
    for (; p->done < (int)wc->wr_id; p->done++) {
        NEED(!p->ours[p->done].is_signaled);
        op_check(p, &p->ours[p->done]);
    }
    p->has_failed = wc->status != IBV_WC_SUCCESS;
    if (p->has_failed)
        memset(p->area->out, 0, WINDOW); /* it may be used anew, and nobody sees it */
    else
        op_check(p, &p->ours[p->done]);
    p->done++;
}

static void receive_check(struct pair *p, const struct ibv_wc *wc, const unsigned char *bytes)
{
    const struct op *o;

    if (p - s.pairs == UNRELIABLE) {
        NEED(ntohl(wc->imm_data) >= (uint32_t)p->came && ntohl(wc->imm_data) < OPS);
        p->came = (int)ntohl(wc->imm_data);
    }
    while (p->came < OPS && !takes_receive(&p->theirs[p->came]))
        p->came++;
    NEED(p->came < OPS);
    o = &p->theirs[p->came++];
    if (o->opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
        bytes = p->area->window + o->at;
    NEED(wc->opcode ==
         (o->opcode == IBV_WR_RDMA_WRITE_WITH_IMM ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV));
    NEED(wc->byte_len == o->length);
    NEED(!!(wc->wc_flags & IBV_WC_WITH_IMM) == (o->opcode != IBV_WR_SEND));
    NEED(o->opcode == IBV_WR_SEND || ntohl(wc->imm_data) == (uint32_t)(o - p->theirs));
    NEED(memcmp(bytes, p->expected + o->at, o->length) == 0);
}

static void receive_done(const struct ibv_wc *wc)
{
    struct pair *p = pair_of(wc->qp_num);
    bool is_shared = p->qp->srq;

    p->receives -= !is_shared;
    if (wc->status == IBV_WC_SUCCESS)
        receive_check(p, wc, is_shared ? s.shared[wc->wr_id] : p->area->receives[wc->wr_id]);
    else
        NEED(p->is_broken && wc->status == IBV_WC_WR_FLUSH_ERR);
    if (is_shared)
        receive_post(NULL, s.shared[wc->wr_id], s.shared_mr->lkey, wc->wr_id);
    else if (wc->status == IBV_WC_SUCCESS)
        receive_post(p, p->area->receives[wc->wr_id], p->mr->lkey, wc->wr_id);
}

static bool completions_take(void)
{
    struct ibv_wc wc;
    bool any = false;

    for (; ibv_poll_cq(s.sends, 1, &wc) == 1; any = true)
        send_done(&wc);
    for (; ibv_poll_cq(s.receives, 1, &wc) == 1; any = true)
        receive_done(&wc);
    return any;
}

/* Waits for a completion; also for the other side's word if that is asked for, then true. */
static bool wait_some(bool for_word)
{
    struct pollfd fds[] = {{.fd = s.channel->fd, .events = POLLIN},
                           {.fd = s.tcp, .events = POLLIN}};
    struct ibv_cq *cq;
    void *context;

    NEED(ibv_req_notify_cq(s.sends, 0) == 0 && ibv_req_notify_cq(s.receives, 0) == 0);
    if (completions_take())
        return false;
    NEED(poll(fds, 1 + for_word, -1) > 0 || errno == EINTR);
    if (fds[0].revents) {
        NEED(ibv_get_cq_event(s.channel, &cq, &context) == 0);
        NEED(cq == s.sends || cq == s.receives);
        ibv_ack_cq_events(cq, 1);
    }
    return for_word && fds[1].revents;
}

/* --- connections ------------------------------------------------------------------------------ */

static void qp_create(struct pair *p)
{
    int number = (int)(p - s.pairs);
    struct ibv_qp_init_attr init = {.send_cq = s.sends,
                                    .recv_cq = s.receives,
                                    .srq = number < SHARED ? s.srq : NULL,
                                    .cap = {DEPTH, number < SHARED ? 0 : RECEIVES, 2, 2, INLINE},
                                    .qp_type = number == UNRELIABLE ? IBV_QPT_UC : IBV_QPT_RC};

    NEED((p->qp = ibv_create_qp(s.pd, &init)));
}

static void mr_register(struct pair *p)
{
    NEED((p->mr = ibv_reg_mr(s.pd, p->area, sizeof(*p->area),
                             IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)));
}

static void qp_modify(const struct pair *p, enum ibv_qp_state state, struct ibv_qp_attr *a,
                      int mask)
{
    a->qp_state = state;
    NEED(ibv_modify_qp(p->qp, a, mask | IBV_QP_STATE) == 0);
}

static void qp_connect(struct pair *p)
{
    const bool is_rc = p->qp->qp_type == IBV_QPT_RC;
    struct ibv_qp_attr a = {.port_num = 1,
                            .qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                                               IBV_ACCESS_REMOTE_ATOMIC,
                            .path_mtu = IBV_MTU_1024,
                            .dest_qp_num = s.theirs.pair[p - s.pairs].qp,
                            .rq_psn = s.theirs.pair[p - s.pairs].psn,
                            .sq_psn = s.ours.pair[p - s.pairs].psn,
                            .max_dest_rd_atomic = 3,
                            .max_rd_atomic = 3,
                            .min_rnr_timer = 2,
                            .timeout = 10,
                            .retry_cnt = 7,
                            .rnr_retry = 7,
                            .ah_attr = {.is_global = 1, .port_num = 1}};

    a.ah_attr.grh.dgid = s.theirs.gid;
    a.ah_attr.grh.sgid_index = 1;
    a.ah_attr.grh.hop_limit = 1;
    qp_modify(p, IBV_QPS_INIT, &a, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    for (uint64_t i = 0; i < RECEIVES && !p->qp->srq; i++)
        receive_post(p, p->area->receives[i], p->mr->lkey, i);
    qp_modify(p, IBV_QPS_RTR, &a,
              IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                  (is_rc ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0));
    qp_modify(p, IBV_QPS_RTS, &a,
              IBV_QP_SQ_PSN | (is_rc ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                           IBV_QP_MAX_QP_RD_ATOMIC
                                     : 0));
}

/* All that is posted fails, in order; then the pair begins anew. */
static void pair_end(struct pair *p)
{
    struct ibv_qp_attr a = {0};

    qp_modify(p, IBV_QPS_ERR, &a, 0);
    while (ops_post(), p->done < OPS || p->receives)
        wait_some(false);
    NEED(ibv_dereg_mr(p->mr) == 0);
    mr_register(p);
    qp_modify(p, IBV_QPS_RESET, &a, 0);
}

/* --- the other side --------------------------------------------------------------------------- */

static void tcp_open(const char *server)
{
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *to;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;

    if (server) {
        NEED(getaddrinfo(server, NULL, &hints, &to) == 0);
        at.sin_addr = ((struct sockaddr_in *)(void *)to->ai_addr)->sin_addr;
        freeaddrinfo(to);
        NEED(connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0);
        s.tcp = fd;
        return;
    }
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    NEED(bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0 && listen(fd, 1) == 0);
    NEED((s.tcp = accept(fd, NULL, NULL)) >= 0);
    close(fd);
}

/* Both sides say something; what comes for the queue pairs meanwhile is taken. */
static void exchange(const void *ours, void *theirs, size_t size)
{
    NEED(send(s.tcp, ours, size, 0) == (ssize_t)size);
    while (!wait_some(true))
        continue;
    NEED(recv(s.tcp, theirs, size, MSG_WAITALL) == (ssize_t)size);
}

/* --- rounds ----------------------------------------------------------------------------------- */

static void pair_begin(struct pair *p)
{
    uint64_t key = mix(s.seed + ((uint64_t)s.round << 16) + (uint64_t)(p - s.pairs));
    bool is_unreliable = p - s.pairs == UNRELIABLE;

    p->key = mix(key + s.is_client);
    plan(p->ours, is_unreliable, p->key);
    plan(p->theirs, is_unreliable, mix(key + !s.is_client));
    fill(p->area->out, p->key, WINDOW);
    memcpy(p->area->source, p->area->out, WINDOW);
    fill(p->expected, mix(key + !s.is_client), WINDOW);
    memset(p->area->window, BLANK, WINDOW);
    p->counter = s.theirs.pair[p - s.pairs].counter;
    p->posted = p->done = p->came = 0;
    p->is_broken = p->has_failed = false;
}

/* What the other side has written: all of it, where nothing may be lost. */
static void window_check(const struct pair *p)
{
    for (const struct op *o = p->theirs; o < p->theirs + OPS; o++)
        if ((o->opcode == IBV_WR_RDMA_WRITE || o->opcode == IBV_WR_RDMA_WRITE_WITH_IMM) &&
            !p->is_broken && p - s.pairs != UNRELIABLE)
            NEED(memcmp(p->area->window + o->at, p->expected + o->at, o->length) == 0);
    for (int i = 0; i < WINDOW; i++)
        NEED(p->area->window[i] == p->expected[i] || p->area->window[i] == BLANK);
}

static bool has_come(void)
{
    for (struct pair *p = s.pairs; p < s.pairs + UNRELIABLE; p++)
        if (p->came < OPS && !p->is_broken)
            return false;
    return true;
}

/* breaks: the pair that is broken, and `when`, after how many of its requests. */
static void round_run(int breaks, bool is_mine, int when)
{
    struct ibv_qp_attr a = {0};

    if (breaks >= 0)
        s.pairs[breaks].is_broken = true;
    while (!ops_post() || !has_come()) {
        wait_some(false);
        if (breaks >= 0 && is_mine && s.pairs[breaks].done >= when) {
            qp_modify(&s.pairs[breaks], IBV_QPS_ERR, &a, 0);
            is_mine = false;
        }
    }
    if (breaks >= 0)
        pair_end(&s.pairs[breaks]);
    for (struct pair *p = s.pairs; p < s.pairs + PAIRS; p++)
        window_check(p);
}

static void round_begin(void)
{
    uint8_t ours = 1, theirs;

    for (struct pair *p = s.pairs; p < s.pairs + PAIRS; p++) {
        int i = (int)(p - s.pairs);

        s.ours.pair[i].qp = p->qp->qp_num;
        /* The numbers of the first connections begin anew in between. */
        s.ours.pair[i].psn = s.round ? (uint32_t)mix(p->key) & 0xffffff : 0xffffe0;
        s.ours.pair[i].rkey = p->mr->rkey;
        s.ours.pair[i].address = (uintptr_t)p->area;
        s.ours.pair[i].counter = p->area->counter;
    }
    exchange(&s.ours, &s.theirs, sizeof(s.ours));
    for (struct pair *p = s.pairs; p < s.pairs + PAIRS; p++) {
        if (p->qp->state == IBV_QPS_RESET)
            qp_connect(p);
        pair_begin(p);
    }
    exchange(&ours, &theirs, 1);
}

/* The client is gone in the middle of it. */
static void last_run(void)
{
    for (struct pair *p = s.pairs; p < s.pairs + PAIRS; p++)
        p->is_broken = true;
    while (!ops_post()) {
        if (s.is_client && s.pairs[1].done > 2)
            _exit(0);
        wait_some(false);
    }
}

static void device_open(void)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    struct ibv_srq_init_attr about = {.attr = {SHARED * RECEIVES, 2, 0}};

    NEED(list && list[0] && (s.context = ibv_open_device(list[0])));
    ibv_free_device_list(list);
    NEED((s.pd = ibv_alloc_pd(s.context)));
    NEED((s.channel = ibv_create_comp_channel(s.context)));
    NEED((s.sends = ibv_create_cq(s.context, PAIRS * DEPTH, NULL, s.channel, 0)));
    NEED((s.receives = ibv_create_cq(s.context, PAIRS * RECEIVES, NULL, s.channel, 0)));
    NEED((s.srq = ibv_create_srq(s.pd, &about)));
    NEED((s.shared = calloc(SHARED * RECEIVES, sizeof(*s.shared))));
    NEED((s.shared_mr = ibv_reg_mr(s.pd, s.shared, SHARED * RECEIVES * sizeof(*s.shared),
                                   IBV_ACCESS_LOCAL_WRITE)));
    NEED(ibv_query_gid(s.context, 1, 1, &s.ours.gid) == 0);
    for (uint64_t i = 0; i < SHARED * RECEIVES; i++)
        receive_post(NULL, s.shared[i], s.shared_mr->lkey, i);
    for (struct pair *p = s.pairs; p < s.pairs + PAIRS; p++) {
        NEED((p->area = calloc(1, sizeof(*p->area))) && (p->expected = malloc(WINDOW)));
        mr_register(p);
        qp_create(p);
    }
}

static void device_close(void)
{
    for (struct pair *p = s.pairs; p < s.pairs + PAIRS; p++) {
        NEED(ibv_destroy_qp(p->qp) == 0 && ibv_dereg_mr(p->mr) == 0);
        free(p->area);
        free(p->expected);
    }
    NEED(ibv_destroy_srq(s.srq) == 0 && ibv_dereg_mr(s.shared_mr) == 0);
    NEED(ibv_destroy_cq(s.sends) == 0 && ibv_destroy_cq(s.receives) == 0);
    NEED(ibv_destroy_comp_channel(s.channel) == 0 && ibv_dealloc_pd(s.pd) == 0);
    NEED(ibv_close_device(s.context) == 0);
    free(s.shared);
}

int main(int argc, char **argv)
{
    int rounds;

    if (argc < 3)
        return 2;
    alarm(DEADLINE_S);
    s.seed = mix(strtoull(argv[1], NULL, 10));
    rounds = atoi(argv[2]);
    s.is_client = argc > 3;
    tcp_open(argv[3]);
    device_open();
    for (; s.round < rounds; s.round++) {
        uint64_t dice = mix(s.seed + (uint64_t)s.round);
        int breaks = s.round % 3 == 2 ? 1 + (int)(dice % (UNRELIABLE - 1)) : -1;

        round_begin();
        round_run(breaks, (dice >> 8) % 2 == s.is_client, (int)(dice >> 16) % OPS);
    }
    round_begin();
    last_run();
    device_close();
    return 0;
}
