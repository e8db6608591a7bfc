#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What mlaunch shrink refuses, in which sentences, and what a job does with requests that are none.
# Expected: nothing of the job changes.
# shellcheck disable=SC2154 # mlaunch: of fault.sh
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../fault/fault.sh"
SURVIVOR=$BUILD/tests/fault/survivor

refused() { check_error "$1" "$2" "$3" "$MLAUNCH" shrink "${@:4}"; }

refused 125 'mlaunch shrink: which job and ranks' "shrink without a job is refused"
refused 125 'mlaunch shrink: which ranks' "shrink without ranks is refused" nowhere
refused 125 "'x' is not a list of ranks: write numbers and ranges" \
    "a word that is no list of ranks is refused" nowhere x
refused 1 'no mlaunch of yours on this machine has a job nowhere;' \
    "a job that is not there cannot shrink" nowhere 1
check "--help prints how shrink is used" \
    sh -c '"$1" shrink --help | grep -q "^usage: mlaunch shrink JOB RANKS"' sh "$MLAUNCH"

job_start -n 1 -- sh -c 'echo ready; exec sleep 300'
has_said ready 1 || fail "a job without --elastic runs"
refused 1 "job .* cannot be changed: it was not started with --elastic" \
    "a job without --elastic cannot shrink" "$(job_id)" 0
kill "$mlaunch"
wait "$mlaunch" 2> /dev/null

job_start -n 3 --oversubscribe --elastic 2 --name "shrunk-$$" --output raw -- \
    sh -c 'echo ready; while [ ! -e "$0.go" ]; do sleep 0.02; done; exec "$1" "$0"' "$T/stop" "$SURVIVOR"
has_said ready 3 || fail "the three ranks of an elastic job run"
id=$(job_id)
refused 1 "job $id: its ranks have not all called ml_init yet" \
    "a job cannot shrink before all have called ml_init" "shrunk-$$" 1
touch "$T/stop.go"
has_said 'membership 0' 3 || fail "the ranks say that they have met"
check "mlaunch knows that the ranks have met" \
    wait_for '"$MLAUNCH" shrink shrunk-$$ 0-2 2>&1 | grep -q "would be left"'
refused 1 "job $id: there is no rank 3: the job has ranks 0 to 2" \
    "a rank that is not there cannot leave" "shrunk-$$" 3
refused 1 "job $id: 1 rank would be left, and 2 are needed" "a job cannot shrink below MIN" \
    "$id" 0,2
refused 1 "job $id: 0 ranks would be left" "all ranks cannot leave" "$id" all
check "requests that are none change nothing" python3 "$SOURCE/tests/cli/change_requests.py" "$id"
check "a rank leaves the job" "$MLAUNCH" shrink "shrunk-$$" 1
refused 1 "job $id: rank 1 has ended before" "a rank that has left cannot leave again" "shrunk-$$" 1
touch "$T/stop"
wait "$mlaunch"
check_output 0 "the job ends well after a rank has left" echo $?
check_output 2 "all other ranks end well" grep -c ': done' "$T/out"
done_testing
