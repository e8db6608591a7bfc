#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The register of running mlaunch processes: ps lists a job that is between two runs, clean removes
# what a killed mlaunch has left, damaged entries are left aside, and a job runs without its entry
# where none can be written.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/job.sh"

NAME=test-register-$$
USER_DIR=/tmp/mlaunch-$(id -u)

# launcher EXPRESSION: Python's, over `one`, what ps says of the mlaunch of the job $NAME.
launcher() {
    "$MLAUNCH" ps --json "$NAME" | json_show "str((lambda one: ($1))(j[\"launchers\"][0]))"
}
launcher_end() { kill "$1" 2> /dev/null; }
# crash_loop: a job in the background that begins again and again; its id is in $ID.
crash_loop() {
    ID=$("${JOB[@]}" --detach -q --name "$NAME" --restarts 1000 -- sh -c 'exit 3')
    PID=$(launcher 'one["pid"]')
    at_exit launcher_end "$PID"
    # A pause of 8 s, in which nothing of the job runs.
    wait_for 'grep -q "in [48] s" "$XDG_STATE_HOME/mlaunch/logs/$ID.$NAME.log"'
}

crash_loop
wait_for '"$MLAUNCH" ps | grep -q "restarting"'
check "ps lists a job between two runs" "$MLAUNCH" ps
check_match "^$NAME +$ID +$(id -un) .* localhost +-/1 +restarting [1-9] of 1000 .* sh -c 'exit 3'" "$OUT" \
    "ps shows which try is next"
check "ps knows a job between two runs by its name" "$MLAUNCH" ps "$NAME"
check_match "^$NAME +$ID " "$OUT" "ps by the name has the job's line"
check "ps knows a job between two runs by its id" "$MLAUNCH" ps "$ID"
check_match "^$NAME +$ID " "$OUT" "ps by the id has the job's line"
check_output "$ID $NAME 1000 1 ['localhost']" "ps --json has the job's mlaunch" launcher \
    '" ".join(map(str, (one["job"], one["job_name"], one["restarts"], one["size"], [h["name"] for h in one["hosts"]])))'
check_output restarting "ps --json has the state as a word" launcher 'one["state"]'
check_output 600 "the entry is its user's alone" stat -c %a "$USER_DIR/run.$ID"
check "clean leaves a job between two runs alone" "$MLAUNCH" clean "$NAME"
check "clean leaves the entry of a job that lives" test -e "$USER_DIR/run.$ID"

check_error 1 "job $NAME has no ranks to show: its mlaunch, process $PID, says that it is restarting" \
    "top of a job between two runs is refused" "$MLAUNCH" top --batch 1 "$NAME"
check_error 125 "job $NAME has no ranks to attach to: its mlaunch, process $PID, says that it is restarting" \
    "attach to a job between two runs is refused" "$MLAUNCH" attach "$NAME" 0 -- true
check "status works between two runs" "$MLAUNCH" status
check_match "^$ID \\($NAME\\) +$(id -un) .* localhost +-/1 +restarting [1-9] of 1000 +sh -c 'exit 3'" "$OUT" \
    "status has the line of the job between two runs"

# kill finds its mlaunch.
check "kill between two runs knows the job by its name" "$MLAUNCH" kill "$NAME"
check_match "^job $NAME \($ID\) on host localhost has been ended" "$OUT" \
    "kill says the name and the id of the job"
wait_for '! kill -0 "$PID" 2> /dev/null'
check "mlaunch logs has the ended job" "$MLAUNCH" logs "$NAME"
check_match "the job was ended with mlaunch kill by $(id -un) on host" "$OUT" \
    "the log has who ended the job"
check_match "has ended with status 143" "$OUT" "the log has the status 143"
check_match '"event":"killed".*"text":"the job was ended with mlaunch kill by ' "$EVENTS" \
    "--events has who ended the job"
left_nothing
check_status 1 "an ended job's entry is gone" test -e "$USER_DIR/run.$ID"
crash_loop
check "kill between two runs knows the job by its id" "$MLAUNCH" kill --json "$ID"
check_match '"found": "killed"' "$OUT" "kill --json says that the job is ended"
wait_for '! kill -0 "$PID" 2> /dev/null'

# A job whose agents are here is ended through its mlaunch, too, and one that is stopped.
"${JOB[@]}" --name "$NAME" -n 2 -- sleep 300 > "$T/job.out" 2> "$T/job.err" &
PID=$!
wait_for '"$MLAUNCH" ps "$NAME" | grep -q "2/2 *live"'
check_error 1 "job $NAME has no log: its mlaunch, process $PID, was started without --detach" \
    "logs of a job in the foreground are refused" "$MLAUNCH" logs "$NAME"
must kill -STOP "$PID"
check "kill takes a job whose mlaunch is stopped" "$MLAUNCH" kill "$NAME"
wait "$PID"
check_output 143 "a job whose mlaunch was stopped ends with 143" echo $?
left_nothing

# Killed with no time to tidy up.
crash_loop
must kill -KILL "$PID"
wait_for '! kill -0 "$PID" 2> /dev/null'
check_error 1 "there is no job $NAME here" "a killed mlaunch has no job" "$MLAUNCH" ps "$NAME"
check "clean --dry-run takes a killed mlaunch's job" "$MLAUNCH" clean --dry-run "$ID"
check_match "^$USER_DIR/run.$ID would be removed: the mlaunch of job $ID is gone" "$OUT" \
    "clean --dry-run names the entry of a killed mlaunch"
check "clean --dry-run leaves the entry of a killed mlaunch" test -e "$USER_DIR/run.$ID"
check "clean takes a killed mlaunch's job" "$MLAUNCH" clean --json "$ID"
check_match "\"$USER_DIR/run.$ID\"" "$OUT" "clean --json has the entry of a killed mlaunch"
check_status 1 "the entry of a killed mlaunch is removed" test -e "$USER_DIR/run.$ID"

# What is damaged or may be another's.
must mkdir -p -m 700 "$USER_DIR"
must cp /dev/null "$USER_DIR/run.0damaged-$$"
must chmod 600 "$USER_DIR/run.0damaged-$$"
at_exit rm -f "$USER_DIR/run.0damaged-$$"
check "ps works beside a damaged entry" "$MLAUNCH" ps
check_status 1 "ps says nothing of a damaged entry" grep 0damaged "$ERR"
check "ps -v works beside a damaged entry" "$MLAUNCH" ps -v
check_match "run.0damaged-$$ is left aside: .* is malformed" "$ERR" \
    "ps -v says why a damaged entry is left aside"
must chmod 644 "$USER_DIR/run.0damaged-$$"
check "ps -v works beside an entry that others may read" "$MLAUNCH" ps -v
check_match "run.0damaged-$$ is left aside: it is not a file of yours that is closed to others" "$ERR" \
    "ps -v says why an entry that others may read is left aside"
must rm "$USER_DIR/run.0damaged-$$"

# A job's directory is empty for a moment when it is made, and when it is removed.
passing=$USER_DIR/0passing-$$.0.aaaaaa
must mkdir -p -m 700 "$passing"
at_exit rm -rf "$passing"
check "ps -v works beside a directory that was just made" "$MLAUNCH" ps -v
check_no_match 0passing "$OUT" "ps -v does not list a directory that was just made"
must touch -d '1 minute ago' "$passing"
check "ps -v works a minute later" "$MLAUNCH" ps -v
check_match "^ *0passing-$$ .* unreadable " "$OUT" "ps -v lists the directory a minute later"
must rm -rf "$passing"

job_status 0 "a job that ends well leaves no entry" -n 2 -- true
job_status 3 "a job that fails leaves no entry" -- sh -c 'exit 3'
job_status 127 "a job that cannot start leaves no entry" -- "$T/nosuch"
done_testing
