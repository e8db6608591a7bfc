# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# guest_faults.sh: the faults of tests/rdma/jobs.sh on virtual machines with Soft-RoCE's devices.
cable_cut() {
    tc qdisc add dev p1 root netem loss 100%
    ssh host1 tc qdisc add dev p0 root netem loss 100%
}
cable_mend() {
    ssh host1 tc qdisc del dev p0 root
    tc qdisc del dev p1 root
}
rail_add() {
    rdma link add rxe_m type rxe netdev mgmt
    ssh host1 rdma link add rxe_m type rxe netdev mgmt
    rails_write
}
rail_remove() {
    rdma link delete rxe_m
    ssh host1 rdma link delete rxe_m
}
# HOST is 0 here.
port_down() { ip link set "p$2" down; }
port_up() { ip link set "p$2" up; }
host2_die() {
    timeout 60 ssh host2 'nohup sh -c "echo b > /proc/sysrq-trigger" > /dev/null 2>&1 &' \
        < /dev/null > /dev/null 2>&1 &
}
