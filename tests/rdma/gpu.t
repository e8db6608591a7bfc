#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# GPU memory on virtual machines: devices that can't register it, and devices that can (gpu.sh).
TEST_TIER=full
TEST_LIMIT=600
. "${0%/*}/../lib/test.sh"
. "$SOURCE/tests/rdma/vms.sh"
run_in_vms 3 gpu.sh
