#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What goes wrong under a real Slurm: ranks fail, a job is cancelled, srun, mlaunch or a node dies.
# Expected: the job has failed, its output names who, and nothing is left.
# shellcheck disable=SC2154 # mark, job and out are set in slurm.sh
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/../lib/slurm.sh"
slurm_up 3
cd "$T" || exit 1

# What goes wrong.
batch --nodes 3 -- sh -c 'test $MLAUNCH_RANK != 1 || exit 9; sleep 1000'
ends FAILED 9:0 "a rank that fails: its status is the job's"
check_match "^mlaunch: rank 1 on host $N2 .*exited with status 9" "$out" \
    "the job's output names the rank that failed"
batch --nodes 3 -- sh -c 'test $MLAUNCH_RANK != 2 || kill -SEGV $$; sleep 1000'
ends FAILED 139:0 "a rank that crashes gives the job its status"
check_match "^mlaunch: rank 2 on host $N3 .*killed by signal 11" "$out" \
    "the job's output names the rank that crashed"

fresh_mark
batch --nodes 3 -x "$mark" -- sh -c 'setsid sleep 1002 & sleep 1002'
wait_for 'running "sleep 1002" 6' || fail "ranks start, for scancel" "$(survivors "$mark")"
on_login scancel "$job"
ends CANCELLED "$by_signal" "scancel in mid-run ends the job"
nothing_left "scancel"
fresh_mark
# No shell that starts a child when one ends: Slurm kills by descent, which that child escapes.
batch --nodes 3 -x "$mark" -- sh -c 'trap "" TERM; setsid sleep 1003 & exec sleep 1003'
wait_for 'running "sleep 1003" 6' || fail "ranks that ignore SIGTERM start" "$(survivors "$mark")"
on_login scancel "$job"
ends CANCELLED "$by_signal" "scancel ends ranks that ignore SIGTERM"
nothing_left "scancel of the deaf"

# below PID REGEX: the descendant of PID whose command line matches.
below() {
    local child
    for child in $(pgrep -P "$1"); do
        if tr '\0' ' ' < "/proc/$child/cmdline" | grep -qE -- "$2"; then echo "$child"; else below \
            "$child" "$2"; fi
    done
}
# The srun of a node is killed; mlaunch is. The other node's ranks, deaf to SIGTERM, have their
# --grace. Slurm kills the step of a lost srun, both processes of the agent included, by descent: a
# child that a shell starts meanwhile would escape it.
fresh_mark
on_login salloc -Q -N 2 "$MLAUNCH" -x "$mark" -- sh -c \
    'trap "" TERM; exec sleep 1004' > "$T/srun.out" 2>&1 &
pid=$!
wait_for 'running "sleep 1004" 2' || fail "ranks start under two sruns" "$(survivors "$mark")"
must kill -KILL "$(below "$pid" "nodelist=$N2 ")"
cut_off() { netns exec "$N2" pgrep -fa 'sleep 1004' || :; }
wait_for '[ -z "$(cut_off)" ]'
check_output "" "an srun is killed: its node's ranks are gone" cut_off
check_status 125 "an srun is killed: the job fails" wait "$pid"
check_match "^mlaunch: .*host $N2 was lost: srun, which had started its agent, was killed by SIGKILL\$" \
    "$T/srun.out" "an srun is killed: its host is named"
no_survivors "an srun is killed: nothing is left" "$mark"
fresh_mark
on_login salloc -Q -N 2 "$MLAUNCH" -x "$mark" -- sleep 1005 > "$T/mlaunch.out" 2>&1 &
pid=$!
wait_for 'running "sleep 1005" 2' ||
    fail "ranks start, for an mlaunch that is killed" "$(survivors "$mark")"
must kill -KILL "$(below "$pid" "^[^ ]*launcher/mlaunch ")"
wait "$pid"
no_survivors "mlaunch is killed: nothing is left" "$mark"

# A node dies silently: last, because it doesn't come back.
fresh_mark
batch --nodes 3 -x "$mark" -- sleep 1007
wait_for 'running "sleep 1007" 3' || fail "ranks start on three nodes" "$(survivors "$mark")"
must netns kill "$N3"
wait_for '[ -s "$out" ]'
check_match "^mlaunch: .*host $N3 was lost: " "$out" "a node dies: the job's output names it"
no_survivors "a node dies: nothing is left" "$mark"
wait_for '[ "$(job_field "$job" JobState)" != RUNNING ]'
check_match "^(FAILED|NODE_FAIL|COMPLETING)" <(job_field "$job" JobState) \
    "a node dies: the job has failed"
done_testing
