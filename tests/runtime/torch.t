#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The backend mlaunch of torch.distributed: its calls (torch_calls.py), a death, who is refused.
# shellcheck disable=SC2154 # variables of torch.sh
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/torch.sh"

for way in "-n 2" "-n 4 --oversubscribe --backend tcp --local net"; do
    # shellcheck disable=SC2086
    check "a job of all calls ends well, $way" "$MLAUNCH" $way --output raw -- "$PYTHON" "$CALLS"
    check_match '^all calls of torch are right' "$OUT" "all calls of torch are right, $way"
done
check "a job in which places of the module raise ends well" "$MLAUNCH" -n 1 --output raw -- \
    "$PYTHON" "$CALLS" raised
check_match '^whatever raises leaves tensors held' "$OUT" \
    "an exception at any place of a start leaves its tensors held"
check_status 137 "a rank that is killed gives the job its status" "$MLAUNCH" -n 3 \
    --oversubscribe --output raw -- "$PYTHON" "$CALLS" die
check_match '^rank 0: rank 1 .*killed by signal 9' "$OUT" "rank 0 names the rank that was killed"
check_match '^rank 2: rank 1 .*killed by signal 9' "$OUT" "rank 2 names the rank that was killed"
check "groups of some of the ranks work beside gloo" "$MLAUNCH" -n 3 --oversubscribe \
    -x GLOO_SOCKET_IFNAME=lo --output raw -- "$PYTHON" "$CALLS" beside
check_output False "import mlaunch does not import torch" "$MLAUNCH" -n 1 --output raw -- \
    "$PYTHON" -c 'import mlaunch, sys; print("torch" in sys.modules)'
check_error 1 'world_size 2, but the job has 1 rank' "another number of ranks is refused" \
    "$MLAUNCH" -n 1 -- "$PYTHON" -c 'import torch.distributed as dist, mlaunch.torch
dist.init_process_group("mlaunch", rank=0, world_size=2, store=dist.HashStore())'
done_testing
