#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Ranks over RDMA are killed, and the others go on, with and without processes that take the places
# of the dead, on three hosts that are virtual machines (elastic.sh).
TEST_TIER=full
TEST_LIMIT=800
. "${0%/*}/../lib/test.sh"
. "$SOURCE/tests/rdma/vms.sh"
run_in_vms 3 elastic.sh -e SEED -e KILLS
