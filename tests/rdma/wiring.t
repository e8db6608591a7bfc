#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# RDMA's wiring on three virtual machines: found, written, verified, and every sentence for what is
# wrong (wiring.sh).
TEST_TIER=full
TEST_LIMIT=1200
. "${0%/*}/../lib/test.sh"
. "$SOURCE/tests/rdma/vms.sh"
run_in_vms 3 wiring.sh
