#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A host's cable is pulled and its agent stopped, so that its ranks outlive that. A spare host that
# has no installation takes its place. Then the old host comes back. Expected: the job continues
# under its id and does not notice, though both hosts share /dev/shm, as containers of one machine
# may; the old ranks end by themselves.
# shellcheck disable=SC2154 # mlaunch: of fault.sh
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/fault.sh"
home=$(awk -F: '$3 == 0 { print $6; exit }' /etc/passwd)
NETNS_PRIVATE="$home $BUILD" hosts_up 3
JOB+=(--ssh-config "$NETNS_SSH_CONFIG" --grace 1)
for h in "$H2" "$H3"; do
    must netns exec "$h" umount -l /dev/shm # below it is this machine's
done

# Groups are made again and again: new segments, which a stranger might remove. The children do not
# notice that the network is gone.
cat > "$T/rank.py" << EOF
import array, mlaunch, os, subprocess
subprocess.Popen(["sleep", "600"], start_new_session=True)
world = mlaunch.init()
print("run", os.environ["MLAUNCH_RESTART"], "is up", flush=True)
over = array.array("d", [0])
while not over[0]:
    group = world.split(0)
    over[0] = os.path.exists("$T/over")
    group.all_reduce(over, op=mlaunch.MAX)
    group.free()
print("run", os.environ["MLAUNCH_RESTART"], "is over", flush=True)
EOF
printf '[ssh]\nconnect-timeout = 3\n' > "$T/config"
job_start --config "$T/config" -H "$H1:2,$H2:2" --spare-hosts "$H3" --restarts 2 -- python3 "$T/rank.py"
has_said "run 0 is up" 4 || fail "the first run starts" "$(cat "$T/err")"
old=$(init_of "$H2")
pids=
for process in worker guard; do
    pids+=" $("$SOURCE/tests/fault/look.py" agent "$EVENTS" "$H2" "$process" "$old")"
done
# shellcheck disable=SC2086
must kill -STOP $pids
must netns cut "$H2"
has_said "run 1 is up" 4 || fail "the second run starts" "$(cat "$T/err")"
check_match "^mlaunch: host $H2 was lost: nothing was heard" "$T/err" \
    "the first run failed because its host was lost"
check_match "^mlaunch: host $H2 was lost; spare host $H3 takes its place \(ranks 2,3\)$" "$T/err" \
    "a spare host takes the place of one that is cut off"
check "the spare host lists the job" \
    sh -c '"$@" | grep -q "$0"' "$(job_id)" "$MLAUNCH" ps --ssh-config "$NETNS_SSH_CONFIG" -H "$H3"

# of_old: the job's processes on the old host, by the PID namespace.
of_old() {
    local pid rest
    survivors "$MARK" | while read -r pid rest; do
        [ "$(readlink "/proc/$pid/ns/pid")" != "$(readlink "/proc/$old/ns/pid")" ] ||
            echo "$pid $rest"
    done
}
of_old > "$T/old"
check_match . "$T/old" "the ranks on the old host outlive the loss"
must netns join "$H2"
# shellcheck disable=SC2086
must kill -CONT $pids
if wait_for '[ -z "$(of_old)" ]'; then pass "the ranks on the old host end when it is back"; else
    fail "the ranks on the old host end when it is back" "$(of_old)"
fi
: > "$T/over"
wait "$mlaunch"
status=$?
check_output 0 "the job ends well" echo "$status"
check_output 4 "the job ends in the second run" grep -c 'run 1 is over' "$T/out"
check_output 1 "the second run has the id of the first" sh -c \
    'sed -n "s/.*\"job\":\"\([^\"]*\)\".*/\1/p" "$1" | sort -u | wc -l' - "$EVENTS"
nothing_left "nothing is left of the two runs"

done_testing
