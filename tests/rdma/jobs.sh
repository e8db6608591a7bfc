# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# For scripts on host 0, behind test.sh: jobs of one rank a host, some of which are read while they
# run, and faults for them. The devices are those of the stand-in, where $RDMA_STANDIN says so, or
# Soft-RoCE's in virtual machines (tests/vm/guest_faults.sh).

# job N ARG…: N ranks, one a host, of $HOSTFILE or of all hosts.
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

# cable_cut, cable_mend: that between hosts 0 and 1, without a word to either.
cable_cut() { fabric oneway 0/rxe_p1:1 && fabric oneway 1/rxe_p0:1; }
cable_mend() { fabric bothways 0/rxe_p1:1 && fabric bothways 1/rxe_p0:1; }
# port_down HOST PEER, port_up HOST PEER: the port of the host's device towards the peer.
port_down() { fabric down "$1/rxe_p$2:1"; }
port_up() { fabric up "$1/rxe_p$2:1"; }
# rail_add: hosts 0 and 1 get a second device between them; $T/rails.json names both, in another
# order at each end.
rail_add() {
    fabric up 0/rxe_m:1 && fabric up 1/rxe_m:1
    rails_write
}
rail_remove() { fabric down 0/rxe_m:1 && fabric down 1/rxe_m:1; }
rails_write() {
    sed '1s/"rxe_p1"/["rxe_p1", "rxe_m"]/; 2s/"rxe_p0"/["rxe_m", "rxe_p0"]/' "$RDMA_HOSTFILE" \
        > "$T/rails.json"
}
# host2_die: host 2 is silent, everywhere and for ever. What says so to it has no answer either.
host2_die() {
    fabric gone 2
    timeout 60 ssh host2 'nohup ip link set eth0 down > /dev/null 2>&1 &' < /dev/null > /dev/null 2>&1 &
}
# objects HOST PEER: what programs have on the host's device towards the peer; nothing if none has
# opened it.
objects() {
    local said
    said=$(fabric objects "$1/rxe_p$2") && printf '%s' "${said#ok}"
}
[ -n "${RDMA_STANDIN:-}" ] || . "$SOURCE/tests/vm/guest_faults.sh"
