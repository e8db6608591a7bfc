#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Jobs over several hosts: which part is named when a rank, an agent or a host fails; stdin, signals
# and pauses reach ranks on other hosts; local and remote hosts in one job. Nothing is left
# anywhere.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/job.sh"
hosts_up 3
JOB+=(--ssh-config "$NETNS_SSH_CONFIG")
ALL=$H1,$H2,$H3

# has_said TEXT N: waits until N lines of $T/out have TEXT.
has_said() { wait_for "[ \"\$(grep -c '$1' '$T/out')\" -ge $2 ]"; }
# job_start ARGUMENT…: in the background, with the signals of a job in the foreground.
job_start() {
    : > "$T/out"
    set -m
    "${JOB[@]}" "$@" > "$T/out" 2> "$T/err" &
    mlaunch=$!
    set +m
}
job_end() {
    wait "$mlaunch"
    status=$?
    cp "$T/out" "$OUT"
    cp "$T/err" "$ERR"
}
milliseconds() { echo $((${EPOCHREALTIME/./} / 1000)); }

job_prints "[0] $H1
[1] $H1
[2] $H2
[3] $H2
[4] $H3
[5] $H3" "six ranks run on three hosts" -H "$ALL" --ppn 2 -- uname -n
job_says 7 "rank 2 on host $H3 \(pid [0-9]+\) exited with status 7$" \
    "a rank's failure names its host" \
    -H "$ALL" -- sh -c '[ $MLAUNCH_RANK = 2 ] && exit 7; sleep 60'
job_says 127 "rank [0-2] on host [^ ]+ could not be started" \
    "a program that is not there is told of with its host" -H "$ALL" -- no-such-program
job_prints "[0] local
[1] $H1" "a job runs on a local and a remote host" -H "localhost,$H1" -- \
    sh -c '[ $MLAUNCH_RANK = 0 ] && echo local || uname -n'

printf 'one\ntwo\n' > "$T/in"
job_reads() { job "$@" < "$T/in"; }
keep job_reads -H "$ALL" --stdin all -- sh -c 'wc -l'
check_output "$(printf '[%d] 2\n' 0 1 2)" "the input reaches ranks on all hosts" sort "$T/out"
keep "$SOURCE/tests/cli/on_terminal.py" 'size 31 99
wait big vt100
type one\r
wait got one
modes' env TERM=vt100 "${JOB[@]}" -H "$H1,$H2" --pty=1 -- sh -c '[ $MLAUNCH_RANK = 1 ] || exit 0
    until stty size | grep -q "31 99"; do sleep 0.02; done; echo "big $TERM"; read -r x; echo "got $x"'
job_judge 0 "--pty on another host has size, TERM and keys" "mlaunch on a terminal"

# A terminal beside a rank of another host, and a connection that is cut.
job_start -H "$H1,$H2" -x WHERE=there -- sh -c 'echo ready; exec sleep 60'
has_said ready 2
keep "$SOURCE/tests/cli/on_terminal.py" 'size 31 99
wait big 1 there
type ok\r
modes' "$MLAUNCH" attach --ssh-config "$NETNS_SSH_CONFIG" -H "$ALL" "$(tail -n 1 "$EVENTS" |
    sed 's/.*"job":"\([^"]*\)".*/\1/')" 1 -- sh -c \
    'until stty size | grep -q "31 99"; do sleep 0.02; done; [ "$(uname -n)" = {host} ] &&
    echo "big $MLAUNCH_RANK $WHERE"; read -r x; [ "$x" = ok ]'
check_match "^big 1 there" "$T/out" \
    "mlaunch attach on another host has a terminal, its size and the environment"
must kill -INT "$mlaunch"
job_end
job_status 125 "--chaos cuts the connection to another host" \
    -H "$H1,$H2" --chaos "cut $H2" -- sleep 60
check_match "^mlaunch: host $H2 was lost: its connection was cut by --chaos" "$ERR" \
    "the host that --chaos has cut is named"

# Signals.
job_start -H "$ALL" -- sh -c \
    'trap "echo got INT; exit 0" INT; echo ready; while :; do sleep 0.05; done'
has_said ready 3
must kill -INT "$mlaunch"
job_end
job_judge 130 "Ctrl-C ends the ranks on three hosts" "mlaunch -H …, INT"
check_output 3 "Ctrl-C reaches all hosts" grep -c 'got INT' "$T/out"

# What one host's agent hears, the ranks of all hosts hear in the same step.
# Not python3 itself, which may be a shell script: a shell dies of a preloaded thread sanitizer.
PYTHON=$(python3 -c 'import sys; print(sys.executable)')
job_start -H "$ALL" --stop-signal USR1 "${STRANGER[@]}" -- "$PYTHON" "$SOURCE/tests/cli/until_asked.py"
has_said ready 3
worker=$(sed -n 's/.*"event":"connected".*"host":"'"$H2"'","pid":\([0-9]*\).*/\1/p' "$EVENTS")
must netns exec "$H2" kill -USR1 "$worker"
job_end
job_judge 0 "--stop-signal to one agent is no failure" "mlaunch -H …, kill -USR1 the worker on $H2"
check_output 3 "--stop-signal to one agent reaches the ranks of all hosts" \
    grep -c 'stopped in step' "$T/out"
check_output 1 "--stop-signal to one agent stops all ranks in the same step" \
    sh -c "sed -n 's/.*stopped in step \([0-9]*\).*/\1/p' '$T/out' | sort -u | wc -l"
job_start -H "$ALL" "${STRANGER[@]}" -- "$PYTHON" "$SOURCE/tests/cli/until_asked.py"
has_said ready 3
check "kill --soft goes through the agent of one host" netns exec "$H3" "$MLAUNCH" kill --soft \
    --ssh-config "$NETNS_SSH_CONFIG" -H "$H3" "$(job_id)"
job_end
job_judge 0 "kill --soft through one agent ends the job on all hosts" "mlaunch -H …, kill --soft"

# A pause longer than the silence after which a channel is given up.
job_start -H "$H1,$H2" -- sh -c \
    'echo ready; while [ ! -e '"$T"'/go ]; do sleep 0.05; done; echo went on'
has_said ready 2
must kill -TSTP "$mlaunch"
check "Ctrl-Z stops mlaunch" wait_for '[ "$(state_of "$mlaunch")" = T ]'
# A shell whose child was stopped between vfork and exec waits for it in state D.
ranks_state() { for pid in $(survivors "$MARK" | cut -d' ' -f1); do
    state_of "$pid"; done | sort -u | tr -d 'D\n'; }
check "Ctrl-Z stops the ranks on both hosts" wait_for '[ "$(ranks_state)" = T ]'
: > "$T/go"
since=$(milliseconds)
wait_for "[ \$((\$(milliseconds) - $since)) -gt 12000 ]"
must kill -CONT "$mlaunch"
job_end
job_judge 0 "mlaunch goes on to a good end after 12 s" "mlaunch -H …, TSTP, CONT"
check_output 2 "the ranks go on to a good end after 12 s" grep -c 'went on' "$T/out"

# An agent that goes away; more of that, and lost hosts, in tests/fault.
job_start -H "$ALL" -- sh -c 'echo ready; sleep 60'
has_said ready 3
worker=$(sed -n 's/.*"event":"connected".*"host":"'"$H2"'","pid":\([0-9]*\).*/\1/p' "$EVENTS")
must netns exec "$H2" kill -KILL "$worker"
job_end
skip_emulated "qemu-user knows no child subreapers: the guard does not find the ranks" \
    "a job ends if an agent's worker is killed" ||
    job_judge 125 "a job ends if an agent's worker is killed" \
        "mlaunch -H …, kill -KILL the worker on $H2"
check_match "^mlaunch: host $H2 was lost: " "$T/err" "the host of the killed worker is named"
check_no_match 'nothing was heard' "$T/err" "the killed worker is seen before any silence"

done_testing
