# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# slurm.sh: a Slurm of its own for a *.t, behind test.sh and hosts.sh:
#
#     . "${0%/*}/../lib/slurm.sh"
#     slurm_up 3                       # or the whole file is skipped, with the reason
#     on_login sbatch --wait job.sh
#
# $H1 is the login host, with munged and slurmctld; $N1 … $N3 are the nodes, with 4 processors each
# by their own account. Each is a namespace host, so ports and addresses are nobody else's. State,
# logs, key and sockets are in $SLURM_DIR, below $T. Everything ends with the hosts. Before slurm_up
# can be set:
#
#   SLURM_KILL_WAIT   seconds from Slurm's SIGTERM to its SIGKILL (2)
#   SLURM_ACCOUNTING  how a step's use is measured: none, linux or cgroup
#   SLURM_TRACKING    how a step knows its processes: linuxproc or cgroup
#
# Either with cgroup needs slurm_cgroups_up first.

on_login() { netns exec "$H1" "$@"; }

# daemon HOST COMMAND…: in the host, until it ends.
daemon() {
    local host=$1
    shift
    netns exec "$host" "$@" < /dev/null > "$SLURM_DIR/${1##*/}.$host.out" 2>&1 &
}

slurm_conf_write() {
    local i
    cat > "$SLURM_CONF" << EOF
ClusterName=test
SlurmctldHost=$H1($A1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$SHORT/munge.socket
CredType=cred/munge
StateSaveLocation=$SLURM_DIR/state
SlurmdSpoolDir=$SLURM_DIR/spool.%n
SlurmctldPidFile=$SLURM_DIR/slurmctld.pid
SlurmdPidFile=$SLURM_DIR/slurmd.%n.pid
SlurmctldLogFile=$SLURM_DIR/slurmctld.log
SlurmdLogFile=$SLURM_DIR/slurmd.%n.log
ProctrackType=proctrack/${SLURM_TRACKING:-linuxproc}
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0
JobCompType=jobcomp/none
JobAcctGatherType=jobacct_gather/${SLURM_ACCOUNTING:-none}
JobAcctGatherFrequency=1
ReturnToService=2
KillWait=${SLURM_KILL_WAIT:-2}
EOF
    for ((i = 1; i <= $1; i++)); do
        eval "echo NodeName=\$N$i NodeAddr=\$NA$i CPUs=4 State=UNKNOWN"
    done >> "$SLURM_CONF"
    echo 'PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP' >> "$SLURM_CONF"
}

slurm_up() {
    local i
    needs munged salloc sbatch scancel scontrol sinfo slurmctld slurmd squeue srun sstat
    hosts_up "$(($1 + 1))"
    for ((i = 1; i <= $1; i++)); do
        eval "N$i=\$H$((i + 1)) NA$i=\$A$((i + 1))"
    done
    SLURM_DIR=$T/slurm
    SLURM_CONF=$SLURM_DIR/slurm.conf
    export SLURM_CONF
    mkdir -m 755 "$SLURM_DIR" "$SLURM_DIR/state"
    chmod 711 "$T" "$SHORT"
    head -c 1024 /dev/urandom > "$SLURM_DIR/munge.key"
    chmod 600 "$SLURM_DIR/munge.key"
    slurm_conf_write "$1"
    [ -z "${SLURM_CGROUPS:-}" ] || slurm_cgroups_mount
    daemon "$H1" munged --foreground --force --key-file="$SLURM_DIR/munge.key" \
        --socket="$SHORT/munge.socket" \
        --pid-file="$SLURM_DIR/munged.pid" --log-file="$SLURM_DIR/munged.log" \
        --seed-file="$SLURM_DIR/munged.seed"
    wait_for '[ -S "$SHORT/munge.socket" ]' || slurm_failed "munged"
    daemon "$H1" slurmctld -D -f "$SLURM_CONF"
    for ((i = 1; i <= $1; i++)); do
        eval "daemon \"\$N$i\" slurmd -D -f \"$SLURM_CONF\""
    done
    wait_for '[ "$(on_login sinfo -h -N -t idle -o %N 2> /dev/null | wc -l)" = '"$1"' ]' ||
        slurm_failed "the nodes"
}

# slurm_cgroups_up: cgroups of version 1 for the nodes, removed at the end; or the whole file is
# skipped.
slurm_cgroups_up() {
    local controller
    SLURM_CGROUPS=mlaunch-test.$$
    at_exit slurm_cgroups_remove
    for controller in freezer memory cpuacct; do
        mkdir "/sys/fs/cgroup/$controller/$SLURM_CGROUPS" 2> /dev/null ||
            skip_all "needs cgroup v1: no $controller controller to write to"
    done
}
slurm_cgroups_remove() {
    local controller
    for controller in freezer memory cpuacct; do
        controller=/sys/fs/cgroup/$controller/$SLURM_CGROUPS
        [ ! -d "$controller" ] || wait_for \
            "find '$controller' -depth -type d -exec rmdir {} + 2> /dev/null" ||
            diag "$controller is left"
    done
}
# Each node sees its own cgroups as if there were no others. In a shared tree only the nodes' names
# would keep them apart.
slurm_cgroups_mount() {
    local controller node
    printf '%s\n' CgroupPlugin=cgroup/v1 CgroupMountpoint=/sys/fs/cgroup > "$SLURM_DIR/cgroup.conf"
    for controller in freezer memory cpuacct; do
        for node in $NETNS_HOSTS; do
            mkdir "/sys/fs/cgroup/$controller/$SLURM_CGROUPS/$node"
            must netns exec "$node" mount --bind "/sys/fs/cgroup/$controller/$SLURM_CGROUPS/$node" \
                "/sys/fs/cgroup/$controller"
        done
    done
}

slurm_failed() {
    tail -n 30 "$SLURM_DIR"/*.log "$SLURM_DIR"/*.out 2> /dev/null | sed 's/^/# /'
    echo "Bail out! Slurm did not come up: $1"
    exit 1
}

# job_field JOB FIELD: a field of scontrol, such as JobState or ExitCode.
job_field() { on_login scontrol -o show job "$1" | tr ' ' '\n' | sed -n "s/^$2=//p" | head -n 1; }

# batch ARG…: what mlaunch batch writes, submitted. Sets $job. Its output goes to $out,
# $T/job.NUMBER.
batch() {
    job=$(on_login env -C "$T" "$MLAUNCH" batch slurm --output "$T/job.%j" --submit "$@") ||
        job=none
    out=$T/job.$job
}
ended() { case $(job_field "$job" JobState) in COMPLETED | FAILED | CANCELLED | TIMEOUT \
    | NODE_FAIL) ;; *) false ;; esac; }
# ends STATE REGEX NAME: the job of the last batch comes to that state and exit code, in scontrol's
# words.
ends() {
    if ! wait_for ended; then
        fail "$3" "job $job has not ended: $(job_field "$job" JobState) $(job_field "$job" Reason)"
        diag "$(on_login sinfo -N -l)"
    elif [[ "$(job_field "$job" JobState) $(job_field "$job" ExitCode)" =~ ^$1\ ($2)$ ]]; then
        pass "$3"
    else
        fail "$3" "expected $1 $2, got $(job_field "$job" JobState) $(job_field "$job" ExitCode)"
        diag_file "$out"
    fi
}

# nothing_left NAME: neither a rank of the last job nor the job itself.
nothing_left() {
    no_survivors "$1: no rank is left" "$mark"
    wait_for '[ -z "$(on_login squeue -h -j $job 2> /dev/null)" ]'
    check_output "" "$1: nothing of it is in the queue" on_login squeue -h -j "$job" -t R,CG
}
# Slurm signals all processes of a job at once, so mlaunch may see its agents end first.
# shellcheck disable=SC2034 # for `ends`
by_signal='143:0|125:0|0:15'

# A mark for the next job, in $mark; `running COMMAND N`: N processes with it have that command
# line.
slurm_marks=0
fresh_mark() {
    slurm_marks=$((slurm_marks + 1))
    mark=$(new_mark "slurm$slurm_marks")
}
running() { [ "$(survivors "$mark" | grep -c "^[0-9]* $1 *\$")" -eq "$2" ]; }
