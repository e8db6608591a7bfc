/* SPDX-License-Identifier: MIT */
#include "runtime/api.h"

#include "common/build_id.h"
#include "runtime/api_call.h"
#include "runtime/api_group.h"
#include "runtime/api_keep.h"
#include "runtime/api_last.h"
#include "runtime/api_memory.h"
#include "runtime/api_window.h"
#include "runtime/world/abort.h"

const struct runtime_table api_table = {
    .build = build_id,
    .init = api_group_init,
    .init_eager = api_group_init_eager,
    .finalize = api_group_finalize,
    .rank = api_group_rank,
    .size = api_group_size,
    .host = api_group_host,
    .error = api_last_text,
    .abort = abort_job,
    .split = api_group_split,
    .group_create = api_group_create,
    .group_free = api_group_free,
    .repair = api_group_repair,
    .revoke = api_group_revoke,
    .agree = api_group_agree,
    .id = api_group_id,
    .changed = api_group_changed,
    .keep = api_keep,
    .kept = api_keep_kept,
    .kept_size = api_keep_kept_size,
    .restore = api_keep_restore,
    .next_type = api_call_next_type,
    .next_place = api_call_next_place,
    .next_stream = api_call_next_stream,
    .alloc = api_memory_alloc,
    .free = api_memory_free,
    .pool_create = api_memory_pool_create,
    .pool_create_at = api_memory_pool_create_at,
    .pool_destroy = api_memory_pool_destroy,
    .pool_alloc = api_memory_pool_alloc,
    .pool_free = api_memory_pool_free,
    .pool_memory = api_memory_pool_memory,
    .pool_left = api_memory_pool_left,
    .run = api_call_run,
    .start = api_call_start,
    .test = api_call_test,
    .wait = api_call_wait,
    .should_stop = api_call_should_stop,
    .window_create = api_window_create,
    .window_free = api_window_free,
    .window_memory = api_window_memory,
    .next_window_stream = api_window_next_stream,
    .put = api_window_put,
    .get = api_window_get,
    .start_put = api_window_start_put,
    .start_get = api_window_start_get,
    .put_signal = api_window_put_signal,
    .wait_signal = api_window_wait_signal,
    .flush = api_window_flush,
    .fetch_add = api_window_fetch_add,
    .compare_swap = api_window_compare_swap,
};
