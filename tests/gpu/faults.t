#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The driver of GPUs fails in rank 1, each of its calls once (gpu_faults.c, fake_cuda.c): the error
# says what failed and why, the other rank gets it too, and what can go on does. A rank that dies in
# the middle, and a plain access to GPU memory, are noticed.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"

. "${0%/*}/driver.sh"

# faults FAILURE WAY [--again]: FAILURE as FAKE_CUDA_FAIL has it. What the ranks say is put in their
# order. backend: options of mlaunch.
backend=()
faults() {
    local failure=$1
    shift
    # shellcheck disable=SC2016 # the rank's shell expands them
    run "$MLAUNCH" -n 2 --oversubscribe --output raw "${backend[@]}" -- sh -c \
        '[ "$MLAUNCH_RANK" = 0 ] || export FAKE_CUDA_FAIL="$0"; exec "$@"' \
        "$failure" "$BUILD/tests/gpu/gpu_faults" "$@"
    sort -o "$OUT" -s -k 1,1 "$OUT"
}

# is_said NAME LINE…: the ranks have said these regular expressions, and nothing else.
is_said() {
    local name=$1 line at=0
    shift
    while read -r line; do
        at=$((at + 1))
        [[ $# -ge $at && $line =~ ^${!at}$ ]] || at=1000
    done < "$OUT"
    if [ "$at" -eq $# ]; then
        pass "$name"
    else
        fail "$name" "expected: $*"
        diag_run
    fi
}

# breaks NAME FAILURE WAY SENTENCE: rank 1's call fails with the sentence, and rank 0's because of
# it.
breaks() {
    faults "$2" "$3"
    is_said "$1" "0: -6: $on_1: all_reduce: $4" "1: -6: $on_1: all_reduce: $4"
}

on_1='rank 1 on host localhost'
unknown='CUDA_ERROR_UNKNOWN \(made up by fake_cuda\)'
illegal='CUDA_ERROR_ILLEGAL_ADDRESS \(an illegal memory access was encountered\)'

faults none named
is_said "without a failure all is right" "0: right" "1: right"

every_call_fails() {
    breaks "the question which memory it is fails" cuPointerGetAttributes:1 blocking \
        "cannot tell which memory 0x[0-9a-f]+ is in: cuPointerGetAttributes: $unknown"
    breaks "the use of the context fails" cuCtxPushCurrent:1 blocking \
        "cannot use the context of GPU 1: cuCtxPushCurrent: $unknown"
    breaks "the program's kernel fails, in any stream" cuCtxSynchronize:1:700 blocking \
        "work that the program gave GPU 1 before the call has failed: cuCtxSynchronize: $illegal"
    breaks "the program's kernel fails, in the named stream" cuStreamSynchronize:1:700 named \
        "work that the program gave GPU 1 before the call has failed: cuStreamSynchronize: $illegal"
    breaks "the question whether a stream is captured fails" cuStreamIsCapturing:1 named \
        "work that the program gave GPU 1 before the call has failed: .*: $unknown"
    breaks "the making of a stream of ours fails" cuStreamCreate:1 blocking \
        "cannot make a stream for copies on GPU 1: cuStreamCreate: $unknown"
    breaks "the copy before the call fails" cuMemcpyAsync:1 blocking \
        "cannot copy 4000 bytes from GPU 1: cuMemcpyAsync: $unknown"
    breaks "the end of the copy before the call fails" cuStreamSynchronize:1 blocking \
        "cannot copy 4000 bytes from GPU 1: cuStreamSynchronize: $unknown"

    # Here rank 0 already has its result.
    for way in blocking started message; do
        name=all_reduce
        [ "$way" != message ] || name=sendrecv
        faults cuMemcpyAsync:2 "$way"
        is_said "the copy after the call fails, $way" "0: right" \
            "1: -6: $on_1: $name: cannot copy 4000 bytes to GPU 1: cuMemcpyAsync: $unknown"
    done
    breaks "the start of a call fails" cuMemcpyAsync:1 started \
        "cannot copy 4000 bytes from GPU 1: cuMemcpyAsync: $unknown"

    faults cuMemcpyAsync:2 blocking --again
    is_said "the group is broken on both sides after a failure" "0: right" \
        "0: -6: .*cannot copy 4000 bytes.*" "1: -6: .*" "1: -6: .*cannot copy 4000 bytes.*"

    for call in cuMemHostRegister:1 cuMemHostUnregister:-1 cuCtxGetId:-1; do
        faults "$call" blocking --again
        is_said "what only makes a call slower is no failure: ${call%:*}" "0: right" "0: right" \
            "1: right" "1: right"
    done

    # A driver that says so does not know host memory.
    for call in cuPointerGetAttributes:-1:201 cuPointerGetAttributes:-1:1; do
        faults "$call" host
        is_said "host memory stays host memory: $call" "0: right" "1: right"
    done

    for way in put get; do
        faults cuMemcpyAsync:1 "$way" --again
        is_said "a $way that fails harms nothing" "0: right" "0: right" \
            "1: -6: cannot copy 4000 bytes .* GPU 1: cuMemcpyAsync: $unknown" "1: right"
    done

    backend=(--backend tcp --local net)
    lost="-6: $on_1: send: cannot copy 4000 bytes from GPU 1: cuMemcpyAsync: $unknown"
    faults cuMemcpyAsync:1 give_few
    is_said "the copy of what is sent over TCP fails on both sides" "0: $lost" "1: $lost"
    faults cuMemcpyAsync:1 start_get --again
    is_said "the copy of a started get over TCP fails for its caller" "0: right" "0: right" \
        "1: -6: cannot copy 4000 bytes to GPU 1: cuMemcpyAsync: $unknown" "1: right"
    backend=()

    # Between GPUs of one host. Rank 1 takes, or gives.
    for call in none cuIpcOpenMemHandle:1 cuMemcpyAsync:2 cuDevicePrimaryCtxRetain:1 \
        cuDevicePrimaryCtxGetState:1 cuMemGetAddressRange:1; do
        faults "$call" take --again
        is_said "the receiver can't open GPU memory, so it is copied: ${call%:*}" \
            "0: right" "0: right" "1: right" "1: right"
    done
    for call in cuIpcGetMemHandle:1 cuMemGetAddressRange:1 cuCtxPushCurrent:2; do
        faults "$call" give --again
        is_said "the sender has no handle, so it is copied: ${call%:*}" \
            "0: right" "0: right" "1: right" "1: right"
    done
    faults cuIpcCloseMemHandle:-1 take
    is_said "memory that is left open after a call is noticed" "0: right" "1: right" \
        "1: memory of the other rank is left open"
    faults cuMemcpyAsync:1 give_few
    is_said "the copy of what is sent fails on both sides" "0: $lost" "1: $lost"
    faults cuMemcpyAsync:1 take_few
    is_said "the copy of what has come fails for the receiver" "0: right" \
        "1: -6: $on_1: recv: cannot copy 4000 bytes to GPU 1: cuMemcpyAsync: $unknown"
    # Windows whose parts are on GPUs: rank 0 uses the part of rank 1, or that uses its own.
    faults cuMemGetAddressRange:1 window
    lost="-1: $on_1: window_create: cannot tell where memory of GPU 1 begins: .*: $unknown"
    is_said "the question where a part's memory begins fails on both sides" "0: $lost" "1: $lost"
    for call in cuIpcGetMemHandle:1 cuIpcOpenMemHandle:-1; do
        faults "$call" window_put --again
        is_said "a part that can't be opened is served: ${call%:*}" \
            "0: right" "0: right" "1: right" "1: right"
    done
    export FAKE_CUDA_IPC=no
    for way in put get; do
        faults cuMemcpyAsync:1 "window_$way" --again
        lost="-6: $on_1: its part of the window: cannot copy 4000 bytes .* GPU 1: .*: $unknown"
        is_said \
            "a $way that the owner can't serve fails" "0: $lost" "0: $lost" "1: right" "1: right"
    done
    faults cuMemHostRegister:1 window_put
    is_said "memory that can't be pinned is only slower" "0: right" "1: right"
    faults none window_freed
    is_said "the use of a part that was freed fails" \
        "0: -6: $on_1: its part of the window: the program has freed the memory of GPU 1 .*" \
        "1: right"
    unset FAKE_CUDA_IPC
    for way in own wait; do
        faults cuMemcpyAsync:1 "window_$way" --again
        is_said "the copy of a number of one's own part fails, window_$way" "0: right" "0: right" \
            "1: -6: cannot copy 8 bytes from GPU 1: cuMemcpyAsync: $unknown" "1: right"
    done
    faults cuIpcCloseMemHandle:-1 window_swapped
    is_said "a window's part that is left open is noticed" "0: right" "1: right" \
        "1: memory of the other rank is left open"
}

faults none window_dies
check_match '^0: -5: rank 1 ' "$OUT" "the death of a part's owner is an error"

faults none offers
check_match '^0: -5: rank 1 ' "$OUT" "the death of a receiver before it takes an offer is an error"

pieces_fail() {
    # In pieces: a copy fails, or the process ends, while others are under way.
    for transport in "shm" "tcp --local net"; do
        # shellcheck disable=SC2206 # several words
        backend=(--backend $transport -x MLAUNCH_GPU_PIECES=4M)
        for way in give_many take_many cut; do
            name=send copy='1048576 bytes from'
            [ "$way" != take_many ] || name=recv copy='1048576 bytes to'
            [ "$way" != cut ] || name=all_reduce copy='4194304 bytes (from|to)'
            for call in cuMemcpyAsync:7 cuStreamSynchronize:4; do
                faults "$call" "$way"
                lost="-6: $on_1: $name: cannot copy $copy GPU 1: ${call%:*}: $unknown"
                is_said "a failure in the middle is named, $way over ${transport%% *}: ${call%:*}" \
                    "0: $lost" "1: $lost"
            done
            faults cuMemcpyAsync:7:die "$way"
            is_said "the end of a process in the middle is named, $way over ${transport%% *}" \
                "0: -5: rank 1 .*"
        done
    done
    backend=()
}

if is_fake "each call of the driver that fails is named" "none fails"; then
    every_call_fails
    pieces_fail
fi
faults none dies
check_match '^0: -5: rank 1 ' "$OUT" "a rank that dies in the middle ends the call of the other"

faults none touch
check_match 'the processor has touched GPU memory in the case: touch$' "$ERR" \
    "a plain access to GPU memory is noticed"
done_testing
