#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Ranks over the stand-in's RDMA devices are killed on three hosts, and the others go on, with and
# without processes that take the places of the dead (tests/rdma/elastic.sh).
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/standin.sh"
[ "$SANITIZE" = no ] || skip_all "the repair is the same over TCP, where it is run with sanitizers"
run_on_standin 3 elastic.sh
