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
        if [ "$verdict" = ok ]; then pass "$1 with $what"; else fail "$1 with $what"; fi
    done < "$T/verdicts"
}
judged "llm expects what llama.cpp once did" "$SOURCE/tests/llm/data/model.jsonl"
if npm_ready; then
    npm_script model_peer.mjs
    if node "$NPM/model_peer.mjs" "$prompt" "$count" "${files[@]}" > "$T/peer" 2> "$T/error"; then
        judged "llm expects what llama.cpp does here" "$T/peer"
    else
        fail "llama.cpp reads the models" "$(cat "$T/error")"
    fi
else
    skip "llm expects what llama.cpp does here" "$NPM_WHY"
fi

# --- any number of ranks, any way between them ---

generate=("$llm" generate --temperature 0 --tokens 24 --prompt-tokens "$prompt" --json --model)
ranks=(--oversubscribe --output raw)
tokens() { sed 's/"probabilities".*//' "$1"; }

# same MODEL N OPTION…: N ranks generate what one does.
same() {
    local model=$1 n=$2
    shift 2
    check "$model: $n ranks generate a text, $*" "$MLAUNCH" -n "$n" "${ranks[@]}" "$@" -- \
        "${generate[@]}" "$T/$model.gguf"
    if [ "$(tokens "$OUT")" = "$(tokens "$T/$model.one")" ]; then
        pass "$model: $n ranks have the tokens of one, $*"
    else
        fail "$model: $n ranks have the tokens of one, $*" "$(cat "$OUT" "$T/$model.one")"
    fi
}
for model in llama-f32 llama-q8_0-odd qwen3-f32; do
    check "$model: one process without mlaunch generates a text" "${generate[@]}" "$T/$model.gguf"
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
check "three ranks generate a text" "$MLAUNCH" -n 3 "${ranks[@]}" -- "${generate[@]}" \
    "$T/llama-f32.gguf"
cp "$OUT" "$T/first"
check_output "$(cat "$T/first")" "three ranks have the same bits again" \
    "$MLAUNCH" -n 3 "${ranks[@]}" -- "${generate[@]}" "$T/llama-f32.gguf"

# --- text, and chance ---

sample=("$llm" generate --tokens 12 --model "$T/qwen3-q8_0.gguf")
check "a text is continued" "${sample[@]}" --prompt "Hello the world" --seed 3
cp "$OUT" "$T/first"
echo -n "Hello the world" > "$T/prompt"
check_output "$(cat "$T/first")" "a text from a file is continued alike with the same seed" \
    "${sample[@]}" --prompt-file "$T/prompt" --seed 3
check "a text is continued with another seed" "${sample[@]}" --prompt "Hello the world" --seed 4
if cmp -s "$OUT" "$T/first"; then
    fail "another seed makes another text"
else
    pass "another seed makes another text"
fi

# --- llm bench ---

check "llm bench succeeds" "$MLAUNCH" -n 2 "${ranks[@]}" -- "$llm" bench \
    --model "$T/llama-f32.gguf" --tokens 8
check_match "^model=$T/llama-f32.gguf world_size=2 prompt_tokens=32 gen_tokens=8 tokens_per_sec=[0-9.]+$" \
    "$OUT" "llm bench prints the line that its users look for"
check_match '^memory bound .* decode reaches [0-9.]+ %$' "$OUT" "llm bench says what memory allows"
check_match '^calls alone +[0-9.]+ us a token .*waiting for other ranks$' "$OUT" \
    "llm bench says how much of the calls is waiting"
check "llm bench --json succeeds" "$llm" bench --model "$T/llama-f32.gguf" --tokens 8 --json
cp "$OUT" "$T/report"
check "llm bench --json prints JSON" python3 "$SOURCE/tests/llm/bench_report.py" "$T/report"

# --- refused with a message ---

once=("$llm" generate --tokens 1 --prompt-tokens 1 --model)
# refused PATTERN LABEL OPTION-OF-TINY…
refused() {
    local pattern=$1 label=$2
    shift 2
    tiny "$T/bad.gguf" --type Q8_0 --shape narrow "$@"
    check_error 2 "$pattern" "$label" "${once[@]}" "$T/bad.gguf"
}
refused 'llama.block_count is missing' \
    "a model without its number of layers is refused" --drop llama.block_count
refused 'the tensor blk.0.ffn_up.weight is missing' \
    "a model that lacks a tensor is refused" --drop blk.0.ffn_up.weight
refused 'blk.1.* is not one that llm knows of llama with 1 layers' \
    "a model with too many tensors is refused" --shape plain --set llama.block_count=1
refused 'architecture is "gemma3"; llm reads llama, qwen2 and qwen3' \
    "a model of another architecture is refused" --set general.architecture=gemma3
refused 'a mixture of 8 experts' "a mixture of experts is refused" --set llama.expert_count=8
refused 'rope.scaling.type is neither none nor linear' \
    "a model with YaRN is refused" --set llama.rope.scaling.type=yarn
refused 'sees the last 64 of 4096 positions' "a model with a sliding window is refused" \
    --set llama.attention.sliding_window=64
refused '3 heads cannot share 2 of keys' "a model whose heads cannot be shared is refused" \
    --set llama.attention.head_count=3 --set llama.attention.head_count_kv=2
refused 'head_count is 0; llm reads models with 1 to 1024' "a model without heads is refused" \
    --set llama.attention.head_count=0
refused 'rms_epsilon is 0; llm reads models with more than 0' \
    "a model whose norms may divide by 0 is refused" \
    --set llama.attention.layer_norm_rms_epsilon=0.0
refused 'a matrix of 64 and 128 is expected' "a model with another width of its inside is refused" \
    --set llama.feed_forward_length=128
refused 'vocab_size is 7, but token_embd.weight has [0-9]+ rows' \
    "a model with another vocabulary is refused" --set llama.vocab_size=7
refused '32 numbers; llm reads models where all of them are turned' \
    "a model whose heads are turned in part is refused" --set llama.rope.dimension_count=16
check_error 2 'at most 1 ranks can share this model, not 2: it has 1 key/value heads' \
    "more ranks than heads of keys are refused" \
    "$MLAUNCH" -n 2 "${ranks[@]}" -- "${once[@]}" "$T/llama-narrow.gguf"
# shellcheck disable=SC2016 # the rank's shell expands it
check_error 2 'is another file than on .*; copy one of them to all hosts' \
    "ranks with other files are refused" \
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
check_error 2 "^llm: .*nowhere.gguf: cannot be opened" \
    "all ranks of llm generate wait for what rank 0 says" \
    rank_0_waits "${once[@]}" "$T/nowhere.gguf"
check_error 2 "^llm serve: .*nowhere.gguf: cannot be opened" \
    "all ranks of llm serve wait for what rank 0 says" \
    rank_0_waits "$llm" serve --model "$T/nowhere.gguf"
check_error 2 'nowhere.gguf' "a model that is not there is refused" "${once[@]}" "$T/nowhere.gguf"
check_error 2 'context of 5000 .* at most 4096' "a context beyond the model's is refused" \
    "${once[@]}" "$T/llama-f32.gguf" --context 5000
check_error 2 'the prompt has 5 tokens, and the context is 4' \
    "a prompt beyond the context is refused" "${generate[@]}" "$T/llama-f32.gguf" --context 4
check_error 2 '^llm: token 99999 is not in the vocabulary of [0-9]+ tokens$' \
    "a token that doesn't exist is refused" \
    "$llm" generate --model "$T/llama-f32.gguf" --prompt-tokens 99999
check_error 2 'one of --prompt, --prompt-file and --prompt-tokens is needed' \
    "a command without a prompt is refused" "$llm" generate --model "$T/llama-f32.gguf"
check_error 2 "temperature: 'hot' is not a number" \
    "a temperature that is no number is refused" "${once[@]}" x --temperature hot
check_error 2 "no option of .llm bench." \
    "a word that is no option is refused" "$llm" bench --model x y
done_testing
