#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# RDMA on four hosts that are virtual machines: the full mesh works, and ml_init and ml_finalize
# leak nothing (mesh.sh).
TEST_TIER=full
TEST_PARTS=3
TEST_LIMIT=800
. "${0%/*}/../lib/test.sh"
. "$SOURCE/tests/rdma/vms.sh"
is_long && TEST_LIMIT=3600
run_in_vms 4 mesh.sh
