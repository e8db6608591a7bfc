#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mlaunch bench --memory cuda: every operation with buffers on a GPU, whose results are right; a
# copy that fails; no driver.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"

bench() {
    "$MLAUNCH" bench "$@" --memory cuda -n 2 --oversubscribe
}

if [ "${MLAUNCH_TEST_GPU:-}" != real ]; then
    check_error 2 'needs NVIDIA.s driver on each host: libcuda\.so\.1: ' \
        "--memory cuda without a driver is refused" bench --sizes 8
fi
. "${0%/*}/driver.sh"
for operation in all_reduce all_gather reduce_scatter reduce gather scatter all_to_all broadcast \
    sendrecv lat bw put get atomic; do
    check "bench $operation checks its results on GPUs" bench "$operation" --sizes 8 --stress 2 \
        --check
done
for operation in put get; do
    check "$operation of much works between parts on GPUs" bench "$operation" --sizes 3M \
        --stress 2 --check
    check "$operation of much works where the owner serves it" bench "$operation" --sizes 3M \
        --stress 2 --check --backend tcp --local net
done
check "all_reduce of long vectors checks its bits" bench --sizes 1M --stress 2 \
    --check --check-bits --json
cp "$OUT" "$T/json"
check "all_reduce of long vectors that are cut checks its bits" bench --sizes 1M --stress 2 \
    --check --check-bits -x MLAUNCH_GPU_PIECES=64K
check_match '"memory": "cuda"' "$T/json" "the report says that the memory is CUDA's"
if is_fake "a copy that fails is named" "no copy fails"; then
    check_error 2 'cannot copy 8 bytes from GPU [01]: cuMemcpyAsync: ' \
        "a copy that fails is named" bench --sizes 8 -x FAKE_CUDA_FAIL=cuMemcpyAsync:1
fi
check "tests/bench/gpu runs without MPI" "$MLAUNCH" -n 2 --oversubscribe "${STRANGER[@]}" -- \
    python3 "$SOURCE/tests/bench/gpu" 1 1
check_match '^\[0\] all_reduce +[0-9.]+ +[0-9.]+ +[0-9.]+$' "$OUT" \
    "tests/bench/gpu says what a copy would take"
if ! command -v mpicc.openmpi > "$T/which" || is_real; then
    skip "tests/bench/gpu says which MPI takes no buffers on GPUs" \
        "there is no Open MPI here, or it may take buffers on GPUs"
else
    run env MPIS=openmpi "$MLAUNCH" -n 2 --oversubscribe "${STRANGER[@]}" -- \
        python3 "$SOURCE/tests/bench/gpu" 1 1
    check_match '^\[0\] MPI with CUDA: not here: Open MPI v[0-9.]+ says that it takes no buffers on GPUs$' \
        "$OUT" "tests/bench/gpu says which MPI takes no buffers on GPUs"
    mkdir "$T/bin"
    for tool in dirname mktemp rm; do
        ln -s "$(command -v $tool)" "$T/bin"
    done
    check_output "MPI with CUDA: not here: there is no mpicc" \
        "tests/bench/gpu_mpi says that there is no mpicc" \
        env PATH="$T/bin" "$(command -v bash)" "$SOURCE/tests/bench/gpu_mpi" 2 1 1
    # The memory of this driver can be read by the processor, so any MPI takes it.
    check "an MPI that takes buffers on GPUs is measured" env MPIS=openmpi MPI_TRUST=1 \
        FAKE_CUDA_PEERMEM=1 "$SOURCE/tests/bench/gpu_mpi" 2 1 2 1.5
    check_match '^message, Open MPI v[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+$' "$OUT" \
        "messages of MPI have lines as ours"
    check_match '^all_reduce, Open MPI v[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+$' "$OUT" \
        "all_reduce of MPI has a line as ours"
fi
for operation in link transfer; do
    check_error 125 "--memory cuda is not for $operation" \
        "$operation refuses --memory cuda" bench "$operation"
done
done_testing
