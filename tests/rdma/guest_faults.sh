# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# guest_faults.sh: the faults of jobs.sh on virtual machines, whose devices are Soft-RoCE's.
cut() {
    tc qdisc add dev p1 root netem loss 100%
    ssh host1 tc qdisc add dev p0 root netem loss 100%
}
mend() {
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
