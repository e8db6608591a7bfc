# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# For scripts on host 0 of virtual machines, behind test.sh: jobs of one rank a host, some of which
# are read while they run, and faults for them, which are cables between hosts 0 and 1 that are cut
# and mended, and a second rail beside them.

# job N ARG…: N ranks, one a host, of $HOSTFILE or of all hosts. Their agents come through open
# connections (tests/vm/guest-init).
job() {
    local n=$1
    shift
    timeout -k 5 "${JOB_LIMIT:-120}" "$MLAUNCH" --hostfile "${HOSTFILE:-$RDMA_HOSTFILE}" \
        --agent-command 'ssh {host}' --backend rdma --output raw -n "$n" "$@"
}

# watched COMMAND… -- JOB…: runs `job JOB…` and, each time it prints "running", the command, which
# finds its standard input as $JOB_INPUT. $OUT gets what it prints, each line within 100 s, and at
# the end "status N".
watched() {
    local what=() line pid from
    while [ "$1" != -- ]; do what+=("$1") && shift; done
    shift
    coproc JOB { job "$@" 2> "$ERR"; echo "status $?"; }
    # bash forgets these descriptors as soon as it has noticed the end.
    pid=$JOB_PID
    exec {from}<&"${JOB[0]}" {JOB_INPUT}>&"${JOB[1]}"
    : > "$OUT"
    while read -r -t 100 line <&"$from"; do
        echo "$line" >> "$OUT"
        if [ "$line" = running ]; then "${what[@]}"; fi
    done
    exec {from}<&- {JOB_INPUT}>&-
    wait "$pid"
}

cut() {
    tc qdisc add dev p1 root netem loss 100%
    ssh host1 tc qdisc add dev p0 root netem loss 100%
}
mend() {
    ssh host1 tc qdisc del dev p0 root
    tc qdisc del dev p1 root
}
# rail_add: hosts 0 and 1 get a second device between them; $T/rails.json names both, in another
# order at each end.
rail_add() {
    rdma link add rxe_m type rxe netdev mgmt
    ssh host1 rdma link add rxe_m type rxe netdev mgmt
    sed '1s/"rxe_p1"/["rxe_p1", "rxe_m"]/; 2s/"rxe_p0"/["rxe_m", "rxe_p0"]/' "$RDMA_HOSTFILE" \
        > "$T/rails.json"
}
rail_remove() {
    rdma link delete rxe_m
    ssh host1 rdma link delete rxe_m
}
port_up() {
    ip link set p1 up
    wait_for 'grep -q ACTIVE /sys/class/infiniband/rxe_p1/ports/1/state'
}
