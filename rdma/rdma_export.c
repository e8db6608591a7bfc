/* SPDX-License-Identifier: MIT */
/* rdma_export.c: the only exported symbol of mlaunch-rdma.so. */
#include "common/build_id.h"
#include "rdma/rdma_table.h"
#include "rdma/verbs/region.h"

static const struct endpoint_table table = {
    .build = build_id,
    .open = endpoint_open,
    .close = endpoint_close,
    .publish = endpoint_publish,
    .connect = endpoint_connect,
    .connected = endpoint_connected,
    .agree = endpoint_agree,
    .check = endpoint_check,
    .check_late = endpoint_check_late,
    .slot = endpoint_slot,
    .send = endpoint_send,
    .reaches = endpoint_reaches,
    .begin = endpoint_begin,
    .turn = endpoint_turn,
    .part = endpoint_part,
    .mark = endpoint_mark,
    .has_read = endpoint_has_read,
    .announce = endpoint_announce,
    .stop = endpoint_stop,
    .trouble = endpoint_trouble,
    .chunk = endpoint_chunk,
    .release = endpoint_release,
    .control_next = endpoint_control_next,
    .control_take = endpoint_control_take,
    .dropped = endpoint_dropped,
    .poll = endpoint_poll,
    .failed = endpoint_failed,
    .fd = endpoint_fd,
    .sleep = endpoint_sleep,
    .wake = endpoint_wake,
    .flush = endpoint_flush,
    .descriptors = endpoint_descriptors,
    .memory_add = region_add,
    .memory_drop = region_drop,
    .memory_add_gpu = region_add_gpu,
    .rma = {.open = rma_open,
            .close = rma_close,
            .add = rma_add,
            .publish = rma_publish,
            .connect = rma_connect,
            .has = rma_has,
            .part_way = rma_part_way,
            .remove = rma_remove,
            .put = rma_put,
            .get = rma_get,
            .reaches = rma_reaches,
            .own = rma_own,
            .change = rma_change,
            .flush = rma_flush,
            .start = rma_start,
            .await = rma_await,
            .progress = rma_progress,
            .dropped = rma_dropped,
            .descriptors = rma_descriptors},
};

const struct endpoint_table *mlaunch_rdma_table(void)
{
    return &table;
}
