#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# An agent alone as a host of mlaunch sync, among strangers.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/cases.sh"
cases sync
