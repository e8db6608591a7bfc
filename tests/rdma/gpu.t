#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# GPU memory on three hosts with RDMA: devices that can't register it, and devices that can. The
# GPUs are those of tests/gpu/fake_cuda.c. The stand-in takes no dma-bufs, and registers GPU memory
# as if it were the host's only if that is not hidden from it.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../standin/standin.sh"
on_standin 3
. "${0%/*}/jobs.sh"

CALLS=$BUILD/tests/gpu/gpu_calls

# calls NAME VARIABLE…: every call is right. What is told goes to $T/told.
calls() {
    local name=$1 options=() right
    shift
    for variable; do options+=(-x "$variable"); done
    check "$name end well" job 3 -v -x LD_LIBRARY_PATH="$BUILD/tests/gpu" "${options[@]}" -- \
        "$CALLS"
    cp "$ERR" "$T/told"
    right=$(grep -c '^right: ' "$OUT")
    check "$name are right, all $right of them" test "$right" -eq "$("$CALLS" --list | wc -l)"
}
told='mlaunch: rank 0: GPU memory for rank 1'
refusal="$told is copied through host memory in pieces: [0-9]+ KiB of GPU memory can't be registered on \
rxe_p1 port 1: neither by a dma-buf \(the device: .*\) nor by nvidia-peermem \(Bad address; is the \
kernel module nvidia_peermem loaded\?\)"

calls "calls beside devices that can't register GPU memory"
check "the refusal of GPU memory is told with its reasons" grep -Eqx "$refusal" "$T/told"
check_no_match 'goes by RDMA' "$T/told" "no message goes by RDMA beside such devices"

check "long calls that are cut end well beside such devices" job 3 -v \
    -x LD_LIBRARY_PATH="$BUILD/tests/gpu" -x MLAUNCH_GPU_PIECES=64K -- "$CALLS" "long calls"
cp "$ERR" "$T/told"
check_match "^right: long calls" "$OUT" "long calls that are cut are right beside such devices"
check_match "rank 0: GPU memory of collective calls is copied through host memory in pieces" \
    "$T/told" "long calls go in pieces, which is told"

calls "calls beside devices that can" FAKE_CUDA_PEERMEM=1
check_output 1 "the way by RDMA is told once for calls" \
    grep -cx "$told goes by RDMA, registered by nvidia-peermem" "$T/told"
check_no_match "$told is copied .*dma-buf" "$T/told" \
    "no refusal is told beside devices that can register"

check "messages between GPUs end well" job 3 -v -x LD_LIBRARY_PATH="$BUILD/tests/gpu" \
    -x FAKE_CUDA_PEERMEM=1 -- "$CALLS" "started messages"
cp "$OUT" "$T/right"
cp "$ERR" "$T/told"
check_output "right: started messages" "messages between GPUs are right" cat "$T/right"
check_output "$told goes by RDMA, registered by nvidia-peermem" \
    "messages between GPUs go by RDMA, all of them" grep -x "$told .*" "$T/told"

# windows NAME RIGHT OPTION… -- ARGUMENT…: as many cases of calls on windows are right. What is told
# goes to $T/told.
windows() {
    local name=$1 right=$2
    check "$name end well" job 3 -v -x LD_LIBRARY_PATH="$BUILD/tests/gpu" "${@:3}"
    cp "$ERR" "$T/told"
    cp "$OUT" "$T/said"
    check_output "$right" "$name are right, all $right of them" grep -c '^right: ' "$T/said"
}
WINDOWS=$BUILD/tests/gpu/gpu_windows
windows "parts on GPUs beside devices that can't register them" 1 -- "$WINDOWS" --few
check "parts are served by their owners, and why is told" grep -Eqx "$refusal" "$T/told"
check_no_match 'goes by RDMA' "$T/told" "no part goes by RDMA beside such devices"
windows "parts on GPUs that devices register" "$("$WINDOWS" --list | wc -l)" \
    -x FAKE_CUDA_PEERMEM=1 -- "$WINDOWS"
check_output 1 "the way by RDMA is told once for parts" \
    grep -cx "$told goes by RDMA, registered by nvidia-peermem" "$T/told"
check_match "$told is copied .*: it is managed memory, which moves" "$T/told" \
    "managed memory is copied, which is told"
check_match '^flushes: some' "$T/said" "the owner makes its GPU see what devices have written"
if is_long; then
    run job 3 -x LD_LIBRARY_PATH="$BUILD/tests/gpu" -x FAKE_CUDA_PEERMEM=1 \
        -x FAKE_CUDA_FAIL=cuFlushGPUDirectRDMAWrites:-1:801 -- "$WINDOWS" --few
    check_match '^wrong: all parts on GPUs' "$OUT" \
        "an owner that made nothing seen would be noticed"
    windows "parts on GPUs that see that by themselves" 1 \
        -x FAKE_CUDA_PEERMEM=1 -x FAKE_CUDA_ORDERED=1 -- "$WINDOWS" --few
    check_match '^flushes: none' "$T/said" "GPUs that see writes by themselves need no flush"
fi

# faults WAY [OPTION…]: two ranks, of which rank 1 owns the part.
faults() {
    run job 2 -x LD_LIBRARY_PATH="$BUILD/tests/gpu" -x FAKE_CUDA_PEERMEM=1 "${@:2}" -- \
        "$BUILD/tests/gpu/gpu_faults" "$1"
}
faults window_dies
check_match '^0: -5: rank 1 ' "$OUT" "the death of the owner of a registered part is an error"
faults window_freed_put -x FAKE_CUDA_PINNED=1
check_match '^0: -6: rank 1 .*: its part of the window: the program has freed the memory of GPU 1' \
    "$OUT" "a registered part that the program frees is an error"

check_output "" "nothing is left on the device" objects 0 1
done_testing
