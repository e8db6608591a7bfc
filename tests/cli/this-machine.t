#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Which names and addresses are this machine's own, so that they need no SSH, and which are not. In
# namespaces, whose machine node1.cluster has addresses of its own and no way to any other.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
unshare -Urumn true 2> "$T/err" || skip_all "no user namespaces here"
cat > "$T/hosts" << END
127.0.0.1 localhost
::1 localhost ip6-localhost
127.0.1.1 node1.cluster node1
10.9.8.7  node1-ib.cluster node1-ib # the second network
fd00:9::7 Head
10.9.8.8  node2 pair
10.9.8.7  pair
END
cat > "$T/machine" << 'END'
hostname node1 && mount --bind "$0" /etc/hosts && ip link set lo up &&
    ip link add e0 type veth peer name e1 && ip link set e0 up && ip link set e1 up &&
    ip addr add 10.9.8.7/24 dev e0 && ip addr add fd00:9::7/64 dev e0 nodad &&
    ip addr add fe80::a1/64 dev e0 nodad || exit 99
exec "$@"
END
on_machine() { unshare -Urumn sh "$T/machine" "$@"; }
sed -i "s|\"\$0\"|'$T/hosts'|" "$T/machine"
on_machine true 2> "$T/err" || skip_all "no such machine: $(head -n 1 "$T/err")"
# method NAME: how the plan starts an agent on the host of that name.
method() {
    on_machine "$MLAUNCH" -H "$1" --dry-run -- true | sed -n 's/^host 0: .* (\([^,)]*\).*/\1/p'
}
for name in node1 NODE1 node1. node1.cluster Node1.Cluster. localhost LOCALHOST localhost. \
    ip6-localhost node1-ib node1-ib.cluster head HEAD. 127.0.0.1 127.0.1.1 '[::1]' 10.9.8.7 \
    '[::ffff:10.9.8.7]' '[fd00:9::7]' '[fd00:9:0::7]' '[fe80::a1]' '[fe80::a1%e0]' root@node1 \
    root@10.9.8.7; do
    check_output "this machine" "$name is this machine" method "$name"
done
for name in node1.elsewhere node12 node2 10.9.8.8 '[fd00:9::8]' '[fe80::a1%e1]' '[fe80::a2%e0]' \
    nobody@node1 nobody@localhost; do
    check_output SSH "$name is another machine, or another user's" method "$name"
done
check_output SSH "a name of this machine and of another one is reached as SSH finds it" method pair
check_output "node1
node1" "ranks run on this machine by its address, without SSH" \
    on_machine "$MLAUNCH" -H '10.9.8.7:2' --output raw -- hostname
check "ranks meet at this machine's link-local address" \
    on_machine "$MLAUNCH" -H '[fe80::a1%e0]:2' --backend tcp -- "$BUILD/examples/hello"
echo 'node1.cluster 2 all.q@node1.cluster UNDEFINED' > "$T/pe"
check_output "node1
node1" "a batch system names this machine in full" \
    on_machine env PE_HOSTFILE="$T/pe" JOB_ID=7 "$MLAUNCH" --output raw -- hostname
done_testing
