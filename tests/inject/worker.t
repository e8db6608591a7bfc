#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Calls of the system fail in the agent's worker, one in each run of a job (inject.sh).
# shellcheck disable=SC2154 # STEPS: of inject.sh
TEST_TIER=full
TEST_PARTS=4
. "${0%/*}/../lib/test.sh"
. "${0%/*}/inject.sh"
for group in malloc open write; do walk worker "$group" fail $STEPS; done
walk worker read fail all # the reads of output are few among the others
# A signal is no failure.
walk worker poll eintr $STEPS
walk worker read eintr $STEPS
walk_ends worker
walk_short worker
done_testing
