# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# slurm.sh: a Slurm of its own for a *.t, behind test.sh and hosts.sh:
#
#     . "${0%/*}/../lib/slurm.sh"
#     slurm_up 3                       # or the whole file is skipped, with the reason
#     on_login sbatch --wait job.sh
#
# $H1 is the login host, with munged and slurmctld; $N1 … $N3 are the nodes, with 4 processors each by their own
# account. Each is a namespace host, so ports and addresses are nobody else's. State, logs, key and
# sockets are in $SLURM_DIR, below $T. Everything ends with the hosts.

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
AuthInfo=socket=$SLURM_DIR/munge.socket
CredType=cred/munge
StateSaveLocation=$SLURM_DIR/state
SlurmdSpoolDir=$SLURM_DIR/spool.%n
SlurmctldPidFile=$SLURM_DIR/slurmctld.pid
SlurmdPidFile=$SLURM_DIR/slurmd.%n.pid
SlurmctldLogFile=$SLURM_DIR/slurmctld.log
SlurmdLogFile=$SLURM_DIR/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0
JobCompType=jobcomp/none
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
KillWait=${SLURM_KILL_WAIT:-2}
EOF
    for ((i = 1; i <= $1; i++)); do
        eval "echo NodeName=\$N$i NodeAddr=\$NA$i CPUs=4 State=UNKNOWN"
    done >> "$SLURM_CONF"
    echo 'PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP' >> "$SLURM_CONF"
}

slurm_up() {
    local i tool
    for tool in slurmctld slurmd sbatch srun munged; do
        command -v "$tool" > /dev/null || skip_all "needs $tool (Debian: slurm-wlm, munge)"
    done
    hosts_up "$(($1 + 1))"
    for ((i = 1; i <= $1; i++)); do
        eval "N$i=\$H$((i + 1)) NA$i=\$A$((i + 1))"
    done
    SLURM_DIR=$T/slurm
    SLURM_CONF=$SLURM_DIR/slurm.conf
    export SLURM_CONF
    mkdir -m 755 "$SLURM_DIR" "$SLURM_DIR/state"
    chmod 711 "$T"
    head -c 1024 /dev/urandom > "$SLURM_DIR/munge.key"
    chmod 600 "$SLURM_DIR/munge.key"
    slurm_conf_write "$1"
    daemon "$H1" munged --foreground --force --key-file="$SLURM_DIR/munge.key" --socket="$SLURM_DIR/munge.socket" \
        --pid-file="$SLURM_DIR/munged.pid" --log-file="$SLURM_DIR/munged.log" --seed-file="$SLURM_DIR/munged.seed"
    wait_for '[ -S "$SLURM_DIR/munge.socket" ]' 20 || slurm_failed "munged"
    daemon "$H1" slurmctld -D -f "$SLURM_CONF"
    for ((i = 1; i <= $1; i++)); do
        eval "daemon \"\$N$i\" slurmd -D -f \"$SLURM_CONF\""
    done
    wait_for '[ "$(on_login sinfo -h -N -t idle -o %N 2> /dev/null | wc -l)" = '"$1"' ]' 60 || slurm_failed "the nodes"
}

slurm_failed() {
    tail -n 30 "$SLURM_DIR"/*.log "$SLURM_DIR"/*.out 2> /dev/null | sed 's/^/# /'
    echo "Bail out! Slurm did not come up: $1"
    exit 1
}

# job_field JOB FIELD: of scontrol: JobState, ExitCode, …
job_field() { on_login scontrol -o show job "$1" | tr ' ' '\n' | sed -n "s/^$2=//p" | head -n 1; }
