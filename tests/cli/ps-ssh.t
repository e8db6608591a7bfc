#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mlaunch ps and kill over SSH: all hosts at once; one that can't be reached is named. The hosts
# share /tmp and have PID namespaces of their own, so each host sees the others' job directories,
# which it must not touch.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/job.sh"
hosts_up 2

ask() { "$MLAUNCH" "$1" --ssh-config "$NETNS_SSH_CONFIG" "${@:2}"; }
"${JOB[@]}" --ssh-config "$NETNS_SSH_CONFIG" -H "$H1,$H2" -n 4 -- sleep 300 > "$T/job.out" \
    2> "$T/job.err" < /dev/null &
PID=$!
wait_for '[ "$(grep -c "\"started\"" "$EVENTS")" = 4 ]'
ID=$(sed -n 's/.*"job":"\([^"]\{1,\}\)".*/\1/p' "$EVENTS" | head -n 1)
check "ps asks two hosts" ask ps -H "$H1,$H2"
check_match "^$ID +root .* $H1 +2/4 +live" "$OUT" "ps has the job's part on the first host"
check_match "^$ID +root .* $H2 +2/4 +live" "$OUT" "ps has the job's part on the second host"
check "clean here leaves the job alone" "$MLAUNCH" clean "$ID"
check "clean on the job's hosts leaves it alone" ask clean -H "$H1,$H2" "$ID"
check_error 1 "container or on another machine" "kill from another PID namespace is refused" \
    unshare --pid --fork --mount-proc "$MLAUNCH" kill "$ID"
check_error 125 "host nowhere\.invalid" "a host that isn't there is named" ask ps -H \
    "$H1,nowhere.invalid"
check_match "^$ID .* live" "$OUT" "the other host answers ps"
check "kill is asked for on one of the job's hosts" ask kill -H "$H2" "$ID"
wait "$PID"
status=$?
job_judge 143 "kill on one host ends the job on all" "mlaunch"
done_testing
