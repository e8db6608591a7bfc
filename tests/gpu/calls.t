#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every call with buffers in GPU memory, over shared memory and over TCP (gpu_calls.c): the results
# are right, the processor touches no GPU memory, the program's work is awaited, and nothing is left.
# The GPU is fake_cuda.c, or, with MLAUNCH_TEST_GPU=real, the machine's.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"

CALLS=$BUILD/tests/gpu/gpu_calls
[ "${MLAUNCH_TEST_GPU:-}" = real ] || export LD_LIBRARY_PATH=$BUILD/tests/gpu

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

check_output 0 "a program that doesn't load the driver doesn't get it" \
    "$MLAUNCH" -n 3 --oversubscribe --output raw -- "$CALLS" --host
check "such a program makes a call" "$MLAUNCH" -n 3 --oversubscribe \
    -x LD_DEBUG=libs --output raw -- "$CALLS" --host
check_match 'find library=libc\.so' "$ERR" "what the loader looks for is seen"
check_no_match 'find library=libcuda' "$ERR" "it looks for no driver in any directory"
done_testing
