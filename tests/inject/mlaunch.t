#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Calls of the system fail in mlaunch, one in each run of a job (inject.sh).
# shellcheck disable=SC2154 # STEPS: of inject.sh
TEST_TIER=full
TEST_PARTS=3
. "${0%/*}/../lib/test.sh"
. "${0%/*}/inject.sh"
for group in malloc fork open read write poll; do walk mlaunch "$group" fail $STEPS; done
walk mlaunch poll eintr $STEPS # a signal is no failure
walk_ends mlaunch
walk_short mlaunch
done_testing
