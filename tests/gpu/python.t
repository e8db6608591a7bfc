#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The Python module with buffers in GPU memory (python_gpu_calls.py): objects that describe it by
# __cuda_array_interface__, DLPack, or as tensors of torch; what is refused says why.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"

needs python3
PYTHON=$(command -v python3)
export PYTHONDONTWRITEBYTECODE=1
CALLS=$SOURCE/tests/gpu/python_gpu_calls.py
. "${0%/*}/driver.sh"

for backend in "shm" "tcp --local net"; do
    # shellcheck disable=SC2086 # several words
    check "the calls end well over ${backend%% *}" "$MLAUNCH" -n 3 --oversubscribe --output raw \
        "${STRANGER[@]}" --backend $backend -- "$PYTHON" "$CALLS"
    check_match '^all calls with GPU memory are right' "$OUT" \
        "all calls are right over ${backend%% *}"
done
check "slips end no job" "$MLAUNCH" -n 2 --output raw "${STRANGER[@]}" -- "$PYTHON" "$CALLS" slips
check_match '^all calls with GPU memory are right' "$OUT" \
    "slips are sentences that say what is wrong"
numpy=
for p in "$PYTHON" /usr/bin/python3; do
    if "$p" -c 'import numpy' 2> /dev/null; then numpy=$p; fi
done
if [ -n "$numpy" ]; then
    check "transfers to arrays of numpy are right" "$MLAUNCH" -n 2 --output raw "${STRANGER[@]}" \
        -- "$numpy" "$CALLS" numpy
else
    skip "transfers to arrays of numpy are right" "no numpy here"
fi
# With arrays of the test's in the place of cupy's.
python3 "$SOURCE/tests/pages/page_commands.py" text README.md 'import cupy' > "$T/gpu.py"
check "README's example for GPUs runs" env PYTHONPATH="$SOURCE/tests/gpu/readme:$SOURCE/tests/gpu" \
    "$MLAUNCH" -n 2 "${STRANGER[@]}" -- "$PYTHON" "$T/gpu.py"
cp "$OUT" "$T/said"
check_output "[0] 0 [1, 1, 1, 1]
[1] 1 [1, 1, 1, 1]" "README's example for GPUs is right" sort "$T/said"
check_output "False" "the module for GPUs is not imported where there is none" \
    "$MLAUNCH" -n 1 --output raw "${STRANGER[@]}" -- "$PYTHON" -c 'import array, mlaunch, sys
mlaunch.init().all_reduce(array.array("i", [1]))
print("mlaunch.gpu" in sys.modules)'
check_error 1 'is on a GPU, whose driver this process does not have' \
    "a GPU without a driver is refused" "$MLAUNCH" -n 1 "${STRANGER[@]}" -- "$PYTHON" -c 'import mlaunch
class Lost:
    __cuda_array_interface__ = {"shape": (1,), "typestr": "<i4", "data": (4096, False), "version": 3}
mlaunch.init().all_reduce(Lost())'
done_testing
