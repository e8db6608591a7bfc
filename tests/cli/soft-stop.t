#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A job that is asked to stop by itself: by the signal of --stop-signal, to mlaunch or to an agent,
# and by mlaunch kill --soft. All ranks leave their loop in one step, and nobody is ended.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/job.sh"
asked="$SOURCE/tests/cli/until_asked.py"

has_said() { wait_for "[ \"\$(grep -c '$1' '$T/out')\" -ge $2 ]"; }
# job_begin RANKS ARGUMENT…: in the background, until all ranks have said "ready".
job_begin() {
    local ranks=$1
    shift
    : > "$T/out"
    : > "$EVENTS"
    set -m
    "${JOB[@]}" -n "$ranks" "$@" > "$T/out" 2> "$T/err" &
    mlaunch=$!
    set +m
    has_said ready "$ranks"
}
# job_finish STATUS NAME
job_finish() {
    run eval 'wait "$mlaunch"'
    job_judge "$1" "$2" "mlaunch"
}
# in_one_step RANKS NAME: all ranks have stopped, in the same step.
in_one_step() {
    check_output "$1" "$2: all ranks stop" grep -c 'stopped in step' "$T/out"
    check_output 1 "$2: all ranks stop in the same step" \
        sh -c "sed -n 's/.*stopped in step \([0-9]*\).*/\1/p' '$T/out' | sort -u | wc -l"
}
# said_softly TEXT NAME: the lines and events of such an end.
said_softly() {
    check_match "^mlaunch: $1\$" "$T/err" "$2: a line says who asked"
    check_match '^mlaunch: the job has stopped by itself, as it was asked$' "$T/err" \
        "$2: a line says that the job has stopped"
    check_match "\"event\":\"asked\",.*\"text\":\"asked to stop" "$EVENTS" \
        "$2: an event says who asked"
    check_match '"event":"stopped-softly"' "$EVENTS" "$2: an event says that the job has stopped"
}

job_begin 3 --stop-signal USR1 -- "$asked"
must kill -USR1 "$mlaunch"
job_finish 0 "--stop-signal USR1 is no failure"
in_one_step 3 "--stop-signal USR1"
said_softly "asked to stop by SIGUSR1 \\(from pid $$, [^)]+\\)" "--stop-signal USR1"
check_match 'with 2 of 2 workers' "$T/out" "no worker has got the signal"

# Ranks ask each other in each 50th call alone, and ranks of one group of several ask for all.
job_begin 2 --stop-signal SIGUSR2 --backend tcp --local net -- "$asked" 50
must kill -USR2 "$mlaunch"
job_finish 0 "ranks may ask in each 50th call alone, over TCP"
in_one_step 2 "should_stop(every=50)"
check_output 49 "the ranks have stopped in a 50th call" \
    sh -c "echo \$((\$(sed -n 's/.*stopped in step \([0-9]*\).*/\1/p' '$T/out' | head -n 1) % 50))"

# A signal that would have ended the job: the first asks, and so does its copy to the process group.
job_begin 2 --stop-signal TERM -- "$asked"
must kill -TERM "$mlaunch" "$mlaunch"
job_finish 0 "the first SIGTERM only asks with --stop-signal TERM"
in_one_step 2 "--stop-signal TERM"
said_softly "asked to stop by SIGTERM \\(from pid $$, [^)]+\\); SIGTERM in 5 s; --grace changes that" \
    "--stop-signal TERM"
job_begin 2 --stop-signal TERM --grace 1000 -- sh -c 'echo ready; exec sleep 1000'
must kill -TERM "$mlaunch"
wait_for 'grep -q "asked to stop" "$T/err"'
since=${EPOCHREALTIME/./}
wait_for '[ $((${EPOCHREALTIME/./} - since)) -gt 150000 ]' # not of the same press
must kill -TERM "$mlaunch"
job_finish 143 "the second SIGTERM ends the job"
check_match "^mlaunch: ended by SIGTERM \\(from pid $$, [^)]+\\): SIGKILL in 1000 s" "$T/err" \
    "the second SIGTERM is told"
job_begin 2 --stop-signal INT --grace 0.3 -- sh -c 'echo ready; exec sleep 1000'
must kill -INT "$mlaunch"
job_finish 143 "the end of --grace ends a job that was asked by SIGINT"
check_match '^mlaunch: ranks 0,1 have not stopped within 0.3 s \(--grace\), and get SIGTERM' \
    "$T/err" "a line says that ranks have not stopped within --grace"
check_status 1 "no event says that the job has stopped softly" grep -q softly "$EVENTS"
job_begin 1 --stop-signal TERM --grace 1000 -- sh -c 'echo ready; exec sleep 1000'
check "mlaunch kill takes a job with --stop-signal" "$MLAUNCH" kill "$(job_id)"
job_finish 143 "mlaunch kill ends a job with --stop-signal at once"
check_status 1 "mlaunch kill does not ask" grep -q '"asked"' "$EVENTS"

# mlaunch kill --soft.
job_begin 2 --name "softly-$$" -- "$asked"
check_output "job softly-$$ ($(job_id)) on host localhost has been asked to stop" \
    "kill --soft says that the job has been asked" "$MLAUNCH" kill --soft "softly-$$"
job_finish 0 "a job that kill --soft has asked ends well"
in_one_step 2 "kill --soft"
said_softly 'asked to stop with mlaunch kill --soft by [^ ]+ on host [^ ]+' "kill --soft"
# Where its mlaunch is not to be found, its agents are.
job_begin 2 -- "$asked"
check "the entry of the job's mlaunch is hidden" rm "/tmp/mlaunch-$(id -u)/run.$(job_id)"
check_match '"found": "asked"' <("$MLAUNCH" kill --soft --json "$(job_id)") \
    "kill --soft --json reaches the agent"
job_finish 0 "a job that was asked through its agent ends well"
in_one_step 2 "kill --soft by the agent"
said_softly 'asked to stop with mlaunch kill --soft by [^ ]+ on host [^ ]+' \
    "kill --soft by the agent"

# A batch system signals all processes of a step, agents and ranks: those without a handler live.
job_begin 2 --stop-signal USR1 -- "$asked"
worker=$(sed -n 's/.*"event":"connected".*"pid":\([0-9]*\).*/\1/p' "$EVENTS")
for pid in $(survivors "$MARK" | cut -d' ' -f1) "$worker"; do kill -USR1 "$pid"; done
job_finish 0 "SIGUSR1 to an agent and all ranks is no failure"
in_one_step 2 "SIGUSR1 to an agent"
said_softly 'asked to stop by SIGUSR1 to the agent on host [^ ]+' "SIGUSR1 to an agent"
check_match 'with 2 of 2 workers' "$T/out" "the workers of signalled ranks live"

# What fails after it was asked fails as ever, and is not started again.
job_begin 2 --restarts 3 --stop-signal USR1 -- "$asked" 1 7
must kill -USR1 "$mlaunch"
job_finish 7 "ranks that fail after they were asked give the status"
check_match '^mlaunch: rank [01] on host localhost \(pid [0-9]+\) exited with status 7$' "$T/err" \
    "ranks that fail after they were asked are named"
check_status 1 "ranks that fail after they were asked are not started again" \
    grep -qE 'restarted|softly' "$EVENTS"

check_error 125 "--stop-signal: 'KILL' is not none, USR1, USR2, TERM, INT or HUP" \
    "a signal that cannot ask is refused" "$MLAUNCH" --stop-signal KILL -n 1 -- true
done_testing
