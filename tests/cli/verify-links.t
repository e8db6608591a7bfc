#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mlaunch verify with traffic: equal links give no finding; one that is slow, late or fails, and a
# port whose error counters grow, are found, and nothing else is. Only what goes from the first host
# to the second is shaped, by classes that a packet filter chooses. Which figures are bad is for
# test_verify_links.c.
TEST_LIMIT=240
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/recorded.sh"
. "${0%/*}/verify.sh"
NETNS_PRIVATE=/tmp hosts_up 3
inside() { TMPDIR=$T "$TEST_LIB/netns-hosts" exec "$@"; }
fit() { "$MLAUNCH" verify --ssh-config "$NETNS_SSH_CONFIG" -H "$H1,$H2,$H3" "$@"; }
# found COUNT REGEX NAME: all findings of the last command match.
found() {
    findings "$OUT" > "$T/findings"
    if [ "$(wc -l < "$T/findings")" = "$1" ] && ! grep -qvE "$2" "$T/findings"; then
        pass "$3"
    else
        fail "$3" "expected $1 of: $2"
        diag_file "$T/findings"
    fi
}
# shape MATCH [CLASS…]: what goes from the first host to the second and matches is of that class, or
# lost.
shape() {
    local then=drop
    if [ $# -gt 1 ]; then then='meta priority set 1:20'; else set -- "$1" rate 1gbit; fi
    inside "$H1" tc qdisc replace dev eth0 root handle 1: htb default 10 &&
        inside "$H1" tc class add dev eth0 parent 1: classid 1:10 htb rate 1000gbit quantum 60000 &&
        inside "$H1" tc class add dev eth0 parent 1: classid 1:20 htb quantum 60000 "${@:2}" &&
        inside "$H1" nft -f - << END
table ip t {
    chain out {
        type filter hook postrouting priority 0
        ip daddr $A2 tcp dport != 22 tcp sport != 22 $1 $then
    }
}
END
}
unshape() {
    inside "$H1" nft delete table ip t
    inside "$H1" tc qdisc del dev eth0 root
}

check "three equal links" fit --json
cp "$OUT" "$T/fit.json"
skip_emulated "$NO_READV" "… without a finding" ||
    check_output "0 3 tcp" "… without a finding" python3 -c '
import json, sys
v = json.load(open(sys.argv[1]))
print(len(v["findings"]), sum(l["p99_us"] >= l["us"] > 0 and min(l["there_GBps"], l["back_GBps"], l["both_GBps"]) > 0 for l in v["links"]),
      *{l["backend"] for l in v["links"]})' "$T/fit.json"
# slow NAME WHAT SHAPE…: … finds the pair of the first two hosts, for what it says.
slow() {
    shape "${@:3}"
    check_status 1 "$1" fit
    found 1 "^warning  link    hosts $H1 and $H2: $2" "… is found alone"
    unshape
}
if shape '' rate 400mbit 2> "$T/shape"; then
    unshape
    slow "a link with little bandwidth" \
        "0\.0[0-9]* GB/s from $H1 to $H2 over tcp, [0-9]+ % of the best pair's .* \(at least 50 %\)" \
        '' rate 400mbit
    slow "a link that is late" \
        "8 bytes take [0-9.]+ us over tcp, [0-9.]+ times the median .* \(at most 2.1 times\)" \
        'meta length 53-300' rate 50kbit burst 100 cburst 100
    if is_long; then
        shape 'meta length > 1000'
        check_status 1 "a link that loses long packets" fit
        found 1 "^error    link    hosts $H1 and $H2: mlaunch bench link fails over tcp: the job has not ended within 30 s" \
            "… is found alone"
        unshape
    fi
else
    skip "slow links" "tc or nft does not work here: $(head -n 1 "$T/shape")"
fi

# Ports with counters, one of which grows all the time on one host.
record "$H1" "$H2" "$H3"
for host in "$H1" "$H2" "$H3"; do
    record_mellanox "$host" mlx5_0 1
    inside "$host" mount -t tmpfs t /sys/class
    tar -C "$T/recorded/$host/sys/class" -c . | inside "$host" tar -C /sys/class -x
done
counter=/sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error
# shellcheck disable=SC2016 # the host's shell
inside "$H2" bash -c 'i=0; until [ -e /sys/class/stop ]; do echo $((i += 1)) > "$0.new"; mv "$0.new" "$0"; read -r -t 0.1 <> <(:); done' \
    "$counter" < /dev/null > "$T/count" 2>&1 &
COUNT=$!
check_status 1 "an error counter that grows" fit --backend tcp
found 1 "^warning  errors  host $H2: mlx5_0 port 1's counter symbol_error has grown by [0-9]+ during the traffic \(at most 0\)" \
    "… is found alone"
inside "$H2" touch /sys/class/stop
wait "$COUNT"

if is_long; then # bench-link.t shows that bench link counts them
    # shellcheck disable=SC2016 # the host's shell
    inside "$H3" sh -c 'cp "$0" /tmp/real && printf "#!/bin/sh\n/tmp/real \"\$@\" | sed \"s/\\\"errors\\\": 0/\\\"errors\\\": 3/\"\n" > /tmp/fake &&
        chmod +x /tmp/fake && mount --bind /tmp/fake "$0"' "$BUILD/launcher/bench/mlaunch-bench"
    check_status 1 "wrong bytes" "$MLAUNCH" verify --backend tcp --ssh-config "$NETNS_SSH_CONFIG" -H "$H3,$H1"
    found 1 "^error    link    hosts $H3 and $H1: 6 bytes arrived wrong over tcp \(at most 0\); run no jobs" \
        "… are found alone"
fi
inside "$H2" mount --bind /bin/false "$BUILD/launcher/bench/mlaunch-bench"
check_status 1 "a program that fails" fit --backend tcp
found 2 "^error    link    hosts .*$H2.*: mlaunch bench link fails over tcp: .*rank [01]" \
    "… on one host is found in its pairs"
done_testing
