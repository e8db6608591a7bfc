#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Slurm accounts for every rank: the processes of each, daemons too, belong to the job's step on
# their node, whose memory and CPU time sstat tells. Slurm knows a step's processes by descent here,
# in slurm-cgroup.t by cgroups.
# shellcheck disable=SC2154 # mark, job and out are set in slurm.sh
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
[ "$SANITIZE" = no ] || skip_all "Slurm accounts for sanitized processes as for others"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/../lib/slurm.sh"
if [ -n "${with_cgroups:-}" ]; then
    SLURM_TRACKING=cgroup SLURM_ACCOUNTING=cgroup
    slurm_cgroups_up
else
    SLURM_ACCOUNTING=linux
fi
slurm_up 2
cd "$T" || exit 1

# Four ranks print where they are and start a daemon; one on each node uses 64 MiB and, for
# 3 seconds, a processor.
# The user's settings for steps are not passed to an agent's step, which stands for two ranks: its
# size would be wrong and its output labelled.
fresh_mark
export SRUN_CPUS_PER_TASK=1 SLURM_EXACT=1 SLURM_LABELIO=1
batch --nodes 2 --ntasks-per-node 2 --extra --cpus-per-task=2 -x "$mark" run --output raw -- sh -c \
    'setsid sleep 1001 &
    echo "$SLURMD_NODENAME $$ $! $SLURM_CPUS_PER_TASK"
    [ "$MLAUNCH_LOCAL_RANK" = 0 ] || exec sleep 1002
    exec python3 "'"$SOURCE"'/tests/batch/use_memory.py"'
wait_for '[ "$(cat "$out" 2> /dev/null | wc -l)" = 4 ] && running "sleep 1002" 2' ||
    fail "all four ranks start" "$(cat "$out")"

# step_of NODE PID: the number of the step to which Slurm assigns the process.
step_of() { netns exec "$1" scontrol listpids "$job" | awk -v pid="$2" -v job="$job" \
    '$1 == pid && $2 == job && $3 ~ /^[0-9]+$/ { print $3 }'; }
unset SRUN_CPUS_PER_TASK SLURM_EXACT SLURM_LABELIO
while read -r node rank daemon processors; do
    check_output 2 "a rank on $node knows how many processors are for it" echo "$processors"
    step=$(step_of "$node" "$rank")
    check_match '^[01]$' <(echo "$step") "a rank on $node belongs to a step of the job"
    check_output "$step" \
        "the daemon of a rank on $node belongs to the same step" step_of "$node" "$daemon"
    [ -z "${with_cgroups:-}" ] || for controller in freezer memory cpuacct; do
        check_match ":$controller:.*/job_$job/step_$step(/|\$)" <(netns exec "$node" cat \
            "/proc/$daemon/cgroup") "the $controller cgroup of a rank on $node is the step's"
    done
done < "$out"
for step in 0 1; do
    check_match ' CPUs=4 Tasks=1 ' <(on_login scontrol -o show step "$job.$step") \
        "step $step has all of the job's processors on its node"
done
check_output "$N1 $N2" "there is a step for each node" sh -c \
    'cut -d" " -f1 "$1" | sort -u | paste -sd" " -' sh "$out"

# used: the steps of ranks that have used 64 MiB and at least a second, a line each. sstat's units:
# 65536K, 64.50M.
used() {
    on_login sstat -a -n -P -j "$job" --format=JobID,Nodelist,MaxRSS,AveCPU | awk -F'|' '
        $1 !~ /\.[0-9]+$/ { next }
        { kib = $3 + 0 } $3 ~ /M$/ { kib *= 1024 } $3 ~ /G$/ { kib *= 1024 * 1024 }
        kib >= 65536 && $4 != "00:00:00" { print $2 }' | sort | paste -sd' ' -
}
wait_for '[ "$(used 2> /dev/null)" = "$N1 $N2" ]'
check_output "$N1 $N2" "sstat tells what the ranks of each node use" used
diag "$(on_login sstat -a -P -j "$job" --format=JobID,Nodelist,MaxRSS,AveCPU)"

on_login scancel "$job"
ends CANCELLED '143:0|125:0|0:15' "scancel ends the job"
no_survivors "no rank is left after scancel" "$mark"
if [ -n "${with_cgroups:-}" ]; then
    steps() { find "/sys/fs/cgroup/freezer/$SLURM_CGROUPS" -type d -name 'step_*'; }
    wait_for '[ -z "$(steps)" ]'
    check_output "" "no cgroup of the job is left" steps
fi
done_testing
