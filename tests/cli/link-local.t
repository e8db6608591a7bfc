#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Hosts that have link-local IPv6 addresses alone, as behind a cable of Thunderbolt or USB. The
# interface has another number on each: what one host says of itself is no number for another one.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
[ "$(id -u)" = 0 ] && unshare --net true 2> "$T/err" || skip_all "needs network namespaces, and so root"
a=ll$$a b=ll$$b c=ll$$c
for n in "$a" "$b" "$c"; do
    must ip netns add "$n"
    at_exit ip netns del "$n"
    must ip -n "$n" link set lo up
done
# a has a bridge, at which the others are plugged in. They have further interfaces before the
# one that counts, so that its number is not the same on all.
ip -n "$b" link add other type veth peer name another || skip_all "no veth here"
must ip -n "$c" link add other type veth peer name another
must ip -n "$c" link add third type veth peer name fourth
ip -n "$a" link add ea type bridge || skip_all "no bridge here"
must ip link add pb netns "$a" type veth peer name eb netns "$b"
must ip link add pc netns "$a" type veth peer name ec netns "$c"
must ip -n "$a" link set ea addrgenmode none
for n in pb pc; do must ip -n "$a" link set "$n" master ea up addrgenmode none; done
must ip -n "$a" link set ea up
must ip -n "$b" link set eb up
must ip -n "$c" link set ec up
must ip -n "$a" addr add fe80::a1/64 dev ea nodad
must ip -n "$b" addr add fe80::b1/64 dev eb nodad
must ip -n "$c" addr add fe80::c1/64 dev ec nodad
cat > "$T/enter" << END
#!/bin/sh
host=\$1
shift
case \$host in fe80::a1*) host=$a ;; fe80::b1*) host=$b ;; fe80::c1*) host=$c ;; esac
exec ip netns exec "\$host" "\$@"
END
chmod 755 "$T" "$T/enter"
check "a key is made" "$MLAUNCH" join --key-new "$T/key"

# meet ADDRESS-OF-A ADDRESS-OF-B ADDRESS-OF-C NAME: ranks on the hosts, with these addresses.
meet() {
    printf '[{"ssh": "%s", "ips": ["%s"]}, {"ssh": "%s", "ips": ["%s"]}, {"ssh": "%s", "ips": ["%s"]}]' \
        "$a" "$1" "$b" "$2" "$c" "$3" > "$T/hosts.json"
    check "$4" "$MLAUNCH" --agent-command "$T/enter {host}" --hostfile "$T/hosts.json" \
        -- "$BUILD/examples/hello"
}
in_a() { ip netns exec "$a" "$@"; }
# joined HEAD NAME OPTION...: hosts that call a, two of which are b and c.
joined() {
    local head=$1 name=$2
    shift 2
    ip netns exec "$b" "$MLAUNCH" join --key-file "$T/key" --head "[$head%eb]:7001" --hosts 3 \
        --index 0 > "$T/b" 2>&1 &
    ip netns exec "$c" "$MLAUNCH" join --key-file "$T/key" --head "[$head%ec]:7001" --hosts 3 \
        --index 1 > "$T/c" 2>&1 &
    ip netns exec "$c" "$MLAUNCH" join --key-file "$T/key" --head "[$head%ec]:7001" --hosts 3 \
        --index 2 > "$T/d" 2>&1 &
    check "$name" in_a "$MLAUNCH" --await 3 --key-file "$T/key" -n 3 --ppn 1 "$@" \
        -- "$BUILD/examples/hello"
    wait
}
# all_ways OF: all ways in which the hosts are named.
all_ways() {
    meet fe80::a1 fe80::b1 fe80::c1 "$1: ranks meet by link-local addresses without an interface"
    meet fe80::a1%ea fe80::b1%eb fe80::c1%ec \
        "$1: ranks meet by link-local addresses, each with its own interface"
    joined fe80::a1 "$1: hosts join a head at its link-local address" --listen '[fe80::a1%ea]:7001'
    joined fe80::a1 "$1: hosts join a head at every address" --listen :7001
    joined fe80::a1 "$1: hosts join each other in a tree" --listen :7001 --fanout 2
    ip netns exec "$b" "$MLAUNCH" join --key-file "$T/key" --head '[fe80::a1%eb]:7001' --hosts 2 \
        --index 1 > "$T/b" 2>&1 &
    check "$1: a head that is a host itself is joined" in_a "$MLAUNCH" join --key-file "$T/key" \
        --head '[fe80::a1%ea]:7001' --hosts 2 --index 0 -n 2 --ppn 1 -- "$BUILD/examples/hello"
    wait
}
all_ways "one interface"
check "hosts are named by their link-local addresses" in_a "$MLAUNCH" \
    --agent-command "$T/enter {host}" -H '[fe80::a1%ea],[fe80::b1%ea],[fe80::c1%ea]' \
    -- "$BUILD/examples/hello"
# Every interface that is up has a link-local address.
for n in "$b" "$c"; do
    must ip -n "$n" link set other up
    must ip -n "$n" link set another up
    must ip -n "$n" addr add fe80::d1/64 dev other nodad
    must ip -n "$n" addr add fe80::d2/64 dev another nodad
done
all_ways "several interfaces"
check_error 125 'fe80::a1 is link-local, and it is not clear at which of this machine.s interfaces: write it with one, as \[fe80::a1%eth0\]' \
    "a head's link-local address needs an interface where there are several" ip netns exec "$b" \
    "$MLAUNCH" join --key-file "$T/key" --head '[fe80::a1]:7001' --hosts 2 --index 1
done_testing
