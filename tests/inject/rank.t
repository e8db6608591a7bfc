#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Calls of the system fail in a rank that shares memory with others, one in each run of a job
# (inject.sh).
# shellcheck disable=SC2154 # STEPS: of inject.sh
TEST_TIER=full
TEST_PARTS=2
. "${0%/*}/../lib/test.sh"
. "${0%/*}/inject.sh"
for group in malloc fork open mmap read write poll; do
    walk rank1 "$group" fail $STEPS
    is_long && walk rank0 "$group" fail all
done
# A signal is no failure.
walk rank1 poll eintr $STEPS
walk rank1 read eintr $STEPS
walk_ends rank1
walk_short rank1
done_testing
