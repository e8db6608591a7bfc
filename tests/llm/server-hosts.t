#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# `llm serve` over several hosts. A model that is missing on one of them, or is another one there,
# is refused with the host's name. A rank and then a whole host are lost: clients are told which,
# those that wait get 503, a spare host takes the place, and the same address answers as before.
# shellcheck disable=SC2154 # status, serve_status, H1 …, A1: of test.sh, server.sh and hosts.sh
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/server.sh"
models=$(mktemp -d /tmp/mlaunch-models.XXXXXX)
at_exit rm -rf "$models"
NETNS_PRIVATE=$models hosts_up 3
URL=http://$A1:$PORT
hosts=(--ssh-config "$NETNS_SSH_CONFIG" -H "$H1,$H2")
endless='"max_tokens":100000,"temperature":0' # longer than any check waits

# copy FILE HOST: into the host's own directory of models.
copy() { netns exec "$2" cp "$1" "$models/model.gguf"; }
check "a model is made for all hosts" python3 "$TINY" "$T/tiny.gguf" --endless --context 131072
check "another model is made for one host" python3 "$TINY" "$T/other.gguf" --endless \
    --context 131072 --seed 2 --shape wide
# The spare one too: with the model's file there must be one at the same path on it.
for h in "$H1" "$H3"; do copy "$T/tiny.gguf" "$h"; done
serve=("$MLAUNCH" "${hosts[@]}" -- "$LLM" serve --model "$models/model.gguf" --port "$PORT")

check_error 2 "$H2: $models/model.gguf: cannot be opened: No such file or directory" \
    "a model that one host does not have is refused" "${serve[@]}"
copy "$T/other.gguf" "$H2"
check_error 2 "$H2: $models/model.gguf is another file than on $H1: .*; copy one of them to all hosts" \
    "another model on one host is refused" "${serve[@]}"
copy "$T/tiny.gguf" "$H2"

# The script `server`, whose user sits on another host than rank 0.
export XDG_STATE_HOME=$T/state LLM_NAME=test-llm-$$ LLM MLAUNCH
server=("$SOURCE/examples/llm/server")
at_exit "${server[@]}" stop
check_error 1 "server: $LLM_NAME was ended, as it would listen on host $H1 alone: add --host" \
    "a server on another host's loopback is refused at once" env LLM_PATIENCE=3600 \
    "${server[@]}" start "${hosts[@]}" -x "$MARK" -- --model "$models/model.gguf" --port "$PORT"
no_survivors "nothing is left of a server that was refused" "$MARK"
check_output "$LLM_NAME answers at http://$A1:$PORT" \
    "a server with --host answers on another host" \
    "${server[@]}" start "${hosts[@]}" -x "$MARK" -- --model "$models/model.gguf" --port "$PORT" \
    --host "$A1"
check "the script shows what /health answers" "${server[@]}" health
check_match '^[{]"ok":true,.*"world_size":' "$OUT" "the answer is that of a healthy server"
check_output "$LLM_NAME has ended" "server stop ends the server" "${server[@]}" stop
check_error 1 "server: nothing answers at http://$A1:$PORT$" "an ended server is named as one" \
    "${server[@]}" health
no_survivors "nothing is left of the server after server stop" "$MARK"

check "the server is healthy" serve_start "${hosts[@]}" --spare-hosts "$H3" --restarts 3 -- \
    --host "$A1" --model "$models/model.gguf" --slots 1 --queue 2 --context 131072
[ "$status" = 0 ] || done_testing

# places: the hosts of the ranks.
places() { curl -sS "$URL/status.json" | json_show 'tuple(r["host"] for r in j["ranks"])'; }
answer() {
    post /v1/completions '{"prompt":"once upon","max_tokens":60,"temperature":0}' > "$T/answer" &&
        field "r['choices'][0]['text']" "$T/answer"
}
known=$(answer)
check_output "$H1 $H2" "each host has a rank" places

# lose NAME WORDS COMMAND…: while one is answered and another waits.
lose() {
    local name=$1 words=$2 streaming waiting begin
    shift 2
    post_start /v1/completions '{"prompt":"x","stream":true,'"$endless"'}' "$T/stream"
    streaming=$!
    wait_for "grep -q data: '$T/stream'"
    post /v1/completions '{"prompt":"x",'"$endless"'}' -o "$T/waiting" -w '%{http_code}\n' \
        > "$T/code" 2>&1 &
    waiting=$!
    wait_for "queue_is 1"
    begin=${EPOCHREALTIME/./}
    must "$@"
    wait "$streaming" "$waiting"
    diag "$name: clients were told after $(((${EPOCHREALTIME/./} - begin) / 1000)) ms"
    check_match "$words.*\"unavailable_error\".*503" "$T/stream" "$name: the stream is told"
    check_no_match 'DONE|finish_reason":"' "$T/stream" "$name: the stream is not complete"
    check_output 503 "$name: who waits gets status 503" cat "$T/code"
    check_match "$words" "$T/waiting" "$name: who waits is told the reason"
    # Healthy and with ranks anew: before that, the answer may be the lost job's.
    check "$name: the server is healthy again" wait_for \
        "! serve_has_ended && serve_answers && [ \"\$(answer)\" = '$known' ]"
    diag "$name: healthy again after $(((${EPOCHREALTIME/./} - begin) / 1000)) ms"
}
# The process of the rank in a host, by its name there; fails if there is none.
rank_kill() { netns exec "$1" sh -c 'for f in /proc/[0-9]*/exe; do
    [ "$(readlink "$f")" = "$0" ] && f=${f%/exe} && kill -KILL "${f#/proc/}" && found=1
done; [ -n "$found" ]' "$LLM"; }

lose "a rank is killed" "rank 1 was killed by signal 9 \\(Killed\\) on host $H2" rank_kill "$H2"
check_output "$H1 $H2" "a rank is killed: the ranks are where they were" places
lose "a host is lost" "host $H2" netns kill "$H2"
check_output "$H1 $H3" "a host is lost: the spare one has its rank" places
serve_stop
check_match "host $H2 was lost; spare host $H3 takes its place \\(rank 1\\)" "$T/serve.err" \
    "mlaunch says which spare host takes the place"
no_survivors "nothing is left of the server at the end" "$MARK"
done_testing
