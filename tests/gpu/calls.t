#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every call with buffers in GPU memory, over shared memory and over TCP (gpu_calls.c): the results
# are right, the processor touches no GPU memory, the program's work is awaited, and nothing is left.
# The GPU is fake_cuda.c, or, with MLAUNCH_TEST_GPU=real, the machine's.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"

CALLS=$BUILD/tests/gpu/gpu_calls
. "${0%/*}/driver.sh"

for backend in "shm" "tcp --local net"; do
    # shellcheck disable=SC2086 # several words
    check "all calls succeed over ${backend%% *}" "$MLAUNCH" -n 3 --oversubscribe --output raw \
        --backend $backend -- "$CALLS"
    while read -r name; do
        if grep -qxF "right: $name" "$OUT"; then
            pass "case $name is right over ${backend%% *}"
        else
            fail "case $name is right over ${backend%% *}"
        fi
    done < <("$CALLS" --list)
done

# ways VARIABLE: all calls between ranks of one host; what rank 0 tells of rank 1 goes to $T/told.
ways() {
    check "all calls succeed with $1" "$MLAUNCH" -v -x "$1" -n 3 --oversubscribe --output raw -- \
        "$CALLS"
    grep '^mlaunch: rank 0: GPU memory for rank 1 ' "$ERR" > "$T/told"
}
told='GPU memory for rank 1'
if is_fake "GPU memory goes by CUDA IPC, or is copied" "they depend on the GPUs"; then
    ways FAKE_CUDA_IPC=yes
    check_output 1 "calls by CUDA IPC are told once" grep -c "$told goes by CUDA IPC" "$T/told"
    check_match "$told is copied through host memory in pieces: memory of GPU 0 can't go by CUDA IPC: \
cuIpcGetMemHandle: CUDA_ERROR_INVALID_VALUE" "$T/told" "memory of pools is copied, which is told"
    check_match "$told is copied .*: that rank's buffer is not on a GPU" "$T/told" \
        "the copy for a receiver in host memory is told"
    ways FAKE_CUDA_IPC=no
    check_no_match 'goes by CUDA IPC' "$T/told" \
        "no memory goes by CUDA IPC where none can be opened"
    check_match "$told is copied through host memory in pieces: that rank can't open it by CUDA IPC" \
        "$T/told" "the sender tells that its memory can't be opened"
    check_match "rank 1: GPU memory for rank 0 is copied .*cuIpcOpenMemHandle: \
CUDA_ERROR_MAP_FAILED" "$ERR" "the receiver tells it with the driver's word"
    run "$MLAUNCH" -v -x FAKE_CUDA_IPC=yes -n 3 --oversubscribe --output raw -- "$CALLS" \
        "messages with tags"
    check_match 'GPU memory for rank 1 goes by CUDA IPC' "$ERR" "messages with tags go by CUDA IPC"
fi

check_output 0 "a program that doesn't load the driver doesn't get it" \
    "$MLAUNCH" -n 3 --oversubscribe --output raw -- "$CALLS" --host
check "a program without the driver makes a call" "$MLAUNCH" -n 3 --oversubscribe \
    -x LD_DEBUG=libs --output raw -- "$CALLS" --host
check_match 'find library=libc\.so' "$ERR" "the loader says which libraries it looks for"
check_no_match 'find library=libcuda' "$ERR" "the loader looks for no driver in any directory"
done_testing
