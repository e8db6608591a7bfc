#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Sequences of random collective calls against a plain reference (collectives.c), over each
# transport of one host, blocking and started, and in memory of ml_alloc.
# shellcheck disable=SC2154 # variables of collectives.sh
TEST_TIER=quick
TEST_PARTS=2
. "${0%/*}/../lib/test.sh"
. "${0%/*}/collectives.sh"

for seed in $(seeds); do
    calls "random calls, shm, 5 ranks, seed $seed" -n 5 "${shm[@]}" --program --random $seed $cases
    calls "random calls, tcp, 3 ranks, seed $seed" -n 3 "${tcp[@]}" --program --random $seed $cases
    calls "random calls, tcp --secure, 4 ranks, seed $seed" -n 4 "${secure[@]}" --program \
        --random $seed $cases
    calls "started and not, tcp --secure, 3 ranks, seed $seed" -n 3 "${secure[@]}" --program \
        --started --random $seed $cases
    calls "started and not, shm, 4 ranks, seed $seed" -n 4 "${shm[@]}" --program \
        --started --random $seed $cases
    calls "started and not, tcp, 3 ranks, seed $seed" -n 3 "${tcp[@]}" --program \
        --started --random $seed $cases
done
calls "random calls in memory of ml_alloc, shm, 3 ranks" -n 3 "${shm[@]}" --program --alloc \
    --random 3 $cases
calls "random calls in memory of ml_alloc, tcp, 3 ranks" -n 3 "${tcp[@]}" --program --alloc \
    --random 3 $cases
if is_long; then
    calls "random calls, shm, 64 ranks" -n 64 "${shm[@]}" --program --random 64 100
fi
done_testing
