#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A message of more than 4 GiB, in a few MiB of memory (beyond.c); over RDMA: tests/rdma/mesh.sh, in
# check-long.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"

[ "$SANITIZE" = no ] || skip_all "too slow with a sanitizer"
for options in "--backend shm" "--backend tcp --local net"; do
    # shellcheck disable=SC2086 # several words
    check "a job with a message of more than 4 GiB ends well, $options" "$MLAUNCH" -n 2 \
        --oversubscribe --output raw $options -- "$BUILD/tests/runtime/beyond"
    check_match '^4299967307 bytes are right$' "$OUT" \
        "a message of more than 4 GiB is right, $options"
done
done_testing
