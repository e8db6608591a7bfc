#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Within a PID namespace of its own, as in a container that shares /tmp: ps --stacks without an id
# takes the only live job there, and ps shows jobs elsewhere with -v alone, also as JSON.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
contain() { unshare --pid --fork --kill-child --mount-proc -- "$@"; }
contain true 2> /dev/null || skip_all "needs PID namespaces, and so root"

"$MLAUNCH" -n 1 --output raw -- sh -c 'echo "$MLAUNCH_JOB"; exec sleep 600' > "$T/outside" &
outside=$!
outside_end() { kill $outside; }
at_exit outside_end
wait_for '[ -s "$T/outside" ]'

cat > "$T/inside" << 'SH'
job() {
    "$MLAUNCH" -n 1 --output raw -- sh -c 'echo "$MLAUNCH_JOB"; exec sleep 600' > "$1" &
    until [ -s "$1" ]; do sleep 0.05; done
}
job first
"$MLAUNCH" ps --stacks > stacks
echo $? >> stacks
"$MLAUNCH" ps --json > json
"$MLAUNCH" ps --json -v > json.all
job second
"$MLAUNCH" ps --stacks > stacks.two 2>&1
kill %1 %2
wait
SH
check "two jobs run in a container" \
    env -C "$T" unshare --pid --fork --kill-child --mount-proc -- bash "$T/inside"
check_match "^RANK +HOST" "$T/stacks" "ps --stacks takes the only job"
check_match "$(cat "$T/first")" "$T/stacks" "the only job is the one in the container"
check_match "^0$" "$T/stacks" "ps --stacks of the only job has status 0"
check_match "2 jobs are live: mlaunch ps JOB --stacks" "$T/stacks.two" \
    "ps --stacks takes none of two jobs"
check_match "$(cat "$T/first")" "$T/json" "ps --json has the job in the container"
check_no_match "$(cat "$T/outside")" "$T/json" "ps --json has no job elsewhere"
check_match "$(cat "$T/outside")" "$T/json.all" "ps --json -v has the job elsewhere"
check_match '"state": "elsewhere"' "$T/json.all" "the job elsewhere has that state"
done_testing
