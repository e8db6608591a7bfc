#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154,SC2034 # mlaunch, status: of fault.sh and test.sh; JOB is used there
# --name: a job is shown and ended by its name, and one job of a user has it at a time.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../fault/fault.sh"

NAME=test-name-$$
for bad in 1abc '' 'a b' a/b $'a\033' "$(printf 'x%.0s' {1..41})"; do
    check_status 125 "'${bad//[^[:alnum:] ]/?}' is no name" "$MLAUNCH" --name "$bad" -- true
done
check_match "is not a job's name: at most 40 letters, digits and . _ -, a letter first" "$ERR" \
    "the refusal of a name says what a name is"
echo "[defaults]
name = $NAME" > "$T/mlaunch.ini"
check_error 125 "name" "a name is of one job, not of a configuration" \
    "$MLAUNCH" --config "$T/mlaunch.ini" -- true

: > "$T/events"
"$MLAUNCH" -n 2 --grace 1 --name "$NAME" --events "$T/events" -- sleep 1000 > "$T/job.out" 2>&1 &
mlaunch=$!
wait_for '[ "$(grep -c started "$T/events")" = 2 ]'
id=$(sed -n 's/.*"job":"\([^"]*\)".*/\1/p' "$T/events" | head -n 1)
check_status 1 "each event has the name" grep -v "\"name\":\"$NAME\"" "$T/events"
check "ps knows the job by its name" "$MLAUNCH" ps "$NAME"
check_match "^NAME  *JOB .*COMMAND" "$OUT" "ps has a column of names"
check_match "^$NAME  *$id .* 2/2  live " "$OUT" "ps has a line of the named job"
check_match "^   0 .* sleep" "$OUT" "ps has the ranks of the named job"
check "ps knows the job by its id" "$MLAUNCH" ps --json "$id"
check_match "\"job_name\": \"$NAME\"" "$OUT" "ps --json has the name"
check_status 1 "ps by a name that no job has is status 1" "$MLAUNCH" ps "$NAME.other"
check "mlaunch status works beside a named job" "$MLAUNCH" status
check_match "$id \($NAME\)" "$OUT" "status shows the name beside the id"

check_status 125 "a second job of that name is refused" "$MLAUNCH" --name "$NAME" -- true
check_match "your job $id runs here under the name $NAME: choose another --name, or end it by mlaunch kill $NAME" \
    "$ERR" "the refusal of a second job has the id of the first"
check "another name is free" "$MLAUNCH" --name "$NAME.2" -- true
check "kill ends the job by its name" "$MLAUNCH" kill "$NAME"
wait "$mlaunch"
check "the job has been ended by its name" test $? = 143
check "the name is free again" "$MLAUNCH" --name "$NAME" -- true
check_status 1 "kill finds no job of a name that is free" "$MLAUNCH" kill "$NAME"
check "all runs of one job have the name" sh -c '"$MLAUNCH" --name "$1" --restarts 1 -- \
    sh -c "exit \$((1 - MLAUNCH_RESTART))"' sh "$NAME"

# If several jobs begin at once, one gets the name.
for i in 1 2 3; do
    "$MLAUNCH" --name "$NAME" --grace 1 -- sh -c "touch $T/ran.$i; exec sleep 1000" 2> "$T/race.$i" &
    pids[i]=$!
done
wait_for '[ "$(cat "$T"/race.* | grep -c "runs here under the name")" = 2 ]'
wait_for 'ls "$T"/ran.* > /dev/null 2>&1'
check_output 1 "one of three jobs that begin at once runs" sh -c 'ls "$1"/ran.* | wc -l' sh "$T"
"$MLAUNCH" kill -q "$NAME"
wait "${pids[@]}"
done_testing
