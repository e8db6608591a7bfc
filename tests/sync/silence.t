#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mlaunch sync while packets vanish and nothing is closed: a host's cable is pulled in the middle of
# a file; two hosts no longer reach each other; the command is stopped by Ctrl-Z for longer than an
# agent stands silence. The first is named in time, and has no half file under a file's name; in the
# other cases all hosts get all.
TEST_TIER=full
TEST_TIMES=divided
. "${0%/*}/trees.sh"
big_source 4 16000000

agents() { on "$1" sh -c 'for p in /proc/[0-9]*; do
    [ "$(readlink "$p/exe")" != '"$(readlink -f "$AGENT")"' ] || echo "${p##*/}"; done'; }
# begin OPTION…: a copy to all hosts, of whose file the last one has a part.
begin() {
    slow 60 "$H1" "$H2" "$H3" "$H4"
    "$MLAUNCH" sync --ssh-config "$NETNS_SSH_CONFIG" "$@" -H "$ALL" "$S" > "$T/out" 2> "$T/err" &
    pid=$!
    wait_for "has_part $H4 3000000" || fail "the last host gets a part of the file"
}

check "the first contents come to all hosts" sync -q -H "$ALL" "$S"
before=$(sha256sum < "$S/big")
printf X | dd of="$S/big" conv=notrunc status=none
begin
netns cut "$H2"
slow 1000 "$H1" "$H3" "$H4"
wait $pid
status=$?
check_output 1 "a cable is pulled: the status is 1" echo "$status"
check_match "^mlaunch: error: host $H2: nothing was heard from its agent for $(failure_s 10) s" "$T/err" \
    "a cable is pulled: the host is named"
check_output 1 "a cable is pulled: one host is named, once" grep -c ': error: ' "$T/err"
check_match " to 3 of 4 hosts " "$T/out" \
    "a cable is pulled: the number of hosts that have all is told"
same_tree "a cable is pulled: the others have all" "$S" "$S" "$H1" "$H3" "$H4"
check_output "$before" \
    "a cable is pulled: the host has the old file" on "$H2" sh -c "sha256sum < $S/big"
wait_for "[ -z \"\$(agents $H2)\" ]" ||
    fail "a cable is pulled: the host's agent ends" "$(agents "$H2")"
netns join "$H2"
check "a copy runs again with the cable in place" sync -H "$ALL" "$S"
same_tree "the host has all with the cable in place" "$S" "$S" "$H2"
check_output "" \
    "the host has no temporary file with the cable in place" on "$H2" find "$S" -name '.mlaunch*'

printf Z | dd of="$S/big" conv=notrunc status=none
begin
must kill -TSTP "$pid"
must wait_for '[ "$(state_of "$pid")" = T ]'
nap "$(failure_s 12000)" # how long it is stopped is the subject
must kill -CONT "$pid"
wait $pid
status=$?
check_output 0 "a copy is stopped for longer than silence is stood: the status is 0" echo "$status"
check_output "" "a copy is stopped for longer than silence is stood: no error is told" cat "$T/err"
same_tree "a copy is stopped for longer than silence is stood: all have everything" "$S" "$S" \
    "$H1" "$H2" "$H3" "$H4"

# The bridge carries nothing from one of these two to the other.
apart() {
    ip link set "v-$H2" type bridge_slave isolated "$1" &&
        ip link set "v-$H3" type bridge_slave isolated "$1"
}
if apart off 2> "$T/apart"; then
    printf Y | dd of="$S/big" conv=notrunc status=none
    begin -v
    apart on
    wait $pid
    status=$?
    check_output 0 "two hosts no longer reach each other: the status is 0" echo "$status"
    check_match "host $H3: the chain is broken before it: " "$T/err" \
        "two hosts no longer reach each other: -v says which"
    same_tree "two hosts no longer reach each other: all have everything" "$S" "$S" \
        "$H1" "$H2" "$H3" "$H4"
else
    skip "two hosts no longer reach each other: the status is 0" "$(cat "$T/apart")"
fi
done_testing
