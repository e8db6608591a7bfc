#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# `llm serve` in an elastic job: a rank is lost, its requests end with its name, and the ranks that
# live serve on, in the same processes, with the weights divided anew; also without rank 0.
# shellcheck disable=SC2154 # serve_status: of server.sh
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/server.sh"

check "a model is made for the servers" python3 "$TINY" "$T/tiny.gguf" --endless --context 131072
endless='"max_tokens":100000,"temperature":0' # longer than any check waits
# Each begins in an empty slot: this text has been in none.
answer_of() {
    post /v1/completions '{"prompt":"once upon '"$1"'","max_tokens":60,"temperature":0}' \
        > "$T/answer.json" && field "r['choices'][0]['text']" "$T/answer.json"
}
answers_as() { answer_of "a time" > "$T/now" 2> "$T/gone" && cmp -s "$T/now" "$T/answer.$1"; }
world_is() { curl -sS "$URL/health" 2> "$T/curl.err" | grep -q "\"ok\":true.*\"world_size\":$1,"; }
# rank_pids: the processes of the ranks, in their order.
rank_pids() {
    local pid rest
    while read -r pid rest; do
        case $rest in *"llm serve"*) ;; *) continue ;; esac
        echo "$(tr '\0' '\n' 2> "$T/gone" < "/proc/$pid/environ" | sed -n 's/^MLAUNCH_RANK=//p') $pid"
    done < <(survivors "$MARK") | sort -n
}
start() { serve_start "$@" -- --model "$T/tiny.gguf" --slots 1 --queue 2 --context 131072; }

# What jobs of two ranks and of one answer.
for ranks in 2 1; do
    check "a server of $ranks ranks starts" start -n "$ranks"
    answer_of "a time" > "$T/answer.$ranks"
    serve_stop
done

check "a server of three ranks starts, of which one is enough" start -n 3 --oversubscribe \
    --elastic 1
rank_pids > "$T/before"
post_start /v1/completions '{"prompt":"x","stream":true,'"$endless"'}' "$T/heard.stream"
streaming=$!
wait_for "grep -q data: '$T/heard.stream'"
post_start /v1/completions '{"prompt":"once upon a time","max_tokens":60,"temperature":0}' \
    "$T/heard.waiting"
waiting=$!
wait_for "queue_is 1"
must kill -KILL "$(sed -n 's/^1 //p' "$T/before")"
wait "$streaming"
check_match 'rank 1 was killed by signal 9 .*"unavailable_error".*503' "$T/heard.stream" \
    "what was being answered ends with the rank's name"
check_no_match 'DONE|finish_reason":"' "$T/heard.stream" \
    "a stream that lost its rank is not complete"
wait "$waiting"
check_output "$(cat "$T/answer.2")" "what waited is answered, as two ranks do it" \
    field "r['choices'][0]['text']" "$T/heard.waiting"
check "two ranks are healthy" wait_for "world_is 2"
check_output "$(cat "$T/answer.2")" "two ranks answer the next request" answer_of "a time"
curl -sS "$URL/status.json" > "$T/status.json"
check_output "0 1" \
    "the dashboard has both ranks that live" field "' '.join(str(k['rank']) for k in r['ranks'])" \
    "$T/status.json"

must kill -KILL "$(sed -n 's/^0 //p' "$T/before")"
check "the last rank serves, at the same port" wait_for "world_is 1"
check_output "$(cat "$T/answer.1")" "the last rank answers as one rank does" answer_of "a time"
rank_pids > "$T/after"
check_output "$(sed -n '/^2 /p' "$T/before")" \
    "the last rank serves in the process in which it began" cat "$T/after"
check_match 'rank 1 was killed by signal 9 .*; 2 ranks go on' "$T/serve.err" "the server tells of it"
serve_stop
check_output 143 "the server ends by the signal" echo "$serve_status"
no_survivors "nothing is left of the server" "$MARK"

# With --restarts others take the places of the dead, rank 0's too.
check "a server of three ranks starts, whose places are filled again" start -n 3 --oversubscribe \
    --elastic 1 --restarts 1
answer_of "a time" > "$T/answer.3"
for rank in 1 0; do
    pid=$(rank_pids | sed -n "s/^$rank //p")
    must kill -KILL "$pid"
    check "rank $rank has another process" \
        wait_for "rank_pids | grep '^$rank ' | grep -qv ' $pid\$'"
    # Until its death is noticed, it may be what a request waits for.
    check "three ranks answer after rank $rank has come again" wait_for "answers_as 3"
done
serve_stop
no_survivors "nothing is left of the server with --restarts" "$MARK"
done_testing
