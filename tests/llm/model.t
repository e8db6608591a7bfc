#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# llm's arithmetic: what it expects after each token is what llama.cpp expects, in all architectures
# and types, whatever number of ranks there is and however they are connected; and what it cannot
# read it refuses with a message.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/npm.sh"
llm=$BUILD/examples/llm/llm
cases() { python3 "$SOURCE/tests/llm/model_cases.py" "$@"; }
tiny() { python3 "$SOURCE/tests/llm/tiny_model.py" "$@"; }

check "14 models are written" cases write "$T"
mapfile -t names < "$OUT"
read -r prompt count < <(cases prompt)
files=("${names[@]/#/$T/}")
files=("${files[@]/%/.gguf}")

# --- beside llama.cpp ---

# judged LABEL FILE: one test a model, against what FILE has of another program.
judged() {
    local verdict what
    cases judge "$T" "$2" "$llm" > "$T/verdicts"
    while read -r verdict what; do
        if [ "$verdict" = ok ]; then pass "$1: $what"; else fail "$1: $what"; fi
    done < "$T/verdicts"
}
judged "as llama.cpp once did" "$SOURCE/tests/llm/data/model.jsonl"
if npm_ready; then
    npm_script model_peer.mjs
    if node "$NPM/model_peer.mjs" "$prompt" "$count" "${files[@]}" > "$T/peer" 2> "$T/error"; then
        judged "as llama.cpp does here" "$T/peer"
    else
        fail "llama.cpp reads the models" "$(cat "$T/error")"
    fi
else
    skip "as llama.cpp does here" "$NPM_WHY"
fi

# --- any number of ranks, any way between them ---

generate=("$llm" generate --temperature 0 --tokens 24 --prompt-tokens "$prompt" --json --model)
ranks=(--oversubscribe --output raw)
tokens() { sed 's/"probabilities".*//' "$1"; }

# same MODEL N OPTION…: N ranks generate what one does.
same() {
    local model=$1 n=$2
    shift 2
    check "$model: $n ranks $*" "$MLAUNCH" -n "$n" "${ranks[@]}" "$@" -- \
        "${generate[@]}" "$T/$model.gguf"
    if [ "$(tokens "$OUT")" = "$(tokens "$T/$model.one")" ]; then
        pass "$model: … have the tokens of one"
    else
        fail "$model: … have the tokens of one" "$(cat "$OUT" "$T/$model.one")"
    fi
}
for model in llama-f32 llama-q8_0-odd qwen3-f32; do
    check "$model: one process, no mlaunch" "${generate[@]}" "$T/$model.gguf"
    cp "$OUT" "$T/$model.one"
done
same llama-f32 4 --backend shm
same llama-f32 3 --backend tcp --local net
same llama-q8_0-odd 2 --backend shm
same llama-q8_0-odd 3 --local net
same qwen3-f32 4 --backend tcp
if is_long; then
    for model in llama-f32 llama-q8_0-odd qwen3-f32; do
        for n in 1 2 3; do
            for way in "--backend shm" "--backend tcp" "--local net"; do
                # shellcheck disable=SC2086
                same $model $n $way
            done
        done
    done
fi
check "the same ranks …" "$MLAUNCH" -n 3 "${ranks[@]}" -- "${generate[@]}" "$T/llama-f32.gguf"
cp "$OUT" "$T/first"
check_output "$(cat "$T/first")" "… have the same bits again" \
    "$MLAUNCH" -n 3 "${ranks[@]}" -- "${generate[@]}" "$T/llama-f32.gguf"

# --- text, and chance ---

sample=("$llm" generate --tokens 12 --model "$T/qwen3-q8_0.gguf")
check "text is continued" "${sample[@]}" --prompt "Hello the world" --seed 3
cp "$OUT" "$T/first"
echo -n "Hello the world" > "$T/prompt"
check_output "$(cat "$T/first")" "… from a file, and the same with this seed" \
    "${sample[@]}" --prompt-file "$T/prompt" --seed 3
check "… another text …" "${sample[@]}" --prompt "Hello the world" --seed 4
if cmp -s "$OUT" "$T/first"; then fail "… with another seed"; else pass "… with another seed"; fi

# --- llm bench ---

check "llm bench" "$MLAUNCH" -n 2 "${ranks[@]}" -- "$llm" bench --model "$T/llama-f32.gguf" --tokens 8
check_match "^model=$T/llama-f32.gguf world_size=2 prompt_tokens=32 gen_tokens=8 tokens_per_sec=[0-9.]+$" \
    "$OUT" "… prints the line that its users look for"
check_match '^memory bound .* decode reaches [0-9.]+ %$' "$OUT" "… and what memory allows"
check_match '^calls alone +[0-9.]+ us a token .*waiting for other ranks$' "$OUT" \
    "… and how much of the collective calls is waiting"
check "llm bench --json" "$llm" bench --model "$T/llama-f32.gguf" --tokens 8 --json
cp "$OUT" "$T/report"
check "… is JSON" python3 "$SOURCE/tests/llm/bench_report.py" "$T/report"

# --- refused with a message ---

once=("$llm" generate --tokens 1 --prompt-tokens 1 --model)
# refused PATTERN LABEL OPTION-OF-TINY…
refused() {
    local pattern=$1 label=$2
    shift 2
    tiny "$T/bad.gguf" --type Q8_0 --shape narrow "$@"
    check_error 2 "$pattern" "$label" "${once[@]}" "$T/bad.gguf"
}
refused 'llama.block_count is missing' "no number of layers" --drop llama.block_count
refused 'the tensor blk.0.ffn_up.weight is missing' "no tensor" --drop blk.0.ffn_up.weight
refused 'blk.1.* is not one that llm knows of llama with 1 layers' "too many tensors" \
    --shape plain --set llama.block_count=1
refused 'architecture is "gemma3"; llm reads llama, qwen2 and qwen3' "another architecture" \
    --set general.architecture=gemma3
refused 'a mixture of 8 experts' "experts" --set llama.expert_count=8
refused 'rope.scaling.type is neither none nor linear' "YaRN" --set llama.rope.scaling.type=yarn
refused 'sees the last 64 of 4096 positions' "a sliding window" \
    --set llama.attention.sliding_window=64
refused '3 heads cannot share 2 of keys' "heads that cannot be shared" \
    --set llama.attention.head_count=3 --set llama.attention.head_count_kv=2
refused 'head_count is 0; llm reads models with 1 to 1024' "no heads" \
    --set llama.attention.head_count=0
refused 'rms_epsilon is 0; llm reads models with more than 0' "norms that may divide by 0" \
    --set llama.attention.layer_norm_rms_epsilon=0.0
refused 'a matrix of 64 and 128 is expected' "another width of its inside" \
    --set llama.feed_forward_length=128
refused 'vocab_size is 7, but token_embd.weight has [0-9]+ rows' "another vocabulary" \
    --set llama.vocab_size=7
refused '32 numbers; llm reads models where all of them are turned' "heads turned in part" \
    --set llama.rope.dimension_count=16
check_error 2 'at most 1 ranks can share this model, not 2: it has 1 key/value heads' "more ranks than heads of keys" \
    "$MLAUNCH" -n 2 "${ranks[@]}" -- "${once[@]}" "$T/llama-narrow.gguf"
# shellcheck disable=SC2016 # the rank's shell expands it
check_error 2 'is another file than on .*; copy one of them to all hosts' "ranks with other files" \
    "$MLAUNCH" -n 2 "${ranks[@]}" -- sh -c 'ln -sf "$1" "$2/mine-$MLAUNCH_RANK.gguf"
        [ "$MLAUNCH_RANK" = 0 ] || ln -sf "$2/qwen2-f32.gguf" "$2/mine-1.gguf"
        mkdir -p "$2/$MLAUNCH_RANK"; cd "$2/$MLAUNCH_RANK"
        ln -sf "$2/mine-$MLAUNCH_RANK.gguf" model.gguf
        shift 2; exec "$@" model.gguf' sh "$T/llama-f32.gguf" "$T" "${once[@]}"

# Rank 0 says it for all: no rank ends before, since mlaunch then ends rank 0. Here it cannot write
# until the pipe is read.
rank_0_waits() {
    local full job reader
    rm -f "$T/full"
    mkfifo "$T/full"
    exec {full}<> "$T/full"
    python3 "$SOURCE/tests/llm/fill_pipe.py" "$full"
    # shellcheck disable=SC2016 # the rank's shell
    "$MLAUNCH" -n 2 "${ranks[@]}" -- sh -c '[ "$MLAUNCH_RANK" != 0 ] || exec 2> "$0"; exec "$@"' \
        "$T/full" "$@" {full}>&- &
    job=$!
    wait_for "! kill -0 $job 2> '$T/kill.err'" 2 # it is not to end
    cat "$T/full" {full}>&- >&2 &
    reader=$!
    wait "$job"
    status=$?
    exec {full}>&-
    wait "$reader"
    return "$status"
}
check_error 2 "^llm: .*nowhere.gguf: cannot be opened" "all ranks wait for what rank 0 says" \
    rank_0_waits "${once[@]}" "$T/nowhere.gguf"
check_error 2 "^llm serve: .*nowhere.gguf: cannot be opened" "… of llm serve, too" \
    rank_0_waits "$llm" serve --model "$T/nowhere.gguf"
check_error 2 'nowhere.gguf' "no file" "${once[@]}" "$T/nowhere.gguf"
check_error 2 'context of 5000 .* at most 4096' "a context beyond the model's" \
    "${once[@]}" "$T/llama-f32.gguf" --context 5000
check_error 2 'the prompt has 5 tokens, and the context is 4' "a prompt beyond the context" \
    "${generate[@]}" "$T/llama-f32.gguf" --context 4
check_error 2 '^llm: token 99999 is not in the vocabulary of [0-9]+ tokens$' "a token that doesn't exist" \
    "$llm" generate --model "$T/llama-f32.gguf" --prompt-tokens 99999
check_error 2 'one of --prompt, --prompt-file and --prompt-tokens is needed' "no prompt" \
    "$llm" generate --model "$T/llama-f32.gguf"
check_error 2 "temperature: 'hot' is not a number" "no temperature" "${once[@]}" x --temperature hot
check_error 2 "no option of .llm bench." "no option" "$llm" bench --model x y
done_testing
