#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A language model over RDMA on three hosts: they generate the same tokens as one rank.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../standin/standin.sh"
[ -x "$BUILD/examples/llm/llm" ] || skip_all "built without examples/llm"
on_standin 3
. "${0%/*}/jobs.sh"

for type in F32 Q8_0; do
    python3 "$SOURCE/tests/llm/tiny_model.py" "$T/$type.gguf" --shape odd --type $type
    generate=("$BUILD/examples/llm/llm" generate --model "$T/$type.gguf"
        --prompt-tokens '72,101,108,108,111' --tokens 24 --temperature 0)
    check "one rank generates a text with a model in $type" "${generate[@]}"
    alone=$(cat "$OUT")
    check_output "$alone" \
        "2 hosts generate the same tokens with a model in $type" job 2 -- "${generate[@]}"
    check_output "$alone" \
        "3 hosts generate the same tokens with a model in $type" job 3 -- "${generate[@]}"
done
done_testing
