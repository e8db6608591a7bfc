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
check_match "^(NAME +)?JOB +" "$OUT" "ps has a table of jobs on other hosts"
check_match "$ID +root .* ($H1 +2/4 +live|$H1,$H2 +-/4 +(starting|running)|$H2 +2/4 +live)" "$OUT" \
    "ps has the state of a job on other hosts"
check "ps knows a job on other hosts by its name" "$MLAUNCH" ps "$NAME"
check_match "$ID +root .* ($H1 +2/4 +live|$H1,$H2 +-/4 +(starting|running)|$H2 +2/4 +live)" "$OUT" \
    "ps by the name has the job's line"
keep "$MLAUNCH" ps --ssh-config "$NETNS_SSH_CONFIG" -H "$H2"
check_match "$ID +root .* $H2 +2/4 +live" "$T/out" "ps of one of its hosts has that part of the job"
check_status 1 "ps of one of its hosts asks no other" grep "$H1" "$T/out"

netns cut "$H1"
check "ps works while a host is silent" "$MLAUNCH" ps "$NAME"
check_match "host $H1: it has not answered within 2 s" "$ERR" "ps names the silent host"
check_match '^NAME ' "$OUT" "ps has its table beside a silent host"
check_match "$ID +root " "$OUT" "ps lists the job beside a silent host"
netns join "$H1"

# A host that is slow to answer is offline in this view, with the job beside it.
check "status works without -H" "$MLAUNCH" status
check_match "^$H1 +(online|offline) " "$OUT" "status shows the job's hosts"
check_match "^$ID \\($NAME\\) +root .* ($H1(,$H2)?|$H2) +[-0-9]/4 +(live|running) " "$OUT" \
    "status shows the job on other hosts"
netns cut "$H1"
check "status works while a host of the job is silent" "$MLAUNCH" status
check_match "^host $H1 is offline: it has not answered within 2 s" "$OUT" \
    "status names the silent host"
netns join "$H1"

check "attach works without -H" \
    "$MLAUNCH" attach "$NAME" 2 -- sh -c 'echo "rank $MLAUNCH_RANK of $(ps -o comm= -p {pid})"'
check_match "rank 2 of sleep" "$OUT" "attach is beside the rank"
check "top works without -H" "$MLAUNCH" top --batch 1 "$NAME"
check_match "$ID" "$OUT" "top shows the job on other hosts"

# Two jobs of one name, on two hosts.
first=$ID
"$MLAUNCH" kill -q "$NAME"
left_nothing
cp "$NETNS_SSH_CONFIG" "$T/config"
CONFIG=$T/config far --name "$NAME" -H "$H1" -- sleep 300
first=$ID
far --name "$NAME" -H "$H2" -- sleep 300
second=$ID
check "status works with jobs that have an SSH configuration each" "$MLAUNCH" status
check_match "^$H1 +(online|offline) " "$OUT" "status shows the host of the first job"
check_match "^$H2 +(online|offline) " "$OUT" "status shows the host of the second job"
check_error 1 "2 jobs have the name $NAME: ($first, $second|$second, $first); nothing has been ended, give the id of one" \
    "kill of two jobs with one name is refused" "$MLAUNCH" kill "$NAME"
check_error 1 "2 jobs have the name $NAME: .*$first" "logs of two jobs with one name are refused" \
    "$MLAUNCH" logs "$NAME"
check_error 125 "2 jobs have the name $NAME: .*$first" \
    "attach to one of two jobs with one name is refused" "$MLAUNCH" attach "$NAME" 0 -- true
check "kill takes the one of two jobs that is on a host" \
    "$MLAUNCH" kill --ssh-config "$NETNS_SSH_CONFIG" -H "$H2" "$NAME"
check_match "^job $NAME \($second\) on host $H2 has been ended" "$OUT" \
    "kill says which of two jobs has been ended"
check "the other of two jobs runs" "$MLAUNCH" ps "$first"

# Those of another machine are known by their agents alone, as in another pid namespace.
far --name "$NAME" -H "$H2" -- sleep 300
check_error 1 "2 jobs have the name $NAME: .*$first" \
    "kill of two jobs from another machine is refused" unshare --pid --fork \
    --mount-proc "$MLAUNCH" kill --ssh-config "$NETNS_SSH_CONFIG" -H "$H1,$H2" "$NAME"
check "kill from another machine takes one job" unshare --pid --fork --mount-proc "$MLAUNCH" kill \
    --ssh-config "$NETNS_SSH_CONFIG" -H "$H2" "$ID"
check_match "^job $ID on host $H2 has been ended" "$OUT" \
    "kill from another machine says which job has been ended"
# The hosts share /tmp: the other one sees the job's directory, and none of its processes.
far --name "$NAME-2" -H "$H2" -- sleep 300
check "kill takes both hosts of a job that one has" \
    unshare --pid --fork --mount-proc "$MLAUNCH" kill \
    --ssh-config "$NETNS_SSH_CONFIG" -H "$H1,$H2" "$ID"
cat "$OUT" "$ERR" > "$T/kill"
check_output "job $ID on host $H2 has been ended" "kill says on which host the job was" \
    cat "$T/kill"
check "kill knows the job by its id" "$MLAUNCH" kill "$first"
wait_for '! "$MLAUNCH" ps "$NAME" > "$T/ps" 2>&1'
left_nothing
check_status 1 "an ended job is not listed" "$MLAUNCH" ps "$NAME"

# A directory that nothing can be written to.
closed=$T/closed
cat > "$closed" << 'SH'
mount -t tmpfs -o "$1" tmpfs "$2" && shift 2 && exec "$@"
SH
must mkdir -p -m 700 /tmp/mlaunch-0
check "a job runs where no entry can be written" \
    unshare -m sh "$closed" ro,mode=700 /tmp/mlaunch-0 \
    "$MLAUNCH" --ssh-config "$NETNS_SSH_CONFIG" -H "$H1" -- true
check_match "warning: cannot write /tmp/mlaunch-0/run.*: Read-only file system; mlaunch ps and kill here find this job only where its agents are" \
    "$ERR" "a job without an entry is told of"
done_testing
