#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Long collective calls with buffers in GPU memory are cut into pieces: with the same bits as whole
# ones, whatever the algorithm (gpu_pieces.c); copies go on beside the link and beside each other;
# ranks with host memory take part (gpu_calls.c).
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"

. "${0%/*}/driver.sh"
export MLAUNCH_GPU_PIECES=64K
pieces() { "$MLAUNCH" -v -n "$1" --oversubscribe --output raw "${@:2}"; }
cut='GPU memory of collective calls is copied'

for backend in "shm" "tcp --local net"; do
    # shellcheck disable=SC2086 # several words
    check "calls that are cut succeed over ${backend%% *}" \
        pieces 3 --backend $backend -- "$BUILD/tests/gpu/gpu_pieces"
    cp "$OUT" "$T/out"
    cp "$ERR" "$T/told"
    check_output 27 "calls that are cut have the bits of whole ones over ${backend%% *}" grep -c \
        '^alike: ' "$T/out"
    check_no_match 'unlike|whole' "$T/out" \
        "no call has other bits or stays whole over ${backend%% *}"
    check_match "rank 2: $cut through host memory in pieces" "$T/told" \
        "the cut through host memory is told over ${backend%% *}"
    check_match "rank 2: $cut to host memory as a whole: another rank has it elsewhere" "$T/told" \
        "the reason for no cut is told over ${backend%% *}"
    # shellcheck disable=SC2086
    check "copies go on beside the link, over ${backend%% *}" pieces 3 --backend $backend \
        -x MLAUNCH_GPU_PIECES=1M -- "$BUILD/tests/gpu/gpu_calls" "long calls"
done

check "all calls succeed, those cut that can be" pieces 3 -- "$BUILD/tests/gpu/gpu_calls"
check_status 1 "a size that is none is refused" env MLAUNCH_GPU_PIECES=1K "$MLAUNCH" -n 1 \
    -- "$BUILD/tests/gpu/gpu_calls" --host
check_match "MLAUNCH_GPU_PIECES: '1K' is not a size from 64K to 1G, nor 0" "$ERR" \
    "the refusal of a size names its range"
done_testing
