#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Windows on virtual machines: the devices read and write the other rank's memory by themselves,
# also while rails fail; nothing is left behind (windows.sh).
TEST_TIER=full
TEST_PARTS=3
TEST_LIMIT=800
. "${0%/*}/../lib/test.sh"
. "$SOURCE/tests/rdma/vms.sh"
run_in_vms 2 windows.sh
