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
    check "all calls over ${backend%% *}" "$MLAUNCH" -n 3 --oversubscribe --output raw \
        --backend $backend -- "$CALLS"
    while read -r name; do
        if grep -qxF "right: $name" "$OUT"; then
            pass "… $name"
        else
            fail "… $name"
        fi
    done < <("$CALLS" --list)
done

# ways VARIABLE: all calls between ranks of one host; what rank 0 tells of rank 1 goes to $T/told.
ways() {
    check "all calls, $1" "$MLAUNCH" -v -x "$1" -n 3 --oversubscribe --output raw -- "$CALLS"
    grep '^mlaunch: rank 0: GPU memory for rank 1 ' "$ERR" > "$T/told"
}
told='GPU memory for rank 1'
if is_fake "the ways of calls" "they depend on the GPUs"; then
    ways FAKE_CUDA_IPC=yes
    check_output 1 "… go by CUDA IPC, which is told once" grep -c "$told goes by CUDA IPC" "$T/told"
    check_match "$told is copied through host memory in pieces: memory of GPU 0 can't go by CUDA IPC: \
cuIpcGetMemHandle: CUDA_ERROR_INVALID_VALUE" "$T/told" "… but memory of pools"
    check_match "$told is copied .*: that rank's buffer is not on a GPU" "$T/told" \
        "… and what is received in host memory"
    ways FAKE_CUDA_IPC=no
    check_no_match 'goes by CUDA IPC' "$T/told" "… where none can be opened: none go by CUDA IPC"
    check_match "$told is copied through host memory in pieces: that rank can't open it by CUDA IPC" \
        "$T/told" "… which the sender tells"
    check_match "rank 1: GPU memory for rank 0 is copied .*cuIpcOpenMemHandle: \
CUDA_ERROR_MAP_FAILED" "$ERR" "… and the receiver, with the driver's word"
    run "$MLAUNCH" -v -x FAKE_CUDA_IPC=yes -n 3 --oversubscribe --output raw -- "$CALLS" \
        "messages with tags"
    check_match 'GPU memory for rank 1 goes by CUDA IPC' "$ERR" "messages with tags go by CUDA IPC"
fi

check_output 0 "a program that doesn't load the driver doesn't get it" \
    "$MLAUNCH" -n 3 --oversubscribe --output raw -- "$CALLS" --host
check "such a program makes a call" "$MLAUNCH" -n 3 --oversubscribe \
    -x LD_DEBUG=libs --output raw -- "$CALLS" --host
check_match 'find library=libc\.so' "$ERR" "what the loader looks for is seen"
check_no_match 'find library=libcuda' "$ERR" "it looks for no driver in any directory"
done_testing
