#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Four hosts that SSH does not reach form one job: each calls the head, which is index 0, or an
# mlaunch elsewhere. Then Ctrl-C at the head, Ctrl-Z and SIGTERM to a host, the death of its mlaunch
# join, of the head, a host that comes twice or never, a wrong key, and strangers. Expected: all
# ends have the job's status, what is wrong is named, and nothing is left anywhere.
# shellcheck disable=SC2154 # variables of hosts.sh and fault.sh
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/fault.sh"
. "${0%/*}/join.sh"
NETNS_SSHD='ListenAddress 127.0.0.1' hosts_up 4
HOSTS=("$H1" "$H2" "$H3" "$H4")
must "$MLAUNCH" join --key-new "$KEY"
COLLECTIVES=("$BUILD/tests/runtime/collectives" --program --diagonal)

# The order does not matter: the head comes third.
for i in 3 1 0 2; do
    join_on "${HOSTS[i]}" "$i" 4 --events "$EVENTS" --output raw -- "${COLLECTIVES[@]}"
done
joins_end 0 "four ranks on four hosts make all collective calls"
nothing_left "four ranks on four hosts leave nothing"
check_no_match . "$T/1.out" "the output is at the head"

# The head's name is known only after a while, as that of a container that is just being started.
: > "$EVENTS"
echo "127.0.0.1 localhost" > "$T/hosts"
set -m
# shellcheck disable=SC2016 # the words of the inner shell
netns exec "$H2" env "$MARK" unshare --mount sh -c \
    'mount --bind "$1" /etc/hosts; shift; exec "$@"' sh "$T/hosts" "$MLAUNCH" join -v \
    --head "late.test:$PORT" --index 1 --hosts 2 --key-file "$KEY" 2> "$T/1.err" &
joins[1]=$!
set +m
wait_for "grep -q 'the name late.test is not known' '$T/1.err'"
echo "$A1 late.test" >> "$T/hosts"
join_on "$H1" 0 2 --events "$EVENTS" -- true
joins_end 0 "a name that is not known yet is looked up again"
nothing_left "nothing is left of the job with a late name"

# Ranks that are hard to end, two a host.
zoo_join() {
    : > "$EVENTS"
    : > "$T/0.out"
    for i in 0 1 2 3; do
        join_on "${HOSTS[i]}" "$i" 4 --events "$EVENTS" --ppn 2 --oversubscribe --grace 1 \
            -- "$FAULTY" zoo 2
    done
    wait_for "[ \"\$(grep -c ready '$T/0.out')\" -ge 8 ] || ! kill -0 ${joins[0]} 2> /dev/null" ||
        diag "$(cat "$T"/[0-3].err)"
    ! left_behind > "$T/left" || fail "ranks and agents are found while they run"
}

zoo_join
kill -INT "$(join_pid 0)"
joins_end 130 "Ctrl-C at index 0 ends all"
nothing_left "nothing is left after Ctrl-C"

zoo_join
must kill -TSTP "$(join_pid 2)"
check "Ctrl-Z does not stop a host that has joined, which is said" \
    wait_for 'grep -q "Ctrl-Z does not stop mlaunch join" "$T/2.err"'
kill -TERM "$(join_pid 2)"
joins_end 143 "SIGTERM to a host ends the job everywhere"
check_match "^mlaunch: the job was ended by SIGTERM to mlaunch join on host $H3" "$T/0.err" \
    "the head names the host that got SIGTERM"
nothing_left "nothing is left after SIGTERM"

zoo_join
kill -KILL "$(join_pid 3)"
wait "${joins[3]}"
unset 'joins[3]'
joins_end 125 "the death of an mlaunch join fails the job"
check_match "^mlaunch: host $H4 was lost: " "$T/0.err" "the host of the dead mlaunch join is named"
nothing_left "nothing is left after the death of an mlaunch join"

zoo_join
must agent_kill "$H2" worker
joins_end 125 "the death of an agent fails the job"
check_match "^mlaunch: host $H2 was lost: the agent ended .*worker .* was killed by signal 9" "$T/0.err" \
    "the host of the dead agent is named, with its signal"
nothing_left "nothing is left after an agent's death"

zoo_join
netns cut "$H3"
wait "${joins[2]}"
status=$?
check "a host whose cable is pulled ends by itself" test "$status" -eq 125
unset 'joins[2]'
joins_end 125 "a host whose cable is pulled fails the job"
check_match "^mlaunch: host $H3 was lost: " "$T/0.err" "the host whose cable is pulled is named"
nothing_left "nothing is left on either side of the cut"
netns join "$H3"

zoo_join
kill -KILL "$(join_pid 0)"
wait "${joins[0]}"
unset 'joins[0]'
joins_end 125 "the death of the head fails the job"
check_match "^mlaunch: error: the head at $H1:$PORT was lost: .*; the ranks here are ended" \
    "$T/2.err" "each host says that the head was lost"
nothing_left "nothing is left after the head's death"

# As process 1 of a container, where a signal without a handler would do nothing.
: > "$EVENTS"
join_on "$H1" 0 2 --events "$EVENTS" --grace 1 -- "$FAULTY" zoo 2
set -m
netns exec "$H2" env "$MARK" unshare --fork --pid --mount-proc "$MLAUNCH" join --head "$H1:$PORT" \
    --index 1 --hosts 2 --key-file "$KEY" 2> "$T/1.err" &
joins[1]=$!
set +m
wait_for "[ \"\$(grep -c ready '$T/0.out')\" -eq 2 ]"
kill -TERM "$(join_pid 1)"
joins_end 143 "SIGTERM to process 1 of a container ends all"
check_match "ended by SIGTERM to mlaunch join on host $H2" "$T/0.err" \
    "the container's host is named as the one that got SIGTERM"
nothing_left "nothing is left of the container"

# A host is lost, and comes back: --restarts waits for it.
: > "$EVENTS"
for i in 0 1; do
    join_on "${HOSTS[i]}" "$i" 2 --events "$EVENTS" --restarts 1 --grace 1 \
        -- sh -c '[ "$MLAUNCH_RESTART" = 1 ] || { echo first; exec sleep 600; }; echo "again $MLAUNCH_RANK"'
done
wait_for "[ \"\$(grep -c first '$T/0.out')\" -eq 2 ]"
kill -KILL "$(join_pid 1)"
wait "${joins[1]}"
join_on "$H2" 1 2 --grace 1 -- true
joins_end 0 "a host that was lost joins again"
check_match "again 1" "$T/0.out" "a rank is started again on the host that was lost"
nothing_left "nothing is left of the two runs"

# Who is not let in does not disturb.
zoo_join
join_on "$H4" 3 4
wait "${joins[3]}"
check_match "refused this host: index 3 has joined already, from $A4" "$T/3.err" \
    "an index that has joined already is refused"
join_on "$H4" 4 5
wait "${joins[4]}"
unset 'joins[4]'
check_match "started with --hosts 5, and the head with 4" "$T/4.err" \
    "another number of hosts is refused"
must "$MLAUNCH" join --key-new "$T/other"
KEY=$T/other join_on "$H4" 3 4
wait "${joins[3]}"
check_match "refused the connection: the proof of the job's secret is wrong" "$T/3.err" "a wrong key: the host says so"
wait_for "grep -q 'refused a connection from $A4:' '$T/0.err'" # said after its answer was sent
check_match "refused a connection from $A4:" "$T/0.err" "a wrong key: the head says so"
kill -INT "$(join_pid 0)"
unset 'joins[3]'
joins_end 130 "the job was not disturbed by strangers"
nothing_left "nothing is left of the job beside strangers"

# One that never comes; the head is elsewhere.
: > "$EVENTS"
for i in 0 1 3; do
    join_on "${HOSTS[i]}" "$i" 4
done
netns exec "$H1" env "$MARK" "$MLAUNCH" --await 4 --listen "$A1:$PORT" --key-file "$KEY" \
    --events "$EVENTS" --init-timeout 3 -- true > "$T/out" 2> "$T/err"
status=$?
check "the head fails without a host that never comes" test "$status" -eq 125
check_match "host 2 of 4: has not joined within 3 s .*--index 2" "$T/err" \
    "the head names the host that never came"
joins_end 125 "the hosts that came end with the head"
nothing_left "nothing is left of those that came"

# Strangers, as fast as they can, before and while hosts join.
netns exec "$H1" env "$MARK" "$BUILD/tests/fault/flooder" "$PORT" "$T/flooded" 60 &
flooder=$!
: > "$EVENTS"
join_on "$H1" 0 3 --events "$EVENTS" --listen "0.0.0.0:$PORT" \
    -- "$BUILD/tests/fault/faulty" flooded 3 "$KEY"
wait_for "[ -e '$T/flooded' ]"
for i in 1 2; do
    join_on "${HOSTS[i]}" "$i" 3
done
joins_end 0 "a flood of strangers keeps no host away"
kill "$(survivors "$MARK" | sed -n 's,^\([0-9]*\) .*/flooder .*,\1,p')"
wait "$flooder"
nothing_left "nothing is left of the flood"

done_testing
