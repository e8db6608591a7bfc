#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The failure table's rows for one host, as an ordinary user: without a control group, without power
# over others' processes. Expected: as for root.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/inside.sh"
inside user
. "${0%/*}/fault.sh"
. "${0%/*}/local_rows.sh"
check_status 1 "this is not root" test "$(id -u)" -eq 0
local_rows
done_testing
