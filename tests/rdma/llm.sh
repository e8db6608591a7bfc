#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs on host 0 of three VMs (tests/vm); its TAP is that of llm.t, which has written the models.
TEST_LIMIT=280
. "${0%/*}/../lib/test.sh"
. "${0%/*}/jobs.sh"
for type in F32 Q8_0; do
    generate=("$BUILD/examples/llm/llm" generate --model "$BUILD/tests/rdma/llm.$type.gguf"
        --prompt-tokens '72,101,108,108,111' --tokens 24 --temperature 0)
    check "one rank generates a text with a model in $type" "${generate[@]}"
    alone=$(cat "$OUT")
    check_output "$alone" \
        "2 hosts generate the same tokens with a model in $type" job 2 -- "${generate[@]}"
    check_output "$alone" \
        "3 hosts generate the same tokens with a model in $type" job 3 -- "${generate[@]}"
done
done_testing
