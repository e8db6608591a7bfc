#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Windows whose parts are in GPU memory (gpu_windows.c): by CUDA IPC between ranks of one host, and
# served by their ranks where that can't be, over shared memory and over TCP. The results are right,
# the processor touches no GPU memory, and nothing is left.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"

WINDOWS=$BUILD/tests/gpu/gpu_windows
. "${0%/*}/driver.sh"

# windows NAME OPTION… -- ARGUMENT…: all calls.
windows() {
    local name=$1 case options=()
    shift
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    check "all calls on windows succeed, $name" "$MLAUNCH" -v -n 3 --oversubscribe --output raw \
        "${options[@]}" -- "$WINDOWS" "$@"
    while read -r case; do
        if grep -qxF "right: $case" "$OUT"; then
            pass "case $case is right, $name"
        else
            fail "case $case is right, $name"
        fi
    done < <("$WINDOWS" --list)
}

windows "by CUDA IPC" --
check_match 'rank 0: GPU memory for rank 1 goes by CUDA IPC' "$ERR" "the use of CUDA IPC is told"
check_match 'memory for rank 0 is copied .* by CUDA IPC: cu[A-Za-z]+: CUDA_ERROR_[A-Z_]+' \
    "$ERR" "memory of pools is copied, which is told"
if is_fake "no memory goes by CUDA IPC where none can be opened" "all can"; then
    windows "where none can be opened" -x FAKE_CUDA_IPC=no --
    check_no_match 'goes by CUDA IPC' "$ERR" "no memory goes by CUDA IPC where none can be opened"
    check_match 'rank 0: GPU memory for rank 1 is copied .*cuIpcOpenMemHandle: CUDA_ERROR_MAP_FAILED' \
        "$ERR" "the copy is told with the driver's word"
fi
windows "with named streams" -- --named
windows "over TCP" --backend tcp --local net --
windows "from a rank without a GPU" -- --far
done_testing
