#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Calls of the system fail in a rank that is connected by TCP, one in each run of a job (inject.sh).
# shellcheck disable=SC2154 # STEPS: of inject.sh
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/inject.sh"
for group in malloc fork open mmap read write poll; do
    walk rank1 "$group" fail $STEPS --local net
done
done_testing
