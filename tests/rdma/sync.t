#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mlaunch sync from host 0 to host 1 and from there to host 2, over RDMA, and over TCP where a
# device is not there or goes down.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../standin/standin.sh"
on_standin 3
. "${0%/*}/jobs.sh"

TREE=$T/tree COPY=/tmp/copy # hosts have a /tmp of their own each
BIG=2500000
mkdir -p "$TREE/small"
head -c $BIG /dev/urandom > "$TREE/big"
for i in {1..10}; do echo "$i" > "$TREE/small/$i"; done
ln -s big "$TREE/link"

copy() {
    timeout -k 5 200 "$MLAUNCH" sync -v --hostfile "${HOSTFILE:-$RDMA_HOSTFILE}" --to $COPY "$@" \
        "$TREE"
}
copies_remove() { for i in 0 1 2; do ssh "host$i" rm -rf $COPY; done; }
# shellcheck disable=SC2029 # the directory is this side's
tree_sum() {
    ssh "$1" "cd $2 && find . -type f | sort | xargs sha256sum; readlink link" | sha256sum
}
same() {
    local here i
    here=$(tree_sum host0 "$TREE")
    for i in 0 1 2; do check_output "$here" "$1: host$i" tree_sum "host$i" $COPY/tree; done
}
# How many packets the two devices have sent that lead to the next host.
packets() {
    local counter=ports/1/hw_counters/sent_pkts
    cat /sys/class/infiniband/rxe_p1/$counter
    ssh host1 cat /sys/class/infiniband/rxe_p2/$counter
}
# went WHAT NAME: whether the tree went over both devices since $BEFORE: "all" or "nothing".
went() {
    packets | paste -d ' ' - "$T/before" | awk -v most=$((BIG / 4096)) '{
        n = $1 - $2; print (n >= most ? "all" : n < most / 20 ? "nothing" : n) }' > "$T/went"
    check_output "$1 $1" "$2" xargs < "$T/went"
}

packets > "$T/before"
check "mlaunch sync to three hosts ends well" copy
check_match 'host host1: gets data from host host0 over RDMA' "$ERR" \
    "the data to the first host goes over RDMA"
check_match 'host host2: gets data from host host1 over RDMA' "$ERR" \
    "the data to the second host goes over RDMA"
went all "both devices have sent the data"
same "the tree over RDMA is the same"
copies_remove

packets > "$T/before"
check "mlaunch sync with --backend tcp ends well" copy --backend tcp
went nothing "mlaunch sync with --backend tcp uses no device"
copies_remove

sed '1s/"rxe_p1"/"rxe_p9"/' "$RDMA_HOSTFILE" > "$T/other.json"
HOSTFILE=$T/other.json check "mlaunch sync with a device that is not there ends well" copy
check_match 'host host1: gets data from host host0 over TCP, since RDMA does not work: there is no RDMA device rxe_p9 here' \
    "$ERR" "a device that is not there is named, and data goes over TCP"
check_match 'host host2: gets data from host host1 over RDMA' "$ERR" \
    "a device that is not there keeps no other host from RDMA"
same "the tree with a device that is not there is the same"
copies_remove

# A port that goes down in the middle, of a tree that is not sent before anybody can do that.
head -c 20000000 /dev/urandom > "$TREE/more"
sent() { cat /sys/class/infiniband/rxe_p1/ports/1/hw_counters/sent_pkts; }
before=$(sent)
copy --backend rdma > "$T/cut" 2>&1 &
pid=$!
until [ $(($(sent) - before)) -ge 150 ] || ! kill -0 $pid 2> /dev/null; do :; done
port_down 0 1
check "mlaunch sync ends well where a port goes down in the middle" wait $pid
# A queue pair may fail before its port's event has come.
check_match 'host host0: the chain is broken to host host1: .*rxe_p1 port 1.* (has gone|may be) down' "$T/cut" \
    "a port that goes down in the middle is named"
port_up 0 1
same "the tree beside a port that goes down is the same"
copies_remove
rm "$TREE/more"

printf 'host%d\n' 0 1 2 > "$T/hosts"
HOSTFILE=$T/hosts check "mlaunch sync without a wiring ends well" copy --backend rdma
check_match 'host host2: gets data from host host1 over RDMA' "$ERR" \
    "mlaunch sync without a wiring goes over RDMA"
copies_remove
done_testing
