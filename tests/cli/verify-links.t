#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mlaunch verify and the figures of links: equal ones give no finding; a link that is slow or late,
# one whose bytes are wrong, a host on which the traffic fails, and a port whose error counters
# grow, are found, and nothing else is. A program stands in for mlaunch-bench on the hosts: it
# sends the same traffic, and then prints the figures of this test, so that the machine's load
# changes nothing. Real figures are for verify-traffic.t; which of them are bad is for
# test_verify_pairs.c.
TEST_TIER=full
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
. "${0%/*}/recorded.sh"
. "${0%/*}/verify.sh"
NETNS_PRIVATE=/tmp hosts_up 3 # whatever other jobs have left in /tmp
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

bench=$BUILD/launcher/tools/bench/mlaunch-bench
cp "$bench" "$T/real"
# shellcheck disable=SC2016 # the stand-in's
printf '#!/bin/sh\n"%s/real" "$@" | python3 "%s/figures.py"\n' "$T" "$T" > "$T/stand-in"
chmod +x "$T/stand-in"
cat > "$T/figures.py" << END
import json, sys
text = sys.stdin.read() # rank 0 alone
if text:
    answer = json.loads(text)
    figures = {"us": 20, "there": 1, "back": 1, "errors": 0}
    if {h["host"] for h in answer["hosts"]} == {"$H1", "$H2"}:
        figures.update(json.load(open("$T/figures")))
    for r in answer["results"]:
        r["latency_us"].update({k: figures["us"] for k in r["latency_us"] if k != "count"})
        for way in "there", "back", "both":
            r[way + "_GBps"].update({k: figures.get(way, 2) for k in r[way + "_GBps"] if k != "count"})
        r["errors"] = figures["errors"]
    print(json.dumps(answer))
END
for host in "$H1" "$H2" "$H3"; do must netns exec "$host" mount --bind "$T/stand-in" "$bench"; done
figures() { echo "$1" > "$T/figures"; }

figures '{}'
check "three equal links are fit" fit --json
cp "$OUT" "$T/fit.json"
skip_emulated "$NO_READV" "three equal links have no finding" ||
    check_output "0 20 1 1" "three equal links have no finding" json_show \
        '(len(j["findings"]),
        *["%g" % x for k in ("us", "there_GBps", "back_GBps") for x in {l[k] for l in j["links"]}])' "$T/fit.json"
figures '{"there": 0.49}'
check_status 1 "a link with little bandwidth is not fit" fit
found 1 "^warning  link    hosts $H1 and $H2: 0\.490* GB/s from $H1 to $H2 over tcp, 49 % of the best pair's .* \(at least 50 %\)" \
    "a link with little bandwidth is found alone"
figures '{"us": 50}'
check_status 1 "a link that is late is not fit" fit
found 1 "^warning  link    hosts $H1 and $H2: 8 bytes take 50.0 us over tcp, 2.5 times the median .* \(at most 2.1 times\)" \
    "a link that is late is found alone"
figures '{"errors": 3}'
check_status 1 "a link with wrong bytes is not fit" fit
found 1 "^error    link    hosts $H1 and $H2: 6 bytes arrived wrong over tcp \(at most 0\); run no jobs" \
    "a link with wrong bytes is found alone"
figures '{}'

# Ports with counters, one of which grows all the time on one host.
record "$H1" "$H2" "$H3"
for host in "$H1" "$H2" "$H3"; do
    record_mellanox "$host" mlx5_0 1
    must netns exec "$host" mount -t tmpfs t /sys/class
    tar -C "$T/recorded/$host/sys/class" -c . | must netns exec "$host" tar -C /sys/class -x
done
counter=/sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error
# shellcheck disable=SC2016 # the host's shell
netns exec "$H2" sh -c 'i=0; until [ -e /sys/class/stop ]; do echo $((i += 1)) > "$0.new"; mv "$0.new" "$0"; sleep 0.1; done' \
    "$counter" < /dev/null > "$T/count" 2>&1 &
COUNT=$!
check_status 1 "a port whose error counter grows is not fit" fit --backend tcp
found 1 "^warning  errors  host $H2: mlx5_0 port 1's counter symbol_error has grown by [0-9]+ during the traffic \(at most 0\)" \
    "a port whose error counter grows is found alone"
must netns exec "$H2" touch /sys/class/stop
wait "$COUNT"

must netns exec "$H2" mount --bind /bin/false "$bench"
check_status 1 "a host on which the traffic fails is not fit" fit --backend tcp
found 2 "^error    link    hosts .*$H2.*: mlaunch bench link fails over tcp: .*rank [01]" \
    "a host on which the traffic fails is found in its pairs"
done_testing
