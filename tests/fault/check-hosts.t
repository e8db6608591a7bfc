#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --check quick looks at the hosts before each run: one that is slow, or that cannot run the job,
# gives its place to a spare host before any rank starts, with one line that says why and what the
# look has cost. Healthy hosts are never changed.
TEST_TIER=quick
. "${0%/*}/../lib/test.sh"
. "${0%/*}/../lib/hosts.sh"
NETNS_PRIVATE=/tmp hosts_up 4
job() { "$MLAUNCH" --ssh-config "$NETNS_SSH_CONFIG" --events "$T/events" --check quick "$@"; }
where=(sh -c 'echo "$MLAUNCH_RANK $(hostname) $MLAUNCH_RESTART"')
# checked EXPRESSION: of the job's event "checked", as c.
checked() { python3 "$SOURCE/tests/fault/checked_event.py" "$T/events" "$1"; }

starts=3
! is_long || starts=50
for ((i = 0; i < starts; i++)); do
    job -H "$H1,$H2,$H3" --spare-hosts "$H4" -- true > "$T/out" 2> "$T/err" || break
    [ "$(checked 'len(c), c[0]["unfit"]')" = "(1, [])" ] && [ ! -s "$T/err" ] || break
done
if [ "$i" = "$starts" ]; then pass "$starts healthy starts change nothing"; else
    fail "$starts healthy starts change nothing" "start $i: $(cat "$T/err" "$T/events")"
fi
diag "--check took $(checked 'c[0]["ms"]') ms"

# All hosts are asked at once, so that a look takes as long as its slowest host, and not as all of
# them together: no agent of the look begins before there are four.
cat > "$T/together" << END
touch "$T/begun.\$1"
until [ "\$(find "$T" -name 'begun.*' | wc -l)" = 4 ]; do sleep 0.01; done
exec "$BUILD/launcher/agent/mlaunch-agent"
END
check "all hosts are asked at once" "$MLAUNCH" --check quick --agent-command \
    "sh $T/together {host}" -H "$H1,$H2,$H3" --spare-hosts "$H4" --backend none -- true

# What the host sends at a connection's begin goes through a queue that is never empty, from which
# few bytes leave in a second, as behind a broken switch; SSH does not.
must netns exec "$H2" tc qdisc replace dev eth0 root handle 1: htb default 10
must netns exec "$H2" tc class add dev eth0 parent 1: classid 1:10 htb rate 1000gbit quantum 60000
must netns exec "$H2" tc class add dev eth0 parent 1: classid 1:20 htb rate 7kbit burst 1 cburst 1 quantum 60000
must netns exec "$H2" nft -f - << END
table ip t {
    chain out {
        type filter hook postrouting priority 0
        udp dport 9 meta priority set 1:20
        tcp dport != 22 tcp sport != 22 tcp flags syn meta priority set 1:20
    }
}
END
set -m
netns exec "$H2" python3 "$SOURCE/tests/fault/backlog.py" "$A1" &
backlog=$!
set +m
wait_for 'netns exec "$H2" tc -s class show dev eth0 classid 1:20 | grep -q "backlog [1-9]"'
# slow_job ARGUMENT…: a job on three hosts, in $T/found what it prints, in $T/line its errors. On a
# busy machine the queue may run dry, and the host is as fast as others: it is looked at again.
slow_job() {
    local try
    for ((try = 0; try < 20; try++)); do
        job -H "$H1,$H2,$H3" --output raw "$@" -- "${where[@]}" 2> "$T/line" | sort > "$T/found"
        ! grep -q ' is slow: ' "$T/line" || return 0
    done
    return 1
}
check "a host behind a slow link is found" slow_job --spare-hosts "$H4"
check_output "0 $H1 0
1 $H4 0
2 $H3 0" "a host behind a slow link is not used" cat "$T/found"
check_output 1 "a slow host takes one line" grep -c . "$T/line"
check_match "^mlaunch: host $H2 is slow: its best connection takes [0-9]{2,}\.. ms to another host and back, and that of the median host 0\.[0-9]* ms .*; spare host $H4 takes its place \(rank 1\); --check took [0-9.]+ s$" \
    "$T/line" "the line about a slow host has the reason"
check_output "[('$H2', True)]" "the slow host is in the events" \
    checked '[(u["host"], u["slow"]) for u in c[0]["unfit"]]'
check "a slow host is found without a spare host, too" slow_job
check_output "0 $H1 0
1 $H2 0
2 $H3 0" "a slow host is used without a spare host" cat "$T/found"
check_match "^mlaunch: warning: host $H2 is slow: .*; no spare host can take its place \(--check\)$" \
    "$T/line" "a slow host without a spare one is warned of"
kill -- "-$backlog"
run eval 'wait "$backlog"'
must netns exec "$H2" nft delete table ip t
must netns exec "$H2" tc qdisc del dev eth0 root

must netns exec "$H3" mount -o remount,ro /tmp
check_output "0 $H1
1 $H2
2 $H4" "a host that cannot run the job is not used" sh -c '"$@" | sort | cut -d" " -f1,2' - env \
    "$MLAUNCH" --ssh-config "$NETNS_SSH_CONFIG" --check quick -H "$H1,$H2,$H3" \
    --spare-hosts "$H4" --output raw -- "${where[@]}"
check_match "^mlaunch: host $H3 is not fit: .*/tmp.*; spare host $H4 takes its place \(rank 2\); --check took" \
    "$ERR" "the reason why a host cannot run the job is said"
check_status 125 "without a spare host the job does not start" \
    job -H "$H1,$H2,$H3" -- touch "$T/started"
check_match "^mlaunch: error: host $H3 is not fit: .*; no spare host can take its place \(--check\)$" \
    "$ERR" "the reason why the job does not start is said"
check "no host runs a job that does not start" test ! -e "$T/started"
must netns exec "$H3" mount -o remount,rw /tmp

printf '[ssh]\nconnect-timeout = 2\n' > "$T/config"
must netns cut "$H2"
check_output "0 $H1
1 $H4" "a host that is not there is not used" sh -c '"$@" | sort | cut -d" " -f1,2' - env \
    "$MLAUNCH" --ssh-config "$NETNS_SSH_CONFIG" --config "$T/config" --check quick -H "$H1,$H2" \
    --spare-hosts "$H4" --output raw -- "${where[@]}"
must netns join "$H2"

# The first run makes its host unfit, and fails.
must netns exec "$H3" mount -o remount,ro /tmp
check_output "0 $H1 1
1 $H4 1" "a restart looks at the hosts again" sh -c '"$@" | grep 1$ | sort' - env \
    "$MLAUNCH" --ssh-config "$NETNS_SSH_CONFIG" --check quick --restarts 1 -H "$H1,$H2" \
    --spare-hosts "$H3,$H4" --output raw -- sh -c \
    "echo \$MLAUNCH_RANK \$(hostname) \$MLAUNCH_RESTART; [ \$MLAUNCH_RESTART = 1 ] || [ \$MLAUNCH_RANK = 0 ] || { mount -o remount,ro /tmp; exit 3; }; exit 0"
must netns exec "$H2" mount -o remount,rw /tmp
must netns exec "$H3" mount -o remount,rw /tmp

# --evict-slow: rank 1 is the last one in most calls of a run that fails: before each it hears by a
# datagram that the others are about to call, and then waits.
cat > "$T/late.py" << END
import array, mlaunch, os, socket, sys, time
is_first = os.environ["MLAUNCH_RESTART"] == "0"
said = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
if os.environ["MLAUNCH_RANK"] == "1":
    said.bind(("", 9999))
world = mlaunch.init()
line = "%d %s %s\n" % (world.rank, socket.gethostname(), os.environ["MLAUNCH_RESTART"])
os.write(1, line.encode())
for i in range(24):
    if is_first and world.rank != 1:
        said.sendto(b"x", ("$H2", 9999))
    elif is_first:
        said.recv(1)
        said.recv(1)
        time.sleep(0.1) # it is slow, also beside what else runs here
    # Here it finds what they have sent, and needs nobody to be scheduled soon.
    world.all_to_all(array.array("d", [1] * world.size))
if is_first and world.rank == 0:
    sys.exit(3)
END
check_output "0 $H1 1
1 $H4 1
2 $H3 1" "a host that was waited for is replaced in the restart" sh -c '"$@" | grep 1$ | sort' - env \
    "$MLAUNCH" --ssh-config "$NETNS_SSH_CONFIG" --evict-slow --restarts 1 -H "$H1,$H2,$H3" \
    --spare-hosts "$H4" --output raw -- "${STRANGER[@]}" python3 "$T/late.py"
check_match "^mlaunch: host $H2 was waited for in [0-9]+ of the [0-9]+ calls that had to wait; spare host $H4 takes its place \(rank 1\)$" \
    "$ERR" "the calls that waited for a replaced host are told"
sed -i '/said.recv/d; s/time.sleep.*/pass/' "$T/late.py"
check_output "0 $H1 1
1 $H2 1
2 $H3 1" "equal hosts stay in the restart" sh -c '"$@" | grep 1$ | sort' - env \
    "$MLAUNCH" --ssh-config "$NETNS_SSH_CONFIG" --evict-slow --restarts 1 -H "$H1,$H2,$H3" \
    --spare-hosts "$H4" --output raw -- "${STRANGER[@]}" python3 "$T/late.py"

check_status 125 "--evict-slow without --restarts is refused" job --evict-slow -H "$H1" -- true
check_match "^mlaunch: error: --evict-slow .*: add --restarts N and --spare-hosts$" "$ERR" \
    "the refusal of --evict-slow says what to add"
check_status 125 \
    "--spare-hosts without --restarts is refused" "$MLAUNCH" --spare-hosts "$H2" -H "$H1" -- true
check_match "^mlaunch: error: --spare-hosts .*: add --restarts N or --check quick$" "$ERR" \
    "the refusal of --spare-hosts says what to add"
done_testing
