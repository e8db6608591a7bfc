#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The hosts of the tests (tests/lib/netns-hosts) take a network that nobody else on this machine
# has, and the build stays visible below directories that are private. All is tried in a network
# namespace, so that nothing of it is ever in this machine's.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
export NETNS=$TEST_LIB/netns-hosts TMPDIR=$T
reason=$("$NETNS" usable 2>&1) || skip_all "$reason"

# head SETUP: the launching machine's address if SETUP came before, once its host has answered.
# shellcheck disable=SC2016 # the inner shell's
head_is() {
    check_output "$1" "$2" unshare --net sh -ec 'taken() { ip link add "b$1" type bridge && ip addr add "$2" dev "b$1"; }
        ip link set lo up
        eval "$1"
        env=$("$NETNS" up 1 net) && . "$env"
        trap "\"\$NETNS\" down net" EXIT
        ssh -F "$NETNS_SSH_CONFIG" net1 true
        echo "$NETNS_HEAD"' sh "$3"
}
head_is 10.88.0.1 "hosts have the first network if nobody else has one" ''
head_is 10.188.0.1 "hosts leave 10.88 to a bridge that has all of it" \
    'taken 0 10.88.0.1/16 && ip link set b0 up'
head_is 10.188.0.1 "hosts leave 10.88 to a bridge that is down" 'taken 0 10.88.77.1/16'
head_is 10.88.2.1 "hosts leave networks to others that have a part of them" \
    'taken 0 10.88.0.200/32; taken 1 10.88.1.1/25'
head_is 10.88.4.1 "hosts leave networks to which a route leads" \
    'ip route add blackhole 10.88.0.0/22'
head_is 10.88.0.1 "hosts don't take a way to everywhere for a network" \
    'ip route add blackhole 0.0.0.0/1'
head_is 10.88.1.1 "hosts leave a bridge of their name alone" 'ip link add netns0 type bridge'

# shellcheck disable=SC2016 # the inner shell's
check_error 1 'no free network; see ip -4 addr' "hosts are refused where all networks are taken" \
    unshare --net sh -ec '
    for net in 10.0.0.0/8 172.16.0.0/12 198.18.0.0/15; do ip route add blackhole $net; done
    "$NETNS" up 1 net'
check_status 1 "nothing is left of refused hosts" test -e "$T/netns-hosts.net"

# shellcheck disable=SC2016 # the inner shell's
check_output "10.88.0.1 10.88.1.1 10.88.2.1 10.88.3.1" \
    "hosts at the same time have their own networks" \
    unshare --net sh -ec 'for p in a b c d; do "$NETNS" up 1 $p > "$TMPDIR/$p" & done; wait
        for p in a b c d; do sed -n s/^NETNS_HEAD=//p "$(cat "$TMPDIR/$p")"; "$NETNS" down $p; done | sort | xargs'
# shellcheck disable=SC2016 # the inner shell's
mkdir -p "$T/private/here/build" "$T/private/other"
check_output "here build" "the build stays visible in a private directory" env \
    SOURCE="$T/private/here" BUILD="$T/private/here/build" NETNS_PRIVATE="$T/private" unshare --net sh -ec '
    "$NETNS" up 1 net > "$TMPDIR/env"
    "$NETNS" exec net1 sh -c "cd \"$TMPDIR/private\" && echo * && cd here && echo *" | xargs; "$NETNS" down net'
done_testing
