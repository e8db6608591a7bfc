#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Ranks over RDMA are killed, and the others go on, with and without processes that take the places
# of the dead, on three hosts that are virtual machines (elastic.sh).
TEST_TIER=full
TEST_LIMIT=800
. "${0%/*}/../lib/test.sh"
is_long || skip_all "three guests for 3 minutes of a processor: only with MLAUNCH_TEST_LONG=1"
. "$SOURCE/tests/rdma/vms.sh"
run_in_vms 3 elastic.sh -e SEED -e KILLS
