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

run "$MLAUNCH" --keep 2 -n 2 --oversubscribe -- true
check_match "^mlaunch: error: --keep 2 has a copy .* this job has one host alone" "$ERR" \
    "--keep 2 on one host is refused"
run "$MLAUNCH" --keep 2 --backend none -H "a,b" -n 2 -- true
check_match "^mlaunch: error: --keep 2 and backend none exclude each other" "$ERR" \
    "--keep 2 without the library is refused"

done_testing
