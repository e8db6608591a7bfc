#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Memory that outlives ranks, in jobs: Python ranks get back what they and a dead one have kept, ps
# counts it, and nothing of it is left after the job, whose agent may have been killed before clean.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../cli/job.sh"

needs python3
PYTHON=$(command -v python3)
export PYTHONDONTWRITEBYTECODE=1

kept_files() { find /dev/shm -name "mlaunch-*-$ID.*.keep.*" | wc -l; }
# ps_json EXPRESSION: Python's, over `job`, what ps says of $ID.
ps_json() {
    "$MLAUNCH" ps --json "$ID" | json_show "str((lambda job: ($1))(j[\"hosts\"][0][\"jobs\"][0]))"
}
# keepers_begin: the job, up to where all is restored; its id is in $ID, mlaunch in $PID.
keepers_begin() {
    : > "$EVENTS"
    : > "$T/job.out" # what the job before has said is not this one's
    rm -f "$T/go"
    "${JOB[@]}" -n 4 --elastic 2 --oversubscribe "${STRANGER[@]}" -- "$PYTHON" \
        "$SOURCE/tests/runtime/python_keep.py" "$T/go" > "$T/job.out" 2> "$T/job.err" < /dev/null &
    PID=$!
    wait_for '[ "$(grep -c "all is restored" "$T/job.out")" = 3 ] || ! kill -0 "$PID" 2> /dev/null'
    ID=$(sed -n 's/.*"job":"\([^"]\{1,\}\)".*/\1/p' "$EVENTS" | head -n 1)
}

keepers_begin
check_output 3 "those that live have what all had kept" grep -c "all is restored" "$T/job.out"
check_output True "ps counts what is kept, the dead rank's too" ps_json \
    '(lambda kept: job["kept_bytes"] == sum(kept) and
        all(8 * 65536 < one < 3 * 8 * 65536 for one in kept) and kept[1] > 2 * 8 * 65536)(
        [r["kept_bytes"] for r in job["ranks"]]) and len(job["ranks"]) == 4'
check "ps shows the job" "$MLAUNCH" ps "$ID"
check_match "^RANK +HOST +PID +STATE +%CPU +MEM +KEPT +PROCESSES" "$OUT" \
    "ps has a column for what is kept"
check_match "^ +1 +[^ ]+ +[0-9]+ +ended +0 +0K +1\\.0M +0" \
    "$OUT" "ps shows what is the dead rank's"
check "what is kept lies in /dev/shm" test "$(kept_files)" -ge 8
must touch "$T/go"
wait "$PID"
check_output 0 "the job ends well" echo $?
check_output 0 "nothing of what was kept is left" kept_files

# The agent and its guard are killed at once, so only clean is left to remove it.
keepers_begin
agent=$(ps_json 'job["agent_pid"]') guard=$(ps_json 'job["guard_pid"]')
must kill -STOP "$agent" "$guard"
must kill -KILL "$agent" "$guard"
wait "$PID"
check "the agent is killed: what was kept is still there" test "$(kept_files)" -ge 8
keep "$MLAUNCH" clean "$ID"
check_match "job $ID: segment .*\\.keep\\.1\\.[01]\\.state has been removed" "$T/out" \
    "the agent is killed: clean tells of what was kept"
check_output 0 "the agent is killed: clean leaves nothing of it" kept_files

# A process that takes the dead rank's place finds what that one has kept.
check "a rank is killed and replaced, and the job ends well" "$MLAUNCH" -n 3 --elastic 2 \
    --restarts 1 --oversubscribe "${STRANGER[@]}" -- \
    "$PYTHON" "$SOURCE/tests/runtime/python_keep_replaced.py" 12
cp "$OUT" "$T/job.out"
check_output "[0] ended with 3
[1] ended with 3
[2] ended with 3" "all three have the sums of a job without a death" sort "$T/job.out"

# --keep 2: those that live restore what the ranks of a host that is lost have kept.
TO="env HOST={host}"
: > "$EVENTS"
"${JOB[@]}" -H "a:2,b:2" --agent-command "$TO" -n 4 --elastic 2 --keep 2 --oversubscribe "${STRANGER[@]}" -- \
    "$PYTHON" "$SOURCE/tests/runtime/python_keep_copies.py" "$T/kept" > "$T/out" 2> "$T/err" \
    < /dev/null &
PID=$!
wait_for '[ -e "$T/kept" ] || ! kill -0 "$PID" 2> /dev/null'
ID=$(job_id)
check_output 16 "each part is on both hosts" kept_files
must kill -KILL "$(sed -n 's/.*"connected".*"host":"b","pid":\([0-9]*\).*/\1/p' "$EVENTS")"
run wait "$PID"
cp "$T/err" "$ERR"
job_judge 0 "a host of an elastic job is lost, and the job ends well" mlaunch
check_output "[0] restored 5 of [0, 2, 3]
[1] restored 5 of [1, 2, 3]" "the parts of a lost host's ranks are on the next one" sort "$T/out"
check_output 0 "nothing is left of parts on two hosts" kept_files

# Rank 0's next host is lost, so it keeps with the one behind that, where its part is when its own
# host is lost, too.
: > "$EVENTS"
"${JOB[@]}" -H "a,b,c" --agent-command "$TO" -n 3 --elastic 1 --keep 2 --oversubscribe \
    "${STRANGER[@]}" -- "$PYTHON" "$SOURCE/tests/runtime/python_keep_next.py" "$T" \
    > "$T/out" 2> "$T/err" < /dev/null &
PID=$!
agent_kill() { kill -KILL "$(sed -n 's/.*"connected".*"host":"'"$1"'","pid":\([0-9]*\).*/\1/p' "$EVENTS")"; }
copies_on() { find /dev/shm -name "mlaunch-*-$(job_id).$1.*.keep.0.*" | wc -l; }
is_over() { ! kill -0 "$PID" 2> /dev/null; }
wait_for '[ "$(copies_on 1)" = 2 ] || is_over'
check_output 0 "a part is on the next host, and on no other" copies_on 2
must touch "$T/next.3"
wait_for '[ -e "$T/kept.3" ] || is_over'
must agent_kill b
wait_for '[ "$(copies_on 2)" = 2 ] || is_over'
must touch "$T/next.2"
wait_for '[ -e "$T/kept.2" ] || is_over'
must agent_kill a
run wait "$PID"
cp "$T/err" "$ERR"
job_judge 0 "two hosts of three are lost, one after the other, and the job ends well" mlaunch
check_output "[0] restored the part of 0
[2] restored the part of 0
[2] restored the part of 2
[2] restored the part of 2" "the rank that is left has both parts" sort "$T/out"

# The process that holds the copies is killed, and what it held is removed: mlaunch says so, another
# one takes its place, and the rank's copies are made anew, without --elastic too.
: > "$EVENTS"
must mkdir "$T/alone"
"${JOB[@]}" -H "a,b" --agent-command "$TO" -n 2 --keep 2 --oversubscribe "${STRANGER[@]}" -- \
    "$PYTHON" "$SOURCE/tests/runtime/python_keep_alone.py" "$T/alone" > "$T/out" 2> "$T/err" < /dev/null &
PID=$!
wait_for '[ -e "$T/alone/kept.2" ] || is_over'
check_output 2 "two versions are on the next host" copies_on 1
# It is the agent's child, as is its rank, and where Open MPI is installed a server of PMIx.
agent=$(sed -n 's/.*"connected".*"host":"b","pid":\([0-9]*\).*/\1/p' "$EVENTS")
keeper_of_b() { pgrep -x -P "$agent" mlaunch-agent; }
must kill -KILL "$(keeper_of_b)"
wait_for 'grep -q "host b: the process that holds copies" "$T/err" || is_over'
check_match "^mlaunch: warning: host b: the process that holds copies for another host \(--keep 2\) was killed by signal 9 \(Killed\); another one takes its place$" \
    "$T/err" "a sentence says that a keeper was killed"
check_match '"event":"keeper".*"host":"b"' "$EVENTS" "an event says that a keeper was killed"
find /dev/shm -name "mlaunch-*-$(job_id).1.*.keep.0.*" -delete
must touch "$T/alone/go.3"
wait_for '[ -e "$T/alone/kept.3" ] || is_over'
check_output 2 "both versions are copied to the next keeper" copies_on 1
# Ten of them are killed, so that there is none.
for i in {2..10}; do
    must kill -KILL "$(keeper_of_b)"
    wait_for '[ "$(grep -c "\"event\":\"keeper\"" "$EVENTS")" = "$i" ] || is_over'
done
check_match "host b: .*, and cannot be replaced: 10 have ended so$" "$T/err" \
    "a sentence says that a keeper cannot be replaced"
job_file() { cat "/tmp/mlaunch-$(id -u)/$(job_id).0."*/job.json; }
wait_for 'job_file | grep -q "\"keeper\": \"\"" || is_over'
must touch "$T/alone/go.4"
wait_for '[ -e "$T/alone/kept.4" ] || is_over'
wait_for 'grep -q "on one host only" "$T/err" || is_over'
check_match "^mlaunch: warning: rank 0 on host a: what it keeps is kept in memory on one host only: no other host takes copies$" \
    "$T/err" "a sentence says that what a rank keeps is on one host"
check_match '"event":"kept".*"rank":0,"host":"a","hosts":1' "$EVENTS" \
    "an event says that what a rank keeps is on one host"
keep "$MLAUNCH" ps "$(job_id)"
check_match "^rank 0 on host .*: kept in memory on one host only: no other host takes copies$" \
    "$T/out" "ps says that what a rank keeps is on one host"
must touch "$T/alone/go.5" "$T/alone/go.6"
run wait "$PID"
job_judge 0 "keepers are killed, and the job ends well" mlaunch

run "$MLAUNCH" --keep 2 -n 2 --oversubscribe -- true
check_match "^mlaunch: error: --keep 2 has a copy .* this job has one host alone" "$ERR" \
    "--keep 2 on one host is refused"
run "$MLAUNCH" --keep 2 --backend none -H "a,b" -n 2 -- true
check_match "^mlaunch: error: --keep 2 and backend none exclude each other" "$ERR" \
    "--keep 2 without the library is refused"

done_testing
