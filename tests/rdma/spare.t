#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Hosts of a job over RDMA are lost; spare hosts whose wiring the hostfile states take their places
# while the others run, and so do hosts that join again, on four virtual machines (spare.sh).
TEST_TIER=full
TEST_LIMIT=600
. "${0%/*}/../lib/test.sh"
is_long || skip_all "four guests for 2 minutes of a processor: only with MLAUNCH_TEST_LONG=1"
. "$SOURCE/tests/rdma/vms.sh"
run_in_vms 4 spare.sh
