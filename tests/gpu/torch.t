#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The backend of torch.distributed with tensors on a CUDA device, by a torch without CUDA
# (torch_gpu_calls.py). With a torch that has it, this file is skipped: it replaces functions.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../runtime/torch.sh"
. "${0%/*}/driver.sh"

! is_real || skip_all "it replaces functions of a torch without CUDA"
check "the calls end well" "$MLAUNCH" -n 3 --oversubscribe --output raw -- "$PYTHON" \
    "$SOURCE/tests/gpu/torch_gpu_calls.py"
check_match '^all calls of torch with GPU memory are right' "$OUT" "all calls of torch are right"
done_testing
