# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# server.sh: `llm serve` under test, on a port of its own; read after test.sh.
#     serve_start [-MLAUNCH-OPTION…] -- [OPTION of llm serve…]: returns once it is healthy
#     serve_stop: as Ctrl-C does; $serve_status is mlaunch's
LLM=$BUILD/examples/llm/llm
TINY=$SOURCE/tests/llm/tiny_model.py
MARK=$(new_mark llm)
# A port that is free now, and that no client is given.
PORT=$(python3 "$SOURCE/tests/lib/free_port.py")
serve_pid=
serve_status=
URL=http://localhost:$PORT

serve_start() {
    local options=()
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    : > "$T/serve.out"
    "$MLAUNCH" -x "$MARK" "${options[@]}" -- "$LLM" serve --port "$PORT" "$@" \
        > "$T/serve.out" 2> "$T/serve.err" &
    serve_pid=$!
    serve_healthy && return
    diag_file "$T/serve.err"
    return 1
}
# Ends at once when the job has ended.
serve_answers() { curl -fsS "$URL/health" > "$T/health" 2> "$T/curl.err"; }
serve_has_ended() { [ -n "$serve_pid" ] && ! kill -0 "$serve_pid" 2> "$T/kill.err"; }
serve_healthy() { wait_for "serve_answers || serve_has_ended" && ! serve_has_ended; }
serve_wait() {
    wait "$serve_pid"
    serve_status=$?
    serve_pid=
}
serve_stop() {
    [ -n "$serve_pid" ] || return 0
    kill -TERM "$serve_pid" 2> "$T/kill.err"
    serve_wait
}
at_exit serve_stop

# post PATH BODY [OPTION of curl…]
post() {
    local path=$1 body=$2
    shift 2
    curl -sS "$@" "$URL$path" -H 'Content-Type: application/json' -d "$body"
}
# post_start PATH BODY FILE: the same, its output to FILE, in the background as the process $!.
post_start() {
    exec_post() { exec curl -sSN "$URL$1" -H 'Content-Type: application/json' -d "$2"; }
    exec_post "$1" "$2" > "$3" 2>&1 &
}
# field EXPRESSION FILE: of the JSON in FILE, called r.
field() { json_show "str((lambda r: ($1))(j))" "$2"; }
queue_is() { curl -sS "$URL/queue" | grep -q "\"size\":$1,"; }
busy_is() { curl -sS "$URL/health" | grep -q "\"slots_busy\":$1[,}]"; }
