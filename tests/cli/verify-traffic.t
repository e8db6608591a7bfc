#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mlaunch verify with traffic over real links: all pairs are measured, and what is measured is the
# link, with no more than its bandwidth and no less than its delay. Only what goes from the first
# host to the second is shaped, by classes that a packet filter chooses. A busy machine makes
# figures worse, so each is compared with the bound that load cannot cross; the findings are for
# verify-links.t.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/verify.sh"
NETNS_PRIVATE=/tmp hosts_up 3 # whatever other jobs have left in /tmp
fit() { "$MLAUNCH" verify --ssh-config "$NETNS_SSH_CONFIG" -H "$H1,$H2,$H3" "$@"; }
# shape MATCH [CLASS…]: what goes from the first host to the second and matches is of that class, or
# lost.
shape() {
    local then=drop
    if [ $# -gt 1 ]; then then='meta priority set 1:20'; else set -- "$1" rate 1gbit; fi
    netns exec "$H1" tc qdisc replace dev eth0 root handle 1: htb default 10 &&
        netns exec "$H1" tc class add dev eth0 parent 1: classid 1:10 htb rate 1000gbit quantum 60000 &&
        netns exec "$H1" tc class add dev eth0 parent 1: classid 1:20 htb quantum 60000 "${@:2}" &&
        netns exec "$H1" nft -f - << END
table ip t {
    chain out {
        type filter hook postrouting priority 0
        ip daddr $A2 tcp dport != 22 tcp sport != 22 $1 $then
    }
}
END
}
unshape() {
    must netns exec "$H1" nft delete table ip t
    must netns exec "$H1" tc qdisc del dev eth0 root
}


# figures EXPRESSION HOST…: Python's, over the list `links`. What a busy machine adds is no matter.
figures() {
    "$MLAUNCH" verify --json --ssh-config "$NETNS_SSH_CONFIG" -H "$2" > "$T/json" 2> "$T/err"
    python3 -c 'import json, sys; links = json.load(open(sys.argv[1]))["links"]; print(eval(sys.argv[2]))' \
        "$T/json" "$1"
}
check_output "3 {'tcp'}" "three links are measured" figures '"%d %s" % (sum(
    l["p99_us"] >= l["us"] > 0 and min(l["there_GBps"], l["back_GBps"], l["both_GBps"]) > 0 for l in links),
    {l["backend"] for l in links})' "$H1,$H2,$H3"
if shape '' rate 200mbit 2> "$T/shape"; then
    check_output True "a link with little bandwidth carries no more" figures \
        '0 < links[0]["there_GBps"] < 0.05' "$H1,$H2"
    unshape
    must shape 'meta length 53-300' rate 150kbit burst 100 cburst 100
    check_output True "a link that is late is not sooner" figures 'links[0]["us"] > 1000' "$H1,$H2"
    unshape
    if is_long; then
        must shape 'meta length > 1000'
        check_status 1 "a link that loses long packets is not fit" fit
        check_match "^error    link    hosts $H1 and $H2: mlaunch bench link fails over tcp: the job has not ended within 30 s" \
            "$OUT" "a link that loses long packets is found"
        unshape
    fi
else
    skip "links with little bandwidth and late ones are measured" \
        "tc or nft does not work here: $(head -n 1 "$T/shape")"
fi
done_testing
