#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Calls with buffers in GPU memory that are cut (pieces.t), on two hosts with two ranks each, whose
# algorithms reduce on each host first.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/driver.sh"

hosts_up 2
check "calls that are cut succeed on 2 hosts with 2 ranks each" "$MLAUNCH" \
    --ssh-config "$NETNS_SSH_CONFIG" -H "$H1:2,$H2:2" \
    -x LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}" -x MLAUNCH_GPU_PIECES=64K --output raw \
    -- "$BUILD/tests/gpu/gpu_pieces"
cp "$OUT" "$T/out"
check_output 27 "calls that are cut have the bits of whole ones" grep -c '^alike: ' "$T/out"
check_no_match 'unlike|whole' "$T/out" "no call has other bits or stays whole"
done_testing
