#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# An agent alone ends a job, whatever its ranks do, and removes what they leave.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/cases.sh"
cases stop
