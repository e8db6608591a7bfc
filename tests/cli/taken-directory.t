#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Another user has taken the name of this user's directory in /tmp, by whatever can be made there.
# Expected: jobs run all the same; ps, kill and clean find them; nothing is left.
# shellcheck disable=SC2154 # mlaunch: of fault.sh
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/inside.sh"
inside container
. "${0%/*}/../fault/fault.sh"
as_ordinary true 2> "$T/why" || skip_all "no other user may be taken on here"

taken=/tmp/mlaunch-$(id -u)
as_ordinary mkdir -m 777 "$taken"
job_start -H localhost -n 2 -- sh -c 'echo ready; exec sleep 300'
has_said ready 2
id=$(job_id)
check_match "^/tmp/mlaunch-$(id -u)\.[A-Za-z0-9]{6}/$id\." <(echo /tmp/mlaunch-*/"$id".*) \
    "a job has a directory of its own beside a taken one"
check_output "$id live" "ps finds the job" sh -c '"$1" ps --json | python3 \
    "$SOURCE/tests/lib/json_show.py" "\"\\n\".join(
        job[\"job\"] + \" \" + job[\"state\"] for job in j[\"hosts\"][0][\"jobs\"])"' sh "$MLAUNCH"
check "kill takes a job beside a taken directory" "$MLAUNCH" kill "$id"
wait "$mlaunch" 2> /dev/null
check_output 143 "a job beside a taken directory ends with 143" echo $?
check_output "$taken" "nothing but the taken directory is left of a job" \
    sh -c 'echo /tmp/mlaunch-[0-9]*'

job_start -H localhost -n 1 -- sh -c 'echo ready; exec sleep 300'
has_said ready 1
id=$(job_id)
both_kill
wait "$mlaunch" 2> /dev/null
check_output 125 "a job whose agent is killed is 125 beside a taken directory" echo $?
run "$MLAUNCH" clean
check_match "job $id: directory /tmp/mlaunch-$(id -u)\.[A-Za-z0-9]{6}/$id.* has been removed" "$OUT" \
    "clean removes what is left of the job"
check_output "$taken" "nothing but the taken directory is left of a dead job" \
    sh -c 'echo /tmp/mlaunch-[0-9]*'
if grep -q ' - cgroup2 ' /proc/self/mountinfo; then
    check_output "" "no control group is left of a dead job" sh -c \
        "find \$(sed -n 's/.* \([^ ]*\) [^ ]* - cgroup2 .*/\1/p' /proc/self/mountinfo) -name '*-$id.*'"
fi

as_ordinary sh -c 'rmdir "$1" && ln -s /tmp "$1"' sh "$taken"
check_output hello "a job runs beside a link" "$MLAUNCH" -n 1 -- echo hello
as_ordinary sh -c 'rm "$1" && mkfifo "$1"' sh "$taken"
check_output hello "a job runs beside a FIFO" "$MLAUNCH" -n 1 -- echo hello
as_ordinary rm "$taken"
check_output hello "a job runs where the name is free again" "$MLAUNCH" -n 1 -- echo hello
check_output "/tmp/mlaunch-[0-9]*" "nothing is left where the name is free again" \
    sh -c 'echo /tmp/mlaunch-[0-9]*'
done_testing
