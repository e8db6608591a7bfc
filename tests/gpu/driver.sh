# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # BUILD is test.sh's
# The driver of the tests in this folder: that of fake_cuda.c or, with MLAUNCH_TEST_GPU=real, the
# machine's.
is_real() { [ "${MLAUNCH_TEST_GPU:-}" = real ]; }
is_real || export LD_LIBRARY_PATH=$BUILD/tests/gpu

# is_fake NAME WHY: true, or a skipped check NAME, because a real driver can't do what it needs.
is_fake() {
    is_real || return 0
    skip "$1" "with a real driver $2"
    return 1
}
