#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mlaunch verify and mlaunch sync on three hosts with RDMA that are virtual machines (verify.sh).
TEST_TIER=full
TEST_LIMIT=900
. "${0%/*}/../lib/test.sh"
. "$SOURCE/tests/rdma/vms.sh"
run_in_vms 3 verify.sh
