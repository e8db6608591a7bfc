#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Jobs whose ranks are all on other hosts are found where they were started: ps asks those hosts for
# at most 2 s, and lists the job although they do not answer. Where no entry can be written, the job
# runs all the same.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/job.sh"
hosts_up 2

NAME=test-far-$$
# far ARGUMENT…: a job in the background whose hosts are reached by this test's configuration alone;
# its id is in $ID.
far() {
    : > "$EVENTS"
    ID=$("${JOB[@]}" --ssh-config "$NETNS_SSH_CONFIG" --detach -q "$@")
    [ -n "$ID" ] || diag "no job: $*"
}

far --name "$NAME" -H "$H1,$H2" -n 4 -- sleep 300
check "ps lists a job on other hosts" "$MLAUNCH" ps
# On a busy machine a host may need more than 2 s.
check_match "^(NAME +)?JOB +" "$OUT" "… in its table"
check_match "$ID +root .* ($H1 +2/4 +live|$H1,$H2 +-/4 +running|$H2 +2/4 +live)" "$OUT" "… with its state"
check "ps by its name" "$MLAUNCH" ps "$NAME"
check_match "$ID +root .* ($H1 +2/4 +live|$H1,$H2 +-/4 +running|$H2 +2/4 +live)" "$OUT" "… has its line"
keep "$MLAUNCH" ps --ssh-config "$NETNS_SSH_CONFIG" -H "$H2"
check_match "$ID +root .* $H2 +2/4 +live" "$T/out" "ps of one of its hosts asks that"
check_status 1 "… and no other" grep "$H1" "$T/out"

netns cut "$H1"
check "ps while a host is silent" "$MLAUNCH" ps "$NAME"
check_match "host $H1: it has not answered within 2 s" "$ERR" "… names it"
check_match "$ID +root " "$OUT" "… and lists the job"
netns join "$H1"

pid=$("$MLAUNCH" ps --json "$NAME" 2> /dev/null | sed -n 's/^ *"pid": \([0-9]*\),$/\1/p' | tail -n 1)
kill "$pid"
wait_for '! kill -0 "$pid" 2> /dev/null'
left_nothing
check_status 1 "an ended job is not listed" "$MLAUNCH" ps "$NAME"

# A directory that nothing can be written to.
closed=$T/closed
cat > "$closed" << 'SH'
mount -t tmpfs -o "$1" tmpfs "$2" && shift 2 && exec "$@"
SH
must mkdir -p -m 700 /tmp/mlaunch-0
check "a job where no entry can be written" unshare -m sh "$closed" ro,mode=700 /tmp/mlaunch-0 \
    "$MLAUNCH" --ssh-config "$NETNS_SSH_CONFIG" -H "$H1" -- true
check_match "warning: cannot write /tmp/mlaunch-0/run.*: Read-only file system; mlaunch ps and kill here find this job only where its agents are" \
    "$ERR" "… is told of"
done_testing
