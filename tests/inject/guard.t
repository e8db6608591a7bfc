#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Calls of the system fail in the agent's guard, one in each run of a job (inject.sh).
# shellcheck disable=SC2154 # STEPS: of inject.sh
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/inject.sh"
for group in malloc fork open read poll; do walk guard "$group" fail $STEPS; done
walk guard poll eintr $STEPS # a signal is no failure
done_testing
