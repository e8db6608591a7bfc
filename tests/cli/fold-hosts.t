#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --output fold over several hosts: the agents fold what their ranks write, so equal lines cross the
# network once a host; mlaunch folds what they send.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/job.sh"
hosts_up 2
JOB+=(--ssh-config "$NETNS_SSH_CONFIG" -H "$H1,$H2")

# folds TEXT NAME ARGUMENT…: the job prints TEXT, sorted. On a busy machine ranks may write more
# than 0.3 s apart, and then their lines are apart, so there are several tries.
folds() {
    local expected=$1 name=$2 tries=0
    shift 2
    keep job "$@"
    while [ "$(sort "$T/out")" != "$expected" ] && [ $((tries += 1)) -lt 20 ]; do keep job "$@"; done
    check_output "$expected" "$name" sort "$T/out"
}

folds "[0-7] hi" "equal lines of two hosts appear once" --ppn 4 --output fold -- echo hi
folds "[0-3] same
[0] rank 0
[1] rank 1
[2] rank 2
[3] odd
[3] rank 3" "lines that differ are apart" --ppn 2 --output fold -- sh -c \
    'echo same; echo "rank $MLAUNCH_RANK"; [ $MLAUNCH_RANK != 3 ] || echo odd'

# What leaves a host, by the counters of its network: with labels all its ranks' lines, with fold
# one's.
left_host() { netns exec "$H1" sh -c 'cat /proc/net/dev' | grep -v ' lo:' | awk -F: 'NF > 1 {
    split($2, n, " "); sum += n[9]} END {print sum}'; }
sends() { # MODE
    local before
    before=$(left_host)
    "${JOB[@]}" --ppn 8 --output "$1" -- seq 30000 > "$T/lines"
    bytes=$(($(left_host) - before))
}
sends label
label=$bytes tries=0
check_output 480000 "labels show each rank's lines" sh -c 'wc -l < "$1"' sh "$T/lines"
sends fold
while [ $((bytes * 3)) -ge "$label" ] && [ $((tries += 1)) -lt 20 ]; do sends fold; done
if [ $((bytes * 3)) -lt "$label" ]; then
    pass "equal lines cross the network once for each host"
else
    fail "equal lines cross the network once for each host" "label $label bytes, fold $bytes"
fi
diag "a host sends $label bytes with labels, $bytes with fold"
done_testing
