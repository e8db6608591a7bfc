/* SPDX-License-Identifier: MIT */
/*
 * test_queue_pair.c: how a queue pair is connected, by LID on InfiniBand and by GID on Ethernet,
 * and the errors if the device refuses. The verbs are mocks, because Soft-RoCE has no LIDs and
 * never runs out of resources.
 */
#include "rdma/verbs/queue_pair.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct ibv_qp the_pair = {.qp_num = 0x11};
static struct ibv_qp_attr told[4]; /* by state */
static int masks[4];
static int create_error, modify_error;
static enum ibv_qp_state modify_fails_at;
static int destroyed;
static bool offers_rc;
static enum ibv_qp_type created;

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
    (void)pd;
    if (create_error) {
        errno = create_error;
        return NULL;
    }
    if (attr->qp_type == IBV_QPT_RC && !offers_rc) {
        errno = EOPNOTSUPP;
        return NULL;
    }
    created = attr->qp_type;
    return &the_pair;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    assert_ptr_equal(qp, &the_pair);
    assert_true(mask & IBV_QP_STATE);
    if (attr->qp_state < 4) {
        told[attr->qp_state] = *attr;
        masks[attr->qp_state] = mask;
    }
    return modify_error && attr->qp_state == modify_fails_at ? modify_error : 0;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
    assert_ptr_equal(qp, &the_pair);
    destroyed++;
    return 0;
}

static const struct gid mine = {.raw = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1},
                                .index = 3,
                                .type = GID_ROCE_V2};
static const struct gid theirs = {.raw = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 2},
                                  .index = 5,
                                  .type = GID_ROCE_V2};
static const struct explain_place place = {
    .device = "mlx5_0", .port = 2, .gid = &mine, .peer_gid = &theirs, .peer = "rank 3 on host b"};

static struct port port_of(uint8_t link_layer, enum ibv_mtu mtu)
{
    struct port p = {.device = "mlx5_0", .number = 2};

    p.attr.link_layer = link_layer;
    p.attr.active_mtu = mtu;
    p.attr.lid = 7;
    return p;
}

static int setup(void **state)
{
    (void)state;
    memset(told, 0, sizeof(told));
    create_error = modify_error = destroyed = 0;
    offers_rc = true;
    return 0;
}

static int kind_connect(enum queue_pair_kind kind, const struct port *p, struct fault *why)
{
    const struct queue_pair_end peer = {
        .number = 0x1a2, .psn = 0x333, .lid = 42, .mtu = IBV_MTU_2048, .gid = theirs};
    struct queue_pair q;
    int rc = queue_pair_create(&q, kind, p, NULL, NULL, NULL, &place, why);

    if (rc)
        return rc;
    rc = queue_pair_connect(&q, p, &mine, &peer, &place, why);
    queue_pair_destroy(&q);
    assert_int_equal(destroyed, 1);
    return rc;
}

static int pair_connect(const struct port *p, struct fault *why)
{
    return kind_connect(QUEUE_PAIR_RC, p, why);
}

static void test_lid(void **state)
{
    struct port p = port_of(IBV_LINK_LAYER_INFINIBAND, IBV_MTU_4096);
    const struct ibv_qp_attr *a = &told[IBV_QPS_RTR];
    struct fault why;

    (void)state;
    assert_int_equal(pair_connect(&p, &why), 0);
    assert_int_equal(told[IBV_QPS_INIT].port_num, 2);
    assert_true(masks[IBV_QPS_RTR] & IBV_QP_AV);
    assert_int_equal(a->ah_attr.dlid, 42);
    assert_int_equal(a->ah_attr.is_global, 0);
    assert_int_equal(a->ah_attr.port_num, 2);
    assert_int_equal(a->dest_qp_num, 0x1a2);
    assert_int_equal(a->rq_psn, 0x333);
    assert_int_equal(a->path_mtu, IBV_MTU_2048); /* the peer's is smaller */
}

static void test_gid(void **state)
{
    struct port p = port_of(IBV_LINK_LAYER_ETHERNET, IBV_MTU_1024);
    const struct ibv_qp_attr *a = &told[IBV_QPS_RTR];
    struct fault why;

    (void)state;
    assert_int_equal(pair_connect(&p, &why), 0);
    assert_int_equal(a->ah_attr.is_global, 1);
    assert_int_equal(a->ah_attr.grh.sgid_index, 3);
    assert_memory_equal(a->ah_attr.grh.dgid.raw, theirs.raw, 16);
    assert_true(a->ah_attr.grh.hop_limit > 1); /* through routers */
    assert_int_equal(a->path_mtu, IBV_MTU_1024);
}

/* Step, device, port, GID and index, peer rank and host, the system's error, cause, remedy. */
static void test_refusals(void **state)
{
    static const struct {
        int create, modify;
        enum ibv_qp_state at;
        int code;
        const char *step, *word, *remedy;
    } cases[] = {
        {ENOMEM, 0, 0, ML_ERR_MEMORY, "cannot create a queue pair", "Cannot allocate memory",
         "run out of resources: see `rdma resource`"},
        {EBUSY, 0, 0, ML_ERR_DEVICE, "cannot create a queue pair", "Device or resource busy",
         "an earlier process may still hold its resources: try again"},
        {0, EINVAL, IBV_QPS_RTR, ML_ERR_LINK, "cannot connect the queue pair", "Invalid argument",
         "choose another one (--gid-index)"},
        {0, ETIMEDOUT, IBV_QPS_RTR, ML_ERR_LINK, "cannot connect the queue pair",
         "Connection timed out", "are these two devices on one cable"},
        {0, EHOSTUNREACH, IBV_QPS_RTR, ML_ERR_LINK, "cannot connect the queue pair",
         "No route to host", "compare the hostfile's wiring"},
        {0, ENODEV, IBV_QPS_INIT, ML_ERR_DEVICE, "cannot initialise the queue pair",
         "No such device", "the device has gone away"},
    };
    struct port p = port_of(IBV_LINK_LAYER_ETHERNET, IBV_MTU_1024);

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct fault why;

        setup(state);
        create_error = cases[i].create;
        modify_error = cases[i].modify;
        modify_fails_at = cases[i].at;
        assert_int_equal(pair_connect(&p, &why), cases[i].code);
        assert_non_null(strstr(why.text, cases[i].step));
        assert_non_null(strstr(why.text, "on mlx5_0 port 2 (GID 3, ::ffff:10.0.0.1) towards rank 3 "
                                         "on host b (GID 5, ::ffff:10.0.0.2): "));
        assert_non_null(strstr(why.text, cases[i].word));
        assert_non_null(strstr(why.text, cases[i].remedy));
        assert_int_equal(destroyed, cases[i].create ? 0 : 1); /* nothing is left behind */
    }
}

/* A device without reliable connections, as over Thunderbolt. */
static void test_unreliable(void **state)
{
    struct port p = port_of(IBV_LINK_LAYER_ETHERNET, IBV_MTU_1024);
    struct fault why;

    (void)state;
    assert_int_equal(kind_connect(QUEUE_PAIR_AUTO, &p, &why), 0);
    assert_int_equal(created, IBV_QPT_RC);

    setup(state);
    offers_rc = false;
    assert_int_equal(kind_connect(QUEUE_PAIR_AUTO, &p, &why), 0);
    assert_int_equal(created, IBV_QPT_UC);
    assert_false(masks[IBV_QPS_RTR] & IBV_QP_MIN_RNR_TIMER); /* the kernel refuses it for UC */

    setup(state);
    offers_rc = false;
    assert_int_equal(pair_connect(&p, &why), ML_ERR_DEVICE); /* RC was asked for */
    assert_int_equal(destroyed, 0);

    setup(state);
    create_error = ENOMEM; /* for either kind */
    assert_int_equal(kind_connect(QUEUE_PAIR_AUTO, &p, &why), ML_ERR_MEMORY);
    assert_non_null(strstr(why.text, "Cannot allocate memory"));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_lid, setup),
        cmocka_unit_test_setup(test_gid, setup),
        cmocka_unit_test_setup(test_refusals, setup),
        cmocka_unit_test_setup(test_unreliable, setup),
    };

    return cmocka_run_group_tests_name("queue_pair", tests, NULL, NULL);
}
