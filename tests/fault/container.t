#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The failure table's rows for one host, inside a container: pids, /proc, /tmp and /dev/shm of its
# own. Expected: as outside.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/inside.sh"
inside container
. "${0%/*}/fault.sh"
. "${0%/*}/local_rows.sh"
check "this is a container" test "$(readlink /proc/self)" -lt 1000
local_rows
done_testing
