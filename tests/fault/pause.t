#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Ctrl-Z for longer than any side stands silence: while hosts are reached, of which one is there,
# one has not been heard of and one's connection fails meanwhile; when rank 0's host, which has the
# job's coordinator, is through; between two runs of --restarts; and for longer than --init-timeout
# while a rank is waited for in ml_init and in ml_repair. Expected: after fg each job goes on to its
# end. mlaunch shrink of a job whose mlaunch is stopped ends with a sentence.
# shellcheck disable=SC2154 # mlaunch, status: of fault.sh
TEST_TIER=full
TEST_TIMES=divided
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/fault.sh"
hosts_up 2
export NETNS=$TEST_LIB/netns-hosts TMPDIR=$T
JOB+=(-v --init-timeout 10)
mkfifo "$T/gate"
exec 9<> "$T/gate" # so that no echo waits for a reader

# A host's command: $H2's waits at the gate, and fails if it reads "no" there.
cat > "$T/enter" << EOF
#!/bin/sh
host=\$1
shift
if [ "\$host" = "$H2" ]; then
    read -r word < "$T/gate"
    [ "\$word" = yes ] || exit 1
fi
exec "$NETNS" exec "\$host" "\$@"
EOF
chmod +x "$T/enter"

# Stops mlaunch, then does that, and waits; how long mlaunch is stopped is the subject.
pause_and() {
    must kill -TSTP "$mlaunch"
    must wait_for '[ "$(state_of "$mlaunch")" = T ]'
    "$@"
    nap "$(failure_s 13000)"
    must kill -CONT "$mlaunch"
}
gate() { echo "$1" >&9; }
# job_goes_on NAME
job_goes_on() {
    wait "$mlaunch" 2> /dev/null
    status=$?
    cp "$T/out" "$OUT"
    cp "$T/err" "$ERR"
    job_judge 0 "$1" "the job that was paused"
}
has_connected() { wait_for "grep -q '^mlaunch: host $1: connected' '$T/err'"; }
start() { job_start --agent-command "$T/enter {host}" -H "$H1,$H2" "$@"; }

start -- true
must has_connected "$H1"
pause_and true
gate yes
job_goes_on "a pause while a host is waited for, and another is there"

start -- true
must has_connected "$H1"
pause_and gate yes
job_goes_on "a pause in which an agent has said HELLO"

start -- true
must has_connected "$H1"
pause_and gate no
gate yes
job_goes_on "a pause in which a connection that was being made has failed"
check_match "^mlaunch: host $H2: tried again after a pause: " "$T/err" \
    "the second try after the pause is told with -v"

gate yes
start -vv -x "GO=$T/go" -- sh -c '[ $MLAUNCH_RANK = 1 ] || exit 0
    echo ready; until [ -e "$GO" ]; do sleep 0.05; done'
must has_said ready 1
must wait_for "grep -q '$H1: its agent sent DONE' '$T/err'"
pause_and true
touch "$T/go"
job_goes_on "a pause when the first host is through, and another is not"

gate yes
gate yes
start --restarts 2 -- sh -c '[ "$MLAUNCH_RESTART" = 2 ]'
must wait_for 'grep -q "starting the job again in 1 s" "$T/err"'
pause_and true
job_goes_on "a pause between two runs of --restarts"
check_no_match 'silent' "$T/err" "no agent takes mlaunch for lost between two runs"

# paused_in CALL OPTION… -- PROGRAM…: rank 0 waits in it while the job pauses; then rank 1 comes.
paused_in() {
    local call=$1
    shift
    rm -f "$T/late"
    job_start --oversubscribe --init-timeout 6 "$@" "$T/late"
    must has_said ready 2
    must wait_for 'grep -qs poll "/proc/$(rank_pid 0)/wchan"'
    pause_and nap 8
    touch "$T/late"
    job_goes_on "a pause while a rank is waited for in $call"
}
paused_in ml_init -n 2 -- "$FAULTY" flooded 1
paused_in ml_repair --elastic 2 -n 3 -- "$FAULTY" repaired

# A pause of all just after rank 1's death, of which nobody has told rank 0 yet: rank 0 knows that the
# link has ended, and that its time for the word goes on after the pause. It may be over before rank
# 0 is stopped: then the next try counts.
for tries in 1 2 3 4 5 6 7 8 9 10; do
    job_start -n 2 --backend tcp --local net -- "$FAULTY" call 2 none
    must has_said ready 2
    all=("$(rank_pid 0)" "$("$SOURCE/tests/fault/look.py" agent "$EVENTS" localhost worker)" "$mlaunch")
    must kill -STOP "${all[@]:1}"
    must kill -KILL "$(rank_pid 1)"
    wait_for '[ "$(ss -tnp | grep -c "pid=${all[0]},")" -le 1 ]' # its connection to the agent
    kill -STOP "${all[0]}"
    grep -q "closed its tcp link" "$T/err" && state=late || state=$(state_of "${all[0]}")
    nap 3000
    kill -CONT "${all[@]}"
    wait "$mlaunch" 2> /dev/null
    [ "$state" != T ] || break
done
check_output T "rank 0 is stopped before its time for the word is over" echo "$state"
check_no_match 'has closed its' "$T/err" "after a pause a rank waits for the word on a dead one"
check_match 'rank 1 .*killed by signal 9|rank 1 .*SIGKILL' "$T/err" "the dead rank is named"
nothing_left "a pause beside a dead rank leaves nothing"

# Whoever asks an mlaunch that is stopped is told so, and nothing is done later.
job_start --elastic 1 -n 2 -x "GO=$T/end" -- sh -c \
    'echo ready; until [ -e "$GO" ]; do sleep 0.05; done'
must has_said ready 2
must kill -STOP "$mlaunch"
check_status 1 "mlaunch shrink gives up on an mlaunch that is stopped" \
    "$MLAUNCH" shrink "$(job_id)" 1
check_match "its mlaunch, process $mlaunch, has not answered for $(failure_s 5) s: it may be stopped" \
    "$ERR" "mlaunch shrink says early that nothing is heard"
check_match "has not answered for $(failure_s 30) s: nothing is changed; ask again when it goes on" \
    "$ERR" "mlaunch shrink says at the end that nothing is changed"
must kill -KILL "$mlaunch"
wait "$mlaunch" 2> /dev/null
nothing_left "an mlaunch that is killed while it is stopped leaves nothing"
done_testing
