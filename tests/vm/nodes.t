#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Shared memory on a machine with two memory nodes, each with a processor, which is a virtual one:
# each rank's part lies on its own node (nodes.sh).
TEST_TIER=full
TEST_LIMIT=600
. "${0%/*}/../lib/test.sh"
. "$SOURCE/tests/vm/vms.sh"
run_in_vms 1 nodes.sh --nodes 2
