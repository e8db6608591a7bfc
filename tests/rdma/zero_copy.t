#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Long messages between memory of ml_alloc, on virtual machines: the devices move them over all
# rails, also while rails fail, and never after a call has returned (zero_copy.sh).
TEST_TIER=full
TEST_LIMIT=800
. "${0%/*}/../lib/test.sh"
. "$SOURCE/tests/rdma/vms.sh"
run_in_vms 2 zero_copy.sh
