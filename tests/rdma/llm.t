#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A language model over RDMA, on three hosts that are virtual machines (llm.sh).
TEST_TIER=full
TEST_LIMIT=300
. "${0%/*}/../lib/test.sh"
. "$SOURCE/tests/rdma/vms.sh"
is_long || skip_all "only in check-long: other tests have its calls over RDMA"
[ -x "$BUILD/examples/llm/llm" ] || skip_all "built without examples/llm"
# Written here, because Python is slow in there.
for type in F32 Q8_0; do
    python3 "$SOURCE/tests/llm/tiny_model.py" "$BUILD/tests/rdma/llm.$type.gguf" --shape odd \
        --type $type
done
run_in_vms 3 llm.sh
