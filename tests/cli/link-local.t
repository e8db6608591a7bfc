#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Two hosts that have link-local IPv6 addresses alone, as behind a cable of Thunderbolt or USB. The
# interface has another number on each: what one host says of itself is no number for the other one.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
[ "$(id -u)" = 0 ] && unshare --net true 2> "$T/err" || skip_all "needs network namespaces, and so root"
a=ll$$a b=ll$$b
must ip netns add "$a"
at_exit ip netns del "$a"
must ip netns add "$b"
at_exit ip netns del "$b"
ip -n "$b" link add other type veth peer name another || skip_all "no veth here"
must ip link add ea netns "$a" type veth peer name eb netns "$b"
for n in "$a" "$b"; do must ip -n "$n" link set lo up; done
must ip -n "$a" link set ea up
must ip -n "$b" link set eb up
must ip -n "$a" addr add fe80::a1/64 dev ea nodad
must ip -n "$b" addr add fe80::b1/64 dev eb nodad

# meet ONE TWO NAME: ranks on both hosts, which the hostfile names by these addresses.
meet() {
    printf '[{"ssh": "%s", "ips": ["%s"]}, {"ssh": "%s", "ips": ["%s"]}]' "$a" "$1" "$b" "$2" \
        > "$T/hosts.json"
    check "$3" "$MLAUNCH" --agent-command 'ip netns exec {host}' --hostfile "$T/hosts.json" \
        -- "$BUILD/examples/hello"
}
meet fe80::a1 fe80::b1 "ranks meet by link-local addresses without an interface"
meet fe80::a1%ea fe80::b1%eb "ranks meet by link-local addresses, each with its own interface"
done_testing
