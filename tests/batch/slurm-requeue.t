#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A job that a real Slurm queues again, and one whose time limit strikes.
# shellcheck disable=SC2154 # mark, job and out are set in slurm.sh
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/../lib/slurm.sh"
slurm_up 3
cd "$T" || exit 1

# Slurm's time limits are whole minutes, so this job runs beside all that follows and is checked at
# the end.
fresh_mark
batch --nodes 2 --time 1 -x "$mark" -- sleep 1001
limited=$job limited_mark=$mark
wait_for 'running "sleep 1001" 2' ||
    fail "ranks start in the job with a limit" "$(survivors "$mark")"

# Requeued, a job starts anew; of the run before nothing is left.
fresh_mark
batch --nodes 2 --extra --requeue --extra --open-mode=append -x "$mark" -x SLURM_RESTART_COUNT run \
    --output raw -- sh -c \
    'if [ -n "$SLURM_RESTART_COUNT" ]; then echo again; else sleep 1006; fi'
wait_for 'running "sleep 1006" 2' ||
    fail "ranks start in the job to be requeued" "$(survivors "$mark")"
on_login scontrol requeue "$job"
if wait_for '[ "$(job_field "$job" JobState)" = PENDING ]'; then
    no_survivors "requeue: nothing of the first run is left" "$mark" 0
else
    fail "requeue: the job waits again" "$(job_field "$job" JobState) $(job_field "$job" Reason)"
fi
# A node refuses a credential of the second in which it has ended the run before ("Job credential
# revoked"), which is why Slurm would wait.
since=$EPOCHSECONDS
wait_for '[ "$EPOCHSECONDS" -gt "$since" ]'
# Its start can't be set while the nodes still report that end: Slurm refuses that with a message.
wait_for 'on_login scontrol update JobId="$job" StartTime=now 2> "$T/update"' ||
    fail "requeue: the job may start" "$(cat "$T/update")"
ends COMPLETED 0:0 "requeue: the job runs again"
check_match '^again' "$out" "requeue: the second run knows that it is one"

job=$limited out=$T/job.$limited mark=$limited_mark
wait_for '[[ $(< "$out") = *[Tt][Ii][Mm][Ee]\ [Ll][Ii][Mm][Ii][Tt]* ]]' 180 # scontrol would be busy
ends TIMEOUT "$by_signal" "the time limit ends the job"
check_match "DUE TO TIME LIMIT|Slurm has ended the job" "$out" \
    "the job's output tells of the time limit"
nothing_left "time limit"
done_testing
