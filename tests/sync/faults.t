#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mlaunch sync is interrupted: the next run resumes where it was. A host dies meanwhile: it is
# named, and the others get all. Where hosts cannot reach each other, mlaunch itself feeds them.
TEST_TIER=quick
. "${0%/*}/trees.sh"
big_source 4 16000000
for i in 1 2 3; do echo $i > "$S/$i"; done

slow 60 "$H1" "$H2" "$H3" "$H4"
"$MLAUNCH" sync --ssh-config "$NETNS_SSH_CONFIG" -q -H "$ALL" "$S" > "$OUT" 2>&1 &
pid=$!
wait_for "has_part $H4 4000000" || fail "the last host gets a part of the file"
must kill -KILL $pid
{ wait $pid; } 2> /dev/null
pass "mlaunch is killed in the middle of a file"
check_output "1 2 3" "files that were complete are there" on "$H4" sh -c "echo \$(ls $S)"
slow 1000 "$H1" "$H2" "$H3" "$H4"
check "the copy that was killed is run again" sync --json -H "$ALL" "$S"
check_output "yes" "the copy goes on where it was" json_show \
    '(*{"yes" if h["bytes"] < 13000000 else h["bytes"] for h in j["hosts"]},)' "$SAID"
same_tree "the tree is the same after two runs" "$S" "$S" "$H1" "$H2" "$H3" "$H4"

# What was there is not trusted.
on "$H2" sh -c "umask 077 && head -c 5000000 $S/big > $PART && printf X | dd of=$PART bs=1 seek=3000000 \
    conv=notrunc status=none && rm $S/big"
on "$H3" sh -c "umask 077 && head -c 5000000 $S/big > $PART && rm $S/big"
check "a part that is damaged is no error" sync -H "$ALL" "$S"
same_tree "the tree is the same in spite of a damaged part" "$S" "$S" "$H2" "$H3"

# A host does not go on, though its agent answers.
touch "$S/big"
slow 60 "$H1" "$H2" "$H3" "$H4"
MLAUNCH_STALL=1 "$MLAUNCH" sync --ssh-config "$NETNS_SSH_CONFIG" -H "$ALL" "$S" > "$T/out" \
    2> "$T/err" &
pid=$!
wait_for "has_part $H3 3000000" || fail "the third host gets a part before it stops"
copying=$(on "$H3" sh -c 'for p in /proc/[0-9]*; do
    [ "$(readlink "$p/exe")" != '"$(readlink -f "$AGENT")"' ] || echo "${p##*/}"; done' |
    sort -n | tail -1)
must on "$H3" kill -STOP "$copying"
wait_for "grep -q 'host $H3 has taken nothing for 1 s' $T/err" ||
    fail "the host that stops is named" "$(cat "$T/err")"
must on "$H3" kill -CONT "$copying"
slow 1000 "$H1" "$H2" "$H3" "$H4"
wait $pid
check_output 0 "a host that stops is waited for" echo $?
same_tree "all have everything after one has stopped" "$S" "$S" "$H1" "$H2" "$H3" "$H4"

# A host dies.
before=$(sha256sum < "$S/big")
printf X | dd of="$S/big" conv=notrunc status=none
slow 60 "$H1" "$H2" "$H3" "$H4"
"$MLAUNCH" sync --ssh-config "$NETNS_SSH_CONFIG" -H "$ALL" "$S" > "$T/out" 2> "$T/err" &
pid=$!
wait_for "has_part $H3 3000000" || fail "the third host gets a part before another dies"
check_output "$before" "until all of a file has come, the old one is there" \
    on "$H3" sh -c "sha256sum < $S/big"
must netns kill "$H2"
wait_for "grep -q 'host $H2:' $T/err" || fail "the dead host is noticed"
slow 1000 "$H1" "$H3" "$H4"
wait $pid
status=$?
check_output 1 "a host dies: the status is 1" echo "$status"
check_match "^mlaunch: error: host $H2: " "$T/err" "a host dies: the host is named"
check_match " to 3 of 4 hosts " "$T/out" "a host dies: the number of hosts that have all is told"
same_tree "a host dies: the others have all" "$S" "$S" "$H1" "$H3" "$H4"
check_output "" "a host dies: no temporary file is left" on "$H4" find "$S" -name '.mlaunch*'

# An agent's worker dies: the host is alive, but not its part of the chain.
touch "$S/big"
slow 60 "$H1" "$H3" "$H4"
"$MLAUNCH" sync --ssh-config "$NETNS_SSH_CONFIG" -H "$H1,$H3,$H4" "$S" > "$T/out" 2> "$T/err" &
pid=$!
wait_for "has_part $H4 3000000" || fail "the last host gets a part before an agent is killed"
on "$H1" sh -c 'for p in /proc/[0-9]*; do
    [ "$(readlink "$p/exe")" != '"$(readlink -f "$AGENT")"' ] || kill -KILL "${p##*/}"; done'
slow 1000 "$H1" "$H3" "$H4"
wait $pid
status=$?
check_output 1 "the first host's agent is killed: the status is 1" echo "$status"
check_match "^mlaunch: error: host $H1: " "$T/err" \
    "the first host's agent is killed: the host is named"
same_tree "the first host's agent is killed: the others have all" "$S" "$S" "$H3" "$H4"

# The hosts cannot reach each other, only mlaunch reaches them.
touch "$S/big"
on "$H1" ip route add prohibit "$A3"
check "a host that the one before it cannot reach is no error" sync -v -H "$H1,$H3,$H4" "$S"
check_match "host $H1: the chain is broken to host $H3: .* Permission denied" "$ERR" \
    "a host that the one before it cannot reach is named with -v"
same_tree "a host that the one before it cannot reach has all" "$S" "$S" "$H1" "$H3" "$H4"

check_error 125 "no-such-host" "a host that cannot be reached is an error" sync -H no-such-host "$S"
check_error 1 "no-such-host" \
    "a host that cannot be reached is an error beside another" sync -H "no-such-host,$H4" "$S"
done_testing
