#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Queue pairs that come up with the first message between two ranks, on three hosts that are virtual
# machines (first_use.sh).
TEST_TIER=full
TEST_LIMIT=800
. "${0%/*}/../lib/test.sh"
. "$SOURCE/tests/rdma/vms.sh"
is_long && TEST_LIMIT=3600
run_in_vms 3 first_use.sh
