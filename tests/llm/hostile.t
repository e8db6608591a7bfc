#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What comes from strangers: requests that are wrong, and models with changed bytes.
# shellcheck disable=SC2154 # status, serve_status: of test.sh and server.sh
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/server.sh"

check "a model is made for the server" python3 "$TINY" "$T/tiny.gguf"
check "the server is healthy" serve_start -n 2 -- --model "$T/tiny.gguf"
[ "$status" = 0 ] || done_testing
check "requests that are wrong are refused, and harm nobody" \
    python3 "$SOURCE/tests/llm/malformed_http.py" "$PORT"
diag_file "$OUT"
check "the server is healthy after them" serve_healthy
serve_stop
check "the server has ended by the signal alone" test "$serve_status" = 143
no_survivors "nothing is left of the server" "$MARK"

# One of each family and block format, so that each reader meets wrong bytes.
models=("$T/q8.gguf" "$T/q4.gguf" "$T/spm.gguf" "$T/q4k.gguf")
check "a model of llama in Q8_0 is made" python3 "$TINY" "${models[0]}" --type Q8_0
check "a model of qwen3 in Q4_0 is made" python3 "$TINY" "${models[1]}" --arch qwen3 --type Q4_0 \
    --tied
check "a model with SentencePiece is made" python3 "$TINY" "${models[2]}" --vocabulary spm \
    --shape narrow --rope-freqs
check "a model of qwen2 in Q4_K is made" python3 "$TINY" "${models[3]}" --arch qwen2 \
    --shape square --type Q4_K
count=100
! is_long || count=4000
check "$count models with changed bytes run or are refused in words" \
    python3 "$SOURCE/tests/llm/mutated_models.py" "$LLM" "$count" 1 "$T" "${models[@]}"
diag_file "$OUT"
done_testing
