#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mlaunch under a real Slurm: three nodes, a login host that is none of them, and no SSH between
# them.
TEST_LIMIT=400
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/../lib/slurm.sh"
slurm_up 3
cd "$T" || exit 1
kmeans="$BUILD/examples/kmeans $SOURCE/examples/iris.csv"
nothing_left() {
    no_survivors "$1: no rank is left" "$mark" 5
    wait_for '[ -z "$(on_login squeue -h -j $job 2> /dev/null)" ]' 20
    check_output "" "$1: nothing of it is in the queue" on_login squeue -h -j "$job" -t R,CG
}

# Slurm's time limits are whole minutes, so this job runs beside all that follows and is checked at
# the end.
fresh_mark
batch --nodes 2 --time 1 -x "$mark" -- sleep 1001
limited=$job limited_mark=$mark
wait_for 'running "sleep 1001" 2' 30 || fail "ranks start" "$(survivors "$mark")"

# A job script that mlaunch batch wrote: 3 nodes with 2 ranks each, which sum over all of them.
# shellcheck disable=SC2086
one=$($kmeans | grep checksum)
# shellcheck disable=SC2086
check "mlaunch batch writes a script" on_login "$MLAUNCH" batch slurm --nodes 3 \
    --ntasks-per-node 2 --time 5 \
    --output "$T/sum.out" -o "$T/sum.sh" -- $kmeans
check "sbatch takes it" on_login sbatch --wait --parsable "$T/sum.sh"
job=$(cat "$OUT")
check_match "$one" "$T/sum.out" "six ranks find what one finds"
out=$T/sum.out
ends COMPLETED 0:0 "scontrol says that it completed"
batch --nodes 3 --ntasks-per-node 2 run --output raw -- sh -c \
    'echo $SLURMD_NODENAME $MLAUNCH_RANK $MLAUNCH_SIZE'
ends COMPLETED 0:0 "--submit prints the job's number"
sort -k 2 "$out" > "$T/lines"
check_output "$(printf '%s\n' "$N1 0 6" "$N1 1 6" "$N2 2 6" "$N2 3 6" "$N3 4 6" "$N3 5 6")" \
    "ranks are where Slurm gave slots, each a part of a step" cat "$T/lines"
check_error 125 'srun: error: .*' "srun starts three of mlaunch" on_login srun -N 3 "$MLAUNCH" \
    --output raw -- hostname
check_match 'mlaunch is started once, not by srun, which starts 3 of it: write mlaunch -n 3' "$ERR" \
    "which say so"
check_no_match . "$OUT" "and start nothing"
check_output x "mlaunch as the only task of a step" on_login srun -N 1 "$MLAUNCH" -n 1 -- echo x
# salloc on the login host, which is none of the nodes.
check "salloc and mlaunch" on_login salloc -Q -N 3 --ntasks-per-node=1 "$MLAUNCH" --output raw \
    -- sh -c 'hostname'
sort "$OUT" > "$T/lines"
check_output "$(printf '%s\n' "$N1" "$N2" "$N3")" "a rank on each node" cat "$T/lines"
check_status 5 "the rank's status is salloc's" on_login salloc -Q -N 2 "$MLAUNCH" -n 2 --ppn 1 \
    -- sh -c 'exit $((MLAUNCH_RANK * 5))'
check_error 125 "3 ranks are asked for, but the hosts \(Slurm job [0-9]+\) have 2 slots; --oversubscribe" "no more than slots" \
    on_login salloc -Q -N 2 -n 2 "$MLAUNCH" -n 3 -- true
check "unless they may be" on_login salloc -Q -N 2 -n 2 "$MLAUNCH" --oversubscribe -n 3 -- true
check_error 125 "^mlaunch: error: host $N3: .*srun ended with status|^mlaunch: host $N3: srun ended with status 1 and started no agent" \
    "srun's own words about a host outside" on_login salloc -Q -w "$N1" "$MLAUNCH" \
    --agent-launcher srun -H "$N3" -- true
check_error 0 "--hosts: host $N2 is outside the allocation \(Slurm job [0-9]+\); using it anyway" \
    "a host outside is a warning" \
    on_login salloc -Q -w "$N1" "$MLAUNCH" --dry-run -H "$N2" -- true
check_error 125 "Invalid job id|has expired|Unable to confirm allocation" \
    "an allocation that is gone" on_login \
    env SLURM_JOB_ID=99999 SLURM_JOB_NODELIST="$N1" SLURM_TASKS_PER_NODE=1 "$MLAUNCH" -- true
head -c 300000 /dev/urandom > "$T/in"
check "stdin and stdout pass unchanged" on_login sh -c \
    'salloc -Q -N 1 "$2" --output raw -n 1 -- cat < "$1/in" > "$1/out" && cmp "$1/in" "$1/out"' sh \
    "$T" "$MLAUNCH"

# Environment: as without Slurm. The first node's ranks are beside mlaunch, the others are not.
export PLAIN=plain NAMED='n a"m$ed'
batch --nodes 2 -x NAMED -x GIVEN=1 run --output raw -n 2 -- sh -c \
    'echo "$MLAUNCH_RANK|$PLAIN|$NAMED|$GIVEN|$SLURM_JOB_ID|$SLURM_PROCID|$(pwd)"'
ends COMPLETED 0:0 "a job with variables"
sort "$out" > "$T/lines"
check_output "0|plain|n a\"m\$ed|1|$job||$T
1||n a\"m\$ed|1|$job||$T" "get to the ranks, and where it was submitted is where they are" cat \
    "$T/lines"

# What goes wrong.
batch --nodes 3 -- sh -c 'test $MLAUNCH_RANK != 1 || exit 9; sleep 1000'
ends FAILED 9:0 "a rank that fails: its status is the job's"
check_match "^mlaunch: rank 1 on host $N2 .*exited with status 9" "$out" \
    "and the job's output tells which"
batch --nodes 3 -- sh -c 'test $MLAUNCH_RANK != 2 || kill -SEGV $$; sleep 1000'
ends FAILED 139:0 "a rank that crashes"
check_match "^mlaunch: rank 2 on host $N3 .*killed by signal 11" "$out" \
    "and the job's output tells which"

fresh_mark
batch --nodes 3 -x "$mark" -- sh -c 'setsid sleep 1002 & sleep 1002'
wait_for 'running "sleep 1002" 6' 30 || fail "ranks start" "$(survivors "$mark")"
on_login scancel "$job"
# Slurm signals all processes at once, so mlaunch may see its agents end first.
by_signal='143:0|125:0|0:15'
ends CANCELLED "$by_signal" "scancel in mid-run"
nothing_left "scancel"
fresh_mark
batch --nodes 3 -x "$mark" -- sh -c 'trap "" TERM; setsid sleep 1003 & while :; do sleep 1003; done'
wait_for 'running "sleep 1003" 6' 30 || fail "ranks start" "$(survivors "$mark")"
on_login scancel "$job"
ends CANCELLED "$by_signal" "scancel of ranks that ignore SIGTERM"
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
wait_for 'running "sleep 1004" 2' 30 || fail "ranks start" "$(survivors "$mark")"
kill -KILL "$(below "$pid" "nodelist=$N2 ")"
cut_off() { netns exec "$N2" pgrep -fa 'sleep 1004' || :; }
wait_for '[ -z "$(cut_off)" ]' 3
check_output "" "an srun is killed: its node's ranks are gone after 3 s" cut_off
check_status 125 "the job fails" wait "$pid"
check_match "^mlaunch: .*host $N2 was lost: srun, which had started its agent, was killed by SIGKILL\$" "$T/srun.out" "naming the host"
no_survivors "and nothing is left" "$mark" 5
fresh_mark
on_login salloc -Q -N 2 "$MLAUNCH" -x "$mark" -- sleep 1005 > "$T/mlaunch.out" 2>&1 &
pid=$!
wait_for 'running "sleep 1005" 2' 30 || fail "ranks start" "$(survivors "$mark")"
kill -KILL "$(below "$pid" "^[^ ]*launcher/mlaunch ")"
wait "$pid"
no_survivors "mlaunch is killed: nothing is left after 3 s" "$mark" 3

# Warning signals: to the script, which is mlaunch, and to the step, which is every process.
for batch_only in --batch ''; do
    fresh_mark
    batch --nodes 2 -x "$mark" run --output raw -- sh -c \
        'trap "echo \$MLAUNCH_RANK warned; exit 0" USR1; echo ready; while :; do sleep 0.1; done'
    wait_for '[ "$(grep -c ready "$out" 2> /dev/null)" = 2 ]' 30 ||
        fail "ranks start" "$(cat "$out")"
    # shellcheck disable=SC2086
    on_login scancel $batch_only --signal=USR1 "$job"
    ends COMPLETED 0:0 "SIGUSR1 ${batch_only:---steps} ends nobody"
    check_output "2" "and both ranks hear it" grep -c warned "$out"
done

# Requeued, a job starts anew; of the run before nothing is left.
fresh_mark
batch --nodes 2 --extra --requeue --extra --open-mode=append -x "$mark" -x SLURM_RESTART_COUNT run \
    --output raw -- sh -c \
    'if [ -n "$SLURM_RESTART_COUNT" ]; then echo again; else sleep 1006; fi'
wait_for 'running "sleep 1006" 2' 30 || fail "ranks start" "$(survivors "$mark")"
on_login scontrol requeue "$job"
requeued=$job requeued_out=$out requeued_mark=$mark # Slurm would wait two minutes

# Suspended for longer than the silence after which a channel is given up; the next jobs run
# meanwhile.
fresh_mark
batch --nodes 2 -x "$mark" run --output raw -- sh -c \
    'echo ready; while [ ! -e '"$T"'/resumed ]; do sleep 0.1; done; echo went on'
wait_for '[ "$(grep -c ready "$out" 2> /dev/null)" = 2 ]' 30 || fail "ranks start" "$(cat "$out")"
check "a job is suspended" on_login scontrol suspend "$job"
suspended=$job suspended_out=$out since=$EPOCHSECONDS
# A shell whose child was stopped between vfork and exec waits for it in state D.
stopped() { for pid in $(survivors "$mark" | cut -d' ' -f1); do sed 's/.*) //; s/ .*//' \
    "/proc/$pid/stat"; done 2> /dev/null | sort -u | tr -d 'D\n'; }
wait_for '[ "$(stopped)" = T ]' 20
check_output T "all of it is stopped" stopped

# Two jobs of an array on one node: the end of one doesn't touch the other.
fresh_mark
batch --nodes 1 --ntasks 1 --extra --array=1-2 --extra "--nodelist=$N3" --extra \
    "--output=$T/array.%a" -x "$mark" -x SLURM_ARRAY_TASK_ID run --output raw -- \
    sh -c 'echo $MLAUNCH_JOB_DIR; while [ ! -e '"$T"'/end.$SLURM_ARRAY_TASK_ID ]; do sleep 0.1; done; exit $((SLURM_ARRAY_TASK_ID - 1))'
wait_for '[ -s "$T/array.1" ] && [ -s "$T/array.2" ]' 30 || fail "both start" "$(cat "$T"/array.*)"
array=$job

# A third job of the user's cleans up on that node: what is left of a dead one, whose agent's two
# processes were killed at one stroke, and nothing else.
on_login salloc -Q -n 1 -w "$N3" "$MLAUNCH" --output raw -- sh -c \
    'echo $MLAUNCH_JOB_DIR; setsid sleep 1008 & exec sleep 1009' > "$T/dead.out" 2>&1 &
pid=$!
rank_pid() { netns exec "$N3" pgrep -f '^sleep 1009'; }
wait_for 'rank_pid > /dev/null && [ -s "$T/dead.out" ]' 30
dead=$(cat "$T/dead.out")
parent() { netns exec "$N3" ps -o ppid= -p "$1" | tr -d ' '; }
worker=$(parent "$(rank_pid)")
netns exec "$N3" sh -c 'kill -STOP "$@" && kill -KILL "$@"' sh "$worker" "$(parent "$worker")"
check_status 125 "an agent dies at one stroke: the job fails" wait "$pid"
check "its directory is left" test -d "$dead"
clean() { on_login salloc -Q -n 1 -w "$N3" "$MLAUNCH" clean; }
check "another job of the user's cleans up" clean
check_match "directory $dead has been removed" "$OUT" "what is left of it is removed"
check_output "" "with its processes" netns exec "$N3" sh -c 'pgrep -fa "^sleep 100[89]" || :'
check_output "nothing is left of dead jobs" "there is no more" clean
check_output "2" "and the array's two live on" sh -c 'cat "$@" | xargs ls -d | wc -l' sh \
    "$T/array.1" "$T/array.2"

touch "$T/end.2"
job=${array}_2
ends FAILED 1:0 "one of an array fails"
check "the other has its directory" test -d "$(cat "$T/array.1")"
touch "$T/end.1"
job=${array}_1
ends COMPLETED 0:0 "and goes on to its own end"
nothing_left "an array"

job=$suspended out=$suspended_out
wait_for '[ $((EPOCHSECONDS - since)) -gt 12 ]' 20
check "it is resumed" on_login scontrol resume "$job"
touch "$T/resumed"
ends COMPLETED 0:0 "and comes to a good end"
check_output 2 "with its ranks" grep -c 'went on' "$out"

job=$requeued out=$requeued_out mark=$requeued_mark
# Its start can't be set while the nodes still report the end of the run before: Slurm refuses that
# in words.
if wait_for '[ "$(job_field "$job" JobState)" = PENDING ]' 60; then
    no_survivors "requeue: nothing of the first run is left" "$mark" 0
else
    fail "requeue: it waits again" "$(job_field "$job" JobState) $(job_field "$job" Reason)"
fi
wait_for 'on_login scontrol update JobId="$job" StartTime=now 2> "$T/update"' 60 ||
    fail "requeue: it may start" "$(cat "$T/update")"
ends COMPLETED 0:0 "requeue: it runs again"
check_match '^again' "$out" "and knows it"

job=$limited out=$T/job.$limited mark=$limited_mark
wait_for ended 120
ends TIMEOUT "$by_signal" "a time limit strikes"
check_match "DUE TO TIME LIMIT|by scancel or Slurm's time limit" "$out" "the job's output tells"
nothing_left "time limit"

# A node dies silently: last, because it doesn't come back.
fresh_mark
batch --nodes 3 -x "$mark" -- sleep 1007
wait_for 'running "sleep 1007" 3' 30 || fail "ranks start" "$(survivors "$mark")"
netns kill "$N3"
wait_for '[ -s "$out" ]' 30
check_match "^mlaunch: .*host $N3 was lost: " "$out" "a node dies: the job's output names it"
no_survivors "and nothing is left" "$mark" 15
wait_for '[ "$(job_field "$job" JobState)" != RUNNING ]' 30
check_match "^(FAILED|NODE_FAIL|COMPLETING)" <(job_field "$job" JobState) "and the job has failed"
done_testing
