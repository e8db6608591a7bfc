#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mlaunch attach: a command in a rank's directory and environment, on a terminal or not, here and
# on another host, by the job's user alone; and --gdb, with and without a terminal.
# shellcheck disable=SC2154 # status: of test.sh
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/job.sh"
. "${0%/*}/../lib/other-user.sh"
terminal() { "$SOURCE/tests/cli/on_terminal.py" "$@"; }
attach() { "$MLAUNCH" attach "$@"; }

mkdir "$T/dir"
chmod 755 "$T" "$T/dir"
"${JOB[@]}" -n 2 --name "attached-$$" --cwd "$T/dir" -x COLOUR=red -- \
    sh -c 'touch "$0/$MLAUNCH_RANK"; exec sleep 100' "$T" 2> "$T/err" &
launcher=$!
wait_for '[ -e "$T/0" ] && [ -e "$T/1" ]'
check_output "$T/dir red 1 2 1" "a command has the rank's directory, variables and ids" \
    attach "attached-$$" 1 -- sh -c 'echo "$PWD $COLOUR $MLAUNCH_RANK $WORLD_SIZE $RANK"'
check_output "$(sed -n 's/.*"rank":0,.*"pid":\([0-9]*\).*/\1/p' "$EVENTS" | head -1) 0 localhost" \
    "{pid}, {rank} and {host} are filled in, and a job is known by its id" \
    attach "$(job_id)" 0 echo '{pid} {rank} {host}'
check_status 7 "the status is the command's" attach "attached-$$" 0 -- sh -c 'exit 7'
check_output "no" "a command has a job directory of its own, and not the rank's secret" \
    attach "attached-$$" 0 -- sh -c '[ "$(tr "\0" "\n" < /proc/{pid}/environ | sed -n s/^MLAUNCH_JOB_DIR=//p)" = \
        "$MLAUNCH_JOB_DIR" ] && echo yes || echo no'
keep terminal 'wait ready
size 33 101
wait 33 101
type \x03
wait caught
modes' "$MLAUNCH" attach "attached-$$" 1 -- sh -c 'stty -echo
    trap "stty size" WINCH; trap "echo caught; exit 5" INT
    [ -t 0 ] && [ -t 1 ] && echo "$MLAUNCH_RANK ready"; while :; do sleep 0.05; done'
check_match '^1 ready' "$T/out" "a command on a terminal has one"
if [ "$status" -eq 5 ]; then pass "the terminal's size follows, and keys arrive"; else
    fail "the terminal's size follows, and keys arrive" "$status"
fi
if ! is_here gdb; then
    skip "mlaunch attach is gdb without a command" "$LACKS"
elif ! skip_emulated "qemu-user has no ptrace" "mlaunch attach is gdb without a command"; then
    keep terminal 'wait (gdb)
type print 6*7\n
wait 42
type quit\n
wait y or n
type y\n
modes' "$MLAUNCH" attach "attached-$$" 0
    check_match "\\(gdb\\)" "$T/out" "mlaunch attach is gdb without a command"
fi
check "gdb leaves the rank as it was" kill -0 "$launcher"

check_error 125 "no rank 2 of job attached-$$ runs on this host" \
    "a rank that is not there is refused" attach "attached-$$" 2
check_error 125 "no job gone of yours runs on this host" "a job that is not there is refused" \
    attach gone 0
check_error 125 "'x' is not a rank" "a word that is no rank is refused" attach "attached-$$" x
check_error 125 "write mlaunch attach JOB RANK" "a command line without a rank is refused" \
    attach "attached-$$"
check_error 125 "mlaunch attach has no --detach: it runs one command beside a rank" \
    "an option without meaning is refused" attach --detach "attached-$$" 0
if other_user; then
    run "${OTHER[@]}" "$OTHERS/launcher/mlaunch" attach "attached-$$" 0 -- true
    check_match "no job attached-$$ of yours runs|belongs to another user" "$ERR" \
        "another user may not attach to the job"
    [ "$status" = 125 ] || fail "another user gets the status 125" "$status"
fi
# The end of the job does not touch what is attached, and the other way round.
attach "attached-$$" 1 -- sh -c 'touch "$0/on"; while [ ! -e "$0/go" ]; do sleep 0.02; done; echo over' \
    "$T" > "$T/over" &
beside=$!
wait_for '[ -e "$T/on" ]'
must kill "$launcher"
wait "$launcher"
touch "$T/go"
wait "$beside"
check_output over "what is attached outlives the job" cat "$T/over"
left_nothing && pass "nothing is left of the job" || fail "nothing is left of the job"

# --gdb.
skip_emulated "qemu-user has no ptrace" "--gdb starts ranks under gdb" && done_testing
[ "$SANITIZE" = no ] || { skip "--gdb starts ranks under gdb" "they are slow with a sanitizer"; done_testing; }
is_here gdb || { skip "--gdb starts ranks under gdb" "$LACKS"; done_testing; }
if ! is_here gdbserver; then skip "--gdb without a terminal says how to connect" "$LACKS"; else
    "${JOB[@]}" -n 2 --name "served-$$" --gdb 1 -- sh -c 'echo ran' > "$T/out" 2> "$T/err" < /dev/null &
    launcher=$!
    wait_for 'grep -q "Listening on port" "$T/err"'
    port=$(sed -n 's/.*Listening on port //p' "$T/err")
    check_match "rank 1 on host localhost waits for gdb .*attach .* 1 -- gdb -ex 'target remote :PORT'" \
        "$T/err" "--gdb without a terminal says how to connect"
    run attach "served-$$" 1 -- gdb -nx -batch -ex "target remote :$port" -ex continue
    check_match 'exited normally' "$OUT" "a gdb that connects lets the rank run"
    wait "$launcher"
    check_output "[0] ran
[1] ran" "ranks under gdbserver run to their end" sort "$T/out"
fi
if ! is_here tmux; then skip "--gdb on a terminal" "$LACKS"; else
    export TMUX_TMPDIR=$SHORT
    unset TMUX
    tmux_end() { tmux kill-server 2> /dev/null; }
    at_exit tmux_end
    keep_tmux() { terminal 'wait tmux attach -t' "${JOB[@]}" -n 2 --gdb 0-1 -- sh -c 'echo ran'; }
    keep_tmux > "$T/out" 2>&1 &
    beside=$!
    panes() { tmux list-panes -a -F '#{pane_id}' 2> /dev/null; }
    # shellcheck disable=SC2317 # called by wait_for
    ready() {
        [ "$(panes | wc -l)" = 2 ] || return 1
        for pane in $(panes); do
            tmux capture-pane -p -t "$pane" | grep -q '^(gdb) *$' || return 1
        done
    }
    if wait_for ready; then
        pass "--gdb on a terminal opens a window of tmux with gdb for each rank"
    else
        fail "--gdb on a terminal opens a window of tmux with gdb for each rank" "$(cat "$T/out")"
    fi
    check_no_match ran "$T/out" "ranks in windows of tmux are stopped at first"
    for pane in $(panes); do tmux send-keys -t "$pane" continue Enter; done
    wait "$beside"
    check_output "[0] ran
[1] ran" "ranks run when gdb continues them" sh -c 'tr -d "\r" < "$0" | grep "ran$" | sort' "$T/out"
    for pane in $(panes); do tmux send-keys -t "$pane" quit Enter; done
    wait_for '[ -z "$(panes)" ]' || fail "the windows close when gdb ends"
fi
done_testing
