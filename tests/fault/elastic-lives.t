#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What becomes of processes in a job of --elastic that are not members: a rank that dies before all
# have called ml_init, a process of mlaunch grow that nobody repairs for, one that ends as soon as
# it has taken a dead rank's place, and the ranks of an agent that was stopped for so long that
# their places were given away. Expected: sentences that are true, no error of a process that was
# not needed, pauses that grow, and ranks that take no further step.
# shellcheck disable=SC2154 # mlaunch: of fault.sh
TEST_TIER=full
TEST_LIMIT=180
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/fault.sh"
SURVIVOR=$BUILD/tests/fault/survivor

# shellcheck disable=SC2016 # for the ranks' shells
job_start -n 4 --elastic 2 --output raw -- sh -c 'echo ready
    while [ ! -e "$1/go" ]; do sleep 0.02; done; exec "$0" "$1/stop"' "$SURVIVOR" "$T"
has_said ready 4 || diag "the ranks are up"
kill -KILL "$(rank_pid 3)"
check "before ml_init: the death is said" wait_for 'grep -q "killed by signal 9" "$T/err"'
must touch "$T/go"
zoo_end 137 "before ml_init"
check_match 'rank 3 .*killed by signal 9.*; not all ranks have called ml_init yet: whoever calls it fails, and the job ends then$' \
    "$T/err" "before ml_init: mlaunch says that the job ends"
check_no_match 'may go on' "$T/err" "before ml_init: nothing else is promised"
rm -f "$T/go"

# Programs that never call ml_init go on.
# shellcheck disable=SC2016 # for the ranks' shells
job_start -n 3 --elastic 1 --output raw -- \
    sh -c 'echo ready; while [ ! -e "$0/stop" ]; do sleep 0.02; done; echo done' "$T"
has_said ready 3 || diag "the ranks are up"
kill -KILL "$(rank_pid 2)"
check "without ml_init: the death is said" wait_for 'grep -q "killed by signal 9" "$T/err"'
must touch "$T/stop"
zoo_end 0 "without ml_init"
check_output 2 "without ml_init: the others have ended well" grep -c '^done' "$T/out"
rm -f "$T/stop"

# The death that ends the job is said, too, if another one is the failure that is reported.
# shellcheck disable=SC2016 # for the ranks' shells
job_start -n 3 --elastic 2 --output raw -- \
    sh -c 'echo ready; while [ ! -e "$0/stop" ]; do sleep 0.02; done' "$T"
has_said ready 3 || diag "the ranks are up"
kill -KILL "$(rank_pid 2)"
check "too few: the first death is outlived" wait_for 'grep -q "2 ranks may go on\|ml_init yet" "$T/err"'
kill -KILL "$(rank_pid 1)"
zoo_end 137 "too few"
check_match 'rank 1 .*killed by signal 9.*; 1 rank is left, fewer than --elastic 2, so the job ends$' \
    "$T/err" "too few: the second death is said"
check_match 'rank 2 .*killed by signal 9 \(Killed\)$' "$T/err" "too few: the first is the job's failure"

# A process that nobody repairs for: the ranks only compute together, and end well.
cat > "$T/deaf.py" << 'END'
import array, os, sys, mlaunch
w = mlaunch.init()
sys.stdout.write("ready\n")  # one write: print() makes two
sys.stdout.flush()
words = array.array("q", [0, 1])
while words[0] < w.size:
    words = array.array("q", [os.path.exists(sys.argv[1]), 1])
    w.all_reduce(words)
END
job_start -n 2 --elastic 1 --restarts 2 --output raw -- python3 "$T/deaf.py" "$T/stop"
has_said ready 2 || diag "the ranks are up: $(cat "$T/err")"
check "a needless process: mlaunch grow starts it" "$MLAUNCH" grow "$(job_id)" -H localhost
check "a needless process: it runs" wait_for 'grep -q "\"event\":\"started\".*\"rank\":2," "$EVENTS"'
must touch "$T/stop"
zoo_end 0 "a needless process"
check_no_match 'Traceback|no other rank|takes its place' "$T/err" \
    "a needless process: it is ended without an error, and not replaced"
rm -f "$T/stop"

# One whose successors end at once: they are started after pauses that grow.
# shellcheck disable=SC2016 # for the ranks' shells
job_start -n 2 --elastic 1 --restarts inf --output raw -- \
    sh -c '[ "$MLAUNCH_RESTART" = 0 ] || exit 3; echo ready; while [ ! -e "$0/stop" ]; do sleep 0.02; done' "$T"
has_said ready 2 || diag "the ranks are up"
kill -KILL "$(rank_pid 1)"
check "ends at once: the third process comes after a second" \
    wait_for 'grep -q "another process takes its place in 2 s (restart 3)$" "$T/err"'
check_match 'killed by signal 9 \(Killed\); another process takes its place \(restart 1\), but not all ranks have called ml_init yet: whoever calls it fails, and the job ends then$' "$T/err" \
    "ends at once: a member is replaced without a pause"
check_match 'exited with status 3; another process takes its place in 1 s \(restart 2\)$' "$T/err" \
    "ends at once: then there is a pause"
check_no_match 'of 2147483647' "$T/err" "ends at once: a number without an end is not said"
must touch "$T/stop"
zoo_end 0 "ends at once"
rm -f "$T/stop"

# An agent that was stopped.
hosts_up 3
JOB+=(--ssh-config "$NETNS_SSH_CONFIG" --grace 1)
# shellcheck disable=SC2016 # for the ranks' shells
STEPS='exec 3>> "$1/steps.$MLAUNCH_RANK.$MLAUNCH_RESTART"; echo ready
    while [ ! -e "$1/stop" ]; do echo step >&3; sleep 0.05; done'
job_start -n 2 -H "$H1,$H2" --spare-hosts "$H3" --elastic 1 --restarts 2 --output raw -- \
    sh -c "$STEPS" sh "$T"
has_said ready 2 || diag "the ranks are up: $(cat "$T/err")"
rank=$(rank_pid 1)
guard=$("$SOURCE/tests/fault/look.py" agent "$EVENTS" "$H2" guard "$(init_of "$H2")")
worker=$("$SOURCE/tests/fault/look.py" agent "$EVENTS" "$H2" worker "$(init_of "$H2")")
# shellcheck disable=SC2317 # by wait_for
is_held() { ! netns exec "$H2" grep -q '^State:.[^TtZ]' "/proc/$rank/status" 2> /dev/null; }
# shellcheck disable=SC2086 # pids
kill -STOP $guard $worker
check "an agent that returns: its place is given away" \
    wait_for 'grep -q "spare host '"$H3"' takes its place" "$T/err"'
check "an agent that returns: its rank has run meanwhile" test -s "$T/steps.1.0"
check "an agent that returns: its rank still runs" netns exec "$H2" kill -0 "$rank"
# shellcheck disable=SC2086 # pids
kill -CONT $worker $guard
check "an agent that returns: its rank is held" wait_for is_held
steps=$(wc -l < "$T/steps.1.0")
check "an agent that returns: its rank is ended" wait_for '! netns exec "$H2" kill -0 "$rank" 2> /dev/null'
check_output "$steps" "an agent that returns: its rank has taken no further step" \
    sh -c "wc -l < '$T/steps.1.0'"
must touch "$T/stop"
zoo_end 0 "an agent that returns"
done_testing
