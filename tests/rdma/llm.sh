#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs on host 0 of three VMs (tests/vm); its TAP is that of llm.t. Each host writes the same model.
TEST_LIMIT=280
. "${0%/*}/../lib/test.sh"
. "${0%/*}/jobs.sh"
# shellcheck disable=SC2016 # the rank's shell expands it
with_model='python3 "$1/tests/llm/tiny_model.py" /run/model.gguf --shape odd --type "$2"
    shift 2; exec "$@"'
for type in F32 Q8_0; do
    generate=(sh -c "$with_model" sh "$SOURCE" "$type" "$BUILD/examples/llm/llm" generate
        --model /run/model.gguf --prompt-tokens '72,101,108,108,111' --tokens 24 --temperature 0)
    check "$type: one rank" "${generate[@]}"
    alone=$(cat "$OUT")
    check_output "$alone" "… and the same tokens from 2 hosts" job 2 -- "${generate[@]}"
    check_output "$alone" "… and from 3" job 3 -- "${generate[@]}"
done
done_testing
