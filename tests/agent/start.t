#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# An agent alone starts a job: builds, programs that can't be started, what ranks find, many ranks.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/cases.sh"
cases start
