#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Three hosts that call the head run a job of --elastic. One of them is asked to leave by SIGTERM,
# its mlaunch join or its agent is killed, or its cable is pulled. Expected: the ranks of the other
# hosts repair and go on, every sum of theirs is right, and the job's status is 0, at the head and
# on the hosts that stayed; but the death of index 0, which is the head, ends the job. With
# --restarts whoever joins again with the index of a lost host takes its place, and the world has
# all its ranks again. Nothing is left anywhere.
TEST_TIER=full
TEST_TIMES=divided
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/fault.sh"
. "${0%/*}/join.sh"
NETNS_SSHD='ListenAddress 127.0.0.1' hosts_up 3
HOSTS=("$H1" "$H2" "$H3")
must "$MLAUNCH" join --key-new "$KEY"
SURVIVOR=$BUILD/tests/fault/survivor

# they_say TEXT N
# shellcheck disable=SC2016,SC2154 # for wait_for; join.sh has joins
they_say() {
    wait_for "[ \"\$(grep -c '$1' '$T/0.out')\" -ge $2 ] || ! kill -0 ${joins[0]} 2> /dev/null"
    [ "$(grep -c "$1" "$T/0.out")" -ge "$2" ]
}
# elastic_join [MIN [OPTION…]]: two ranks a host.
elastic_join() {
    ELASTIC=(--events "$EVENTS" --ppn 2 --oversubscribe --grace 1 --elastic "${1:-2}" "${@:2}")
    : > "$EVENTS"
    : > "$T/0.out"
    rm -f "$T/stop"
    for i in 0 1 2; do
        join_on "${HOSTS[i]}" "$i" 3 "${ELASTIC[@]}" -- "$SURVIVOR" "$T/stop"
    done
    they_say 'membership 0' 6 || diag "not all ranks are up: $(cat "$T"/[0-2].err)"
}
# others_go_on NAME: four ranks of two hosts.
others_go_on() {
    check "$1: the others go on" they_say 'membership [12], 4 ranks' 4
    must touch "$T/stop"
    joins_end 0 "$1: the job ends with 0"
    check_output 4 "$1: all that live have ended well" grep -c ': done' "$T/0.out"
    check_no_match 'wrong sum' "$T/0.err" "$1: every sum is right"
    nothing_left "$1: nothing is left"
}
# host_ends INDEX STATUS NAME
host_ends() {
    wait "${joins[$1]}" 2> /dev/null
    check "$3" test $? -eq "$2"
    unset "joins[$1]"
}

# all_there: how often the world has had all its ranks again.
all_there() { grep '"event":"repaired"' "$EVENTS" | grep -c '"members":\[0,1,2,3,4,5\]'; }
# join_again INDEX NAME: its two ranks come to the world.
join_again() {
    local before
    before=$(all_there)
    join_on "${HOSTS[$1]}" "$1" 3 "${ELASTIC[@]}" -- "$SURVIVOR" "$T/stop"
    check "$2: who joins again gets the ranks" wait_for '[ "$(all_there)" -gt '"$before"' ]'
}
# all_end NAME
all_end() {
    must touch "$T/stop"
    joins_end 0 "$1: the job ends with 0"
    check_output 6 "$1: all ranks have ended well" grep -c ': done' "$T/0.out"
    check_no_match 'wrong sum' "$T/0.err" "$1: every sum is right"
    nothing_left "$1: nothing is left"
}

elastic_join
kill -TERM "$(join_pid 2)"
host_ends 2 143 "SIGTERM to a host: the host leaves"
others_go_on "SIGTERM to a host"
check_match "^mlaunch: host $H3 was lost: it was asked to leave by SIGTERM to its mlaunch join; 4 ranks may go on \(--elastic 2\)" \
    "$T/0.err" "SIGTERM to a host: the head says why"
check_no_match 'warning|error' "$T/0.err" "SIGTERM to a host: the head has no more to say"

elastic_join 5
kill -TERM "$(join_pid 2)"
wait "${joins[2]}" # its status is the signal's, or already the job's
unset 'joins[2]'
joins_end 125 "SIGTERM to a host without which too few live ends the job"
check_match "^mlaunch: host $H3 was lost: it was asked to leave by SIGTERM" "$T/0.err" \
    "SIGTERM to a host without which too few live is named"
nothing_left "nothing is left where too few lived"

elastic_join
kill -KILL "$(join_pid 2)"
host_ends 2 137 "a host's mlaunch join is killed"
others_go_on "the death of an mlaunch join"

elastic_join
must agent_kill "$H2" worker
others_go_on "the death of an agent"

elastic_join
netns cut "$H3"
host_ends 2 125 "a host whose cable is pulled ends by itself"
others_go_on "a cable that is pulled"
netns join "$H3"

# With --restarts. The others have gone on before it comes, and it may be lost again.
elastic_join 2 --restarts 2 --replace-wait 0
kill -KILL "$(join_pid 2)"
host_ends 2 137 "with --restarts: a host's mlaunch join is killed"
check "with --restarts: the others go on" they_say 'membership [12], 4 ranks' 4
check_match "^mlaunch: host $H3 was lost: .*; a host that joins with --index 2 takes its place \(ranks 4,5\)$" \
    "$T/0.err" "with --restarts: the head says who may come"
join_again 2 "with --restarts"
kill -TERM "$(join_pid 2)"
host_ends 2 143 "with --restarts: the host leaves again"
check "with --restarts: the others go on without it" they_say 'membership [3-9], 4 ranks' 4
join_again 2 "a host that has left"
kill -KILL "$(join_pid 2)"
host_ends 2 137 "with --restarts: the host is killed for a third time"
check "restarts used up: four ranks are the world" they_say 'membership [5-9], 4 ranks' 4
check_match "^mlaunch: host $H3 was lost: .*; 4 ranks may go on \(--elastic 2\)$" "$T/0.err" \
    "restarts used up: nobody is waited for"
others_go_on "restarts used up"

# All are waited for; nothing of an agent that was killed is there any more.
elastic_join 6 --restarts 1 --replace-wait 60
must agent_kill "$H2" worker
check "the death of an agent, with --restarts: its host runs another one" \
    wait_for 'grep -q "\"event\":\"replaced\".*\"rank\":3,\"host\":\"'"$H2"'\"" "$EVENTS"'
netns cut "$H3"
host_ends 2 125 "with --restarts: a host whose cable is pulled ends by itself"
netns join "$H3"
join_again 2 "a cable that was pulled"
all_end "joined again"

# Nobody joins again, and the others end.
elastic_join 2 --restarts 1
kill -KILL "$(join_pid 2)"
host_ends 2 137 "with --restarts: a host is killed for good"
others_go_on "nobody joins again"

elastic_join 2 --restarts 1
kill -KILL "$(join_pid 2)"
host_ends 2 137 "with --restarts: a host is killed before Ctrl-C"
wait_for 'grep -q "takes its place" "$T/0.err"' || fail "the loss is known" "$(cat "$T/0.err")"
kill -INT "$(join_pid 0)"
joins_end 130 "Ctrl-C while a host is waited for"
nothing_left "Ctrl-C while a host is waited for leaves nothing"

elastic_join
kill -KILL "$(join_pid 0)"
host_ends 0 137 "the head ends by its signal"
joins_end 125 "the head's death ends the job on each host"
check_match "the head at $H1:$PORT was lost: .*; the ranks here are ended" "$T/2.err" \
    "the hosts say that the head was lost"
nothing_left "nothing is left after the head's death"
done_testing
