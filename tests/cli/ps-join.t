#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mlaunch ps, top and kill on hosts that have joined a job, each with a /tmp of its own. Expected:
# the host of index 0 shows all, through the mlaunch that they have joined, another one its part and
# that there is more, and an end or a soft stop that is asked for on one of them is the whole job's.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
NETNS_PRIVATE=/tmp/mlaunch-$(id -u) NETNS_SSHD='ListenAddress 127.0.0.1' hosts_up 2
HOSTS=("$H1" "$H2")
must "$MLAUNCH" join --key-new "$T/key"
mkdir "$T/0" "$T/1"

# on INDEX ARGUMENT…
on() { netns exec "${HOSTS[$1]}" env TMPDIR="$T/$1" "$MLAUNCH" "${@:2}"; }
# start HOST: a job of host 0 and that one; sets $job.
start() {
    : > "$T/events"
    : > "$T/out.0"
    for i in 1 0; do
        on "$((i * $1))" join --head "$H1:7000" --index "$i" --hosts 2 --key-file "$T/key" --ppn 2 \
            --oversubscribe --grace 1 --events "$T/events" -- \
            sh -c 'echo up; exec sleep 300' \
            > "$T/out.$i" 2> "$T/err.$i" &
        joins[i]=$!
    done
    wait_for "[ \"\$(grep -c up '$T/out.0')\" -eq 4 ] || ! kill -0 ${joins[0]} 2> /dev/null"
    job=$(sed -nE 's/.*"job":"([^"]+)".*/\1/p;q' "$T/events")
}
# ended STATUS NAME
ended() {
    local got=()
    for i in 0 1; do
        wait "${joins[i]}"
        got[i]=$?
    done
    check_output "$1 $1" "$2" echo "${got[@]}"
}

start 1
check "ps on host 1 knows the job" on 1 ps "$job"
check_match "^1 of the job's 2 hosts was not asked: .* the host of index 0" "$OUT" \
    "ps on host 1 says that there is another host"
cp "$OUT" "$T/shown"
check_output 1 "ps on host 1 has one part of the job" grep -c " 2/4 .*live" "$T/shown"
# The names of those that have joined are known a moment after the start.
wait_for 'netns exec "$H1" grep -q "\"$H2\"" "/tmp/mlaunch-$(id -u)/run.$job"'
check "ps on host 0 knows the job" on 0 ps "$job"
cp "$OUT" "$T/shown"
check_no_match "not asked" "$T/shown" "ps on host 0 has asked all hosts"
check_output 2 "ps on host 0 has both parts of the job" grep -c " 2/4 .*live" "$T/shown"
check_output "0 1 2 3" "ps on host 0 has all ranks" \
    sh -c "sed -nE 's/^ +([0-9]+) .* sleep$/\\1/p' '$T/shown' | xargs"
check "ps --stacks on host 0 works" on 0 ps --stacks "$job"
check_match "^0-3 are in .*sleep" "$OUT" "ps --stacks on host 0 has the stacks of host 1, too"
check "ps of all jobs works on host 0" on 0 ps
cp "$OUT" "$T/shown"
check_output 2 "ps of all jobs has both parts" grep -c " 2/4 .*live" "$T/shown"
check "mlaunch top works on host 0" on 0 top --batch 1 "$job"
check_match "^ *3 " "$OUT" "mlaunch top has ranks of both hosts"
check "mlaunch status works on host 0" on 0 status
check_match "^$H2 +online" "$OUT" "mlaunch status has host 1"
# The agent is the parent of its ranks.
rank=$(sed -nE 's/.*"event":"started".*"rank":3,.*"pid":([0-9]+).*/\1/p' "$T/events")
worker=$(netns exec "$H2" awk '/^PPid/{print $2}' "/proc/$rank/status")
must netns exec "$H2" kill -STOP "$worker"
check "ps works with a host that is stopped" on 0 ps "$job"
check_match "^host $H2 has not answered: it has not answered within 2 s" "$OUT" \
    "ps names the host that is stopped"
must netns exec "$H2" kill -CONT "$worker"
check "a soft stop is asked for on host 1" on 1 kill --soft "$job"
check "a soft stop reaches the head" \
    wait_for "grep -q 'asked to stop with mlaunch kill --soft by .* on host $H2' '$T/err.0'"
check "an end is asked for on host 1" on 1 kill "$job"
ended 143 "an end reaches both hosts"
check_match "^mlaunch: the job was ended with mlaunch kill by " "$T/err.0" \
    "the head says who ended the job"

# Both on one machine, as somebody tries it out.
start 0
wait_for 'netns exec "$H1" grep -q "#1\"" "/tmp/mlaunch-$(id -u)/run.$job"'
check "ps works with two nodes on one machine" on 0 ps "$job"
cp "$OUT" "$T/shown"
check_output "0 1 2 3" "ps has each rank of two nodes once" \
    sh -c "sed -nE 's/^ +([0-9]+) .* sleep$/\\1/p' '$T/shown' | xargs"
check "an end of two nodes is asked for" on 0 kill "$job"
ended 143 "an end reaches both nodes"
done_testing
