#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A rank of `llm serve` is killed, each rank in each phase. Its clients are told which one, in
# mlaunch's words; the job starts again, the same port answers the same, and nothing is left.
# Without --restarts each process of the job is killed once: clients hear of it at once.
# shellcheck disable=SC2154 # status, serve_status: of test.sh and server.sh
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/server.sh"

check "a model is made for the servers" python3 "$TINY" "$T/tiny.gguf" --endless --context 131072
endless='"max_tokens":100000,"temperature":0' # longer than any check waits
# A prompt whose reading takes longer than a kill.
python3 "$SOURCE/tests/llm/long_prompt.py" > "$T/long.json"

# rank_pid N: the process of rank N.
rank_pid() {
    local pid rest
    while read -r pid rest; do
        case $rest in *"llm serve"*) ;; *) continue ;; esac
        tr '\0' '\n' 2> "$T/gone" < "/proc/$pid/environ" | grep -qx "MLAUNCH_RANK=$1" && echo "$pid"
    done < <(survivors "$MARK")
}
ranks_are() { [ "$(rank_pid 0 | wc -l)" = 1 ] && [ "$(rank_pid 1 | wc -l)" = 1 ]; }
# The answer to one question, which must always be the same.
known_answer() {
    post /v1/completions '{"prompt":"once upon","max_tokens":60,"temperature":0}' > "$T/known.json" &&
        field "r['choices'][0]['text']" "$T/known.json"
}
now_ms() { echo $((${EPOCHREALTIME/./} / 1000)); }

# busy PHASE: the server is in it. What its clients hear goes to $T/heard.*; their processes are
# $clients.
busy() {
    clients=()
    rm -f "$T"/heard.*
    case $1 in
    idle) return ;;
    prompt)
        post_start /v1/completions "@$T/long.json" "$T/heard.waiting"
        clients+=($!)
        wait_for "busy_is 1"
        return ;;
    esac
    post_start /v1/completions '{"prompt":"x","stream":true,'"$endless"'}' "$T/heard.stream"
    clients+=($!)
    wait_for "grep -q data: '$T/heard.stream'" || return 1
    [ "$1" = full ] || return 0
    for i in 1 2; do
        post_start /v1/completions '{"prompt":"x",'"$endless"'}' "$T/heard.waiting$i"
        clients+=($!)
    done
    wait_for "queue_is 2"
}

# round RANK PHASE
round() {
    local begin pid f name="rank $1 is killed, phase $2"
    if ! busy "$2"; then
        fail "$name: the phase is reached"
        return
    fi
    pid=$(rank_pid "$1")
    begin=$(now_ms)
    must kill -KILL "$pid"
    [ "${#clients[@]}" = 0 ] || wait "${clients[@]}"
    told=$(($(now_ms) - begin))
    diag "$name: clients have heard of it after $told ms"
    if [ "$1" != 0 ]; then
        for f in "$T"/heard.*; do
            [ -e "$f" ] || continue
            check_match "rank $1 was killed by signal 9 .*\"unavailable_error\".*503" "$f" \
                "$name: ${f##*.} is told"
            check_no_match 'DONE|finish_reason":"' "$f" "$name: ${f##*.} is not complete"
        done
    fi
    # The old processes first: until they are gone, the health may be theirs.
    wait_for "! kill -0 $pid 2> '$T/gone'"
    check "$name: the server answers again" wait_for "serve_answers && ranks_are"
    check_output "$known" "$name: the answers are the same" known_answer
}

# A job of its own for two kills: mlaunch pauses before it starts one again that fails at once
# several times in a row.
begin_rounds() {
    check "$1: the server is healthy" serve_start --restarts 9 -n 2 -- --model "$T/tiny.gguf" \
        --slots 1 --queue 2 --context 131072
    [ "$status" = 0 ] || done_testing
}
end_rounds() {
    serve_stop
    no_survivors "$1: nothing is left at the end" "$MARK"
}

begin_rounds "before"
known=$(known_answer)
end_rounds "before"
for phase in idle prompt stream full; do
    begin_rounds "$phase"
    for rank in 0 1; do round $rank $phase; done
    end_rounds "$phase"
done
if is_long; then
    phases=(idle prompt stream full)
    for ((i = 0; i < 50; i++)); do
        [ "$i" = 0 ] || has_time || break
        begin_rounds "$i"
        round $((RANDOM % 2)) "${phases[RANDOM % 4]}"
        round $((RANDOM % 2)) "${phases[RANDOM % 4]}"
        end_rounds "$i"
    done
fi

# Without --restarts the job ends. Each of its processes is killed while one request is answered
# and two wait: mlaunch says what was lost, no client waits for ever or has a whole answer.
# part_kill PART: a rank, a process of the agent, or mlaunch itself.
part_kill() {
    case $1 in
    mlaunch) kill -KILL "$serve_pid" ;;
    rank*) kill -KILL "$(rank_pid "${1#rank }")" ;;
    *) kill -KILL "$("$SOURCE/tests/fault/look.py" agent "$T/events" localhost "$1")" ;;
    esac
}
# part_round PART STATUS SENTENCE
part_round() {
    local i heard=0 names=(stream waiting1 waiting2) # as busy() starts them
    : > "$T/events"
    check "$1: the server is healthy" serve_start --events "$T/events" -n 2 -- \
        --model "$T/tiny.gguf" --slots 1 --queue 2 --context 131072
    if ! busy full; then
        fail "$1: requests are answered, and wait"
        return
    fi
    must part_kill "$1"
    # What curl does not call an error is one in the server's words.
    for i in 0 1 2; do
        wait "${clients[i]}" && ! grep -q '"unavailable_error"' "$T/heard.${names[i]}" ||
            heard=$((heard + 1))
    done
    check_output 3 "$1 is killed: three clients have heard of it" echo "$heard"
    check_no_match 'DONE|finish_reason":"' <(cat "$T"/heard.*) "$1 is killed: no answer is complete"
    serve_wait
    check "$1 is killed: the job's status is $2" test "$serve_status" = "$2"
    [ -z "$3" ] || check_match "$3" "$T/serve.err" "$1 is killed: mlaunch says so"
    no_survivors "$1 is killed: nothing is left" "$MARK"
}
for rank in 0 1; do
    part_round "rank $rank" 137 "rank $rank on host localhost .* was killed by signal 9"
done
for part in worker guard; do
    part_round "$part" 125 "^mlaunch: host localhost was lost: "
done
part_round mlaunch 137 "" # it says nothing any more
done_testing
