#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mlaunch kill JOB, while another user has forged directories with that job's id, older and younger
# than the job's. Expected: the job is ended and the answer is about it, status 0; what is forged is
# the answer only for a job that this user doesn't have.
# shellcheck disable=SC2154 # mlaunch: of fault.sh
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/inside.sh"
inside container
. "${0%/*}/../fault/fault.sh"
as_ordinary true 2> "$T/why" || skip_all "no other user may be taken on here"

job_start -H localhost -n 1 -- sh -c 'echo ready; exec sleep 300'
has_said ready 1
id=$(job_id)
dir=$(echo "/tmp/mlaunch-$(id -u)/$id".*)
chmod 755 "$T"
# The other user forges copies of the job's own description, begun at other times, in which a process
# of his is the agent, so that they look alive.
as_ordinary sh -c 'echo $$; exec sleep 300' > "$T/sleeper" &
wait_for '[ -s "$T/sleeper" ]'
sleeper=$(cat "$T/sleeper")
at_exit kill "$sleeper"
for age in -1000 1000; do
    python3 "$SOURCE/tests/cli/forged_job.py" "$age" "$sleeper" < "$dir/job.json" \
        > "$T/forged" && chmod 644 "$T/forged"
    as_ordinary sh -c 'umask 022; d=/tmp/mlaunch-$(id -u)/$1.0.forged$2
        mkdir -p "$d" && cat "$3" > "$d/job.json"' sh "$id" "$age" "$T/forged"
done
check_output "live live live" "ps shows three jobs that live" sh -c '"$1" ps --json "$2" | python3 \
    "$SOURCE/tests/lib/json_show.py" "(*[job[\"state\"] for job in j[\"hosts\"][0][\"jobs\"]],)"' sh \
    "$MLAUNCH" "$id"
check "kill takes the job's id" "$MLAUNCH" kill "$id"
check_match "^job $id on host .* has been ended" "$OUT" "kill says that the job is ended"
check_output "" "kill says nothing else" cat "$ERR"
wait "$mlaunch" 2> /dev/null
check_output 143 "the killed job ends with 143" echo $?
check_error 1 "job $id on host .*: it belongs to another user" \
    "only forgeries are left for a second kill" "$MLAUNCH" kill "$id"
done_testing
