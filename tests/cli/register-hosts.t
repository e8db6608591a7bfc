#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Jobs whose ranks are all on other hosts are found where they were started: ps asks those hosts for
# at most 2 s, and lists the job although they do not answer. Where no entry can be written, the job
# runs all the same.
TEST_TIER=quick
TEST_ALONE=1
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/job.sh"
hosts_up 2

NAME=test-far-$$
# far ARGUMENT…: a job in the background whose hosts are reached by this test's configuration alone;
# its id is in $ID.
far() {
    : > "$EVENTS"
    ID=$("${JOB[@]}" --ssh-config "${CONFIG:-$NETNS_SSH_CONFIG}" --detach -q "$@")
    [ -n "$ID" ] || diag "no job: $*"
}

far --name "$NAME" -H "$H1,$H2" -n 4 -- sleep 300
check "ps lists a job on other hosts" "$MLAUNCH" ps
# On a busy machine a host may need more than 2 s.
check_match "^(NAME +)?JOB +" "$OUT" "… in its table"
check_match "$ID +root .* ($H1 +2/4 +live|$H1,$H2 +-/4 +(starting|running)|$H2 +2/4 +live)" "$OUT" "… with its state"
check "ps by its name" "$MLAUNCH" ps "$NAME"
check_match "$ID +root .* ($H1 +2/4 +live|$H1,$H2 +-/4 +(starting|running)|$H2 +2/4 +live)" "$OUT" "… has its line"
keep "$MLAUNCH" ps --ssh-config "$NETNS_SSH_CONFIG" -H "$H2"
check_match "$ID +root .* $H2 +2/4 +live" "$T/out" "ps of one of its hosts asks that"
check_status 1 "… and no other" grep "$H1" "$T/out"

netns cut "$H1"
check "ps while a host is silent" "$MLAUNCH" ps "$NAME"
check_match "host $H1: it has not answered within 2 s" "$ERR" "… names it"
check_match '^NAME ' "$OUT" "… and has its table"
check_match "$ID +root " "$OUT" "… and lists the job"
netns join "$H1"

# A host that is slow to answer is offline in this view, with the job beside it.
check "status without -H" "$MLAUNCH" status
check_match "^$H1 +(online|offline) " "$OUT" "… shows the job's hosts"
check_match "^$ID \\($NAME\\) +root .* ($H1(,$H2)?|$H2) +[-0-9]/4 +(live|running) " "$OUT" "… and the job"
netns cut "$H1"
check "status while a host of the job is silent" "$MLAUNCH" status
check_match "^host $H1 is offline: it has not answered within 2 s" "$OUT" "… names it"
netns join "$H1"

check "attach without -H" "$MLAUNCH" attach "$NAME" 2 -- sh -c 'echo "rank $MLAUNCH_RANK of $(ps -o comm= -p {pid})"'
check_match "rank 2 of sleep" "$OUT" "… is beside the rank"
check "top without -H" "$MLAUNCH" top --batch 1 "$NAME"
check_match "$ID" "$OUT" "… shows the job"

# Two jobs of one name, on two hosts.
first=$ID
"$MLAUNCH" kill -q "$NAME"
left_nothing
cp "$NETNS_SSH_CONFIG" "$T/config"
CONFIG=$T/config far --name "$NAME" -H "$H1" -- sleep 300
first=$ID
far --name "$NAME" -H "$H2" -- sleep 300
second=$ID
check "status of jobs that have an SSH configuration each" "$MLAUNCH" status
check_match "^$H1 +(online|offline) " "$OUT" "… shows the host of one"
check_match "^$H2 +(online|offline) " "$OUT" "… and of the other"
check_error 1 "2 jobs have the name $NAME: ($first, $second|$second, $first); nothing has been ended, give the id of one" \
    "kill of two jobs of a name" "$MLAUNCH" kill "$NAME"
check_error 1 "2 jobs have the name $NAME: .*$first" "logs of two" "$MLAUNCH" logs "$NAME"
check_error 125 "2 jobs have the name $NAME: .*$first" "attach to one of two" \
    "$MLAUNCH" attach "$NAME" 0 -- true
check "kill of the one on a host" "$MLAUNCH" kill --ssh-config "$NETNS_SSH_CONFIG" -H "$H2" "$NAME"
check_match "^job $NAME \($second\) on host $H2 has been ended" "$OUT" "… ends that"
check "the other runs" "$MLAUNCH" ps "$first"

# Those of another machine are known by their agents alone, as in another pid namespace.
far --name "$NAME" -H "$H2" -- sleep 300
check_error 1 "2 jobs have the name $NAME: .*$first" "kill from another machine" unshare --pid --fork \
    --mount-proc "$MLAUNCH" kill --ssh-config "$NETNS_SSH_CONFIG" -H "$H1,$H2" "$NAME"
check "… of one" unshare --pid --fork --mount-proc "$MLAUNCH" kill \
    --ssh-config "$NETNS_SSH_CONFIG" -H "$H2" "$ID"
check_match "^job $ID on host $H2 has been ended" "$OUT" "… ends that"
# The hosts share /tmp: the other one sees the job's directory, and none of its processes.
far --name "$NAME-2" -H "$H2" -- sleep 300
check "kill on both hosts of a job that one has" unshare --pid --fork --mount-proc "$MLAUNCH" kill \
    --ssh-config "$NETNS_SSH_CONFIG" -H "$H1,$H2" "$ID"
cat "$OUT" "$ERR" > "$T/kill"
check_output "job $ID on host $H2 has been ended" "… ends it there alone" cat "$T/kill"
check "kill by its id" "$MLAUNCH" kill "$first"
wait_for '! "$MLAUNCH" ps "$NAME" > "$T/ps" 2>&1'
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
