#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Seven hosts call the head as a tree: --fanout 2, so 1 and 2 call index 0, 3 and 4 call host 1, 5
# and 6 host 2, and 7 host 3. Then Ctrl-C, SIGTERM to a host at the end of the tree, the death of
# one there and of one within, one within that is stopped, one whose cable is pulled, and those who
# do not belong at an inner host (some of them in check-long). Expected: all ends have the job's
# status, the sentence names the host at fault, those below it end, and nothing is left anywhere.
# shellcheck disable=SC2154 # variables of hosts.sh and fault.sh
TEST_TIER=full
TEST_TIMES=divided
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/fault.sh"
. "${0%/*}/join.sh"
NETNS_SSHD='ListenAddress 127.0.0.1' hosts_up 8
HOSTS=("$H1" "$H2" "$H3" "$H4" "$H5" "$H6" "$H7" "$H8")
must "$MLAUNCH" join --key-new "$KEY"

# tree_join ARGUMENT…: all hosts, in an order in which those above come late.
tree_join() {
    local i
    : > "$EVENTS"
    : > "$T/0.out"
    for i in 7 3 4 1 6 0 5 2; do
        join_on "${HOSTS[i]}" "$i" 8 -v --fanout 2 --events "$EVENTS" --grace 1 "$@"
    done
}
tree_join --output raw -- "$BUILD/tests/runtime/collectives" --program --diagonal
joins_end 0 "eight ranks of a tree make all collective calls"
check_match "the head sends this host to the one above it, at $A4:" "$T/7.err" \
    "a host is sent to the one above it"
check_match "joined the head at $H1:$PORT as host 2 of 8" "$T/2.err" "only two stay at the head"
nothing_left "eight ranks of a tree leave nothing"

head -c 3000000 /dev/urandom | base64 > "$T/in"
# shellcheck disable=SC2016 # the words of the ranks' shell
tree_join --stdin all --output "$T/rank.%r" -- cat < "$T/in"
joins_end 0 "a job with input for all ends well"
for i in 0 1 2 3 4 5 6 7; do cmp "$T/in" "$T/rank.$i"; done > "$T/differs" 2>&1
check_no_match . "$T/differs" "input for all passes through the tree whole"

# Ranks that are hard to end.
zoo_tree() {
    tree_join -- "$FAULTY" zoo 1
    wait_for "[ \"\$(grep -c ready '$T/0.out')\" -ge 8 ] || ! kill -0 ${joins[0]} 2> /dev/null" ||
        diag "$(cat "$T"/[0-7].err)"
}
# ended_alone INDEX STATUS NAME: that one ends by itself, with its own status.
ended_alone() {
    wait "${joins[$1]}" 2> /dev/null
    status=$?
    unset "joins[$1]"
    check "$3" test "$status" -eq "$2"
}

zoo_tree
kill -INT "$(join_pid 0)"
joins_end 130 "Ctrl-C at index 0 ends all"
nothing_left "nothing is left after Ctrl-C"

if is_long; then
    zoo_tree
    kill -TERM "$(join_pid 7)"
    joins_end 143 "SIGTERM to a host at the end ends the job everywhere"
    check_match "^mlaunch: the job was ended by SIGTERM to mlaunch join on host $H8" "$T/0.err" \
        "the head names the host that got SIGTERM"
    nothing_left "nothing is left after SIGTERM"
fi

zoo_tree
kill -KILL "$(join_pid 7)"
ended_alone 7 137 "the mlaunch join of a host at the end dies"
joins_end 125 "the death of a host at the end fails the job"
check_match "^mlaunch: host $H8 was lost: its connection was lost: " "$T/0.err" \
    "the host at the end is named"
nothing_left "nothing is left after the death of a host at the end"

if is_long; then
    zoo_tree
    must agent_kill "$H8" worker
    joins_end 125 "the death of an agent at the end fails the job"
    check_match "^mlaunch: host $H8 was lost: the agent ended .*killed by signal 9" "$T/0.err" \
        "the agent at the end is named, with its signal"
    nothing_left "nothing is left after an agent's death"
fi

zoo_tree
kill -KILL "$(join_pid 1)"
ended_alone 1 137 "the mlaunch join of a host within dies"
joins_end 125 "the death of a host within fails the job"
check_match "^mlaunch: host $H2 was lost: its connection was lost: " "$T/0.err" \
    "the host within is named"
for i in 3 4; do
    check_match "^mlaunch: error: the host above this one at $A2:[0-9]* was lost: .*; the ranks" \
        "$T/$i.err" "host $i below the dead one says so"
done
check_match "the host above this one at $A4:" "$T/7.err" "the host below those says so"
nothing_left "nothing is left below the dead host"

if is_long; then
    zoo_tree
    stopped=$(join_pid 1)
    kill -STOP "$stopped"
    for i in 3 4 7; do ended_alone "$i" 125 "one within is stopped, and host $i below it ends"; done
    ended_alone 0 125 "one within is stopped, and the head ends"
    check_match "^mlaunch: host $H2 was lost: .*nothing was heard from it for $(failure_s 8) s" "$T/0.err" \
        "the head names the one that was stopped"
    kill -KILL "$stopped"
    kill -CONT -- "-${joins[1]}" # nsenter has stopped with it
    ended_alone 1 137 "the one that was stopped is killed"
    joins_end 125 "the others end with the job"
    nothing_left "nothing is left after one was stopped"
fi

zoo_tree
netns cut "$H3"
joins_end 125 "the cable of one within is pulled, and the job fails"
check_match "^mlaunch: host $H3 was lost: " "$T/0.err" "the host whose cable was pulled is named"
nothing_left "nothing is left on either side of the cut"
netns join "$H3"

# Who does not belong at an inner host does not disturb.
zoo_tree
inner=$(sed -n "s/.*hosts below this one are to call $A2:\([0-9]*\).*/\1/p" "$T/1.err")
must test -n "$inner"
must "$MLAUNCH" join --key-new "$T/other"
# stranger NAME INDEX KEY: calls the inner host as INDEX. Its words are in $T/stranger.
stranger() {
    check_error 125 "$2" "$1" netns exec "$H5" env "$MARK" "$MLAUNCH" join --head "$A2:$inner" \
        --hosts 8 --init-timeout 3 --key-file "$4" --index "$3"
}
stranger "a stranger with a wrong key is refused" "proof of the job's secret is wrong" 3 "$T/other"
wait_for "grep -q 'refused a connection from $A5:' '$T/1.err'" # said after its answer was sent
check_match "refused a connection from $A5:" "$T/1.err" \
    "the inner host says that it refused a stranger"
stranger "an index of another branch is refused" \
    "index 5 is not one of those that host 1 waits for" 5 "$KEY"
stranger \
    "an index that has joined already is refused" "index 3 has joined already, from $A4" 3 "$KEY"
kill -INT "$(join_pid 0)"
joins_end 130 "the job was not disturbed by strangers"
nothing_left "nothing is left of the job beside strangers"

if is_long; then
    # One within is lost, and all of its branch join again.
    # shellcheck disable=SC2016 # the words of the ranks' shell
    again='[ "$MLAUNCH_RESTART" = 1 ] || { echo first; exec sleep 600; }; echo "again $MLAUNCH_RANK"'
    tree_join --restarts 1 -- sh -c "$again"
    wait_for "[ \"\$(grep -c first '$T/0.out')\" -eq 8 ]"
    kill -KILL "$(join_pid 1)"
    for i in 1 3 4 7; do
        wait "${joins[i]}"
        join_on "${HOSTS[i]}" "$i" 8
    done
    joins_end 0 "a branch that was lost joins again"
    check_match "again 7" "$T/0.out" "ranks of the lost branch are started again there"
    nothing_left "nothing is left of the two runs"
fi

done_testing
