#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --fanout with --agent-command, all hosts being this machine: what a job of a tree does, a host
# that is started again, what cannot start, and what does not go with it. Jobs of several machines
# are in tests/fault/fanout.t.
# shellcheck disable=SC2154,SC2016 # variables of job.sh; words of the ranks' shell
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/job.sh"

# Seven hosts: b and c below a, and so on. Each agent's command has its host's name among its words.
TREE=(--fanout 2 --listen 127.0.0.1:0 -H 'h[0-6]:1'
    --agent-command 'env HOST={host}' --output raw)
tree() { "$MLAUNCH" "${TREE[@]}" "$@"; }

check "a job of seven hosts runs in a tree" tree -- sh -c 'echo "$MLAUNCH_RANK $HOST"'
sort "$OUT" > "$T/lines"
check_output "$(for i in 0 1 2 3 4 5 6; do echo "$i h$i"; done)" \
    "the output of all seven hosts arrives" cat "$T/lines"
job_status 5 "the status of the last host arrives" \
    "${TREE[@]}" -- sh -c 'exit $((MLAUNCH_RANK == 6 ? 5 : 0))'
check_match "^mlaunch: rank 6 on host h6 .*exited with status 5" "$ERR" \
    "the rank of the last host is named"
seq 100000 > "$T/in"
check "a job has input for the last host" \
    sh -c 'in=$1; shift; exec "$@" < "$in"' sh "$T/in" "$MLAUNCH" \
    "${TREE[@]}" --stdin 6 -- sh -c '[ "$MLAUNCH_RANK" -ne 6 ] || cat'
cp "$OUT" "$T/out"
check "input for the last host arrives whole" cmp "$T/in" "$T/out"

# The agent of h1, which has h4 and h5 below it, is lost, and the job is started again.
: > "$EVENTS"
: > "$T/out"
"${JOB[@]}" "${TREE[@]}" --restarts 1 --grace 1 -- sh -c \
    '[ "$MLAUNCH_RESTART" = 1 ] || { echo first; exec sleep 600; }; echo again' \
    > "$T/out" 2> "$T/err" &
mlaunch=$!
wait_for "[ \"\$(grep -c first '$T/out')\" -eq 7 ]"
# agents PARENT: those that call, among its children.
agents() { pgrep -P "$1" -f -- '--join'; }
for pid in $(agents "$mlaunch"); do
    if tr '\0' '\n' < "/proc/$pid/environ" | grep -q '^HOST=h1$'; then kill -KILL "$pid"; fi
done
wait "$mlaunch"
status=$?
check "a branch that was lost is started again" test "$status" -eq 0
check_output 7 "the whole job is started again with the lost branch" grep -c again "$T/out"
check_match "^mlaunch: host h1 was lost: its connection was lost: " "$T/err" \
    "the top of the lost branch is named"
check "nothing is left of a job in a tree" left_nothing

# What cannot start.
refused() {
    local regex=$1
    shift
    check_error 125 "$regex" "mlaunch $* is refused" "$MLAUNCH" "$@"
}
refused "host h1: sh ended with status 3 and started no agent; it said: not h1" --fanout 2 -H h0,h1 \
    --agent-command "sh -c 'echo not \$0 >&2; exit 3' {host}" -- true
refused "host h0: .*it said: .*mlaunch has sent no line" --fanout 2 -H h0 --agent-command \
    "sh -c 'exec \"\$@\" < /dev/null' {host}" -- true
refused "host h0: its agent has not called this machine within 1 s" --fanout 2 -H h0 \
    --init-timeout 1 --agent-command "sh -c 'exec sleep 60' {host}" -- true
refused "^mlaunch: error: --fanout is for hosts that join .*: host a is reached over SSH" --fanout 2 \
    -H a,b -- true
refused "^mlaunch: error: --fanout is for .*: host .* is this machine" --fanout 2 -n 2 -- true
refused "^mlaunch: error: --spare-hosts, --check and --evict-slow .*--fanout" --fanout 2 -H a \
    --check quick --agent-command 'env {host}' -- true
refused "--fanout.*from 2 to 1024" --fanout 1 -n 1 -- true

done_testing
