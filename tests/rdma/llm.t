#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A language model over RDMA, on three hosts that are virtual machines (llm.sh).
TEST_LIMIT=300
. "${0%/*}/../lib/test.sh"
. "$SOURCE/tests/rdma/vms.sh"
[ -x "$BUILD/examples/llm/llm" ] || skip_all "built without examples/llm"
run_in_vms 3 llm.sh
