#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Parts of an agent alone die, are stopped, or hear nothing: all is gone soon, with a sentence.
TEST_TIER=full
TEST_LIMIT=600
. "${0%/*}/../lib/test.sh"
. "${0%/*}/cases.sh"
cases fault
