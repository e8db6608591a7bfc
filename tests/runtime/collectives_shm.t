#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Collectives × types × ops × sizes × ranks over shared memory against a plain reference
# (collectives.c): in place and not, misaligned, the same bits on all ranks.
# shellcheck disable=SC2154 # variables of collectives.sh
TEST_TIER=full
TEST_PARTS=2
. "${0%/*}/../lib/test.sh"
. "${0%/*}/collectives.sh"

for n in $ranks; do calls "shm, $n ranks" -n $n "${shm[@]}" --program "${long[@]}"; done
beyond_4g "beyond 4 GiB, shm" --backend shm
done_testing
