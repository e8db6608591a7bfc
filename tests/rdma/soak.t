#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Many short jobs beside a long one over RDMA, on two hosts that are virtual machines: nothing grows
# (soak.sh).
TEST_TIER=full
TEST_LIMIT=3000
. "${0%/*}/../lib/test.sh"
. "$SOURCE/tests/rdma/vms.sh"
run_in_vms 2 soak_guest.sh
