#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# RDMA on three hosts that are virtual machines: what works, and the sentence for each failure
# (hosts.sh).
TEST_TIER=full
TEST_LIMIT=1800
. "${0%/*}/../lib/test.sh"
. "$SOURCE/tests/rdma/vms.sh"
run_in_vms 3 hosts.sh
